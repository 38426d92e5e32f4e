//! Maximum likelihood by Fisher scoring.
//!
//! With surprises v of variance S, a read contributes −½(ln S + v²/S) to the log-likelihood, −v∂v/S − ½∂S(1/S − v²/S²) to the score and
//! ∂v∂vᵀ/S + ½∂S∂Sᵀ/S² to the information. Contributions of successive reads are uncorrelated, which is what lets units of reads be
//! drawn again by the bootstrap.

use crate::curve::{Curve, CurveFamily};
use crate::filter::{Noise, Prepared, StepTable, Surprises, filter};
use crate::measurement::Direction;
use crate::tangent::{Sums, differentiate, tangents};

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
    pub(crate) writes: WriteNoise,
}

/// Which parts of the write noise are estimated. Those of constant steps are one, so either may stand for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteNoise {
    Both,
    Additive,
    Proportional,
}

impl WriteNoise {
    /// What is tried for a family.
    pub(crate) fn of(model: CurveFamily) -> &'static [Self] {
        if model == CurveFamily::Constant { &[Self::Additive, Self::Proportional] } else { &[Self::Both] }
    }

    /// Whether v_r, v_a and v_p are estimated.
    pub(crate) fn free(self) -> [bool; NOISES] {
        [true, self != Self::Proportional, self != Self::Additive]
    }
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
    /// The same at the noise that is believed, which is not that of the maximum.
    pub(crate) believed: Option<Units>,
    /// Parameters held at a limit.
    pub(crate) held: Vec<bool>,
    pub(crate) converged: bool,
    /// What the likelihood takes from each noise because the curve is fitted to the same reads.
    pub(crate) shift: [f64; NOISES],
    /// The noise of a device among several, a step away from that of all.
    pub(crate) noise: Option<[f64; NOISES]>,
    /// Bias of the curve's parameters, found from halves of the ramps; empty where it is not taken out.
    pub(crate) bias: Vec<f64>,
}

impl Likelihood<'_> {
    fn dimension(&self) -> usize {
        self.model.dimension() + NOISES
    }

    fn noise(&self, parameters: &[f64]) -> Noise {
        let n = self.model.dimension();
        Noise { read: parameters[n].max(1e-300), additive: parameters[n + 1], proportional: parameters[n + 2] }
    }

    fn pass(&self, parameters: &[f64], into: &mut Surprises) {
        let n = self.model.dimension();
        let curve = Curve { model: self.model, parameters: parameters[..n].to_vec() };
        let noise = self.noise(parameters);
        for direction in [Direction::Up, Direction::Down] {
            let steps = StepTable::new(&curve, direction);
            for batch in self.ramps.batches.iter().filter(|batch| batch.direction == direction) {
                filter(batch, &steps, noise, into);
            }
        }
    }

    /// The surprises at these parameters.
    pub(crate) fn surprises(&self, parameters: &[f64]) -> Surprises {
        let mut surprises = Surprises::new(self.ramps.size);
        self.pass(parameters, &mut surprises);
        surprises
    }

    /// The log-likelihood alone.
    pub(crate) fn value(&self, parameters: &[f64], scratch: &mut Surprises) -> f64 {
        self.pass(parameters, scratch);
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
        } else if self.writes.free()[parameter - n] {
            (0.0, f64::INFINITY)
        } else {
            (0.0, 0.0)
        }
    }

    /// Score and information of every unit.
    pub(crate) fn units(&self, parameters: &[f64]) -> Units {
        let (n, dimension) = (self.model.dimension(), self.dimension());
        let curve = Curve { model: self.model, parameters: parameters[..n].to_vec() };
        let noise = self.noise(parameters);
        let triangle = dimension * (dimension + 1) / 2;
        let count = self.ramps.units.len();
        let mut units = Units {
            dimension,
            log_likelihood: vec![0.0; count],
            score: vec![0.0; count * dimension],
            information: vec![0.0; count * triangle],
        };
        for direction in [Direction::Up, Direction::Down] {
            let steps = StepTable::new(&curve, direction);
            let slopes = tangents(&curve, direction);
            let active: Vec<usize> =
                (0..dimension).filter(|&i| i >= n || self.model.affects(i, direction)).collect();
            for batch in self.ramps.batches.iter().filter(|batch| batch.direction == direction) {
                let sums = differentiate(batch, &steps, &slopes, noise);
                for (lane, unit) in batch.units.iter().enumerate() {
                    if let Some(unit) = unit {
                        units.add(*unit, lane, &active, &sums);
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
                let Some(factored) = Factored::new(&information, &free, damping) else {
                    damping *= 10.0;
                    continue;
                };
                let step = factored.solve(&score);
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
        Maximum {
            parameters,
            log_likelihood: value,
            units,
            believed: None,
            held,
            converged,
            shift: [0.0; NOISES],
            noise: None,
            bias: Vec::new(),
        }
    }

    /// From the maximum to that of the restricted likelihood, which has −½ ln det I of the curve's parameters besides: a curve of
    /// many parameters follows some of the noise, and noise estimated from what is left would be too small.
    pub(crate) fn restricted_shift(&self, best: &Maximum) -> [f64; NOISES] {
        let n = self.model.dimension();
        let all = vec![1.0; best.units.log_likelihood.len()];
        let start = best.units.sums(&all).0;
        let mut shift = [0.0; NOISES];
        let noise: Vec<bool> = (0..self.dimension()).map(|i| i >= n && self.writes.free()[i - n]).collect();
        // A step takes a share of the noise that the curve follows and gives back all of it but the square of that share.
        for _ in 0..3 {
            let mut at = best.parameters.clone();
            at[n..].iter_mut().zip(shift).for_each(|(v, s)| *v += s);
            let Some(step) = self.restricted_step(best, &at, &start, &noise) else { break };
            shift.iter_mut().zip(&step[n..]).for_each(|(s, more)| *s += more);
        }
        shift
    }

    /// The noise of this device by one step of the restricted likelihood from `noise`, whatever its own maximum is.
    pub(crate) fn restricted_from(&self, best: &Maximum, noise: [f64; NOISES]) -> Option<[f64; NOISES]> {
        let n = self.model.dimension();
        let at: Vec<f64> = best.parameters[..n].iter().copied().chain(noise).collect();
        let free: Vec<bool> = (0..self.dimension()).map(|i| i >= n && self.writes.free()[i - n]).collect();
        let step = self.restricted_step(best, &at, &vec![0.0; self.dimension()], &free)?;
        Some(std::array::from_fn(|i| noise[i] + step[n + i]))
    }

    /// One step of the restricted likelihood in the parameters `free`; `start` is the score at the maximum, which noise held at 0 has
    /// there.
    fn restricted_step(&self, best: &Maximum, at: &[f64], start: &[f64], free: &[bool]) -> Option<Vec<f64>> {
        let (n, dimension) = (self.model.dimension(), self.dimension());
        let curve: Vec<bool> = (0..dimension).map(|i| i < n && !best.held[i]).collect();
        let whole = |at: &[f64]| {
            let units = self.units(at);
            units.sums(&vec![1.0; units.log_likelihood.len()])
        };
        let volume = |information: &[f64]| Factored::new(information, &curve, 0.0).map(|f| f.ln_det());
        let (mut score, information) = whole(at);
        score.iter_mut().zip(start).for_each(|(s, before)| *s -= before);
        let here = volume(&information)?;
        let middle = Curve { model: self.model, parameters: at[..n].to_vec() }.gain(0.0).abs().max(1e-12);
        let small = 1e-2 * (at[n] + at[n + 1] + at[n + 2] * middle * middle);
        for i in (n..dimension).filter(|&i| free[i]) {
            let h = if i == n + 2 { small / (middle * middle) } else { small };
            let mut moved = at.to_vec();
            moved[i] += h;
            score[i] += 0.5 * (here - volume(&whole(&moved).1)?) / h;
        }
        let step = Factored::new(&information, free, 0.0)?.solve(&score);
        step.iter().all(|s| s.is_finite()).then_some(step)
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

/// The information on the free parameters, factored as L Lᵀ after its diagonal is scaled to 1: parameters differ in size by many
/// powers of ten.
pub(crate) struct Factored {
    /// Parameters that are free and have information at all.
    used: Vec<usize>,
    scale: Vec<f64>,
    /// L, row by row.
    lower: Vec<f64>,
    dimension: usize,
}

impl Factored {
    /// Of I + damping·Diag I; `None` if that is not positive.
    pub(crate) fn new(information: &[f64], free: &[bool], damping: f64) -> Option<Self> {
        let n = free.len();
        let at = |i: usize, j: usize| information[i * n + j];
        let largest = (0..n).map(|i| at(i, i)).fold(0.0, f64::max);
        let used: Vec<usize> = (0..n).filter(|&i| free[i] && at(i, i) > 1e-14 * largest.min(1.0)).collect();
        let m = used.len();
        let scale: Vec<f64> = used.iter().map(|&i| 1.0 / (at(i, i) * (1.0 + damping)).sqrt()).collect();
        let mut lower = vec![0.0; m * m];
        for a in 0..m {
            for b in 0..=a {
                let own = at(used[a], used[b]) * if a == b { 1.0 + damping } else { 1.0 } * scale[a] * scale[b];
                let rest = own - (0..b).map(|c| lower[a * m + c] * lower[b * m + c]).sum::<f64>();
                lower[a * m + b] = if a == b { rest.sqrt() } else { rest / lower[b * m + b] };
            }
            let pivot = lower[a * m + a];
            if pivot.is_nan() || pivot <= 1e-7 {
                return None;
            }
        }
        Some(Self { used, scale, lower, dimension: n })
    }

    /// I⁻¹ score; 0 where a parameter is not free.
    pub(crate) fn solve(&self, score: &[f64]) -> Vec<f64> {
        let m = self.used.len();
        let mut x: Vec<f64> = self.used.iter().zip(&self.scale).map(|(&i, s)| score[i] * s).collect();
        for a in 0..m {
            let known: f64 = (0..a).map(|c| self.lower[a * m + c] * x[c]).sum();
            x[a] = (x[a] - known) / self.lower[a * m + a];
        }
        self.back(x)
    }

    /// The square root of (I⁻¹)ᵢᵢ.
    pub(crate) fn deviation(&self, parameter: usize) -> f64 {
        let mut unit = vec![0.0; self.dimension];
        unit[parameter] = 1.0;
        self.solve(&unit)[parameter].max(0.0).sqrt()
    }

    /// ln det I.
    pub(crate) fn ln_det(&self) -> f64 {
        let m = self.used.len();
        (0..m).map(|a| 2.0 * (self.lower[a * m + a].ln() - self.scale[a].ln())).sum()
    }

    /// A change of covariance I⁻¹, from independent normal numbers.
    pub(crate) fn draw(&self, normal: impl Fn(u64) -> f64) -> Vec<f64> {
        self.back((0..self.used.len()).map(|a| normal(a as u64)).collect())
    }

    /// Lᵀ⁻¹ x, scaled back.
    fn back(&self, mut x: Vec<f64>) -> Vec<f64> {
        let m = self.used.len();
        for a in (0..m).rev() {
            let known: f64 = (a + 1..m).map(|c| self.lower[c * m + a] * x[c]).sum();
            x[a] = (x[a] - known) / self.lower[a * m + a];
        }
        let mut step = vec![0.0; self.dimension];
        for ((&i, s), x) in self.used.iter().zip(&self.scale).zip(x) {
            step[i] = x * s;
        }
        step
    }
}

impl Units {
    /// Adds the sums of a lane to a unit; `active` says which parameters they are of.
    fn add(&mut self, unit: usize, lane: usize, active: &[usize], sums: &Sums) {
        let n = self.dimension;
        let triangle = n * (n + 1) / 2;
        let ln_tau = std::f64::consts::TAU.ln();
        self.log_likelihood[unit] -= 0.5 * (sums.deviance[lane] + sums.reads[lane] * ln_tau);
        let mut pair = 0;
        for (k, &i) in active.iter().enumerate() {
            self.score[unit * n + i] += sums.score[k][lane];
            // Row i of the triangle begins at column i.
            let row = unit * triangle + i * n - i * (i + 1) / 2;
            for &j in &active[k..] {
                self.information[row + j] += sums.information[pair][lane];
                pair += 1;
            }
        }
    }

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
