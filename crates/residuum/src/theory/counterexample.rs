//! Two claims of the paper that are too general, with counterexamples.

use super::operator::Inequality;
use crate::response::ResponseFunction;
use crate::{Range, numeric};

/// The step `Σ_{k<K} (1 − x)^k ≥ 1/x` of `eq:pair-floor-rate`, as printed. The sum is (1 − (1 − x)^K)/x, always
/// below 1/x for 0 < x < 1: the floor needs that factor back, or the initial term that was dropped.
pub fn geometric_sum(ratio: f64, steps: u64) -> Inequality {
    // 1 − (1 − x)^K without cancellation for small x.
    let reached = -(steps as f64 * (-ratio).ln_1p()).exp_m1();
    Inequality::between(&[1.0 / ratio], &[reached / ratio])
}

/// q± = 1 ∓ 0.6 sin w (1 − w²/2) e^{−w²/6}: regular, with the unique symmetric point 0 nearby but not monotone, so
/// that R_c takes negative values and the lower level of the penalised problem is not solved by P = W⋄.
///
/// The theorem on that problem uses ⟨Σ, R_c⟩ ≥ 0, which a regular response need not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonMonotone;

impl NonMonotone {
    /// The lower-level objective ½μP² + Σ R_c(P) at W = W*, with γ = 1.
    pub fn lower_level(&self, strong_convexity: f64, gradient_magnitude: f64, residual: f64) -> f64 {
        0.5 * strong_convexity * residual * residual + gradient_magnitude * self.asymmetry_potential(residual)
    }

    /// The minimiser of [`NonMonotone::lower_level`] on [0, 6], by a scan of step 1e-3 refined to 1e-9.
    pub fn lower_level_minimizer(&self, strong_convexity: f64, gradient_magnitude: f64) -> f64 {
        let slope = |p: f64| strong_convexity * p + gradient_magnitude * self.asymmetry_ratio(p);
        let step = 1e-3;
        let (mut best, mut value, mut potential) = (0.0, 0.0, 0.0);
        for i in 0..6000 {
            let p = step * f64::from(i);
            // One panel of Simpson's rule: the integrand is smooth on the scale of the step.
            potential += step / 6.0 * (slope(p) + 4.0 * slope(p + 0.5 * step) + slope(p + step));
            if potential < value {
                (best, value) = (p + step, potential);
            }
        }
        if best == 0.0 {
            return 0.0;
        }
        let (mut lo, mut hi) = (best - step, best + step);
        while hi - lo > 1e-9 {
            let middle = lo.midpoint(hi);
            if slope(middle) > 0.0 { hi = middle } else { lo = middle }
        }
        lo.midpoint(hi)
    }
}

fn wave(w: f64) -> f64 {
    0.6 * w.sin() * (1.0 - 0.5 * w * w) * (-w * w / 6.0).exp()
}

fn wave_derivative(w: f64) -> f64 {
    let (sin, cos) = w.sin_cos();
    let bump = 1.0 - 0.5 * w * w;
    0.6 * (cos * bump - sin * w - sin * bump * w / 3.0) * (-w * w / 6.0).exp()
}

impl ResponseFunction for NonMonotone {
    fn q_plus(&self, w: f64) -> f64 {
        1.0 - wave(w)
    }
    fn q_minus(&self, w: f64) -> f64 {
        1.0 + wave(w)
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        -wave_derivative(w)
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        wave_derivative(w)
    }
    fn range(&self) -> Range {
        Range::ALL
    }
    fn symmetric_point(&self) -> Option<f64> {
        Some(0.0)
    }
    fn describe(&self) -> String {
        "non-monotone: q± = 1 ∓ 0.6 sin w (1 − w²/2) exp(−w²/6)".into()
    }
    fn asymmetry_potential(&self, w: f64) -> f64 {
        numeric::integrate(wave, 0.0, w, 1e-13)
    }
}
