//! Damped Newton iteration for a system of equations.

use thiserror::Error;

use super::solve;

/// When to stop, and when to give up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonOptions {
    /// The largest component of F accepted as zero, in absolute value.
    pub tolerance: f64,
    /// Newton steps before giving up.
    pub max_iterations: usize,
}

impl Default for NewtonOptions {
    fn default() -> Self {
        Self { tolerance: 1e-12, max_iterations: 100 }
    }
}

/// Why an iteration did not converge.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum NumericError {
    /// An invalid tolerance.
    #[error("tolerance must be positive and finite, got {0}")]
    Tolerance(f64),
    /// F, or an iterate, is not finite.
    #[error("equations must stay finite, got a NaN or infinite value at iteration {iteration}")]
    NotFinite {
        /// Newton steps done before.
        iteration: usize,
    },
    /// The linear model has no unique zero.
    #[error(
        "Jacobian must be nonsingular, got a singular one at iteration {iteration} (residual {residual:e})"
    )]
    Singular {
        /// Newton steps done before.
        iteration: usize,
        /// Largest component of F there.
        residual: f64,
    },
    /// No fraction of the Newton step brings F closer to zero.
    #[error("residual must fall to the tolerance, got stuck at {residual:e} at iteration {iteration}")]
    Stalled {
        /// Newton steps done before.
        iteration: usize,
        /// Largest component of F there.
        residual: f64,
    },
    /// The allowed steps are spent.
    #[error("residual must fall to the tolerance within {iterations} iterations, got {residual:e}")]
    NotConverged {
        /// Newton steps done.
        iterations: usize,
        /// Largest component of F at the end.
        residual: f64,
    },
}

/// Halvings of a Newton step before it is called useless.
const MAX_HALVINGS: usize = 40;

/// A zero of F in n unknowns, starting from `x0`; `f(x, out)` writes F(x) into `out`.
///
/// The Jacobian is taken by central differences, and each step is halved until it shortens F.
///
/// ```
/// use residuum::numeric::{NewtonOptions, newton};
/// // The circle of radius 5 meets the hyperbola x y = 12 at (3, 4).
/// let f = |x: &[f64], out: &mut [f64]| {
///     out[0] = x[0] * x[0] + x[1] * x[1] - 25.0;
///     out[1] = x[0] * x[1] - 12.0;
/// };
/// let x = newton(f, &[2.0, 5.0], NewtonOptions::default())?;
/// assert!((x[0] - 3.0).abs() < 1e-12 && (x[1] - 4.0).abs() < 1e-12);
/// # Ok::<(), residuum::numeric::NumericError>(())
/// ```
pub fn newton(
    mut f: impl FnMut(&[f64], &mut [f64]),
    x0: &[f64],
    options: NewtonOptions,
) -> Result<Vec<f64>, NumericError> {
    let NewtonOptions { tolerance, max_iterations } = options;
    if !(tolerance > 0.0 && tolerance.is_finite()) {
        return Err(NumericError::Tolerance(tolerance));
    }
    let mut x = x0.to_vec();
    let mut residual = vec![0.0; x.len()];
    f(&x, &mut residual);
    for iteration in 0..=max_iterations {
        let size = largest(&residual);
        if !size.is_finite() {
            return Err(NumericError::NotFinite { iteration });
        }
        if size <= tolerance {
            return Ok(x);
        }
        if iteration == max_iterations {
            break;
        }
        let jacobian = jacobian(&mut f, &x);
        if jacobian.iter().any(|entry| !entry.is_finite()) {
            return Err(NumericError::NotFinite { iteration });
        }
        let step = solve(&jacobian, &residual).ok_or(NumericError::Singular { iteration, residual: size })?;
        (x, residual) =
            shorten(&mut f, &x, &residual, &step).ok_or(NumericError::Stalled { iteration, residual: size })?;
    }
    Err(NumericError::NotConverged { iterations: max_iterations, residual: largest(&residual) })
}

/// The first point x - step/2^m whose F is shorter, with that F.
fn shorten(
    f: &mut impl FnMut(&[f64], &mut [f64]),
    x: &[f64],
    residual: &[f64],
    step: &[f64],
) -> Option<(Vec<f64>, Vec<f64>)> {
    let length = norm(residual);
    let mut value = vec![0.0; x.len()];
    let mut damping = 1.0;
    for _ in 0..MAX_HALVINGS {
        let trial: Vec<f64> = x.iter().zip(step).map(|(x, step)| x - damping * step).collect();
        f(&trial, &mut value);
        // A sufficient decrease, so that the iteration cannot creep; NaN fails the comparison.
        if norm(&value) < (1.0 - 1e-4 * damping) * length {
            return Some((trial, value));
        }
        damping *= 0.5;
    }
    None
}

fn jacobian(f: &mut impl FnMut(&[f64], &mut [f64]), x: &[f64]) -> Vec<f64> {
    let n = x.len();
    let mut jacobian = vec![0.0; n * n];
    let (mut ahead, mut behind) = (vec![0.0; n], vec![0.0; n]);
    let mut moved = x.to_vec();
    for j in 0..n {
        // The cube root balances truncation against rounding for central differences.
        let h = f64::EPSILON.cbrt() * x[j].abs().max(1.0);
        let (right, left) = (x[j] + h, x[j] - h);
        moved[j] = right;
        f(&moved, &mut ahead);
        moved[j] = left;
        f(&moved, &mut behind);
        moved[j] = x[j];
        for i in 0..n {
            jacobian[i * n + j] = (ahead[i] - behind[i]) / (right - left);
        }
    }
    jacobian
}

fn norm(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |length: f64, x| length.hypot(*x))
}

/// The largest absolute value, NaN if there is one.
fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |size: f64, x| if x.is_nan() { f64::NAN } else { size.max(x.abs()) })
}
