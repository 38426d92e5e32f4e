use std::f64::consts::FRAC_PI_2;

use super::{Bounds, Family, ResponseFunction, ResponseParameter};
use crate::error::{ParameterError, positive, require};
use crate::{Range, math};

/// The response of the lower bound's hard instance: the symmetric point 0 sits at the ceiling of both branches.
///
/// q₊ = q_max for w ≤ 0, q_min + (q_max − q_min) cos²(πw/2s) for 0 < w < s, q_min for w ≥ s; q₋(w) = q₊(−w).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceiling {
    min: f64,
    max: f64,
    width: f64,
}

/// As specs have it.
pub(super) const FAMILY: Family = Family {
    name: "ceiling",
    formula: "q₊ falls from max to min as cos² over 0 ≤ w ≤ width, q₋(w) = q₊(−w): the hard instance",
    parameters: &[
        ResponseParameter::new("width", "over which q changes", 1.0).limits(" > 0").weight(),
        ResponseParameter::new("min", "smallest q", 0.25).limits(" > 0").required(),
        ResponseParameter::new("max", "largest q", 1.0).limits(" > min"),
    ],
    cells: |p| p.build(|x| Ceiling::new(x[1], x[2], x[0])),
};

impl Ceiling {
    /// Floor, ceiling, and the width s of the descent.
    ///
    /// # Errors
    /// If a number is not positive, or the floor exceeds the ceiling.
    pub fn new(min: f64, max: f64, width: f64) -> Result<Self, ParameterError> {
        let (min, max) = (positive("min", min)?, positive("max", max)?);
        require(min <= max, "min", "at most max", min)?;
        Ok(Self { min, max, width: positive("width", width)? })
    }

    #[inline(always)]
    fn branch(&self, w: f64) -> f64 {
        let t = (w / self.width).clamp(0.0, 1.0);
        let (c, _) = math::cos_sin_turn(0.25 * t);
        if t >= 1.0 { self.min } else { self.min + (self.max - self.min) * c * c }
    }

    fn branch_derivative(&self, w: f64) -> f64 {
        let t = w / self.width;
        if t <= 0.0 || t >= 1.0 {
            return 0.0;
        }
        -(self.max - self.min) * FRAC_PI_2 / self.width * (2.0 * FRAC_PI_2 * t).sin()
    }
}

impl ResponseFunction for Ceiling {
    #[inline(always)]
    fn q_plus(&self, w: f64) -> f64 {
        self.branch(w)
    }
    #[inline(always)]
    fn q_minus(&self, w: f64) -> f64 {
        self.branch(-w)
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        self.branch_derivative(w)
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        -self.branch_derivative(-w)
    }
    fn range(&self) -> Range {
        Range::ALL
    }
    fn symmetric_point(&self) -> Option<f64> {
        Some(0.0)
    }
    fn describe(&self) -> String {
        format!("ceiling: q± fall from {} to {} over 0 ≤ ±w ≤ {}", self.max, self.min, self.width)
    }
    fn bounds(&self, over: Range) -> Bounds {
        if over.contains(-self.width) && over.contains(self.width) {
            let lipschitz = (self.max - self.min) * FRAC_PI_2 / self.width;
            return Bounds { range: over, min: self.min, max: self.max, lipschitz };
        }
        Bounds::scan(self, over)
    }
}
