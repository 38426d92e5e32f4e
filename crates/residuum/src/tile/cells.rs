//! Parameters of each cell, one array per parameter.

use super::device::{CycleNoise, Device, Spread, StepModel};
use super::fill_normal;
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
        let shape = shapes(device, &scale, &max, &min, &deviations);
        let ranged = matches!(device.step, StepModel::Power { .. } | StepModel::Exponential { .. });
        let inverse = |(max, min): (&f32, &f32)| if max > min { 1.0 / (max - min) } else { 0.0 };
        let inverse_range = if ranged { max.iter().zip(&min).map(inverse).collect() } else { Vec::new() };
        let at_once = composable(device);
        let base = [Vec::new(), Vec::new()];
        let mut cells = Self { scale, max, min, base, shape, inverse_range, at_once };
        if let Some(reference) = device.reference {
            let linear = matches!(device.step, StepModel::Linear { .. });
            if linear {
                cells.base = cells.scale.clone();
            }
            for (i, spread) in deviations("reference", reference.deviation).into_iter().enumerate() {
                let point = if reference.at_symmetric_point { cells.symmetric_point(i) } else { 0.0 };
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

    /// Where linear up and down steps are equal; 0 where they never meet.
    fn symmetric_point(&self, i: usize) -> f32 {
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

/// Slopes of linear steps, exponents of power steps, nothing otherwise.
fn shapes(
    device: &Device,
    scale: &[Vec<f32>; 2],
    max: &[f32],
    min: &[f32],
    deviations: &dyn Fn(&str, f32) -> Vec<f32>,
) -> [Vec<f32>; 2] {
    match device.step {
        StepModel::Linear { slope_up, slope_down, spread, own_bounds } => {
            let slopes = |name: &str, slope: f32, scale: &[f32], own: &[f32], mean: f32| -> Vec<f32> {
                let drawn = deviations(name, spread.deviation);
                let slope =
                    |i: usize| if spread.log_normal { slope * drawn[i].exp() } else { slope + drawn[i] };
                let bound = |i: usize| if own_bounds { own[i] } else { mean };
                (0..scale.len()).map(|i| -slope(i).abs() * scale[i] / bound(i)).collect()
            };
            [
                slopes("slope up", slope_up, &scale[0], max, device.max),
                slopes("slope down", slope_down, &scale[1], min, device.min),
            ]
        }
        StepModel::Power { shape, spread } => {
            // One draw for both directions.
            let drawn = deviations("shape", spread.deviation).into_iter();
            let exponents: Vec<f32> = drawn.map(|d| shape * spread.factor(d).abs()).collect();
            [exponents.clone(), exponents]
        }
        _ => [Vec::new(), Vec::new()],
    }
}

fn composable(device: &Device) -> bool {
    device.cycle_noise.deviation() <= 0.5 && !matches!(device.cycle_noise, CycleNoise::Complex { .. })
}
