//! Writes by column: one column, or a whole matrix as in a transfer.
//!
//! A column is written as an update whose column signal is 1 there and 0 elsewhere: its line fires with its own
//! probability, the rows with theirs. A matrix is one such write per column, each with its own key; noise belongs to
//! (column, pulse, row), so the matrix can be processed block by block with bit-identical results.

use super::blocks::RowBlock;
use super::column_block::{ColumnBlock, WIDTH};
use super::column_lines::{ColumnLines, HEIGHT};
use super::counted::LONGEST;
use super::expected::write;
use super::gathered::{ArrayCells, Gathered, Position};
use super::transposed::Transposed;
use crate::Key;
use crate::error::{ParameterError, finite, require, same_length};
use crate::tile::Tile;
use crate::tile::ledger::{PulseCounts, tally};
use crate::tile::scheme::{Scheme, all_finite};

/// Kept by the tile, so that a transfer allocates nothing once it has run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    /// Largest magnitude of each column.
    peaks: Vec<f32>,
    lines: Vec<ColumnLines>,
    transposed: Transposed,
}

impl Tile {
    /// Writes `scale · values`, one value per row, to one column: [`Tile::write`] with a column signal of 1 there and 0
    /// elsewhere, at the cost of that column alone.
    ///
    /// # Errors
    /// If the column does not exist, the length differs, the trains are invalid, or a number is not finite; nothing is
    /// written then.
    pub fn write_column(
        &mut self,
        column: usize,
        scale: f32,
        values: &[f32],
        scheme: impl Into<Scheme>,
        key: Key,
    ) -> Result<(), ParameterError> {
        let scheme = scheme.into();
        scheme.validate()?;
        require(column < self.cols, "column", "below the number of columns", column as f64)?;
        finite("scale", f64::from(scale))?;
        same_length("values", self.rows, values.len())?;
        all_finite("values", values)?;
        let cols = self.cols;
        let (cells, along) = self.columns.transposed.column(column, (self.rows, cols), &self.cells);
        let array = ArrayCells { device: &self.device, cells, first: 0 };
        let position = |row: usize| Position { cell: along.at(row), weight: row * cols + column };
        if scheme == Scheme::Expected {
            let mut positions = [Position::default(); LONGEST];
            for (index, values) in values.chunks(LONGEST).enumerate() {
                let positions = &mut positions[..values.len()];
                for (i, here) in positions.iter_mut().enumerate() {
                    *here = position(index * LONGEST + i);
                }
                let hidden = self.hidden.as_deref_mut();
                let up = |i: usize| scale * values[i] >= 0.0;
                array.gather(positions, up, &mut self.weights, hidden, |chunk, seen, hidden| {
                    write(seen, hidden, |state| chunk.realize(scale, values, state));
                });
            }
            return Ok(());
        }
        let peak = values.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        let lines = [ColumnLines::draw(&self.device, scheme, scale, peak, key)];
        let mut all = RowBlock {
            index: 0,
            weights: &mut self.weights,
            hidden: self.hidden.as_deref_mut(),
            tally: self.ledger.as_mut().map(|ledger| &mut *ledger.cells),
        };
        let mut gathered = Gathered::new(array, &lines);
        let mut sent = PulseCounts::default();
        for (block, values) in values.chunks(HEIGHT).enumerate() {
            let mut counts = [0; HEIGHT];
            if lines[0].counts(block, values, &mut counts[..values.len()]) {
                sent += PulseCounts::of(&counts);
                let row = block * HEIGHT;
                if let Some(cells) = &mut all.tally {
                    tally(cells[row * cols + column..].iter_mut().step_by(cols), &counts);
                }
                gathered.add(&counts, (0, row), |i| position(row + i), &mut all);
            }
        }
        gathered.send(&mut all);
        self.count(sent);
        Ok(())
    }

    /// `W ← W + A(scale · direction; W)` (`biased-update`), `direction` row-major: a full transfer, the same bit for bit as
    /// [`Tile::write_column`] for every column j with `key.fold(j)`.
    ///
    /// # Errors
    /// If the length differs, the trains are invalid, or a number is not finite; then nothing is written.
    pub fn write_matrix(
        &mut self,
        scale: f32,
        direction: &[f32],
        scheme: impl Into<Scheme>,
        key: Key,
    ) -> Result<(), ParameterError> {
        let scheme = scheme.into();
        scheme.validate()?;
        finite("scale", f64::from(scale))?;
        same_length("direction", self.weights.len(), direction.len())?;
        all_finite("direction", direction)?;
        self.by_lines = false;
        if scheme == Scheme::Expected {
            self.increment_expected(scale, direction);
            return Ok(());
        }
        let cols = self.cols;
        let (mut peaks, mut lines) =
            (std::mem::take(&mut self.columns.peaks), std::mem::take(&mut self.columns.lines));
        peaks.clear();
        peaks.resize(cols, 0.0);
        for row in direction.chunks_exact(cols) {
            for (peak, v) in peaks.iter_mut().zip(row) {
                *peak = peak.max(v.abs());
            }
        }
        lines.clear();
        let line = |(j, peak): (u64, &f32)| ColumnLines::draw(&self.device, scheme, scale, *peak, key.fold(j));
        lines.extend((0u64..).zip(&peaks).map(line));
        let (device, cells, blocks) = self.blocks(HEIGHT, 1);
        let sent = blocks.sum(&|mut block: RowBlock<'_>| {
            let first = block.index * HEIGHT * cols;
            let array = ArrayCells { device, cells, first };
            let rows = &direction[first..first + block.weights.len()];
            let mut sent = PulseCounts::default();
            for start in (0..cols).step_by(WIDTH) {
                let here = &lines[start..(start + WIDTH).min(cols)];
                let columns = ColumnBlock { array, lines: here, start, cols };
                sent += columns.write(rows, &mut block);
            }
            sent
        });
        (self.columns.peaks, self.columns.lines) = (peaks, lines);
        self.count(sent);
        Ok(())
    }
}
