//! What an experiment is given: size, random numbers, and the hardware under test.

use std::sync::Arc;

use residuum::theory::coefficients::Rates;
use residuum::{Key, ResponseFunction};

use super::devices::Swapped;
use crate::progress::Progress;

/// A response shared by arrays and predictions.
pub(super) type Device = Arc<dyn ResponseFunction>;

/// The hardware on the bench. Predictions always speak of the faithful one; the others exist so that every group of
/// checks can be seen to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code, reason = "broken twins are for tests"))]
pub(super) enum Bench {
    /// As described.
    Faithful,
    /// Up pulses and down pulses are wired the wrong way round.
    SwappedBranches,
    /// Every step is ten times too long.
    Overstep,
}

/// What an experiment is given.
pub(super) struct Context<'a> {
    pub(super) key: Key,
    pub(super) quick: bool,
    pub(super) bench: Bench,
    pub(super) progress: &'a dyn Progress,
}

impl Context<'_> {
    /// The first number in earnest, the second when time is short.
    pub(super) fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// The stream of an experiment.
    pub(super) fn key(&self, name: &str) -> Key {
        self.key.named(name)
    }

    /// The device that is found on the bench where `device` was ordered.
    pub(super) fn device(&self, device: &Device) -> Device {
        match self.bench {
            Bench::SwappedBranches => Arc::new(Swapped(device.clone())),
            Bench::Faithful | Bench::Overstep => device.clone(),
        }
    }

    /// The rate that is set on the bench where `rate` was ordered.
    pub(super) fn rate(&self, rate: f64) -> f64 {
        if self.bench == Bench::Overstep { 10.0 * rate } else { rate }
    }

    /// The same for all rates of Residual Learning.
    pub(super) fn rates(&self, rates: Rates) -> Rates {
        let (learning_rate, transfer_rate) = (self.rate(rates.learning_rate), self.rate(rates.transfer_rate));
        Rates { learning_rate, transfer_rate, ..rates }
    }
}
