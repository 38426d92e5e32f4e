use super::super::{EffectiveRates, Gradient, Slot, StepError, UpdateRule};
use super::pair::{Pair, Rates};
use super::transfer::Transfer;
use crate::Key;
use crate::error::{ParameterError, non_negative};
use crate::schedule::Schedule;
use crate::tile::{Crossbar, Scheme};

/// Tiki-Taka (Gokmen & Haensch 2020): P collects gradients, and its columns are added to W at a rate of their own.
///
/// ```text
/// W̄ = W + γP                              γ = 0 hides P from the network
/// P ← P + A(−α ∇f(W̄; ξ); P)
/// W ← W + A(λ · P; W)                      the columns of this transfer
/// ```
/// The transfer rate λ is absolute: it is not multiplied by γ. With a buffer in the transfer this is version 2 (Gokmen 2021).
#[derive(Debug)]
pub struct TikiTaka {
    pair: Pair,
    learning_rate: Schedule,
    transfer_rate: Schedule,
}

impl TikiTaka {
    /// γ = `mixing` (0 is allowed), α = `learning_rate`, λ = `transfer_rate`; `scheme` writes P.
    ///
    /// # Errors
    /// If the arrays differ in shape, a rate is negative, or the transfer is impossible.
    pub fn new(
        main: impl Crossbar + 'static,
        residual: impl Crossbar + 'static,
        mixing: f64,
        learning_rate: impl Into<Schedule>,
        transfer_rate: impl Into<Schedule>,
        scheme: impl Into<Scheme>,
        transfer: Transfer,
    ) -> Result<Self, ParameterError> {
        let mixing = non_negative("mixing", mixing)? as f32;
        Ok(Self {
            pair: Pair::new(Box::new(main), Box::new(residual), mixing, scheme.into(), transfer)?,
            learning_rate: learning_rate.into().validate()?,
            transfer_rate: transfer_rate.into().validate()?,
        })
    }
}

impl UpdateRule<f32> for TikiTaka {
    fn dim(&self) -> usize {
        self.pair.main.weights().len()
    }

    fn effective_weights(&self, out: &mut [f32]) {
        out.copy_from_slice(self.pair.effective());
    }

    fn effective_view(&self) -> Option<&[f32]> {
        Some(self.pair.effective())
    }

    fn step(&mut self, k: u64, gradient: Gradient<'_, f32>, key: Key) -> Result<(), StepError> {
        let rates =
            Rates { learning: self.learning_rate.at(k) as f32, transfer: self.transfer_rate.at(k) as f32 };
        self.pair.step(k, gradient, &rates, key)
    }

    fn program(&mut self, weights: &[f32], key: Key) -> Result<(), ParameterError> {
        self.pair.program(weights, key)
    }

    fn range(&self) -> Option<[f32; 2]> {
        Some(self.pair.main.range())
    }

    fn arrays(&self) -> Vec<(&'static str, &[f32])> {
        self.pair.arrays()
    }

    fn effective_rates(&self, k: u64) -> EffectiveRates {
        EffectiveRates {
            learning: self.learning_rate.at(k),
            transfer: Some(self.transfer_rate.at(k) * self.pair.way.share()),
            sweep: self.pair.way.sweep(),
        }
    }

    fn pulses_sent(&self) -> u64 {
        self.pair.pulses_sent()
    }

    fn state(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        self.pair.state(visit);
    }

    fn label(&self) -> String {
        if self.pair.way.buffered() { "Tiki-Taka v2".into() } else { "Tiki-Taka v1".into() }
    }
}
