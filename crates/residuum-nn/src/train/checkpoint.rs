//! Where in a training run a checkpoint was taken.

use serde::{Deserialize, Serialize};

use super::early_stop::Patience;
use super::evaluate::Tally;
use crate::checkpoint::Position as Stored;

/// What identifies a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// The canonical text of the spec, and its checksum for human readers.
    pub description: String,
    pub description_crc32c: String,
    /// The first random bits of the run's key.
    pub key: String,
    /// Training samples and steps of an epoch.
    pub train_samples: u64,
    pub steps_per_epoch: u64,
}

/// Progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Position {
    /// Steps done since the run began.
    pub k: u64,
    /// Completed epochs.
    pub epoch: u64,
    /// Steps done in the current one.
    pub step: u64,
    /// Loss and hits of the current epoch so far.
    pub tally: Tally,
    pub patience: Patience,
    /// Lengths of the metrics files at this position, in bytes.
    pub metrics_bytes: u64,
    pub events_bytes: u64,
    /// Wall time spent on the current epoch.
    pub seconds: f64,
}

/// What a checkpoint of a training run holds in addition to its tensors.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Contents {
    pub identity: Identity,
    pub position: Position,
}

impl Stored for Contents {
    fn name(&self) -> String {
        self.position.name()
    }
}

impl Position {
    /// Names sort as positions do.
    pub fn name(&self) -> String {
        format!("epoch-{:06}-step-{:09}", self.epoch, self.step)
    }
}
