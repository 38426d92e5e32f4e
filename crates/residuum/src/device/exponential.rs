//! Exponential steps: u± = max(0, level − amplitude·e^{±rate·z}). AIHWKIT's and the paper's are two settings of it.

use super::aihwkit::{Class, ConversionError, Pulsed, multiplicative, write_noise};
use super::cells::Cells;
use super::draws::Draws;
use super::law::{Arithmetic, Cell, Law, signed};
use super::{CycleNoise, Device, Model, StepModel};
use crate::error::{ParameterError, finite, positive, require};

/// Exponential steps: u± = max(0, level − amplitude·e^{±rate·z}), z = 2·stretch·w/(max − min) + shift.
///
/// AIHWKIT's have the level 1 and measure the state from 0. The paper's response (e^{c(1 ∓ w/τ)} − 1)/(e^c − 1) has the level −1/(e^c − 1), and
/// the middle of a cell's own bounds for a zero, so that steps vanish at them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    /// What is left of a step where the exponential vanishes.
    pub level: f32,
    /// Whether w is measured from the middle of the cell's bounds.
    pub centred: bool,
    /// Amplitudes of the up and the down step.
    pub amplitude: [f32; 2],
    /// Rates of the up and the down step.
    pub rate: [f32; 2],
    /// Scale of the state, AIHWKIT's `a`.
    pub stretch: f32,
    /// Shift of the state, AIHWKIT's `b`.
    pub shift: f32,
}

/// The law, with signed rates in the base used for powers.
#[derive(Clone, Copy)]
pub(super) struct Exponential<N> {
    level: N,
    /// 1/2 where the state is measured from the middle of the bounds, else 0.
    middle: N,
    amplitude: [N; 2],
    rate: [N; 2],
    stretch: N,
    shift: N,
}

impl Saturation {
    pub(super) fn law<A: Arithmetic>(&self) -> Exponential<A::Number> {
        let [up, down] = self.rate;
        Exponential {
            level: self.level.into(),
            middle: if self.centred { 0.5 } else { 0.0 }.into(),
            amplitude: self.amplitude.map(Into::into),
            rate: [up, -down].map(|rate| A::Number::from(rate) * A::LOG_E),
            stretch: self.stretch.into(),
            shift: self.shift.into(),
        }
    }

    /// AIHWKIT's: the level 1, w measured from 0.
    pub fn aihwkit(amplitude: [f32; 2], rate: [f32; 2], stretch: f32, shift: f32) -> Self {
        Self { level: 1.0, centred: false, amplitude, rate, stretch, shift }
    }

    /// The paper's response of this shape and radius on cells with these bounds.
    fn paper(shape: f64, radius: f64, [min, max]: [f64; 2]) -> Self {
        let per = 1.0 / shape.exp_m1();
        Self {
            level: -per as f32,
            centred: true,
            amplitude: [-(1.0 + per) as f32; 2],
            rate: [-shape as f32; 2],
            stretch: (0.5 * (max - min) / radius) as f32,
            shift: (0.5 * (max + min) / radius) as f32,
        }
    }

    /// u₊ and u₋ at the position z, and the magnitudes of their derivatives there.
    fn both_at(&self, z: f32) -> [(f32, f32); 2] {
        let Self { level, amplitude, rate, .. } = self;
        [(0, rate[0] * z), (1, -rate[1] * z)].map(|(s, x)| {
            let e = amplitude[s] * x.exp();
            ((level - e).max(0.0), (e * rate[s]).abs())
        })
    }

    /// z of the mean cell at w.
    fn position(&self, device: &Device, w: f32) -> f32 {
        let from = if self.centred { 0.5 * (device.max + device.min) } else { 0.0 };
        2.0 * self.stretch * (w - from) / (device.max - device.min) + self.shift
    }

    /// AIHWKIT's granularity: the mean down step at w = 0, `dw_min` if that is 0.
    fn down_step_at_zero(&self, device: &Device) -> f32 {
        let scale = device.pulse_step * (1.0 - device.imbalance.max(0.0)).abs();
        let step = scale * self.both_at(self.position(device, 0.0))[1].0;
        if step > 0.0 { step } else { device.pulse_step }
    }

    /// A device whose update management uses AIHWKIT's unit: the down step at 0, not the mean of both.
    pub(super) fn counted_as_aihwkit(&self, device: Device) -> Device {
        Device { granularity: Some(self.down_step_at_zero(&device)), ..device }
    }
}

impl<A: Arithmetic> Law<A> for Exponential<A::Number> {
    const INVERSE_RANGE: bool = true;
    const VANISHES: bool = true;

    #[inline(always)]
    fn step(&self, cell: &Cell<A::Number>, up: bool, w: A::Number) -> (A::Number, A::Number) {
        let zero = A::Number::from(0.0);
        let twice = A::Number::from(2.0) * self.stretch;
        let z = A::along_range(twice, w - self.middle * (cell.max + cell.min), cell) + self.shift;
        let (amplitude, rate) =
            if up { (self.amplitude[0], self.rate[0]) } else { (self.amplitude[1], self.rate[1]) };
        let e = amplitude * A::power_of_base(rate * z);
        let moving = e < self.level;
        let size = if moving { cell.scale * (self.level - e) } else { zero };
        let per_weight = A::over_range(twice, cell);
        let slope = if moving { -cell.scale * e * (rate * A::LN_BASE) * per_weight } else { zero };
        (signed(up, size), signed(up, slope))
    }
}

impl Model for Saturation {
    fn validate(&self) -> Result<(), ParameterError> {
        let Self { level, centred: _, amplitude, rate, stretch, shift } = self;
        for (name, value) in [
            ("level", *level),
            ("amplitude", amplitude[0]),
            ("amplitude", amplitude[1]),
            ("rate", rate[0]),
            ("rate", rate[1]),
            ("stretch", *stretch),
            ("shift", *shift),
        ] {
            finite(name, f64::from(value))?;
        }
        Ok(())
    }

    fn at_zero(&self, device: &Device) -> f32 {
        let [(up, _), (down, _)] = self.both_at(self.position(device, 0.0));
        0.5 * (up + down)
    }

    fn counts_from_reference(&self) -> bool {
        !self.centred
    }

    /// That in the middle: further out it grows for one direction as it falls for the other, and cells are drawn to the middle.
    fn slope(&self, device: &Device) -> Option<f32> {
        let [(_, up), (_, down)] = self.both_at(self.position(device, 0.5 * (device.max + device.min)));
        self.centred.then_some(up.max(down) * 2.0 * self.stretch / (device.max - device.min))
    }

    fn vanishes_at_bounds(&self) -> bool {
        let [up, down] = [self.shift + self.stretch, self.shift - self.stretch].map(|z| self.both_at(z));
        self.centred && up[0].0.max(down[1].0) < ALMOST_NONE
    }

    fn derive(&self, _: &Device, cells: &mut Cells, _: &Draws<'_>) {
        cells.invert_range();
    }

    fn describe(&self) -> String {
        let ([a, b], [c, d]) = (self.amplitude, self.rate);
        if self.centred {
            let (level, rate) = (-self.level, -c);
            return format!("exponential steps {:.4} e^(∓{rate}z) − {level:.4}", -a);
        }
        format!("exponential steps 1 − A e^(±γz), A = {a} and {b}, γ = {c} and {d}")
    }

    fn to_aihwkit(&self, device: &Device) -> Result<Class, ConversionError> {
        if self.centred {
            // None of `ExpStepDevice`, but a table carries it over.
            let Device { min, max, pulse_step, .. } = *device;
            let mean = Device::ideal(StepModel::Exponential(*self), pulse_step, min, max);
            let steps = Device { granularity: Some(pulse_step), ..mean }.response()?;
            let Device { step, .. } = Device::from_response(&steps, pulse_step)?;
            return step.model().to_aihwkit(device);
        }
        let (dw_min_std_add, dw_min_std_slope) = match device.cycle_noise {
            CycleNoise::Complex { offset, slope, .. } => (offset, slope),
            _ => {
                multiplicative(device)?;
                (0.0, 0.0)
            }
        };
        Ok(Class::ExpStep(ExpStep {
            pulsed: Pulsed::of(device),
            A_up: self.amplitude[0],
            A_down: self.amplitude[1],
            gamma_up: self.rate[0],
            gamma_down: self.rate[1],
            a: self.stretch,
            b: self.shift,
            dw_min_std_add,
            dw_min_std_slope,
            write_noise_std: device.write_noise_in_pulse_steps(),
            ..ExpStep::default()
        }))
    }
}

/// A step that counts as none at a bound: what single precision leaves of one.
const ALMOST_NONE: f32 = 1e-5;
/// Shapes of the paper's response on a tile: below, the exponential and its level are so large that single precision would leave more than 1e-5
/// of their difference wrong; beyond, powers of 2 end.
const SHAPES: [f64; 2] = [0.01, 80.0];

impl Device {
    /// The paper's exponential response q± = (e^{shape(1 ∓ w/radius)} − 1)/(e^{shape} − 1), with steps of `pulse_step` at
    /// w = 0.
    ///
    /// # Errors
    /// If a number is not positive and finite, or the shape is not between 0.01 and 80.
    pub fn paper_exponential(shape: f32, radius: f32, pulse_step: f32) -> Result<Self, ParameterError> {
        Self::exponential_within([shape, radius].map(f64::from), [-radius, radius], pulse_step)
    }

    /// The same, of a shape and a radius, confined to a range.
    ///
    /// # Errors
    /// As [`Device::paper_exponential`].
    pub fn exponential_within(
        [shape, radius]: [f64; 2],
        [min, max]: [f32; 2],
        pulse_step: f32,
    ) -> Result<Self, ParameterError> {
        positive("radius", radius)?;
        require((SHAPES[0]..=SHAPES[1]).contains(&shape), "shape", "between 0.01 and 80 on a tile", shape)?;
        let step = StepModel::Exponential(Saturation::paper(shape, radius, [min, max].map(f64::from)));
        let device = Self { granularity: Some(pulse_step), ..Self::ideal(step, pulse_step, min, max) };
        device.validate()?;
        Ok(device)
    }
}

class! {
    /// Steps 1 − A e^{±γz}, z = 2a·w/(b₊ − b₋) + b.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[expect(non_snake_case, reason = "AIHWKIT's names")]
    ExpStep {
        /// Parameters all classes share.
        pulsed: Pulsed = Pulsed::default(),
        /// Amplitude of the up step.
        A_up: f32 = 0.00081,
        /// Amplitude of the down step.
        A_down: f32 = 0.36833,
        /// Rate of the up step.
        gamma_up: f32 = 12.44625,
        /// Rate of the down step.
        gamma_down: f32 = 12.78785,
        /// Stretch of the state.
        a: f32 = 0.244,
        /// Shift of the state.
        b: f32 = 0.2425,
        /// Constant part of complex noise, in weight units.
        dw_min_std_add: f32 = 0.0,
        /// Part of complex noise that grows with the state.
        dw_min_std_slope: f32 = 0.0,
        /// Deviation of a read from the state, in steps.
        write_noise_std: f32 = 0.0,
        /// Whether setting weights draws write noise.
        apply_write_noise_on_set: bool = true,
    }
}

impl ExpStep {
    pub(super) fn device(&self) -> Result<Device, ConversionError> {
        let Self { A_up, A_down, gamma_up, gamma_down, a, b, .. } = *self;
        let saturation = Saturation::aihwkit([A_up, A_down], [gamma_up, gamma_down], a, b);
        let base = self.pulsed.device(StepModel::Exponential(saturation), true)?;
        let (deviation, offset, slope) = (self.pulsed.dw_min_std, self.dw_min_std_add, self.dw_min_std_slope);
        let cycle_noise = if offset == 0.0 && slope == 0.0 {
            base.cycle_noise
        } else {
            CycleNoise::Complex { deviation, offset, slope }
        };
        let write_noise = write_noise(self.write_noise_std, self.apply_write_noise_on_set)?;
        Ok(saturation.counted_as_aihwkit(Device { cycle_noise, write_noise, ..base }))
    }
}
