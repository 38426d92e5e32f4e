//! Imperfections of a read. Everything is off by default.

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
            require(self.bound.is_some(), steps, "unset unless the bound is set", f64::from(value))?;
        }
        require(!self.stochastic || self.steps.is_some(), steps, "set when rounding is stochastic", 0.0)?;
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
    /// By a running average of the largest magnitudes: `m ← (1 − decay)·m + decay·max|x|` at every sample, before it
    /// is read, with `m = max|x|` at the first. The average lives in the [`Scratch`](super::Scratch); AIHWKIT keeps
    /// one for both directions of an array.
    AverageAbsMax {
        /// Weight of the newest sample, in (0, 1]; AIHWKIT's is 0.001.
        decay: f64,
    },
}

/// How to treat a sample that drives an output past its bound.
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
/// `a_i = n·Σ_j |w_ij x_j|/conductance_ratio` for n inputs, as in AIHWKIT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IrDrop {
    /// 1 is the physical size of the effect.
    pub strength: f64,
    /// Wire conductance between neighbouring cells over the largest cell conductance.
    pub conductance_ratio: f64,
}

/// How the noise of a weight depends on the weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WeightNoise {
    /// Not at all: its deviation is `weight_noise`, that of an output `weight_noise·‖x‖`.
    #[default]
    Constant,
    /// As the read noise of phase-change cells: its deviation is `weight_noise·√|w|`, that of an output
    /// `weight_noise·√(Σ_j |w_ij| x_j²)`. Costs a second product.
    PhaseChange,
}

/// How often the array is driven for one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Passes {
    /// Once, with both signs.
    #[default]
    One,
    /// Once with the negative inputs and once with the others; the sums are added before the output converters.
    SignsAnalog,
    /// As `SignsAnalog`, but both sums are digitized and the numbers added.
    SignsDigital,
}

/// Voltage offset `v_i` and series resistance `r` of the output lines, read against a reference line of equal weights:
/// with `y₀ = reference_weight·Σ_j x_j`,
/// `y_i ← (1 − v_i)·(y_i + y₀)/(1 + r|y_i + y₀|) − (1 + v_i)·y₀/(1 + r|y₀|)`, as in AIHWKIT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutputLine {
    /// Half of the lines, chosen at random, have no offset; this is the standard deviation of the offsets of the
    /// others, relative to the read voltage. This is what AIHWKIT's tiles do, though its source intends another law.
    pub offset_spread: f64,
    /// Weight of every cell of the reference line, AIHWKIT's `−v_offset_w_min`; 0 is no reference.
    pub reference_weight: f64,
    /// Relative to the resistance of a line with the total current 1.
    pub series_resistance: f64,
}

/// S-shaped characteristic of the output lines: `y_i ← y_i/(1 + n_i|y_i|)`, `n_i = |1 + spread·ξ_i|·strength/bound`.
/// Without an output bound the bound counts as 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nonlinearity {
    /// 1 halves the output at the bound.
    pub strength: f64,
    /// Deviation of the strength between lines, relative to it.
    pub spread: f64,
}

/// All imperfections of a read. The default is ideal: the exact product.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// Input converters.
    pub input: Converter,
    /// Output converters.
    pub output: Converter,
    /// Scale of the noise of every weight, fresh for every sample. It is drawn at the outputs, where it is normal
    /// with the deviation that [`weight_noise_kind`](Self::weight_noise_kind) gives: equal in law.
    pub weight_noise: f64,
    /// How that noise depends on the weight.
    pub weight_noise_kind: WeightNoise,
    /// Scaling of a sample before it is converted.
    pub noise_management: NoiseManagement,
    /// Treatment of clipped outputs.
    pub bound_management: BoundManagement,
    /// Voltage drop along the output lines.
    pub ir_drop: Option<IrDrop>,
    /// Separate passes for the two signs of the inputs.
    pub passes: Passes,
    /// Spread of the read asymmetry of cells: a negative input sees the weight `w·(1 + read_asymmetry·ξ)` with the
    /// cell's own ξ. Needs separate passes.
    pub read_asymmetry: f64,
    /// Voltage offset and series resistance of the output lines.
    pub output_line: Option<OutputLine>,
    /// Characteristic of the output lines.
    pub nonlinearity: Option<Nonlinearity>,
    /// Where between 0 and the output bound the mean characteristic is calibrated to have slope 1, as a fraction:
    /// outputs are multiplied by `(1 + (mean n + series_resistance)·slope_calibration·bound)²`. 0 disables it.
    pub slope_calibration: f64,
    /// Spread of the output noise between lines: line i has the deviation `output.noise·|1 + output_noise_spread·ξ_i|`.
    pub output_noise_spread: f64,
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
            NoiseManagement::AverageAbsMax { decay } => {
                require(decay > 0.0 && decay <= 1.0, "noise_management.decay", "in (0, 1]", decay)?;
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
        self.validate_lines()
    }

    fn validate_lines(&self) -> Result<(), ParameterError> {
        if let Some(line) = self.output_line {
            non_negative("output_line.offset_spread", line.offset_spread)?;
            finite("output_line.reference_weight", line.reference_weight)?;
            non_negative("output_line.series_resistance", line.series_resistance)?;
        }
        if let Some(characteristic) = self.nonlinearity {
            non_negative("nonlinearity.strength", characteristic.strength)?;
            non_negative("nonlinearity.spread", characteristic.spread)?;
        }
        let calibration = non_negative("slope_calibration", self.slope_calibration)?;
        let bent = self.nonlinearity.is_some() || self.output_line.is_some();
        let must = "zero unless nonlinearity or output_line is set";
        require(bent || calibration == 0.0, "slope_calibration", must, calibration)?;
        non_negative("output_noise_spread", self.output_noise_spread)?;
        let asymmetry = non_negative("read_asymmetry", self.read_asymmetry)?;
        let separate = self.passes != Passes::One;
        // AIHWKIT silently ignores the setting.
        require(
            separate || asymmetry == 0.0,
            "read_asymmetry",
            "zero unless the passes are separate",
            asymmetry,
        )
    }

    /// Whether the scale of a sample depends on its values.
    pub(super) fn looks_at_samples(&self) -> bool {
        !matches!(self.noise_management, NoiseManagement::None | NoiseManagement::Constant { .. })
    }

    /// Whether output lines have nothing of their own.
    pub(super) fn lines_are_alike(&self) -> bool {
        self.output_noise_spread == 0.0 && self.output_line.is_none() && self.nonlinearity.is_none()
    }

    /// Whether two arrays with these settings differ, so that a readout must know which one it reads.
    pub(super) fn has_spread(&self) -> Option<(&'static str, f64)> {
        let offset = self.output_line.map_or(0.0, |line| line.offset_spread);
        let strength = self.nonlinearity.map_or(0.0, |characteristic| characteristic.spread);
        [
            ("output_noise_spread", self.output_noise_spread),
            ("output_line.offset_spread", offset),
            ("nonlinearity.spread", strength),
            ("read_asymmetry", self.read_asymmetry),
        ]
        .into_iter()
        .find(|(_, spread)| *spread > 0.0)
    }

    fn validate_reduction(&self, max_factor: u32) -> Result<(), ParameterError> {
        let given = f64::from(max_factor);
        require(max_factor > 0, "bound_management.max_factor", "at least 1", given)?;
        // Without a bound nothing ever clips, so bound management is a mistake.
        require(self.output.bound.is_some(), "bound_management", "None unless output.bound is set", given)
    }
}
