//! Intervals by drawing ramps again, and then devices.

use residuum::Key;

use crate::scoring::{Maximum, newton_step};

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
    /// Independent things drawn: devices, or units of a direction.
    pub(crate) groups: usize,
    /// Degrees of freedom of a deviation estimated from them.
    freedom: usize,
    /// Parameters of each device and their covariance by drawing its ramps again.
    pub(crate) devices: Vec<(Vec<f64>, Vec<f64>)>,
}

/// Student's quantile of 97.5 % for this many degrees of freedom.
pub(crate) fn student(freedom: usize) -> f64 {
    let n = freedom.max(1) as f64;
    match freedom {
        0 | 1 => 12.706,
        2 => 4.303,
        3 => 3.182,
        _ => {
            // The expansion of Cornish and Fisher around the normal quantile.
            let z = 1.959_963_985f64;
            let (a, b) = ((z.powi(3) + z) / 4.0, (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0);
            let c = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
            z + a / n + b / (n * n) + c / n.powi(3)
        }
    }
}

/// One Newton step of a device from its maximum towards that of its units drawn again, each direction by itself.
fn redrawn(fit: &Maximum, sides: &[Vec<usize>; 2], free: &[bool], key: Key) -> Vec<f64> {
    let mut weights = vec![0.0; fit.units.log_likelihood.len()];
    for (side, own) in sides.iter().enumerate() {
        for k in 0..own.len() {
            weights[own[key.fold(side as u64).below_at(own.len(), k as u64)]] += 1.0;
        }
    }
    let (score, information) = fit.units.sums(&weights);
    match newton_step(&score, &information, free, 0.0) {
        Some(step) => fit.parameters.iter().zip(step).map(|(p, s)| p + s).collect(),
        None => fit.parameters.clone(),
    }
}

impl Draws {
    /// `sides` has the units of each direction for each device; `free` the parameters that are estimated at all. What is held at a
    /// limit stays there, unless draws are `loose`: they show how far a noise that is estimated as 0 might reach.
    pub(crate) fn new(
        fits: &[Maximum],
        sides: &[[Vec<usize>; 2]],
        free: &[bool],
        loose: bool,
        draws: usize,
        key: Key,
    ) -> Self {
        let dimension = free.len();
        let count = fits.len();
        let mean = |of: &dyn Fn(usize) -> f64| (0..count).map(of).sum::<f64>() / count as f64;
        let center: Vec<f64> = (0..dimension).map(|i| mean(&|d| fits[d].parameters[i])).collect();
        let free_of = |fit: &Maximum| -> Vec<bool> {
            let curve = dimension - crate::scoring::NOISES;
            (0..dimension).map(|i| free[i] && ((loose && i >= curve) || !fit.held[i])).collect()
        };
        let draw = |d: usize, number: u64| {
            redrawn(&fits[d], &sides[d], &free_of(&fits[d]), key.named("ramps").fold(d as u64).fold(number))
        };
        let within: Vec<Vec<Vec<f64>>> =
            (0..count).map(|d| (0..draws).map(|n| draw(d, n as u64)).collect()).collect();
        let devices: Vec<(Vec<f64>, Vec<f64>)> =
            (0..count).map(|d| (fits[d].parameters.clone(), covariance(&within[d], dimension))).collect();
        if count == 1 {
            let groups = sides[0].iter().map(Vec::len).min().unwrap_or(0);
            let drawn = within.into_iter().next().unwrap_or_default();
            return Self { center, drawn, groups, freedom: 2 * groups.saturating_sub(1), devices };
        }
        // The estimates of devices scatter by what devices differ and by what their ramps leave open. Drawing ramps
        // again adds the second part once more, so deviations between devices are shrunk to the first part.
        let shrink: Vec<f64> = (0..dimension)
            .map(|i| {
                let total =
                    mean(&|d| (fits[d].parameters[i] - center[i]).powi(2)) * count as f64 / (count - 1) as f64;
                let own = mean(&|d| devices[d].1[i * dimension + i]);
                if total > 0.0 { (1.0 - own / total).max(0.0).sqrt() } else { 0.0 }
            })
            .collect();
        let drawn = (0..draws)
            .map(|n| {
                let chosen: Vec<usize> =
                    (0..count).map(|k| key.named("devices").fold(n as u64).below_at(count, k as u64)).collect();
                let mut parameters = vec![0.0; dimension];
                for (place, &d) in chosen.iter().enumerate() {
                    // A device drawn twice has ramps of its own each time.
                    let ramps = &within[d][(n + 7 * place) % draws];
                    for i in 0..dimension {
                        let device = shrink[i] * (fits[d].parameters[i] - center[i]);
                        parameters[i] += (device + ramps[i] - fits[d].parameters[i]) / count as f64;
                    }
                }
                parameters.iter().zip(&center).map(|(p, c)| p + c).collect()
            })
            .collect();
        Self { center, drawn, groups: count, freedom: count - 1, devices }
    }

    /// The interval of a quantity that is a function of the parameters; draws without a value are left out.
    pub(crate) fn estimate(&self, f: impl Fn(&[f64]) -> Option<f64>) -> Option<Estimate> {
        let value = f(&self.center)?;
        let drawn: Vec<f64> = self.drawn.iter().filter_map(|p| f(p)).filter(|x| x.is_finite()).collect();
        if drawn.len() < 2 {
            return Some(Estimate { value, low: f64::NEG_INFINITY, high: f64::INFINITY });
        }
        let n = drawn.len() as f64;
        let mean = drawn.iter().sum::<f64>() / n;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let groups = self.groups.max(2);
        let half = student(self.freedom) * (variance * groups as f64 / (groups - 1) as f64).sqrt();
        // Where an estimate is held at a limit the draws are centred elsewhere; the interval has both.
        let off = (mean - value).abs() > 0.5 * half;
        let center = if off { mean } else { value };
        Some(Estimate { value, low: (center - half).min(value), high: (center + half).max(value) })
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
        for (freedom, quantile) in [(4, 2.776), (9, 2.262), (19, 2.093), (29, 2.045), (1000, 1.962)] {
            assert!((student(freedom) - quantile).abs() < 8e-3, "{freedom}: {}", student(freedom));
        }
    }
}
