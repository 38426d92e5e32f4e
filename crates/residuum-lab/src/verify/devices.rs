//! The built-in responses in one list, and two ways to change one: moved, and wired wrongly.

use std::sync::Arc;

use residuum::error::ParameterError;
use residuum::response::{Ceiling, Constant, Exponential, Linear, Power, SoftBounds, Tanh, Wavy};
use residuum::theory::operator::NonMonotone;
use residuum::{Range, ResponseFunction};

use super::context::Device;

/// Every built-in response, the counter-example last.
pub(super) fn all() -> Result<Vec<Device>, ParameterError> {
    Ok(vec![
        Arc::new(Constant::new(0.8)?),
        Arc::new(Linear::with_condition(4.0, 1.0)?),
        power(0.5)?,
        power(1.0)?,
        power(2.0)?,
        power(3.0)?,
        Arc::new(Exponential::new(1.0, 1.0)?),
        Arc::new(Tanh::new(1.0, 0.5, 0.7, 0.2)?),
        Arc::new(skewed()?),
        Arc::new(Ceiling::new(0.25, 1.0, 1.0)?),
        Arc::new(Wavy::new(0.6, 0.25, 1.0)?),
        Arc::new(NonMonotone),
    ])
}

/// The seven devices that Analog SGD is run on.
pub(super) fn toy() -> Result<Vec<Device>, ParameterError> {
    Ok(vec![
        power(0.5)?,
        power(1.0)?,
        power(2.0)?,
        Arc::new(Exponential::new(1.0, 1.0)?),
        Arc::new(Linear::with_condition(4.0, 1.0)?),
        Arc::new(Wavy::new(0.6, 0.25, 1.0)?),
        Arc::new(Power::new(1.0, 2.0)?),
    ])
}

/// The power response of radius 1.
pub(super) fn power(shape: f64) -> Result<Device, ParameterError> {
    Ok(Arc::new(Power::new(shape, 1.0)?))
}

/// Soft bounds without any symmetry that would hide a second-order term.
pub(super) fn skewed() -> Result<SoftBounds, ParameterError> {
    SoftBounds::new(1.3, 0.8, 1.5, 1.2)
}

/// The part of the line that experiments visit: four fifths of the dynamic range, or [−2, 2].
pub(super) fn visited(device: &Device) -> Range {
    let range = device.range();
    if range.is_finite() { range.fraction(0.8) } else { Range { lo: -2.0, hi: 2.0 } }
}

/// q₊ and q₋ exchanged. As A(−Δ) with exchanged branches is −A(Δ), this is also the step −αA(∇f; P) that the appendix
/// prints instead of A(−α∇f; P).
#[derive(Clone, Debug)]
pub(super) struct Swapped(pub(super) Device);

impl ResponseFunction for Swapped {
    fn q_plus(&self, w: f64) -> f64 {
        self.0.q_minus(w)
    }
    fn q_minus(&self, w: f64) -> f64 {
        self.0.q_plus(w)
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        self.0.q_minus_derivative(w)
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        self.0.q_plus_derivative(w)
    }
    fn range(&self) -> Range {
        self.0.range()
    }
    fn symmetric_point(&self) -> Option<f64> {
        self.0.symmetric_point()
    }
    fn describe(&self) -> String {
        format!("swapped {}", self.0.describe())
    }
}

/// A response translated along the weight axis.
#[derive(Clone, Debug)]
pub(super) struct Moved {
    pub(super) device: Device,
    pub(super) by: f64,
}

impl ResponseFunction for Moved {
    fn q_plus(&self, w: f64) -> f64 {
        self.device.q_plus(w - self.by)
    }
    fn q_minus(&self, w: f64) -> f64 {
        self.device.q_minus(w - self.by)
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        self.device.q_plus_derivative(w - self.by)
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        self.device.q_minus_derivative(w - self.by)
    }
    fn range(&self) -> Range {
        let range = self.device.range();
        Range { lo: range.lo + self.by, hi: range.hi + self.by }
    }
    fn symmetric_point(&self) -> Option<f64> {
        self.device.symmetric_point().map(|w| w + self.by)
    }
    fn describe(&self) -> String {
        format!("{} moved by {}", self.device.describe(), self.by)
    }
}
