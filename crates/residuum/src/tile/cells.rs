//! Parameters of each cell, one array per parameter.

use super::device::{CycleNoise, Device, Spread};
use super::step::{SlopeBounds, Slopes, StepModel};
use super::{fill_normal, pulse};
use crate::Key;

/// Structure of arrays; only what the step model needs is filled.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells {
    /// s₊ and s₋.
    pub(super) scale: [Vec<f32>; 2],
    pub(super) max: Vec<f32>,
    pub(super) min: Vec<f32>,
    /// Step at w = 0 where a reference makes it differ from s±; empty otherwise.
    pub(super) base: [Vec<f32>; 2],
    /// Change of the step with the state (linear), or the exponent (power); empty otherwise.
    pub(super) shape: [Vec<f32>; 2],
    /// 1/(max − min) for steps that depend on it (power, exponential), 0 for a stuck cell; empty otherwise.
    pub(super) inverse_range: Vec<f32>,
    /// Whether n pulses may be taken at once: mild noise, and a step that is smooth in the state. `row::Row::at_once`
    /// states the error.
    pub(super) at_once: bool,
}

/// Index of a direction in the pairs above.
#[inline(always)]
pub(super) fn side(up: bool) -> usize {
    usize::from(!up)
}

impl Cells {
    pub(super) fn draw(n: usize, device: &Device, key: Key) -> Self {
        let deviations = |name: &str, deviation: f32| -> Vec<f32> {
            let mut values = vec![0.0; n];
            if deviation > 0.0 {
                fill_normal(key.named(name), &mut values);
                for v in &mut values {
                    *v *= deviation;
                }
            }
            values
        };
        let gain: Vec<f32> = deviations("step", device.step_spread.deviation)
            .into_iter()
            .map(|d| device.step_spread.factor(d))
            .collect();
        let tilt = deviations("imbalance", device.imbalance_spread);
        // A step that would go the wrong way is turned round: up pulses never lower a weight.
        let scales = |sign: f32, extra: f32| -> Vec<f32> {
            gain.iter().zip(&tilt).map(|(g, t)| ((g + sign * t + extra) * device.pulse_step).abs()).collect()
        };
        let mut scale = [scales(1.0, device.imbalance.min(0.0)), scales(-1.0, -device.imbalance.max(0.0))];
        let bound = |name: &str, mean: f32, spread: Spread| -> Vec<f32> {
            // A bound on the wrong side of 0 is mirrored, so that 0 stays inside.
            deviations(name, spread.deviation).into_iter().map(|d| mean * spread.factor(d).abs()).collect()
        };
        let mut max = bound("max", device.max, device.max_spread);
        let mut min = bound("min", device.min, device.min_spread);
        if let Some(stuck) = device.stuck {
            for i in 0..n {
                if key.named("stuck").uniform_at(i as u64) < f64::from(stuck.probability) {
                    let (lo, hi) = (min[i].max(-stuck.range), max[i].min(stuck.range));
                    let at = lo + (hi - lo) * key.named("stuck at").uniform_at(i as u64) as f32;
                    (max[i], min[i]) = (at, at);
                    for s in &mut scale {
                        s[i] = 0.0;
                    }
                }
            }
        }
        let shape = match &device.step {
            StepModel::Linear(slopes) => {
                let mut slope = drawn_slopes(slopes, &deviations);
                if slopes.bounds == SlopeBounds::Divided {
                    divide([&mut max, &mut min], &mut slope);
                }
                slopes_per_weight(slopes, device, &slope, &scale, [&max, &min])
            }
            StepModel::Power(exponents) => {
                let gain = deviations("shape", exponents.spread.deviation);
                let tilt = deviations("shape imbalance", exponents.imbalance_spread);
                let of = |(d, r): (f32, f32)| exponents.of(exponents.spread.factor(d), r).into();
                let (up, down): (Vec<f32>, Vec<f32>) = gain.into_iter().zip(tilt).map(of).unzip();
                [up, down]
            }
            _ => [Vec::new(), Vec::new()],
        };
        let ranged = matches!(device.step, StepModel::Power { .. } | StepModel::Exponential { .. });
        let inverse = |(max, min): (&f32, &f32)| if max > min { 1.0 / (max - min) } else { 0.0 };
        let inverse_range = if ranged { max.iter().zip(&min).map(inverse).collect() } else { Vec::new() };
        let at_once = composable(device);
        let base = [Vec::new(), Vec::new()];
        let mut cells = Self { scale, max, min, base, shape, inverse_range, at_once };
        if let Some(reference) = device.reference {
            let linear = matches!(device.step, StepModel::Linear(_));
            if linear {
                cells.base = cells.scale.clone();
            }
            for (i, spread) in deviations("reference", reference.deviation).into_iter().enumerate() {
                let point = if reference.at_symmetric_point { cells.symmetric_point(device, i) } else { 0.0 };
                cells.shift(i, reference.mean + spread + point, linear);
            }
            // Two arrays less to read where nothing was shifted.
            if cells.base == cells.scale {
                cells.base = [Vec::new(), Vec::new()];
            }
        }
        cells
    }

    /// Every array, empty ones too.
    pub(super) fn arrays(&self) -> [&Vec<f32>; 9] {
        let Self { scale: [s, t], max, min, base: [b, c], shape: [u, v], inverse_range, at_once: _ } = self;
        [s, t, max, min, b, c, u, v, inverse_range]
    }

    /// The same, to be filled.
    pub(super) fn arrays_mut(&mut self) -> [&mut Vec<f32>; 9] {
        let Self { scale: [s, t], max, min, base: [b, c], shape: [u, v], inverse_range, at_once: _ } = self;
        [s, t, max, min, b, c, u, v, inverse_range]
    }

    /// Where up and down steps are equal; 0 where they never meet.
    fn symmetric_point(&self, device: &Device, i: usize) -> f32 {
        if !matches!(device.step, StepModel::Linear(_)) {
            return pulse::crossing(device, self, i).unwrap_or(0.0);
        }
        let slopes = self.shape[1][i] - self.shape[0][i];
        if slopes == 0.0 { 0.0 } else { (self.scale[0][i] - self.scale[1][i]) / slopes }
    }

    /// Counts the weight of cell i from `by`: everything that depends on the state moves.
    fn shift(&mut self, i: usize, by: f32, linear: bool) {
        self.max[i] -= by;
        self.min[i] -= by;
        if linear {
            for s in 0..2 {
                self.base[s][i] += self.shape[s][i] * by;
            }
        }
    }

    /// Step at w = 0 of linear models, both directions.
    pub(super) fn base(&self) -> &[Vec<f32>; 2] {
        if self.base[0].is_empty() { &self.scale } else { &self.base }
    }

    #[inline(always)]
    pub(super) fn clip(&self, i: usize, w: f32) -> f32 {
        let w = if w > self.max[i] { self.max[i] } else { w };
        if w < self.min[i] { self.min[i] } else { w }
    }
}

/// Slopes of the cells, relative to step and bound.
fn drawn_slopes(slopes: &Slopes, deviations: &dyn Fn(&str, f32) -> Vec<f32>) -> [Vec<f32>; 2] {
    [("slope up", 0), ("slope down", 1)].map(|(name, s)| {
        let (mean, spread) = (slopes.slope[s], slopes.spread[s]);
        let slope = |d: f32| if spread.log_normal { mean * d.exp() } else { mean + d };
        let turned = |slope: f32| if slopes.increasing { slope } else { slope.abs() };
        deviations(name, spread.deviation).into_iter().map(|d| turned(slope(d))).collect()
    })
}

/// Divides bounds by their slopes, which then are 1. Stuck cells stay where they are.
fn divide([max, min]: [&mut [f32]; 2], [up, down]: &mut [Vec<f32>; 2]) {
    for i in 0..max.len() {
        if max[i] > min[i] {
            max[i] /= up[i];
            min[i] /= down[i];
            (up[i], down[i]) = (1.0, 1.0);
        }
    }
}

/// Change of the steps with the state.
fn slopes_per_weight(
    slopes: &Slopes,
    device: &Device,
    slope: &[Vec<f32>; 2],
    scale: &[Vec<f32>; 2],
    [max, min]: [&[f32]; 2],
) -> [Vec<f32>; 2] {
    let mean = slopes.bounds == SlopeBounds::Mean;
    let ends = |i: usize| if mean { [device.max, device.min] } else { [max[i], min[i]] };
    [0, 1].map(|s| {
        let per_weight = |i: usize| match slopes.bound(s, ends(i)) {
            0.0 => 0.0,
            bound => -slope[s][i] * scale[s][i] / bound,
        };
        (0..max.len()).map(per_weight).collect()
    })
}

fn composable(device: &Device) -> bool {
    device.cycle_noise.deviation() <= 0.5 && !matches!(device.cycle_noise, CycleNoise::Complex { .. })
}
