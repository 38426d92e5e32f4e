//! One run of an experiment in its folder: started, resumed, opened again.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use residuum_nn::state;
use residuum_nn::train::{
    EarlyStop, Evaluation, Listener, Metric, Outcome, Run, Silent, Summary, TrainError, Training, evaluate,
    restore,
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::features::{FeatureError, Flow};
use super::kept::{Kept, MANIFEST, SPEC};
use super::layers::{LayerWeights, layer_weights};
use super::trial::{Origin, Parts, Trial, TrialError};
use crate::files::{FileError, write_atomic};
use crate::spec::{SpecError, TrialSpec};

const SCHEMA: &str = "residuum.train/1";
/// Locked by the trial that makes features for all.
const FEATURES_LOCK: &str = ".features.lock";
/// Time between two looks at that lock.
const LOCK_POLL: Duration = Duration::from_millis(100);

/// Why a run cannot begin, go on or be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// It cannot be prepared.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// What its head is given cannot be kept.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// It cannot go on.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// Its files cannot be written.
    #[error(transparent)]
    Write(#[from] FileError),
    /// Tensors cannot be written.
    #[error(transparent)]
    Tensors(#[from] state::FileError),
    /// The folder holds a run already.
    #[error("{} must not hold a run already; go on with it by --resume, or name another folder by --out", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds no run.
    #[error("{} must be the folder of a run of `residuum train`, or of a trial of a store: {reason}", path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
        /// What is missing or damaged.
        reason: String,
    },
    /// The spec beside the run cannot be read any more.
    #[error("{}: {source}", path.display())]
    Spec {
        /// The spec.
        path: PathBuf,
        /// What is wrong.
        source: SpecError,
    },
}

/// What a folder holds besides metrics and checkpoints: enough to build its network again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunManifest {
    /// Version of this file's schema.
    pub schema: String,
    /// Version of the program.
    pub version: String,
    /// Which trial of the spec.
    pub trial: String,
    /// Which seed.
    pub seed: u64,
    /// The profile asked for.
    pub profile: Option<String>,
}

/// A spec as text, with what is needed to read it again.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The spec.
    pub text: &'a str,
    /// The profile asked for.
    pub profile: Option<&'a str>,
}

/// Trains the network of one trial and seed, in `directory` if there is one. With `resume` a folder that holds a run is taken
/// up where it stopped; one that holds none is started.
///
/// # Errors
/// If the trial cannot be prepared, its folder holds another run, or training fails.
pub fn train(
    spec: &TrialSpec,
    seed: u64,
    root: &Path,
    directory: Option<(&Path, Source<'_>)>,
    resume: bool,
    listener: &mut dyn Listener,
) -> Result<Summary, RunError> {
    let resume = resume && directory.is_some_and(|(folder, _)| folder.join(MANIFEST).exists());
    // A run killed before its first checkpoint starts anew, so the weights are needed even so.
    let mut trial = Trial::prepare(spec, seed, root, Origin::Spec)?;
    // Runs of one experiment lie side by side and share their features.
    let beside = directory.and_then(|(folder, _)| folder.parent());
    if trial.take_features(&spec.network.model, beside, listener)? == Flow::Cancel {
        let outcome = Outcome::Cancelled { k: 0, resume_from: None };
        return Ok(Summary { outcome, steps: 0, records: Vec::new() });
    }
    if let Some((folder, source)) = directory
        && !resume
    {
        if folder.join(MANIFEST).exists() {
            return Err(RunError::Occupied { path: folder.into() });
        }
        let manifest = RunManifest {
            schema: SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            trial: spec.name.clone(),
            seed,
            profile: source.profile.map(String::from),
        };
        write_atomic(folder.join(SPEC), source.text.as_bytes())?;
        // Last, so that a folder with a manifest has its spec.
        write_atomic(folder.join(MANIFEST), format!("{}\n", json(&manifest)).as_bytes())?;
    }
    let training = training(spec, &trial);
    let description = spec.description(seed);
    let run = trial.run(&training, directory.map(|(folder, _)| folder), &description);
    Ok(if resume { run.resume(listener)? } else { run.start(listener)? })
}

/// A network trained in the folder of a store, and its weights before and after.
#[derive(Debug)]
pub struct Trained {
    /// What came of the run.
    pub summary: Summary,
    /// Every layer that the spec puts on tiles.
    pub layers: Vec<LayerWeights>,
}

/// Trains the network of one trial and seed in `folder`, from its newest checkpoint of this description if there is one. Features of
/// frozen layers lie in `shared`, for all trials. The folder holds no path.
///
/// # Errors
/// If the trial cannot be prepared or training fails.
pub fn train_in(
    spec: &TrialSpec,
    seed: u64,
    description: &str,
    root: &Path,
    [folder, shared]: [&Path; 2],
    listener: &mut dyn Listener,
) -> Result<Trained, RunError> {
    let mut trial = Trial::prepare(spec, seed, root, Origin::Spec)?;
    if take_shared_features(&mut trial, spec, shared, listener)? == Flow::Cancel {
        let outcome = Outcome::Cancelled { k: 0, resume_from: None };
        return Ok(Trained { summary: Summary { outcome, steps: 0, records: Vec::new() }, layers: Vec::new() });
    }
    let start = layer_weights(&trial.parts.network, &spec.network.analog);
    let training = training(spec, &trial);
    let summary = match trial.run(&training, Some(folder), description).resume(listener) {
        Err(TrainError::NoCheckpoint { .. }) => {
            trial.run(&training, Some(folder), description).start(listener)?
        }
        // What a power cut has left of a run is begun again.
        Err(TrainError::AllDamaged { .. }) => {
            fs::remove_dir_all(folder).map_err(|source| TrainError::Io { path: folder.into(), source })?;
            trial.run(&training, Some(folder), description).start(listener)?
        }
        resumed => resumed?,
    };
    let mut layers = layer_weights(&trial.parts.network, &spec.network.analog);
    for (layer, start) in layers.iter_mut().zip(start) {
        for (array, start) in layer.arrays.iter_mut().zip(start.arrays) {
            array.start = start.end;
        }
    }
    Ok(Trained { summary, layers })
}

/// Features that lie in a folder which other trials use at the same time: one of them makes them, the others read.
fn take_shared_features(
    trial: &mut Trial,
    spec: &TrialSpec,
    shared: &Path,
    listener: &mut dyn Listener,
) -> Result<Flow, RunError> {
    if trial.parts.backbone.is_none() {
        return Ok(Flow::Continue);
    }
    let path = shared.join(FEATURES_LOCK);
    let refused = |source| TrainError::Io { path: path.clone(), source };
    let lock = File::create(&path).map_err(refused)?;
    while let Err(held) = lock.try_lock() {
        match held {
            TryLockError::Error(source) => return Err(refused(source).into()),
            TryLockError::WouldBlock if listener.cancelled() => return Ok(Flow::Cancel),
            TryLockError::WouldBlock => thread::sleep(LOCK_POLL),
        }
    }
    Ok(trial.take_features(&spec.network.model, Some(shared), listener)?)
}

fn json(manifest: &RunManifest) -> String {
    serde_json::to_string_pretty(manifest).unwrap_or_default()
}

fn training(spec: &TrialSpec, trial: &Trial) -> Training {
    let own = &spec.training;
    let mut training = Training::new(own.epochs, own.loss);
    training.early_stop = own.early_stop.map(|stop| EarlyStop {
        metric: if stop.loss { Metric::TestLoss } else { Metric::TestAccuracy },
        patience: stop.patience,
        min_delta: stop.min_delta,
    });
    training.checkpoint.every_steps = own.checkpoint_every;
    training.histograms = own.histograms;
    training.learning_rate = Some(trial.learning_rate);
    training
}

impl Trial {
    fn run<'a>(
        &'a mut self,
        training: &'a Training,
        directory: Option<&'a Path>,
        description: &'a str,
    ) -> Run<'a> {
        let Self { parts, train, test, key, .. } = self;
        Run { network: &mut parts.network, train, test, training, key: *key, directory, description }
    }
}

/// A run opened again: its network as the newest checkpoint has it.
#[derive(Debug)]
pub struct Opened {
    /// What the folder says of itself.
    pub manifest: RunManifest,
    /// The trial.
    pub spec: TrialSpec,
    /// Steps the run had done.
    pub steps: u64,
    trial: Trial,
}

impl Opened {
    /// Opens the folder of a run, or of a trial of a store. Paths in its spec are relative to `base`: files of device tables, and
    /// the weights of a frozen backbone, which checkpoints do not hold. The run is left as it is.
    ///
    /// # Errors
    /// If it holds none, or its data or checkpoint cannot be read.
    pub fn new(folder: &Path, root: &Path, base: &Path) -> Result<Self, RunError> {
        let Kept { manifest, spec, folder, shared } = Kept::read(folder, base)?;
        let mut trial = Trial::prepare(&spec, manifest.seed, root, Origin::Checkpoint)?;
        trial.take_features(&spec.network.model, shared.as_deref(), &mut Silent)?;
        let steps = restore(&mut trial.parts.network, &folder, &mut Silent)?;
        Ok(Self { manifest, spec, steps, trial })
    }

    /// Whole epochs the run had done.
    pub fn epochs(&self) -> u64 {
        self.steps / self.trial.train.len() as u64
    }

    /// Loss and accuracy on the test images. Draws come from a key of their own.
    ///
    /// # Errors
    /// If the data do not fit.
    pub fn evaluate(&mut self) -> Result<Evaluation, RunError> {
        let Trial { parts, test, key, .. } = &mut self.trial;
        Ok(evaluate(&mut parts.network, test, self.spec.training.loss, key.named("evaluation"))?)
    }
}

/// What [`export`] has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// What the folder says of its run.
    pub manifest: RunManifest,
    /// Steps the run had done.
    pub steps: u64,
    /// Number of tensors.
    pub tensors: usize,
}

/// Writes the parameters that the network of a run, or of a trial of a store, computes with (effective weights of tiles) as
/// safetensors, frozen layers included. The data are not needed. Paths in the spec are relative to `base`, as for [`Opened::new`].
///
/// # Errors
/// If the folder holds no run, its checkpoint cannot be read, or the file cannot be written.
pub fn export(folder: &Path, to: &Path, base: &Path) -> Result<Exported, RunError> {
    let Kept { manifest, spec, folder, .. } = Kept::read(folder, base)?;
    // The length of an epoch shapes rates alone, and nothing is learned here.
    let mut parts = Parts::build(&spec, manifest.seed, spec.data.image(), 1, Origin::Checkpoint)?;
    let steps = restore(&mut parts.network, &folder, &mut Silent)?;
    let state = parts.state();
    state::write_safetensors(to, &state)?;
    Ok(Exported { manifest, steps, tensors: state.len() })
}
