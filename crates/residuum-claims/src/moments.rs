//! Residual Learning without sampling: means and covariances of (W − W*, P − W⋄) under the recursion linearised at W⋄.
//!
//! What is left out is of second order in the spread of P over the width of its response.

use residuum::numeric::erfc;

/// One coordinate near its solution.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// h.
    pub curvature: f64,
    /// Standard deviation of the gradient.
    pub deviation: f64,
    /// α F(W⋄), with F the gain of P's cell.
    pub learning_rate: f64,
    /// β F(W*), with F the gain of W's cell.
    pub transfer_rate: f64,
    /// γ.
    pub mixing: f64,
    /// E|∇f| R'(W⋄): what the asymmetry of P's cell adds to the slope γh.
    pub stiffness: f64,
    /// R(W*) of W's cell.
    pub asymmetry: f64,
}

/// Second moments about the solution.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// E(W − W*)².
    pub main: f64,
    /// E(W̄ − W*)².
    pub effective: f64,
    /// Average of E(W̄ − W*)² over the last quarter of the steps.
    pub tail: f64,
}

impl Loop {
    /// After `steps` steps from W − W* = `start`, P = W⋄.
    pub fn after(&self, start: f64, steps: u64) -> Moments {
        let Self { curvature, deviation, learning_rate, transfer_rate, mixing, stiffness, asymmetry } = *self;
        let keep = 1.0 - learning_rate * (curvature * mixing + stiffness);
        let pull = learning_rate * curvature;
        let kick = (learning_rate * deviation).powi(2);
        let send = transfer_rate * mixing;
        let (mut w, mut p) = (start, 0.0);
        let (mut ww, mut wp, mut pp) = (0.0, 0.0, 0.0);
        let (mut effective, mut tail) = (start * start, 0.0);
        for k in 1..=steps {
            // P moves first, then W by the new P.
            p = keep * p - pull * w;
            (wp, pp) =
                (keep * wp - pull * ww, keep * keep * pp - 2.0 * keep * pull * wp + pull * pull * ww + kick);
            w += send * (p - asymmetry * modulus(p, pp.sqrt()));
            (ww, wp) = (ww + 2.0 * send * wp + send * send * pp, wp + send * pp);
            let mean = w + mixing * p;
            effective = mean * mean + ww + 2.0 * mixing * wp + mixing * mixing * pp;
            if k > steps - steps / 4 {
                tail += effective;
            }
        }
        Moments { main: w * w + ww, effective, tail: tail / (steps / 4).max(1) as f64 }
    }
}

/// E|X| of a Gaussian X.
pub fn modulus(mean: f64, deviation: f64) -> f64 {
    if deviation == 0.0 {
        return mean.abs();
    }
    let z = mean / deviation;
    let inside = 1.0 - erfc(z / std::f64::consts::SQRT_2);
    deviation * std::f64::consts::FRAC_2_PI.sqrt() * (-0.5 * z * z).exp() + mean * inside
}
