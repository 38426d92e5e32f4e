use std::f64::consts::PI;

use super::{Family, ResponseFunction, ResponseParameter};
use crate::Range;
use crate::error::{ParameterError, positive, require};

/// q± = 1 ∓ a sin(¾πx)(1 ∓ b x), x = w/τ: neither branch is monotone, yet 0 is the only symmetric point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wavy {
    amplitude: f64,
    skew: f64,
    radius: f64,
}

/// As specs have it.
pub(super) const FAMILY: Family = Family {
    name: "wavy",
    formula: "q± = 1 ∓ amplitude·sin(¾πw/radius)(1 ∓ skew·w/radius): not monotone",
    parameters: &[
        ResponseParameter::RADIUS,
        ResponseParameter::new("amplitude", "of the wave", 0.6),
        ResponseParameter::new("skew", "of the wave", 0.25),
    ],
    cells: |p| p.build(|x| Wavy::new(x[1], x[2], x[0])),
};

impl Wavy {
    /// Amplitude a, skew b and radius τ; `Wavy::new(0.6, 0.25, 1.0)` is the example of the response figure.
    ///
    /// # Errors
    /// If a is outside [0, 1), b outside [0, 1) with a(1 + b) ≥ 1 (q could reach 0), or the radius not positive.
    pub fn new(amplitude: f64, skew: f64, radius: f64) -> Result<Self, ParameterError> {
        require((0.0..1.0).contains(&amplitude), "amplitude", "at least 0 and below 1", amplitude)?;
        require(
            skew >= 0.0 && amplitude * (1.0 + skew) < 1.0,
            "skew",
            "at least 0 with amplitude·(1 + skew) below 1",
            skew,
        )?;
        Ok(Self { amplitude, skew, radius: positive("radius", radius)? })
    }

    fn branch(&self, sign: f64, w: f64) -> f64 {
        let x = w / self.radius;
        1.0 - sign * self.amplitude * (0.75 * PI * x).sin() * (1.0 - sign * self.skew * x)
    }

    fn branch_derivative(&self, sign: f64, w: f64) -> f64 {
        let x = w / self.radius;
        let (s, c) = (0.75 * PI * x).sin_cos();
        -sign * self.amplitude / self.radius
            * (0.75 * PI * c * (1.0 - sign * self.skew * x) - sign * self.skew * s)
    }
}

impl ResponseFunction for Wavy {
    fn q_plus(&self, w: f64) -> f64 {
        self.branch(1.0, w)
    }
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
        format!("wavy: q± = 1 ∓ {}·sin(¾πw/{2})(1 ∓ {}·w/{2})", self.amplitude, self.skew, self.radius)
    }
}
