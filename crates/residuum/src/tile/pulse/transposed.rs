//! Parameters of a few neighbouring columns, transposed: each column contiguous.
//!
//! The cells of a column lie a row apart, often a power of two, and then share a few sets of every cache: by the time the
//! next column is written, the cache lines that hold it too are gone. Where columns are written in turn, as a transfer does, the
//! parameters of all columns of a line are copied when the first is written.

use crate::device::{Cells, KeptCells};

/// Columns in a cache line.
const WIDTH: usize = 16;

/// The columns held.
#[derive(Clone, Debug, Default)]
pub(super) struct Transposed {
    cells: Cells,
    first: usize,
    held: usize,
    last: Option<usize>,
}

/// Where the cells of a column are: row i at `from + i·step`.
#[derive(Clone, Copy)]
pub(super) struct ColumnStride {
    from: usize,
    step: usize,
}

impl ColumnStride {
    #[inline(always)]
    pub(super) fn at(self, row: usize) -> usize {
        self.from + row * self.step
    }
}

impl Transposed {
    /// The cells of a column of `all`, held here or still in their rows.
    pub(super) fn column<'a>(
        &'a mut self,
        column: usize,
        (rows, cols): (usize, usize),
        all: &'a KeptCells,
    ) -> (&'a Cells, ColumnStride) {
        let in_turn = self.last.is_some_and(|last| (last + 1) % cols == column);
        self.last = Some(column);
        let holds = |here: &Self| (here.first..here.first + here.held).contains(&column);
        if !holds(self) {
            match all.whole() {
                Some(whole) if !in_turn => return (whole, ColumnStride { from: column, step: cols }),
                _ => {}
            }
            self.first = column;
            self.held = if in_turn { (WIDTH - column % WIDTH).min(cols - column) } else { 1 };
            all.transpose_columns((rows, cols), self.first, self.held, &mut self.cells);
        }
        (&self.cells, ColumnStride { from: (column - self.first) * rows, step: 1 })
    }
}

impl KeptCells {
    /// Copies `held` columns from `first` on, one after the other.
    fn transpose_columns(&self, (rows, cols): (usize, usize), first: usize, held: usize, into: &mut Cells) {
        // A parameter that the step model does not have is empty.
        let len = |from: &[f32]| if from.is_empty() { 0 } else { WIDTH * rows };
        if let Some(whole) = self.whole() {
            for (from, to) in whole.arrays().into_iter().zip(into.arrays_mut()) {
                // What all cells share is the same in every column.
                let shared = from.len() < rows * cols;
                to.resize(len(from), from.first().copied().unwrap_or(0.0));
                if shared {
                    continue;
                }
                for (row, from) in from.chunks_exact(cols).enumerate() {
                    for (k, value) in from[first..first + held].iter().enumerate() {
                        to[k * rows + row] = *value;
                    }
                }
            }
            return;
        }
        let mut room = self.room();
        for row in 0..rows {
            let from = row * cols + first;
            let span = self.span(from, from + held, &mut room);
            for (from, to) in span.cells.arrays().into_iter().zip(into.arrays_mut()) {
                to.resize(len(from), 0.0);
                for (k, value) in from.iter().take(held).enumerate() {
                    to[k * rows + row] = *value;
                }
            }
        }
    }
}
