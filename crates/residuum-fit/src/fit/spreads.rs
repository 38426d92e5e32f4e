//! How devices differ.

use crate::bootstrap::{Draws, Estimate, Z95};
use crate::curve::{Curve, CurveFamily};

/// How devices differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Spreads {
    /// Names of the parameters.
    pub names: Vec<String>,
    /// Deviation of each parameter between devices.
    pub deviations: Vec<Estimate>,
    /// Covariance of the parameters between devices, without what the ramps of one device leave open; row by row.
    pub covariance: Vec<f64>,
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
        let at = |i: usize, j: usize| self.covariance[i * m + j];
        let pairs = (0..m).flat_map(|i| (i + 1..m).map(move |j| (i, j)));
        let told = pairs.filter(|&(i, j)| at(i, i) > 0.0 && at(j, j) > 0.0).map(|(i, j)| {
            let r = (at(i, j) / (at(i, i) * at(j, j)).sqrt()).clamp(-1.0, 1.0);
            format!("{} and {} {r:.2}", self.names[i], self.names[j])
        });
        let told: Vec<String> = told.collect();
        if told.is_empty() { "none can be told".into() } else { told.join(", ") }
    }
}

pub(super) fn spreads(model: CurveFamily, soft: bool, draws: &Draws, middle: f64) -> Spreads {
    let n = model.dimension();
    let curves: Vec<Curve> =
        draws.devices.iter().map(|(p, _)| Curve { model, parameters: p[..n].to_vec() }).collect();
    let named: Vec<Vec<f64>> = curves.iter().map(|c| c.values(soft)).collect();
    let names: Vec<String> = curves[0].named(soft).into_iter().map(|(name, _)| name).collect();
    let count = curves.len() as f64;
    let m = names.len();
    let mean: Vec<f64> = (0..m).map(|i| named.iter().map(|v| v[i]).sum::<f64>() / count).collect();
    let (mut covariance, mut open) = (vec![0.0; m * m], vec![0.0; m]);
    for (device, values) in named.iter().enumerate() {
        // How the named parameters follow the fitted ones, by differences.
        let slopes = jacobian(&curves[device], soft);
        let own = &draws.devices[device].1;
        let size = (own.len() as f64).sqrt() as usize;
        for i in 0..m {
            for j in 0..m {
                let between = (values[i] - mean[i]) * (values[j] - mean[j]) / (count - 1.0);
                let within: f64 = (0..n)
                    .flat_map(|a| (0..n).map(move |b| (a, b)))
                    .map(|(a, b)| slopes[i * n + a] * own[a * size + b] * slopes[j * n + b])
                    .sum();
                covariance[i * m + j] += between - within / count;
                open[i] += if i == j { within / count } else { 0.0 };
            }
        }
    }
    let deviation = |values: Vec<f64>, own: f64| {
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let value = (variance - own).max(0.0).sqrt();
        // The variance of a sample of normal numbers over the true one is χ² over its degrees of freedom.
        let ends = [Z95, -Z95].map(|z| (variance / chi_squared(count - 1.0, z) - own).max(0.0).sqrt());
        Estimate { value, low: ends[0].min(value), high: ends[1].max(value) }
    };
    let gain = curves.iter().map(|c| c.gain(middle)).sum::<f64>() / count;
    let steps: Vec<f64> = curves.iter().map(|c| c.gain(middle) / gain).collect();
    let tilts: Vec<f64> = curves.iter().map(|c| -c.asymmetry(middle) / gain).collect();
    let own = |f: &dyn Fn(&Curve) -> f64| {
        let each = draws.devices.iter().zip(&curves).map(|((_, within), curve)| {
            let size = (within.len() as f64).sqrt() as usize;
            let slopes: Vec<f64> = (0..n)
                .map(|a| {
                    let mut moved = curve.clone();
                    let h = 1e-5 * curve.parameters[a].abs().max(1e-6);
                    moved.parameters[a] += h;
                    (f(&moved) - f(curve)) / h
                })
                .collect();
            (0..n)
                .flat_map(|a| (0..n).map(move |b| (a, b)))
                .map(|(a, b)| slopes[a] * within[a * size + b] * slopes[b])
                .sum::<f64>()
        });
        each.sum::<f64>() / count
    };
    let relative = |i: usize| covariance[i * m + i].max(0.0).sqrt() / mean[i].abs();
    let place = |name: &str| names.iter().position(|n| n == name);
    let bounds = place("radius_minus").zip(place("radius_plus")).map(|(a, b)| [relative(a), relative(b)]);
    Spreads {
        deviations: (0..m).map(|i| deviation(named.iter().map(|v| v[i]).collect(), open[i])).collect(),
        step: deviation(steps, own(&|c| c.gain(middle) / gain)),
        imbalance: deviation(tilts, own(&|c| -c.asymmetry(middle) / gain)),
        names,
        covariance,
        bounds,
    }
}

/// The quantile of χ²/ν at that of a normal number, by Wilson and Hilferty.
fn chi_squared(freedom: f64, z: f64) -> f64 {
    let part = 2.0 / (9.0 * freedom);
    (1.0 - part + z * part.sqrt()).max(1e-3).powi(3)
}

/// ∂(named parameter i)/∂(fitted parameter a), row by row.
fn jacobian(curve: &Curve, soft: bool) -> Vec<f64> {
    let (n, base) = (curve.parameters.len(), curve.values(soft));
    let mut slopes = vec![0.0; base.len() * n];
    for a in 0..n {
        let mut moved = curve.clone();
        let h = 1e-5 * curve.parameters[a].abs().max(1e-6);
        moved.parameters[a] += h;
        for (i, value) in moved.values(soft).into_iter().enumerate() {
            slopes[i * n + a] = (value - base[i]) / h;
        }
    }
    slopes
}
