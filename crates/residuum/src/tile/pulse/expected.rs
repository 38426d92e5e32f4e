//! The expected update: the operator itself, in single precision on every cell.

use super::blocks::RowBlock;
use super::counted::Chunk;
use crate::device::{Law, Parameters, Vector, WithLaw};
use crate::tile::Tile;

impl Tile {
    /// `w ← clip(w + A(scale · row · col; w))`, sample by sample.
    pub(crate) fn update_expected(&mut self, scale: f32, row_signals: &[f32], col_signals: &[f32]) {
        let (rows, cols) = (self.rows, self.cols);
        let batch = row_signals.len() / rows;
        let (device, cells, blocks) = self.blocks(1, batch * rows * cols);
        blocks.sum(&|RowBlock { index: row, weights, hidden, .. }: RowBlock<'_>| {
            let (mut room, from, to) = (cells.room(), row * cols, (row + 1) * cols);
            let chunk = Chunk::of(device, cells.span(from, to, &mut room), from, to);
            write(weights, hidden, |state| {
                for sample in 0..batch {
                    let along = &col_signals[sample * cols..(sample + 1) * cols];
                    chunk.realize(scale * row_signals[sample * rows + row], along, state);
                }
            });
            0
        });
    }

    /// `w ← clip(w + A(scale · direction; w))`.
    pub(super) fn increment_expected(&mut self, scale: f32, direction: &[f32]) {
        let cols = self.cols;
        let (device, cells, blocks) = self.blocks(1, direction.len());
        blocks.sum(&|RowBlock { index: row, weights, hidden, .. }: RowBlock<'_>| {
            let here = row * cols..(row + 1) * cols;
            let mut room = cells.room();
            let chunk = Chunk::of(device, cells.span(here.start, here.end, &mut room), here.start, here.end);
            write(weights, hidden, |state| chunk.realize(scale, &direction[here], state));
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

impl Chunk<'_> {
    /// `state ← clip(state + A(scale · direction; state))`.
    pub(super) fn realize(&self, scale: f32, direction: &[f32], state: &mut [f32]) {
        let per_granularity = 1.0 / self.device.granularity();
        let work = Realize { parameters: self.parameters, per_granularity, scale, direction, state };
        self.device.step.with_vector_law(work);
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

impl WithLaw<Vector> for Realize<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Law<Vector>>(self, law: L) {
        let Self { parameters, per_granularity, scale, direction, state } = self;
        let n = state.len();
        let (parameters, direction, state) =
            (parameters.chunk::<L>(0, n, false), &direction[..n], &mut state[..n]);
        for k in 0..n {
            let desired = scale * direction[k];
            let up = desired >= 0.0;
            let (v, _) = law.step(&parameters.cell::<L>(k, up), up, state[k]);
            // The step already carries the sign of the desired increment.
            state[k] = parameters.clip(k, state[k] + desired.abs() * (v * per_granularity));
        }
    }
}
