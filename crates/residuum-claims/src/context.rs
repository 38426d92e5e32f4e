//! The inputs of an experiment: size, random numbers, and the hardware under test.

use std::sync::Arc;

use residuum::response::Swapped;
use residuum::theory::coefficients::LemmaRates;
use residuum::theory::operator::Inequality;
use residuum::{Key, ResponseFunction};

use residuum::progress::Progress;

/// A response shared by arrays and predictions.
pub(crate) type Device = Arc<dyn ResponseFunction>;

/// The hardware on the bench. Predictions always speak of the faithful one; the others exist so that every group of
/// checks can be seen to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bench {
    /// As described.
    Faithful,
    /// Up pulses and down pulses are wired the wrong way round.
    SwappedBranches,
    /// Every step is ten times too long.
    Overstep,
    /// Every bound of a theorem is claimed a hundred times tighter, every lemma by a quarter of its terms.
    TighterBounds,
    /// Every law that is claimed to be tight is 10 % off.
    ShiftedLaws,
}

/// What an experiment is given.
pub(crate) struct Context<'a> {
    pub(crate) key: Key,
    pub(crate) quick: bool,
    pub(crate) bench: Bench,
    pub(crate) progress: &'a dyn Progress,
}

impl Context<'_> {
    /// The first number normally, the second in quick mode.
    pub(crate) fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// The stream of an experiment.
    pub(crate) fn key(&self, name: &str) -> Key {
        self.key.named(name)
    }

    /// The device that is found on the bench where `device` was ordered.
    pub(crate) fn device(&self, device: &Device) -> Device {
        match self.bench {
            Bench::SwappedBranches => Arc::new(Swapped(device.clone())),
            _ => device.clone(),
        }
    }

    /// The rate that is set on the bench where `rate` was ordered.
    pub(crate) fn rate(&self, rate: f64) -> f64 {
        if self.bench == Bench::Overstep { 10.0 * rate } else { rate }
    }

    /// An upper bound as it is claimed.
    pub(crate) fn bound(&self, bound: f64) -> f64 {
        if self.bench == Bench::TighterBounds { 0.01 * bound } else { bound }
    }

    /// A lower bound as it is claimed.
    pub(crate) fn floor(&self, floor: f64) -> f64 {
        if self.bench == Bench::TighterBounds { 100.0 * floor } else { floor }
    }

    /// An inequality of a lemma as it is claimed.
    pub(crate) fn lemma(&self, claimed: Inequality) -> Inequality {
        let harder = if self.bench == Bench::TighterBounds { 0.25 * claimed.scale } else { 0.0 };
        Inequality { smaller: claimed.smaller + harder, ..claimed }
    }

    /// A law as it is claimed.
    pub(crate) fn law(&self, law: f64) -> f64 {
        if self.bench == Bench::ShiftedLaws { 1.1 * law } else { law }
    }

    /// The same for all rates of Residual Learning.
    pub(crate) fn rates(&self, rates: LemmaRates) -> LemmaRates {
        let (learning_rate, transfer_rate) = (self.rate(rates.learning_rate), self.rate(rates.transfer_rate));
        LemmaRates { learning_rate, transfer_rate, ..rates }
    }
}
