//! AIHWKIT's parameters in ours.

use super::{
    Class, ConversionError, ExpStep, LinearStep, PiecewiseStep, PowStep, PowStepReference, Pulsed, SoftBounds,
    SoftBoundsPmax, SoftBoundsReference,
};
use crate::tile::device::{CycleNoise, Device, Reference, Spread, Stuck};
use crate::tile::retention::{Decay, Diffusion, Reset, Retention};
use crate::tile::step::{Exponents, SlopeBounds, Slopes, StepModel};

/// Refuses a number that must have one value.
fn only(
    field: &'static str,
    must: &'static str,
    holds: bool,
    value: impl Into<f64>,
) -> Result<(), ConversionError> {
    if holds { Ok(()) } else { Err(ConversionError::NotModelled { field, must, value: value.into() }) }
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
        // Their clock of a written cell starts one call later than ours.
        only("nu of drift", "0", self.drift_nu == 0.0, self.drift_nu)?;
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

/// The write noise of a class that draws it when weights are set, as tiles do.
fn write_noise(deviation: f32, on_set: bool) -> Result<f32, ConversionError> {
    only("apply_write_noise_on_set", "true (1) where there is write noise", on_set || deviation == 0.0, 0u8)?;
    Ok(deviation)
}

/// Offsets of the reversed directions.
fn reversed(up: bool, down: bool, offset: f32) -> [Option<f32>; 2] {
    [up, down].map(|reversed| reversed.then_some(offset))
}

impl LinearStep {
    fn device(&self) -> Result<Device, ConversionError> {
        let step = StepModel::Linear(Slopes {
            slope: [self.gamma_up, self.gamma_down],
            spread: [self.gamma_up_dtod, self.gamma_down_dtod].map(Spread::normal),
            increasing: self.allow_increasing,
            bounds: if self.mean_bound_reference { SlopeBounds::Mean } else { SlopeBounds::Own },
            reversed: reversed(self.reverse_up, self.reverse_down, self.reverse_offset),
        });
        let write_noise = write_noise(self.write_noise_std, self.apply_write_noise_on_set)?;
        Ok(Device { write_noise, ..self.pulsed.device(step, self.mult_noise)? })
    }
}

impl SoftBounds {
    fn device(&self) -> Result<Device, ConversionError> {
        let reversed = reversed(self.reverse_up, self.reverse_down, self.reverse_offset);
        let step = StepModel::Linear(Slopes { reversed, ..Slopes::soft_bounds() });
        let write_noise = write_noise(self.write_noise_std, self.apply_write_noise_on_set)?;
        Ok(Device { write_noise, ..self.pulsed.device(step, self.mult_noise)? })
    }
}

impl SoftBoundsPmax {
    fn device(&self) -> Result<Device, ConversionError> {
        let Device { pulse_step, imbalance, min, max, .. } =
            Device::soft_bounds_p_max(self.p_max, self.alpha, self.range_min, self.range_max);
        let pulsed = Pulsed { dw_min: pulse_step, up_down: imbalance, w_min: min, w_max: max, ..self.pulsed };
        SoftBounds {
            pulsed,
            mult_noise: self.mult_noise,
            write_noise_std: self.write_noise_std,
            apply_write_noise_on_set: self.apply_write_noise_on_set,
            reverse_up: self.reverse_up,
            reverse_down: self.reverse_down,
            reverse_offset: self.reverse_offset,
        }
        .device()
    }
}

impl SoftBoundsReference {
    fn device(&self) -> Result<Device, ConversionError> {
        let spread = [self.slope_up_dtod, self.slope_down_dtod].map(Spread::normal);
        let bounds = if spread == [Spread::NONE; 2] { SlopeBounds::Own } else { SlopeBounds::Divided };
        let step = StepModel::Linear(Slopes { spread, bounds, ..Slopes::soft_bounds() });
        let reference = Reference {
            mean: self.reference_mean,
            deviation: self.reference_std,
            at_symmetric_point: self.subtract_symmetry_point,
        };
        decay_to_reset(&self.pulsed, self.subtract_symmetry_point)?;
        Ok(Device {
            reference: Some(reference),
            write_noise: write_noise(self.write_noise_std, self.apply_write_noise_on_set)?,
            ..self.pulsed.device(step, self.mult_noise)?
        })
    }
}

/// Their decay tends to the symmetric point besides, where that is subtracted.
fn decay_to_reset(pulsed: &Pulsed, subtracted: bool) -> Result<(), ConversionError> {
    let holds = !subtracted || pulsed.lifetime == 0.0;
    only("lifetime", "0 with subtract_symmetry_point", holds, pulsed.lifetime)
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
        let write_noise = write_noise(self.write_noise_std, self.apply_write_noise_on_set)?;
        Ok(Device { cycle_noise, write_noise, granularity, ..base })
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
        let step = StepModel::Power(Exponents {
            shape: self.pow_gamma,
            spread: Spread::normal(self.pow_gamma_dtod),
            imbalance: self.pow_up_down,
            imbalance_spread: self.pow_up_down_dtod,
        });
        let write_noise = write_noise(self.write_noise_std, self.apply_write_noise_on_set)?;
        Ok(Device { write_noise, ..self.pulsed.device(step, true)? })
    }
}

impl PowStepReference {
    fn device(&self) -> Result<Device, ConversionError> {
        let Self { pulsed, pow_gamma, pow_gamma_dtod, pow_up_down, pow_up_down_dtod, .. } = *self;
        let power =
            PowStep { pulsed, pow_gamma, pow_gamma_dtod, pow_up_down, pow_up_down_dtod, ..PowStep::default() };
        if self.subtract_symmetry_point {
            let steps = self.n_estimation_steps;
            only("n_estimation_steps", "-1, the point itself", steps <= 0, steps)?;
            only("dw_min", SEARCH, pulsed.search_arrives(), pulsed.dw_min)?;
        }
        decay_to_reset(&pulsed, self.subtract_symmetry_point)?;
        let reference = Reference {
            mean: self.reference_mean,
            deviation: self.reference_std,
            at_symmetric_point: self.subtract_symmetry_point,
        };
        Ok(Device { reference: Some(reference), ..power.device()? })
    }
}

/// What [`Pulsed::search_arrives`] asks for.
pub(super) const SEARCH: &str = "at least (w_max - w_min)/2000 to find the symmetric point of power steps";

impl Pulsed {
    /// Whether AIHWKIT's search for the symmetric point of power steps arrives: a pair of pulses leaves 1 − 2Δw_min/(w_max − w_min)
    /// of the distance for shapes from 1 to 2, and it gives up after 10 000, with e⁻¹⁰ left at this limit.
    pub(super) fn search_arrives(&self) -> bool {
        self.dw_min * 2000.0 >= self.w_max - self.w_min
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
            write_noise: write_noise(self.write_noise_std, self.apply_write_noise_on_set)?,
            granularity: Some(self.pulsed.dw_min * self.piecewise_up[n / 2]),
            ..self.pulsed.device(step, true)?
        })
    }
}
