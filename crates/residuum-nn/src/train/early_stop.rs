//! Stopping when the test data no longer improves.

use residuum::ParameterError;
use serde::{Deserialize, Serialize};

use super::EpochRecord;

/// What should improve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopMetric {
    /// Accuracy, upwards.
    TestAccuracy,
    /// Loss, downwards.
    TestLoss,
}

/// Stop after `patience` epochs in a row of which none was better than the best before by more than `min_delta`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarlyStop {
    /// What should improve.
    pub metric: StopMetric,
    /// Epochs without improvement, at least 1.
    pub patience: u64,
    /// What counts as improvement, zero or positive.
    pub min_delta: f64,
}

impl EarlyStop {
    /// Checks the numbers.
    ///
    /// # Errors
    /// If the patience is zero, or the least improvement is negative or not finite.
    pub fn validate(self) -> Result<Self, ParameterError> {
        let refuse = |name, must, value| Err(ParameterError::OutOfDomain { name, must, value });
        if self.patience == 0 {
            return refuse("patience", "at least 1", 0.0);
        }
        if !(self.min_delta >= 0.0 && self.min_delta.is_finite()) {
            return refuse("min_delta", "zero or positive, and finite", self.min_delta);
        }
        Ok(self)
    }
}

/// Tracks how long nothing has improved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Patience {
    /// Bits of the best score so far; larger scores are better.
    best_bits: Option<u64>,
    /// Epochs since.
    waited: u64,
}

impl Patience {
    /// Records an epoch.
    pub fn observe(&mut self, rule: &EarlyStop, record: &EpochRecord) {
        let score = match rule.metric {
            StopMetric::TestAccuracy => record.test_accuracy,
            StopMetric::TestLoss => -record.test_loss,
        };
        if self.best_bits.is_none_or(|best| score > f64::from_bits(best) + rule.min_delta) {
            *self = Self { best_bits: Some(score.to_bits()), waited: 0 };
        } else {
            self.waited += 1;
        }
    }

    /// Whether to stop.
    pub fn exhausted(&self, rule: &EarlyStop) -> bool {
        self.waited >= rule.patience
    }
}
