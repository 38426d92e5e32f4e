//! AIHWKIT's parameters in ours.

use super::{
    Class, ConversionError, ExpStep, LinearStep, PiecewiseStep, PowStep, PowStepReference, Pulsed, SoftBounds,
    SoftBoundsPmax, SoftBoundsReference,
};
use crate::tile::device::{CycleNoise, Device, Reference, Spread, StepModel, Stuck};
use crate::tile::retention::{Decay, Diffusion, Reset, Retention};

/// Refuses a number that must have one value.
fn only(
    field: &'static str,
    must: &'static str,
    holds: bool,
    value: impl Into<f64>,
) -> Result<(), ConversionError> {
    if holds { Ok(()) } else { Err(ConversionError::NotModelled { field, must, value: value.into() }) }
}

fn zero(field: &'static str, value: f32) -> Result<(), ConversionError> {
    only(field, "0", value == 0.0, value)
}

fn off(field: &'static str, value: bool) -> Result<(), ConversionError> {
    only(field, "false (0)", !value, u8::from(value))
}

impl Class {
    /// The device with these parameters.
    ///
    /// # Errors
    /// If a parameter is switched on that tiles do not model, or no device can have it.
    pub fn to_device(&self) -> Result<Device, ConversionError> {
        let device = match self {
            Self::ConstantStep(pulsed) => pulsed.device(StepModel::Constant, true)?,
            Self::LinearStep(class) => class.device()?,
            Self::SoftBounds(class) => class.device()?,
            Self::SoftBoundsPmax(class) => class.device()?,
            Self::SoftBoundsReference(class) => class.device()?,
            Self::ExpStep(class) => class.device()?,
            Self::PowStep(class) => class.device()?,
            Self::PowStepReference(class) => class.device()?,
            Self::PiecewiseStep(class) => class.device()?,
        };
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
}

impl Pulsed {
    fn device(&self, step: StepModel, multiplicative: bool) -> Result<Device, ConversionError> {
        only("enforce_consistency", "true (1)", self.enforce_consistency, 0u8)?;
        off("perfect_bias", self.perfect_bias)?;
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
}

/// Slopes 1 at the cell's own bounds.
pub(super) const SOFT_BOUNDS: StepModel =
    StepModel::Linear { slope_up: 1.0, slope_down: 1.0, spread: Spread::NONE, own_bounds: true };

impl LinearStep {
    fn device(&self) -> Result<Device, ConversionError> {
        off("allow_increasing", self.allow_increasing)?;
        off("reverse_up", self.reverse_up)?;
        off("reverse_down", self.reverse_down)?;
        let same = self.gamma_down_dtod == self.gamma_up_dtod;
        only("gamma_down_dtod", "equal to gamma_up_dtod", same, self.gamma_down_dtod)?;
        let step = StepModel::Linear {
            slope_up: self.gamma_up,
            slope_down: self.gamma_down,
            spread: Spread::normal(self.gamma_up_dtod),
            own_bounds: !self.mean_bound_reference,
        };
        Ok(Device { write_noise: self.write_noise_std, ..self.pulsed.device(step, self.mult_noise)? })
    }
}

impl SoftBounds {
    fn device(&self) -> Result<Device, ConversionError> {
        off("reverse_up", self.reverse_up)?;
        off("reverse_down", self.reverse_down)?;
        Ok(Device { write_noise: self.write_noise_std, ..self.pulsed.device(SOFT_BOUNDS, self.mult_noise)? })
    }
}

impl SoftBoundsPmax {
    fn device(&self) -> Result<Device, ConversionError> {
        let Device { pulse_step, imbalance, min, max, .. } =
            Device::soft_bounds_p_max(self.p_max, self.alpha, self.range_min, self.range_max);
        let pulsed = Pulsed { dw_min: pulse_step, up_down: imbalance, w_min: min, w_max: max, ..self.pulsed };
        let Self { mult_noise, write_noise_std, reverse_up, reverse_down, .. } = *self;
        SoftBounds { pulsed, mult_noise, write_noise_std, reverse_up, reverse_down }.device()
    }
}

impl SoftBoundsReference {
    fn device(&self) -> Result<Device, ConversionError> {
        zero("slope_up_dtod", self.slope_up_dtod)?;
        zero("slope_down_dtod", self.slope_down_dtod)?;
        let reference = Reference {
            mean: self.reference_mean,
            deviation: self.reference_std,
            at_symmetric_point: self.subtract_symmetry_point,
        };
        Ok(Device {
            reference: Some(reference),
            write_noise: self.write_noise_std,
            ..self.pulsed.device(SOFT_BOUNDS, self.mult_noise)?
        })
    }
}

impl ExpStep {
    fn device(&self) -> Result<Device, ConversionError> {
        let step = StepModel::Exponential {
            amplitude: [self.A_up, self.A_down],
            rate: [self.gamma_up, self.gamma_down],
            stretch: self.a,
            shift: self.b,
        };
        let base = self.pulsed.device(step, true)?;
        let (deviation, offset, slope) = (self.pulsed.dw_min_std, self.dw_min_std_add, self.dw_min_std_slope);
        let cycle_noise = if offset == 0.0 && slope == 0.0 {
            base.cycle_noise
        } else {
            CycleNoise::Complex { deviation, offset, slope }
        };
        let granularity = Some(down_step_at_zero(&base));
        Ok(Device { cycle_noise, write_noise: self.write_noise_std, granularity, ..base })
    }
}

/// AIHWKIT's granularity of exponential steps: the mean down step at w = 0, `dw_min` if that is 0.
pub(in crate::tile) fn down_step_at_zero(device: &Device) -> f32 {
    let StepModel::Exponential { amplitude, rate, shift, .. } = device.step else {
        return device.pulse_step;
    };
    let scale = device.pulse_step * (1.0 - device.imbalance.max(0.0)).abs();
    let step = scale * (1.0 - amplitude[1] * (-rate[1] * shift).exp()).max(0.0);
    if step > 0.0 { step } else { device.pulse_step }
}

impl PowStep {
    fn device(&self) -> Result<Device, ConversionError> {
        zero("pow_up_down", self.pow_up_down)?;
        zero("pow_up_down_dtod", self.pow_up_down_dtod)?;
        let step = StepModel::Power { shape: self.pow_gamma, spread: Spread::normal(self.pow_gamma_dtod) };
        Ok(Device { write_noise: self.write_noise_std, ..self.pulsed.device(step, true)? })
    }
}

impl PowStepReference {
    fn device(&self) -> Result<Device, ConversionError> {
        off("subtract_symmetry_point", self.subtract_symmetry_point)?;
        let Self { pulsed, pow_gamma, pow_gamma_dtod, pow_up_down, pow_up_down_dtod, .. } = *self;
        let power =
            PowStep { pulsed, pow_gamma, pow_gamma_dtod, pow_up_down, pow_up_down_dtod, write_noise_std: 0.0 };
        let reference =
            Reference { mean: self.reference_mean, deviation: self.reference_std, at_symmetric_point: false };
        Ok(Device { reference: Some(reference), ..power.device()? })
    }
}

impl PiecewiseStep {
    fn device(&self) -> Result<Device, ConversionError> {
        let (n, down) = (self.piecewise_up.len(), self.piecewise_down.len());
        only("piecewise_up", "of one length with piecewise_down, at least 1", n > 0 && n == down, n as f64)?;
        // One node is a constant step, which takes two of ours.
        let nodes = |list: &[f32]| if n == 1 { vec![list[0]; 2] } else { list.to_vec() };
        let step = StepModel::Piecewise { up: nodes(&self.piecewise_up), down: nodes(&self.piecewise_down) };
        Ok(Device {
            write_noise: self.write_noise_std,
            granularity: Some(self.pulsed.dw_min * self.piecewise_up[n / 2]),
            ..self.pulsed.device(step, true)?
        })
    }
}
