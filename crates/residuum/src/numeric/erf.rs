//! The error function and its complement, to about machine precision.
//!
//! Below 1 the Maclaurin series; above 1/2, with y = 1/(x + 2),
//!
//! erfc(x) = exp(-x²) · y · h(5y - 1),
//!
//! where h is smooth on all of [1/2, ∞), between 0.56 and 1.54, and is given by its Chebyshev series.
//! Both coefficient tables were computed for this file with mpmath at 50 digits.

use std::f64::consts::FRAC_2_SQRT_PI;

/// 2/√π · (-1)^n / (n! (2n + 1)): erf(x) = x · Σ `MACLAURIN[n]` x^(2n).
const MACLAURIN: [f64; 19] = [
    FRAC_2_SQRT_PI,
    -0.37612638903183754,
    0.11283791670955126,
    -0.026866170645131252,
    0.005223977625442188,
    -0.0008548327023450853,
    0.00012055332981789665,
    -1.492565035840625e-05,
    1.6462114365889248e-06,
    -1.6365844691234924e-07,
    1.4807192815879218e-08,
    -1.2290555301717928e-09,
    9.422759064650411e-11,
    -6.7113668551641105e-12,
    4.4632242632864775e-13,
    -2.7835162072109215e-14,
    1.6342614095367152e-15,
    -9.063970842808673e-17,
    4.763348040515068e-18,
];

/// Chebyshev coefficients of h(s) = exp(x²) erfc(x) (x + 2), s = 5/(x + 2) - 1.
const CHEBYSHEV: [f64; 23] = [
    0.9739949793186762,
    0.48202889723521325,
    0.07834316039603868,
    0.005640402632517939,
    -0.000638005176028597,
    -0.00015524916589267537,
    7.809517806133497e-06,
    4.21300201076712e-06,
    -2.3438312290585947e-07,
    -1.2917225955374623e-07,
    1.3095856237953198e-08,
    4.035294124615549e-09,
    -7.964802351745612e-10,
    -9.952287242056432e-11,
    4.427889678312459e-11,
    -3.4717247044272267e-13,
    -2.052419575408355e-12,
    2.88979823841832e-13,
    6.31796009257391e-14,
    -2.4857919828694632e-14,
    6.059165510781202e-16,
    1.2844428805208126e-15,
    -2.658848065708036e-16,
];

/// The error function, 2/√π times the integral of exp(-t²) from 0 to `x`.
pub fn erf(x: f64) -> f64 {
    if x.abs() < 1.0 {
        series(x)
    } else if x.is_nan() {
        x
    } else {
        (1.0 - tail(x.abs())).copysign(x)
    }
}

/// The complement 1 - erf(x), without the cancellation for large `x`.
pub fn erfc(x: f64) -> f64 {
    if x.is_nan() {
        x
    } else if x.abs() < 0.5 {
        1.0 - series(x)
    } else if x > 0.0 {
        tail(x)
    } else {
        2.0 - tail(-x)
    }
}

fn series(x: f64) -> f64 {
    let square = x * x;
    x * MACLAURIN.iter().rev().fold(0.0, |sum, coefficient| sum * square + coefficient)
}

/// erfc for x of at least 1/2.
fn tail(x: f64) -> f64 {
    // From here on the result is below the smallest subnormal number.
    if x > 27.3 {
        return 0.0;
    }
    let y = 1.0 / (x + 2.0);
    let s = 5.0 * y - 1.0;
    let (mut next, mut after) = (0.0, 0.0);
    for coefficient in CHEBYSHEV[1..].iter().rev() {
        (next, after) = (coefficient + 2.0 * s * next - after, next);
    }
    gaussian(x) * y * (CHEBYSHEV[0] + s * next - after)
}

/// exp(-x²). Rounding x² would cost a relative error of x² units in the last place, so what rounding
/// dropped is computed exactly (Dekker's product) and put back to first order.
fn gaussian(x: f64) -> f64 {
    let square = x * x;
    let spread = 134_217_729.0 * x;
    let high = spread - (spread - x);
    let low = x - high;
    let dropped = ((high * high - square) + 2.0 * high * low) + low * low;
    let leading = (-square).exp();
    leading - leading * dropped
}
