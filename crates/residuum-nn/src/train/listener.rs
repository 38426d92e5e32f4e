//! How training reports progress and can be stopped. The library never prints.

use std::path::{Path, PathBuf};

use super::EpochRecord;

/// Watches a run: progress bars, Ctrl-C. Epochs are counted from 1.
pub trait TrainingListener {
    /// Before the first step: `done` of `of` samples have passed the frozen layers.
    fn prepared(&mut self, done: usize, of: usize) {
        let _ = (done, of);
    }

    /// The run continues from a checkpoint: `position` steps of epoch `epoch` are already done.
    fn resumed(&mut self, epoch: u64, position: u64) {
        let _ = (epoch, position);
    }

    /// Epoch `epoch` of `steps` steps starts or continues.
    fn epoch_begins(&mut self, epoch: u64, steps: u64) {
        let _ = (epoch, steps);
    }

    /// `k` steps are done; `loss` is the mean loss of the last batch, of `samples`.
    fn step_done(&mut self, k: u64, loss: f64, samples: usize) {
        let _ = (k, loss, samples);
    }

    /// An epoch is done and the network evaluated.
    fn evaluated(&mut self, record: &EpochRecord) {
        let _ = record;
    }

    /// A checkpoint after `k` steps has been written.
    fn checkpointed(&mut self, k: u64, path: &Path) {
        let _ = (k, path);
    }

    /// Something is wrong, but the run continues.
    fn warned(&mut self, warning: &Warning) {
        let _ = warning;
    }

    /// Whether the user wants to stop; asked at every step, so it must be cheap.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl TrainingListener for Unwatched {}

/// A problem that does not stop a run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// A damaged checkpoint; an older one is tried.
    #[error("checkpoint {} is damaged ({reason}); going back to the one before", path.display())]
    DamagedCheckpoint {
        /// The checkpoint.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A metrics file that lacks data written before the checkpoint.
    #[error("{} lacks data written before the checkpoint; it was renamed to {} and a new file started", path.display(), kept.display())]
    DamagedLog {
        /// The file.
        path: PathBuf,
        /// Its new name.
        kept: PathBuf,
    },
    /// Cells that begin at the end of their range, because their weight lies beyond it.
    #[error(
        "layer {layer}: {cells} of {of} cells cannot hold their first weight and begin at the end of their range{}; the largest \
         such weight is {largest} (mapping.omega scales weights into the range)",
        range.map_or_else(String::new, |[lo, hi]| format!(", which is {lo} to {hi} on average"))
    )]
    Unreachable {
        /// The layer.
        layer: String,
        /// How many.
        cells: usize,
        /// How many the layer has.
        of: usize,
        /// The weight of largest magnitude among them.
        largest: f32,
        /// The range of the layer's weights, on average over its cells.
        range: Option<[f32; 2]>,
    },
}
