//! Step sizes for when the theorem needs more steps than available: chosen from the stationary laws, with what
//! those laws predict. Practical, not guaranteed.

use super::coefficients::{CoefficientError, LemmaRates, Problem};
use crate::Bounds;
use crate::error::{ParameterError, positive, require};

/// Rates with their predictions. Local and quadratic: nothing here is proved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PracticalRates {
    /// α, β, γ, and C = μ.
    pub rates: LemmaRates,
    /// Stationary `E[V]`: see [`stationary_lyapunov`].
    pub stationary_lyapunov: f64,
    /// Fraction of ‖W₀ − W*‖ left after K steps: (1 − βc)^K.
    pub remaining: f64,
    /// The √α bias of W̄ at worst: (ΣR'/μ)·√(2/π)·s_P·|R| with Σ ≤ σ, R' ≤ L_S/c and |R| ≤ (κ₂ − 1)/(κ₂ + 1).
    pub bias_bound: f64,
}

/// α, β, γ for a horizon of K steps on cells of gain `gain` near their symmetric point (of the weakest cell, when
/// gains differ): αγ = 16 ln K/(Kcμ) so that P settles, β = αγμ/8 so that W follows eight times more slowly, γ the
/// smallest at which neither the bias of W̄ nor the spread of P exceeds what the law allows for; 1 when L_S = 0.
///
/// q_min may be 0 and σ may be 0 here, unlike in [`Problem::coefficients`].
///
/// # Errors
/// If a number is out of its domain, K < 3, or L_S is infinite.
pub fn practical_rates(problem: &Problem, gain: f64) -> Result<PracticalRates, CoefficientError> {
    let Problem { strong_convexity: mu, smoothness, noise, bounds, steps, .. } = *problem;
    positive("strong_convexity", mu)?;
    positive("smoothness", smoothness)?;
    positive("gain", gain)?;
    crate::error::non_negative("noise", noise)?;
    require(steps >= 3, "steps", "at least 3", steps as f64)?;
    let Bounds { min, max, lipschitz, .. } = bounds;
    if !lipschitz.is_finite() {
        return Err(CoefficientError::Irregular { min, max, lipschitz });
    }
    let k = steps as f64;
    // The cap keeps the fastest direction on the strongest cell stable at short horizons.
    let fast = (16.0 * k.ln() / (k * gain * mu)).min(0.5 / (smoothness * max));
    let spread = noise * (0.5 * fast / mu).sqrt();
    let ratio = (max - min) / (max + min);
    let slope = lipschitz / gain;
    let mixing = least_practical_mixing(noise * slope * ratio / mu, gain, spread * slope)?;
    let rates =
        LemmaRates { learning_rate: fast / mixing, transfer_rate: 0.125 * fast * mu, mixing, weight: mu };
    let offset = std::f64::consts::FRAC_2_PI.sqrt() * spread / mixing * ratio;
    Ok(PracticalRates {
        rates,
        stationary_lyapunov: stationary_lyapunov(rates, mu, gain, noise),
        remaining: (k * (-rates.transfer_rate * gain).ln_1p()).exp(),
        bias_bound: noise * slope / mu * offset,
    })
}

/// `E[V]` ≈ (αγcσ²/4)(1 + 2β/(αγμ))/(1 − αγcμ/2) for f of curvature μ and cells of gain c at W⋄.
///
/// Near the minimiser the step is linear in (W̄ − W*, W − W*), with fast rate a = αγcμ, slow rate b = βc and noise
/// αγcσ on the first; its stationary covariance gives V = (αγcσ²/4)(1 + 2b/a), of which b/a is the upper level's.
/// Directions of curvature h > μ have b/a (1 + μ/h) with a = αγch, hence less.
pub fn stationary_lyapunov(rates: LemmaRates, strong_convexity: f64, gain: f64, noise: f64) -> f64 {
    let fast = rates.learning_rate * rates.mixing;
    let lag = rates.transfer_rate / (fast * strong_convexity);
    0.25 * fast * gain * noise * noise * (1.0 + 2.0 * lag) / (1.0 - 0.5 * fast * gain * strong_convexity)
}

/// Below the first, (μ/2)·bias² would exceed αγcσ²/4; below the second, the response would change by more than a
/// quarter of the gain over one standard deviation of P and the laws, which linearise it, would not apply.
fn least_practical_mixing(bias: f64, gain: f64, spread: f64) -> Result<f64, ParameterError> {
    let least = (bias * (std::f64::consts::FRAC_2_PI / gain).sqrt()).max(4.0 * spread);
    positive("mixing", if least > 0.0 { least } else { 1.0 })
}
