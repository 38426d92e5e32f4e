use super::{Bounds, Family, Realize, Realized, ResponseFunction, ResponseParameter};
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

/// As specs have it.
pub(super) const FAMILY: Family = Family {
    name: "power",
    formula: "q± = (1 ∓ w/radius)^shape",
    parameters: &[ResponseParameter::SHAPE, ResponseParameter::RADIUS],
    cells: |p| p.build(|x| Power::new(x[0], x[1])),
};

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
        match self.shape {
            1.0 => One.raise(base),
            2.0 => Two.raise(base),
            3.0 => Three.raise(base),
            0.5 => Half.raise(base),
            shape => General(shape).raise(base),
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
        // All cells share the exponent: with its kind in the type, the loop holds no branch and vectorises.
        let Self { inverse_radius, shape, .. } = *self;
        match shape {
            1.0 => simd::dispatch(Realize { law: Law(One, inverse_radius), scale, direction, range, state }),
            2.0 => simd::dispatch(Realize { law: Law(Two, inverse_radius), scale, direction, range, state }),
            3.0 => simd::dispatch(Realize { law: Law(Three, inverse_radius), scale, direction, range, state }),
            0.5 => simd::dispatch(Realize { law: Law(Half, inverse_radius), scale, direction, range, state }),
            _ => simd::dispatch(Realize {
                law: Law(General(shape), inverse_radius),
                scale,
                direction,
                range,
                state,
            }),
        }
    }
}

/// A base in [0, 2] to a fixed power. A base below 0, which rounding alone can give, counts as 0.
trait Exponent: Copy {
    fn raise(self, base: f64) -> f64;
}

#[derive(Clone, Copy)]
struct One;
#[derive(Clone, Copy)]
struct Two;
#[derive(Clone, Copy)]
struct Three;
#[derive(Clone, Copy)]
struct Half;
#[derive(Clone, Copy)]
struct General(f64);

#[inline(always)]
fn not_below_zero(base: f64) -> f64 {
    if base > 0.0 { base } else { 0.0 }
}

impl Exponent for One {
    #[inline(always)]
    fn raise(self, base: f64) -> f64 {
        not_below_zero(base)
    }
}
impl Exponent for Two {
    #[inline(always)]
    fn raise(self, base: f64) -> f64 {
        let base = not_below_zero(base);
        base * base
    }
}
impl Exponent for Three {
    #[inline(always)]
    fn raise(self, base: f64) -> f64 {
        let base = not_below_zero(base);
        base * base * base
    }
}
impl Exponent for Half {
    #[inline(always)]
    fn raise(self, base: f64) -> f64 {
        not_below_zero(base).sqrt()
    }
}
impl Exponent for General {
    #[inline(always)]
    fn raise(self, base: f64) -> f64 {
        math::pow(base, self.0)
    }
}

/// Exponent and 1/τ.
#[derive(Clone, Copy)]
struct Law<E>(E, f64);

impl<E: Exponent> Realized for Law<E> {
    #[inline(always)]
    fn realized(&self, desired: f64, w: f64) -> f64 {
        // The sign picks the base before the power is taken, so that it is taken once.
        let x = w * self.1;
        desired * self.0.raise(1.0 - if desired >= 0.0 { x } else { -x })
    }
}
