//! AIHWKIT 1.1.0 devices: conversion of its classes and parameters to [`Device`] and back.
//!
//! ```
//! use residuum::device::aihwkit::{Class, PowStep};
//! let class = Class::PowStep(PowStep { pow_gamma: 2.0, ..PowStep::default() });
//! let device = class.to_device()?;
//! assert_eq!(Class::from_device(&device)?, class);
//! # Ok::<(), residuum::device::aihwkit::ConversionError>(())
//! ```
//!
//! A conversion reproduces every pulse exactly or fails with an error naming what cannot be expressed. `docs/aihwkit.md` has the formulas
//! and how resets and programming differ under a reference. Each class is defined next to its step model; its parameters
//! have AIHWKIT's names and defaults. Two are left out because they do not affect the device: `construction_seed`, for
//! which a tile has its key, and `count_pulses`, for which it has its ledger.

use super::{CycleNoise, Device, Spread, StepModel, Stuck};
use crate::error::ParameterError;
use crate::tile::{Decay, Diffusion, Reset, Retention};
use thiserror::Error;

pub use super::Class;
pub use super::exponential::ExpStep;
pub use super::linear::{LinearStep, SoftBounds, SoftBoundsPmax, SoftBoundsReference};
pub use super::piecewise::PiecewiseStep;
pub use super::power::{PowStep, PowStepReference};

/// Why a device has no counterpart.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ConversionError {
    /// An AIHWKIT parameter that a [`Device`] does not have.
    #[error("{field} must be {must} to become a device of a tile, got {value}")]
    NotModelled {
        /// AIHWKIT's name.
        field: &'static str,
        /// The value that can be converted.
        must: &'static str,
        /// What was given.
        value: f64,
    },
    /// A property of a [`Device`] that no AIHWKIT class has.
    #[error("{field} must be {must} to become an AIHWKIT device, got {value}")]
    NotExpressible {
        /// Field of the device.
        field: &'static str,
        /// What AIHWKIT can express.
        must: &'static str,
        /// What was given.
        value: f64,
    },
    /// A parameter that the class does not have.
    #[error("{name} is not a parameter of this class")]
    Unknown {
        /// The name as given.
        name: String,
    },
    /// A value of the wrong type.
    #[error("{name} must be a number, true or false, or a list of numbers, as in AIHWKIT, got {value:?}")]
    WrongType {
        /// The parameter.
        name: String,
        /// What was given.
        value: Value,
    },
    /// Invalid numbers.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A boolean.
    Flag(bool),
    /// Numbers at nodes.
    List(Vec<f64>),
}

/// Parameters that can be set by name.
pub(crate) trait Assign {
    /// Sets the parameter `name` if it is this one, called `own`, or nested in it: whether its type fits, or `None` if it is not here.
    fn assign(&mut self, own: &str, name: &str, value: &Value) -> Option<bool>;
}

/// Sets a parameter if it is this one and the value fits.
fn set<T>(slot: &mut T, own: &str, name: &str, value: Option<T>) -> Option<bool> {
    (own == name).then(|| value.map(|value| *slot = value).is_some())
}

impl Assign for f32 {
    fn assign(&mut self, own: &str, name: &str, value: &Value) -> Option<bool> {
        set(self, own, name, if let Value::Number(x) = value { Some(*x as f32) } else { None })
    }
}

impl Assign for i32 {
    fn assign(&mut self, own: &str, name: &str, value: &Value) -> Option<bool> {
        let whole = if let Value::Number(x) = value { (x.fract() == 0.0).then_some(*x as i32) } else { None };
        set(self, own, name, whole)
    }
}

impl Assign for bool {
    fn assign(&mut self, own: &str, name: &str, value: &Value) -> Option<bool> {
        set(self, own, name, if let Value::Flag(flag) = value { Some(*flag) } else { None })
    }
}

impl Assign for Vec<f32> {
    fn assign(&mut self, own: &str, name: &str, value: &Value) -> Option<bool> {
        let list = if let Value::List(list) = value { Some(list) } else { None };
        set(self, own, name, list.map(|list| list.iter().map(|x| *x as f32).collect()))
    }
}

class! {
    /// The parameters all classes share; alone they are `ConstantStepDevice`.
    #[derive(Clone, Copy, Debug, PartialEq)]
    Pulsed {
        /// Mean step Δw_min.
        dw_min: f32 = 0.001,
        /// Spread of the step between cells.
        dw_min_dtod: f32 = 0.3,
        /// Whether that spread is log-normal.
        dw_min_dtod_log_normal: bool = false,
        /// Cycle-to-cycle noise of a step.
        dw_min_std: f32 = 0.3,
        /// Imbalance of up and down steps: weakens one direction.
        up_down: f32 = 0.0,
        /// Spread of the imbalance between cells.
        up_down_dtod: f32 = 0.01,
        /// Mean upper bound.
        w_max: f32 = 0.6,
        /// Spread of the upper bound between cells.
        w_max_dtod: f32 = 0.3,
        /// Mean lower bound.
        w_min: f32 = -0.6,
        /// Spread of the lower bound between cells.
        w_min_dtod: f32 = 0.3,
        /// Probability that a cell is stuck.
        corrupt_devices_prob: f32 = 0.0,
        /// Where stuck cells lie.
        corrupt_devices_range: f32 = 0.1,
        /// Mean value after a reset.
        reset: f32 = 0.0,
        /// Absolute spread of that value between cells.
        reset_dtod: f32 = 0.0,
        /// Noise of a reset.
        reset_std: f32 = 0.01,
        /// Mini-batches in which a weight decays by 1/e; 0 for never.
        lifetime: f32 = 0.0,
        /// Spread of the lifetime between cells.
        lifetime_dtod: f32 = 0.0,
        /// Deviation of the random walk of a mini-batch.
        diffusion: f32 = 0.0,
        /// Spread of the diffusion between cells.
        diffusion_dtod: f32 = 0.0,
        /// `nu` of the nested `drift`, the exponent; 0 for no drift, and then the rest of `drift` is irrelevant.
        drift_nu: f32 = 0.0,
        /// Whether steps and bounds of the wrong sign are mirrored.
        enforce_consistency: bool = true,
        /// Whether the last column is ideal.
        perfect_bias: bool = false,
    }
}

/// Rejects an AIHWKIT parameter that tiles do not model.
pub(super) fn convertible(
    field: &'static str,
    must: &'static str,
    holds: bool,
    value: impl Into<f64>,
) -> Result<(), ConversionError> {
    if holds { Ok(()) } else { Err(ConversionError::NotModelled { field, must, value: value.into() }) }
}

/// Rejects what AIHWKIT cannot express.
pub(super) fn expressible(
    field: &'static str,
    must: &'static str,
    holds: bool,
    value: impl Into<f64>,
) -> Result<(), ConversionError> {
    if holds { Ok(()) } else { Err(ConversionError::NotExpressible { field, must, value: value.into() }) }
}

/// Rejects log-normal spreads, which AIHWKIT has for steps only.
pub(super) fn only_normal(field: &'static str, spreads: [Spread; 2]) -> Result<(), ConversionError> {
    spreads.into_iter().try_for_each(|s| expressible(field, "normal", !s.log_normal, s.deviation))
}

pub(super) fn multiplicative(device: &Device) -> Result<(), ConversionError> {
    let holds = matches!(device.cycle_noise, CycleNoise::Multiplicative(_));
    expressible("cycle_noise", "multiplicative for this step", holds, device.cycle_noise.deviation())
}

/// The write noise of a class that draws it when weights are set, as tiles do.
pub(super) fn write_noise(deviation: f32, on_set: bool) -> Result<f32, ConversionError> {
    let holds = on_set || deviation == 0.0;
    convertible("apply_write_noise_on_set", "true (1) where there is write noise", holds, 0u8)?;
    Ok(deviation)
}

/// In AIHWKIT decay tends to the symmetric point where that is subtracted.
pub(super) fn decay_leads_to_reset(pulsed: &Pulsed, subtracted: bool) -> Result<(), ConversionError> {
    let holds = !subtracted || pulsed.lifetime == 0.0;
    convertible("lifetime", "0 with subtract_symmetry_point", holds, pulsed.lifetime)
}

impl Class {
    /// Sets a parameter by AIHWKIT's name; parameters that do not affect the device are ignored.
    ///
    /// # Errors
    /// If the class has no such parameter, or the type is wrong.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), ConversionError> {
        if ["construction_seed", "count_pulses"].contains(&name) {
            return Ok(());
        }
        match self.parameters().assign("", name, &value) {
            Some(true) => Ok(()),
            Some(false) => Err(ConversionError::WrongType { name: name.into(), value }),
            None => Err(ConversionError::Unknown { name: name.into() }),
        }
    }

    /// The device with these parameters.
    ///
    /// # Errors
    /// If a parameter that tiles do not model is switched on, or a value is invalid.
    pub fn to_device(&self) -> Result<Device, ConversionError> {
        let device = self.device()?;
        device.validate()?;
        Ok(device)
    }

    /// The step AIHWKIT divides by to find pulse probabilities, its `weight_granularity`.
    ///
    /// # Errors
    /// As [`Class::to_device`].
    pub fn granularity(&self) -> Result<f32, ConversionError> {
        Ok(self.to_device()?.granularity())
    }

    /// AIHWKIT's class and parameters of this device; the same pulses, and the same unit of update management.
    ///
    /// # Errors
    /// If the device is invalid or no class of AIHWKIT has its properties.
    pub fn from_device(device: &Device) -> Result<Self, ConversionError> {
        device.validate()?;
        only_normal("max_spread", [device.max_spread; 2])?;
        only_normal("min_spread", [device.min_spread; 2])?;
        if let Some(drift) = device.retention.drift {
            expressible("drift", "off (AIHWKIT's starts one call later after a write)", false, drift.exponent)?;
        }
        if let Some(reference) = device.reference {
            let known = device.step.model().has_symmetric_point();
            expressible("reference", "used with soft bounds or power steps", known, reference.mean)?;
            if let Some(decay) = device.retention.decay {
                let holds = !reference.at_symmetric_point;
                expressible("decay", "off with a reference at the symmetric point", holds, decay.lifetime)?;
            }
        }
        let class = device.step.model().to_aihwkit(device)?;
        let (ours, theirs) = (device.granularity(), class.granularity()?);
        // AIHWKIT derives it from the other parameters, so ours must agree; 1e-5 is rounding.
        let same = (ours - theirs).abs() <= 1e-5 * theirs;
        expressible("granularity", "the value AIHWKIT derives from the other parameters", same, ours)?;
        Ok(class)
    }
}

impl Pulsed {
    /// A device with these parameters and this step.
    pub(super) fn device(&self, step: StepModel, multiplicative: bool) -> Result<Device, ConversionError> {
        convertible("enforce_consistency", "true (1)", self.enforce_consistency, 0u8)?;
        convertible("perfect_bias", "false (0)", !self.perfect_bias, u8::from(self.perfect_bias))?;
        // AIHWKIT's clock of a written cell starts one call later than ours.
        convertible("nu of drift", "0", self.drift_nu == 0.0, self.drift_nu)?;
        let noise = if multiplicative { CycleNoise::Multiplicative } else { CycleNoise::Additive };
        let (probability, range) = (self.corrupt_devices_prob, self.corrupt_devices_range);
        Ok(Device {
            step_spread: Spread { deviation: self.dw_min_dtod, log_normal: self.dw_min_dtod_log_normal },
            imbalance: self.up_down,
            imbalance_spread: self.up_down_dtod,
            max_spread: Spread::normal(self.w_max_dtod),
            min_spread: Spread::normal(self.w_min_dtod),
            cycle_noise: noise(self.dw_min_std),
            stuck: (probability > 0.0).then_some(Stuck { probability, range }),
            retention: Retention {
                reset: Reset { value: self.reset, spread: self.reset_dtod, deviation: self.reset_std },
                decay: (self.lifetime > 0.0)
                    .then_some(Decay { lifetime: self.lifetime, spread: self.lifetime_dtod }),
                diffusion: (self.diffusion > 0.0)
                    .then_some(Diffusion { deviation: self.diffusion, spread: self.diffusion_dtod }),
                drift: None,
            },
            ..Device::ideal(step, self.dw_min, self.w_min, self.w_max)
        })
    }

    /// The parameters of a device.
    pub(super) fn of(device: &Device) -> Self {
        let stuck =
            device.stuck.unwrap_or(Stuck { probability: 0.0, range: Self::default().corrupt_devices_range });
        let Retention { reset, decay, diffusion, .. } = device.retention;
        Self {
            dw_min: device.pulse_step,
            dw_min_dtod: device.step_spread.deviation,
            dw_min_dtod_log_normal: device.step_spread.log_normal,
            dw_min_std: device.cycle_noise_in_pulse_steps().deviation(),
            up_down: device.imbalance,
            up_down_dtod: device.imbalance_spread,
            w_max: device.max,
            w_max_dtod: device.max_spread.deviation,
            w_min: device.min,
            w_min_dtod: device.min_spread.deviation,
            corrupt_devices_prob: stuck.probability,
            corrupt_devices_range: stuck.range,
            reset: reset.value,
            reset_dtod: reset.spread,
            reset_std: reset.deviation,
            lifetime: decay.map_or(0.0, |d| d.lifetime),
            lifetime_dtod: decay.map_or(0.0, |d| d.spread),
            diffusion: diffusion.map_or(0.0, |d| d.deviation),
            diffusion_dtod: diffusion.map_or(0.0, |d| d.spread),
            ..Self::default()
        }
    }
}
