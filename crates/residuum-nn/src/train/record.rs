//! What a run measures, and how it ends.

use std::collections::BTreeMap;
use std::path::PathBuf;

use residuum::rule::Operations;
use serde::{Deserialize, Serialize};

/// One epoch, a line of `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// Epochs done, this one included.
    pub epoch: u64,
    /// Steps done since the run began.
    pub steps: u64,
    /// Mean loss over the samples of the epoch, each measured before its step.
    pub train_loss: f64,
    /// Fraction of them that was correct.
    pub train_accuracy: f64,
    /// Mean loss over the test data after the epoch.
    pub test_loss: f64,
    /// Fraction of the test data that was correct; 0 for a regression.
    pub test_accuracy: f64,
    /// For a regression, R² on the test data: the share of the variance of the targets that the outputs explain.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub explained: Option<f64>,
    /// Rate of the last step, if [`Training`](super::Training) has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub learning_rate: Option<f64>,
    /// Pulses that the devices of each analog layer have received since they were built.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub pulses: BTreeMap<String, u64>,
    /// What hardware has done for each layer since training began, if [`Training`](super::Training) counts it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default, with = "counts")]
    pub operations: BTreeMap<String, Operations>,
    /// Wall time of training and evaluation; not reproducible.
    pub seconds: f64,
    /// Training samples per second of training; not reproducible.
    pub samples_per_second: f64,
}

/// [`Operations`] as their counts, in the order of the fields.
mod counts {
    use std::collections::BTreeMap;

    use residuum::rule::Operations;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(
        all: &BTreeMap<String, Operations>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let all: BTreeMap<&str, [u64; 8]> = all.iter().map(|(name, o)| (name.as_str(), o.counts())).collect();
        all.serialize(to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(
        from: D,
    ) -> Result<BTreeMap<String, Operations>, D::Error> {
        let all = BTreeMap::<String, [u64; 8]>::deserialize(from)?;
        Ok(all.into_iter().map(|(name, counts)| (name, counts.into())).collect())
    }
}

impl EpochRecord {
    /// The reproducible part, equal bit for bit in any run of the same description: the record with its times set to zero.
    pub fn reproducible(&self) -> Self {
        Self { seconds: 0.0, samples_per_second: 0.0, ..self.clone() }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All epochs are done.
    Finished,
    /// The test data no longer improved.
    Stopped {
        /// Epochs done.
        epoch: u64,
    },
    /// The listener cancelled the run.
    Cancelled {
        /// Steps done.
        k: u64,
        /// The checkpoint from which [`Run::resume`](super::Run::resume) continues; `None` for a run without a directory.
        resume_from: Option<PathBuf>,
    },
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingSummary {
    /// How it ended.
    pub outcome: Outcome,
    /// Steps done.
    pub steps: u64,
    /// All epochs, including those before a resumption.
    pub records: Vec<EpochRecord>,
}
