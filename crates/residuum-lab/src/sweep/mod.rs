//! Runs the trials of a spec into a store, several at a time, each once.
//!
//! A trial that is in the store is not run again; one that another process runs is left to it, and taken over if that
//! process dies. Records do not depend on the number of jobs and threads, on shards, or on how often the work was killed and
//! resumed.

pub(crate) mod estimate;
mod listener;
pub(crate) mod network;
mod queue;
pub(crate) mod trial;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

pub use crate::progress::Silent;
pub use estimate::{Cost, Memory};
pub use listener::{End, Listener};
pub use network::network_rows;

use crate::figure::FigureFormat;
use crate::files::FIGURES;
use crate::plan::Plan;
use crate::store::{Store, StoreError, TrialState};
use queue::Queue;
use trial::{Environment, run_trial};

/// How a sweep is run. None of these options affects the results.
#[derive(Clone, Debug)]
pub struct SweepOptions {
    /// Trials at a time.
    pub jobs: usize,
    /// Worker threads of all jobs together; each job has at least one.
    pub threads: usize,
    /// `(i, n)`: every n-th trial, from the i-th on (counted from 0).
    pub shard: Option<(usize, usize)>,
    /// The folder of all data sets.
    pub data_root: PathBuf,
    /// The commit of the program, for manifests.
    pub commit: Option<String>,
    /// Time between checkpoints; those of networks are written after an epoch, or after `training.checkpoint_every` steps.
    pub checkpoint_every: Duration,
    /// What the figure that ends a run is written as.
    pub figures: Vec<FigureFormat>,
}

impl SweepOptions {
    /// One trial at a time on all cores, all trials, data in `data_root`.
    pub fn new(data_root: impl Into<PathBuf>) -> Self {
        Self {
            jobs: 1,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            shard: None,
            data_root: data_root.into(),
            commit: None,
            checkpoint_every: Duration::from_secs(5),
            figures: FIGURES.to_vec(),
        }
    }

    fn check(&self) -> Result<(), SweepError> {
        let wrong = |name, must, given: String| Err(SweepError::Option { name, must, given });
        match self.shard {
            Some((i, n)) if i >= n => {
                return wrong("shard", "i/n with i < n, counted from 0", format!("{i}/{n}"));
            }
            _ => {}
        }
        match (self.jobs, self.threads) {
            (0, _) => wrong("jobs", "at least 1", "0".into()),
            (_, 0) => wrong("threads", "at least 1", "0".into()),
            _ => Ok(()),
        }
    }
}

/// A sweep that cannot start or continue. Finished trials are kept.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An invalid option.
    #[error("{name} must be {must}, got {given}")]
    Option {
        /// The option.
        name: &'static str,
        /// What must hold.
        must: &'static str,
        /// What was given.
        given: String,
    },
    /// The system gives no thread.
    #[error("a thread for the trials must be available: {0}")]
    Thread(std::io::Error),
    /// The files of a trial cannot be written.
    #[error("trial {id}: {message}")]
    Files {
        /// The trial.
        id: String,
        /// The sentence.
        message: String,
    },
    /// Finished trials have disappeared.
    #[error("{gone} of {of} finished trials are no longer in {}: they were removed while the sweep ran", path.display())]
    Gone {
        /// The store.
        path: PathBuf,
        /// How many are missing.
        gone: usize,
        /// Of how many.
        of: usize,
    },
    /// No threads.
    #[error("threads for the jobs must be available: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// A trial without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTrial {
    /// Its id.
    pub id: String,
    /// What distinguishes it from the others.
    pub labels: Vec<(String, String)>,
    /// Its seed.
    pub seed: u64,
    /// Why.
    pub sentence: String,
    /// Whether the store keeps it as failed. If not, the next sweep tries again.
    pub kept: bool,
}

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepSummary {
    /// Trials of the spec, or of the shard.
    pub total: usize,
    /// Finished by this sweep.
    pub done: usize,
    /// Already in the store.
    pub already: usize,
    /// Finished by another process meanwhile.
    pub elsewhere: usize,
    /// Without a result, now or before.
    pub failed: Vec<FailedTrial>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// Default number of trials at a time: one per thread. A second thread makes one network faster by less than a second network
/// gains from a thread of its own.
pub fn default_jobs(plans: &[Plan], threads: usize) -> usize {
    threads.min(plans.len()).max(1)
}

/// Runs the trials that are not in the store yet. A failed trial does not stop the others.
///
/// # Errors
/// If an option is invalid, or the store cannot be written; running trials are then checkpointed.
pub fn sweep(
    plans: &[Plan],
    store: &Store,
    options: &SweepOptions,
    listener: &dyn Listener,
) -> Result<SweepSummary, SweepError> {
    options.check()?;
    let jobs = select(plans, options.shard);
    let mut summary = SweepSummary { total: jobs.len(), ..SweepSummary::default() };
    let (mut open, mut settled) = (Vec::new(), Vec::new());
    for job in jobs {
        match store.state(&job.id) {
            TrialState::Done => {
                summary.already += 1;
                settled.push(job.id);
            }
            TrialState::Failed => summary.failed.push(job.failed(store.failure(&job.id)?.sentence, true)),
            TrialState::Absent | TrialState::Begun => open.push(job),
        }
    }
    listener.begins(summary.total, summary.total - open.len());
    let workers = options.jobs.min(open.len());
    // The last trials of a grid that is done otherwise share what there is.
    let threads = (options.threads / workers.max(1)).max(1);
    let environment = Environment::new(store, options, threads);
    let queue = Queue::new(open, summary, settled);
    let pools = (0..workers)
        .map(|_| rayon::ThreadPoolBuilder::new().num_threads(threads).build())
        .collect::<Result<Vec<_>, _>>()?;
    std::thread::scope(|scope| {
        for (i, pool) in pools.iter().enumerate() {
            let run = || pool.install(|| work(&queue, &environment, listener));
            match std::thread::Builder::new().spawn_scoped(scope, run) {
                // Fewer jobs do the same work.
                Err(error) if i == 0 => return Err(SweepError::Thread(error)),
                _ => {}
            }
        }
        Ok(())
    })?;
    queue.finish(store)
}

/// A trial with its id.
#[derive(Debug)]
struct Job<'a> {
    plan: &'a Plan,
    id: String,
}

impl Job<'_> {
    fn failed(&self, sentence: String, kept: bool) -> FailedTrial {
        let Plan { labels, seed, .. } = self.plan;
        FailedTrial { id: self.id.clone(), labels: labels.clone(), seed: *seed, sentence, kept }
    }
}

/// The trials of a shard, without duplicates: two points of a grid may be the same trial.
fn select(plans: &[Plan], shard: Option<(usize, usize)>) -> Vec<Job<'_>> {
    let mut seen = BTreeSet::new();
    let jobs = plans.iter().map(|plan| Job { plan, id: plan.id() }).filter(|job| seen.insert(job.id.clone()));
    let (i, n) = shard.unwrap_or((0, 1));
    jobs.skip(i).step_by(n).collect()
}

/// Runs one job until no trial is left.
fn work(queue: &Queue<'_>, environment: &Environment<'_>, listener: &dyn Listener) {
    while let Some(job) = queue.next(|| environment.stopped(listener)) {
        match run_trial(&job, environment, listener) {
            Ok(end) => queue.ended(job, end),
            Err(error) => {
                environment.stop();
                queue.stop(error);
            }
        }
    }
}
