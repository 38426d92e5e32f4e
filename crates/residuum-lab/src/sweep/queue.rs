//! Trials waiting for a job, and the outcomes of the others.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{End, Job, SweepError, SweepSummary};
use crate::store::{Store, TrialState};

/// Time between two checks of a trial that another process runs.
const POLL: Duration = Duration::from_millis(50);

pub(super) struct Queue<'a>(Mutex<Inner<'a>>);

struct Inner<'a> {
    /// With when they were found to be run by another process.
    waiting: VecDeque<(Job<'a>, Option<Instant>)>,
    summary: SweepSummary,
    /// Ids of trials that must be in the store.
    settled: Vec<String>,
    error: Option<SweepError>,
}

impl<'a> Queue<'a> {
    pub(super) fn new(jobs: Vec<Job<'a>>, summary: SweepSummary, settled: Vec<String>) -> Self {
        let waiting = jobs.into_iter().map(|job| (job, None)).collect();
        Self(Mutex::new(Inner { waiting, summary, settled, error: None }))
    }

    fn inner(&self) -> MutexGuard<'_, Inner<'a>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next trial; none if nothing is left or the sweep should stop. Trials of other processes come last.
    pub(super) fn next(&self, stopped: impl Fn() -> bool) -> Option<Job<'a>> {
        let (job, seen) = self.inner().waiting.pop_front()?;
        loop {
            if stopped() {
                let mut inner = self.inner();
                inner.waiting.clear();
                inner.summary.interrupted = true;
                return None;
            }
            match seen.and_then(|seen| POLL.checked_sub(seen.elapsed())) {
                Some(wait) if !wait.is_zero() => thread::sleep(wait),
                _ => return Some(job),
            }
        }
    }

    pub(super) fn ended(&self, job: Job<'a>, end: End) {
        let mut inner = self.inner();
        if matches!(end, End::Done | End::Elsewhere) {
            inner.settled.push(job.id.clone());
        }
        match end {
            End::Done => inner.summary.done += 1,
            End::Elsewhere => inner.summary.elsewhere += 1,
            End::Failed { sentence, kept } => inner.summary.failed.push(job.failed(sentence, kept)),
            End::Interrupted => inner.summary.interrupted = true,
            End::Busy => inner.waiting.push_back((job, Some(Instant::now()))),
        }
    }

    /// Stops the sweep; the first error is the one reported.
    pub(super) fn stop(&self, error: SweepError) {
        let mut inner = self.inner();
        inner.waiting.clear();
        inner.error.get_or_insert(error);
    }

    /// The summary. Finished trials must still be in the store.
    pub(super) fn finish(self, store: &Store) -> Result<SweepSummary, SweepError> {
        let Inner { mut summary, settled, error, .. } =
            self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        summary.failed.sort_by(|a, b| (&a.labels, a.seed).cmp(&(&b.labels, b.seed)));
        if let Some(error) = error {
            return Err(error);
        }
        let gone = settled.iter().filter(|id| store.state(id) != TrialState::Done).count();
        if gone > 0 {
            return Err(SweepError::Gone { path: store.path().into(), gone, of: settled.len() });
        }
        Ok(summary)
    }
}
