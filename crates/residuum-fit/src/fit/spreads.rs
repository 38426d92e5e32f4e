//! How devices differ.

use residuum::Key;

use super::FEW;
use crate::bootstrap::{Draws, Estimate, Z95, student};
use crate::curve::{Curve, CurveFamily};

/// How devices differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Spreads {
    /// Names of the parameters.
    pub names: Vec<String>,
    /// Deviation of each parameter between devices.
    pub deviations: Vec<Estimate>,
    /// Covariance of the parameters between devices, without what the ramps of one device leave open; row by row.
    pub covariance: Vec<Estimate>,
    /// Deviation of the mean step, relative.
    pub step: Estimate,
    /// Deviation of half the difference of up and down steps, relative to the mean step.
    pub imbalance: Estimate,
    /// Deviation of the lower and the upper bound relative to the mean, where the model has bounds.
    pub bounds: Option<[f64; 2]>,
}

impl Spreads {
    /// Correlations between the parameters of devices, in words; none where one of them does not vary.
    pub fn correlation_words(&self) -> String {
        let m = self.names.len();
        let at = |i: usize, j: usize| self.covariance[i * m + j].value;
        let pairs = (0..m).flat_map(|i| (i + 1..m).map(move |j| (i, j)));
        let told = pairs.filter(|&(i, j)| at(i, i) > 0.0 && at(j, j) > 0.0).map(|(i, j)| {
            let r = (at(i, j) / (at(i, i) * at(j, j)).sqrt()).clamp(-1.0, 1.0);
            format!("{} and {} {r:.2}", self.names[i], self.names[j])
        });
        let told: Vec<String> = told.collect();
        if told.is_empty() { "none can be told".into() } else { told.join(", ") }
    }
}

/// Functions of a curve: their values on all devices, and how they follow the fitted parameters of each.
struct Quantities {
    values: Vec<Vec<f64>>,
    slopes: Vec<Vec<f64>>,
}

/// Devices drawn again: the places of each draw.
struct Again(Vec<Vec<usize>>);

impl Again {
    fn new(devices: usize, draws: usize, key: Key) -> Self {
        let key = key.named("spreads");
        let draw = |n: usize| {
            let key = key.fold(n as u64);
            (0..devices).map(|place| key.below_at(devices, place as u64)).collect()
        };
        // Of few devices the same one is drawn so often that its draws say nothing of a variance.
        Self(if devices < FEW { Vec::new() } else { (0..draws).map(draw).collect() })
    }

    /// Covariances of two numbers, in each draw.
    fn covariances(&self, a: &[f64], b: &[f64]) -> Vec<f64> {
        let one = |places: &Vec<usize>| {
            let own = |x: &[f64]| places.iter().map(|&d| x[d]).collect::<Vec<f64>>();
            covariance(&own(a), &own(b))
        };
        self.0.iter().map(one).collect()
    }

    /// By what the variance of numbers is multiplied at the ends of its interval.
    ///
    /// The logarithm of a variance has about the same error whatever the variance, so its draws are taken, with their bias and
    /// Student's quantile. Unlike χ², this holds where devices are not normal: see `docs/coverage.md`.
    fn ends(&self, values: &[f64]) -> [f64; 2] {
        let freedom = values.len() - 1;
        let whole = covariance(values, values);
        let logs: Vec<f64> =
            self.covariances(values, values).iter().map(|v| (v / whole).max(1e-12).ln()).collect();
        if logs.is_empty() || whole.is_nan() || whole <= 0.0 {
            // The variance of a sample of normal numbers over the true one is χ² over its degrees of freedom.
            return [Z95, -Z95].map(|z| 1.0 / chi_squared(freedom as f64, z));
        }
        let (bias, deviation) = moments(&logs, values.len());
        // Few devices show less of the ends of their law than it has: by (n − 1)/(n + 1) in the fourth moment of normal ones.
        let ends = ((freedom + 2) as f64 / freedom as f64).sqrt();
        let arm = student(freedom, Z95) * deviation * ends;
        [(-bias - arm).exp(), (-bias + arm).exp()]
    }

    /// `within` is the variance that the ramps of a device leave open.
    fn deviation(&self, values: &[f64], within: f64) -> Estimate {
        let variance = covariance(values, values);
        let left = |variance: f64| (variance - within).max(0.0).sqrt();
        let (value, ends) = (left(variance), self.ends(values).map(|factor| left(factor * variance)));
        Estimate { value, low: ends[0].min(value), high: ends[1].max(value) }
    }

    fn covariance(&self, a: &[f64], b: &[f64], within: f64) -> Estimate {
        let (whole, freedom) = (covariance(a, b), a.len() - 1);
        let drawn = self.covariances(a, b);
        let deviation = if drawn.is_empty() {
            // That of normal numbers.
            ((whole * whole + covariance(a, a) * covariance(b, b)) / freedom as f64).sqrt()
        } else {
            moments(&drawn, a.len()).1
        };
        let (value, arm) = (whole - within, student(freedom, Z95) * deviation);
        Estimate { value, low: value - arm, high: value + arm }
    }
}

fn covariance(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let mean = |x: &[f64]| x.iter().sum::<f64>() / n;
    let (ma, mb) = (mean(a), mean(b));
    a.iter().zip(b).map(|(x, y)| (x - ma) * (y - mb)).sum::<f64>() / (n - 1.0)
}

/// Mean of draws, and their deviation widened because as many devices less one were free.
fn moments(draws: &[f64], devices: usize) -> (f64, f64) {
    let (mean, groups) = (draws.iter().sum::<f64>() / draws.len() as f64, devices as f64);
    (mean, (covariance(draws, draws) * groups / (groups - 1.0)).sqrt())
}

pub(super) fn spreads(model: CurveFamily, soft: bool, draws: &Draws, middle: f64, key: Key) -> Spreads {
    let n = model.dimension();
    let curves: Vec<Curve> =
        draws.devices.iter().map(|(p, _)| Curve { model, parameters: p[..n].to_vec() }).collect();
    let names: Vec<String> = curves[0].named(soft).into_iter().map(|(name, _)| name).collect();
    let (count, m) = (curves.len() as f64, names.len());
    let again = Again::new(curves.len(), draws.drawn.len(), key);
    let of = |f: &dyn Fn(&Curve) -> Vec<f64>| Quantities {
        values: {
            let rows: Vec<Vec<f64>> = curves.iter().map(f).collect();
            (0..rows[0].len()).map(|i| rows.iter().map(|row| row[i]).collect()).collect()
        },
        slopes: curves.iter().map(|curve| jacobian(curve, f)).collect(),
    };
    let within = |q: &Quantities, i: usize, j: usize| {
        let each = draws.devices.iter().zip(&q.slopes).map(|((_, own), slopes)| {
            let size = (own.len() as f64).sqrt() as usize;
            let pairs = (0..n).flat_map(|a| (0..n).map(move |b| (a, b)));
            pairs.map(|(a, b)| slopes[i * n + a] * own[a * size + b] * slopes[j * n + b]).sum::<f64>()
        });
        each.sum::<f64>() / count
    };
    let named = of(&|c| c.values(soft));
    let pairs = (0..m).flat_map(|i| (0..m).map(move |j| (i, j)));
    let matrix: Vec<Estimate> = pairs
        .map(|(i, j)| again.covariance(&named.values[i], &named.values[j], within(&named, i, j)))
        .collect();
    let gain = curves.iter().map(|c| c.gain(middle)).sum::<f64>() / count;
    let relative = of(&|c| vec![c.gain(middle) / gain, -c.asymmetry(middle) / gain]);
    let deviation = |q: &Quantities, i: usize| again.deviation(&q.values[i], within(q, i, i));
    let place = |name: &str| names.iter().position(|n| n == name);
    let of_mean = |i: usize| {
        matrix[i * m + i].value.max(0.0).sqrt() / (named.values[i].iter().sum::<f64>() / count).abs()
    };
    let bounds = place("radius_minus").zip(place("radius_plus")).map(|(a, b)| [of_mean(a), of_mean(b)]);
    Spreads {
        deviations: (0..m).map(|i| deviation(&named, i)).collect(),
        step: deviation(&relative, 0),
        imbalance: deviation(&relative, 1),
        names,
        covariance: matrix,
        bounds,
    }
}

/// The quantile of χ²/ν at that of a normal number, by Wilson and Hilferty.
fn chi_squared(freedom: f64, z: f64) -> f64 {
    let part = 2.0 / (9.0 * freedom);
    (1.0 - part + z * part.sqrt()).max(1e-3).powi(3)
}

/// ∂(quantity i)/∂(fitted parameter a), row by row.
fn jacobian(curve: &Curve, of: &dyn Fn(&Curve) -> Vec<f64>) -> Vec<f64> {
    let (n, base) = (curve.parameters.len(), of(curve));
    let mut slopes = vec![0.0; base.len() * n];
    for a in 0..n {
        let mut moved = curve.clone();
        let h = 1e-5 * curve.parameters[a].abs().max(1e-6);
        moved.parameters[a] += h;
        for (i, value) in of(&moved).into_iter().enumerate() {
            slopes[i * n + a] = (value - base[i]) / h;
        }
    }
    slopes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often an interval of the deviation contains it.
    fn covered(devices: usize, drawn: bool, number: impl Fn(Key, u64) -> f64, deviation: f64) -> f64 {
        let replicas = 400;
        let covers = (0..replicas).filter(|&replica| {
            let key = Key::new(replica);
            let values: Vec<f64> = (0..devices as u64).map(|d| number(key, d)).collect();
            let again = Again::new(devices, if drawn { 200 } else { 0 }, key);
            again.deviation(&values, 0.0).covers(deviation)
        });
        covers.count() as f64 / replicas as f64
    }

    /// Devices of Laplace's law, whose variance varies more than that of normal ones: χ², the twin, covers too seldom.
    #[test]
    fn spreads_of_devices_are_covered_whatever_their_law() {
        let laplace = |key: Key, d: u64| {
            let u = key.named("laplace").uniform_at(d) - 0.5;
            -u.signum() * (1.0 - 2.0 * u.abs()).ln()
        };
        let z = residuum::stats::Z * (0.9f64 * 0.1 / 400.0).sqrt();
        for devices in [8, 12, 30] {
            let normal = covered(devices, true, |key, d| key.named("normal").normal_at(d), 1.0);
            assert!(normal > 0.95 - z && normal < 0.98 + z, "{devices} normal devices: {normal}");
            let heavy = covered(devices, true, laplace, std::f64::consts::SQRT_2);
            assert!(heavy > 0.9 - z, "{devices} devices: {heavy}");
        }
        let by_chi_squared = covered(30, false, laplace, std::f64::consts::SQRT_2);
        assert!(by_chi_squared < 0.9 - z, "{by_chi_squared}");
        let few = covered(4, true, |key, d| key.named("normal").normal_at(d), 1.0);
        assert!((few - 0.95).abs() < z, "χ² for a few normal devices: {few}");
    }
}
