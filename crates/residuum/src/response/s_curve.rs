use super::{Family, ResponseFunction, ResponseParameter};
use crate::error::{ParameterError, positive, require};
use crate::{Range, math};

/// q± = (floor + (1 − floor)(1 − x²)^shape)(1 ∓ skew·x), x = w/τ, on [−τ, τ]: the S-shaped conductance curve of ferroelectric
/// cells. Steps are largest in the middle and nearly vanish at both ends.
///
/// With shape 1, no floor and no skew, pulses of one sign trace the logistic curve w/τ = tanh(n·Δw_min/τ). R = skew·x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SCurve {
    shape: f64,
    skew: f64,
    floor: f64,
    radius: f64,
}

/// As specs have it.
pub(super) const FAMILY: Family = Family {
    name: "s_curve",
    formula: "q± = (floor + (1 − floor)(1 − (w/radius)²)^shape)(1 ∓ skew·w/radius): the S-curve of ferroelectric cells",
    parameters: &[
        ResponseParameter::new("shape", "how early steps begin to shrink", 1.0).limits(" > 0"),
        ResponseParameter::new("skew", "share of the step by which up and down differ at the ends", 0.2)
            .limits(", |skew| < 1"),
        ResponseParameter::new("floor", "what is left of a step at the ends", 0.01).limits(", 0 < floor ≤ 1"),
        ResponseParameter::RADIUS,
    ],
    cells: |p| p.build(|x| SCurve::new(x[0], x[1], x[2], x[3])),
};

impl SCurve {
    /// An S-curve response; without a floor a cell could never leave its bounds.
    ///
    /// # Errors
    /// If `shape` or `radius` is not positive and finite, |skew| ≥ 1, or `floor` is outside (0, 1].
    pub fn new(shape: f64, skew: f64, floor: f64, radius: f64) -> Result<Self, ParameterError> {
        require(skew.abs() < 1.0, "skew", "between -1 and 1, exclusive", skew)?;
        require(floor > 0.0 && floor <= 1.0, "floor", "above 0 and at most 1", floor)?;
        Ok(Self { shape: positive("shape", shape)?, skew, floor, radius: positive("radius", radius)? })
    }

    #[inline(always)]
    fn branch(&self, sign: f64, w: f64) -> f64 {
        let x = w / self.radius;
        let bell = math::pow(1.0 - x * x, self.shape);
        (self.floor + (1.0 - self.floor) * bell) * (1.0 - sign * self.skew * x)
    }

    fn branch_derivative(&self, sign: f64, w: f64) -> f64 {
        let x = w / self.radius;
        let base = (1.0 - x * x).max(0.0);
        let bell = self.floor + (1.0 - self.floor) * base.powf(self.shape);
        let slope = -2.0 * x * (1.0 - self.floor) * self.shape * base.powf(self.shape - 1.0);
        (slope * (1.0 - sign * self.skew * x) - sign * self.skew * bell) / self.radius
    }
}

impl ResponseFunction for SCurve {
    #[inline(always)]
    fn q_plus(&self, w: f64) -> f64 {
        self.branch(1.0, w)
    }
    #[inline(always)]
    fn q_minus(&self, w: f64) -> f64 {
        self.branch(-1.0, w)
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        self.branch_derivative(1.0, w)
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        self.branch_derivative(-1.0, w)
    }
    fn range(&self) -> Range {
        Range::symmetric(self.radius)
    }
    fn symmetric_point(&self) -> Option<f64> {
        Some(0.0)
    }
    fn describe(&self) -> String {
        let Self { shape, skew, floor, radius } = self;
        format!("s_curve: q± = ({floor} + {}(1 − (w/{radius})²)^{shape})(1 ∓ {skew}·w/{radius})", 1.0 - floor)
    }
    fn asymmetry_potential(&self, w: f64) -> f64 {
        0.5 * self.skew * w * w / self.radius
    }
}
