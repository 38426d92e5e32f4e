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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_what_they_say() {
        assert_eq!(Schedule::from(0.3).at(7), 0.3);
        assert_eq!(Schedule::Inverse { initial: 1.0, half_life: 10.0 }.at(10), 0.5);
        let step = Schedule::Step { initial: 1.0, every: 5, factor: 0.1, warm_up: 0 };
        assert_eq!((step.at(4), step.at(5)), (1.0, 0.1));
        let cosine = Schedule::Cosine { initial: 1.0, last: 0.2, steps: 10, warm_up: 0 };
        assert!((cosine.at(5) - 0.6).abs() < 1e-15 && cosine.at(99) == 0.2);
        assert_eq!(Schedule::WarmUp { rate: 2.0, steps: 4 }.at(0), 0.5);
        let warmed = Schedule::Step { initial: 8.0, every: 3, factor: 0.5, warm_up: 4 };
        assert_eq!([0, 1, 2, 3, 5, 6].map(|k| warmed.at(k)), [2.0, 4.0, 6.0, 4.0, 4.0, 2.0]);
        let warmed = Schedule::Cosine { initial: 1.0, last: 0.2, steps: 10, warm_up: 2 };
        assert_eq!((warmed.at(0), warmed.at(5)), (0.5, cosine.at(5)));
    }

    #[test]
    fn impossible_schedules_are_refused() {
        assert!(Schedule::Constant(-1.0).validate().is_err());
        assert!(Schedule::Constant(f64::NAN).validate().is_err());
        let e = Schedule::Step { initial: 1.0, every: 0, factor: 0.5, warm_up: 0 }.validate().unwrap_err();
        assert_eq!(e.to_string(), "every must be at least 1, got 0");
        assert!(Schedule::Step { initial: -1.0, every: 1, factor: 0.5, warm_up: 1 }.validate().is_err());
        assert!(Schedule::WarmUp { rate: 1.0, steps: 0 }.validate().is_err());
    }
}
