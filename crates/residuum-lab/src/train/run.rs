//! The network of one trial, trained in its folder.

use std::fs::{self, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use residuum_nn::state;
use residuum_nn::train::{EarlyStop, Listener, Metric, Outcome, Run, Summary, TrainError, Training};
use thiserror::Error;

use super::features::{Access, FeatureError, Flow};
use super::layers::{LayerWeights, layer_weights};
use super::trial::{Origin, Trial, TrialError};
use crate::files::open_lock;
use crate::spec::{SpecError, TrialSpec};
use crate::store::StoreError;

/// Locked by the trial that makes features for all.
const FEATURES_LOCK: &str = ".features.lock";
/// Time between two looks at that lock.
const LOCK_POLL: Duration = Duration::from_millis(100);

/// Why a network cannot be trained or opened.
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
    /// Tensors cannot be written.
    #[error(transparent)]
    Tensors(#[from] state::FileError),
    /// Its trial cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The trial has no network.
    #[error("trial {id} minimises an objective and has no network")]
    NoNetwork {
        /// The trial.
        id: String,
    },
    /// The manifest no longer makes a spec.
    #[error("trial {id}: {source}")]
    Spec {
        /// The trial.
        id: String,
        /// What is wrong.
        source: SpecError,
    },
    /// The newest checkpoint cannot be read, and an older one was not asked for.
    #[error(
        "checkpoint {} is damaged ({reason}); the newest that is whole is after {steps} steps, take it with --allow-older",
        path.display()
    )]
    Damaged {
        /// The checkpoint.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
        /// Steps done at the older one.
        steps: u64,
    },
}

/// A network trained in the folder of a store, and its weights before and after.
#[derive(Debug)]
pub struct Trained {
    /// What came of the run.
    pub summary: Summary,
    /// Every layer that the spec puts on tiles.
    pub layers: Vec<LayerWeights>,
}

/// Where a trial is at work.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The folders of data sets.
    pub data_root: &'a Path,
    /// For its checkpoints, metrics and events.
    pub folder: &'a Path,
    /// For features of frozen layers, which all trials share.
    pub shared: &'a Path,
    /// Shortest time between two checkpoints of epochs.
    pub checkpoint_every: Duration,
}

/// Trains the network of one trial and seed, from its newest checkpoint of this description if there is one. Its folder holds no
/// path.
///
/// # Errors
/// If the trial cannot be prepared or training fails.
pub fn train_in(
    spec: &TrialSpec,
    seed: u64,
    description: &str,
    place: Place<'_>,
    listener: &mut dyn Listener,
) -> Result<Trained, RunError> {
    let Place { data_root, folder, shared, checkpoint_every } = place;
    let mut trial = Trial::prepare(spec, seed, data_root, Origin::Spec)?;
    if take_shared_features(&mut trial, spec, shared, listener)? == Flow::Cancel {
        let outcome = Outcome::Cancelled { k: 0, resume_from: None };
        return Ok(Trained { summary: Summary { outcome, steps: 0, records: Vec::new() }, layers: Vec::new() });
    }
    let start = layer_weights(&trial.parts.network, &spec.network.analog);
    let mut training = training(spec, &trial);
    training.checkpoint.pause = checkpoint_every;
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
    let lock = open_lock(&path).map_err(refused)?;
    while let Err(held) = lock.try_lock() {
        match held {
            TryLockError::Error(source) => return Err(refused(source).into()),
            TryLockError::WouldBlock if listener.cancelled() => return Ok(Flow::Cancel),
            TryLockError::WouldBlock => thread::sleep(LOCK_POLL),
        }
    }
    Ok(trial.take_features(&spec.network.model, Some((shared, Access::Write)), listener)?)
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
