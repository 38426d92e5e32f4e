//! The network of one trial, trained in its folder.

use std::fs::{self, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use residuum_nn::data::disk::open_own;
use residuum_nn::state;
use residuum_nn::train::{
    EarlyStop, Outcome, Run, StopMetric, TrainError, Training, TrainingListener, TrainingSummary,
    unreachable_weights,
};
use thiserror::Error;

use super::features::{Access, FeatureError, Flow};
use super::layers::{LayerWeights, layer_weights};
use super::trial::{NetworkTrial, TrialError, WeightsFrom};
use crate::spec::{SpecError, TrialSpec};
use crate::store::StoreError;

/// Locked by the trial that computes features for all.
const FEATURES_LOCK: &str = ".features.lock";
/// Time between two checks of that lock.
const LOCK_POLL: Duration = Duration::from_millis(100);

/// Why a network cannot be trained or opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// It cannot be prepared.
    #[error(transparent)]
    NetworkTrial(#[from] TrialError),
    /// Its features cannot be stored.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// Training failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// Tensors cannot be written.
    #[error(transparent)]
    Tensors(#[from] state::TensorFileError),
    /// Its trial cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The trial has no network.
    #[error("trial {id} must have a network, got one that minimises an objective")]
    NoNetwork {
        /// The trial.
        id: String,
    },
    /// The trial has no tiles to program.
    #[error("trial {id} must have weights on tiles, got a digital rule or exact arrays")]
    NoTiles {
        /// The trial.
        id: String,
    },
    /// The manifest is not a valid spec.
    #[error("trial {id}: {source}")]
    Spec {
        /// The trial.
        id: String,
        /// What is wrong.
        source: SpecError,
    },
    /// The newest checkpoint cannot be read, and using an older one was not allowed.
    #[error(
        "checkpoint {} is damaged ({reason}); use the newest intact one, after {steps} steps, with --allow-older",
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
    /// The outcome of the run.
    pub summary: TrainingSummary,
    /// Every layer that the spec puts on tiles.
    pub layers: Vec<LayerWeights>,
}

/// The folders a trial uses.
#[derive(Clone, Copy, Debug)]
pub struct TrialFolders<'a> {
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
    place: TrialFolders<'_>,
    listener: &mut dyn TrainingListener,
) -> Result<Trained, NetworkError> {
    let TrialFolders { data_root, folder, shared, checkpoint_every } = place;
    let mut trial = NetworkTrial::prepare(spec, seed, data_root, WeightsFrom::Spec)?;
    if take_shared_features(&mut trial, spec, shared, listener)? == Flow::Cancel {
        let outcome = Outcome::Cancelled { k: 0, resume_from: None };
        return Ok(Trained {
            summary: TrainingSummary { outcome, steps: 0, records: Vec::new() },
            layers: Vec::new(),
        });
    }
    let start = layer_weights(&trial.parts.network, &spec.network.analog);
    let mut training = training(spec, &trial);
    training.checkpoint.pause = checkpoint_every;
    let mut unreachable = unreachable_weights(&trial.parts.network);
    unreachable.extend(trial.parts.backbone.iter().flat_map(unreachable_weights));
    let summary = match trial.run(&training, Some(folder), description).resume(listener) {
        Err(TrainError::NoCheckpoint { .. }) => {
            // A run that resumes has said so before.
            for warning in &unreachable {
                listener.warned(warning);
            }
            trial.run(&training, Some(folder), description).start(listener)?
        }
        // A run damaged by a power cut is started again.
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

/// Features in a folder that several trials share: one of them computes them, the others read.
fn take_shared_features(
    trial: &mut NetworkTrial,
    spec: &TrialSpec,
    shared: &Path,
    listener: &mut dyn TrainingListener,
) -> Result<Flow, NetworkError> {
    if trial.parts.backbone.is_none() {
        return Ok(Flow::Continue);
    }
    let path = shared.join(FEATURES_LOCK);
    let refused = |source| TrainError::Io { path: path.clone(), source };
    let lock = open_own(&path).map_err(refused)?;
    while let Err(held) = lock.try_lock() {
        match held {
            TryLockError::Error(source) => return Err(refused(source).into()),
            TryLockError::WouldBlock if listener.cancelled() => return Ok(Flow::Cancel),
            TryLockError::WouldBlock => thread::sleep(LOCK_POLL),
        }
    }
    Ok(trial.take_features(&spec.network.model, Some((shared, Access::Write)), listener)?)
}

fn training(spec: &TrialSpec, trial: &NetworkTrial) -> Training {
    let own = &spec.training;
    let mut training = Training::new(own.epochs, own.loss);
    training.early_stop = own.early_stop.map(|stop| EarlyStop {
        metric: if stop.loss { StopMetric::TestLoss } else { StopMetric::TestAccuracy },
        patience: stop.patience,
        min_delta: stop.min_delta,
    });
    training.checkpoint.every_steps = own.checkpoint_every;
    training.histograms = own.histograms;
    training.count_operations = spec.hardware.is_some();
    training.learning_rate = Some(trial.learning_rate);
    training
}

impl NetworkTrial {
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
