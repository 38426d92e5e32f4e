//! Column writes on a block of some rows and some columns.

use super::blocks::RowBlock;
use super::column_lines::{ColumnLines, HEIGHT};
use super::counted::{Chunk, most};
use super::gathered::{ArrayCells, Gathered, Position};
use crate::simd::{self, Kernel};
use crate::tile::ledger::{PulseCounts, tally};

/// Columns of a block: vector loops want long rows, what is transposed should stay in the cache.
pub(super) const WIDTH: usize = 64;
const CELLS: usize = HEIGHT * WIDTH;
/// Where fewer than one cell in this many is pulsed, only those are visited.
const SPARSE: usize = 6;

/// The columns; the rows are those of a [`RowBlock`].
pub(super) struct ColumnBlock<'a> {
    /// Cells of the rows.
    pub(super) array: ArrayCells<'a>,
    pub(super) lines: &'a [ColumnLines],
    /// First column.
    pub(super) start: usize,
    /// Columns of the tile.
    pub(super) cols: usize,
}

impl ColumnBlock<'_> {
    /// Writes the rows of `direction`, which are those of `block`.
    pub(super) fn write(&self, direction: &[f32], block: &mut RowBlock<'_>) -> PulseCounts {
        // Lines are drawn down each column.
        let mut counts = [0; CELLS];
        let (mut pulsed, mut sent) = (0, PulseCounts::default());
        for ((j, lines), counts) in self.lines.iter().enumerate().zip(counts.chunks_exact_mut(HEIGHT)) {
            if lines.is_silent() {
                continue;
            }
            let mut values = [0.0; HEIGHT];
            let column = direction[self.start + j..].iter().step_by(self.cols);
            let rows = values.iter_mut().zip(column).map(|(value, v)| *value = *v).count();
            if lines.counts(block.index, &values[..rows], &mut counts[..rows]) {
                sent += PulseCounts::of(counts);
                if let Some(cells) = &mut block.tally {
                    tally(cells[self.start + j..].iter_mut().step_by(self.cols), counts);
                }
                pulsed += counts.iter().filter(|count| **count != 0).count();
            }
        }
        if pulsed * SPARSE >= self.lines.len() * HEIGHT {
            self.along_rows(&counts, block);
        } else if pulsed > 0 {
            self.one_by_one(|i, j| counts[j * HEIGHT + i], block);
        }
        sent
    }

    /// Visits the cells that are pulsed; `count` is that of a row and column of the block.
    fn one_by_one(&self, count: impl Fn(usize, usize) -> i32, block: &mut RowBlock<'_>) {
        let mut gathered = Gathered::new(self.array, self.lines);
        for j in 0..self.lines.len() {
            let counts: [i32; HEIGHT] = std::array::from_fn(|i| count(i, j));
            let position = |i: usize| {
                let weight = i * self.cols + self.start + j;
                Position { cell: self.array.first + weight, weight }
            };
            gathered.add(&counts, (j, block.index * HEIGHT), position, block);
        }
        gathered.send(block);
    }

    /// Visits all cells, row by row.
    fn along_rows(&self, down: &[i32; CELLS], block: &mut RowBlock<'_>) {
        let ArrayCells { device, cells, first } = self.array;
        let here = self.start..self.start + self.lines.len();
        let along = |i: usize| i * WIDTH..i * WIDTH + self.lines.len();
        let mut pulsed = [0; CELLS];
        let mut highest = [0; WIDTH];
        for ((j, column), highest) in down.chunks_exact(HEIGHT).enumerate().zip(&mut highest) {
            *highest = most(column);
            for (i, count) in column.iter().enumerate() {
                pulsed[i * WIDTH + j] = *count;
            }
        }
        let mut xi = [0.0; CELLS];
        let index = block.index;
        let state = block.hidden.as_deref_mut().unwrap_or(&mut *block.weights);
        let mut each = |n: u32, at_once: bool, counts: &mut [i32]| {
            if device.noisy() {
                let wanted = |j: usize| highest[j] > n;
                simd::dispatch(Draw { lines: self.lines, block: index, wanted, pulse: Some(n), xi: &mut xi });
            }
            for (i, state) in state.chunks_exact_mut(self.cols).enumerate() {
                let from = first + i * self.cols;
                let chunk = Chunk::of(device, cells, from + here.start, from + here.end);
                let (counts, xi, state) = (&mut counts[along(i)], &xi[along(i)], &mut state[here.clone()]);
                if at_once {
                    chunk.pulse_at_once(counts, xi, state);
                } else {
                    chunk.pulse_number(n, counts, xi, state);
                }
            }
        };
        let mut counts = pulsed;
        if cells.at_once {
            each(0, true, &mut counts);
        }
        let left = counts.iter().filter(|count| **count != 0).count();
        if left * SPARSE < CELLS && cells.at_once {
            // Steep cells, which are few.
            self.one_by_one(|i, j| counts[i * WIDTH + j], block);
        } else {
            for n in 0..most(&counts) {
                each(n, false, &mut counts);
            }
        }
        if let Some(hidden) = &block.hidden {
            let wanted = |j: usize| highest[j] > 0;
            simd::dispatch(Draw { lines: self.lines, block: block.index, wanted, pulse: None, xi: &mut xi });
            let rows = block.weights.chunks_exact_mut(self.cols).zip(hidden.chunks_exact(self.cols));
            for (i, (seen, state)) in rows.enumerate() {
                device.show(&pulsed[along(i)], &state[here.clone()], &xi[along(i)], &mut seen[here.clone()]);
            }
        }
    }
}

/// Noise of a block, drawn down the columns that want it, stored along the rows: that of a pulse, or what a read sees.
struct Draw<'a, W> {
    lines: &'a [ColumnLines],
    block: usize,
    wanted: W,
    pulse: Option<u32>,
    xi: &'a mut [f32],
}

impl<W: Fn(usize) -> bool> Kernel for Draw<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (j, lines) in self.lines.iter().enumerate() {
            if (self.wanted)(j) {
                for (i, v) in lines.noise(self.pulse, self.block).into_iter().enumerate() {
                    self.xi[i * WIDTH + j] = v;
                }
            }
        }
    }
}
