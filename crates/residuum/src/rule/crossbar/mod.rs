//! Rules on crossbars: gradients arrive as errors and inputs, arrays are f32 tiles, increments are pulses.
//!
//! Every rule is arrays + a [`Transfer`] between them + rates. What each does at a step is printed above its type and
//! readable in its `step`:
//!
//! | rule | residual array P | main array W |
//! |---|---|---|
//! | [`PulsedSgd`] | – | A(−α∇) |
//! | [`TikiTaka`] | A(−α∇) | A(λ·P), some columns at a time; through a digital buffer it is version 2 |
//! | [`ResidualLearning`] | A(−α∇) | A(βγ(P − W⋄)), all columns or some; through a buffer it is version 2 |
//! | [`ResidualCascade`] | a chain of them | A(βγ(P¹ − W⋄)) |
//! | [`ChoppedTikiTaka`] | A(−αc∇) with signs c that flip | pulses of a buffer of c·P, or of c(P − its mean before the flip): AGAD |
//! | [`MixedPrecision`] | digital | pulses of a digital sum of −α∇ |

mod cascade;
mod chopped;
mod effective;
mod mixed_precision;
mod pair;
mod residual_learning;
mod sgd;
mod tiki_taka;
mod transfer;

pub use cascade::{Residual, ResidualCascade};
pub use chopped::{AutoScale, Chop, ChoppedTikiTaka};
pub use mixed_precision::{MixedPrecision, Quantize};
pub use residual_learning::ResidualLearning;
pub use sgd::PulsedSgd;
pub use tiki_taka::TikiTaka;
pub use transfer::{Buffer, Carrier, Columns, Every, Order, Transfer};

use super::{Gradient, StepError};
use crate::error::{all_finite_32 as all_finite, same_length};
use crate::tile::{Crossbar, Scheme};
use crate::{Key, ParameterError};

/// `array ← array + A(scale · gradient; array)`.
fn learn(
    array: &mut dyn Crossbar,
    scale: f32,
    gradient: Gradient<'_, f32>,
    scheme: Scheme,
    key: Key,
) -> Result<(), ParameterError> {
    match gradient {
        Gradient::Dense(gradient) => array.increment(scale, gradient, scheme, key),
        Gradient::Outer { errors, inputs, .. } => array.update(scale, errors, inputs, scheme, key),
    }
}

/// Refuses a gradient of another shape or with an entry that is not finite, before anything moves.
fn check(gradient: Gradient<'_, f32>, rows: usize, cols: usize) -> Result<(), ParameterError> {
    match gradient {
        Gradient::Dense(gradient) => {
            same_length("gradient", rows * cols, gradient.len())?;
            all_finite("gradient", gradient)
        }
        Gradient::Outer { batch, errors, inputs } => {
            same_length("errors", batch * rows, errors.len())?;
            same_length("inputs", batch * cols, inputs.len())?;
            all_finite("errors", errors)?;
            all_finite("inputs", inputs)
        }
    }
}

/// Samples `from..to` of a gradient.
fn part(gradient: Gradient<'_, f32>, from: usize, to: usize) -> Gradient<'_, f32> {
    match gradient {
        Gradient::Dense(_) => gradient,
        Gradient::Outer { batch, errors, inputs } => {
            let (rows, cols) = (errors.len() / batch.max(1), inputs.len() / batch.max(1));
            Gradient::Outer {
                batch: to - from,
                errors: &errors[from * rows..to * rows],
                inputs: &inputs[from * cols..to * cols],
            }
        }
    }
}

/// Names the array and the step of an error.
fn at(array: &'static str, step: u64) -> impl Fn(ParameterError) -> StepError {
    move |source| StepError { array: array.into(), step, source }
}
