use super::transfer::Transfer;
use super::{
    EffectiveRates, Gradient, Inspect, Operations, Rates, ResidualConfig, ResidualLearning, Rule, Source,
    StepError, SymmetricPoint, UpdateRule,
};
use crate::array::Array;
use crate::error::{ParameterError, non_negative};
use crate::state::{State, StateError, Tensors};
use crate::{Key, Scalar};

/// Tiki-Taka (Gokmen & Haensch 2020): P collects gradients, and its columns are added to W at a separate rate.
///
/// ```text
/// W̄ = W + γP                              γ = 0 hides P from the problem
/// P ← P + A(−α ∇f(W̄; ξ); P)
/// W ← W + A(λ · P; W)                      the columns of this transfer
/// ```
/// The transfer rate λ is absolute: it is not multiplied by γ. With a buffer in the transfer this is version 2 (Gokmen 2021).
#[derive(Debug)]
pub struct TikiTaka<T: Scalar = f64>(ResidualLearning<T>);

/// Settings of [`TikiTaka`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TikiTakaConfig {
    /// γ; 0 hides P.
    pub mixing: f64,
    /// From P to W; by default the whole array after every step.
    pub transfer: Transfer,
    /// Where the desired step of P comes from; by default SGD.
    pub source: Source,
}

impl<T: Scalar> TikiTaka<T> {
    /// Trains `main` (W) with `residual` (P).
    ///
    /// # Errors
    /// If the arrays differ in shape, `mixing` is negative, or the transfer is invalid.
    pub fn new(
        main: impl Array<T> + 'static,
        residual: impl Array<T> + 'static,
        config: TikiTakaConfig,
    ) -> Result<Self, ParameterError> {
        let TikiTakaConfig { mixing, transfer, source } = config;
        non_negative("mixing", mixing)?;
        let symmetric_point = SymmetricPoint::Zero;
        let config = ResidualConfig { mixing, symmetric_point, transfer, source, cell_gain: None };
        ResidualLearning::chain(Box::new(main), vec![Box::new(residual)], config, 1.0).map(Self)
    }
}

impl<T: Scalar> UpdateRule<T> for TikiTaka<T> {
    fn effective_weights(&self) -> &[T] {
        self.0.effective_weights()
    }

    fn step(&mut self, gradient: Gradient<'_, T>, rates: &Rates, key: Key) -> Result<(), StepError> {
        self.0.step(gradient, rates, key)
    }
}

impl<T: Scalar> Inspect<T> for TikiTaka<T> {
    fn label(&self) -> String {
        if self.0.links[0].buffered() { "Tiki-Taka v2".into() } else { "Tiki-Taka v1".into() }
    }

    fn arrays(&self) -> Vec<(&'static str, &dyn Array<T>)> {
        self.0.arrays()
    }

    fn operations(&self, steps: u64, samples: u64) -> Operations {
        self.0.operations(steps, samples)
    }

    fn arrays_read(&self) -> u64 {
        self.0.arrays_read()
    }

    fn effective_rates(&self, rates: &Rates, batch: usize) -> EffectiveRates {
        self.0.effective_rates(rates, batch)
    }
}

impl<T: Scalar> State for TikiTaka<T> {
    fn tensors(&self) -> Tensors {
        self.0.tensors()
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        self.0.load(from)
    }
}

impl<T: Scalar> Rule<T> for TikiTaka<T> {
    fn program(&mut self, weights: &[T], key: Key) -> Result<(), ParameterError> {
        self.0.program(weights, key)
    }

    fn set_units(&mut self, units: &[T]) {
        self.0.set_units(units);
    }

    fn age(&mut self, key: Key) {
        self.0.age(key);
    }
}
