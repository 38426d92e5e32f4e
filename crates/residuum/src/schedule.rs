//! Rates as pure functions of the step k.

use crate::error::{ParameterError, non_negative, positive, require};

/// A rate that may change with the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// The same at every step.
    Constant(f64),
    /// `initial / (1 + k/half_life)`: half the initial rate at k = `half_life`, 1/k beyond.
    Inverse {
        /// Rate at k = 0.
        initial: f64,
        /// Steps after which it has halved.
        half_life: f64,
    },
    /// `initial · factor^⌊k/every⌋`.
    Step {
        /// Rate at k = 0.
        initial: f64,
        /// Steps between drops.
        every: u64,
        /// Factor of each drop.
        factor: f64,
        /// Warm-up steps, over which the rate also rises linearly from 0.
        warm_up: u64,
    },
    /// Half a cosine from `initial` at k = 0 to `last` at k = `steps` and after.
    Cosine {
        /// Rate at k = 0.
        initial: f64,
        /// Rate at the end.
        last: f64,
        /// Length of the descent.
        steps: u64,
        /// Warm-up steps, over which the rate also rises linearly from 0.
        warm_up: u64,
    },
    /// A straight line from 0 (not included) to `rate` at k = `steps` − 1, then constant.
    WarmUp {
        /// Rate after the warm-up.
        rate: f64,
        /// Length of the warm-up.
        steps: u64,
    },
}

impl Schedule {
    /// Checks the numbers of a schedule.
    ///
    /// # Errors
    /// If a rate is negative or a length is zero.
    pub fn validate(self) -> Result<Self, ParameterError> {
        match self {
            Self::Constant(rate) => {
                non_negative("rate", rate)?;
            }
            Self::Inverse { initial, half_life } => {
                non_negative("initial", initial)?;
                positive("half_life", half_life)?;
            }
            Self::Step { initial, every, factor, .. } => {
                non_negative("initial", initial)?;
                require(every > 0, "every", "at least 1", every as f64)?;
                non_negative("factor", factor)?;
            }
            Self::Cosine { initial, last, steps, .. } => {
                non_negative("initial", initial)?;
                non_negative("last", last)?;
                require(steps > 0, "steps", "at least 1", steps as f64)?;
            }
            Self::WarmUp { rate, steps } => {
                non_negative("rate", rate)?;
                require(steps > 0, "steps", "at least 1", steps as f64)?;
            }
        }
        Ok(self)
    }

    /// The rate of step k.
    pub fn at(&self, k: u64) -> f64 {
        match *self {
            Self::Constant(rate) => rate,
            Self::Inverse { initial, half_life } => initial / (1.0 + k as f64 / half_life),
            Self::Step { initial, every, factor, warm_up } => {
                let fallen = factor.powi(i32::try_from(k / every).unwrap_or(i32::MAX));
                initial * fallen * warm_up_fraction(k, warm_up)
            }
            Self::Cosine { initial, last, steps, warm_up } => {
                let t = (k as f64 / steps as f64).min(1.0);
                let fallen = last + 0.5 * (initial - last) * (1.0 + (std::f64::consts::PI * t).cos());
                fallen * warm_up_fraction(k, warm_up)
            }
            Self::WarmUp { rate, steps } => rate * warm_up_fraction(k, steps),
        }
    }
}

/// Fraction of the rate that a warm-up of `steps` has reached at step k; 1 without one.
fn warm_up_fraction(k: u64, steps: u64) -> f64 {
    ((k + 1) as f64 / steps as f64).min(1.0)
}

impl From<f64> for Schedule {
    fn from(rate: f64) -> Self {
        Self::Constant(rate)
    }
}
