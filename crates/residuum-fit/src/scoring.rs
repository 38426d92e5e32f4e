//! Maximum likelihood by Fisher scoring.
//!
//! With surprises v of variance S, a read contributes −½(ln S + v²/S) to the log-likelihood, −v∂v/S − ½∂S(1/S − v²/S²) to the score and
//! ∂v∂vᵀ/S + ½∂S∂Sᵀ/S² to the information. The derivatives are differences of whole filter passes, one per parameter. Contributions
//! of successive reads are uncorrelated, which is what lets units of reads be drawn again by the bootstrap.

use residuum::numeric;

use crate::curve::{Curve, CurveFamily};
use crate::filter::{LANES, Noise, Prepared, StepTable, Surprises, filter};
use crate::measurement::Direction;

/// Parameters of the noise, after those of the curve: v_r, v_a, v_p.
pub(crate) const NOISES: usize = 3;
/// Iterations before giving up.
const ITERATIONS: usize = 60;
/// A rise of the log-likelihood that is not worth another pass.
const ENOUGH: f64 = 1e-3;

/// A model on the ramps of one device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Likelihood<'a> {
    pub(crate) model: CurveFamily,
    pub(crate) ramps: &'a Prepared,
    /// Whether write noise may grow with the step: not for constant steps, whose two noises are one.
    pub(crate) proportional: bool,
}

/// Contributions of each unit.
#[derive(Clone, Debug)]
pub(crate) struct Units {
    /// Number of parameters.
    pub(crate) dimension: usize,
    pub(crate) log_likelihood: Vec<f64>,
    /// Row by row.
    pub(crate) score: Vec<f64>,
    /// Upper triangles, row by row.
    pub(crate) information: Vec<f64>,
}

/// Where the likelihood is largest.
#[derive(Clone, Debug)]
pub(crate) struct Maximum {
    pub(crate) parameters: Vec<f64>,
    pub(crate) log_likelihood: f64,
    pub(crate) units: Units,
    /// Parameters held at a limit.
    pub(crate) held: Vec<bool>,
    pub(crate) converged: bool,
}

impl Likelihood<'_> {
    fn dimension(&self) -> usize {
        self.model.dimension() + NOISES
    }

    fn noise(&self, parameters: &[f64]) -> Noise {
        let n = self.model.dimension();
        Noise { read: parameters[n].max(1e-300), additive: parameters[n + 1], proportional: parameters[n + 2] }
    }

    fn pass(&self, parameters: &[f64], only: Option<usize>, into: &mut Surprises) {
        let n = self.model.dimension();
        let curve = Curve { model: self.model, parameters: parameters[..n].to_vec() };
        let noise = self.noise(parameters);
        for direction in [Direction::Up, Direction::Down] {
            if only.is_some_and(|i| i < n && !self.model.affects(i, direction)) {
                continue;
            }
            let steps = StepTable::new(&curve, direction);
            for batch in self.ramps.batches.iter().filter(|batch| batch.direction == direction) {
                filter(batch, &steps, noise, into);
            }
        }
    }

    /// The surprises at these parameters.
    pub(crate) fn surprises(&self, parameters: &[f64]) -> Surprises {
        let mut surprises = Surprises::new(self.ramps.size);
        self.pass(parameters, None, &mut surprises);
        surprises
    }

    /// The log-likelihood alone.
    pub(crate) fn value(&self, parameters: &[f64], scratch: &mut Surprises) -> f64 {
        self.pass(parameters, None, scratch);
        let pairs = scratch.value.chunks(8).zip(scratch.variance.chunks(8));
        // The logarithm of a product of a few variances of one size.
        let sum: f64 = pairs
            .map(|(v, s)| {
                let squares: f64 = v.iter().zip(s).map(|(v, s)| v * v / s).sum();
                let product: f64 = s.iter().product();
                squares + if product > 1e-290 { product.ln() } else { s.iter().map(|s| s.ln()).sum() }
            })
            .sum();
        -0.5 * (sum + self.ramps.reads as f64 * std::f64::consts::TAU.ln())
    }

    fn limits(&self, parameter: usize) -> (f64, f64) {
        let n = self.model.dimension();
        if parameter < n {
            self.model.limits(parameter)
        } else if parameter == n + 2 && !self.proportional {
            (0.0, 0.0)
        } else {
            (0.0, f64::INFINITY)
        }
    }

    /// A change of each parameter that is small against what matters.
    fn increments(&self, parameters: &[f64]) -> Vec<f64> {
        const SMALL: f64 = 1e-5;
        let n = self.model.dimension();
        let curve = Curve { model: self.model, parameters: parameters[..n].to_vec() };
        let step = (0..5).map(|i| curve.gain(-0.8 + 0.4 * f64::from(i)).abs()).fold(1e-12, f64::max);
        let noise = self.noise(parameters);
        let total = noise.read + noise.additive + noise.proportional * step * step;
        let mut sizes: Vec<f64> = parameters[..n].iter().map(|p| SMALL * p.abs().max(0.1 * step)).collect();
        // Places and shapes are of order one, whatever the step.
        for (i, size) in sizes.iter_mut().enumerate() {
            let place = match self.model {
                CurveFamily::Power | CurveFamily::Exponential => i >= 2,
                CurveFamily::Tanh => i >= 1,
                _ => false,
            };
            *size = if place { SMALL * parameters[i].abs().max(0.1) } else { *size };
        }
        sizes.extend([SMALL * total, SMALL * total, SMALL * total / (step * step)]);
        // At an upper limit the difference is taken downwards.
        for (i, size) in sizes.iter_mut().enumerate() {
            if parameters[i] + *size > self.limits(i).1 && self.limits(i).1 > self.limits(i).0 {
                *size = -*size;
            }
        }
        sizes
    }

    /// Score and information of every unit.
    pub(crate) fn units(&self, parameters: &[f64]) -> Units {
        let dimension = self.dimension();
        let base = self.surprises(parameters);
        let sizes = self.increments(parameters);
        let per_size: Vec<f64> = sizes.iter().map(|size| 1.0 / size).collect();
        let mut moved = parameters.to_vec();
        let changed: Vec<Surprises> = (0..dimension)
            .map(|i| {
                // Where a parameter does not matter the surprises stay.
                let mut surprises = base.clone();
                if self.limits(i).0 < self.limits(i).1 {
                    moved[i] += sizes[i];
                    self.pass(&moved, Some(i), &mut surprises);
                    moved[i] = parameters[i];
                }
                surprises
            })
            .collect();
        let triangle = dimension * (dimension + 1) / 2;
        let count = self.ramps.units.len();
        let mut units = Units {
            dimension,
            log_likelihood: vec![0.0; count],
            score: vec![0.0; count * dimension],
            information: vec![0.0; count * triangle],
        };
        let ln_tau = std::f64::consts::TAU.ln();
        for batch in &self.ramps.batches {
            let active: Vec<usize> = (0..dimension)
                .filter(|&i| i >= self.model.dimension() || self.model.affects(i, batch.direction))
                .collect();
            let mut dv = vec![0.0; active.len()];
            let mut ds = vec![0.0; active.len()];
            for (t, row) in batch.reads.chunks_exact(LANES).enumerate().skip(1) {
                for (lane, y) in row.iter().enumerate().filter(|(_, y)| !y.is_nan()) {
                    debug_assert!(y.is_finite(), "reads are finite or missing");
                    let at = batch.start + t * LANES + lane;
                    let own = &batch.units[lane];
                    let unit = own[(t / self.ramps.block).min(own.len() - 1)];
                    let (v, s) = (base.value[at], base.variance[at]);
                    let inverse = 1.0 / s;
                    units.log_likelihood[unit] -= 0.5 * (s.ln() + v * v * inverse + ln_tau);
                    let excess = 0.5 * (v * v * inverse - 1.0) * inverse;
                    for (k, &i) in active.iter().enumerate() {
                        dv[k] = (changed[i].value[at] - v) * per_size[i];
                        ds[k] = (changed[i].variance[at] - s) * per_size[i];
                    }
                    let score = &mut units.score[unit * dimension..(unit + 1) * dimension];
                    let information = &mut units.information[unit * triangle..(unit + 1) * triangle];
                    for (k, &i) in active.iter().enumerate() {
                        score[i] += excess * ds[k] - v * inverse * dv[k];
                        let (a, b) = (dv[k] * inverse, 0.5 * ds[k] * inverse * inverse);
                        // Row i of the triangle begins at column i.
                        let row = i * dimension - i * (i + 1) / 2;
                        for (l, &j) in active.iter().enumerate().skip(k) {
                            information[row + j] += a * dv[l] + b * ds[l];
                        }
                    }
                }
            }
        }
        units
    }

    /// Climbs from `start`.
    pub(crate) fn maximize(&self, start: &[f64]) -> Maximum {
        let dimension = self.dimension();
        let clamp = |parameters: &mut [f64]| {
            for (i, p) in parameters.iter_mut().enumerate() {
                let (lo, hi) = self.limits(i);
                *p = p.clamp(lo, hi);
            }
        };
        let mut parameters = start.to_vec();
        clamp(&mut parameters);
        let mut scratch = Surprises::new(self.ramps.size);
        let mut value = self.value(&parameters, &mut scratch);
        let mut units = self.units(&parameters);
        let (mut damping, mut converged) = (1e-3, false);
        for _ in 0..ITERATIONS {
            let weights = vec![1.0; units.log_likelihood.len()];
            let (score, information) = units.sums(&weights);
            let free = self.free(&parameters, &score);
            let mut accepted = None;
            while damping < 1e9 {
                let Some(step) = newton_step(&score, &information, &free, damping) else {
                    damping *= 10.0;
                    continue;
                };
                let mut trial: Vec<f64> = parameters.iter().zip(&step).map(|(p, s)| p + s).collect();
                clamp(&mut trial);
                let risen = self.value(&trial, &mut scratch);
                if risen >= value - 1e-9 && risen.is_finite() {
                    accepted = Some((trial, risen));
                    damping = (damping * 0.2).max(1e-9);
                    break;
                }
                damping *= 6.0;
            }
            let Some((trial, risen)) = accepted else {
                converged = true;
                break;
            };
            let gained = risen - value;
            (parameters, value) = (trial, risen);
            units = self.units(&parameters);
            if gained < ENOUGH {
                converged = true;
                break;
            }
        }
        let (score, _) = units.sums(&vec![1.0; units.log_likelihood.len()]);
        let free = self.free(&parameters, &score);
        let held = (0..dimension).map(|i| !free[i]).collect();
        Maximum { parameters, log_likelihood: value, units, held, converged }
    }

    /// Parameters that are not held at a limit.
    fn free(&self, parameters: &[f64], score: &[f64]) -> Vec<bool> {
        (0..self.dimension())
            .map(|i| {
                let (lo, hi) = self.limits(i);
                lo < hi && !(parameters[i] <= lo && score[i] < 0.0) && !(parameters[i] >= hi && score[i] > 0.0)
            })
            .collect()
    }
}

/// (I + damping·Diag I)⁻¹ score on the free parameters; 0 on the others and where there is no information.
pub(crate) fn newton_step(score: &[f64], information: &[f64], free: &[bool], damping: f64) -> Option<Vec<f64>> {
    let n = score.len();
    let at = |i: usize, j: usize| information[i * n + j];
    let largest = (0..n).map(|i| at(i, i)).fold(0.0, f64::max);
    let used: Vec<usize> = (0..n).filter(|&i| free[i] && at(i, i) > 1e-14 * largest.min(1.0)).collect();
    let m = used.len();
    let mut matrix = vec![0.0; m * m];
    for (a, &i) in used.iter().enumerate() {
        for (b, &j) in used.iter().enumerate() {
            matrix[a * m + b] = at(i, j) * if a == b { 1.0 + damping } else { 1.0 };
        }
    }
    // Parameters differ in size by many powers of ten: scale the diagonal to 1.
    let scale: Vec<f64> = (0..m).map(|a| 1.0 / matrix[a * m + a].sqrt()).collect();
    for a in 0..m {
        for b in 0..m {
            matrix[a * m + b] *= scale[a] * scale[b];
        }
    }
    let rhs: Vec<f64> = used.iter().zip(&scale).map(|(&i, s)| score[i] * s).collect();
    let solved = numeric::solve(&matrix, &rhs)?;
    let mut step = vec![0.0; n];
    for ((&i, s), x) in used.iter().zip(&scale).zip(solved) {
        step[i] = x * s;
    }
    Some(step)
}

impl Units {
    /// Score and information, as a square, of units counted with these weights.
    pub(crate) fn sums(&self, weights: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n = self.dimension;
        let triangle = n * (n + 1) / 2;
        let (mut score, mut upper) = (vec![0.0; n], vec![0.0; triangle]);
        for (unit, &weight) in weights.iter().enumerate().filter(|(_, w)| **w != 0.0) {
            for (sum, x) in score.iter_mut().zip(&self.score[unit * n..]) {
                *sum += weight * x;
            }
            for (sum, x) in upper.iter_mut().zip(&self.information[unit * triangle..]) {
                *sum += weight * x;
            }
        }
        let mut square = vec![0.0; n * n];
        for i in 0..n {
            for j in i..n {
                let value = upper[i * n - i * (i + 1) / 2 + j];
                square[i * n + j] = value;
                square[j * n + i] = value;
            }
        }
        (score, square)
    }
}
