use super::{Bounds, Family, ResponseFunction, ResponseParameter};
use crate::Range;
use crate::error::{ParameterError, positive};

/// q± = c inside hard bounds: the ideal device when c = 1. Every point is symmetric; 0 is named.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constant {
    value: f64,
    range: Range,
}

/// As specs have it.
pub(super) const FAMILY: Family = Family {
    name: "constant",
    formula: "q± = value",
    parameters: &[ResponseParameter::new("value", "q±", 1.0).limits(" > 0")],
    cells: |p| p.build(|x| Constant::new(x[0])),
};

impl Constant {
    /// A constant response on the whole line.
    ///
    /// # Errors
    /// If `value` is not positive and finite.
    pub fn new(value: f64) -> Result<Self, ParameterError> {
        Ok(Self { value: positive("value", value)?, range: Range::ALL })
    }

    /// The same with hard bounds.
    pub fn within(self, range: Range) -> Self {
        Self { range, ..self }
    }
}

impl ResponseFunction for Constant {
    #[inline(always)]
    fn q_plus(&self, _: f64) -> f64 {
        self.value
    }
    #[inline(always)]
    fn q_minus(&self, _: f64) -> f64 {
        self.value
    }
    fn q_plus_derivative(&self, _: f64) -> f64 {
        0.0
    }
    fn q_minus_derivative(&self, _: f64) -> f64 {
        0.0
    }
    fn range(&self) -> Range {
        self.range
    }
    fn symmetric_point(&self) -> Option<f64> {
        Some(self.range.clip(0.0))
    }
    fn describe(&self) -> String {
        format!("constant: q± = {}", self.value)
    }
    fn asymmetry_potential(&self, _: f64) -> f64 {
        0.0
    }
    fn bounds(&self, over: Range) -> Bounds {
        Bounds { range: over, min: self.value, max: self.value, lipschitz: 0.0 }
    }
}
