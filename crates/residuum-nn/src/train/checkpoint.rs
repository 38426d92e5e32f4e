//! Where in a training run a checkpoint was taken.

use serde::{Deserialize, Serialize};

use super::early_stop::Patience;
use super::evaluate::Tally;
use crate::checkpoint::Position as Stored;

/// What makes a run this run and no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// The canonical text of the spec, and its checksum for the eye.
    pub description: String,
    pub description_crc32c: String,
    /// The first random bits of the run's key.
    pub key: String,
    /// Training samples and steps of an epoch.
    pub train_samples: u64,
    pub steps_per_epoch: u64,
}

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Position {
    /// Steps done since the run began.
    pub k: u64,
    /// Whole epochs done.
    pub epoch: u64,
    /// Steps done in the current one.
    pub step: u64,
    /// What the current epoch's samples came to.
    pub tally: Tally,
    pub patience: Patience,
    /// Bytes of the files of metrics that belong to this position.
    pub metrics_bytes: u64,
    pub events_bytes: u64,
    /// Wall time spent on the current epoch.
    pub seconds: f64,
}

/// What a checkpoint of a training run holds besides its tensors.
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
