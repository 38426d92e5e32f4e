//! The stationary law of Residual Learning with a tracked symmetric point (E-RIDER), one coordinate near its minimiser.
//!
//! With x = P − W⋄, q = Q − W⋄, q̃ = Q̃ − W⋄, the sign c of the chopper and the error r = W* − W, a step is linear up to the noise n:
//!
//! ```text
//! x' = (1 − a − b) x + a q̃ + c d + n       a = αγh q⋄,  b = αΣR' q⋄,  d = αh q⋄ r
//! q' = q + η (x' − q)                       then c flips with probability p, and q̃' = q' if it did
//! ```
//! The even part, which does not know of c, is autonomous: it decays to x = q = q̃ = 0 whatever Q was at first, with the slow rate
//! ηb/(a + b + η) to leading order for p well above it, and its noise is what moves W besides the signal. The odd part is the signal.
//! With y = `E[c x']` and ρ = `E[c q']`/y, and Q̃ being Q of before the flip,
//!
//! ```text
//! ρ = η/(1 − (1 − η)(1 − 2p)),   y = d/(1 − (1 − 2p)(1 − a − b) + aρ),   E[c (P − Q̃)] = (1 + ρ) y
//! ```
//! W stands still where `E[c(P − Q̃)] = E|P − Q̃| R(E[W])`: a bias of order √α as without tracking, but none from the first
//! error of Q. Without choppers (p = 0, Q̃ = Q) no such law exists: Q swallows the signal, W − (βγ/η)Q is conserved by a
//! linear main array, and the error of W stays ([`RiderLimit`]).

use super::residual_law::{LawRates, LocalModel, bias_over_deviation};
use crate::error::{ParameterError, positive, require};
use crate::rule::Tracking;

/// Predictions for the stationary state under a [`Tracking`] with choppers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackedLaw {
    /// `E[c(P − Q̃)]`.
    pub moved_bias: f64,
    /// Standard deviation of P − Q̃, what a transfer moves.
    pub moved_deviation: f64,
    /// `E[W] − W*`.
    pub main_bias: f64,
    /// `E[W̄] − W*`.
    pub effective_bias: f64,
    /// Decay per step of an error of Q, the slowest mode of the even part.
    pub point_rate: f64,
    /// Decay per step of an error of W.
    pub slow_rate: f64,
}

/// Where RIDER, without choppers, comes to rest on a linear main array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RiderLimit {
    /// W − W*.
    pub main_error: f64,
    /// Q − W⋄.
    pub point_error: f64,
}

/// A 3 × 3 matrix by rows, of (x, q, q̃).
type Three = [[f64; 3]; 3];

fn times(a: &Three, b: &Three) -> Three {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| a[i][k] * b[k][j]).sum()))
}

fn transposed(a: &Three) -> Three {
    std::array::from_fn(|i| std::array::from_fn(|j| a[j][i]))
}

fn mixed(share: f64, a: &Three, b: &Three) -> Three {
    std::array::from_fn(|i| std::array::from_fn(|j| (1.0 - share) * a[i][j] + share * b[i][j]))
}

/// The even part of a step: without a flip, and with one.
fn even_part(a: f64, b: f64, filter: f64) -> [Three; 2] {
    let x = [1.0 - a - b, 0.0, a];
    let q = [filter * x[0], 1.0 - filter, filter * a];
    [[x, q, [0.0, 0.0, 1.0]], [x, q, q]]
}

/// Variance of x' − q̃ in the stationary state, as a transfer meets it: before the flip of its step.
fn moved_variance([stay, flip]: &[Three; 2], (filter, kick, chopper): (f64, f64, f64)) -> f64 {
    // Noise enters x and its share q; after a flip also q̃.
    let enters = |last: f64| -> Three {
        let n = [1.0, filter, last];
        std::array::from_fn(|i| std::array::from_fn(|j| kick * n[i] * n[j]))
    };
    let step = |map: &Three, s: &Three| times(&times(map, s), &transposed(map));
    let noise = mixed(chopper, &enters(0.0), &enters(filter));
    let covariance = sum_of_powers([stay, flip], chopper, &noise);
    let before: Three = step(stay, &covariance);
    let noise = enters(0.0);
    let entry = |i: usize, j: usize| before[i][j] + noise[i][j];
    entry(0, 0) + entry(2, 2) - 2.0 * entry(0, 2)
}

/// Σₖ Lᵏ N with L S = (1 − p) A S Aᵀ + p B S Bᵀ, by doubling: L as a matrix on the nine entries of S.
fn sum_of_powers([stay, flip]: [&Three; 2], chopper: f64, noise: &Three) -> Three {
    let mut power: [[f64; 9]; 9] = std::array::from_fn(|row| {
        std::array::from_fn(|col| {
            let (i, j, k, l) = (row / 3, row % 3, col / 3, col % 3);
            (1.0 - chopper) * stay[i][k] * stay[j][l] + chopper * flip[i][k] * flip[j][l]
        })
    });
    let mut sum: [f64; 9] = std::array::from_fn(|i| noise[i / 3][i % 3]);
    for _ in 0..64 {
        sum = std::array::from_fn(|i| sum[i] + (0..9).map(|k| power[i][k] * sum[k]).sum::<f64>());
        power =
            std::array::from_fn(|i| std::array::from_fn(|j| (0..9).map(|k| power[i][k] * power[k][j]).sum()));
    }
    std::array::from_fn(|i| std::array::from_fn(|j| sum[3 * i + j]))
}

/// The largest eigenvalue of the mean step, by powers of it.
fn slowest(mean: Three) -> f64 {
    let (mut power, mut log) = (mean, 0.0);
    // Mᵐ with m = 2ⁿ, its size kept apart: λ = size^(1/m).
    let mut m = 1.0;
    for _ in 0..60 {
        power = times(&power, &power);
        m *= 2.0;
        let size = power.iter().flatten().fold(0.0f64, |s, v| s.max(v.abs()));
        log += size.ln() / m;
        power.iter_mut().flatten().for_each(|v| *v /= size);
    }
    log.exp()
}

impl LocalModel {
    /// The stationary law with a tracked symmetric point, where transfers move the whole array after every step.
    ///
    /// # Errors
    /// If a rate is not positive and finite, the filter or the chopper is off, or the step is too long to be stable.
    pub fn tracked(&self, rates: LawRates, tracking: Tracking) -> Result<TrackedLaw, ParameterError> {
        let alpha = positive("learning_rate", rates.learning_rate)?;
        let beta = positive("transfer_rate", rates.transfer_rate)?;
        let mixing = positive("mixing", rates.mixing)?;
        let Tracking { rate: filter, chopper } = tracking.validate()?;
        positive("rate", filter)?;
        positive("chopper", chopper)?;
        let gain = alpha * self.residual_gain;
        let (a, b) = (gain * mixing * self.curvature, gain * self.stiffness());
        require(a + b < 1.0, "learning_rate", "small enough that α(γh + ΣR')q⋄ is below 1", alpha)?;
        let keep = 1.0 - 2.0 * chopper;
        let rho = filter / (1.0 - (1.0 - filter) * keep);
        // y and the moved mean per unit of r.
        let signal = gain * self.curvature / (1.0 - keep * (1.0 - a - b) + a * rho);
        let moved = (1.0 + rho) * signal;

        let even = even_part(a, b, filter);
        let kick = (gain * self.deviation).powi(2);
        let moved_deviation = moved_variance(&even, (filter, kick, chopper)).sqrt();

        let leverage = 1.0 / moved;
        let feedback = self.main_ratio_slope * leverage * moved_deviation;
        let offset = bias_over_deviation(self.ratio_at_minimizer, feedback);
        let moved_bias = offset * moved_deviation;
        let main_bias = -leverage * moved_bias;
        // After the flip E[c(P − Q̃)] is (1 − 2p + ρ)y.
        let seen = (keep + rho) / (1.0 + rho) * moved_bias;
        Ok(TrackedLaw {
            moved_bias,
            moved_deviation,
            main_bias,
            effective_bias: main_bias + mixing * seen,
            point_rate: 1.0 - slowest(mixed(chopper, &even[0], &even[1])),
            slow_rate: beta * mixing * self.main_gain * moved,
        })
    }

    /// Where RIDER (p = 0) comes to rest from W₀ = W* + `main_error` and Q₀ = W⋄ + `point_error` if the main array is linear:
    /// W − (βγ/η)Q never changes, and P stands still where h(W − W*) = −ΣR'(Q − W⋄).
    ///
    /// # Errors
    /// If a rate is not positive and finite.
    pub fn rider_limit(
        &self,
        rates: LawRates,
        filter: f64,
        (main_error, point_error): (f64, f64),
    ) -> Result<RiderLimit, ParameterError> {
        let moved = positive("transfer_rate", rates.transfer_rate)?
            * positive("mixing", rates.mixing)?
            * self.main_gain;
        let ratio = moved / positive("rate", filter)?;
        let left = (main_error - ratio * point_error) / (1.0 + ratio * self.curvature / self.stiffness());
        Ok(RiderLimit { main_error: left, point_error: -self.curvature * left / self.stiffness() })
    }
}
