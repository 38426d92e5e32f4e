use super::{FiniteSum, Objective};
use crate::error::{ParameterError, all_finite, non_negative, require, same_length};
use crate::numeric;

/// Rows of features with one target each, shared by both data objectives.
#[derive(Clone, Debug, PartialEq)]
struct Samples {
    features: Vec<f64>,
    targets: Vec<f64>,
    dim: usize,
    ridge: f64,
}

impl Samples {
    fn new(features: Vec<f64>, targets: Vec<f64>, ridge: f64) -> Result<Self, ParameterError> {
        require(!targets.is_empty(), "targets", "at least one sample", 0.0)?;
        let dim = features.len() / targets.len();
        require(dim > 0, "features", "at least one per sample", features.len() as f64)?;
        same_length("features", dim * targets.len(), features.len())?;
        all_finite("features", &features)?;
        all_finite("targets", &targets)?;
        Ok(Self { features, targets, dim, ridge: non_negative("ridge", ridge)? })
    }

    fn n(&self) -> usize {
        self.targets.len()
    }

    fn predict(&self, i: usize, w: &[f64]) -> f64 {
        self.row(i).iter().zip(w).map(|(x, w)| x * w).sum()
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.features[i * self.dim..(i + 1) * self.dim]
    }

    fn ridge_value(&self, w: &[f64]) -> f64 {
        0.5 * self.ridge * w.iter().map(|w| w * w).sum::<f64>()
    }

    /// Adds `weight · (slope · x_i + ridge · w)`.
    fn add(&self, i: usize, w: &[f64], slope: f64, weight: f64, out: &mut [f64]) {
        for ((g, x), w) in out.iter_mut().zip(self.row(i)).zip(w) {
            *g += weight * (slope * x + self.ridge * w);
        }
    }

    /// (1/n) Σ curvature_i · x_i x_iᵀ + ridge · I.
    fn weighted_gram(&self, curvature: impl Fn(usize) -> f64) -> Vec<f64> {
        let (n, d) = (self.n(), self.dim);
        let mut gram = vec![0.0; d * d];
        for i in 0..n {
            let (c, row) = (curvature(i) / n as f64, self.row(i));
            for a in 0..d {
                for b in 0..d {
                    gram[a * d + b] += c * row[a] * row[b];
                }
            }
        }
        for a in 0..d {
            gram[a * d + a] += self.ridge;
        }
        gram
    }
}

/// f(w) = (1/2n) ‖Xw − y‖² + (ridge/2) ‖w‖².
#[derive(Clone, Debug, PartialEq)]
pub struct LeastSquares {
    samples: Samples,
    minimizer: Vec<f64>,
    extremes: (f64, f64),
}

impl LeastSquares {
    /// From row-major features (n×D), targets (n) and a ridge ≥ 0.
    ///
    /// # Errors
    /// If shapes do not fit, a number is not finite, or the problem has no unique minimiser.
    pub fn new(features: Vec<f64>, targets: Vec<f64>, ridge: f64) -> Result<Self, ParameterError> {
        let samples = Samples::new(features, targets, ridge)?;
        let (n, d) = (samples.n(), samples.dim);
        let gram = samples.weighted_gram(|_| 1.0);
        let eigenvalues = numeric::symmetric_eigenvalues(&gram, d);
        let min = eigenvalues.iter().copied().fold(f64::INFINITY, f64::min);
        let max = eigenvalues.iter().copied().fold(0.0, f64::max);
        let unique = min > 1e-12 * max;
        let mut moment = vec![0.0; d];
        for i in 0..n {
            for (m, x) in moment.iter_mut().zip(samples.row(i)) {
                *m += x * samples.targets[i] / n as f64;
            }
        }
        let solution = if unique { numeric::solve(&gram, &moment) } else { None };
        let Some(minimizer) = solution else {
            return Err(ParameterError::Matrix {
                name: "features",
                must: "of full column rank unless ridge is positive",
                property: "smallest eigenvalue of XᵀX/n + ridge",
                value: min,
            });
        };
        Ok(Self { samples, minimizer, extremes: (min, max) })
    }
}

impl Objective for LeastSquares {
    fn dim(&self) -> usize {
        self.samples.dim
    }
    fn value(&self, w: &[f64]) -> f64 {
        let s = &self.samples;
        let sum: f64 = (0..s.n()).map(|i| (s.predict(i, w) - s.targets[i]).powi(2)).sum();
        0.5 * sum / s.n() as f64 + s.ridge_value(w)
    }
    fn gradient(&self, w: &[f64], out: &mut [f64]) {
        full_gradient(self, w, out);
    }
    fn describe(&self) -> String {
        format!("least squares, {} samples, D = {}", self.samples.n(), self.samples.dim)
    }
    fn minimizer(&self) -> Option<&[f64]> {
        Some(&self.minimizer)
    }
    fn hessian(&self, _: &[f64]) -> Vec<f64> {
        self.samples.weighted_gram(|_| 1.0)
    }
    fn curvature(&self) -> Option<(f64, f64)> {
        Some(self.extremes)
    }
    fn finite_sum(&self) -> Option<&dyn FiniteSum> {
        Some(self)
    }
}

impl FiniteSum for LeastSquares {
    fn samples(&self) -> usize {
        self.samples.n()
    }
    fn add_sample_gradient(&self, i: usize, w: &[f64], weight: f64, out: &mut [f64]) {
        let slope = self.samples.predict(i, w) - self.samples.targets[i];
        self.samples.add(i, w, slope, weight, out);
    }
}

/// f(w) = (1/n) Σ ln(1 + e^{−y xᵀw}) + (ridge/2) ‖w‖², targets y = ±1, ridge > 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Logistic {
    samples: Samples,
    minimizer: Vec<f64>,
    extremes: (f64, f64),
}

impl Logistic {
    /// From row-major features (n×D), targets ±1 and a positive ridge (without it separable data have no
    /// minimiser).
    ///
    /// # Errors
    /// If shapes do not fit, a target is not ±1, or the ridge is not positive.
    pub fn new(features: Vec<f64>, targets: Vec<f64>, ridge: f64) -> Result<Self, ParameterError> {
        crate::error::positive("ridge", ridge)?;
        let samples = Samples::new(features, targets, ridge)?;
        if let Some(&bad) = samples.targets.iter().find(|t| t.abs() != 1.0) {
            return Err(ParameterError::OutOfDomain { name: "target", must: "+1 or -1", value: bad });
        }
        let gram = samples.weighted_gram(|_| 0.25);
        let max = numeric::symmetric_eigenvalues(&gram, samples.dim).into_iter().fold(0.0, f64::max);
        let mut problem = Self { minimizer: vec![0.0; samples.dim], samples, extremes: (ridge, max) };
        problem.minimizer = problem.newton();
        Ok(problem)
    }

    /// Damped Newton from 0; the objective is strictly convex, so it ends at W*.
    fn newton(&self) -> Vec<f64> {
        let d = self.samples.dim;
        let (mut w, mut g) = (vec![0.0; d], vec![0.0; d]);
        for _ in 0..100 {
            self.gradient(&w, &mut g);
            if g.iter().map(|g| g * g).sum::<f64>().sqrt() < 1e-15 {
                break;
            }
            let Some(step) = numeric::solve(&self.hessian(&w), &g) else { break };
            let (value, mut t) = (self.value(&w), 1.0);
            let mut next = w.clone();
            while t > 1e-10 {
                next = w.iter().zip(&step).map(|(w, s)| w - t * s).collect();
                if self.value(&next) <= value {
                    break;
                }
                t *= 0.5;
            }
            if next == w {
                break;
            }
            w = next;
        }
        w
    }

    /// (ln(1 + e^{−m}), −σ(−m)) at the margin m, without overflow.
    fn loss(margin: f64) -> (f64, f64) {
        let e = (-margin.abs()).exp();
        let value = e.ln_1p() + (-margin).max(0.0);
        let sigmoid = if margin > 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) };
        (value, -sigmoid)
    }
}

impl Objective for Logistic {
    fn dim(&self) -> usize {
        self.samples.dim
    }
    fn value(&self, w: &[f64]) -> f64 {
        let s = &self.samples;
        let sum: f64 = (0..s.n()).map(|i| Self::loss(s.targets[i] * s.predict(i, w)).0).sum();
        sum / s.n() as f64 + s.ridge_value(w)
    }
    fn gradient(&self, w: &[f64], out: &mut [f64]) {
        full_gradient(self, w, out);
    }
    fn describe(&self) -> String {
        format!("logistic regression, {} samples, D = {}", self.samples.n(), self.samples.dim)
    }
    fn minimizer(&self) -> Option<&[f64]> {
        Some(&self.minimizer)
    }
    fn hessian(&self, w: &[f64]) -> Vec<f64> {
        self.samples.weighted_gram(|i| {
            let s = -Self::loss(self.samples.targets[i] * self.samples.predict(i, w)).1;
            s * (1.0 - s)
        })
    }
    fn curvature(&self) -> Option<(f64, f64)> {
        Some(self.extremes)
    }
    fn finite_sum(&self) -> Option<&dyn FiniteSum> {
        Some(self)
    }
}

impl FiniteSum for Logistic {
    fn samples(&self) -> usize {
        self.samples.n()
    }
    fn add_sample_gradient(&self, i: usize, w: &[f64], weight: f64, out: &mut [f64]) {
        let y = self.samples.targets[i];
        let slope = y * Self::loss(y * self.samples.predict(i, w)).1;
        self.samples.add(i, w, slope, weight, out);
    }
}

fn full_gradient(sum: &dyn FiniteSum, w: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    let weight = 1.0 / sum.samples() as f64;
    for i in 0..sum.samples() {
        sum.add_sample_gradient(i, w, weight, out);
    }
}
