//! Exponential steps as in AIHWKIT: u± = max(0, 1 − amplitude·e^{±rate·z}). The paper's exponential response is a different curve.

use super::aihwkit::{Class, ConversionError, Pulsed, multiplicative, write_noise};
use super::cells::Cells;
use super::draws::Draws;
use super::law::{Arithmetic, Cell, Law, signed};
use super::{CycleNoise, Device, Model, StepModel};
use crate::error::{ParameterError, finite};

/// Exponential steps: u± = max(0, 1 − amplitude·e^{±rate·z}), z = 2·stretch·w/(max − min) + shift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
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
    amplitude: [N; 2],
    rate: [N; 2],
    stretch: N,
    shift: N,
}

impl Saturation {
    pub(super) fn law<A: Arithmetic>(&self) -> Exponential<A::Number> {
        let [up, down] = self.rate;
        Exponential {
            amplitude: self.amplitude.map(Into::into),
            rate: [up, -down].map(|rate| A::Number::from(rate) * A::LOG_E),
            stretch: self.stretch.into(),
            shift: self.shift.into(),
        }
    }

    /// u₊ and u₋ at w = 0.
    fn both_at_zero(&self) -> [f32; 2] {
        let Self { amplitude, rate, shift, .. } = self;
        [(0, rate[0] * shift), (1, -rate[1] * shift)].map(|(s, x)| (1.0 - amplitude[s] * x.exp()).max(0.0))
    }

    /// AIHWKIT's granularity: the mean down step at w = 0, `dw_min` if that is 0.
    fn down_step_at_zero(&self, device: &Device) -> f32 {
        let scale = device.pulse_step * (1.0 - device.imbalance.max(0.0)).abs();
        let step = scale * self.both_at_zero()[1];
        if step > 0.0 { step } else { device.pulse_step }
    }

    /// A device whose update management uses AIHWKIT's unit: the down step at 0, not the mean of both.
    pub(super) fn counted_as_aihwkit(&self, device: Device) -> Device {
        Device { granularity: Some(self.down_step_at_zero(&device)), ..device }
    }
}

impl<A: Arithmetic> Law<A> for Exponential<A::Number> {
    const INVERSE_RANGE: bool = true;

    #[inline(always)]
    fn step(&self, cell: &Cell<A::Number>, up: bool, w: A::Number) -> (A::Number, A::Number) {
        let (zero, one) = (A::Number::from(0.0), A::Number::from(1.0));
        let twice = A::Number::from(2.0) * self.stretch;
        let z = A::along_range(twice, w, cell) + self.shift;
        let (amplitude, rate) =
            if up { (self.amplitude[0], self.rate[0]) } else { (self.amplitude[1], self.rate[1]) };
        let e = amplitude * A::power_of_base(rate * z);
        let moving = e < one;
        let size = if moving { cell.scale * (one - e) } else { zero };
        let per_weight = A::over_range(twice, cell);
        let slope = if moving { -cell.scale * e * (rate * A::LN_BASE) * per_weight } else { zero };
        (signed(up, size), signed(up, slope))
    }
}

impl Model for Saturation {
    fn validate(&self) -> Result<(), ParameterError> {
        let Self { amplitude, rate, stretch, shift } = self;
        for (name, value) in [
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

    fn at_zero(&self, _: &Device) -> f32 {
        let [up, down] = self.both_at_zero();
        0.5 * (up + down)
    }

    fn counts_from_reference(&self) -> bool {
        true
    }

    fn derive(&self, _: &Device, cells: &mut Cells, _: &Draws<'_>) {
        cells.invert_range();
    }

    fn describe(&self) -> String {
        let ([a, b], [c, d]) = (self.amplitude, self.rate);
        format!("exponential steps 1 − A e^(±γz), A = {a} and {b}, γ = {c} and {d}")
    }

    fn to_aihwkit(&self, device: &Device) -> Result<Class, ConversionError> {
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
        let saturation = Saturation {
            amplitude: [self.A_up, self.A_down],
            rate: [self.gamma_up, self.gamma_down],
            stretch: self.a,
            shift: self.b,
        };
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
