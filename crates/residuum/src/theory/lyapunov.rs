//! The Lyapunov function of Residual Learning (`eq:lyapunov-def`) and its descent in one step.
//!
//! ```text
//! V = f(W̄) − f* + (Cγ²/2)‖P*(W) − W⋄‖²,    P*(W) = (W* − W)/γ + W⋄,    W̄ = W + γ(P − W⋄)
//! ```
//!
//! The theorem's statement weighs the second part with C, its proof with Cγ²/2; the code follows the proof.

use super::coefficients::LemmaRates;
use super::operator::{FiniteNoise, Inequality};
use crate::error::{ParameterError, all_finite, positive, require, same_length};
use crate::objective::Objective;
use crate::response::ResponseFunction;
use crate::{Bounds, Range};

/// The two parts of V.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LyapunovParts {
    /// f(W̄) − f*, the lower level.
    pub objective: f64,
    /// (Cγ²/2)‖P*(W) − W⋄‖², the upper level; (C/2)‖W − W*‖² in other words.
    pub residual: f64,
}

impl LyapunovParts {
    /// V.
    pub fn total(&self) -> f64 {
        self.objective + self.residual
    }
}

/// V for one problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Lyapunov {
    minimizer: Vec<f64>,
    min_value: f64,
    symmetric_point: Vec<f64>,
    mixing: f64,
    weight: f64,
}

impl Lyapunov {
    /// V with γ = `mixing` and C = `weight`.
    ///
    /// # Errors
    /// If lengths differ, an entry is not finite, or γ or C is not positive.
    pub fn new(
        objective: &dyn Objective,
        minimizer: &[f64],
        symmetric_point: &[f64],
        mixing: f64,
        weight: f64,
    ) -> Result<Self, ParameterError> {
        same_length("minimizer", objective.dim(), minimizer.len())?;
        same_length("symmetric_point", objective.dim(), symmetric_point.len())?;
        all_finite("minimizer", minimizer)?;
        all_finite("symmetric_point", symmetric_point)?;
        Ok(Self {
            minimizer: minimizer.to_vec(),
            min_value: objective.value(minimizer),
            symmetric_point: symmetric_point.to_vec(),
            mixing: positive("mixing", mixing)?,
            weight: positive("weight", weight)?,
        })
    }

    /// P*(W): the residual that makes W̄ the minimiser.
    pub fn residual_target(&self, main: &[f64]) -> Vec<f64> {
        (0..main.len()).map(|d| (self.minimizer[d] - main[d]) / self.mixing + self.symmetric_point[d]).collect()
    }

    /// W̄.
    pub fn effective_weights(&self, main: &[f64], residual: &[f64]) -> Vec<f64> {
        (0..main.len()).map(|d| main[d] + self.mixing * (residual[d] - self.symmetric_point[d])).collect()
    }

    /// Both parts of V at (W, P).
    pub fn parts(&self, objective: &dyn Objective, main: &[f64], residual: &[f64]) -> LyapunovParts {
        let target = self.residual_target(main);
        let offset: f64 = target.iter().zip(&self.symmetric_point).map(|(t, s)| (t - s).powi(2)).sum();
        LyapunovParts {
            objective: objective.value(&self.effective_weights(main, residual)) - self.min_value,
            residual: residual_weight(self.weight, self.mixing) * offset,
        }
    }
}

/// Cγ²/2, the weight of ‖P*(W) − W⋄‖² in V.
pub fn residual_weight(weight: f64, mixing: f64) -> f64 {
    0.5 * weight * mixing * mixing
}

/// f(x) = μ/2 x² + (L − μ)(√(1 + x²) − 1): curvature L at its minimiser 0, falling to μ far away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bowl {
    strong_convexity: f64,
    smoothness: f64,
}

impl Bowl {
    /// From μ and L.
    ///
    /// # Errors
    /// If μ is not positive or L < μ.
    pub fn new(strong_convexity: f64, smoothness: f64) -> Result<Self, ParameterError> {
        positive("strong_convexity", strong_convexity)?;
        let ordered = smoothness >= strong_convexity && smoothness.is_finite();
        require(ordered, "smoothness", "finite and at least strong_convexity", smoothness)?;
        Ok(Self { strong_convexity, smoothness })
    }

    /// f(x); f* = 0.
    pub fn value(&self, x: f64) -> f64 {
        // √(1 + x²) − 1 without cancellation near 0.
        let bend = x * x / (1.0 + (1.0 + x * x).sqrt());
        0.5 * self.strong_convexity * x * x + (self.smoothness - self.strong_convexity) * bend
    }

    /// f'(x).
    pub fn slope(&self, x: f64) -> f64 {
        let excess = self.smoothness - self.strong_convexity;
        self.strong_convexity * x + excess * x / (1.0 + x * x).sqrt()
    }
}

/// One step of Residual Learning in one dimension with noise on finitely many atoms: the expectations in the descent
/// lemmas are finite sums. The minimiser W* is 0.
#[derive(Clone, Copy, Debug)]
pub struct OneStep<'a> {
    /// f.
    pub objective: Bowl,
    /// The response of W's cell.
    pub main: &'a dyn ResponseFunction,
    /// The response of P's cell; W⋄ is its symmetric point, 0 if it has none.
    pub residual: &'a dyn ResponseFunction,
    /// α, β, γ, C.
    pub rates: LemmaRates,
    /// The law of ξ_k; σ² is its variance.
    pub noise: &'a FiniteNoise,
}

impl OneStep<'_> {
    fn symmetric_point(&self) -> f64 {
        self.residual.symmetric_point().unwrap_or(0.0)
    }

    /// q_min, q_max and L_S that hold for both cells.
    pub fn bounds(&self) -> Bounds {
        let (w, p) = (self.main.bounds(Range::ALL), self.residual.bounds(Range::ALL));
        Bounds {
            range: Range::ALL,
            min: w.min.min(p.min),
            max: w.max.max(p.max),
            lipschitz: w.lipschitz.max(p.lipschitz),
        }
    }

    /// W̄ of (W, P).
    pub fn effective_weight(&self, main: f64, residual: f64) -> f64 {
        main + self.rates.mixing * (residual - self.symmetric_point())
    }

    /// V of (W, P).
    pub fn lyapunov(&self, main: f64, residual: f64) -> f64 {
        // ‖P*(W) − W⋄‖ = |W|/γ, since W* = 0.
        let offset = main / self.rates.mixing;
        self.objective.value(self.effective_weight(main, residual))
            + residual_weight(self.rates.weight, self.rates.mixing) * offset * offset
    }

    /// (W_{k+1}, P_{k+1}) for each atom, with its probability (`recursion:HD-P`, `recursion:HD-W`).
    fn next(&self, main: f64, residual: f64) -> impl Iterator<Item = (f64, f64, f64)> {
        let LemmaRates { learning_rate, transfer_rate, mixing, .. } = self.rates;
        let slope = self.objective.slope(self.effective_weight(main, residual));
        self.noise.atoms().map(move |(probability, xi)| {
            let p = residual + self.residual.realized(-learning_rate * (slope + xi[0]), residual);
            let desired = transfer_rate * mixing * (p - self.symmetric_point());
            (probability, main + self.main.realized(desired, main), p)
        })
    }

    fn expectation(&self, main: f64, residual: f64, g: impl Fn(f64, f64) -> f64) -> f64 {
        self.next(main, residual).map(|(probability, w, p)| probability * g(w, p)).sum()
    }

    /// (1 − αγμq_min/2)(f(W̄) − f*) and αγσ²/q_min G(P)²: what both forms of the lemma share.
    fn shared_terms(&self, main: f64, residual: f64) -> [f64; 2] {
        let (min, fast) = (self.bounds().min, self.rates.learning_rate * self.rates.mixing);
        let gap = self.objective.value(self.effective_weight(main, residual));
        let penalty = fast * self.noise.variance() / min * self.residual.asymmetry(residual).powi(2);
        [(1.0 - 0.5 * fast * self.objective.strong_convexity * min) * gap, penalty]
    }

    /// α²γ²Lq_max²σ².
    fn noise_term(&self) -> f64 {
        let fast = self.rates.learning_rate * self.rates.mixing * self.bounds().max;
        fast * fast * self.objective.smoothness * self.noise.variance()
    }

    /// Descent of the lower level, `inequality:TT-barW-descent`. Needs α ≤ q_min/(4γLq_max²) and α ≤ 1/(γLq_min).
    pub fn effective_descent(&self, main: f64, residual: f64) -> Inequality {
        let [kept, penalty] = self.shared_terms(main, residual);
        let drift = 2.0 / (self.rates.learning_rate * self.rates.mixing * self.bounds().min)
            * self.expectation(main, residual, |w, _| (w - main).powi(2));
        let after = self.expectation(main, residual, |w, p| self.objective.value(self.effective_weight(w, p)));
        Inequality::between(&[after], &[kept, penalty, self.noise_term(), drift])
    }

    /// The same with W kept at W_k, `inequality:TT-P-in-barW-descent`. Needs α ≤ q_min/(2γLq_max²).
    pub fn half_descent(&self, main: f64, residual: f64) -> Inequality {
        let [kept, penalty] = self.shared_terms(main, residual);
        let after =
            self.expectation(main, residual, |_, p| self.objective.value(self.effective_weight(main, p)));
        Inequality::between(&[after], &[kept, penalty, 0.5 * self.noise_term()])
    }

    /// Descent of the upper level, `inequality:TT-W-descent`, for a given P_{k+1}. Needs β ≤ 1/(2q_max).
    pub fn main_descent(&self, main: f64, next_residual: f64) -> Inequality {
        let (LemmaRates { transfer_rate: beta, mixing, .. }, bounds) = (self.rates, self.bounds());
        let offset = next_residual - self.symmetric_point();
        let next = main + self.main.realized(beta * mixing * offset, main);
        let (target, next_target) = (-main / mixing, -next / mixing);
        let moved = (next - main).powi(2) / (2.0 * beta * mixing * mixing * bounds.max);
        Inequality::between(
            &[next_target * next_target],
            &[
                (1.0 - beta * bounds.min) * target * target,
                beta * bounds.max * (offset - target).powi(2),
                -moved,
            ],
        )
    }

    /// The contraction itself, `E[V_{k+1}]` ≤ (1 − ρ)V_k + 2α²γ²Lq_max²σ² (`inequality:TT-convergence-Lya-5`). Needs
    /// every condition of the coefficient lemma.
    pub fn contraction(&self, main: f64, residual: f64) -> Inequality {
        let kept = (1.0 - self.rates.contraction(self.bounds())) * self.lyapunov(main, residual);
        let after = self.expectation(main, residual, |w, p| self.lyapunov(w, p));
        Inequality::between(&[after], &[kept, 2.0 * self.noise_term()])
    }
}
