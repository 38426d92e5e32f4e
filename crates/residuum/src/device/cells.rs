//! Parameters of each cell, one array per parameter.

use super::{CycleNoise, Device, Spread};
use crate::Key;
use crate::error::ParameterError;
use crate::tile::fill_normal;

/// Structure of arrays; only what the step model needs is filled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    /// s₊ and s₋.
    pub(crate) scale: [Vec<f32>; 2],
    pub(crate) max: Vec<f32>,
    pub(crate) min: Vec<f32>,
    /// Step at w = 0 where a reference makes it differ from s±; empty otherwise.
    pub(crate) base: [Vec<f32>; 2],
    /// Change of the step with the state (linear), or the exponent (power); empty otherwise.
    pub(crate) shape: [Vec<f32>; 2],
    /// 1/(max − min) for steps that depend on it (power, exponential), 0 for a stuck cell; empty otherwise.
    pub(crate) inverse_range: Vec<f32>,
    /// Whether n pulses may be applied at once: mild noise, and a step that is smooth in the state. `pulse::row::together`
    /// states the error.
    pub(crate) at_once: bool,
}

/// Index of a direction in the pairs above.
#[inline(always)]
pub(crate) fn side(up: bool) -> usize {
    usize::from(!up)
}

impl Cells {
    /// # Errors
    /// If a reference is to be at the symmetric point of a cell that has none.
    pub(crate) fn draw(n: usize, device: &Device, key: Key) -> Result<Self, ParameterError> {
        let draws = Draws { n, key };
        let deviations = |name: &str, deviation: f32| draws.deviations(name, deviation);
        let gain: Vec<f32> = deviations("step", device.step_spread.deviation)
            .into_iter()
            .map(|d| device.step_spread.factor(d))
            .collect();
        let tilt = deviations("imbalance", device.imbalance_spread);
        // A step that would go the wrong way is mirrored: up pulses never lower a weight.
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
        let mut cells = Self { scale, max, min, at_once: composable(device), ..Self::default() };
        let model = device.step.model();
        model.draw(device, &mut cells, &draws);
        if let Some(reference) = device.reference {
            let affine = model.affine();
            if affine {
                cells.base = cells.scale.clone();
            }
            for (i, spread) in deviations("reference", reference.deviation).into_iter().enumerate() {
                let point = if reference.at_symmetric_point { cells.symmetric_point(device, i)? } else { 0.0 };
                cells.shift(i, reference.mean + spread + point, affine);
            }
            // Two arrays less to read where nothing was shifted.
            if cells.base == cells.scale {
                cells.base = [Vec::new(), Vec::new()];
            }
        }
        Ok(cells)
    }

    /// What was drawn for each cell, by name; what the step model does not use is left out.
    pub(crate) fn named(&self) -> Vec<(String, Vec<f32>)> {
        let Self { scale: [s, t], max, min, base: [b, c], shape: [u, v], .. } = self;
        let all = [
            ("step_up", s),
            ("step_down", t),
            ("max", max),
            ("min", min),
            ("base_up", b),
            ("base_down", c),
            ("shape_up", u),
            ("shape_down", v),
        ];
        let used = all.into_iter().filter(|(_, values)| !values.is_empty());
        used.map(|(name, values)| (name.to_owned(), values.clone())).collect()
    }

    /// Every array, empty ones too.
    pub(crate) fn arrays(&self) -> [&Vec<f32>; 9] {
        let Self { scale: [s, t], max, min, base: [b, c], shape: [u, v], inverse_range, at_once: _ } = self;
        [s, t, max, min, b, c, u, v, inverse_range]
    }

    /// The same, mutable.
    pub(crate) fn arrays_mut(&mut self) -> [&mut Vec<f32>; 9] {
        let Self { scale: [s, t], max, min, base: [b, c], shape: [u, v], inverse_range, at_once: _ } = self;
        [s, t, max, min, b, c, u, v, inverse_range]
    }

    /// The symmetric point of cell i, before a reference is subtracted from it.
    fn symmetric_point(&self, device: &Device, i: usize) -> Result<f32, ParameterError> {
        if let Some(closed) = device.step.model().symmetric_point(self, i) {
            return Ok(closed);
        }
        let rest = device.rest(self, i);
        rest.point().ok_or_else(|| ParameterError::Other {
            message: format!(
                "reference.at_symmetric_point needs the symmetric point of every cell, but cell {i} has none: {}",
                rest.reason()
            ),
        })
    }

    /// Computes 1/(max − min), for models whose law reads it.
    pub(super) fn invert_range(&mut self) {
        let inverse = |(max, min): (&f32, &f32)| if max > min { 1.0 / (max - min) } else { 0.0 };
        self.inverse_range = self.max.iter().zip(&self.min).map(inverse).collect();
    }

    /// Shifts the origin of cell i to `by`, with everything that depends on the state.
    fn shift(&mut self, i: usize, by: f32, affine: bool) {
        self.max[i] -= by;
        self.min[i] -= by;
        if affine {
            for s in 0..2 {
                self.base[s][i] += self.shape[s][i] * by;
            }
        }
    }

    /// Step at w = 0 of linear models, both directions.
    pub(crate) fn base(&self) -> &[Vec<f32>; 2] {
        if self.base[0].is_empty() { &self.scale } else { &self.base }
    }

    #[inline(always)]
    pub(crate) fn clip(&self, i: usize, w: f32) -> f32 {
        let w = if w > self.max[i] { self.max[i] } else { w };
        if w < self.min[i] { self.min[i] } else { w }
    }
}

/// Random numbers of the cells of one array.
pub(super) struct Draws {
    n: usize,
    key: Key,
}

impl Draws {
    /// One normal number per cell with this standard deviation; its purpose names its key.
    pub(super) fn deviations(&self, name: &str, deviation: f32) -> Vec<f32> {
        let mut values = vec![0.0; self.n];
        if deviation > 0.0 {
            fill_normal(self.key.named(name), &mut values);
            for v in &mut values {
                *v *= deviation;
            }
        }
        values
    }
}

fn composable(device: &Device) -> bool {
    device.cycle_noise.deviation() <= 0.5 && !matches!(device.cycle_noise, CycleNoise::Complex { .. })
}

/// Parts of a cell's range in which a change of sign is looked for.
const PARTS: usize = 32;

/// The state of a cell that balanced pulses drive it to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rest {
    /// The symmetric point.
    At(f32),
    /// Up and down steps are equal in every state, as in a cell that is stuck: the one nearest to 0.
    Anywhere(f32),
    /// Steps are equal near this state, but pulses drive the cell away from it.
    RepelledFrom(f32),
    /// One step is the larger everywhere.
    Nowhere,
}

impl Rest {
    /// The point, if there is one.
    pub(crate) fn point(self) -> Option<f32> {
        match self {
            Self::At(point) | Self::Anywhere(point) => Some(point),
            Self::RepelledFrom(_) | Self::Nowhere => None,
        }
    }

    /// Why there is none.
    pub(crate) fn reason(self) -> String {
        match self {
            Self::RepelledFrom(w) => {
                format!("its up and down steps are equal near {w}, but pulses drive it away from there")
            }
            _ => "its up and down steps are equal nowhere in its range".into(),
        }
    }
}

impl Device {
    fn excess(&self, cells: &Cells, i: usize, w: f32) -> f32 {
        self.step_size(cells, i, true, w) - self.step_size(cells, i, false, w)
    }

    /// Neighbouring states on a grid of the cell's range, the whole range first.
    fn parts(cells: &Cells, i: usize) -> impl Iterator<Item = (f32, f32)> {
        let (min, max) = (cells.min[i], cells.max[i]);
        let node = move |k: usize| min + (max - min) * (k as f32 / PARTS as f32);
        std::iter::once((min, max)).chain((0..PARTS).map(move |k| (node(k), node(k + 1))))
    }

    /// What becomes of cell i under balanced pulses.
    pub(crate) fn rest(&self, cells: &Cells, i: usize) -> Rest {
        if let Some(point) = self.crossing(cells, i) {
            return Rest::At(point);
        }
        let excess = |w: f32| self.excess(cells, i, w);
        if Self::parts(cells, i).all(|(lo, hi)| excess(lo) == 0.0 && excess(hi) == 0.0) {
            return Rest::Anywhere(cells.clip(i, 0.0));
        }
        let rises = |&(lo, hi): &(f32, f32)| excess(lo) <= 0.0 && excess(hi) > 0.0;
        // The whole range comes first; one of its parts says where.
        match Self::parts(cells, i).skip(1).find(rises) {
            Some((lo, hi)) => Rest::RepelledFrom(f32::midpoint(lo, hi)),
            None => Rest::Nowhere,
        }
    }

    /// Where the mean up step falls below the mean down step between the cell's bounds.
    pub(crate) fn crossing(&self, cells: &Cells, i: usize) -> Option<f32> {
        let (min, max) = (cells.min[i], cells.max[i]);
        let excess = |w: f32| self.excess(cells, i, w);
        let falls = |&(lo, hi): &(f32, f32)| excess(lo) > 0.0 && excess(hi) <= 0.0;
        let (mut lo, mut hi) = Self::parts(cells, i).find(falls)?;
        loop {
            let middle = f32::midpoint(lo, hi);
            // Far from 0 the numbers may be coarser than the range asks for.
            if hi - lo <= f32::EPSILON * (max - min) || middle <= lo || middle >= hi {
                return Some(hi);
            }
            *(if excess(middle) > 0.0 { &mut lo } else { &mut hi }) = middle;
        }
    }
}
