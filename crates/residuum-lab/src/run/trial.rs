//! One trial of a problem, from the start or from a checkpoint.

use std::path::Path;
use std::time::{Duration, Instant};

use residuum::{Control, Key, Rule, minimize_observed};
use residuum_nn::checkpoint::{Checkpoint, Checkpoints};
use residuum_nn::train::Warning;

use super::ProblemRunError;
use super::checkpoint::{Progressed, restore, save};
use super::recorder::Recorder;
use crate::progress::{Cancelled, Progress};
use crate::spec::{Spec, noisy};
use crate::store::Row;

/// Steps between two checks of progress, cancellation and the clock.
const REPORT_EVERY: u64 = 256;

/// Largest share of the time that checkpoints may take.
const CHECKPOINT_SHARE: f64 = 0.02;

/// Where a trial keeps its checkpoint, and how often it writes one.
#[derive(Clone, Copy, Debug)]
pub struct Keep<'a> {
    /// The folder of checkpoints. A trial that finds its own there resumes from the newest intact one.
    pub path: &'a Path,
    /// What is run, as text; checkpoints of anything else are ignored.
    pub description: &'a str,
    /// Time between checkpoints.
    pub every: Duration,
}

/// The outcome of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct ProblemTrial {
    /// Its numbers.
    pub rows: Vec<Row>,
    /// Wall time of the steps, including those before a resumption.
    pub seconds: f64,
}

/// Runs one seed of a spec. With `keep` it leaves checkpoints, the last one when it is cancelled; resumed from any of them it
/// gives the same records, to the bit.
///
/// # Errors
/// If the spec cannot be built for this seed, a weight leaves the numbers, the user stops it, or a checkpoint cannot be
/// written.
pub fn trial(
    spec: &Spec,
    seed: u64,
    keep: Option<Keep<'_>>,
    progress: &dyn Progress,
) -> Result<ProblemTrial, ProblemRunError> {
    let key = Key::new(seed);
    let fail = |message: String| ProblemRunError::Build { seed, message };
    let objective = spec.problem.build(key.named("problem")).map_err(|e| fail(e.to_string()))?;
    let oracle = noisy(objective, &spec.noise).map_err(|e| fail(e.to_string()))?;
    let mut rule = spec.build_rule(seed).map_err(fail)?;
    let rates = spec.rates();
    let epoch = spec.epoch();
    let mut recorder = Recorder::new(&spec.record, oracle.objective(), rule.effective_weights(), seed);

    let (mut k, mut before) = (0, 0.0);
    let mut checkpoints = keep.map(|keep| Checkpoints::<Progressed>::new(keep.path));
    // A checkpoint that is damaged, or of something else, only costs the time to repeat its steps.
    let damaged = |path: &Path, reason: &str| {
        let warning = Warning::DamagedCheckpoint { path: path.into(), reason: reason.into() };
        progress.warned(&warning.to_string());
    };
    if let (Some(keep), Some(checkpoints)) = (keep, &mut checkpoints)
        && let Ok(Some(Checkpoint { position, state, .. })) = checkpoints.newest(damaged)
        && position.description == keep.description
        && restore(&position, &state, &mut *rule, &mut recorder.kept)
    {
        checkpoints.tidy();
        (k, before) = (position.step, position.seconds);
        progress.advance(k);
    }
    let start = Instant::now();
    let seconds = || before + start.elapsed().as_secs_f64();
    let mut pace = keep.map(|keep| Pace::new(keep.every));
    loop {
        let epoch_end = epoch.map_or(u64::MAX, |epoch| (k / epoch + 1) * epoch);
        let until = (k + REPORT_EVERY).min(spec.steps).min(epoch_end);
        let mut outcome = Ok(());
        let mut observe = |k: u64, _: usize, rule: &dyn Rule| match recorder.observe(k, rule) {
            Ok(()) => Control::Continue,
            Err(error) => {
                outcome = Err(error);
                Control::Stop
            }
        };
        minimize_observed(&oracle, &mut [&mut *rule], &rates, k..until, key, &mut observe)
            .map_err(|e| fail(e.to_string()))?;
        outcome?;
        if until == epoch_end {
            rule.epoch_ended(oracle.objective().value(rule.effective_weights()));
        }
        progress.advance(until - k);
        if let Some((metric, value)) = recorder.take_newest() {
            progress.measured(&metric, value);
        }
        k = until;
        // A diverging run is stopped even if it is not recorded here.
        recorder.check_bounded(k, &*rule)?;
        if k == spec.steps {
            return Ok(ProblemTrial { rows: recorder.kept.rows, seconds: seconds() });
        }
        let cancelled = progress.cancelled();
        if let (Some(keep), Some(checkpoints), Some(pace)) = (keep, &mut checkpoints, &mut pace)
            && (cancelled || pace.is_due())
        {
            let (position, state) = save(keep.description, (k, seconds()), &*rule, &recorder.kept);
            pace.wrote(|| checkpoints.write(&position, &state).map(|_| ()))
                .map_err(|e| ProblemRunError::Checkpoint { message: e.to_string() })?;
        }
        if cancelled {
            return Err(Cancelled.into());
        }
    }
}

/// When a checkpoint is due: after the requested time, or later if writing one is slow.
struct Pace {
    every: Duration,
    since: Instant,
}

impl Pace {
    fn new(every: Duration) -> Self {
        Self { every, since: Instant::now() }
    }

    fn is_due(&self) -> bool {
        self.since.elapsed() >= self.every
    }

    fn wrote<T>(&mut self, write: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let outcome = write();
        self.every = self.every.max(start.elapsed().div_f64(CHECKPOINT_SHARE));
        self.since = Instant::now();
        outcome
    }
}
