//! The expected update: the operator itself, in single precision on every cell.

use super::Tile;
use super::counted::Stretch;
use super::laws::{Law, Parameters, WithLaw, with_law};
use super::rows::Band;
use crate::simd::{self, Kernel};

impl Tile {
    /// `w ← clip(w + A(scale · row · col; w))`, sample by sample.
    pub(super) fn update_expected(&mut self, scale: f32, row_signals: &[f32], col_signals: &[f32]) {
        let (rows, cols) = (self.rows, self.cols);
        let batch = row_signals.len() / rows;
        self.each_band(1, batch, |device, cells, Band { index: row, weights, hidden, .. }| {
            let stretch = Stretch::of(device, cells, row * cols, (row + 1) * cols);
            write(weights, hidden, |state| {
                for sample in 0..batch {
                    let along = &col_signals[sample * cols..(sample + 1) * cols];
                    stretch.realize(scale * row_signals[sample * rows + row], along, state);
                }
            });
            0
        });
    }

    /// `w ← clip(w + A(scale · direction; w))`.
    pub(super) fn increment_expected(&mut self, scale: f32, direction: &[f32]) {
        let cols = self.cols;
        self.each_band(1, 1, |device, cells, Band { index: row, weights, hidden, .. }| {
            let here = row * cols..(row + 1) * cols;
            let stretch = Stretch::of(device, cells, here.start, here.end);
            write(weights, hidden, |state| stretch.realize(scale, &direction[here], state));
            0
        });
    }
}

/// Changes the state; what a read sees of it is its mean, the state itself.
pub(super) fn write(weights: &mut [f32], hidden: Option<&mut [f32]>, change: impl FnOnce(&mut [f32])) {
    match hidden {
        None => change(weights),
        Some(hidden) => {
            change(hidden);
            weights.copy_from_slice(hidden);
        }
    }
}

impl Stretch<'_> {
    /// `state ← clip(state + A(scale · direction; state))`.
    pub(super) fn realize(&self, scale: f32, direction: &[f32], state: &mut [f32]) {
        let per_granularity = 1.0 / self.device.granularity();
        let work = Realize { parameters: self.parameters, per_granularity, scale, direction, state };
        with_law(self.device, self.parameters, work);
    }
}

struct Realize<'a> {
    parameters: Parameters<'a>,
    /// Makes a step s±u±(w) the response q±(w).
    per_granularity: f32,
    scale: f32,
    direction: &'a [f32],
    state: &'a mut [f32],
}

struct RealizeKernel<'a, L>(Realize<'a>, L);

impl WithLaw for Realize<'_> {
    type Output = ();

    fn run<L: Law>(self, law: L) {
        simd::dispatch(RealizeKernel(self, law));
    }
}

impl<L: Law> Kernel for RealizeKernel<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(Realize { parameters, per_granularity, scale, direction, state }, law) = self;
        let n = state.len();
        let (law, direction, state) = (law.part(0, n), &direction[..n], &mut state[..n]);
        let (max, min) = (&parameters.max[..n], &parameters.min[..n]);
        for k in 0..n {
            let desired = scale * direction[k];
            let (v, _) = law.at(k, desired >= 0.0, state[k]);
            // The step already carries the sign of the desired increment.
            let next = state[k] + desired.abs() * (v * per_granularity);
            let next = if next > max[k] { max[k] } else { next };
            state[k] = if next < min[k] { min[k] } else { next };
        }
    }
}
