//! The stationary law of Residual Learning with constant rates.
//!
//! Near W* the pair (W, P) is a slow and a fast linear recursion, and P is nearly Gaussian with deviation
//! s_P = O(√α). W stands still on average only if `E[P − W⋄] = E|P − W⋄| R(E[W])`; with `E[P − W⋄] = r·s_P` this reads
//! `r = R·E|r + Z|`, Z standard normal, so W keeps a bias of order √α although its own gradient noise is conditionally
//! zero. For small R this is the simpler r = √(2/π)·R ([`StationaryLaw::leading_residual_bias`]), 7 % low at R = ½.
//! Everything here is leading order in the rates.

use std::f64::consts::{FRAC_2_PI, SQRT_2};

use crate::error::{ParameterError, finite, non_negative, positive, require};
use crate::numeric::{erf, find_root};
use crate::objective::folded_normal;
use crate::response::ResponseFunction;

/// One coordinate near its minimiser: all that the stationary law needs of problem and devices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalModel {
    pub(super) curvature: f64,
    pub(super) deviation: f64,
    pub(super) gradient_magnitude: f64,
    pub(super) ratio_slope: f64,
    pub(super) residual_gain: f64,
    pub(super) ratio_at_minimizer: f64,
    pub(super) main_ratio_slope: f64,
    pub(super) main_gain: f64,
}

/// α, β and γ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LawRates {
    /// α.
    pub learning_rate: f64,
    /// β.
    pub transfer_rate: f64,
    /// γ.
    pub mixing: f64,
}

/// Predictions for the stationary state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StationaryLaw {
    /// `E[P − W⋄]`.
    pub residual_bias: f64,
    /// The same in closed form, for small R: √(2/π) s_P R(W*).
    pub leading_residual_bias: f64,
    /// s_P, the standard deviation of P.
    pub residual_deviation: f64,
    /// `E[W] − W*`.
    pub main_bias: f64,
    /// Standard deviation of W.
    pub main_deviation: f64,
    /// `E[W̄] − W*`.
    pub effective_bias: f64,
    /// Standard deviation of W̄, with the slow and the fast part taken as independent.
    pub effective_deviation: f64,
    /// Decay per step of an error in P.
    pub fast_rate: f64,
    /// Decay per step of an error in W.
    pub slow_rate: f64,
    /// `E[V]` ≈ αγ q(W⋄) σ²/4, for γh well above ΣR'(W⋄) and β well below αγ.
    pub lyapunov: f64,
}

/// Rates proposed from the stationary law. *Practical*: they come with a prediction, not with a theorem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proposal {
    /// The proposal.
    pub rates: LawRates,
    /// The prediction for it.
    pub predicted: StationaryLaw,
    /// Steps after which an initial error of W has shrunk to 1/steps of its size.
    pub steps: f64,
}

/// Fast rate over slow rate in a proposal: the law assumes two time scales.
pub const SEPARATION: f64 = 4.0;

/// Largest fast rate proposed: above it the recursion is no longer close to its flow.
const MAX_FAST_RATE: f64 = 0.5;

impl LocalModel {
    /// Curvature h and Gaussian noise σ at a minimiser W*, with P and W on these responses.
    ///
    /// # Errors
    /// If h is not positive, σ is negative, W* is not finite, or the residual response has no symmetric point.
    pub fn new(
        curvature: f64,
        deviation: f64,
        minimizer: f64,
        residual: &dyn ResponseFunction,
        main: &dyn ResponseFunction,
    ) -> Result<Self, ParameterError> {
        finite("minimizer", minimizer)?;
        let point = residual.symmetric_point().ok_or_else(|| ParameterError::NoSymmetricPoint {
            rule: "the residual law",
            device: residual.describe(),
            range: residual.range(),
        })?;
        Ok(Self {
            curvature: positive("curvature", curvature)?,
            deviation: non_negative("deviation", deviation)?,
            gradient_magnitude: deviation * FRAC_2_PI.sqrt(),
            ratio_slope: residual.asymmetry_ratio_derivative(point),
            residual_gain: residual.gain(point),
            ratio_at_minimizer: main.asymmetry_ratio(minimizer),
            main_ratio_slope: main.asymmetry_ratio_derivative(minimizer),
            main_gain: main.gain(minimizer),
        })
    }

    /// ΣR'(W⋄): the curvature that the implicit penalty adds to the lower level.
    pub(super) fn stiffness(&self) -> f64 {
        self.gradient_magnitude * self.ratio_slope
    }

    /// The stationary law under constant rates.
    ///
    /// # Errors
    /// If a rate is not positive and finite.
    pub fn stationary(&self, rates: LawRates) -> Result<StationaryLaw, ParameterError> {
        let alpha = positive("learning_rate", rates.learning_rate)?;
        let beta = positive("transfer_rate", rates.transfer_rate)?;
        let mixing = positive("mixing", rates.mixing)?;
        let (h, sigma, stiffness) = (self.curvature, self.deviation, self.stiffness());
        let total = mixing * h + stiffness;
        let residual_deviation = sigma * (alpha * self.residual_gain / (2.0 * total)).sqrt();
        let leverage = stiffness / h + mixing;
        let ratio = self.ratio_at_minimizer;
        let offset = bias_over_deviation(ratio, self.main_ratio_slope * leverage * residual_deviation);
        let residual_bias = offset * residual_deviation;
        // What moves W is P − W⋄ − R|P − W⋄|: its correlation with P falls by R·E[sign(P − W⋄)].
        let correlation = 1.0 - ratio * erf(offset / SQRT_2);
        let main_deviation = sigma * (beta * self.main_gain * mixing * correlation / (2.0 * h * total)).sqrt();
        Ok(StationaryLaw {
            residual_bias,
            leading_residual_bias: FRAC_2_PI.sqrt() * residual_deviation * ratio,
            residual_deviation,
            main_bias: -leverage * residual_bias,
            main_deviation,
            effective_bias: -stiffness / h * residual_bias,
            effective_deviation: main_deviation.hypot(mixing * residual_deviation),
            fast_rate: alpha * self.residual_gain * total,
            slow_rate: beta * self.main_gain * mixing * h / total,
            lyapunov: 0.25 * alpha * mixing * self.residual_gain * sigma * sigma,
        })
    }

    /// How far W̄ moves when the rule takes W⋄ + `error` as the symmetric point: −ΣR'(W⋄)·error/h.
    pub fn shift_of_wrong_symmetric_point(&self, error: f64) -> f64 {
        -self.stiffness() * error / self.curvature
    }

    /// The smallest rates that forget the start within `steps` steps.
    ///
    /// # Errors
    /// If `steps` is too short for two time scales (below about 30).
    pub fn rates_for_horizon(&self, steps: u64) -> Result<Proposal, ParameterError> {
        let horizon = steps as f64;
        let fast = SEPARATION * horizon.ln() / horizon;
        require(
            fast > 0.0 && fast <= MAX_FAST_RATE,
            "steps",
            "enough for two time scales (30 or more)",
            horizon,
        )?;
        self.with_fast_rate(fast)
    }

    /// The fastest rates whose predicted `|E[W̄] − W*|` is at most `target`.
    ///
    /// # Errors
    /// If `target` is not positive, or the bias vanishes at every rate, so that it does not determine one.
    pub fn rates_for_bias(&self, target: f64) -> Result<Proposal, ParameterError> {
        positive("target", target)?;
        // |E[W̄] − W*| = leverage · s_P, and s_P² = σ² fast / (2 total²).
        let offset = bias_over_deviation(self.ratio_at_minimizer, 0.0);
        let leverage = (self.stiffness() * offset / self.curvature).abs();
        positive("bias per deviation of P", leverage * self.deviation)?;
        let total = self.proposed_mixing() * self.curvature + self.stiffness();
        let fast = 2.0 * (total * target / (leverage * self.deviation)).powi(2);
        self.with_fast_rate(fast.min(MAX_FAST_RATE))
    }

    /// γh ≥ ΣR'(W⋄), so that W̄ carries at most half of the bias of W.
    fn proposed_mixing(&self) -> f64 {
        (self.stiffness() / self.curvature).max(1.0)
    }

    fn with_fast_rate(&self, fast: f64) -> Result<Proposal, ParameterError> {
        let mixing = self.proposed_mixing();
        let total = mixing * self.curvature + self.stiffness();
        let slow = fast / SEPARATION;
        let rates = LawRates {
            learning_rate: fast / (self.residual_gain * total),
            transfer_rate: slow * total / (self.main_gain * mixing * self.curvature),
            mixing,
        };
        let predicted = self.stationary(rates)?;
        Ok(Proposal { rates, predicted, steps: steps_to_forget(slow) })
    }
}

/// r = (R − feedback·r)·E|r + Z|: the bias of P in units of its deviation. `feedback` is how much R falls as W gives way.
pub fn bias_over_deviation(ratio: f64, feedback: f64) -> f64 {
    let size = ratio.abs();
    let excess = |r: f64| r - (size - feedback * r) * folded_normal(r, 1.0);
    // E|r + Z| ≤ √(2/π) + r bounds the zero when R < 1; at R = 1 the main array is stuck at its bound.
    let highest = FRAC_2_PI.sqrt() * size / (1.0 - size).max(1e-3);
    let found = find_root(excess, 0.0, highest).unwrap_or(FRAC_2_PI.sqrt() * size);
    found.copysign(ratio)
}

/// The K with K·rate = ln K, by fixed-point iteration from above (a contraction, since K·rate > 1).
fn steps_to_forget(rate: f64) -> f64 {
    let mut steps = 1.0 / rate * (1.0 / rate).ln().max(1.0);
    for _ in 0..60 {
        steps = steps.ln().max(1.0) / rate;
    }
    steps
}
