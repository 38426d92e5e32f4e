//! Our parameters in AIHWKIT's.

use super::to_device::SEARCH;
use super::{
    Class, ConversionError, ExpStep, LinearStep, PiecewiseStep, PowStep, PowStepReference, Pulsed, SoftBounds,
    SoftBoundsReference,
};
use crate::tile::device::{CycleNoise, Device, Spread, Stuck};
use crate::tile::retention::Retention;
use crate::tile::step::{Exponents, SlopeBounds, Slopes, StepModel};

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
        let shape_spreads = match device.step {
            StepModel::Linear(slopes) => slopes.spread,
            StepModel::Power(exponents) => [exponents.spread; 2],
            _ => [Spread::NONE; 2],
        };
        for (field, spread) in [
            ("max_spread", device.max_spread),
            ("min_spread", device.min_spread),
            ("spread of slopes or exponents", shape_spreads[0]),
            ("spread of slopes or exponents", shape_spreads[1]),
        ] {
            only(field, "normal", !spread.log_normal, spread.deviation)?;
        }
        if let Some(drift) = device.retention.drift {
            only("drift", "off (AIHWKIT's begins a call later after a write)", false, drift.exponent)?;
        }
        if let (Some(decay), Some(reference)) = (device.retention.decay, device.reference) {
            let holds = !reference.at_symmetric_point;
            only("decay", "off with a reference at the symmetric point", holds, decay.lifetime)?;
        }
        let class = match (&device.step, device.reference) {
            (StepModel::Power(exponents), Some(_)) => {
                Self::PowStepReference(power_reference(device, exponents)?)
            }
            (StepModel::Linear(slopes), reference)
                if reference.is_some() || slopes.bounds == SlopeBounds::Divided =>
            {
                Self::SoftBoundsReference(soft_bounds_reference(device, slopes)?)
            }
            (_, Some(reference)) => {
                only("reference", "used with soft bounds or power steps", false, reference.mean)?;
                Self::ConstantStep(pulsed(device))
            }
            (StepModel::Constant, None) => constant(device),
            (StepModel::Linear(slopes), None) => linear(device, slopes)?,
            (StepModel::Power(exponents), None) => Self::PowStep(power(device, exponents)?),
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

fn linear(device: &Device, slopes: &Slopes) -> Result<Class, ConversionError> {
    let mult_noise = scales_with_step(device)?;
    let offset = match slopes.reversed {
        [Some(up), Some(down)] => {
            only("reversed", "by one offset for both directions", up == down, down)?;
            Some(up)
        }
        [up, down] => up.or(down),
    };
    let [reverse_up, reverse_down] = slopes.reversed.map(|offset| offset.is_some());
    let reverse_offset = offset.unwrap_or(SoftBounds::default().reverse_offset);
    only("reversed", "off under additive noise", offset.is_none() || mult_noise, reverse_offset)?;
    let (pulsed, write_noise_std) = (pulsed(device), device.write_noise);
    let straight = Slopes { reversed: [None; 2], ..*slopes };
    Ok(if straight == Slopes::soft_bounds() {
        Class::SoftBounds(SoftBounds {
            pulsed,
            mult_noise,
            write_noise_std,
            reverse_up,
            reverse_down,
            reverse_offset,
            ..SoftBounds::default()
        })
    } else {
        Class::LinearStep(LinearStep {
            pulsed,
            gamma_up: slopes.slope[0],
            gamma_down: slopes.slope[1],
            gamma_up_dtod: slopes.spread[0].deviation,
            gamma_down_dtod: slopes.spread[1].deviation,
            allow_increasing: slopes.increasing,
            mean_bound_reference: slopes.bounds == SlopeBounds::Mean,
            mult_noise,
            write_noise_std,
            reverse_up,
            reverse_down,
            reverse_offset,
            ..LinearStep::default()
        })
    })
}

fn soft_bounds_reference(device: &Device, slopes: &Slopes) -> Result<SoftBoundsReference, ConversionError> {
    let divided = slopes.bounds == SlopeBounds::Divided;
    let spread = if divided { slopes.spread } else { [Spread::NONE; 2] };
    let said = Slopes { spread, bounds: slopes.bounds, ..Slopes::soft_bounds() };
    let holds = *slopes == said && slopes.bounds != SlopeBounds::Mean;
    only("slope_up", "1, as both slopes, with own bounds under a reference", holds, slopes.slope[0])?;
    let reference = device.reference.unwrap_or_default();
    Ok(SoftBoundsReference {
        pulsed: pulsed(device),
        mult_noise: scales_with_step(device)?,
        write_noise_std: device.write_noise,
        slope_up_dtod: spread[0].deviation,
        slope_down_dtod: spread[1].deviation,
        reference_mean: reference.mean,
        reference_std: reference.deviation,
        subtract_symmetry_point: reference.at_symmetric_point,
        ..SoftBoundsReference::default()
    })
}

fn power(device: &Device, exponents: &Exponents) -> Result<PowStep, ConversionError> {
    multiplicative(device)?;
    Ok(PowStep {
        pulsed: pulsed(device),
        pow_gamma: exponents.shape,
        pow_gamma_dtod: exponents.spread.deviation,
        pow_up_down: exponents.imbalance,
        pow_up_down_dtod: exponents.imbalance_spread,
        write_noise_std: device.write_noise,
        ..PowStep::default()
    })
}

fn power_reference(device: &Device, exponents: &Exponents) -> Result<PowStepReference, ConversionError> {
    only("write_noise", "0 for power steps under a reference", device.write_noise == 0.0, device.write_noise)?;
    let reference = device.reference.unwrap_or_default();
    let PowStep { pulsed, pow_gamma, pow_gamma_dtod, pow_up_down, pow_up_down_dtod, .. } =
        power(device, exponents)?;
    let found = !reference.at_symmetric_point || pulsed.search_arrives();
    only("pulse_step", SEARCH, found, device.pulse_step)?;
    Ok(PowStepReference {
        pulsed,
        pow_gamma,
        pow_gamma_dtod,
        pow_up_down,
        pow_up_down_dtod,
        reference_mean: reference.mean,
        reference_std: reference.deviation,
        subtract_symmetry_point: reference.at_symmetric_point,
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
