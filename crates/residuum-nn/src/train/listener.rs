//! How training tells its caller how far it is, and is told to stop. The library never prints.

use std::path::{Path, PathBuf};

use super::EpochRecord;

/// Watches a run: progress bars, Ctrl-C. Epochs are counted from 1.
pub trait TrainingListener {
    /// Before the first step: `done` of `of` samples are through the layers that never change.
    fn prepared(&mut self, done: usize, of: usize) {
        let _ = (done, of);
    }

    /// The run goes on from a checkpoint: `position` steps of epoch `epoch` are done already.
    fn resumed(&mut self, epoch: u64, position: u64) {
        let _ = (epoch, position);
    }

    /// Epoch `epoch` of `steps` steps begins or goes on.
    fn epoch_begins(&mut self, epoch: u64, steps: u64) {
        let _ = (epoch, steps);
    }

    /// `k` steps are done; the batch of the last, of `samples`, had this mean loss.
    fn step_done(&mut self, k: u64, loss: f64, samples: usize) {
        let _ = (k, loss, samples);
    }

    /// An epoch is done and its network evaluated.
    fn evaluated(&mut self, record: &EpochRecord) {
        let _ = record;
    }

    /// A checkpoint of the run after `k` steps is on the disk.
    fn checkpointed(&mut self, k: u64, path: &Path) {
        let _ = (k, path);
    }

    /// Something is not as it should be, and the run goes on.
    fn warned(&mut self, warning: &Warning) {
        let _ = warning;
    }

    /// Whether the user wants to stop; asked at every step, so it must be cheap.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Nobody listens.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl TrainingListener for Unwatched {}

/// What a run can live with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// A checkpoint that cannot be used; an older one is tried.
    #[error("checkpoint {} is damaged ({reason}); going back to the one before", path.display())]
    DamagedCheckpoint {
        /// The checkpoint.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file of metrics that does not hold what was written to it before the checkpoint.
    #[error("{} lacks data written before the checkpoint; it was renamed to {} and a new file started", path.display(), kept.display())]
    DamagedLog {
        /// The file.
        path: PathBuf,
        /// Where it is kept.
        kept: PathBuf,
    },
}
