//! Update rules: where to take the gradient, and what to do with it.
//!
//! A rule *desires* increments; its arrays *realize* them. Step k maps `(W_k, P_k)` to `(W_{k+1}, P_{k+1})` given
//! the gradient at [`UpdateRule::effective_weights`], and is pure in `(state, k, gradient, key)`.

mod cascade;
mod residual_learning;
mod single;
mod source;

pub use cascade::ResidualCascade;
pub use residual_learning::{ResidualLearning, Transfer};
pub use single::{Analog, Digital};
pub use source::Source;

use std::fmt::Debug;

use crate::Key;

/// One optimisation algorithm on its arrays.
pub trait UpdateRule: Debug + Send {
    /// Number of weights.
    fn dim(&self) -> usize;

    /// Where f is evaluated: W for the single-array rules, W̄ = W + γ(P − W⋄) for Residual Learning.
    fn effective_weights(&self, out: &mut [f64]);

    /// Iteration k → k + 1, given ∇f(effective_weights; ξ_k).
    fn step(&mut self, k: u64, gradient: &[f64], key: Key);

    /// The state of each array by name: `main` first (W), then `residual` (P) where there is one.
    fn arrays(&self) -> Vec<(&'static str, &[f64])>;

    /// Pulses sent so far by all arrays.
    fn pulses_sent(&self) -> u64;

    /// Name for tables and legends.
    fn label(&self) -> String;
}
