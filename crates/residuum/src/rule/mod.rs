//! Update rules: where to take the gradient, and what to do with it.
//!
//! A rule *desires* increments; its arrays *realize* them. A step maps `(W_k, P_k)` to `(W_{k+1}, P_{k+1})` given the gradient
//! at [`UpdateRule::effective_weights`] and is pure in `(state, gradient, rates, key)`. Every rule is arrays of any kind, in
//! f64 or f32, plus a [`Transfer`] between them; what each does at a step is printed above its type:
//!
//! | rule | residual array P | main array W |
//! |---|---|---|
//! | [`Digital`] | – | ΔW, in digital memory |
//! | [`Analog`] | – | A(ΔW) |
//! | [`TikiTaka`] | A(ΔP) | A(λ·P), some columns at a time; through a digital buffer it is version 2 |
//! | [`ResidualLearning`] | A(ΔP), or a chain of them | A(βγ(P − W⋄)), all columns or some; through a buffer it is version 2; with a tracked W⋄ it is RIDER |
//! | [`ChoppedTikiTaka`] | A(−αc∇) with signs c that flip | pulses of a buffer of c·P, or of c(P − its mean before the flip): AGAD |
//! | [`Manhattan`] | – | a pulse against the sign of ∇ |
//! | [`MixedPrecision`] | digital | pulses of a digital sum of −α∇ |
//!
//! ΔW and ΔP come from a [`Source`]: −α∇ of SGD, or what momentum, Adam or AdamW make of it.

mod any;
mod chopped;
mod effective;
mod gradient;
mod manhattan;
mod mixed_precision;
mod operations;
mod rates;
mod residual_learning;
mod single;
mod source;
mod symmetric_point;
mod tiki_taka;
mod tracking;
mod transfer;
pub(crate) mod warm_start;
mod widened;

pub use any::AnyRule;
pub use chopped::{AutoScale, Chop, ChoppedConfig, ChoppedTikiTaka};
pub use gradient::Gradient;
pub use manhattan::Manhattan;
pub use mixed_precision::{MixedConfig, MixedPrecision, Quantize};
pub use operations::Operations;
pub use rates::{MAX_LINKS, RatePlan, RateSchedules, Rates};
pub use residual_learning::{ResidualConfig, ResidualLearning};
pub use single::{Analog, Digital};
pub use source::Source;
pub use symmetric_point::SymmetricPoint;
pub use tiki_taka::{TikiTaka, TikiTakaConfig};
pub use tracking::Tracking;
pub use transfer::{Buffer, Carrier, Columns, Every, Order, Transfer};
pub use warm_start::WarmStart;
pub use widened::Widened;

use std::fmt::Debug;

use thiserror::Error;

use crate::array::Array;
use crate::state::State;
use crate::{Key, ParameterError, Scalar};

/// One optimisation algorithm on its weights. A rule of one's own is these two methods.
pub trait UpdateRule<T: Scalar = f64>: Send + Sync {
    /// Where f is evaluated: W for the single-array rules, W̄ = W + γ(P − W⋄) for Residual Learning.
    fn effective_weights(&self) -> &[T];

    /// One iteration, given ∇f(effective_weights; ξ_k).
    ///
    /// # Errors
    /// If an array refuses the step, as a tile does with a gradient that is not finite; no array has moved then.
    fn step(&mut self, gradient: Gradient<'_, T>, rates: &Rates, key: Key) -> Result<(), StepError>;
}

/// What tables, records and reports need to know of a rule.
pub trait Inspect<T: Scalar = f64> {
    /// Name for tables and legends.
    fn label(&self) -> String;

    /// Its analog arrays by name: `main` first (W), then `residual` (P) where there is one.
    fn arrays(&self) -> Vec<(&'static str, &dyn Array<T>)>;

    /// The weights of each array by name, and sums that are kept in digital memory.
    fn states(&self) -> Vec<(&'static str, &[T])> {
        self.arrays().into_iter().map(|(name, array)| (name, array.weights())).collect()
    }

    /// How fast the arrays move at these rates, in mini-batches of `batch` samples.
    fn effective_rates(&self, rates: &Rates, batch: usize) -> EffectiveRates;

    /// What hardware has done for the rule after `steps` steps of `samples` samples altogether, besides pulses and products with the
    /// effective weights. By default gradients are written to one array as outer products.
    fn operations(&self, steps: u64, samples: u64) -> Operations {
        let _ = steps;
        self.arrays()
            .first()
            .map_or_else(Operations::default, |(_, array)| Operations::outer(array.shape(), samples))
    }

    /// Arrays that take part in a product with the effective weights.
    fn arrays_read(&self) -> u64 {
        1
    }

    /// Pulses sent so far by all arrays.
    fn pulses_sent(&self) -> u64 {
        self.arrays().iter().map(|(_, array)| array.pulses_sent()).sum()
    }

    /// Bounds of the main array's cells, as their device has them on average; `None` where there are none.
    fn range(&self) -> Option<[T; 2]> {
        self.arrays().first().and_then(|(_, array)| array.range())
    }
}

/// A rule that can be inspected, saved, programmed and left to age: what runs and networks hold.
pub trait Rule<T: Scalar = f64>: UpdateRule<T> + Inspect<T> + State + Debug {
    /// Writes a state at set-up: the main array becomes `weights` as well as its cells can, residual arrays their symmetric
    /// points, digital memory 0.
    ///
    /// # Errors
    /// If the length differs or a weight is not finite; nothing is written then.
    fn program(&mut self, weights: &[T], key: Key) -> Result<(), ParameterError>;

    /// What a weight of 1 stands for, of the whole array or of each row, where a network maps its weights to the range of the cells.
    /// Gradients arrive divided by it. Only sources whose step does not scale with the gradient need it.
    fn set_units(&mut self, units: &[T]) {
        let _ = units;
    }

    /// The mean loss of an epoch that has ended, for rules that change with it, as a [`WarmStart`] does. Training loops call
    /// it before they write a checkpoint; for a problem the epoch is a number of steps and the loss f(W̄).
    fn epoch_ended(&mut self, loss: f64) {
        let _ = loss;
    }

    /// What a mini-batch does to the arrays besides the pulses of its step, where their cells leak, diffuse or drift.
    fn age(&mut self, key: Key) {
        let _ = key;
    }
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
#[error("array `{array}` refused {}: {source}", self.which())]
pub struct StepError {
    /// The array, as in [`Inspect::arrays`].
    pub array: String,
    /// k, where the caller counts steps.
    pub step: Option<u64>,
    /// What was wrong.
    pub source: ParameterError,
}

impl StepError {
    /// The same with the number of the step.
    #[must_use]
    pub fn at(self, step: u64) -> Self {
        Self { step: Some(step), ..self }
    }

    fn which(&self) -> String {
        self.step.map_or_else(|| "the step".into(), |k| format!("step {k}"))
    }
}

/// Names the array of an error.
fn of(array: &'static str) -> impl Fn(ParameterError) -> StepError {
    move |source| StepError { array: array.into(), step: None, source }
}
