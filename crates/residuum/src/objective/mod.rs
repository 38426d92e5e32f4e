//! Problems: objectives to minimise, and the noise of their gradients.

mod data;
pub(crate) mod noise;
mod quadratic;

pub use data::{LeastSquares, Logistic};
pub(crate) use noise::folded_normal;
pub use noise::{Noise, Noisy};
pub use quadratic::{DenseQuadratic, DiagonalQuadratic};

use crate::Key;

/// A differentiable function of the weights. Implement the first four methods to define your own.
pub trait Objective: Send + Sync {
    /// Number of weights D.
    fn dim(&self) -> usize;

    /// f(w).
    fn value(&self, w: &[f64]) -> f64;

    /// ∇f(w).
    fn gradient(&self, w: &[f64], out: &mut [f64]);

    /// Name for reports.
    fn describe(&self) -> String;

    /// W*, if it is known.
    fn minimizer(&self) -> Option<&[f64]> {
        None
    }

    /// ∇²f(w), row-major D×D; central differences of the gradient unless overridden.
    fn hessian(&self, w: &[f64]) -> Vec<f64> {
        let n = self.dim();
        let (mut at, mut hessian) = (w.to_vec(), vec![0.0; n * n]);
        let (mut up, mut down) = (vec![0.0; n], vec![0.0; n]);
        for j in 0..n {
            let h = 6e-6 * (1.0 + w[j].abs());
            at[j] = w[j] + h;
            self.gradient(&at, &mut up);
            at[j] = w[j] - h;
            self.gradient(&at, &mut down);
            at[j] = w[j];
            for i in 0..n {
                hessian[i * n + j] = (up[i] - down[i]) / (2.0 * h);
            }
        }
        hessian
    }

    /// (μ, L): constants of strong convexity and smoothness, if they are known.
    fn curvature(&self) -> Option<(f64, f64)> {
        None
    }

    /// The objective as an average over samples, if it is one.
    fn finite_sum(&self) -> Option<&dyn FiniteSum> {
        None
    }
}

/// An objective f = (1/n) Σ fᵢ, whose mini-batch gradients are the noise.
pub trait FiniteSum: Send + Sync {
    /// Number of samples n.
    fn samples(&self) -> usize;

    /// Adds `weight · ∇fᵢ(w)` to `out`.
    fn add_sample_gradient(&self, i: usize, w: &[f64], weight: f64, out: &mut [f64]);
}

/// A source of stochastic gradients ∇f(w; ξ_k).
pub trait GradientOracle: Send + Sync {
    /// Number of weights.
    fn dim(&self) -> usize;

    /// The gradient of step k at `at`. The draw is decided by `(key, k)` alone, so two rules that hold the same
    /// key meet the same ξ_k.
    fn sample(&self, k: u64, at: &[f64], key: Key, out: &mut [f64]);

    /// Additive noise of step k, when ∇f(w; ξ) = ∇f(w) + ξ with ξ independent of w: writes ξ_k and returns true.
    /// Lets several rules share one draw.
    fn shared_noise(&self, k: u64, key: Key, out: &mut [f64]) -> bool;

    /// ∇f(at) + noise, with noise from [`GradientOracle::shared_noise`].
    fn with_noise(&self, at: &[f64], noise: &[f64], out: &mut [f64]);
}
