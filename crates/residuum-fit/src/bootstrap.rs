//! Intervals by drawing ramps again, and then devices.

use rayon::prelude::*;
use residuum::Key;

use crate::scoring::{Factored, Maximum, Units};

/// A number with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Estimate {
    /// In another unit.
    pub fn scaled(self, factor: f64) -> Self {
        let (a, b) = (self.low * factor, self.high * factor);
        Self { value: self.value * factor, low: a.min(b), high: a.max(b) }
    }

    /// Under an increasing linear map, such as from weights to conductances.
    pub fn map_linear(self, f: impl Fn(f64) -> f64) -> Self {
        self.map(f)
    }

    /// Under an increasing function.
    pub(crate) fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self { value: f(self.value), low: f(self.low), high: f(self.high) }
    }

    /// Whether the interval contains a value.
    pub fn covers(&self, truth: f64) -> bool {
        self.low <= truth && truth <= self.high
    }
}

/// Parameters drawn again, and what their intervals need.
#[derive(Clone, Debug)]
pub(crate) struct Draws {
    pub(crate) center: Vec<f64>,
    pub(crate) drawn: Vec<Vec<f64>>,
    /// By which deviations of the draws must be widened: as many things were drawn, less one, as there are.
    widening: f64,
    /// Degrees of freedom of a deviation estimated from them.
    freedom: usize,
    /// Parameters of each device and their covariance by drawing its ramps again.
    pub(crate) devices: Vec<(Vec<f64>, Vec<f64>)>,
}

/// Student's quantile that a normal number's quantile `z` becomes with this many degrees of freedom.
pub(crate) fn student(freedom: usize, z: f64) -> f64 {
    match freedom {
        // Closed forms: tan(π(p − ½)), and with u = 2p − 1 the root u√(2/(1 − u²)).
        0 | 1 => (std::f64::consts::PI * 0.5 * normal_share(z)).tan(),
        2 => normal_share(z) * (2.0 / (1.0 - normal_share(z).powi(2))).sqrt(),
        _ => {
            // The expansion of Cornish and Fisher around the normal quantile.
            let n = freedom as f64;
            let (a, b) = ((z.powi(3) + z) / 4.0, (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0);
            let c = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
            z + a / n + b / (n * n) + c / n.powi(3)
        }
    }
}

/// The share of normal numbers within ±z.
fn normal_share(z: f64) -> f64 {
    1.0 - residuum::numeric::erfc(z / std::f64::consts::SQRT_2)
}

/// The normal quantile of 97.5 %.
pub(crate) const Z95: f64 = 1.959_963_985;

/// The units of each direction of a device, and how they are drawn.
pub(crate) struct Sides {
    pub(crate) units: [Vec<usize>; 2],
    /// Ramps are too few to draw: the noise of the pulses is drawn from its fitted law instead.
    pub(crate) few: bool,
}

/// One device: its estimate with no noise held at 0, which would bias means of devices, and how to draw it again.
struct Redraw<'a> {
    sides: &'a Sides,
    factored: Option<Factored>,
    /// By which a unit moves the estimate, unit by unit, where units are drawn.
    moves: Vec<Vec<f64>>,
    estimate: Vec<f64>,
}

impl<'a> Redraw<'a> {
    fn new(fit: &'a Maximum, sides: &'a Sides, free: &[bool]) -> Self {
        let curve = free.len() - crate::scoring::NOISES;
        let own: Vec<bool> = (0..free.len()).map(|i| free[i] && (i >= curve || !fit.held[i])).collect();
        let all = vec![1.0; fit.units.log_likelihood.len()];
        let invert = |information: &[f64]| {
            Factored::new(information, &own, 0.0).or_else(|| Factored::new(information, &own, 1e-6))
        };
        let (score, at_maximum) = fit.units.sums(&all);
        let mut estimate: Vec<f64> = match invert(&at_maximum) {
            Some(f) if fit.noise.is_none() && (curve..free.len()).any(|i| free[i] && fit.held[i]) => {
                fit.parameters.iter().zip(f.solve(&score)).map(|(p, s)| p + s).collect()
            }
            _ => fit.parameters.clone(),
        };
        for (noise, shift) in estimate[curve..].iter_mut().zip(fit.shift) {
            *noise += shift;
        }
        if let Some(noise) = fit.noise {
            estimate[curve..].copy_from_slice(&noise);
        }
        // Noise that the curve has followed is missing from the maximum, and so from what it says of errors.
        let units = fit.believed.as_ref().unwrap_or(&fit.units);
        let information = units.sums(&all).1;
        let factored = invert(&information);
        if let Some(factored) = &factored {
            for (i, bias) in fit.bias.iter().enumerate() {
                // Halves of few ramps say little: what they say beyond the error of the whole is noise of their own.
                let most = factored.deviation(i);
                estimate[i] -= bias.clamp(-most, most);
            }
        }
        let moves = match &factored {
            Some(factored) if !sides.few => moves(units, &information, &own, factored),
            _ => Vec::new(),
        };
        Self { sides, factored, moves, estimate }
    }

    /// One step of the likelihood from its maximum to that of the units drawn again, each direction by itself.
    fn draw(&self, key: Key) -> Vec<f64> {
        let Some(factored) = &self.factored else { return self.estimate.clone() };
        if self.sides.few {
            let step = factored.draw(|i| key.normal_at(i));
            return self.estimate.iter().zip(step).map(|(p, s)| p + s).collect();
        }
        let mut drawn = self.estimate.clone();
        for (side, own) in self.sides.units.iter().enumerate() {
            let key = key.fold(side as u64);
            for k in 0..own.len() {
                let again = &self.moves[own[key.below_at(own.len(), k as u64)]];
                // What the whole side lacks of 0 does not count as a difference between its units.
                for (i, p) in drawn.iter_mut().enumerate() {
                    *p += again[i] - self.moves[own[k]][i];
                }
            }
        }
        drawn
    }
}

/// By which each unit moves the estimate.
///
/// The estimate follows a unit in part, so that the unit's score is smaller than it would be at the truth: the more so the more of the
/// information is the unit's own. Left out, it would move the estimate by (I − Iᵤ)⁻¹s instead of I⁻¹s, which is too much by as much;
/// between the two the variance is right.
fn moves(units: &Units, information: &[f64], own: &[bool], factored: &Factored) -> Vec<Vec<f64>> {
    let count = units.log_likelihood.len();
    let one = |unit: usize| {
        let mut weights = vec![0.0; count];
        weights[unit] = 1.0;
        let (score, part) = units.sums(&weights);
        let rest: Vec<f64> = information.iter().zip(&part).map(|(all, own)| all - own).collect();
        let with = factored.solve(&score);
        match Factored::new(&rest, own, 0.0) {
            Some(without) => with.iter().zip(without.solve(&score)).map(|(a, b)| 0.5 * (a + b)).collect(),
            None => with,
        }
    };
    (0..count).map(one).collect()
}

impl Draws {
    /// `free` are the parameters that are estimated at all.
    pub(crate) fn new(fits: &[Maximum], sides: &[Sides], free: &[bool], draws: usize, key: Key) -> Self {
        let dimension = free.len();
        let count = fits.len();
        let redraws: Vec<Redraw<'_>> =
            fits.iter().zip(sides).map(|(fit, sides)| Redraw::new(fit, sides, free)).collect();
        let mean = |of: &dyn Fn(usize) -> f64| (0..count).map(of).sum::<f64>() / count as f64;
        let center: Vec<f64> = (0..dimension).map(|i| mean(&|d| redraws[d].estimate[i])).collect();
        let draw =
            |d: usize, number: usize| redraws[d].draw(key.named("ramps").fold(d as u64).fold(number as u64));
        let within: Vec<Vec<Vec<f64>>> =
            (0..count).into_par_iter().map(|d| (0..draws).map(|n| draw(d, n)).collect()).collect();
        let ramps = |d: usize| sides[d].units.iter().map(Vec::len).min().unwrap_or(0);
        let devices: Vec<(Vec<f64>, Vec<f64>)> =
            (0..count).map(|d| (redraws[d].estimate.clone(), covariance(&within[d], dimension))).collect();
        if count == 1 {
            // Most quantities are those of one direction.
            let freedom = if sides[0].few { usize::MAX } else { ramps(0).saturating_sub(1) };
            let drawn = within.into_iter().next().unwrap_or_default();
            return Self { center, drawn, widening: 1.0, freedom, devices };
        }
        // The estimates of devices scatter by what devices differ and by what their ramps leave open. Drawing ramps
        // again adds the second part once more, so deviations between devices are shrunk to the first part.
        let shrink: Vec<f64> = (0..dimension)
            .map(|i| {
                let total =
                    mean(&|d| (devices[d].0[i] - center[i]).powi(2)) * count as f64 / (count - 1) as f64;
                let own = mean(&|d| devices[d].1[i * dimension + i]);
                if total > 0.0 { (1.0 - own / total).max(0.0).sqrt() } else { 0.0 }
            })
            .collect();
        let drawn = (0..draws)
            .map(|n| {
                let key = key.named("devices").fold(n as u64);
                let mut parameters = center.clone();
                for place in 0..count {
                    let d = key.below_at(count, place as u64);
                    // A device drawn twice has ramps of its own each time.
                    let ramps = &within[d][(n + 7 * place) % draws];
                    for i in 0..dimension {
                        let device = shrink[i] * (devices[d].0[i] - center[i]);
                        parameters[i] += (device + ramps[i] - devices[d].0[i]) / count as f64;
                    }
                }
                parameters
            })
            .collect();
        let groups = count as f64;
        Self { center, drawn, widening: groups / (groups - 1.0), freedom: count - 1, devices }
    }

    /// The interval of a quantity that is a function of the parameters; draws without a value are left out.
    ///
    /// Its ends are those of Student's law with the deviation of the draws, bent by their skewness: a quantity that is a curved
    /// function of well-behaved parameters has an interval with one arm longer than the other.
    pub(crate) fn estimate(&self, f: impl Fn(&[f64]) -> Option<f64>) -> Option<Estimate> {
        let value = f(&self.center)?;
        let drawn: Vec<f64> = self.drawn.iter().filter_map(|p| f(p)).filter(|x| x.is_finite()).collect();
        let n = drawn.len() as f64;
        let mean = drawn.iter().sum::<f64>() / n;
        let moment = |k: i32| drawn.iter().map(|x| (x - mean).powi(k)).sum::<f64>() / n;
        let deviation = (moment(2) * n / (n - 1.0)).sqrt();
        if drawn.len() < 20 || deviation.is_nan() || deviation <= 0.0 {
            // Nothing that was drawn moves it: the data do not know it.
            return Some(Estimate { value, low: f64::NEG_INFINITY, high: f64::INFINITY });
        }
        let bend = (moment(3) / moment(2).powf(1.5)).clamp(-1.2, 1.2) * Z95 * Z95 / 6.0;
        let (unit, arm) = (deviation * self.widening.sqrt(), student(self.freedom, Z95));
        Some(Estimate { value, low: value - unit * (arm - bend), high: value + unit * (arm + bend) })
    }

    /// The interval of a variance of write noise, `of` the parameters, next to read noise of variance `read` and other write noise of
    /// variance `other`, each in units in which `scale` of this one adds to them.
    ///
    /// Its error depends on what it is: in the long run surprises have the variance S = ½(v + √(v² + 4vr)) + r for write and read
    /// noise v and r, and it is ln S that has the same error everywhere. So the ends are found for ln S.
    pub(crate) fn variance(
        &self,
        of: impl Fn(&[f64]) -> f64,
        scale: f64,
        other: f64,
        read: f64,
    ) -> Option<Estimate> {
        let plain = self.estimate(|p| Some(of(p)))?;
        let (v, r) = (scale * plain.value + other, read.max(0.0));
        let error = 0.5 * scale * (plain.high - plain.low);
        if !(v > 0.0 && plain.value > 0.0 && error < 1.4 * v) {
            return Some(plain);
        }
        let root = (v * v + 4.0 * v * r).sqrt();
        let total = 0.5 * (v + root) + r;
        let slope = 0.5 + 0.5 * (v + 2.0 * r) / root;
        let end = |sign: f64| {
            let total = total * (sign * error * slope / total).exp();
            let v = if total > r { (total - r).powi(2) / total } else { 0.0 };
            (v - other) / scale
        };
        Some(Estimate { value: plain.value, low: end(-1.0), high: end(1.0) })
    }

    /// A value in standard errors of its draws, as a normal number would be.
    pub(crate) fn sureness(&self, f: impl Fn(&[f64]) -> f64) -> f64 {
        let drawn: Vec<f64> = self.drawn.iter().map(|p| f(p)).collect();
        let n = drawn.len() as f64;
        let mean = drawn.iter().sum::<f64>() / n;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        f(&self.center) / (variance * self.widening).sqrt()
    }

    /// Student's quantile for these draws.
    pub(crate) fn quantile(&self, z: f64) -> f64 {
        student(self.freedom, z)
    }

    /// The share of draws for which something holds.
    pub(crate) fn share(&self, holds: impl Fn(&[f64]) -> bool) -> f64 {
        self.drawn.iter().filter(|p| holds(p)).count() as f64 / self.drawn.len().max(1) as f64
    }
}

fn covariance(drawn: &[Vec<f64>], n: usize) -> Vec<f64> {
    let count = drawn.len() as f64;
    let mean: Vec<f64> = (0..n).map(|i| drawn.iter().map(|p| p[i]).sum::<f64>() / count).collect();
    let mut matrix = vec![0.0; n * n];
    for p in drawn {
        for i in 0..n {
            for j in 0..n {
                matrix[i * n + j] += (p[i] - mean[i]) * (p[j] - mean[j]) / (count - 1.0);
            }
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_student_are_those_of_tables() {
        for (freedom, quantile) in [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (9, 2.262),
            (19, 2.093),
            (29, 2.045),
            (1000, 1.962),
        ] {
            let found = student(freedom, Z95);
            assert!((found - quantile).abs() < 0.02 * quantile, "{freedom}: {found}");
        }
        assert!((student(18, 2.807) - 3.197).abs() < 0.01);
    }

    /// Ten ramps, one of which says half of what is known: a mean of normal numbers with these weights. Its own share of the estimate hides
    /// a part of what such a ramp deviates, so that plain scores, the twin, find less than three quarters of the variance.
    #[test]
    fn a_ramp_that_says_much_counts_for_what_it_hides() {
        let (weights, replicas) = ([9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 4000);
        let whole: f64 = weights.iter().sum();
        let factored = Factored::new(&[whole], &[true], 0.0).expect("positive");
        let (mut found, mut plain) = (0.0, 0.0);
        for replica in 0..replicas {
            let key = Key::new(replica).named("ramps");
            let sum = |f: &dyn Fn(usize) -> f64| (0..10).map(f).sum::<f64>();
            let deviation = |i: usize| key.normal_at(i as u64) / weights[i].sqrt();
            let mean = sum(&|i| weights[i] * deviation(i)) / whole;
            let score: Vec<f64> = (0..10).map(|i| weights[i] * (deviation(i) - mean)).collect();
            plain += score.iter().map(|s| (s / whole).powi(2)).sum::<f64>();
            let units =
                Units { dimension: 1, log_likelihood: vec![0.0; 10], score, information: weights.to_vec() };
            found += moves(&units, &[whole], &[true], &factored).iter().map(|m| m[0] * m[0]).sum::<f64>();
        }
        // In units of the true variance 1/whole. Exactly: Σ hᵤ(1 − hᵤ)(1 + 1/(1 − hᵤ))²/4 with shares hᵤ of the information.
        let [found, plain] = [found, plain].map(|v| v * whole / replicas as f64);
        let shares = weights.map(|w| w / whole);
        let exact: f64 = shares.iter().map(|h| 0.25 * h * (1.0 - h) * (1.0 + 1.0 / (1.0 - h)).powi(2)).sum();
        // Five standard errors: a square of a normal number has the variance 2, and half of it is one ramp's.
        let slack = 5.0 * (0.6 / replicas as f64).sqrt();
        assert!((found - exact).abs() < slack, "{found} beside {exact} ± {slack}");
        assert!((1.0..1.1).contains(&exact), "{exact}");
        assert!(plain < 0.75, "{plain}");
    }
}
