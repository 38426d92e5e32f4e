//! Step models as vector code: the signed step and its slope, for the cells of one stretch of a row.

use std::f32::consts::LOG2_E;

use super::cells::Cells;
use super::device::Device;
use super::step::{Exponents, StepModel};
use crate::math::{exp2_32, pow32};

/// ±s±u±(w) and its derivative with respect to w.
pub(super) trait Law: Copy {
    /// For cell `j` of the stretch.
    fn at(&self, j: usize, up: bool, w: f32) -> (f32, f32);

    /// The same for cells `from..from + n` alone: tells the compiler that `j < n` needs no further check.
    fn part(self, from: usize, n: usize) -> Self;
}

#[inline(always)]
pub(super) fn both(pair: [&[f32]; 2], from: usize, n: usize) -> [&[f32]; 2] {
    [&pair[0][from..][..n], &pair[1][from..][..n]]
}

/// The value of one direction. Both are loaded and their bits selected: a choice between two places to load from would
/// become a gather.
#[inline(always)]
pub(super) fn pick(pair: [&[f32]; 2], j: usize, up: bool) -> f32 {
    let (above, below) = (pair[0][j].to_bits(), pair[1][j].to_bits());
    let mask = u32::from(up).wrapping_neg();
    f32::from_bits(below ^ ((above ^ below) & mask))
}

#[inline(always)]
fn signed(up: bool, x: f32) -> f32 {
    if up { x } else { -x }
}

#[derive(Clone, Copy)]
pub(super) struct Constant<'a> {
    scale: [&'a [f32]; 2],
}

impl Law for Constant<'_> {
    #[inline(always)]
    fn at(&self, j: usize, up: bool, _: f32) -> (f32, f32) {
        (signed(up, pick(self.scale, j, up)), 0.0)
    }

    #[inline(always)]
    fn part(self, from: usize, n: usize) -> Self {
        Self { scale: both(self.scale, from, n) }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Linear<'a> {
    scale: [&'a [f32]; 2],
    slope: [&'a [f32]; 2],
}

impl Law for Linear<'_> {
    #[inline(always)]
    fn at(&self, j: usize, up: bool, w: f32) -> (f32, f32) {
        let slope = signed(up, pick(self.slope, j, up));
        (signed(up, pick(self.scale, j, up)) + slope * w, slope)
    }

    #[inline(always)]
    fn part(self, from: usize, n: usize) -> Self {
        Self { scale: both(self.scale, from, n), slope: both(self.slope, from, n) }
    }
}

/// Exponents of the cells: an array for both directions, or one for each, which takes another load.
pub(super) trait Shapes: Copy {
    fn at(&self, j: usize, up: bool) -> f32;
    fn part(self, from: usize, n: usize) -> Self;
}

impl Shapes for &[f32] {
    #[inline(always)]
    fn at(&self, j: usize, _: bool) -> f32 {
        self[j]
    }

    #[inline(always)]
    fn part(self, from: usize, n: usize) -> Self {
        &self[from..][..n]
    }
}

impl Shapes for [&[f32]; 2] {
    #[inline(always)]
    fn at(&self, j: usize, up: bool) -> f32 {
        pick(*self, j, up)
    }

    #[inline(always)]
    fn part(self, from: usize, n: usize) -> Self {
        both(self, from, n)
    }
}

#[derive(Clone, Copy)]
pub(super) struct Power<'a, S> {
    scale: [&'a [f32]; 2],
    shape: S,
    max: &'a [f32],
    min: &'a [f32],
    inverse_range: &'a [f32],
}

impl<S: Shapes> Law for Power<'_, S> {
    #[inline(always)]
    fn at(&self, j: usize, up: bool, w: f32) -> (f32, f32) {
        let inverse = self.inverse_range[j];
        let distance = if up { self.max[j] - w } else { w - self.min[j] } * inverse;
        let distance = if distance > 0.0 { distance } else { 0.0 };
        let shape = self.shape.at(j, up);
        let size = pick(self.scale, j, up) * pow32(distance, shape);
        // d(distance)/dw is −inverse upwards and +inverse downwards: both slow the step towards its bound.
        let slope = -shape * size * inverse / if distance > 1e-6 { distance } else { 1e-6 };
        (signed(up, size), slope)
    }

    #[inline(always)]
    fn part(self, from: usize, n: usize) -> Self {
        Self {
            scale: both(self.scale, from, n),
            shape: self.shape.part(from, n),
            max: &self.max[from..][..n],
            min: &self.min[from..][..n],
            inverse_range: &self.inverse_range[from..][..n],
        }
    }
}

/// The power law of shape 1: u± falls to 0 at its bound in a straight line, and no power need be taken.
#[derive(Clone, Copy)]
pub(super) struct Ramp<'a> {
    scale: [&'a [f32]; 2],
    max: &'a [f32],
    min: &'a [f32],
    inverse_range: &'a [f32],
}

impl Law for Ramp<'_> {
    #[inline(always)]
    fn at(&self, j: usize, up: bool, w: f32) -> (f32, f32) {
        let steepness = pick(self.scale, j, up) * self.inverse_range[j];
        let distance = if up { self.max[j] - w } else { w - self.min[j] };
        let size = steepness * if distance > 0.0 { distance } else { 0.0 };
        (signed(up, size), -steepness)
    }

    #[inline(always)]
    fn part(self, from: usize, n: usize) -> Self {
        Self {
            scale: both(self.scale, from, n),
            max: &self.max[from..][..n],
            min: &self.min[from..][..n],
            inverse_range: &self.inverse_range[from..][..n],
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Exponential<'a> {
    scale: [&'a [f32]; 2],
    inverse_range: &'a [f32],
    amplitude: [f32; 2],
    /// Signed, and in powers of two: u± = 1 − amplitude·2^{rate·z}.
    rate: [f32; 2],
    stretch: f32,
    shift: f32,
}

impl Law for Exponential<'_> {
    #[inline(always)]
    fn at(&self, j: usize, up: bool, w: f32) -> (f32, f32) {
        let per_weight = 2.0 * self.stretch * self.inverse_range[j];
        let z = per_weight * w + self.shift;
        let (amplitude, rate) =
            if up { (self.amplitude[0], self.rate[0]) } else { (self.amplitude[1], self.rate[1]) };
        let e = amplitude * exp2_32(rate * z);
        let scale = pick(self.scale, j, up);
        let moving = e < 1.0;
        let size = if moving { scale * (1.0 - e) } else { 0.0 };
        let slope = if moving { -scale * e * (rate * std::f32::consts::LN_2) * per_weight } else { 0.0 };
        (signed(up, size), signed(up, slope))
    }

    #[inline(always)]
    fn part(self, from: usize, n: usize) -> Self {
        Self { scale: both(self.scale, from, n), inverse_range: &self.inverse_range[from..][..n], ..self }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Piecewise<'a> {
    scale: [&'a [f32]; 2],
    max: &'a [f32],
    min: &'a [f32],
    nodes: [&'a [f32]; 2],
}

/// Longest train: how far ahead a piecewise step looks for a kink.
const LONGEST_TRAIN: f32 = 31.0;
/// Largest change of slope within a train that the affine shortcut may pass over: n·Δb/4 ≤ 1e-3 of the train.
const KINK: f32 = 4e-3 / LONGEST_TRAIN;
/// The slope told where a kink lies ahead: just above what a train taken at once puts up with.
const BENT: f32 = 0.021;

impl Piecewise<'_> {
    /// Value and slope of the table at `at`, counted in intervals.
    #[inline(always)]
    fn lookup(nodes: &[f32], at: f32) -> (f32, f32) {
        let last = nodes.len() - 1;
        let at = at.clamp(0.0, last as f32);
        let left = (at as usize).min(last - 1);
        let (a, b) = (nodes[left], nodes[left + 1]);
        (a + (at - left as f32) * (b - a), b - a)
    }
}

impl Law for Piecewise<'_> {
    #[inline(always)]
    fn at(&self, j: usize, up: bool, w: f32) -> (f32, f32) {
        let nodes = if up { self.nodes[0] } else { self.nodes[1] };
        let range = self.max[j] - self.min[j];
        // A stuck cell has no range and no scale.
        let per_weight = if range > 0.0 { (nodes.len() - 1) as f32 / range } else { 0.0 };
        let scale = pick(self.scale, j, up);
        let at = (w - self.min[j]) * per_weight;
        let (value, rise) = Self::lookup(nodes, at);
        let step = signed(up, scale * value);
        let slope = signed(up, scale * rise * per_weight);
        // A kink ahead makes the step no affine function of the state: no slope is right for a whole train.
        let (_, ahead) = Self::lookup(nodes, at + LONGEST_TRAIN * step * per_weight);
        let bend = scale * (ahead - rise).abs() * per_weight;
        (step, if bend > KINK { BENT } else { slope })
    }

    #[inline(always)]
    fn part(self, from: usize, n: usize) -> Self {
        Self {
            scale: both(self.scale, from, n),
            max: &self.max[from..][..n],
            min: &self.min[from..][..n],
            ..self
        }
    }
}

/// Parameters of some cells: a stretch of a row, or cells gathered from it.
#[derive(Clone, Copy)]
pub(super) struct Parameters<'a> {
    /// Step at w = 0 of linear models, s± of the others.
    pub(super) scale: [&'a [f32]; 2],
    pub(super) shape: [&'a [f32]; 2],
    pub(super) max: &'a [f32],
    pub(super) min: &'a [f32],
    pub(super) inverse_range: &'a [f32],
}

impl<'a> Parameters<'a> {
    /// Those of cells `from..to` of the array.
    pub(super) fn stretch(cells: &'a Cells, from: usize, to: usize) -> Self {
        let shape = |s: usize| cells.shape[s].get(from..to).unwrap_or(&[]);
        Self {
            scale: [&cells.base()[0][from..to], &cells.base()[1][from..to]],
            shape: [shape(0), shape(1)],
            max: &cells.max[from..to],
            min: &cells.min[from..to],
            inverse_range: cells.inverse_range.get(from..to).unwrap_or(&[]),
        }
    }
}

/// Something to be done with the law of some cells, whichever it is.
pub(super) trait WithLaw {
    type Output;
    fn run<L: Law>(self, law: L) -> Self::Output;
}

/// Hands the law of these cells to `work`.
pub(super) fn with_law<W: WithLaw>(device: &Device, p: Parameters<'_>, work: W) -> W::Output {
    let Parameters { scale, shape, max, min, inverse_range } = p;
    match &device.step {
        StepModel::Constant => work.run(Constant { scale }),
        StepModel::Linear { .. } => work.run(Linear { scale, slope: shape }),
        StepModel::Power(exponents) if *exponents == Exponents::new(1.0) => {
            work.run(Ramp { scale, max, min, inverse_range })
        }
        StepModel::Power(exponents) if exponents.balanced() => {
            work.run(Power { scale, shape: shape[0], max, min, inverse_range })
        }
        StepModel::Power(_) => work.run(Power { scale, shape, max, min, inverse_range }),
        StepModel::Exponential { amplitude, rate, stretch, shift } => work.run(Exponential {
            scale,
            inverse_range,
            amplitude: *amplitude,
            rate: [rate[0] * LOG2_E, -rate[1] * LOG2_E],
            stretch: *stretch,
            shift: *shift,
        }),
        StepModel::Piecewise { up, down } => work.run(Piecewise { scale, max, min, nodes: [up, down] }),
    }
}
