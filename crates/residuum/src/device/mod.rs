//! Device models of tile cells: one file per step model, and what they share.
//!
//! A step model is a [`StepModel`] variant. Its file holds its parameters and their validation, its law (one formula for vector
//! code, single pulses and the theory), what it draws for each cell, and its AIHWKIT classes. To add one: write that file,
//! register it in the four tables below ([`StepModel`], `model`, `laws!`, and [`Class`] if AIHWKIT has it), and declare it in the
//! spec.

/// A class of AIHWKIT: each parameter with its default.
macro_rules! class {
    ($(#[$about:meta])* $name:ident { $($(#[$meaning:meta])* $field:ident: $type:ty = $default:expr,)* }) => {
        $(#[$about])*
        pub struct $name {
            $($(#[$meaning])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::device::aihwkit::Assign for $name {
            fn assign(&mut self, _: &str, name: &str, value: &$crate::device::aihwkit::Value) -> Option<bool> {
                None $(.or_else(|| self.$field.assign(stringify!($field), name, value)))*
            }
        }
    };
}

pub mod aihwkit;
mod cells;
mod constant;
mod draws;
mod exponential;
mod kept;
mod law;
mod linear;
mod piecewise;
mod power;
pub mod presets;
mod response;

pub use exponential::Saturation;
pub use linear::{SlopeBounds, Slopes};
pub use piecewise::Nodes;
pub use power::Exponents;
pub use response::DeviceResponse;

pub(crate) use cells::{Cells, side, value};
pub(crate) use kept::{KeptCells, Span};
pub(crate) use law::{Law, Padding, Parameters, Vector, WithLaw, pick};

use crate::error::{ParameterError, non_negative, positive, require};
use crate::simd;
use crate::tile::Retention;
use aihwkit::{
    ConversionError, ExpStep, LinearStep, PiecewiseStep, PowStep, PowStepReference, Pulsed, SoftBounds,
    SoftBoundsPmax, SoftBoundsReference,
};
use constant::Constant;
use draws::Draws;
use law::{Arithmetic, Bound};
use linear::Line;
use power::{Power, Ramp};

/// u±(w): how a step depends on the state.
#[derive(Clone, Debug, PartialEq)]
pub enum StepModel {
    /// u = 1 between hard bounds.
    Constant,
    /// Straight lines; soft bounds are the ones that vanish at the cell's own bounds.
    Linear(Slopes),
    /// u₊ = ((max − w)/(max − min))^shape_up, u₋ = ((w − min)/(max − min))^shape_down.
    Power(Exponents),
    /// u± = max(0, level − amplitude·e^{±rate·z}), z = 2·stretch·w/(max − min) + shift.
    Exponential(Saturation),
    /// Linear interpolation of values at equally spaced nodes from the lower to the upper bound.
    Piecewise(Nodes),
}

/// Runs code with the law of a step model, for the given arithmetic.
macro_rules! laws {
    ($step:expr, $arithmetic:ty, $law:ident => $work:expr) => {
        match $step {
            StepModel::Constant => {
                let $law = Constant;
                $work
            }
            StepModel::Linear(_) => {
                let $law = Line;
                $work
            }
            StepModel::Power(exponents) if <$arithmetic>::TRAINS && *exponents == Exponents::new(1.0) => {
                let $law = Ramp;
                $work
            }
            StepModel::Power(exponents) if exponents.balanced() => {
                let $law = Power::<true>;
                $work
            }
            StepModel::Power(_) => {
                let $law = Power::<false>;
                $work
            }
            StepModel::Exponential(saturation) => {
                let $law = saturation.law::<$arithmetic>();
                $work
            }
            StepModel::Piecewise(nodes) => {
                let $law = nodes.law();
                $work
            }
        }
    };
}

impl StepModel {
    fn model(&self) -> &dyn Model {
        match self {
            Self::Constant => &Constant,
            Self::Linear(slopes) => slopes,
            Self::Power(exponents) => exponents,
            Self::Exponential(saturation) => saturation,
            Self::Piecewise(nodes) => nodes,
        }
    }

    /// Passes the law to `work`.
    #[inline(always)]
    pub(crate) fn with_law<A: Arithmetic, W: WithLaw<A>>(&self, work: W) -> W::Output {
        laws!(self, A, law => work.run(law))
    }

    /// Passes the law to `work`, both compiled for the widest vectors of this machine.
    pub(crate) fn with_vector_law<W: WithLaw<Vector>>(&self, work: W) -> W::Output {
        laws!(self, Vector, law => simd::dispatch(Bound { work, law }))
    }

    /// Linear steps with these slopes at the mean bounds.
    pub fn linear(slope_up: f32, slope_down: f32) -> Self {
        Self::Linear(Slopes::new(slope_up, slope_down))
    }

    /// Linear steps that vanish at the cell's own bounds.
    pub fn soft_bounds() -> Self {
        Self::Linear(Slopes::soft_bounds())
    }

    /// Power steps with one exponent for all cells.
    pub fn power(shape: f32) -> Self {
        Self::Power(Exponents::new(shape))
    }
}

/// One of AIHWKIT's pulsed devices.
#[derive(Clone, Debug, PartialEq)]
pub enum Class {
    /// `ConstantStepDevice`.
    ConstantStep(Pulsed),
    /// `LinearStepDevice`.
    LinearStep(LinearStep),
    /// `SoftBoundsDevice`.
    SoftBounds(SoftBounds),
    /// `SoftBoundsPmaxDevice`.
    SoftBoundsPmax(SoftBoundsPmax),
    /// `SoftBoundsReferenceDevice`.
    SoftBoundsReference(SoftBoundsReference),
    /// `ExpStepDevice`.
    ExpStep(ExpStep),
    /// `PowStepDevice`.
    PowStep(PowStep),
    /// `PowStepReferenceDevice`.
    PowStepReference(PowStepReference),
    /// `PiecewiseStepDevice`.
    PiecewiseStep(PiecewiseStep),
}

impl Class {
    /// The class of this name in AIHWKIT with its default parameters.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ConstantStepDevice" => Self::ConstantStep(Pulsed::default()),
            "LinearStepDevice" => Self::LinearStep(LinearStep::default()),
            "SoftBoundsDevice" => Self::SoftBounds(SoftBounds::default()),
            "SoftBoundsPmaxDevice" => Self::SoftBoundsPmax(SoftBoundsPmax::default()),
            "SoftBoundsReferenceDevice" => Self::SoftBoundsReference(SoftBoundsReference::default()),
            "ExpStepDevice" => Self::ExpStep(ExpStep::default()),
            "PowStepDevice" => Self::PowStep(PowStep::default()),
            "PowStepReferenceDevice" => Self::PowStepReference(PowStepReference::default()),
            "PiecewiseStepDevice" => Self::PiecewiseStep(PiecewiseStep::default()),
            _ => return None,
        })
    }

    fn parameters(&mut self) -> &mut dyn aihwkit::Assign {
        match self {
            Self::ConstantStep(class) => class,
            Self::LinearStep(class) => class,
            Self::SoftBounds(class) => class,
            Self::SoftBoundsPmax(class) => class,
            Self::SoftBoundsReference(class) => class,
            Self::ExpStep(class) => class,
            Self::PowStep(class) => class,
            Self::PowStepReference(class) => class,
            Self::PiecewiseStep(class) => class,
        }
    }

    fn device(&self) -> Result<Device, ConversionError> {
        match self {
            Self::ConstantStep(pulsed) => pulsed.constant_device(),
            Self::LinearStep(class) => class.device(),
            Self::SoftBounds(class) => class.device(),
            Self::SoftBoundsPmax(class) => class.device(),
            Self::SoftBoundsReference(class) => class.device(),
            Self::ExpStep(class) => class.device(),
            Self::PowStep(class) => class.device(),
            Self::PowStepReference(class) => class.device(),
            Self::PiecewiseStep(class) => class.device(),
        }
    }
}

/// What a step model defines in addition to its law.
trait Model {
    /// Checks the parameters.
    fn validate(&self) -> Result<(), ParameterError> {
        Ok(())
    }

    /// Mean of u₊ and u₋ at w = 0.
    fn at_zero(&self, device: &Device) -> f32;

    /// Works out the parameters of its own, once scales and bounds are known. What it draws it asks for by name, however many
    /// cells there are.
    fn derive(&self, _device: &Device, _cells: &mut Cells, _draws: &Draws<'_>) {}

    /// [`law::Cell::shape`] of the mean cell, per unit of its scale; side 0 is up.
    fn mean_shape(&self, _device: &Device, _side: usize) -> f64 {
        0.0
    }

    /// Magnitude of the slope of the mean cell's steps, per unit of its scale, where it is nowhere much larger; `None` if that is not known.
    fn slope(&self, _device: &Device) -> Option<f32> {
        None
    }

    /// Whether steps vanish at the bounds of every cell, so that pulses do not run into them.
    fn vanishes_at_bounds(&self) -> bool {
        false
    }

    /// Whether steps are affine in the state, with the step at w = 0 for a scale: a reference then changes the scale.
    fn affine(&self) -> bool {
        false
    }

    /// Whether the law measures the state from the reference, so that it does not move with it.
    fn counts_from_reference(&self) -> bool {
        false
    }

    /// Whether a reference may be put at the symmetric point of each cell.
    fn has_symmetric_point(&self) -> bool {
        false
    }

    /// The symmetric point of cell i where a formula gives it; 0 if up and down steps never meet.
    fn symmetric_point(&self, _cells: &Cells, _i: usize) -> Option<f32> {
        None
    }

    /// Points at which up and down steps must be compared so that no crossing is missed.
    fn samples(&self) -> usize {
        0
    }

    /// The law in words, with its means.
    fn describe(&self) -> String;

    /// AIHWKIT's class of a device with these steps.
    fn to_aihwkit(&self, device: &Device) -> Result<Class, ConversionError>;
}

/// Device-to-device spread of a parameter around its mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// Standard deviation relative to the mean (of the logarithm, if log-normal).
    pub deviation: f32,
    /// Whether the logarithm is normal, so that the sign never changes.
    pub log_normal: bool,
}

impl Spread {
    /// No spread.
    pub const NONE: Self = Self { deviation: 0.0, log_normal: false };

    /// The factor on the mean for a cell whose standard normal draw, times the deviation, is d.
    pub(crate) fn factor(self, d: f32) -> f32 {
        if self.log_normal { d.exp() } else { 1.0 + d }
    }

    /// Normal spread.
    pub fn normal(deviation: f32) -> Self {
        Self { deviation, log_normal: false }
    }

    /// Log-normal spread.
    pub fn log_normal(deviation: f32) -> Self {
        Self { deviation, log_normal: true }
    }
}

/// Noise of one pulse, redrawn at every pulse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CycleNoise {
    /// step·(1 + σξ).
    Multiplicative(f32),
    /// step + s·σξ: the same at every state; see [`Device::noise_step`].
    Additive(f32),
    /// step + σ(|step| + offset + slope·|w|)ξ, as phase-change cells behave.
    Complex {
        /// σ.
        deviation: f32,
        /// Part that does not depend on the state, in weight units.
        offset: f32,
        /// Part that grows with the state.
        slope: f32,
    },
}

impl Default for CycleNoise {
    fn default() -> Self {
        Self::Multiplicative(0.0)
    }
}

impl CycleNoise {
    /// σ.
    pub fn deviation(self) -> f32 {
        match self {
            Self::Multiplicative(s) | Self::Additive(s) | Self::Complex { deviation: s, .. } => s,
        }
    }
}

/// A reference that reads subtract from a cell: weights are the difference.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reference {
    /// Mean over the cells.
    pub mean: f32,
    /// Standard deviation over the cells.
    pub deviation: f32,
    /// Whether the cell's own symmetric point is also subtracted (linear and power steps only), which moves it to 0.
    pub at_symmetric_point: bool,
}

/// Cells that do not move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stuck {
    /// Probability that a cell is stuck.
    pub probability: f32,
    /// Stuck values lie within the cell's bounds and ± this.
    pub range: f32,
}

/// One kind of cell, ideal unless an imperfection is set. Steps and bounds are in weight units.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// How a step depends on the state.
    pub step: StepModel,
    /// Mean size of a step where u = 1 (Δw_min).
    pub pulse_step: f32,
    /// Spread of the step between cells.
    pub step_spread: Spread,
    /// Mean imbalance of up and down steps: a positive one shortens the down step, a negative one the up step.
    pub imbalance: f32,
    /// Spread of the imbalance between cells.
    pub imbalance_spread: f32,
    /// Mean upper bound.
    pub max: f32,
    /// Mean lower bound.
    pub min: f32,
    /// Spread of the upper bound between cells.
    pub max_spread: Spread,
    /// Spread of the lower bound between cells.
    pub min_spread: Spread,
    /// Noise from pulse to pulse.
    pub cycle_noise: CycleNoise,
    /// A reference cell that every read subtracts.
    pub reference: Option<Reference>,
    /// Cells that do not move.
    pub stuck: Option<Stuck>,
    /// Deviation between what a read sees and what pulses act on, in steps; redrawn when the cell is pulsed.
    pub write_noise: f32,
    /// The unit of write noise and additive cycle noise, if not `pulse_step`. The paper's power response
    /// uses its step at w = 0; AIHWKIT uses `dw_min`, which is `pulse_step`.
    pub noise_step: Option<f32>,
    /// Leak, random walk, drift and reset.
    pub retention: Retention,
    /// The unit of update management, if not the mean step at w = 0; see [`Device::granularity`].
    pub granularity: Option<f32>,
    /// How tiles keep the parameters of their cells.
    pub cell_parameters: CellParameters,
}

/// How a tile keeps the parameters of its cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CellParameters {
    /// As they are used, four bytes each.
    #[default]
    F32,
    /// As the normal numbers that a cell drew, two bytes each, and only those of a spread that is set. A number is rounded to a multiple
    /// of 2⁻¹² and so moved by at most 2⁻¹³ of its standard deviation; the parameters of a row are worked out anew whenever it is
    /// written.
    I16,
}

impl Device {
    /// An ideal device: this step model, no variation, no noise.
    pub fn ideal(step: StepModel, pulse_step: f32, min: f32, max: f32) -> Self {
        Self {
            step,
            pulse_step,
            step_spread: Spread::default(),
            imbalance: 0.0,
            imbalance_spread: 0.0,
            max,
            min,
            max_spread: Spread::NONE,
            min_spread: Spread::NONE,
            cycle_noise: CycleNoise::default(),
            reference: None,
            stuck: None,
            write_noise: 0.0,
            noise_step: None,
            retention: Retention::default(),
            granularity: None,
            cell_parameters: CellParameters::F32,
        }
    }

    /// Soft bounds given by the number of pulses `p_max` and the rate `alpha` of the approach: AIHWKIT's conversion, which
    /// under its one-sided imbalance overshoots `range_max` (see `docs/aihwkit.md`).
    pub fn soft_bounds_p_max(p_max: f32, alpha: f32, range_min: f32, range_max: f32) -> Self {
        let span = (range_max - range_min) / -(-p_max * alpha).exp_m1();
        Self {
            imbalance: 1.0 + 2.0 * range_min / span,
            ..Self::ideal(StepModel::soft_bounds(), span * alpha, range_min, range_min + span)
        }
    }

    /// Whether pulses are noisy.
    pub(crate) fn noisy(&self) -> bool {
        self.cycle_noise.deviation() > 0.0
    }

    /// The unit of update management, and the step that the expected update takes as a response of 1: the field if set,
    /// otherwise the mean step at w = 0 of a symmetric cell.
    pub fn granularity(&self) -> f32 {
        self.granularity.unwrap_or_else(|| {
            let at_zero = self.step.model().at_zero(self);
            // A device that does not move at 0 has no better unit than its pulse step.
            self.pulse_step * if at_zero > 0.0 { at_zero } else { 1.0 }
        })
    }

    /// Standard deviation of what a read sees, in weight units.
    pub(crate) fn write_deviation(&self) -> f32 {
        self.write_noise * self.noise_step.unwrap_or(self.pulse_step)
    }

    /// `write_noise` in units of `pulse_step`.
    fn write_noise_in_pulse_steps(&self) -> f32 {
        self.write_noise * self.noise_scale()
    }

    /// The cycle noise, with additive noise in units of s±.
    pub(crate) fn cycle_noise_in_pulse_steps(&self) -> CycleNoise {
        match self.cycle_noise {
            CycleNoise::Additive(deviation) => CycleNoise::Additive(deviation * self.noise_scale()),
            noise => noise,
        }
    }

    fn noise_scale(&self) -> f32 {
        self.noise_step.map_or(1.0, |step| step / self.pulse_step)
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// If a bound is not finite or min ≥ max, a step is not positive, a spread or noise is negative, or a shape is invalid.
    pub fn validate(&self) -> Result<(), ParameterError> {
        positive("pulse_step", f64::from(self.pulse_step))?;
        let (min, max) = (f64::from(self.min), f64::from(self.max));
        require(min.is_finite() && max.is_finite() && min < max, "min", "finite and below max", min)?;
        let spreads = [
            ("step_spread", self.step_spread.deviation),
            ("imbalance_spread", self.imbalance_spread),
            ("max_spread", self.max_spread.deviation),
            ("min_spread", self.min_spread.deviation),
            ("cycle_noise", self.cycle_noise.deviation()),
            ("write_noise", self.write_noise),
        ];
        for (name, value) in spreads {
            non_negative(name, f64::from(value))?;
        }
        if let Some(granularity) = self.granularity {
            positive("granularity", f64::from(granularity))?;
        }
        if let Some(step) = self.noise_step {
            positive("noise_step", f64::from(step))?;
        }
        if let Some(reference) = self.reference {
            crate::error::finite("reference mean", f64::from(reference.mean))?;
            non_negative("reference deviation", f64::from(reference.deviation))?;
            require(
                self.step.model().has_symmetric_point() || !reference.at_symmetric_point,
                "at_symmetric_point",
                "false (0) unless steps are linear or power",
                1.0,
            )?;
            // A search for it whenever a row is written would take too long.
            let searched = reference.at_symmetric_point && !self.step.model().affine();
            if searched && self.cell_parameters == CellParameters::I16 {
                let message = "cell_parameters must be f32 where a reference is at the symmetric point of power steps, got i16";
                return Err(ParameterError::Other { message: message.into() });
            }
        }
        if let Some(stuck) = self.stuck {
            let probability = f64::from(stuck.probability);
            require((0.0..=1.0).contains(&probability), "stuck probability", "between 0 and 1", probability)?;
            non_negative("stuck range", f64::from(stuck.range))?;
        }
        self.retention.validate()?;
        self.step.model().validate()
    }
}
