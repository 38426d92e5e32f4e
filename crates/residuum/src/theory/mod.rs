//! What the mathematics predicts, for comparison with simulation.
//!
//! [`implicit_penalty`] is the penalized problem of the Implicit Penalty theorem; [`fixed_point`] is where Analog SGD
//! actually converges, the zero of the mean drift; [`residual_law`] is the stationary law of Residual Learning;
//! [`zero_shift`] finds symmetric points by pulses; [`pulse_flow`] relates pulses to one scaled step.
//!
//! [`operator`], [`lyapunov`] and [`coefficients`] are the lemmas behind the convergence theorem, [`practical`] the
//! rates to use where it asks too much; [`hard_instance`] is the instance of the lower bound.
//!
//! The predictions are local and leading-order unless their documentation says exact.

pub mod coefficients;
mod counterexample;
pub mod fixed_point;
pub mod hard_instance;
pub mod implicit_penalty;
pub mod lyapunov;
pub mod magnitude;
pub mod operator;
pub mod practical;
pub mod pulse_flow;
pub mod residual_law;
pub mod tracked_law;
pub mod zero_shift;

use thiserror::Error;

use crate::Range;
use crate::error::ParameterError;
use crate::numeric::NumericError;

/// Why a prediction could not be made.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum TheoryError {
    /// The theory does not cover the problem or the device.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A solver did not converge.
    #[error("{what} could not be found by Newton's method: {source}")]
    Unsolved {
        /// What was sought.
        what: &'static str,
        /// How the solver failed.
        source: NumericError,
    },
    /// The linear system of a closed form has no unique solution.
    #[error("{what} needs a regular matrix ∇²f(W*) + Diag(Σ) R'(W⋄), got a singular one")]
    Singular {
        /// What was sought.
        what: &'static str,
    },
    /// A solution outside the dynamic range.
    #[error("{what}[{index}] must lie in the dynamic range {range}, got {value}")]
    OutsideRange {
        /// What was sought.
        what: &'static str,
        /// The coordinate.
        index: usize,
        /// Its dynamic range.
        range: Range,
        /// The solution there.
        value: f64,
    },
}
