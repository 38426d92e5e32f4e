//! The penalized problem that Analog SGD solves instead of the given one (Definition `def:implicit-penalty`, Theorem
//! `theorem:implicit-regularization`).

use super::TheoryError;
use super::magnitude::{Magnitude, Sampling, gradient_magnitude};
use crate::cells::{Cells, symmetric_points};
use crate::numeric::{NewtonOptions, newton, solve};
use crate::objective::{Noisy, Objective};

/// f, φ and f_Σ = f + φ for one problem on one population of cells.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "objectives of users need no Debug")]
pub struct ImplicitPenalty<'a> {
    objective: &'a dyn Objective,
    cells: &'a dyn Cells,
    minimizer: Vec<f64>,
    symmetric_point: Vec<f64>,
    gradient_magnitude: Magnitude,
}

impl<'a> ImplicitPenalty<'a> {
    /// Takes Σ at W*. If the objective does not know its minimiser, it is the critical point that Newton's
    /// method reaches from W⋄.
    ///
    /// # Errors
    /// If a cell has no symmetric point, the sizes differ, or W* cannot be found.
    pub fn new(problem: &'a Noisy, cells: &'a dyn Cells, sampling: Sampling) -> Result<Self, TheoryError> {
        let objective = problem.objective();
        let symmetric_point = symmetric_points(cells, objective.dim(), "the implicit penalty")?;
        let minimizer = match objective.minimizer() {
            Some(known) => known.to_vec(),
            None => newton(|w, out| objective.gradient(w, out), &symmetric_point, NewtonOptions::default())
                .map_err(|source| TheoryError::Unsolved { what: "minimizer", source })?,
        };
        let gradient_magnitude = gradient_magnitude(problem, &minimizer, sampling);
        Ok(Self { objective, cells, minimizer, symmetric_point, gradient_magnitude })
    }

    /// W*.
    pub fn minimizer(&self) -> &[f64] {
        &self.minimizer
    }

    /// W⋄.
    pub fn symmetric_point(&self) -> &[f64] {
        &self.symmetric_point
    }

    /// Σ = E|∇f(W*; ξ)|.
    pub fn gradient_magnitude(&self) -> &Magnitude {
        &self.gradient_magnitude
    }

    /// φ(w) = ⟨Σ, R_c(w)⟩.
    pub fn implicit_penalty(&self, w: &[f64]) -> f64 {
        let weighted =
            |(i, (sigma, &w)): (usize, (&f64, &f64))| sigma * self.cells.response(i).asymmetry_potential(w);
        self.gradient_magnitude.value.iter().zip(w).enumerate().map(weighted).sum()
    }

    /// f_Σ(w) = f(w) + φ(w) (`problem:implicit-regularization`).
    pub fn penalized_objective(&self, w: &[f64]) -> f64 {
        self.objective.value(w) + self.implicit_penalty(w)
    }

    /// ∇f_Σ(w) = ∇f(w) + Σ ⊙ R(w).
    pub fn penalized_gradient(&self, w: &[f64], out: &mut [f64]) {
        self.objective.gradient(w, out);
        for (i, (g, sigma)) in out.iter_mut().zip(&self.gradient_magnitude.value).enumerate() {
            *g += sigma * self.cells.response(i).asymmetry_ratio(w[i]);
        }
    }

    /// W̃* = H⁻¹(∇²f(W*) W* + Diag(Σ) J_R(W⋄) W⋄) with H = ∇²f(W*) + Diag(Σ) J_R(W⋄)
    /// (`problem:implicit-regularization-solution`): the minimum of f_Σ if R is replaced by its tangent at W⋄.
    ///
    /// A local approximation. Analog SGD converges to the zero of the mean drift, see
    /// [`fixed_point`](super::fixed_point).
    ///
    /// # Errors
    /// If H is singular.
    pub fn penalized_minimizer(&self) -> Result<Vec<f64>, TheoryError> {
        let n = self.minimizer.len();
        let mut matrix = self.objective.hessian(&self.minimizer);
        let mut pull = vec![0.0; n];
        for i in 0..n {
            let slope = self.cells.response(i).asymmetry_ratio_derivative(self.symmetric_point[i]);
            let weight = self.gradient_magnitude.value[i] * slope;
            matrix[i * n + i] += weight;
            // H(W̃* − W*) = Diag(Σ) J_R (W⋄ − W*): the same equation, without cancellation when both are close.
            pull[i] = weight * (self.symmetric_point[i] - self.minimizer[i]);
        }
        let step = solve(&matrix, &pull).ok_or(TheoryError::Singular { what: "penalized_minimizer" })?;
        Ok(self.minimizer.iter().zip(step).map(|(w, s)| w + s).collect())
    }

    /// A zero of ∇f_Σ by damped Newton from W̃*: the minimiser of f_Σ when f is convex and R increasing.
    ///
    /// # Errors
    /// If W̃* does not exist, Newton's method fails, or its result lies outside the dynamic range.
    pub fn argmin(&self) -> Result<Vec<f64>, TheoryError> {
        let start = self.penalized_minimizer()?;
        let what = "argmin of the penalized objective";
        let found = newton(|w, out| self.penalized_gradient(w, out), &start, NewtonOptions::default())
            .map_err(|source| TheoryError::Unsolved { what, source })?;
        inside(what, self.cells, found)
    }
}

/// The point, if every coordinate lies in the dynamic range of its cell.
pub(super) fn inside(what: &'static str, cells: &dyn Cells, w: Vec<f64>) -> Result<Vec<f64>, TheoryError> {
    for (index, &value) in w.iter().enumerate() {
        let range = cells.response(index).range();
        if !range.contains(value) {
            return Err(TheoryError::OutsideRange { what, index, range, value });
        }
    }
    Ok(w)
}
