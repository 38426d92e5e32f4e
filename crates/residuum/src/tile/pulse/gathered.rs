//! Cells of a column, gathered into one chunk and written back.

use super::blocks::RowBlock;
use super::column_lines::{ColumnLines, HEIGHT};
use super::counted::{Chunk, LONGEST};
use crate::device::{Cells, Device, Parameters, side, value};
use crate::simd::{self, Kernel};

/// Location of a cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    /// Its parameters, among the cells of an array.
    pub(super) cell: usize,
    /// Its weight, in a block.
    pub(super) weight: usize,
}

/// A device and its cells.
#[derive(Clone, Copy)]
pub(super) struct ArrayCells<'a> {
    pub(super) device: &'a Device,
    pub(super) cells: &'a Cells,
    pub(super) at_once: bool,
}

impl ArrayCells<'_> {
    /// Lets the cells at `positions` be changed as if they were a chunk: parameters, what a read sees, hidden state. `up` says in
    /// which direction each will be changed; nothing else is looked up, as every look at a column is one at memory far away.
    pub(super) fn gather(
        &self,
        positions: &[Position],
        up: impl Fn(usize) -> bool,
        weights: &mut [f32],
        hidden: Option<&mut [f32]>,
        change: impl FnOnce(&Chunk<'_>, &mut [f32], Option<&mut [f32]>),
    ) {
        let (cells, n) = (self.cells, positions.len());
        let take = |from: &[f32], index: fn(&Position) -> usize| {
            let mut out = [0.0; LONGEST];
            // A parameter that the step model does not have is empty.
            if !from.is_empty() {
                for (out, position) in out.iter_mut().zip(positions) {
                    *out = value(from, index(position));
                }
            }
            out
        };
        let directed = |pair: &[Vec<f32>; 2]| {
            let mut out = [0.0; LONGEST];
            if !pair[0].is_empty() {
                for (k, (out, position)) in out.iter_mut().zip(positions).enumerate() {
                    *out = value(&pair[side(up(k))], position.cell);
                }
            }
            out
        };
        let (scale, shape) = (directed(&cells.scale), directed(&cells.shape));
        let base = if cells.base[0].is_empty() { scale } else { directed(&cells.base) };
        let [max, min, inverse_range] =
            [&cells.max, &cells.min, &cells.inverse_range].map(|from| take(from, |position| position.cell));
        let parameters = Parameters {
            scale: [&base[..n]; 2],
            shape: [&shape[..n]; 2],
            max: &max[..n],
            min: &min[..n],
            inverse_range: &inverse_range[..n],
            unit: [&scale[..n]; 2],
        };
        let chunk = Chunk { device: self.device, parameters };
        let mut seen = take(weights, |position| position.weight);
        let mut state = hidden.as_deref().map(|hidden| take(hidden, |position| position.weight));
        change(&chunk, &mut seen[..n], state.as_mut().map(|s| &mut s[..n]));
        let scatter = |from: &[f32], to: &mut [f32]| {
            for (value, position) in from.iter().zip(positions) {
                to[position.weight] = *value;
            }
        };
        scatter(&seen, weights);
        if let (Some(hidden), Some(state)) = (hidden, state) {
            scatter(&state, hidden);
        }
    }
}

/// Cells to be pulsed by column writes, collected until a chunk is full.
pub(super) struct Gathered<'a> {
    array: ArrayCells<'a>,
    lines: &'a [ColumnLines],
    len: usize,
    positions: [Position; LONGEST],
    sources: [NoiseSource; LONGEST],
    counts: [i32; LONGEST],
}

/// Where noise comes from.
#[derive(Clone, Copy, Default)]
struct NoiseSource {
    /// Index in the lines.
    line: usize,
    /// Row of the array.
    row: usize,
}

impl<'a> Gathered<'a> {
    pub(super) fn new(array: ArrayCells<'a>, lines: &'a [ColumnLines]) -> Self {
        let (positions, sources, counts) =
            ([Position::default(); LONGEST], [NoiseSource::default(); LONGEST], [0; LONGEST]);
        Self { array, lines, len: 0, positions, sources, counts }
    }

    /// Adds the cells of a column that are pulsed, whose lines are number `line` and whose first row is `row` of the array;
    /// `position` says where row number i lies.
    pub(super) fn add(
        &mut self,
        counts: &[i32],
        (line, row): (usize, usize),
        position: impl Fn(usize) -> Position,
        block: &mut RowBlock<'_>,
    ) {
        for (i, count) in counts.iter().enumerate().filter(|(_, count)| **count != 0) {
            if self.len == LONGEST {
                self.send(block);
            }
            self.positions[self.len] = position(i);
            self.sources[self.len] = NoiseSource { line, row: row + i };
            self.counts[self.len] = *count;
            self.len += 1;
        }
    }

    /// Sends the pulses collected so far; they are already counted.
    pub(super) fn send(&mut self, block: &mut RowBlock<'_>) {
        let len = std::mem::take(&mut self.len);
        if len == 0 {
            return;
        }
        let directions = self.counts;
        let (positions, sources, counts) =
            (&self.positions[..len], &self.sources[..len], &mut self.counts[..len]);
        let (lines, at_once) = (self.lines, self.array.at_once);
        let pulse = |n: u32, counts: &[i32], xi: &mut [f32]| {
            simd::dispatch(Draw {
                lines,
                sources,
                wanted: |k: usize| counts[k].unsigned_abs() > n,
                pulse: Some(n),
                xi,
            });
        };
        let shown = |xi: &mut [f32]| {
            simd::dispatch(Draw { lines, sources, wanted: |_| true, pulse: None, xi });
        };
        let up = |k: usize| directions[k] > 0;
        self.array.gather(positions, up, block.weights, block.hidden.as_deref_mut(), |chunk, seen, hidden| {
            chunk.send(at_once, counts, seen, hidden, pulse, shown);
        });
    }
}

/// Noise of the cells that want it: that of a pulse, or what a read sees.
struct Draw<'a, W> {
    lines: &'a [ColumnLines],
    sources: &'a [NoiseSource],
    wanted: W,
    pulse: Option<u32>,
    xi: &'a mut [f32],
}

impl<W: Fn(usize) -> bool> Kernel for Draw<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // Cells of one column and one chunk of draws are neighbours.
        let mut drawn = None;
        let mut draws = [0.0; HEIGHT];
        for (k, NoiseSource { line, row }) in self.sources.iter().enumerate() {
            if (self.wanted)(k) {
                let chunk = Some((*line, row / HEIGHT));
                if drawn != chunk {
                    draws = self.lines[*line].noise(self.pulse, row / HEIGHT);
                    drawn = chunk;
                }
                self.xi[k] = draws[row % HEIGHT];
            }
        }
    }
}
