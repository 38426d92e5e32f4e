//! Our parameters in AIHWKIT's.

use super::to_device::SOFT_BOUNDS;
use super::{
    Class, ConversionError, ExpStep, LinearStep, PiecewiseStep, PowStep, PowStepReference, Pulsed, SoftBounds,
    SoftBoundsReference,
};
use crate::tile::device::{CycleNoise, Device, Spread, StepModel, Stuck};
use crate::tile::retention::Retention;

/// Refuses what AIHWKIT cannot say.
fn only(
    field: &'static str,
    must: &'static str,
    holds: bool,
    value: impl Into<f64>,
) -> Result<(), ConversionError> {
    if holds { Ok(()) } else { Err(ConversionError::NotExpressible { field, must, value: value.into() }) }
}

impl Class {
    /// AIHWKIT's class and parameters of this device; the same pulses, and the same unit of update management.
    ///
    /// # Errors
    /// If the device is impossible or no class of AIHWKIT has its properties.
    pub fn from_device(device: &Device) -> Result<Self, ConversionError> {
        device.validate()?;
        let shape_spread = match device.step {
            StepModel::Linear { spread, .. } | StepModel::Power { spread, .. } => spread,
            _ => Spread::NONE,
        };
        for (field, spread) in [
            ("max_spread", device.max_spread),
            ("min_spread", device.min_spread),
            ("spread of slopes or exponents", shape_spread),
        ] {
            only(field, "normal", !spread.log_normal, spread.deviation)?;
        }
        if let Some(drift) = device.retention.drift {
            only("drift", "off (AIHWKIT keeps it apart from the pulsed parameters)", false, drift.exponent)?;
        }
        let class = match (&device.step, device.reference) {
            (StepModel::Power { .. }, Some(_)) => Self::PowStepReference(power_reference(device)?),
            (StepModel::Linear { .. }, Some(_)) => Self::SoftBoundsReference(soft_bounds_reference(device)?),
            (_, Some(reference)) => {
                only("reference", "used with soft bounds or power steps", false, reference.mean)?;
                Self::ConstantStep(pulsed(device))
            }
            (StepModel::Constant, None) => constant(device),
            (StepModel::Linear { .. }, None) if device.step == SOFT_BOUNDS => Self::SoftBounds(SoftBounds {
                pulsed: pulsed(device),
                mult_noise: scales_with_step(device)?,
                write_noise_std: device.write_noise,
                ..SoftBounds::default()
            }),
            (StepModel::Linear { .. }, None) => Self::LinearStep(linear(device)?),
            (StepModel::Power { .. }, None) => Self::PowStep(power(device)?),
            (StepModel::Exponential { .. }, None) => Self::ExpStep(exponential(device)?),
            (StepModel::Piecewise { .. }, None) => Self::PiecewiseStep(piecewise(device)?),
        };
        let (ours, theirs) = (device.granularity(), class.granularity()?);
        // Their value follows from the other parameters, so ours must be that; 1e-5 is rounding.
        let same = (ours - theirs).abs() <= 1e-5 * theirs;
        only("granularity", "what AIHWKIT derives from the other parameters", same, ours)?;
        Ok(class)
    }
}

fn pulsed(device: &Device) -> Pulsed {
    let stuck =
        device.stuck.unwrap_or(Stuck { probability: 0.0, range: Pulsed::default().corrupt_devices_range });
    let Retention { reset, decay, diffusion, .. } = device.retention;
    Pulsed {
        dw_min: device.pulse_step,
        dw_min_dtod: device.step_spread.deviation,
        dw_min_dtod_log_normal: device.step_spread.log_normal,
        dw_min_std: device.cycle_noise.deviation(),
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
        ..Pulsed::default()
    }
}

/// Whether noise is multiplicative or additive, where both are possible.
fn scales_with_step(device: &Device) -> Result<bool, ConversionError> {
    match device.cycle_noise {
        CycleNoise::Multiplicative(_) => Ok(true),
        CycleNoise::Additive(_) => Ok(false),
        CycleNoise::Complex { offset, .. } => {
            only("cycle_noise", "complex for exponential steps only; offset given", false, offset)?;
            Ok(true)
        }
    }
}

fn multiplicative(device: &Device) -> Result<(), ConversionError> {
    let holds = matches!(device.cycle_noise, CycleNoise::Multiplicative(_));
    only("cycle_noise", "multiplicative for this step", holds, device.cycle_noise.deviation())
}

/// A constant step with additive or write noise is a linear one without slope.
fn constant(device: &Device) -> Class {
    match device.cycle_noise {
        CycleNoise::Multiplicative(_) if device.write_noise == 0.0 => Class::ConstantStep(pulsed(device)),
        noise => Class::LinearStep(LinearStep {
            pulsed: pulsed(device),
            gamma_up_dtod: 0.0,
            gamma_down_dtod: 0.0,
            mult_noise: !matches!(noise, CycleNoise::Additive(_)),
            write_noise_std: device.write_noise,
            ..LinearStep::default()
        }),
    }
}

fn linear(device: &Device) -> Result<LinearStep, ConversionError> {
    let mult_noise = scales_with_step(device)?;
    let mut class = LinearStep {
        pulsed: pulsed(device),
        mult_noise,
        write_noise_std: device.write_noise,
        ..LinearStep::default()
    };
    if let StepModel::Linear { slope_up, slope_down, spread, own_bounds } = device.step {
        (class.gamma_up, class.gamma_down) = (slope_up, slope_down);
        (class.gamma_up_dtod, class.gamma_down_dtod) = (spread.deviation, spread.deviation);
        class.mean_bound_reference = !own_bounds;
    }
    Ok(class)
}

fn soft_bounds_reference(device: &Device) -> Result<SoftBoundsReference, ConversionError> {
    if let StepModel::Linear { slope_up, .. } = device.step {
        only(
            "slope_up",
            "1, as both slopes, with own bounds under a reference",
            device.step == SOFT_BOUNDS,
            slope_up,
        )?;
    }
    let reference = device.reference.unwrap_or_default();
    Ok(SoftBoundsReference {
        pulsed: pulsed(device),
        mult_noise: scales_with_step(device)?,
        write_noise_std: device.write_noise,
        reference_mean: reference.mean,
        reference_std: reference.deviation,
        subtract_symmetry_point: reference.at_symmetric_point,
        ..SoftBoundsReference::default()
    })
}

fn power(device: &Device) -> Result<PowStep, ConversionError> {
    multiplicative(device)?;
    let mut class =
        PowStep { pulsed: pulsed(device), write_noise_std: device.write_noise, ..PowStep::default() };
    if let StepModel::Power { shape, spread } = device.step {
        (class.pow_gamma, class.pow_gamma_dtod) = (shape, spread.deviation);
    }
    Ok(class)
}

fn power_reference(device: &Device) -> Result<PowStepReference, ConversionError> {
    only("write_noise", "0 for power steps under a reference", device.write_noise == 0.0, device.write_noise)?;
    let PowStep { pulsed, pow_gamma, pow_gamma_dtod, .. } = power(device)?;
    let reference = device.reference.unwrap_or_default();
    Ok(PowStepReference {
        pulsed,
        pow_gamma,
        pow_gamma_dtod,
        reference_mean: reference.mean,
        reference_std: reference.deviation,
        ..PowStepReference::default()
    })
}

fn exponential(device: &Device) -> Result<ExpStep, ConversionError> {
    let mut class =
        ExpStep { pulsed: pulsed(device), write_noise_std: device.write_noise, ..ExpStep::default() };
    match device.cycle_noise {
        CycleNoise::Complex { offset, slope, .. } => {
            (class.dw_min_std_add, class.dw_min_std_slope) = (offset, slope);
        }
        _ => multiplicative(device)?,
    }
    if let StepModel::Exponential { amplitude, rate, stretch, shift } = device.step {
        [class.A_up, class.A_down] = amplitude;
        [class.gamma_up, class.gamma_down] = rate;
        (class.a, class.b) = (stretch, shift);
    }
    Ok(class)
}

fn piecewise(device: &Device) -> Result<PiecewiseStep, ConversionError> {
    multiplicative(device)?;
    let mut class = PiecewiseStep {
        pulsed: pulsed(device),
        write_noise_std: device.write_noise,
        ..PiecewiseStep::default()
    };
    if let StepModel::Piecewise { up, down } = &device.step {
        only("piecewise nodes", "as many up as down", up.len() == down.len(), up.len() as f64)?;
        (class.piecewise_up, class.piecewise_down) = (up.clone(), down.clone());
    }
    Ok(class)
}
