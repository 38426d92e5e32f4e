use super::{Bounds, Family, ResponseFunction, ResponseParameter};
use crate::Range;
use crate::error::{ParameterError, positive, require};

/// q± = 1 ∓ slope·w/τ on [−τ, τ], 0 ≤ slope ≤ 1: the family of the κ₂ sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    slope: f64,
    radius: f64,
}

/// As specs have it.
pub(super) const FAMILY: Family = Family {
    name: "linear",
    formula: "q± = 1 ∓ slope·w/radius",
    parameters: &[
        ResponseParameter::new("slope", "relative drop of q at the bound", 0.6)
            .limits(", |slope| < 1")
            .or("hardware_condition"),
        ResponseParameter::new("hardware_condition", "κ₂, instead of `slope`: slope = (κ₂−1)/(κ₂+1)", 4.0)
            .limits(" ≥ 1")
            .or("slope"),
        ResponseParameter::RADIUS,
    ],
    cells: |p| {
        if p.has("slope") {
            p.build(|x| Linear::new(x[0], x[1]))
        } else {
            p.build(|x| Linear::with_condition(x[0], x[1]))
        }
    },
};

impl Linear {
    /// From the relative drop of the response at the bound.
    ///
    /// # Errors
    /// If `slope` is outside [0, 1] or `radius` is not positive and finite.
    pub fn new(slope: f64, radius: f64) -> Result<Self, ParameterError> {
        require((0.0..=1.0).contains(&slope), "slope", "between 0 and 1", slope)?;
        Ok(Self { slope, radius: positive("radius", radius)? })
    }

    /// From κ₂ over the whole dynamic range: slope = (κ₂ − 1)/(κ₂ + 1).
    ///
    /// # Errors
    /// If `hardware_condition` is below 1 or not finite, or `radius` is not positive and finite.
    pub fn with_condition(hardware_condition: f64, radius: f64) -> Result<Self, ParameterError> {
        require(
            hardware_condition >= 1.0 && hardware_condition.is_finite(),
            "hardware_condition",
            "at least 1 and finite",
            hardware_condition,
        )?;
        Self::new((hardware_condition - 1.0) / (hardware_condition + 1.0), radius)
    }
}

impl ResponseFunction for Linear {
    #[inline(always)]
    fn q_plus(&self, w: f64) -> f64 {
        1.0 - self.slope * w / self.radius
    }
    #[inline(always)]
    fn q_minus(&self, w: f64) -> f64 {
        1.0 + self.slope * w / self.radius
    }
    fn q_plus_derivative(&self, _: f64) -> f64 {
        -self.slope / self.radius
    }
    fn q_minus_derivative(&self, _: f64) -> f64 {
        self.slope / self.radius
    }
    fn range(&self) -> Range {
        Range::symmetric(self.radius)
    }
    fn symmetric_point(&self) -> Option<f64> {
        Some(0.0)
    }
    fn describe(&self) -> String {
        format!("linear: q± = 1 ∓ {}·w/{}", self.slope, self.radius)
    }
    fn asymmetry_potential(&self, w: f64) -> f64 {
        0.5 * self.slope * w * w / self.radius
    }
    fn bounds(&self, over: Range) -> Bounds {
        Bounds::from_ends(self, over)
    }
}
