use super::{Bounds, Realize, ResponseFunction};
use crate::error::{ParameterError, positive};
use crate::simd;
use crate::{Range, math, numeric};

/// q± = (1 ∓ w/τ)^shape on [−τ, τ]: the paper's power response, γ_res = shape.
///
/// In this normalisation q±(0) = 1. AIHWKIT's power step is 2^{−shape} times this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    shape: f64,
    radius: f64,
    inverse_radius: f64,
}

impl Power {
    /// A power response.
    ///
    /// # Errors
    /// If `shape` or `radius` is not positive and finite.
    pub fn new(shape: f64, radius: f64) -> Result<Self, ParameterError> {
        let radius = positive("radius", radius)?;
        // Rounded up where 1/τ rounds down too far: at w = ±τ the response must be 0 and κ₂ infinite, not 1e16.
        let inverse = 1.0 / radius;
        let inverse_radius = if radius * inverse < 1.0 { inverse.next_up() } else { inverse };
        Ok(Self { shape: positive("shape", shape)?, radius, inverse_radius })
    }

    #[inline(always)]
    fn raise(&self, base: f64) -> f64 {
        // Below the bound the base is exactly 0; past it, where states never are, rounding must not give NaN.
        let base = if base > 0.0 { base } else { 0.0 };
        match self.shape {
            1.0 => base,
            2.0 => base * base,
            3.0 => base * base * base,
            0.5 => base.sqrt(),
            _ => math::pow(base, self.shape),
        }
    }

    fn derivative(&self, base: f64) -> f64 {
        self.shape / self.radius * if self.shape == 1.0 { 1.0 } else { base.max(0.0).powf(self.shape - 1.0) }
    }
}

impl ResponseFunction for Power {
    #[inline(always)]
    fn q_plus(&self, w: f64) -> f64 {
        self.raise(1.0 - w * self.inverse_radius)
    }
    #[inline(always)]
    fn q_minus(&self, w: f64) -> f64 {
        self.raise(1.0 + w * self.inverse_radius)
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        -self.derivative(1.0 - w * self.inverse_radius)
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        self.derivative(1.0 + w * self.inverse_radius)
    }
    fn range(&self) -> Range {
        Range::symmetric(self.radius)
    }
    fn symmetric_point(&self) -> Option<f64> {
        Some(0.0)
    }
    fn describe(&self) -> String {
        format!("power: q± = (1 ∓ w/{})^{}", self.radius, self.shape)
    }

    #[inline(always)]
    fn realized(&self, desired: f64, w: f64) -> f64 {
        // The sign picks the base before the power is taken, so that it is taken once.
        let x = w * self.inverse_radius;
        desired * self.raise(1.0 - if desired >= 0.0 { x } else { -x })
    }

    fn asymmetry_potential(&self, w: f64) -> f64 {
        let x = (w * self.inverse_radius).clamp(-1.0, 1.0);
        let z = x * x;
        self.radius
            * match self.shape {
                0.5 => {
                    let s = (1.0 - z).max(0.0).sqrt();
                    // 1 − s + ln((1 + s)/2), written so that small x does not cancel.
                    let half = -0.5 * z / (1.0 + s);
                    -2.0 * half + half.ln_1p()
                }
                1.0 => 0.5 * z,
                2.0 => z.ln_1p(),
                3.0 => z / 6.0 + 4.0 / 9.0 * (3.0 * z).ln_1p(),
                shape => numeric::integrate(|t| (shape * t.atanh()).tanh(), 0.0, x, 1e-14),
            }
    }

    fn bounds(&self, over: Range) -> Bounds {
        Bounds::from_ends(self, over)
    }

    fn realize(&self, scale: f64, direction: &[f64], range: Range, state: &mut [f64]) {
        // The exponent is the same for all cells: with it a constant, the loop vectorises without a call.
        macro_rules! with_shape {
            ($($shape:literal)*) => {
                match self.shape {
                    $($shape => {
                        let response = &Self { shape: $shape, ..*self };
                        simd::dispatch(Realize { response, scale, direction, range, state });
                    })*
                    _ => simd::dispatch(Realize { response: &General(*self), scale, direction, range, state }),
                }
            };
        }
        with_shape!(1.0 2.0 3.0 0.5);
    }
}

/// The same response with the exponent known to be none of the special ones.
#[derive(Debug)]
struct General(Power);

impl ResponseFunction for General {
    #[inline(always)]
    fn q_plus(&self, w: f64) -> f64 {
        math::pow(1.0 - w * self.0.inverse_radius, self.0.shape)
    }
    #[inline(always)]
    fn q_minus(&self, w: f64) -> f64 {
        math::pow(1.0 + w * self.0.inverse_radius, self.0.shape)
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        self.0.q_plus_derivative(w)
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        self.0.q_minus_derivative(w)
    }
    fn range(&self) -> Range {
        self.0.range()
    }
    fn symmetric_point(&self) -> Option<f64> {
        self.0.symmetric_point()
    }
    fn describe(&self) -> String {
        self.0.describe()
    }
    #[inline(always)]
    fn realized(&self, desired: f64, w: f64) -> f64 {
        let x = w * self.0.inverse_radius;
        desired * math::pow(1.0 - if desired >= 0.0 { x } else { -x }, self.0.shape)
    }
}
