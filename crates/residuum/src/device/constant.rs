//! Constant steps between hard bounds: u = 1.

use super::aihwkit::{Class, ConversionError, LinearStep, Pulsed};
use super::law::{Arithmetic, Cell, Law, signed};
use super::{CycleNoise, Device, Model, StepModel};

/// Constant steps have no parameters.
#[derive(Clone, Copy)]
pub(crate) struct Constant;

impl<A: Arithmetic> Law<A> for Constant {
    const FLAT: bool = true;
    const AFFINE: bool = true;

    #[inline(always)]
    fn step(&self, cell: &Cell<A::Number>, up: bool, _: A::Number) -> (A::Number, A::Number) {
        (signed(up, cell.scale), 0.0.into())
    }
}

impl Model for Constant {
    fn at_zero(&self, _: &Device) -> f32 {
        1.0
    }

    /// A constant step with additive or write noise is a linear one without slope.
    fn describe(&self) -> String {
        "constant steps".into()
    }

    fn to_aihwkit(&self, device: &Device) -> Result<Class, ConversionError> {
        let pulsed = Pulsed::of(device);
        Ok(match device.cycle_noise {
            CycleNoise::Multiplicative(_) if device.write_noise == 0.0 => Class::ConstantStep(pulsed),
            noise => Class::LinearStep(LinearStep {
                pulsed,
                gamma_up_dtod: 0.0,
                gamma_down_dtod: 0.0,
                mult_noise: !matches!(noise, CycleNoise::Additive(_)),
                write_noise_std: device.write_noise_in_pulse_steps(),
                ..LinearStep::default()
            }),
        })
    }
}

impl Pulsed {
    pub(super) fn constant_device(&self) -> Result<Device, ConversionError> {
        self.device(StepModel::Constant, true)
    }
}
