//! What can be imperfect about a read. Everything is off unless named.

use crate::ParameterError;
use crate::error::{finite, non_negative, positive, require};

/// One bank of converters, on the inputs (digital to analog) or on the outputs (analog to digital).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Converter {
    /// Largest magnitude that passes; larger ones are clipped to it.
    pub bound: Option<f64>,
    /// Number of equal steps between −bound and bound. Needs a bound.
    pub steps: Option<u32>,
    /// Rounds up or down at random so that the mean is kept, instead of to the nearest step.
    pub stochastic: bool,
    /// Standard deviation of the noise on every line: after an input converter, before an output converter.
    pub noise: f64,
    /// Fraction of every negative value that is lost on the analog side.
    pub negative_loss: f64,
}

impl Converter {
    /// AIHWKIT's convention: `bound` and a resolution relative to the range 2·bound, so that `resolution = 1/126`
    /// means 126 steps, as does 126 itself.
    pub fn from_aihwkit(bound: f64, resolution: f64) -> Result<Self, ParameterError> {
        let must = "the inverse of a whole number of steps, or that number";
        let given = positive("resolution", resolution)?;
        let steps = if given > 1.0 { given } else { 1.0 / given };
        let whole = steps.round();
        let close = (steps - whole).abs() < 1e-6 * whole && whole <= f64::from(u32::MAX);
        require(close, "resolution", must, resolution)?;
        Ok(Self { bound: Some(bound), steps: Some(whole as u32), ..Self::default() })
    }

    fn validate(&self, names: [&'static str; 4]) -> Result<(), ParameterError> {
        let [bound, steps, noise, negative_loss] = names;
        if let Some(value) = self.bound {
            positive(bound, value)?;
        }
        if let Some(value) = self.steps {
            require(value > 0, steps, "at least 1", f64::from(value))?;
            require(self.bound.is_some(), steps, "without value unless the bound has one", f64::from(value))?;
        }
        require(!self.stochastic || self.steps.is_some(), steps, "given when rounding is stochastic", 0.0)?;
        non_negative(noise, self.noise)?;
        let lost = finite(negative_loss, self.negative_loss)?;
        require((0.0..1.0).contains(&lost), negative_loss, "in [0, 1)", lost)
    }
}

/// How a sample is scaled into the range of the input converters. The result is scaled back digitally.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum NoiseManagement {
    /// Not at all.
    #[default]
    None,
    /// By its largest magnitude, or by `ceiling` if that is smaller.
    AbsMax {
        /// Largest scale allowed.
        ceiling: Option<f64>,
    },
    /// By its largest entry, or by `ceiling` if that is smaller. A sample without a positive entry reads as zero.
    Max {
        /// Largest scale allowed.
        ceiling: Option<f64>,
    },
    /// By a constant.
    Constant {
        /// The scale.
        scale: f64,
    },
    /// By its largest magnitude, or by more if weights of magnitude `assumed_weight` could drive an output past its
    /// bound: `max(Σ x⁺, Σ x⁻)·assumed_weight/bound`, at most `max_factor` times the largest magnitude. Without an
    /// output bound the bound counts as 1.
    AbsMaxSum {
        /// The weight assumed on every line.
        assumed_weight: f64,
        /// Largest increase over the largest magnitude.
        max_factor: f64,
    },
}

/// What happens to a sample that drives an output past its bound.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum BoundManagement {
    /// It is clipped.
    #[default]
    None,
    /// It is read again with half the input, and again, until nothing clips or the reduction is `max_factor`.
    Iterative {
        /// Largest reduction allowed.
        max_factor: u32,
    },
    /// It is read again with the scale of [`NoiseManagement::AbsMaxSum`]; if that clips too, it is halved as in
    /// `Iterative`.
    IterativeWorstCase {
        /// Largest reduction allowed, both of the worst-case scale and of the halving after it.
        max_factor: u32,
        /// The weight assumed on every line.
        assumed_weight: f64,
    },
}

/// Voltage drop along the output lines in the steady state, to third order in the line's load:
/// `y_i −= strength·c(a_i)·Σ_j w_ij x_j (1 − (1 − j/n)²)`, `c(a) = a/2 − a²/5 + a³/20`,
/// `a_i = n·Σ_j |w_ij x_j|/conductance_ratio` for n inputs, as AIHWKIT has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IrDrop {
    /// 1 is the physical size of the effect.
    pub strength: f64,
    /// Wire conductance between neighbouring cells over the largest cell conductance.
    pub conductance_ratio: f64,
}

/// Everything that can be imperfect about a read. The default is ideal: the exact product.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// Converters that drive the array.
    pub input: Converter,
    /// Converters that read it.
    pub output: Converter,
    /// Standard deviation of the noise of every weight, fresh for every sample. It is drawn at the outputs, where it
    /// is normal with deviation `weight_noise·‖x‖` of the converted input: equal in law.
    pub weight_noise: f64,
    /// Scaling of a sample before it is converted.
    pub noise_management: NoiseManagement,
    /// Answer to clipped outputs.
    pub bound_management: BoundManagement,
    /// Voltage drop along the output lines.
    pub ir_drop: Option<IrDrop>,
}

impl Settings {
    /// The defaults of AIHWKIT's `IOParameters`: 126 input steps in ±1, 510 output steps in ±12, output noise 0.06,
    /// abs-max noise management, iterative bound management up to the reduction 16 that its `max_bm_res = 0.25`
    /// allows. Its backward pass has no bound management: set that to `None` for a readout of `Wᵀ δ`.
    pub fn aihwkit() -> Self {
        Self {
            input: Converter { bound: Some(1.0), steps: Some(126), ..Converter::default() },
            output: Converter { bound: Some(12.0), steps: Some(510), noise: 0.06, ..Converter::default() },
            noise_management: NoiseManagement::AbsMax { ceiling: None },
            bound_management: BoundManagement::Iterative { max_factor: 16 },
            ..Self::default()
        }
    }

    pub(super) fn validate(&self) -> Result<(), ParameterError> {
        self.input.validate(["input.bound", "input.steps", "input.noise", "input.negative_loss"])?;
        self.output.validate(["output.bound", "output.steps", "output.noise", "output.negative_loss"])?;
        non_negative("weight_noise", self.weight_noise)?;
        match self.noise_management {
            NoiseManagement::None => {}
            NoiseManagement::AbsMax { ceiling } | NoiseManagement::Max { ceiling } => {
                ceiling.map_or(Ok(0.0), |c| positive("noise_management.ceiling", c))?;
            }
            NoiseManagement::Constant { scale } => {
                positive("noise_management.scale", scale)?;
            }
            NoiseManagement::AbsMaxSum { assumed_weight, max_factor } => {
                positive("noise_management.assumed_weight", assumed_weight)?;
                let factor = finite("noise_management.max_factor", max_factor)?;
                require(factor >= 1.0, "noise_management.max_factor", "at least 1", factor)?;
            }
        }
        match self.bound_management {
            BoundManagement::None => {}
            BoundManagement::Iterative { max_factor } => self.validate_reduction(max_factor)?,
            BoundManagement::IterativeWorstCase { max_factor, assumed_weight } => {
                self.validate_reduction(max_factor)?;
                positive("bound_management.assumed_weight", assumed_weight)?;
            }
        }
        if let Some(drop) = self.ir_drop {
            non_negative("ir_drop.strength", drop.strength)?;
            positive("ir_drop.conductance_ratio", drop.conductance_ratio)?;
        }
        Ok(())
    }

    fn validate_reduction(&self, max_factor: u32) -> Result<(), ParameterError> {
        let given = f64::from(max_factor);
        require(max_factor > 0, "bound_management.max_factor", "at least 1", given)?;
        // Without a bound nothing ever clips, and the wish to manage it is a mistake.
        require(self.output.bound.is_some(), "bound_management", "None unless output.bound has a value", given)
    }
}
