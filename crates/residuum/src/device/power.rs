//! Power steps: a power of the distance from the bound.

use super::aihwkit::{
    Class, ConversionError, Pulsed, convertible, decay_leads_to_reset, expressible, multiplicative,
    only_normal, write_noise,
};
use super::cells::Cells;
use super::draws::Draws;
use super::law::{Arithmetic, Cell, Law, Shape, signed};
use super::{Device, Model, Reference, Spread, StepModel};
use crate::error::{ParameterError, non_negative, positive, require};

/// Exponents of power steps: shape·|g + r + min(imbalance, 0)| up and shape·|g − r − max(imbalance, 0)| down, with g drawn
/// around 1 and r around 0 once for each cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponents {
    /// Mean exponent.
    pub shape: f32,
    /// Spread of g, which both directions share.
    pub spread: Spread,
    /// Lowers the down exponent if positive, the up exponent if negative.
    pub imbalance: f32,
    /// Standard deviation of r, which separates the directions.
    pub imbalance_spread: f32,
}

impl Exponents {
    /// One exponent for all cells.
    pub fn new(shape: f32) -> Self {
        Self { shape, spread: Spread::NONE, imbalance: 0.0, imbalance_spread: 0.0 }
    }

    /// Whether every cell has one exponent for both directions.
    pub(super) fn balanced(&self) -> bool {
        self.imbalance == 0.0 && self.imbalance_spread == 0.0
    }

    /// Exponents of a cell that drew g and r.
    fn of(&self, g: f32, r: f32) -> [f32; 2] {
        [g + r + self.imbalance.min(0.0), g - r - self.imbalance.max(0.0)].map(|part| self.shape * part.abs())
    }
}

/// ±s·((max − w)/(max − min))^shape upwards, with w − min downwards.
#[derive(Clone, Copy)]
pub(super) struct Power<const BALANCED: bool>;

impl<A: Arithmetic, const BALANCED: bool> Law<A> for Power<BALANCED> {
    const SHAPE: Shape = if BALANCED { Shape::Shared } else { Shape::Directed };
    const INVERSE_RANGE: bool = true;
    const VANISHES: bool = true;
    const COSTLY: bool = true;

    #[inline(always)]
    fn step(&self, cell: &Cell<A::Number>, up: bool, w: A::Number) -> (A::Number, A::Number) {
        let zero = A::Number::from(0.0);
        let distance = A::over_range(if up { cell.max - w } else { w - cell.min }, cell);
        let distance = if distance > zero { distance } else { zero };
        let size = cell.scale * A::pow(distance, cell.shape);
        // d(distance)/dw is −1/(max − min) upwards and +1/(max − min) downwards: both slow the step towards its bound.
        (signed(up, size), -A::pow_slope(distance, size, cell))
    }
}

/// Shape 1: u± falls to 0 at its bound in a straight line, and no power need be taken.
#[derive(Clone, Copy)]
pub(super) struct Ramp;

impl<A: Arithmetic> Law<A> for Ramp {
    const INVERSE_RANGE: bool = true;
    const VANISHES: bool = true;
    const AFFINE: bool = true;

    #[inline(always)]
    fn step(&self, cell: &Cell<A::Number>, up: bool, w: A::Number) -> (A::Number, A::Number) {
        let zero = A::Number::from(0.0);
        let steepness = cell.scale * cell.inverse_range;
        let way = if up { cell.max } else { cell.min } - w;
        (if up == (way > zero) { steepness * way } else { zero }, -steepness)
    }
}

impl Model for Exponents {
    fn validate(&self) -> Result<(), ParameterError> {
        positive("shape", f64::from(self.shape))?;
        non_negative("shape spread", f64::from(self.spread.deviation))?;
        non_negative("shape_imbalance_spread", f64::from(self.imbalance_spread))?;
        let imbalance = f64::from(self.imbalance);
        require(imbalance.abs() < 1.0, "shape_imbalance", "between -1 and 1", imbalance)
    }

    fn at_zero(&self, _: &Device) -> f32 {
        2f32.powf(-self.shape)
    }

    fn derive(&self, _: &Device, cells: &mut Cells, draws: &Draws<'_>) {
        let [up, down] = &mut cells.shape;
        draws.factors("shape", self.spread, up);
        draws.deviations("shape imbalance", self.imbalance_spread, down);
        for (up, down) in up.iter_mut().zip(down) {
            [*up, *down] = self.of(*up, *down);
        }
        cells.invert_range();
    }

    fn mean_shape(&self, _: &Device, side: usize) -> f64 {
        f64::from(self.of(1.0, 0.0)[side])
    }

    /// Below shape 1 it is larger near the bound alone.
    fn slope(&self, device: &Device) -> Option<f32> {
        Some(self.shape.max(1.0) / (device.max - device.min))
    }

    fn vanishes_at_bounds(&self) -> bool {
        true
    }

    fn has_symmetric_point(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        format!("steps as a power {} of the distance to the bound", self.shape)
    }

    fn to_aihwkit(&self, device: &Device) -> Result<Class, ConversionError> {
        only_normal("spread of exponents", [self.spread; 2])?;
        let power = |device: &Device| {
            multiplicative(device)?;
            Ok::<_, ConversionError>(PowStep {
                pulsed: Pulsed::of(device),
                pow_gamma: self.shape,
                pow_gamma_dtod: self.spread.deviation,
                pow_up_down: self.imbalance,
                pow_up_down_dtod: self.imbalance_spread,
                write_noise_std: device.write_noise_in_pulse_steps(),
                ..PowStep::default()
            })
        };
        let Some(reference) = device.reference else { return Ok(Class::PowStep(power(device)?)) };
        let noise = device.write_noise;
        expressible("write_noise", "0 for power steps under a reference", noise == 0.0, noise)?;
        let PowStep { pulsed, pow_gamma, pow_gamma_dtod, pow_up_down, pow_up_down_dtod, .. } = power(device)?;
        let found = !reference.at_symmetric_point || pulsed.search_arrives();
        expressible("pulse_step", SEARCH, found, device.pulse_step)?;
        Ok(Class::PowStepReference(PowStepReference {
            pulsed,
            pow_gamma,
            pow_gamma_dtod,
            pow_up_down,
            pow_up_down_dtod,
            reference_mean: reference.mean,
            reference_std: reference.deviation,
            subtract_symmetry_point: reference.at_symmetric_point,
            ..PowStepReference::default()
        }))
    }
}

impl Device {
    /// The paper's power response q± = (1 ∓ w/radius)^shape with steps of `pulse_step` at w = 0, which is also the unit of write noise
    /// and additive cycle noise. The step model's own normalisation has u = 1 at the far bound, hence the factor 2^shape.
    pub fn paper_power(shape: f32, radius: f32, pulse_step: f32) -> Self {
        Self {
            noise_step: Some(pulse_step),
            ..Self::ideal(StepModel::power(shape), pulse_step * 2f32.powf(shape), -radius, radius)
        }
    }
}

class! {
    /// Steps that are a power of the distance from the bound.
    #[derive(Clone, Copy, Debug, PartialEq)]
    PowStep {
        /// Parameters all classes share.
        pulsed: Pulsed = Pulsed::default(),
        /// Mean exponent.
        pow_gamma: f32 = 1.0,
        /// Spread of the exponent between cells.
        pow_gamma_dtod: f32 = 0.1,
        /// Imbalance of the exponents.
        pow_up_down: f32 = 0.0,
        /// Spread of that imbalance.
        pow_up_down_dtod: f32 = 0.0,
        /// Deviation of a read from the state, in steps.
        write_noise_std: f32 = 0.0,
        /// Whether setting weights draws write noise.
        apply_write_noise_on_set: bool = true,
    }
}

class! {
    /// Power steps of a cell read against a reference.
    #[derive(Clone, Copy, Debug, PartialEq)]
    PowStepReference {
        /// Parameters all classes share.
        pulsed: Pulsed = Pulsed::default(),
        /// Mean exponent.
        pow_gamma: f32 = 1.0,
        /// Spread of the exponent between cells.
        pow_gamma_dtod: f32 = 0.1,
        /// Imbalance of the exponents.
        pow_up_down: f32 = 0.0,
        /// Spread of that imbalance.
        pow_up_down_dtod: f32 = 0.0,
        /// Mean of the reference that a read subtracts.
        reference_mean: f32 = 0.0,
        /// Its spread between cells.
        reference_std: f32 = 0.0,
        /// Whether the cell's symmetric point is also subtracted.
        subtract_symmetry_point: bool = false,
        /// Pulses that search for it; −1 for as many as it takes, up to 10 000.
        n_estimation_steps: i32 = -1,
    }
}

impl PowStep {
    pub(super) fn device(&self) -> Result<Device, ConversionError> {
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
    pub(super) fn device(&self) -> Result<Device, ConversionError> {
        let Self { pulsed, pow_gamma, pow_gamma_dtod, pow_up_down, pow_up_down_dtod, .. } = *self;
        let power =
            PowStep { pulsed, pow_gamma, pow_gamma_dtod, pow_up_down, pow_up_down_dtod, ..PowStep::default() };
        if self.subtract_symmetry_point {
            let steps = self.n_estimation_steps;
            convertible("n_estimation_steps", "-1, the point itself", steps <= 0, steps)?;
            convertible("dw_min", SEARCH, pulsed.search_arrives(), pulsed.dw_min)?;
        }
        decay_leads_to_reset(&pulsed, self.subtract_symmetry_point)?;
        let reference = Reference {
            mean: self.reference_mean,
            deviation: self.reference_std,
            at_symmetric_point: self.subtract_symmetry_point,
        };
        Ok(Device { reference: Some(reference), ..power.device()? })
    }
}

/// What [`Pulsed::search_arrives`] asks for.
const SEARCH: &str = "at least (w_max - w_min)/2000 to find the symmetric point of power steps";

impl Pulsed {
    /// Whether AIHWKIT's search for the symmetric point of power steps converges: a pair of pulses leaves 1 − 2Δw_min/(w_max − w_min)
    /// of the distance for shapes from 1 to 2, and it gives up after 10 000, with e⁻¹⁰ left at this limit.
    fn search_arrives(&self) -> bool {
        self.dw_min * 2000.0 >= self.w_max - self.w_min
    }
}
