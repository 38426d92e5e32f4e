use super::super::{EffectiveRates, Gradient, Slot, StepError, UpdateRule};
use super::pair::{Pair, Rates};
use super::transfer::Transfer;
use crate::Key;
use crate::error::{ParameterError, require, same_length};
use crate::schedule::Schedule;
use crate::tile::{Crossbar, Scheme};

/// Residual Learning on tiles: P learns the residual of W, and W follows P.
///
/// ```text
/// W̄ = W + γ(P − W⋄)
/// P ← P + A(−α ∇f(W̄; ξ); P)               recursion:HD-P
/// W ← W + A(βγ(P − W⋄); W)                  recursion:HD-W, the columns of this transfer
/// ```
/// With [`Columns::All`](super::Columns::All) this is the paper's recursion, with some columns per transfer the schedule of its
/// hardware; with a buffer in the transfer it is version 2.
#[derive(Debug)]
pub struct ResidualLearning {
    pair: Pair,
    mixing: f64,
    learning_rate: Schedule,
    transfer_rate: Schedule,
}

impl ResidualLearning {
    /// γ = `mixing`, α = `learning_rate`, β = `transfer_rate`; W⋄ = 0 until
    /// [`symmetric_point`](Self::symmetric_point) gives another; `scheme` writes P.
    ///
    /// # Errors
    /// If the arrays differ in shape, `mixing` is not positive (without mixing the rule is [`TikiTaka`](super::TikiTaka)), a
    /// rate is negative, or the transfer is impossible.
    pub fn new(
        main: impl Crossbar + 'static,
        residual: impl Crossbar + 'static,
        mixing: f64,
        learning_rate: impl Into<Schedule>,
        transfer_rate: impl Into<Schedule>,
        scheme: impl Into<Scheme>,
        transfer: Transfer,
    ) -> Result<Self, ParameterError> {
        mixed(mixing)?;
        Ok(Self {
            pair: Pair::new(Box::new(main), Box::new(residual), mixing as f32, scheme.into(), transfer)?,
            mixing,
            learning_rate: learning_rate.into().validate()?,
            transfer_rate: transfer_rate.into().validate()?,
        })
    }

    /// W⋄ of each residual cell, as measured or known.
    ///
    /// # Errors
    /// If the length differs or an entry is not finite.
    pub fn symmetric_point(mut self, point: Vec<f32>) -> Result<Self, ParameterError> {
        same_length("symmetric_point", self.dim(), point.len())?;
        if let Some(index) = point.iter().position(|p| !p.is_finite()) {
            let value = f64::from(point[index]);
            return Err(ParameterError::NotFinite { name: "symmetric_point", index, value });
        }
        self.pair.set_point(point);
        Ok(self)
    }
}

/// Refuses a Residual Learning that is none.
pub(super) fn mixed(mixing: f64) -> Result<(), ParameterError> {
    require(
        mixing > 0.0 && mixing.is_finite(),
        "mixing",
        "positive and finite (without mixing the rule is Tiki-Taka v1: use TikiTaka)",
        mixing,
    )
}

impl UpdateRule<f32> for ResidualLearning {
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
        let rates = Rates {
            learning: self.learning_rate.at(k) as f32,
            transfer: (self.transfer_rate.at(k) * self.mixing) as f32,
        };
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
            transfer: Some(self.transfer_rate.at(k) * self.mixing * self.pair.way.share()),
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
        if self.pair.way.buffered() { "Residual Learning v2".into() } else { "Residual Learning".into() }
    }
}
