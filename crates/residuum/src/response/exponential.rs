use super::{Bounds, Family, ResponseFunction, ResponseParameter};
use crate::error::{ParameterError, positive};
use crate::{Range, math};

/// q± = (e^{shape(1 ∓ w/τ)} − 1)/(e^{shape} − 1) on [−τ, τ]: the paper's exponential response, γ_res = shape.
///
/// AIHWKIT's `ExpStepDevice` is another curve (1 − A e^{±γz}) and cannot express this one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    shape: f64,
    radius: f64,
    /// e^{shape}/(e^{shape} − 1): q₊ = factor·(e^{−shape·w/τ} − e^{−shape}), which never overflows.
    factor: f64,
    floor: f64,
    rate: f64,
}

/// As specs have it.
pub(super) const FAMILY: Family = Family {
    name: "exponential",
    formula: "q± = (exp(shape(1 ∓ w/radius)) − 1)/(exp(shape) − 1)",
    parameters: &[ResponseParameter::SHAPE, ResponseParameter::RADIUS],
    cells: |p| p.build(|x| Exponential::new(x[0], x[1])),
};

impl Exponential {
    /// An exponential response.
    ///
    /// # Errors
    /// If `shape` or `radius` is not positive and finite.
    pub fn new(shape: f64, radius: f64) -> Result<Self, ParameterError> {
        let (shape, radius) = (positive("shape", shape)?, positive("radius", radius)?);
        let rate = shape / radius;
        // The floor is computed as the branches are, so that they are exactly 0 at the bounds.
        let floor = math::exp(-radius * rate);
        Ok(Self { shape, radius, factor: -1.0 / (-shape).exp_m1(), floor, rate })
    }

    #[inline(always)]
    fn branch(&self, signed: f64) -> f64 {
        let q = self.factor * (math::exp(-signed * self.rate) - self.floor);
        if q > 0.0 { q } else { 0.0 }
    }
}

impl ResponseFunction for Exponential {
    #[inline(always)]
    fn q_plus(&self, w: f64) -> f64 {
        self.branch(w)
    }
    #[inline(always)]
    fn q_minus(&self, w: f64) -> f64 {
        self.branch(-w)
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        -self.rate * self.factor * (-w * self.rate).exp()
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        self.rate * self.factor * (w * self.rate).exp()
    }
    fn range(&self) -> Range {
        Range::symmetric(self.radius)
    }
    fn symmetric_point(&self) -> Option<f64> {
        Some(0.0)
    }
    fn describe(&self) -> String {
        format!("exponential: q± = (exp({0}(1 ∓ w/{1})) − 1)/(exp({0}) − 1)", self.shape, self.radius)
    }

    #[inline(always)]
    fn realized(&self, desired: f64, w: f64) -> f64 {
        desired * self.branch(if desired >= 0.0 { w } else { -w })
    }

    fn asymmetry_potential(&self, w: f64) -> f64 {
        // (τ/shape) ln F, and F − 1 = 2·factor·sinh²(shape·w/2τ) without cancellation.
        let s = (0.5 * w * self.rate).sinh();
        (2.0 * self.factor * s * s).ln_1p() / self.rate
    }

    fn bounds(&self, over: Range) -> Bounds {
        Bounds::from_ends(self, over)
    }
}
