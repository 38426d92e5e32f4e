//! Parameters of each cell, one array per parameter.

use super::draws::Draws;
use super::kept::Span;
use super::{CycleNoise, Device};
use crate::error::ParameterError;
use crate::simd::{self, Kernel};

/// Structure of arrays; only what the step model needs is filled. Of a parameter that is the same in all cells there may be fewer values than cells:
/// [`value`] and [`slice`] know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    /// How many there are.
    n: usize,
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
}

/// A parameter of cell i.
#[inline(always)]
pub(crate) fn value(values: &[f32], i: usize) -> f32 {
    values[i.min(values.len() - 1)]
}

/// A parameter of cells `from..to`; nothing if the step model does not have it.
#[inline(always)]
pub(crate) fn slice(values: &[f32], from: usize, to: usize) -> &[f32] {
    if values.len() >= to {
        &values[from..to]
    } else if values.is_empty() {
        values
    } else {
        &values[..to - from]
    }
}

/// Index of a direction in the pairs above.
#[inline(always)]
pub(crate) fn side(up: bool) -> usize {
    usize::from(!up)
}

impl Cells {
    /// Works out the parameters of as many cells as there are draws, in place of what was here. A draw lies where its
    /// parameter will be, so that no room but that of the parameters is needed; `origins` is room for references.
    ///
    /// # Errors
    /// If a reference is to be at the symmetric point of a cell that has none.
    pub(super) fn derive(
        &mut self,
        device: &Device,
        draws: &Draws<'_>,
        origins: &mut Vec<f32>,
    ) -> Result<(), ParameterError> {
        self.n = draws.len();
        let [up, down] = &mut self.scale;
        draws.factors("step", device.step_spread, up);
        draws.deviations("imbalance", device.imbalance_spread, down);
        let imbalance = [device.imbalance.min(0.0), -device.imbalance.max(0.0)];
        simd::dispatch(Scales { scale: [up, down], imbalance, pulse_step: device.pulse_step });
        draws.factors("max", device.max_spread, &mut self.max);
        simd::dispatch(Bounds { bounds: &mut self.max, mean: device.max });
        draws.factors("min", device.min_spread, &mut self.min);
        simd::dispatch(Bounds { bounds: &mut self.min, mean: device.min });
        if let Some(stuck) = device.stuck {
            let Self { scale: [up, down], max, min, .. } = self;
            draws.stuck(stuck.probability, |i, share| {
                let (lo, hi) = (min[i].max(-stuck.range), max[i].min(stuck.range));
                let at = lo + (hi - lo) * share;
                (max[i], min[i]) = (at, at);
                (up[i], down[i]) = (0.0, 0.0);
            });
        }
        let model = device.step.model();
        model.derive(device, self, draws);
        let Some(reference) = device.reference else { return Ok(()) };
        draws.deviations("reference", reference.deviation, origins);
        for (i, origin) in origins.iter_mut().enumerate() {
            let point = if reference.at_symmetric_point { self.symmetric_point(device, i)? } else { 0.0 };
            *origin = reference.mean + *origin + point;
        }
        if model.affine() {
            for s in 0..2 {
                self.base[s].clear();
                self.base[s].extend_from_slice(&self.scale[s]);
                simd::dispatch(Rebase { base: &mut self.base[s], slope: &self.shape[s], origins });
            }
        }
        simd::dispatch(Shift { bounds: &mut self.max, origins });
        simd::dispatch(Shift { bounds: &mut self.min, origins });
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// Keeps so many values of each parameter that is the same in all cells, the most that are asked for at a time: what is read again and again stays in the
    /// nearest cache.
    pub(super) fn share(&mut self, most: usize) {
        for values in self.arrays_mut() {
            if values.len() > most && alike(values) {
                values.truncate(most);
                values.shrink_to_fit();
            }
        }
    }

    /// Gives every cell a value of its own of what they share.
    pub(super) fn repeat(&mut self) {
        let n = self.n;
        for values in self.arrays_mut().into_iter().filter(|values| !values.is_empty()) {
            values.resize(n, values[0]);
        }
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
        let each = |values: &Vec<f32>| (0..self.n).map(|i| value(values, i)).collect();
        used.map(|(name, values)| (name.to_owned(), each(values))).collect()
    }

    /// Every array, empty ones too.
    pub(crate) fn arrays(&self) -> [&Vec<f32>; 9] {
        let Self { scale: [s, t], max, min, base: [b, c], shape: [u, v], inverse_range, .. } = self;
        [s, t, max, min, b, c, u, v, inverse_range]
    }

    /// The same, mutable.
    pub(crate) fn arrays_mut(&mut self) -> [&mut Vec<f32>; 9] {
        let Self { scale: [s, t], max, min, base: [b, c], shape: [u, v], inverse_range, .. } = self;
        [s, t, max, min, b, c, u, v, inverse_range]
    }

    /// The symmetric point of cell i, before a reference is subtracted from it.
    fn symmetric_point(&self, device: &Device, i: usize) -> Result<f32, ParameterError> {
        if let Some(closed) = device.step.model().symmetric_point(self, i) {
            return Ok(closed);
        }
        let rest = device.rest(Span { cells: self, first: 0 }, i);
        rest.point().ok_or_else(|| ParameterError::Other {
            message: format!(
                "reference.at_symmetric_point needs the symmetric point of every cell, but cell {i} has none: {}",
                rest.reason()
            ),
        })
    }

    /// Computes 1/(max − min), for models whose law reads it.
    pub(super) fn invert_range(&mut self) {
        self.inverse_range.resize(self.max.len(), 0.0);
        simd::dispatch(Invert { max: &self.max, min: &self.min, out: &mut self.inverse_range });
    }

    /// Step at w = 0 of linear models, both directions.
    pub(crate) fn base(&self) -> &[Vec<f32>; 2] {
        if self.base[0].is_empty() { &self.scale } else { &self.base }
    }

    #[inline(always)]
    pub(crate) fn clip(&self, i: usize, w: f32) -> f32 {
        let (max, min) = (value(&self.max, i), value(&self.min, i));
        let w = if w > max { max } else { w };
        if w < min { min } else { w }
    }
}

/// Whether all values are the same.
pub(super) fn alike(values: &[f32]) -> bool {
    values.iter().all(|v| v.to_bits() == values[0].to_bits())
}

/// s± = |g ± r + imbalance|·Δw_min in place of the draws g and r. A step that would go the wrong way is mirrored: up pulses never
/// lower a weight.
struct Scales<'a> {
    scale: [&'a mut [f32]; 2],
    imbalance: [f32; 2],
    pulse_step: f32,
}

impl Kernel for Scales<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { scale: [up, down], imbalance, pulse_step } = self;
        for (up, down) in up.iter_mut().zip(down) {
            let (g, r) = (*up, *down);
            *up = ((g + r + imbalance[0]) * pulse_step).abs();
            *down = ((g - r + imbalance[1]) * pulse_step).abs();
        }
    }
}

/// A bound in place of its factor. One on the wrong side of 0 is mirrored, so that 0 stays inside.
struct Bounds<'a> {
    bounds: &'a mut [f32],
    mean: f32,
}

impl Kernel for Bounds<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for bound in self.bounds {
            *bound = self.mean * bound.abs();
        }
    }
}

/// 1/(max − min), 0 for a cell without a range.
struct Invert<'a> {
    max: &'a [f32],
    min: &'a [f32],
    out: &'a mut [f32],
}

impl Kernel for Invert<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for ((out, max), min) in self.out.iter_mut().zip(self.max).zip(self.min) {
            *out = if max > min { 1.0 / (max - min) } else { 0.0 };
        }
    }
}

/// Steps at the new origins of cells whose steps are affine in the state.
struct Rebase<'a> {
    base: &'a mut [f32],
    slope: &'a [f32],
    origins: &'a [f32],
}

impl Kernel for Rebase<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for ((base, slope), origin) in self.base.iter_mut().zip(self.slope).zip(self.origins) {
            *base += slope * origin;
        }
    }
}

/// Bounds from the new origins of the cells.
struct Shift<'a> {
    bounds: &'a mut [f32],
    origins: &'a [f32],
}

impl Kernel for Shift<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (bound, origin) in self.bounds.iter_mut().zip(self.origins) {
            *bound -= origin;
        }
    }
}

/// Whether n pulses may be applied at once.
pub(super) fn composable(device: &Device) -> bool {
    device.cycle_noise.deviation() <= 0.5 && !matches!(device.cycle_noise, CycleNoise::Complex { .. })
}

impl Device {
    /// The slope of the mean cell's steps, as [`Model::slope`](super::Model::slope) has it.
    pub(crate) fn slope(&self) -> Option<f32> {
        self.step.model().slope(self).map(|slope| slope * self.pulse_step)
    }

    /// Whether steps vanish at the bounds of every cell.
    pub(crate) fn vanishes_at_bounds(&self) -> bool {
        self.step.model().vanishes_at_bounds()
    }
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
        let (min, max) = (value(&cells.min, i), value(&cells.max, i));
        let node = move |k: usize| min + (max - min) * (k as f32 / PARTS as f32);
        std::iter::once((min, max)).chain((0..PARTS).map(move |k| (node(k), node(k + 1))))
    }

    /// What becomes of cell i under balanced pulses.
    pub(crate) fn rest(&self, span: Span<'_>, i: usize) -> Rest {
        let (cells, i) = (span.cells, i - span.first);
        if let Some(point) = self.crossing(Span { cells, first: 0 }, i) {
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
    pub(crate) fn crossing(&self, span: Span<'_>, i: usize) -> Option<f32> {
        let (cells, i) = (span.cells, i - span.first);
        let (min, max) = (value(&cells.min, i), value(&cells.max, i));
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
