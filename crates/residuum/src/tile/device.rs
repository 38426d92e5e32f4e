//! What the cells of a tile are made of.

use super::retention::Retention;
use super::step::StepModel;
use crate::error::{ParameterError, non_negative, positive, require};

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

    /// What the mean is multiplied by in a cell whose standard normal draw, times the deviation, is d.
    pub(super) fn factor(self, d: f32) -> f32 {
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
    /// step + s·σξ: the same at every state.
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

/// What a read subtracts from a cell: weights are the difference.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reference {
    /// Mean over the cells.
    pub mean: f32,
    /// Standard deviation over the cells.
    pub deviation: f32,
    /// Whether the cell's own symmetric point is subtracted besides (linear and power steps only), so that it comes to lie at 0.
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

/// Cells of one kind, ideal unless an imperfection is named. Steps and bounds are in weight units.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Dependence of a step on the state.
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
    /// Deviation of what a read sees from what pulses act on, in steps; redrawn when the cell is pulsed.
    pub write_noise: f32,
    /// Leak, random walk, drift and reset.
    pub retention: Retention,
    /// What update management counts in where it is not the mean step at w = 0; see [`Device::granularity`].
    pub granularity: Option<f32>,
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
            retention: Retention::default(),
            granularity: None,
        }
    }

    /// The paper's power response q± = (1 ∓ w/radius)^shape with steps of `pulse_step` at w = 0. Its own normalisation
    /// has u = 1 at the far bound, hence the factor 2^shape.
    pub fn paper_power(shape: f32, radius: f32, pulse_step: f32) -> Self {
        Self::ideal(StepModel::power(shape), pulse_step * 2f32.powf(shape), -radius, radius)
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
    pub(super) fn noisy(&self) -> bool {
        self.cycle_noise.deviation() > 0.0
    }

    /// What update management counts in, and what the expected update takes for a response of 1: the field if it is given,
    /// otherwise the mean step at w = 0 of a symmetric cell.
    pub fn granularity(&self) -> f32 {
        self.granularity.unwrap_or_else(|| {
            let at_zero = match &self.step {
                StepModel::Constant | StepModel::Linear { .. } => 1.0,
                StepModel::Power(exponents) => 2f32.powf(-exponents.shape),
                StepModel::Exponential { amplitude, rate, shift, .. } => {
                    let up = (1.0 - amplitude[0] * (rate[0] * shift).exp()).max(0.0);
                    let down = (1.0 - amplitude[1] * (-rate[1] * shift).exp()).max(0.0);
                    0.5 * (up + down)
                }
                StepModel::Piecewise { up, down } => 0.5 * (self.table_at_zero(up) + self.table_at_zero(down)),
            };
            // A device that does not move at 0 has no better unit than its own.
            self.pulse_step * if at_zero > 0.0 { at_zero } else { 1.0 }
        })
    }

    fn table_at_zero(&self, nodes: &[f32]) -> f32 {
        let last = nodes.len() - 1;
        let at = (-self.min / (self.max - self.min) * last as f32).clamp(0.0, last as f32);
        let left = (at as usize).min(last.saturating_sub(1));
        nodes[left] + (at - left as f32) * (nodes[(left + 1).min(last)] - nodes[left])
    }

    /// Refuses numbers no device can have.
    ///
    /// # Errors
    /// If a bound is not finite or min ≥ max, a step not positive, a spread or noise negative, or a shape impossible.
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
        if let Some(reference) = self.reference {
            crate::error::finite("reference mean", f64::from(reference.mean))?;
            non_negative("reference deviation", f64::from(reference.deviation))?;
            let known = matches!(self.step, StepModel::Linear(_) | StepModel::Power(_));
            require(
                known || !reference.at_symmetric_point,
                "at_symmetric_point",
                "used with linear or power steps only; given (1 = yes)",
                1.0,
            )?;
        }
        if let Some(stuck) = self.stuck {
            let probability = f64::from(stuck.probability);
            require((0.0..=1.0).contains(&probability), "stuck probability", "between 0 and 1", probability)?;
            non_negative("stuck range", f64::from(stuck.range))?;
        }
        self.retention.validate()?;
        self.step.validate()
    }
}
