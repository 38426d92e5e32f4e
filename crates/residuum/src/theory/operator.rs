//! The lemmas on the analog operator A(·; Z), as both sides of each inequality (`lemma:lip-analog-update`,
//! `lemma:A-op-noisy`), together with the lines of their proofs that are false as printed.
//!
//! Z is fixed in all of them, so an [`Operator`] is just two branch values per coordinate.

use super::counterexample;
use crate::Bounds;
use crate::error::{ParameterError, positive, require, same_length};
use crate::response::ResponseFunction;

pub use counterexample::{NonMonotone, geometric_sum};

/// `smaller ≤ larger`, as a lemma claims it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inequality {
    /// The side claimed to be smaller.
    pub smaller: f64,
    /// The side claimed to be larger.
    pub larger: f64,
    /// Size of the terms that were added up: rounding errors are relative to it, not to the sides, which may cancel.
    pub scale: f64,
}

impl Inequality {
    /// From the terms of both sides.
    pub fn between(smaller: &[f64], larger: &[f64]) -> Self {
        Self {
            smaller: smaller.iter().sum(),
            larger: larger.iter().sum(),
            scale: smaller.iter().chain(larger).map(|t| t.abs()).sum(),
        }
    }

    /// How far the claim fails, relative to `scale`; zero or negative when it holds.
    pub fn violation(&self) -> f64 {
        if self.scale > 0.0 { (self.smaller - self.larger) / self.scale } else { 0.0 }
    }
}

/// Zero-mean noise on finitely many atoms: expectations over it are sums, without sampling error.
#[derive(Clone, Debug, PartialEq)]
pub struct FiniteNoise {
    probability: Vec<f64>,
    atoms: Vec<Vec<f64>>,
}

impl FiniteNoise {
    /// Atoms with their weights; weights are normalised and the mean is subtracted.
    ///
    /// # Errors
    /// If there is no atom, the lengths differ, or a weight is not positive.
    pub fn new(mut atoms: Vec<Vec<f64>>, mut weights: Vec<f64>) -> Result<Self, ParameterError> {
        require(!atoms.is_empty(), "number of atoms", "at least 1", 0.0)?;
        same_length("weights", atoms.len(), weights.len())?;
        for (atom, &weight) in atoms.iter().zip(&weights) {
            same_length("atom", atoms[0].len(), atom.len())?;
            positive("weight", weight)?;
        }
        let total: f64 = weights.iter().sum();
        for weight in &mut weights {
            *weight /= total;
        }
        for d in 0..atoms[0].len() {
            let mean: f64 = atoms.iter().zip(&weights).map(|(a, p)| p * a[d]).sum();
            for atom in &mut atoms {
                atom[d] -= mean;
            }
        }
        Ok(Self { probability: weights, atoms })
    }

    /// Scalar: σ√((1−p)/p) with probability p, else −σ√(p/(1−p)) (`eq:skewed-noise`).
    ///
    /// # Errors
    /// If `probability` is not inside (0, 1).
    pub fn two_point(deviation: f64, probability: f64) -> Result<Self, ParameterError> {
        let inside = probability > 0.0 && probability < 1.0;
        require(inside, "probability", "between 0 and 1, ends excluded", probability)?;
        let odds = ((1.0 - probability) / probability).sqrt();
        Self::new(vec![vec![deviation * odds], vec![-deviation / odds]], vec![probability, 1.0 - probability])
    }

    /// Scalar: the three-point Gauss–Hermite law, which has the first five moments of N(0, σ²).
    ///
    /// # Errors
    /// Never for a finite deviation.
    pub fn three_point(deviation: f64) -> Result<Self, ParameterError> {
        let far = 3f64.sqrt() * deviation;
        Self::new(vec![vec![-far], vec![0.0], vec![far]], vec![1.0, 4.0, 1.0])
    }

    /// Probability and value of each atom.
    pub fn atoms(&self) -> impl Iterator<Item = (f64, &[f64])> {
        self.probability.iter().copied().zip(self.atoms.iter().map(Vec::as_slice))
    }

    /// σ² = E‖ξ‖²: the total over coordinates, as `assumption:noise` has it.
    pub fn variance(&self) -> f64 {
        self.expectation(square)
    }

    /// `E[g(ξ)]`.
    pub fn expectation(&self, mut g: impl FnMut(&[f64]) -> f64) -> f64 {
        self.atoms().map(|(p, atom)| p * g(atom)).sum()
    }
}

/// A(·; Z) for one fixed state Z (`eq:A-component-representation`).
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    q_plus: Vec<f64>,
    q_minus: Vec<f64>,
    min: f64,
    max: f64,
}

impl Operator {
    /// From the branch values at Z; q_min and q_max are the extremes among them, the hardest case of each lemma.
    ///
    /// # Errors
    /// If the lengths differ or a value is not positive.
    pub fn new(q_plus: Vec<f64>, q_minus: Vec<f64>) -> Result<Self, ParameterError> {
        same_length("q_minus", q_plus.len(), q_minus.len())?;
        let (mut min, mut max) = (f64::INFINITY, 0.0f64);
        for &q in q_plus.iter().chain(&q_minus) {
            min = min.min(positive("q", q)?);
            max = max.max(q);
        }
        Ok(Self { q_plus, q_minus, min, max })
    }

    /// The operator of a response at `state`, with the bounds the theory uses for it.
    pub fn at(response: &dyn ResponseFunction, state: &[f64], bounds: Bounds) -> Self {
        Self {
            q_plus: state.iter().map(|&w| response.q_plus(w)).collect(),
            q_minus: state.iter().map(|&w| response.q_minus(w)).collect(),
            min: bounds.min,
            max: bounds.max,
        }
    }

    /// A(ΔZ; Z).
    pub fn realized(&self, desired: &[f64]) -> Vec<f64> {
        let branches = self.q_plus.iter().zip(&self.q_minus);
        desired.iter().zip(branches).map(|(&d, (p, m))| d * if d >= 0.0 { p } else { m }).collect()
    }

    /// The residual's step A(−α∇f; P) (`recursion:HD-P`).
    pub fn residual_step(&self, learning_rate: f64, gradient: &[f64]) -> Vec<f64> {
        self.realized(&gradient.iter().map(|g| -learning_rate * g).collect::<Vec<_>>())
    }

    /// The same step as the appendix prints it, −α A(∇f; P) (`inequality:TT-convergence-1-T2`). A is not odd, so
    /// this one flips the sign of the asymmetry: it is kept to show that it differs, and must not be run.
    pub fn residual_step_as_printed(&self, learning_rate: f64, gradient: &[f64]) -> Vec<f64> {
        self.realized(gradient).iter().map(|a| -learning_rate * a).collect()
    }

    /// ‖A(Δ₁; Z) − A(Δ₂; Z)‖ ≤ q_max ‖Δ₁ − Δ₂‖ (`eq:A-lip`): Lipschitz in the desired increment, A's *first*
    /// argument, where the lemma's text says the second.
    pub fn lipschitz(&self, first: &[f64], second: &[f64]) -> Inequality {
        let realized = difference(&self.realized(first), &self.realized(second));
        let desired = difference(first, second);
        Inequality::between(&[square(&realized).sqrt()], &[self.max * square(&desired).sqrt()])
    }

    /// (i) ⟨Δ, A(Δ)⟩ ≥ q_min ‖Δ‖² (`eq:A-mono`).
    pub fn coercivity(&self, desired: &[f64]) -> Inequality {
        Inequality::between(&[self.min * square(desired)], &[dot(desired, &self.realized(desired))])
    }

    /// (ii) ⟨Δ, A(Δ + δ)⟩ ≥ q_min/2 ‖Δ‖² + ‖A(Δ + δ)‖²/(2 q_max) − q_max/2 ‖δ‖² (`eq:A-perturbed-lower-young`).
    pub fn perturbed_coercivity(&self, desired: &[f64], perturbation: &[f64]) -> Inequality {
        let weaker = self.perturbed_coercivity_realized(desired, perturbation);
        let gain = 0.5 * self.min * square(desired);
        Inequality { smaller: weaker.smaller + gain, scale: weaker.scale + gain, ..weaker }
    }

    /// (ii), without the first term (`eq:A-perturbed-lower-realized-young`).
    pub fn perturbed_coercivity_realized(&self, desired: &[f64], perturbation: &[f64]) -> Inequality {
        let realized = self.realized(&sum(desired, perturbation));
        Inequality::between(
            &[square(&realized) / (2.0 * self.max), -0.5 * self.max * square(perturbation)],
            &[dot(desired, &realized)],
        )
    }

    /// (iii) E⟨Δ, A(Δ + δ)⟩ ≥ ¾ q_min ‖Δ‖² − σ²/q_min ‖G‖²_∞ (`eq:A-noisy-lower-young`).
    pub fn noisy_coercivity(&self, desired: &[f64], noise: &FiniteNoise) -> Inequality {
        let inner = noise.expectation(|xi| dot(desired, &self.realized(&sum(desired, xi))));
        let penalty = noise.variance() / self.min * self.largest_asymmetry().powi(2);
        Inequality::between(&[0.75 * self.min * square(desired), -penalty], &[inner])
    }

    /// First line of `eq:A-noisy-perturbation` as printed:
    /// E⟨Δ, (|Δ+δ| − |Δ|)⊙G⟩ ≥ **+**q_min/4 ‖Δ‖² − E‖(|Δ+δ| − |Δ|)⊙G‖²/q_min. False: δ = 0 refutes it.
    pub fn noisy_line_as_printed(&self, desired: &[f64], noise: &FiniteNoise) -> Inequality {
        let (inner, magnitude) = self.perturbed_magnitude(desired, noise);
        Inequality::between(&[0.25 * self.min * square(desired), -magnitude / self.min], &[inner])
    }

    /// The same line corrected: the bracket as the decomposition above it has it, and **−**q_min/4 ‖Δ‖². Young's
    /// inequality, and all that (iii) needs.
    pub fn noisy_line_corrected(&self, desired: &[f64], noise: &FiniteNoise) -> Inequality {
        let (inner, magnitude) = self.perturbed_magnitude(desired, noise);
        Inequality::between(&[-0.25 * self.min * square(desired), -magnitude / self.min], &[-inner])
    }

    /// The last two steps of the same chain as printed, `third ≥ fourth` and `fourth ≥ fifth`. The fourth line has
    /// a stray factor 1/q_min, so one of the two steps fails unless q_min = 1.
    pub fn noisy_chain_as_printed(&self, desired: &[f64], noise: &FiniteNoise) -> [Inequality; 2] {
        let kept = 0.25 * self.min * square(desired);
        let penalty = noise.variance() / self.min * self.largest_asymmetry().powi(2);
        let (line, stray) = ([kept, -penalty], [kept, -penalty / self.min]);
        [Inequality::between(&stray, &line), Inequality::between(&line, &stray)]
    }

    /// E⟨Δ, (|Δ+δ| − |Δ|)⊙G⟩ and E‖(|Δ+δ| − |Δ|)⊙G‖².
    fn perturbed_magnitude(&self, desired: &[f64], noise: &FiniteNoise) -> (f64, f64) {
        let bracket = |xi: &[f64]| -> Vec<f64> {
            (0..desired.len())
                .map(|d| ((desired[d] + xi[d]).abs() - desired[d].abs()) * self.asymmetry(d))
                .collect()
        };
        (noise.expectation(|xi| dot(desired, &bracket(xi))), noise.expectation(|xi| square(&bracket(xi))))
    }

    fn asymmetry(&self, d: usize) -> f64 {
        0.5 * (self.q_minus[d] - self.q_plus[d])
    }

    fn largest_asymmetry(&self) -> f64 {
        (0..self.q_plus.len()).map(|d| self.asymmetry(d).abs()).fold(0.0, f64::max)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn square(a: &[f64]) -> f64 {
    dot(a, a)
}

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}
