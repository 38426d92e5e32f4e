//! The coefficient lemma (`lemma:TT-coefficient-lower-bounds`): step sizes for Residual Learning that the
//! convergence theorem covers, with every condition its proof uses checked and shown.
//!
//! ```text
//! α = 32 q_max ln X/(γ μ q_min² K),   X = μ² q_min⁴ V₀ K/(2048 L q_max⁴ σ²)
//! β = αγμ q_min/(16 q_max),   C = μ,   γ ≥ 16 L_S σ √q_max/(μ q_min^{3/2}),   ρ = β q_min/2
//! E[V_K] ≤ 2048 L q_max⁴ σ² (1 + ln X)/(μ² q_min⁴ K)
//! ```

use std::fmt;

use thiserror::Error;

use crate::Bounds;
use crate::error::{ParameterError, non_negative, positive, require};

/// Sides that are equal on paper (A₂ at the smallest γ) differ by rounding.
const ROUNDING: f64 = 1e-12;

/// The inputs of the lemma.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    /// μ > 0.
    pub strong_convexity: f64,
    /// L ≥ μ.
    pub smoothness: f64,
    /// σ with E‖ξ‖² ≤ σ²: the **total** over coordinates. D coordinates of deviation s have σ = s√D.
    pub noise: f64,
    /// q_min, q_max and L_S of the arrays over the range they work in.
    pub bounds: Bounds,
    /// K, the number of steps to be taken.
    pub steps: u64,
    /// V₀ = f(W̄₀) − f* + (Cγ²/2)‖P*(W₀) − W⋄‖²; with P₀ = W⋄ it does not depend on γ.
    pub initial_lyapunov: f64,
}

/// Step sizes of Residual Learning and the weight of its Lyapunov function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LemmaRates {
    /// α.
    pub learning_rate: f64,
    /// β.
    pub transfer_rate: f64,
    /// γ.
    pub mixing: f64,
    /// C.
    pub weight: f64,
}

impl LemmaRates {
    /// α and γ given, β and C as the lemma couples them to α: β = αγμ q_min/(16 q_max), C = μ.
    pub fn coupled(strong_convexity: f64, bounds: Bounds, learning_rate: f64, mixing: f64) -> Self {
        let transfer_rate = learning_rate * mixing * strong_convexity * bounds.min / (16.0 * bounds.max);
        Self { learning_rate, transfer_rate, mixing, weight: strong_convexity }
    }

    /// ρ = αγμ q_min²/(32 q_max), the decrease per step that the theorem proves.
    pub fn contraction(&self, bounds: Bounds) -> f64 {
        0.5 * self.transfer_rate * bounds.min
    }
}

/// One condition of the lemma or of the lemmas it serves, with both sides as numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// The condition in the paper's notation, `left < right` or `left ≤ right`.
    pub statement: &'static str,
    /// Left side.
    pub left: f64,
    /// Right side.
    pub right: f64,
    strict: bool,
}

impl Condition {
    fn less(statement: &'static str, left: f64, right: f64) -> Self {
        Self { statement, left, right, strict: true }
    }

    fn at_most(statement: &'static str, left: f64, right: f64) -> Self {
        Self { statement, left, right, strict: false }
    }

    /// Whether it holds; `≤` up to rounding.
    pub fn holds(&self) -> bool {
        if self.strict {
            return self.left < self.right;
        }
        self.left <= self.right + ROUNDING * self.left.abs().max(self.right.abs())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (left side {:.4e}, right side {:.4e})", self.statement, self.left, self.right)
    }
}

/// What the lemma chose, and the guarantee that comes with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficients {
    /// α, β, γ, C.
    pub rates: LemmaRates,
    /// ρ.
    pub contraction: f64,
    /// X, the argument of the logarithm.
    pub log_argument: f64,
    /// The theorem's bound on `E[V_K]`.
    pub lyapunov_bound: f64,
    /// Every condition that was checked; all hold.
    pub conditions: Vec<Condition>,
}

/// Why the theorem does not cover a problem.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CoefficientError {
    /// An invalid number.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The response is not bounded as the Definition requires.
    #[error(
        "bounds must have 0 < q_min ≤ q_max and a finite L_S, got q_min = {min}, q_max = {max}, L_S = {lipschitz}; \
         state a smaller operating range, or use practical_rates"
    )]
    Irregular {
        /// q_min.
        min: f64,
        /// q_max.
        max: f64,
        /// L_S.
        lipschitz: f64,
    },
    /// σ = 0 makes X infinite.
    #[error("noise must be positive: with σ = 0 the argument X of the logarithm, and α with it, is infinite")]
    NoiseFree,
    /// γ is too small; no K helps.
    #[error(
        "mixing must be at least 16 L_S σ √q_max/(μ q_min^1.5) = {least}, got {given}; no number of steps helps"
    )]
    Mixing {
        /// γ as given.
        given: f64,
        /// The smallest γ the lemma allows.
        least: f64,
    },
    /// A condition on α or β fails at this K.
    #[error(
        "the theorem needs {condition}, at K = {steps}; smallest K: {smallest} (and every K from {sufficient} on)"
    )]
    Violated {
        /// The condition with both sides.
        condition: Condition,
        /// K as given.
        steps: u64,
        /// The least K at which all conditions hold: see [`Problem::smallest_steps`].
        smallest: u64,
        /// The K from which they hold for good: see [`Problem::sufficient_steps`].
        sufficient: u64,
    },
}

impl Problem {
    fn validate(&self) -> Result<(), CoefficientError> {
        positive("strong_convexity", self.strong_convexity)?;
        let ordered = self.smoothness >= self.strong_convexity && self.smoothness.is_finite();
        require(ordered, "smoothness", "finite and at least strong_convexity", self.smoothness)?;
        non_negative("noise", self.noise)?;
        positive("initial_lyapunov", self.initial_lyapunov)?;
        require(self.steps > 0, "steps", "at least 1", self.steps as f64)?;
        let Bounds { min, max, lipschitz, .. } = self.bounds;
        if !(min > 0.0 && min <= max && max.is_finite() && lipschitz.is_finite()) {
            return Err(CoefficientError::Irregular { min, max, lipschitz });
        }
        if self.noise == 0.0 { Err(CoefficientError::NoiseFree) } else { Ok(()) }
    }

    /// κ₁ = L/μ.
    pub fn objective_condition(&self) -> f64 {
        self.smoothness / self.strong_convexity
    }

    /// The smallest γ of `eq:C-gamma-choice`; 0 for a constant response (L_S = 0).
    pub fn least_mixing(&self) -> f64 {
        let Bounds { min, max, lipschitz, .. } = self.bounds;
        16.0 * lipschitz * self.noise * max.sqrt() / (self.strong_convexity * min * min.sqrt())
    }

    /// X of `eq:alpha-beta-choice`; infinite when σ = 0.
    pub fn log_argument(&self) -> f64 {
        self.log_argument_per_step() * self.steps as f64
    }

    fn log_argument_per_step(&self) -> f64 {
        let (mu, Bounds { min, max, .. }) = (self.strong_convexity, self.bounds);
        let scale = 2048.0 * self.smoothness * max.powi(4) * self.noise.powi(2);
        mu * mu * min.powi(4) * self.initial_lyapunov / scale
    }

    /// The lemma's choice at its smallest γ; γ = 1 for a constant response, where any γ will do.
    ///
    /// # Errors
    /// If a number is out of its domain or any condition of the lemma fails.
    pub fn coefficients(&self) -> Result<Coefficients, CoefficientError> {
        let least = self.least_mixing();
        self.coefficients_with_mixing(if least > 0.0 { least } else { 1.0 })
    }

    /// The lemma's choice at a given γ, at least [`Problem::least_mixing`].
    ///
    /// # Errors
    /// As [`Problem::coefficients`], and if γ is too small.
    pub fn coefficients_with_mixing(&self, mixing: f64) -> Result<Coefficients, CoefficientError> {
        self.validate()?;
        positive("mixing", mixing)?;
        let least = self.least_mixing();
        if mixing < least {
            return Err(CoefficientError::Mixing { given: mixing, least });
        }
        let (mu, bounds, steps) = (self.strong_convexity, self.bounds, self.steps as f64);
        let log_argument = self.log_argument();
        let learning_rate =
            32.0 * bounds.max * log_argument.ln() / (mixing * mu * bounds.min * bounds.min * steps);
        let rates = LemmaRates::coupled(mu, bounds, learning_rate, mixing);
        let mut conditions = vec![Condition::less("1 < X", 1.0, log_argument)];
        conditions.extend(self.conditions(rates));
        if let Some(&condition) = conditions.iter().find(|c| !c.holds()) {
            let (smallest, sufficient) = (self.smallest_steps()?, self.sufficient_steps()?);
            return Err(CoefficientError::Violated { condition, steps: self.steps, smallest, sufficient });
        }
        let scale = 2048.0 * self.smoothness * bounds.max.powi(4) * self.noise.powi(2);
        Ok(Coefficients {
            rates,
            contraction: rates.contraction(bounds),
            log_argument,
            lyapunov_bound: scale * (1.0 + log_argument.ln()) / (mu * mu * bounds.min.powi(4) * steps),
            conditions,
        })
    }

    /// What the proof requires of α, β, γ and C, for any K.
    pub fn conditions(&self, rates: LemmaRates) -> Vec<Condition> {
        let LemmaRates { learning_rate: alpha, transfer_rate: beta, mixing, weight } = rates;
        let (mu, smooth) = (self.strong_convexity, self.smoothness);
        let Bounds { min, max, lipschitz, .. } = self.bounds;
        let hardware = alpha * (self.noise * lipschitz).powi(2) / min;
        let rho = rates.contraction(self.bounds);
        let coupling = beta * weight * max / mu;
        let a1 = 0.5 * alpha * mixing * mu * min - coupling - 8.0 * hardware / (mu * mixing);
        let a2 = 0.5 * beta * min * weight * mixing * mixing - 4.0 * hardware * mixing;
        let a3 = 2.0 / (alpha * mixing * min) - weight / (4.0 * beta * max);
        vec![
            Condition::at_most("α ≤ q_min/(4γLq_max²)", alpha, min / (4.0 * mixing * smooth * max * max)),
            Condition::at_most("α ≤ 1/(γLq_min)", alpha, 1.0 / (mixing * smooth * min)),
            Condition::at_most("α ≤ q_min/(2γLq_max²)", alpha, min / (2.0 * mixing * smooth * max * max)),
            Condition::at_most("β ≤ 1/(2q_max)", beta, 0.5 / max),
            Condition::at_most("16L_Sσ√q_max/(μq_min^1.5) ≤ γ", self.least_mixing(), mixing),
            Condition::at_most("(2/(μγ²))(βCγ²q_max/2) ≤ 1", coupling, 1.0),
            Condition::less("ρ < A₁", rho, a1),
            Condition::at_most("ρCγ²/2 ≤ A₂", 0.5 * rho * weight * mixing * mixing, a2),
            Condition::at_most("A₃ ≤ 0", a3, 0.0),
        ]
    }

    /// The largest ratio K/ln X that a bound on α or β requires: the conditions are X > 1 and K ≥ this · ln X.
    fn steps_per_log(&self) -> f64 {
        let (k1, k2) = (self.objective_condition(), self.bounds.hardware_condition());
        [128.0 * k1 * k2.powi(3), 32.0 * k1 * k2, 4.0 * k2].into_iter().fold(0.0, f64::max)
    }

    /// The least integer K at which every condition holds.
    ///
    /// Just above X = 1 the logarithm, and α with it, is tiny, so all conditions hold there; they may fail again for
    /// larger K before they hold for good, from [`Problem::sufficient_steps`] on.
    ///
    /// # Errors
    /// If the problem has no such K: see [`CoefficientError`].
    pub fn smallest_steps(&self) -> Result<u64, CoefficientError> {
        self.validate()?;
        Ok(self.first_from((1.0 / self.log_argument_per_step()).floor() + 1.0))
    }

    /// The least integer K with ln X ≥ 1 at which every condition holds; they then hold for every larger K too,
    /// since ln X/K decreases from there.
    ///
    /// # Errors
    /// As [`Problem::smallest_steps`].
    pub fn sufficient_steps(&self) -> Result<u64, CoefficientError> {
        self.validate()?;
        Ok(self.first_from((std::f64::consts::E / self.log_argument_per_step()).ceil().max(1.0)))
    }

    /// The first integer K ≥ `from` with K ≥ a ln(bK). K − a ln(bK) is convex: where it fails, it holds again only
    /// beyond its larger root. One beyond 2⁵³, which nobody could run, counts as the largest integer there is.
    fn first_from(&self, from: f64) -> u64 {
        const MOST: f64 = (1_u64 << 53) as f64;
        let (a, b) = (self.steps_per_log(), self.log_argument_per_step());
        let holds = |k: f64| k >= a * (b * k).ln();
        if holds(from) {
            return if from < MOST { from as u64 } else { u64::MAX };
        }
        let mut fails = from.max(a.floor());
        let mut good = 2.0 * fails;
        while !holds(good) {
            // Nor does a search end among numbers that are not.
            if good.is_nan() || good >= MOST {
                return u64::MAX;
            }
            fails = good;
            good *= 2.0;
        }
        if good.is_nan() || good >= MOST {
            return u64::MAX;
        }
        while good - fails > 1.0 {
            let middle = fails.midpoint(good).floor();
            if holds(middle) { good = middle } else { fails = middle }
        }
        good as u64
    }
}
