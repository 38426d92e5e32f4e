//! Training: epochs, evaluation, metrics, checkpoints that resume bit for bit.
//!
//! ```
//! use residuum::Key;
//! use residuum_nn::data::{Batches, Pipeline, embedded};
//! use residuum_nn::layer::Activation;
//! use residuum_nn::model::{DigitalFactory, mlp};
//! use residuum_nn::train::{Run, Unwatched, Training};
//! use residuum_nn::{Loss, Sgd, SampleShape};
//!
//! let key = Key::new(7);
//! let digits = embedded::digits()?;
//! let pipeline = Pipeline::new(&digits.train, &[])?;
//! let train = Batches::new(digits.train, pipeline.clone(), 10, key.named("data"))?.shuffled();
//! let test = Batches::new(digits.test, pipeline, 100, key.named("test"))?;
//! let mut sgd = DigitalFactory(Some(Sgd::new(0.1)));
//! let mut network = mlp(SampleShape::image(8, 8, 1), &[64, 32, 10], Activation::Tanh, &mut sgd, key.named("network"))?;
//! let training = Training::new(3, Loss::CrossEntropy { smoothing: 0.0 });
//! let run = Run {
//!     network: &mut network,
//!     train: &train,
//!     test: &test,
//!     training: &training,
//!     key: key.named("run"),
//!     directory: None,
//!     description: "",
//! };
//! let summary = run.start(&mut Unwatched)?;
//! assert!(summary.records[2].test_accuracy > 0.9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A run writes to its directory
//!
//! | file | contents |
//! |---|---|
//! | `metrics.jsonl` | one [`EpochRecord`] per line |
//! | `events.out.tfevents.residuum` | the same for TensorBoard, with histograms of the weights if enabled |
//! | `checkpoints/` | the two newest checkpoints: tensors and a manifest |
//!
//! The results of a run depend only on its description, key and data. A run that is killed at any moment and resumed
//! has the same records and the same weights, bit for bit, as an uninterrupted one; only times differ. Whatever the files
//! hold beyond the checkpoint it resumes from is truncated and rewritten.

mod checkpoint;
mod early_stop;
mod error;
mod evaluate;
pub(crate) mod events;
mod files;
pub(crate) mod histogram;
mod listener;
pub(crate) mod log;
mod record;
mod restore;
mod run;

use std::time::Duration;

use residuum::{ParameterError, Schedule};

pub use early_stop::{EarlyStop, StopMetric};
pub use error::TrainError;
pub use evaluate::{Evaluation, evaluate};
pub use histogram::{Histogram, pulse_ledger, unreachable_weights, weight_histograms};
pub use listener::{TrainingListener, Unwatched, Warning};
pub use record::{EpochRecord, Outcome, TrainingSummary};
pub use restore::restore;
pub use run::Run;

use crate::Loss;

/// Settings of a run, apart from network and data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Training {
    /// Passes over the training data.
    pub epochs: u64,
    /// The loss to minimise.
    pub loss: Loss,
    /// Whether to stop earlier.
    pub early_stop: Option<EarlyStop>,
    /// When to write checkpoints.
    pub checkpoint: CheckpointPolicy,
    /// Whether to write the distribution of each layer's effective weights for TensorBoard after every epoch.
    pub histograms: bool,
    /// If set, write the loss of a single batch for TensorBoard every this many steps.
    pub batch_loss_every: Option<u64>,
    /// The rate shown in records. Layers have their own schedules.
    pub learning_rate: Option<Schedule>,
    /// Whether records count the operations of hardware.
    pub count_operations: bool,
    /// Batches prepared ahead of the step that uses them. Does not change results.
    pub prefetch: usize,
}

impl Training {
    /// Trains for `epochs` on `loss`: no early stop, a checkpoint after every epoch, no histograms.
    pub fn new(epochs: u64, loss: Loss) -> Self {
        Self {
            epochs,
            loss,
            early_stop: None,
            checkpoint: CheckpointPolicy::default(),
            histograms: false,
            batch_loss_every: None,
            learning_rate: None,
            count_operations: false,
            prefetch: 4,
        }
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// If a count of steps is zero, or the loss or the early stop is invalid.
    pub fn validate(self) -> Result<Self, ParameterError> {
        self.loss.validate()?;
        self.early_stop.map(EarlyStop::validate).transpose()?;
        self.learning_rate.map(Schedule::validate).transpose()?;
        let counts = [
            ("checkpoint.every_steps", self.checkpoint.every_steps),
            ("batch_loss_every", self.batch_loss_every),
        ];
        match counts.into_iter().find(|&(_, count)| count == Some(0)) {
            Some((name, _)) => Err(ParameterError::OutOfDomain { name, must: "at least 1", value: 0.0 }),
            None => Ok(self),
        }
    }
}

/// When checkpoints are written, in addition to the start, the end, and cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointPolicy {
    /// Every this many steps.
    pub every_steps: Option<u64>,
    /// After every epoch.
    pub epoch_ends: bool,
    /// Minimum time since the previous checkpoint: short epochs would otherwise spend their time on the disk.
    pub pause: Duration,
}

impl Default for CheckpointPolicy {
    fn default() -> Self {
        Self { every_steps: None, epoch_ends: true, pause: Duration::ZERO }
    }
}
