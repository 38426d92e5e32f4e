//! E|∇f(w; ξ)|, the vector through which noise meets asymmetry.

use crate::Key;
use crate::objective::{FiniteSum, GradientOracle, Noise, Noisy};
use crate::stats::Summary;

/// Sampling for laws with neither a closed form nor few enough outcomes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Number of draws, at least 2.
    pub draws: u64,
    /// Decides the draws; the same at every point, so that a sampled expectation is a fixed function of the weights.
    pub key: Key,
}

impl Sampling {
    /// 4096 draws from `key`: a relative standard error of about 1 %.
    pub fn new(key: Key) -> Self {
        Self { draws: 4096, key }
    }
}

/// An expected magnitude, with its standard error where it was sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct Magnitude {
    /// E|∇f(w; ξ)| by coordinate.
    pub value: Vec<f64>,
    /// Standard errors by coordinate, or `None` if the value is exact.
    pub standard_error: Option<Vec<f64>>,
}

/// Batches are enumerated up to this many ordered draws.
const MAX_OUTCOMES: usize = 1 << 16;

/// E|∇f(w; ξ)| at `at`: a closed form for additive laws, an average over every batch where there are few, draws
/// otherwise.
pub fn gradient_magnitude(problem: &Noisy, at: &[f64], sampling: Sampling) -> Magnitude {
    let mut mean = vec![0.0; at.len()];
    problem.objective().gradient(at, &mut mean);
    if let Some(value) = mean.iter().map(|&m| problem.noise().expected_magnitude(m)).collect() {
        return Magnitude { value, standard_error: None };
    }
    match (problem.noise(), problem.objective().finite_sum()) {
        (Noise::Recorded { values, columns }, _) => exact(over_rows(&mean, values, *columns)),
        (Noise::MiniBatch { batch }, Some(sum)) => match outcomes(sum.samples(), *batch) {
            Some(count) => exact(over_batches(sum, *batch, count, at)),
            None => sampled(problem, at, sampling),
        },
        _ => sampled(problem, at, sampling),
    }
}

fn exact(value: Vec<f64>) -> Magnitude {
    Magnitude { value, standard_error: None }
}

fn over_rows(mean: &[f64], values: &[f64], columns: usize) -> Vec<f64> {
    let rows = values.len() / columns;
    let average = |d: usize| (0..rows).map(|r| (mean[d] + values[r * columns + d]).abs()).sum::<f64>();
    (0..mean.len()).map(|d| average(d) / rows as f64).collect()
}

/// Number of ordered batches, if they are few.
fn outcomes(samples: usize, batch: usize) -> Option<usize> {
    u32::try_from(batch).ok().and_then(|b| samples.checked_pow(b)).filter(|&n| n <= MAX_OUTCOMES)
}

fn over_batches(sum: &dyn FiniteSum, batch: usize, count: usize, at: &[f64]) -> Vec<f64> {
    let (n, dim) = (sum.samples(), at.len());
    let mut gradients = vec![0.0; n * dim];
    for (i, row) in gradients.chunks_exact_mut(dim).enumerate() {
        sum.add_sample_gradient(i, at, 1.0 / batch as f64, row);
    }
    let mut value = vec![0.0; dim];
    for outcome in 0..count {
        for (d, value) in value.iter_mut().enumerate() {
            // The digits of `outcome` in base n are the samples of the batch.
            let (mut rest, mut gradient) = (outcome, 0.0);
            for _ in 0..batch {
                gradient += gradients[rest % n * dim + d];
                rest /= n;
            }
            *value += gradient.abs();
        }
    }
    value.into_iter().map(|v| v / count as f64).collect()
}

fn sampled(problem: &Noisy, at: &[f64], sampling: Sampling) -> Magnitude {
    let (dim, draws) = (at.len(), sampling.draws.max(2));
    let mut rows = vec![0.0; draws as usize * dim];
    for (k, row) in (0..draws).zip(rows.chunks_exact_mut(dim)) {
        problem.sample(k, at, sampling.key, row);
    }
    let by_coordinate = |d: usize| Summary::of(rows.iter().skip(d).step_by(dim).map(|g| g.abs()));
    let summaries: Vec<Summary> = (0..dim).map(by_coordinate).collect();
    Magnitude {
        value: summaries.iter().map(|s| s.mean).collect(),
        standard_error: Some(summaries.iter().map(|s| s.se).collect()),
    }
}

/// E‖∇f(W*; ξ) − ∇f(W*)‖², the total noise variance σ² of the convergence theorem, at the minimiser (at 0 if it is
/// not known). Exact for every law.
pub fn noise_variance(problem: &Noisy) -> f64 {
    let (objective, dim) = (problem.objective(), problem.objective().dim());
    match (problem.noise(), objective.finite_sum()) {
        (Noise::None, _) => 0.0,
        (
            Noise::Gaussian { deviation } | Noise::TwoPoint { deviation, .. } | Noise::Cosine { deviation },
            _,
        ) => dim as f64 * deviation * deviation,
        (Noise::Recorded { values, columns }, _) => {
            let copies = (dim / columns) as f64;
            copies * values.iter().map(|x| x * x).sum::<f64>() / (values.len() / columns) as f64
        }
        (Noise::MiniBatch { batch }, Some(sum)) => {
            let at = objective.minimizer().map_or_else(|| vec![0.0; dim], <[f64]>::to_vec);
            let (mut mean, mut total) = (vec![0.0; dim], 0.0);
            objective.gradient(&at, &mut mean);
            for i in 0..sum.samples() {
                let mut gradient: Vec<f64> = mean.iter().map(|g| -g).collect();
                sum.add_sample_gradient(i, &at, 1.0, &mut gradient);
                total += gradient.iter().map(|g| g * g).sum::<f64>();
            }
            total / (sum.samples() * batch) as f64
        }
        (Noise::MiniBatch { .. }, None) => unreachable!("Noisy::new refuses mini-batches of other objectives"),
    }
}
