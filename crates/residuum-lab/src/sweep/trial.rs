//! One trial of a sweep: claimed, run, stored.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use residuum_nn::train::{self, EpochRecord, TrainError, Warning};

use super::network::network_rows;
use super::{End, Job, Listener, SweepError, SweepOptions};
use crate::plan::{Plan, VALUE_VERSION, Work};
use crate::progress::Progress;
use crate::run::{self, Keep, trial};
use crate::spec::{Spec, TrialSpec};
use crate::store::{
    Failure, Lease, Row, SpecKind, Store, StoredParameter, TrialClaim, TrialManifest, TrialState, run_name,
};
use crate::train::{NetworkError, Trained, TrialFolders, train_in};

const SCHEMA: &str = "residuum.trial/1";

/// What all trials of a sweep share.
pub(super) struct Environment<'a> {
    store: &'a Store,
    data_root: &'a Path,
    commit: Option<&'a str>,
    checkpoint_every: Duration,
    threads: usize,
    cpu: Option<String>,
    stop: AtomicBool,
}

impl<'a> Environment<'a> {
    pub(super) fn new(store: &'a Store, options: &'a SweepOptions, threads: usize) -> Self {
        Self {
            store,
            data_root: &options.data_root,
            commit: options.commit.as_deref(),
            checkpoint_every: options.checkpoint_every,
            threads,
            cpu: cpu_model(),
            stop: AtomicBool::new(false),
        }
    }

    /// Makes all jobs checkpoint and end.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn stopped(&self, listener: &dyn Listener) -> bool {
        self.stop.load(Ordering::Relaxed) || listener.cancelled()
    }

    fn manifest(&self, job: &Job<'_>, seconds: f64) -> TrialManifest {
        TrialManifest {
            id: job.id.clone(),
            commit: self.commit.map(String::from),
            threads: self.threads,
            cpu: self.cpu.clone(),
            seconds,
            ..manifest_of(job.plan)
        }
    }
}

/// The manifest of a trial, without what depends on the machine.
pub fn manifest_of(plan: &Plan) -> TrialManifest {
    let parameter = |r: &crate::spec::Resolved| StoredParameter {
        field: r.path.clone(),
        value: r.value.clone(),
        given: r.given,
    };
    TrialManifest {
        schema: SCHEMA.into(),
        id: String::new(),
        experiment: plan.experiment.clone(),
        name: plan.name.clone(),
        kind: match plan.work {
            Work::Problem(_) => SpecKind::Problem,
            Work::Network(_) => SpecKind::Network,
        },
        labels: plan.labels.clone(),
        place: plan.place,
        seed: plan.seed,
        spec: plan.resolved().iter().map(parameter).collect(),
        version: env!("CARGO_PKG_VERSION").into(),
        value_version: VALUE_VERSION,
        commit: None,
        threads: 0,
        cpu: None,
        seconds: 0.0,
    }
}

/// The outcome of running a trial.
pub(super) enum Outcome {
    Rows { rows: Vec<Row>, seconds: f64 },
    Failed { sentence: String, kept: bool },
    Interrupted,
}

/// Runs a trial, unless another process is running it or has finished it.
pub(super) fn run_trial(
    job: &Job<'_>,
    environment: &Environment<'_>,
    listener: &dyn Listener,
) -> Result<End, SweepError> {
    let lease = match environment.store.claim(&job.id)? {
        TrialClaim::Busy => return Ok(End::Busy),
        TrialClaim::Settled(state) => {
            let end = settled(job, environment.store, state)?;
            listener.trial_ends(job.plan, &end);
            return Ok(end);
        }
        TrialClaim::Ours(lease) => lease,
    };
    lease.begin(&environment.manifest(job, 0.0))?;
    listener.trial_begins(job.plan);
    let watch = Watch { plan: job.plan, environment, listener, steps: 0, done: AtomicU64::new(0) };
    let outcome = match &job.plan.work {
        Work::Problem(spec) => problem(job, spec, &lease, watch)?,
        Work::Network(spec) => {
            environment.store.name_run(&job.id, &run_name(&job.plan.labels, job.plan.seed));
            network(job, spec, &lease, watch)?
        }
    };
    let end = match outcome {
        Outcome::Rows { rows, seconds } => {
            lease.finish(&environment.manifest(job, seconds), &rows)?;
            End::Done
        }
        Outcome::Failed { sentence, kept } => {
            if kept {
                let manifest = environment.manifest(job, 0.0);
                lease.fail(&Failure { sentence: sentence.clone(), manifest })?;
            }
            End::Failed { sentence, kept }
        }
        Outcome::Interrupted => End::Interrupted,
    };
    listener.trial_ends(job.plan, &end);
    Ok(end)
}

/// The outcome of a trial in another process.
fn settled(job: &Job<'_>, store: &Store, state: TrialState) -> Result<End, SweepError> {
    Ok(match state {
        TrialState::Failed => End::Failed { sentence: store.failure(&job.id)?.sentence, kept: true },
        _ => End::Elsewhere,
    })
}

fn problem(job: &Job<'_>, spec: &Spec, lease: &Lease, watch: Watch<'_, '_>) -> Result<Outcome, SweepError> {
    let watch = Watch { steps: spec.steps, ..watch };
    let (path, description) = (lease.checkpoint(), job.plan.description());
    let every = watch.environment.checkpoint_every;
    let keep = Keep { path: &path, description: &description, every };
    match trial(spec, job.plan.seed, Some(keep), &watch) {
        Ok(done) => Ok(Outcome::Rows { rows: done.rows, seconds: done.seconds }),
        Err(run::ProblemRunError::Cancelled(_)) => Ok(Outcome::Interrupted),
        Err(run::ProblemRunError::Checkpoint { message }) => {
            Err(SweepError::Files { id: job.id.clone(), message })
        }
        Err(error) => {
            // The same steps would diverge again.
            let kept = matches!(error, run::ProblemRunError::Diverged { .. });
            Ok(Outcome::Failed { sentence: error.to_string(), kept })
        }
    }
}

fn network(
    job: &Job<'_>,
    spec: &TrialSpec,
    lease: &Lease,
    mut watch: Watch<'_, '_>,
) -> Result<Outcome, SweepError> {
    let (folder, environment) = (lease.run_folder(), watch.environment);
    let place = TrialFolders {
        data_root: environment.data_root,
        folder: &folder,
        shared: environment.store.path(),
        checkpoint_every: environment.checkpoint_every,
    };
    match train_in(spec, job.plan.seed, &job.plan.description(), place, &mut watch) {
        Ok(Trained {
            summary: train::TrainingSummary { outcome: train::Outcome::Cancelled { .. }, .. },
            ..
        }) => Ok(Outcome::Interrupted),
        Ok(trained) => {
            let seconds = trained.summary.records.iter().map(|r| r.seconds).sum();
            Ok(Outcome::Rows { rows: network_rows(&trained, spec), seconds })
        }
        Err(error) => match error {
            NetworkError::Train(TrainError::Step { .. } | TrainError::TestDiverged { .. }) => {
                Ok(Outcome::Failed { sentence: error.to_string(), kept: true })
            }
            NetworkError::Train(TrainError::Io { .. } | TrainError::Checkpoint { .. })
            | NetworkError::Features(_)
            | NetworkError::Tensors(_) => {
                Err(SweepError::Files { id: job.id.clone(), message: error.to_string() })
            }
            // Missing data, for instance, may be there next time.
            other => Ok(Outcome::Failed { sentence: other.to_string(), kept: false }),
        },
    }
}

/// Forwards the progress of a trial to the listener of the sweep.
struct Watch<'a, 'b> {
    plan: &'a Plan,
    environment: &'a Environment<'b>,
    listener: &'a dyn Listener,
    steps: u64,
    done: AtomicU64,
}

impl Watch<'_, '_> {
    fn advanced_to(&self, step: u64) {
        if self.steps > 0 {
            self.listener.trial_advances(self.plan, step as f64 / self.steps as f64);
        }
    }
}

impl Progress for Watch<'_, '_> {
    fn begin(&self, _: &str, _: u64) {}

    fn advance(&self, units: u64) {
        self.advanced_to(self.done.fetch_add(units, Ordering::Relaxed) + units);
    }

    fn measured(&self, metric: &str, value: f64) {
        self.listener.trial_measured(self.plan, metric, value);
    }

    fn warned(&self, warning: &str) {
        self.listener.warned(self.plan, warning);
    }

    fn cancelled(&self) -> bool {
        self.environment.stopped(self.listener)
    }
}

impl train::TrainingListener for Watch<'_, '_> {
    fn epoch_begins(&mut self, _: u64, steps: u64) {
        if let Work::Network(spec) = &self.plan.work {
            self.steps = steps * spec.training.epochs;
        }
    }

    fn step_done(&mut self, k: u64, _: f64, _: usize) {
        self.advanced_to(k);
    }

    fn evaluated(&mut self, record: &EpochRecord) {
        let Work::Network(spec) = &self.plan.work else { return };
        let (metric, value) = match record.explained {
            None => ("accuracy", record.test_accuracy),
            Some(share) => ("r2", share),
        };
        self.listener.trial_measured(self.plan, &format!("{}_{metric}", spec.data.evaluated_part()), value);
    }

    fn warned(&mut self, warning: &Warning) {
        self.listener.warned(self.plan, &warning.to_string());
    }

    fn cancelled(&self) -> bool {
        self.environment.stopped(self.listener)
    }
}

/// The model of the CPU, if the system gives it in a file.
fn cpu_model() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}
