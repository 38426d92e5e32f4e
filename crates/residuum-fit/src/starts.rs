//! Where the climbs begin: regressions on smoothed states, good to a few percent.

use crate::curve::{Curve, CurveFamily};
use crate::filter::Surprises;
use crate::measurement::{Direction, Ramp};
use crate::scoring::Likelihood;
use crate::screen::changes;

/// What the raw data of one device say.
pub(crate) struct Starts {
    /// State and step, for each direction.
    pairs: [Vec<(f64, f64)>; 2],
    /// Step at −1 and at 1 of a straight line, for each direction.
    lines: [[f64; 2]; 2],
    /// v_r and v_a.
    noise: [f64; 2],
}

/// The mean step, and the deviations of a read and of a pulse.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(crate) step: f64,
    pub(crate) read: f64,
    pub(crate) write: f64,
}

impl Starts {
    pub(crate) fn new(ramps: &[Ramp]) -> Self {
        let mut pairs: [Vec<(f64, f64)>; 2] = [Vec::new(), Vec::new()];
        let (mut square, mut product, mut count, mut products) = (0.0, 0.0, 0.0, 0.0);
        for ramp in ramps {
            pairs[ramp.direction.index()].extend(changes(ramp));
        }
        let lines = [0, 1].map(|side| line(&pairs[side]));
        for ramp in ramps {
            let [a, b] = lines[ramp.direction.index()];
            let off: Vec<f64> =
                changes(ramp).iter().map(|(x, d)| d - 0.5 * (a + b) - 0.5 * (b - a) * x).collect();
            square += off.iter().map(|r| r * r).sum::<f64>();
            count += off.len() as f64;
            product += off.windows(2).map(|w| w[0] * w[1]).sum::<f64>();
            products += off.len().saturating_sub(1) as f64;
        }
        // Successive differences share a read: their covariance is −v_r.
        let variance = (square / f64::max(count, 1.0)).max(1e-30);
        let read = (-product / f64::max(products, 1.0)).clamp(0.02 * variance, 0.49 * variance);
        Self { pairs, lines, noise: [read, (variance - 2.0 * read).max(0.02 * variance)] }
    }

    /// The sizes of a step and of its noise.
    pub(crate) fn scale(&self) -> Scale {
        let step = 0.5 * (mean(&self.pairs[0]).abs() + mean(&self.pairs[1]).abs()).max(1e-12);
        Scale { step, read: self.noise[0].sqrt(), write: self.noise[1].sqrt() }
    }

    /// Parameters of curve and noise to begin with.
    pub(crate) fn of(&self, model: CurveFamily, likelihood: &Likelihood<'_>) -> Vec<f64> {
        let mut scratch = Surprises::new(likelihood.ramps.size);
        let starts = self.curves(model).into_iter().map(|mut curve| {
            curve.extend([self.noise[0], self.noise[1], 0.0]);
            curve
        });
        let tried = starts.map(|start| (likelihood.value(&start, &mut scratch), start));
        tried.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, start)| start).unwrap_or_default()
    }

    fn curves(&self, model: CurveFamily) -> Vec<Vec<f64>> {
        let line = Curve { model: CurveFamily::Line, parameters: self.lines.as_flattened().to_vec() };
        let middle = [Direction::Up, Direction::Down].map(|d| line.step(d, 0.0).abs().max(1e-9));
        let radius =
            [Direction::Up, Direction::Down].map(|d| line.bound(d).map_or(3.0, |b| b.abs().clamp(1.02, 3.0)));
        match model {
            CurveFamily::Constant => {
                vec![[Direction::Up, Direction::Down].map(|d| mean(&self.pairs[d.index()])).to_vec()]
            }
            CurveFamily::Line => vec![line.parameters],
            CurveFamily::Power => [0.5, 1.0, 2.0, 4.0]
                .iter()
                .map(|shape| {
                    // A larger exponent with the same slope in the middle has its bound further out.
                    let out = |r: f64| 1.02f64.max(r * f64::max(1.0, 0.5 * shape + 0.5));
                    vec![middle[0], middle[1], out(radius[0]), out(radius[1]), *shape]
                })
                .collect(),
            CurveFamily::Exponential => [-2.0, -0.5, 0.5, 2.0]
                .iter()
                .map(|k| vec![middle[0], middle[1], radius[0], radius[1], *k])
                .collect(),
            CurveFamily::Tanh => {
                let gain = 0.5 * (middle[0] + middle[1]);
                let fall =
                    0.25 * (self.lines[0][0] - self.lines[0][1] + self.lines[1][1] - self.lines[1][0]) / gain;
                let center = crate::point::crossings(&line, residuum::Range { lo: -1.0, hi: 1.0 }, 1);
                let center = center.first().map_or(0.0, |c| c.at);
                [0.3, 0.8, 2.0]
                    .iter()
                    .map(|width| vec![gain, (fall * f64::max(*width, 0.6)).clamp(-0.9, 0.9), center, *width])
                    .collect()
            }
            CurveFamily::Piecewise(nodes, range) | CurveFamily::Table(nodes, range) => {
                let mut parameters = Vec::new();
                for (side, direction) in [Direction::Up, Direction::Down].into_iter().enumerate() {
                    let width = (range.hi - range.lo) / (nodes - 1) as f64;
                    let mut sums = vec![(0.0, 0.0); nodes];
                    for (x, d) in &self.pairs[side] {
                        let at = ((x - range.lo) / width).round().clamp(0.0, (nodes - 1) as f64) as usize;
                        sums[at] = (sums[at].0 + d, sums[at].1 + 1.0);
                    }
                    parameters.extend(sums.iter().enumerate().map(|(i, (sum, count))| {
                        let at = range.lo + width * i as f64;
                        if *count > 4.0 { sum / count } else { line.step(direction, at) }
                    }));
                }
                vec![parameters]
            }
        }
    }
}

fn mean(pairs: &[(f64, f64)]) -> f64 {
    pairs.iter().map(|p| p.1).sum::<f64>() / pairs.len().max(1) as f64
}

/// Least squares, as values at −1 and 1.
fn line(pairs: &[(f64, f64)]) -> [f64; 2] {
    let n = pairs.len().max(1) as f64;
    let (mx, md) = (pairs.iter().map(|p| p.0).sum::<f64>() / n, mean(pairs));
    let sxx: f64 = pairs.iter().map(|p| (p.0 - mx).powi(2)).sum();
    let sxd: f64 = pairs.iter().map(|p| (p.0 - mx) * (p.1 - md)).sum();
    let slope = if sxx > 0.0 { sxd / sxx } else { 0.0 };
    [md + slope * (-1.0 - mx), md + slope * (1.0 - mx)]
}
