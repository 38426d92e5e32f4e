//! Linear steps, soft bounds among them: straight lines in the state.

use super::aihwkit::{
    Class, ConversionError, Pulsed, decay_leads_to_reset, expressible, only_normal, write_noise,
};
use super::cells::{Cells, value};
use super::draws::Draws;
use super::law::{Arithmetic, Cell, Law, Shape, signed};
use super::{CycleNoise, Device, Model, Reference, Spread, StepModel};
use crate::error::{ParameterError, finite, non_negative, require};
use crate::simd::{self, Kernel};

/// Linear steps: u₊ = 1 − slope·w/B₊, u₋ = 1 − slope·w/B₋, with B₊ the upper and B₋ the lower bound unless reversed. A bound
/// at 0 leaves its step constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slopes {
    /// Relative drop of the up step at B₊ and of the down step at B₋.
    pub slope: [f32; 2],
    /// Spread of each between cells: absolute if normal, a factor if log-normal.
    pub spread: [Spread; 2],
    /// Whether a slope may be negative, so that a step grows towards its bound; otherwise its magnitude is taken.
    pub increasing: bool,
    /// Which bounds B± are.
    pub bounds: SlopeBounds,
    /// If set for a direction, B is the opposite bound moved outwards by this, so that the step grows towards its own bound.
    pub reversed: [Option<f32>; 2],
}

/// Which bounds set the slopes of linear steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlopeBounds {
    /// Those of the mean cell.
    Mean,
    /// The cell's own.
    Own,
    /// The cell's own, divided by its slopes: a steeper cell is narrower, and steps vanish at its bounds.
    Divided,
}

impl Slopes {
    /// These slopes at the mean bounds, equal in all cells.
    pub fn new(up: f32, down: f32) -> Self {
        Self {
            slope: [up, down],
            spread: [Spread::NONE; 2],
            increasing: false,
            bounds: SlopeBounds::Mean,
            reversed: [None; 2],
        }
    }

    /// Steps that vanish at the cell's own bounds.
    pub fn soft_bounds() -> Self {
        Self { bounds: SlopeBounds::Own, ..Self::new(1.0, 1.0) }
    }

    /// B of one direction, 0 up and 1 down, between the upper and the lower bound.
    fn bound(&self, side: usize, ends: [f32; 2]) -> f32 {
        match (self.reversed[side], side) {
            (None, _) => ends[side],
            (Some(offset), 0) => ends[1] - offset,
            (Some(offset), _) => ends[0] + offset,
        }
    }
}

/// ±(base + slope·w), both per cell.
#[derive(Clone, Copy)]
pub(super) struct Line;

impl<A: Arithmetic> Law<A> for Line {
    const SHAPE: Shape = Shape::Directed;
    const AFFINE: bool = true;
    const VANISHES: bool = true;

    #[inline(always)]
    fn step(&self, cell: &Cell<A::Number>, up: bool, w: A::Number) -> (A::Number, A::Number) {
        let slope = signed(up, cell.shape);
        (A::multiply_add(slope, w, signed(up, cell.scale)), slope)
    }
}

impl Model for Slopes {
    fn validate(&self) -> Result<(), ParameterError> {
        for (name, slope) in [("slope_up", self.slope[0]), ("slope_down", self.slope[1])] {
            let slope = f64::from(slope);
            if self.increasing {
                finite(name, slope)?
            } else {
                non_negative(name, slope)?
            };
            let divides = self.bounds == SlopeBounds::Divided;
            require(!divides || slope == 1.0, name, "1 where slopes divide the bounds", slope)?;
        }
        for spread in self.spread {
            non_negative("slope spread", f64::from(spread.deviation))?;
        }
        for offset in self.reversed.into_iter().flatten() {
            non_negative("reversed", f64::from(offset))?;
            require(
                self.bounds != SlopeBounds::Divided,
                "reversed",
                "unset where slopes divide the bounds",
                f64::from(offset),
            )?;
        }
        Ok(())
    }

    fn at_zero(&self, _: &Device) -> f32 {
        1.0
    }

    /// Change of the steps with the state: −slope·s/B, in place of the draws of the slopes.
    fn derive(&self, device: &Device, cells: &mut Cells, draws: &Draws<'_>) {
        self.relative(draws, &mut cells.shape);
        if self.bounds == SlopeBounds::Divided {
            divide([&mut cells.max, &mut cells.min], &mut cells.shape);
        }
        for s in 0..2 {
            let (slope, scale) = (&mut cells.shape[s], &cells.scale[s]);
            let mean = self.bound(s, [device.max, device.min]);
            // B is one of the bounds, moved outwards where a direction is reversed.
            let moved = self.bound(s, [0.0; 2]);
            let bounds = if (s == 0) == self.reversed[s].is_none() { &cells.max } else { &cells.min };
            match self.bounds {
                SlopeBounds::Mean => simd::dispatch(FallTogether { slope, scale, bound: mean }),
                _ => simd::dispatch(Fall { slope, scale, bounds, moved }),
            }
        }
    }

    fn mean_shape(&self, device: &Device, side: usize) -> f64 {
        let bound = f64::from(self.bound(side, [device.max, device.min]));
        if bound == 0.0 { 0.0 } else { -f64::from(self.slope[side]) / bound }
    }

    fn slope(&self, device: &Device) -> Option<f32> {
        let [up, down] = [0, 1].map(|side| self.mean_shape(device, side).abs() as f32);
        Some(up.max(down))
    }

    fn vanishes_at_bounds(&self) -> bool {
        let alike =
            self.slope == [1.0; 2] && self.spread == [Spread::NONE; 2] || self.bounds == SlopeBounds::Divided;
        alike && self.bounds != SlopeBounds::Mean && self.reversed == [None; 2]
    }

    fn affine(&self) -> bool {
        true
    }

    fn has_symmetric_point(&self) -> bool {
        true
    }

    fn symmetric_point(&self, cells: &Cells, i: usize) -> Option<f32> {
        let difference = |[a, b]: &[Vec<f32>; 2]| value(a, i) - value(b, i);
        let slopes = -difference(&cells.shape);
        Some(if slopes == 0.0 { 0.0 } else { difference(&cells.scale) / slopes })
    }

    fn describe(&self) -> String {
        let [up, down] = self.slope;
        format!("linear steps, less by {up} (up) and {down} (down) of themselves at the bound than at 0")
    }

    fn to_aihwkit(&self, device: &Device) -> Result<Class, ConversionError> {
        only_normal("spread of slopes", self.spread)?;
        if device.reference.is_some() || self.bounds == SlopeBounds::Divided {
            return Ok(Class::SoftBoundsReference(self.soft_bounds_reference(device)?));
        }
        let mult_noise = scales_with_step(device)?;
        let offset = match self.reversed {
            [Some(up), Some(down)] => {
                expressible("reversed", "the same offset for both directions", up == down, down)?;
                Some(up)
            }
            [up, down] => up.or(down),
        };
        let [reverse_up, reverse_down] = self.reversed.map(|offset| offset.is_some());
        let reverse_offset = offset.unwrap_or(SoftBounds::default().reverse_offset);
        expressible("reversed", "unset under additive noise", offset.is_none() || mult_noise, reverse_offset)?;
        let (pulsed, write_noise_std) = (Pulsed::of(device), device.write_noise_in_pulse_steps());
        let straight = Self { reversed: [None; 2], ..*self };
        Ok(if straight == Self::soft_bounds() {
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
                gamma_up: self.slope[0],
                gamma_down: self.slope[1],
                gamma_up_dtod: self.spread[0].deviation,
                gamma_down_dtod: self.spread[1].deviation,
                allow_increasing: self.increasing,
                mean_bound_reference: self.bounds == SlopeBounds::Mean,
                mult_noise,
                write_noise_std,
                reverse_up,
                reverse_down,
                reverse_offset,
                ..LinearStep::default()
            })
        })
    }
}

impl Slopes {
    /// Slopes of the cells, relative to step and bound.
    fn relative(&self, draws: &Draws<'_>, slopes: &mut [Vec<f32>; 2]) {
        for (s, name) in ["slope up", "slope down"].into_iter().enumerate() {
            let (mean, spread, slopes) = (self.slope[s], self.spread[s], &mut slopes[s]);
            if spread.log_normal {
                draws.factors(name, spread, slopes);
            } else {
                draws.deviations(name, spread.deviation, slopes);
            }
            let slope = |d: f32| if spread.log_normal { mean * d } else { mean + d };
            let allowed = |slope: f32| if self.increasing { slope } else { slope.abs() };
            for d in slopes {
                *d = allowed(slope(*d));
            }
        }
    }

    fn soft_bounds_reference(&self, device: &Device) -> Result<SoftBoundsReference, ConversionError> {
        let divided = self.bounds == SlopeBounds::Divided;
        let spread = if divided { self.spread } else { [Spread::NONE; 2] };
        let soft = Self { spread, bounds: self.bounds, ..Self::soft_bounds() };
        let holds = *self == soft && self.bounds != SlopeBounds::Mean;
        expressible(
            "slope_up",
            "1 in both directions with the cell's own bounds under a reference",
            holds,
            self.slope[0],
        )?;
        let reference = device.reference.unwrap_or_default();
        Ok(SoftBoundsReference {
            pulsed: Pulsed::of(device),
            mult_noise: scales_with_step(device)?,
            write_noise_std: device.write_noise_in_pulse_steps(),
            slope_up_dtod: spread[0].deviation,
            slope_down_dtod: spread[1].deviation,
            reference_mean: reference.mean,
            reference_std: reference.deviation,
            subtract_symmetry_point: reference.at_symmetric_point,
            ..SoftBoundsReference::default()
        })
    }
}

/// Divides bounds by their slopes, which then become 1. Stuck cells stay unchanged.
fn divide([max, min]: [&mut [f32]; 2], [up, down]: &mut [Vec<f32>; 2]) {
    for i in 0..max.len() {
        if max[i] > min[i] {
            max[i] /= up[i];
            min[i] /= down[i];
            (up[i], down[i]) = (1.0, 1.0);
        }
    }
}

/// −slope·s/B in place of the slope; a bound at 0 leaves its step constant.
struct Fall<'a> {
    slope: &'a mut [f32],
    scale: &'a [f32],
    bounds: &'a [f32],
    /// How far outside the bound B is.
    moved: f32,
}

impl Kernel for Fall<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for ((slope, scale), bound) in self.slope.iter_mut().zip(self.scale).zip(self.bounds) {
            let bound = bound + self.moved;
            *slope = if bound == 0.0 { 0.0 } else { -*slope * scale / bound };
        }
    }
}

/// The same where B is that of the mean cell.
struct FallTogether<'a> {
    slope: &'a mut [f32],
    scale: &'a [f32],
    bound: f32,
}

impl Kernel for FallTogether<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let bound = self.bound;
        for (slope, scale) in self.slope.iter_mut().zip(self.scale) {
            *slope = if bound == 0.0 { 0.0 } else { -*slope * scale / bound };
        }
    }
}

/// Whether noise is multiplicative or additive, where both are possible.
fn scales_with_step(device: &Device) -> Result<bool, ConversionError> {
    match device.cycle_noise {
        CycleNoise::Multiplicative(_) => Ok(true),
        CycleNoise::Additive(_) => Ok(false),
        CycleNoise::Complex { offset, .. } => {
            expressible(
                "cycle_noise",
                "multiplicative or additive unless steps are exponential",
                false,
                offset,
            )?;
            Ok(true)
        }
    }
}

class! {
    /// Steps that fall linearly with the state.
    #[derive(Clone, Copy, Debug, PartialEq)]
    LinearStep {
        /// Parameters all classes share.
        pulsed: Pulsed = Pulsed::default(),
        /// Relative drop of the up step at the upper bound.
        gamma_up: f32 = 0.0,
        /// Relative drop of the down step at the lower bound.
        gamma_down: f32 = 0.0,
        /// Absolute spread of the first.
        gamma_up_dtod: f32 = 0.05,
        /// Absolute spread of the second.
        gamma_down_dtod: f32 = 0.05,
        /// Whether negative slopes are allowed.
        allow_increasing: bool = false,
        /// Whether the mean bounds set the slope.
        mean_bound_reference: bool = true,
        /// Whether noise scales with the step.
        mult_noise: bool = true,
        /// Deviation of a read from the state, in steps.
        write_noise_std: f32 = 0.0,
        /// Whether setting weights draws write noise.
        apply_write_noise_on_set: bool = true,
        /// Whether the up step grows towards its bound.
        reverse_up: bool = false,
        /// Whether the down step grows towards its bound.
        reverse_down: bool = false,
        /// How far beyond the other bound a reversed step vanishes.
        reverse_offset: f32 = 0.01,
    }
}

class! {
    /// Steps that vanish linearly at the cell's own bounds.
    #[derive(Clone, Copy, Debug, PartialEq)]
    SoftBounds {
        /// Parameters all classes share.
        pulsed: Pulsed = Pulsed::default(),
        /// Whether noise scales with the step.
        mult_noise: bool = true,
        /// Deviation of a read from the state, in steps.
        write_noise_std: f32 = 0.0,
        /// Whether setting weights draws write noise.
        apply_write_noise_on_set: bool = true,
        /// Whether the up step grows towards its bound.
        reverse_up: bool = false,
        /// Whether the down step grows towards its bound.
        reverse_down: bool = false,
        /// How far beyond the other bound a reversed step vanishes.
        reverse_offset: f32 = 0.01,
    }
}

class! {
    /// Soft bounds from the number of pulses; `dw_min`, `up_down`, `w_min` and `w_max` of `pulsed` are derived and ignored.
    #[derive(Clone, Copy, Debug, PartialEq)]
    SoftBoundsPmax {
        /// Parameters all classes share.
        pulsed: Pulsed = Pulsed::default(),
        /// Pulses from one end of the range to the other.
        p_max: f32 = 1000.0,
        /// Rate of the approach.
        alpha: f32 = 0.0005,
        /// Lower end.
        range_min: f32 = -1.0,
        /// Upper end.
        range_max: f32 = 1.0,
        /// Whether noise scales with the step.
        mult_noise: bool = true,
        /// Deviation of a read from the state, in steps.
        write_noise_std: f32 = 0.0,
        /// Whether setting weights draws write noise.
        apply_write_noise_on_set: bool = true,
        /// Whether the up step grows towards its bound.
        reverse_up: bool = false,
        /// Whether the down step grows towards its bound.
        reverse_down: bool = false,
        /// How far beyond the other bound a reversed step vanishes.
        reverse_offset: f32 = 0.01,
    }
}

class! {
    /// Soft bounds of a cell read against a reference.
    #[derive(Clone, Copy, Debug, PartialEq)]
    SoftBoundsReference {
        /// Parameters all classes share.
        pulsed: Pulsed = Pulsed::default(),
        /// Whether noise scales with the step.
        mult_noise: bool = false,
        /// Deviation of a read from the state, in steps.
        write_noise_std: f32 = 0.0,
        /// Whether setting weights draws write noise.
        apply_write_noise_on_set: bool = true,
        /// Spread of the up slope, which moves the upper bound.
        slope_up_dtod: f32 = 0.0,
        /// Spread of the down slope, which moves the lower bound.
        slope_down_dtod: f32 = 0.0,
        /// Mean of the reference that a read subtracts.
        reference_mean: f32 = 0.0,
        /// Its spread between cells.
        reference_std: f32 = 0.0,
        /// Whether the cell's symmetric point is also subtracted.
        subtract_symmetry_point: bool = false,
    }
}

/// Offsets of the reversed directions.
fn reversed(up: bool, down: bool, offset: f32) -> [Option<f32>; 2] {
    [up, down].map(|reversed| reversed.then_some(offset))
}

impl LinearStep {
    pub(super) fn device(&self) -> Result<Device, ConversionError> {
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
    pub(super) fn device(&self) -> Result<Device, ConversionError> {
        let reversed = reversed(self.reverse_up, self.reverse_down, self.reverse_offset);
        let step = StepModel::Linear(Slopes { reversed, ..Slopes::soft_bounds() });
        let write_noise = write_noise(self.write_noise_std, self.apply_write_noise_on_set)?;
        Ok(Device { write_noise, ..self.pulsed.device(step, self.mult_noise)? })
    }
}

impl SoftBoundsPmax {
    pub(super) fn device(&self) -> Result<Device, ConversionError> {
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
    pub(super) fn device(&self) -> Result<Device, ConversionError> {
        let spread = [self.slope_up_dtod, self.slope_down_dtod].map(Spread::normal);
        let bounds = if spread == [Spread::NONE; 2] { SlopeBounds::Own } else { SlopeBounds::Divided };
        let step = StepModel::Linear(Slopes { spread, bounds, ..Slopes::soft_bounds() });
        decay_leads_to_reset(&self.pulsed, self.subtract_symmetry_point)?;
        Ok(Device {
            reference: Some(Reference {
                mean: self.reference_mean,
                deviation: self.reference_std,
                at_symmetric_point: self.subtract_symmetry_point,
            }),
            write_noise: write_noise(self.write_noise_std, self.apply_write_noise_on_set)?,
            ..self.pulsed.device(step, self.mult_noise)?
        })
    }
}
