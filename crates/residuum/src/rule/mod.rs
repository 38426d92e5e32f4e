//! Update rules: where to take the gradient, and what to do with it.
//!
//! A rule *desires* increments; its arrays *realize* them. Step k maps `(W_k, P_k)` to `(W_{k+1}, P_{k+1})` given
//! the gradient at [`UpdateRule::effective_weights`], and is pure in `(state, k, gradient, key)`.
//!
//! The rules of this module work in f64 on arrays of any shape; those of [`crossbar`] in f32 on tiles, with pulses.

mod cascade;
pub mod crossbar;
mod gradient;
mod residual_learning;
mod single;
mod slot;
mod source;

pub use cascade::ResidualCascade;
pub use gradient::Gradient;
pub use residual_learning::{ResidualLearning, Transfer};
pub use single::{Analog, Digital};
pub use slot::Slot;
pub use source::Source;

use std::fmt::Debug;

use thiserror::Error;

use crate::{Key, ParameterError};

/// One optimisation algorithm on its arrays, in f64 or f32.
pub trait UpdateRule<T = f64>: Debug + Send {
    /// Number of weights.
    fn dim(&self) -> usize;

    /// Where f is evaluated: W for the single-array rules, W̄ = W + γ(P − W⋄) for Residual Learning.
    fn effective_weights(&self, out: &mut [T]);

    /// The same without a copy, where one array holds them as they are.
    fn effective_view(&self) -> Option<&[T]> {
        None
    }

    /// Iteration k → k + 1, given ∇f(effective_weights; ξ_k).
    ///
    /// # Errors
    /// If an array refuses the step, as a tile does with a gradient that is not finite; no array has moved then.
    fn step(&mut self, k: u64, gradient: Gradient<'_, T>, key: Key) -> Result<(), StepError>;

    /// What a mini-batch does to the arrays besides the pulses of its step, where their cells leak, diffuse or drift.
    fn age(&mut self, key: Key) {
        let _ = key;
    }

    /// Writes a state at set-up: the main array becomes `weights` as well as its cells can, residual arrays their symmetric
    /// points, digital memory 0.
    ///
    /// # Errors
    /// If the length differs or a weight is not finite or impossible; nothing is written then.
    fn program(&mut self, weights: &[T], key: Key) -> Result<(), ParameterError>;

    /// Bounds of the main array's cells, as their device has them on average; `None` where there are none.
    fn range(&self) -> Option<[T; 2]> {
        None
    }

    /// The state of each array by name: `main` first (W), then `residual` (P) where there is one.
    fn arrays(&self) -> Vec<(&'static str, &[T])>;

    /// How fast the arrays move at step k.
    fn effective_rates(&self, k: u64) -> EffectiveRates;

    /// Pulses sent so far by all arrays.
    fn pulses_sent(&self) -> u64;

    /// Hands every number that a step changes to `visit`, by name: writing them out and back in continues the run to
    /// the bit.
    fn state(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>));

    /// Name for tables and legends.
    fn label(&self) -> String;
}

/// How fast the arrays of a rule move, where the response is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectiveRates {
    /// Change of the array that meets the gradient, per step and unit of gradient.
    pub learning: f64,
    /// Change of the main array per step and unit of residual, averaged over a sweep; `None` where the main array meets the
    /// gradient itself.
    pub transfer: Option<f64>,
    /// Steps in which every weight of the main array has been written once.
    pub sweep: u64,
}

impl EffectiveRates {
    /// Of a rule with a single array.
    pub(crate) fn single(learning: f64) -> Self {
        Self { learning, transfer: None, sweep: 1 }
    }
}

/// A step that an array refused.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("array `{array}` refused step {step}: {source}")]
pub struct StepError {
    /// The array, as in [`UpdateRule::arrays`].
    pub array: String,
    /// k.
    pub step: u64,
    /// What was wrong.
    pub source: ParameterError,
}
