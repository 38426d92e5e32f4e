use super::{Bounds, Family, ResponseFunction, ResponseParameter};
use crate::Range;
use crate::error::{ParameterError, positive};

/// q₊ = a(1 − w/τ₊), q₋ = b(1 + w/τ₋) on [−τ₋, τ₊]: soft bounds with unequal gains, symmetric away from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftBounds {
    gain_plus: f64,
    gain_minus: f64,
    radius_plus: f64,
    radius_minus: f64,
}

/// As specs have it.
pub(super) const FAMILY: Family = Family {
    name: "soft_bounds",
    formula: "q₊ = gain_plus(1 − w/radius_plus), q₋ = gain_minus(1 + w/radius_minus)",
    parameters: &[
        ResponseParameter::new("gain_plus", "q₊ at w = 0", 1.0).limits(" > 0"),
        ResponseParameter::new("gain_minus", "q₋ at w = 0", 1.0).limits(" > 0"),
        ResponseParameter::new("radius_plus", "upper end of the dynamic range", 1.5)
            .limits(" > 0")
            .weight()
            .required(),
        ResponseParameter::new("radius_minus", "lower end of the dynamic range, without its sign", 1.2)
            .limits(" > 0")
            .weight()
            .required(),
    ],
    cells: |p| p.build(|x| SoftBounds::new(x[0], x[1], x[2], x[3])),
};

impl SoftBounds {
    /// Gains of both branches at 0 and the bounds where each vanishes.
    ///
    /// # Errors
    /// If any of the four is not positive and finite.
    pub fn new(
        gain_plus: f64,
        gain_minus: f64,
        radius_plus: f64,
        radius_minus: f64,
    ) -> Result<Self, ParameterError> {
        Ok(Self {
            gain_plus: positive("gain_plus", gain_plus)?,
            gain_minus: positive("gain_minus", gain_minus)?,
            radius_plus: positive("radius_plus", radius_plus)?,
            radius_minus: positive("radius_minus", radius_minus)?,
        })
    }
}

impl ResponseFunction for SoftBounds {
    #[inline(always)]
    fn q_plus(&self, w: f64) -> f64 {
        self.gain_plus * (1.0 - w / self.radius_plus)
    }
    #[inline(always)]
    fn q_minus(&self, w: f64) -> f64 {
        self.gain_minus * (1.0 + w / self.radius_minus)
    }
    fn q_plus_derivative(&self, _: f64) -> f64 {
        -self.gain_plus / self.radius_plus
    }
    fn q_minus_derivative(&self, _: f64) -> f64 {
        self.gain_minus / self.radius_minus
    }
    fn range(&self) -> Range {
        Range { lo: -self.radius_minus, hi: self.radius_plus }
    }
    fn symmetric_point(&self) -> Option<f64> {
        let slopes = self.gain_plus / self.radius_plus + self.gain_minus / self.radius_minus;
        Some((self.gain_plus - self.gain_minus) / slopes)
    }
    fn describe(&self) -> String {
        format!(
            "soft bounds: q₊ = {}(1 − w/{}), q₋ = {}(1 + w/{})",
            self.gain_plus, self.radius_plus, self.gain_minus, self.radius_minus
        )
    }
    fn bounds(&self, over: Range) -> Bounds {
        Bounds::from_ends(self, over)
    }
}
