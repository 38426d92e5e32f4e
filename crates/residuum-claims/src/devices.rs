//! The built-in responses in lists.

use std::sync::Arc;

use residuum::Range;
use residuum::error::ParameterError;
use residuum::response::{Ceiling, Constant, Exponential, Linear, Power, SoftBounds, Tanh, Wavy};
use residuum::theory::operator::NonMonotone;

use crate::context::Device;

/// Every built-in response, the counter-example last.
pub(crate) fn all() -> Result<Vec<Device>, ParameterError> {
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
pub(crate) fn toy() -> Result<Vec<Device>, ParameterError> {
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
pub(crate) fn power(shape: f64) -> Result<Device, ParameterError> {
    Ok(Arc::new(Power::new(shape, 1.0)?))
}

/// Soft bounds without any symmetry that would hide a second-order term.
pub(crate) fn skewed() -> Result<SoftBounds, ParameterError> {
    SoftBounds::new(1.3, 0.8, 1.5, 1.2)
}

/// The part of the line that experiments visit: four fifths of the dynamic range, or [−2, 2].
pub(crate) fn visited(device: &Device) -> Range {
    let range = device.range();
    if range.is_finite() { range.fraction(0.8) } else { Range { lo: -2.0, hi: 2.0 } }
}
