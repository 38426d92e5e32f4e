//! Writes by column: one column, or a whole matrix as in a transfer.
//!
//! A column is written as an update whose column signal is 1 there and 0 elsewhere: its line fires with its own
//! probability, the rows with theirs. A matrix is one such write per column, made in one pass ([`super::matrix`]).

use super::blocks::RowBlock;
use super::column_lines::{ColumnLines, HEIGHT};
use super::counted::LONGEST;
use super::expected::write;
use super::gathered::{ArrayCells, Gathered, Position};
use super::matrix::Signals;
use super::transposed::Transposed;
use crate::Key;
use crate::error::{ParameterError, finite, require, same_length};
use crate::simd::{self, Kernel};
use crate::tile::Tile;
use crate::tile::ledger::{PulseCounts, tally};
use crate::tile::scheme::{Scheme, all_finite};

/// Kept by the tile, so that the next column finds it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
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
        let array = ArrayCells { device: &self.device, cells, at_once: self.cells.at_once };
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

    /// `W ← W + A(scale · direction; W)` (`biased-update`), `direction` row-major: a full transfer, in distribution the same
    /// as [`Tile::write_column`] for every column.
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
        self.by_lines = false;
        if scheme == Scheme::Expected {
            all_finite("direction", direction)?;
            self.increment_expected(scale, direction);
            return Ok(());
        }
        let mut survey = std::mem::take(&mut self.survey);
        survey.of(direction, self.cols);
        if survey.peaks.iter().any(|peak| !peak.is_finite()) {
            all_finite("direction", direction)?;
        }
        self.write_rows(scale, Signals::Values(direction), &survey, scheme, key);
        self.survey = survey;
        Ok(())
    }

    /// [`Tile::write_matrix`] for whole steps of a converter, of which few differ: their pulses are looked up in tables.
    ///
    /// # Errors
    /// As [`Tile::write_matrix`].
    pub fn write_steps(
        &mut self,
        scale: f32,
        steps: &[i16],
        scheme: impl Into<Scheme>,
        key: Key,
    ) -> Result<(), ParameterError> {
        let scheme = scheme.into();
        scheme.validate()?;
        finite("scale", f64::from(scale))?;
        same_length("steps", self.weights.len(), steps.len())?;
        if scheme == Scheme::Expected {
            let values: Vec<f32> = steps.iter().map(|steps| f32::from(*steps)).collect();
            return self.write_matrix(scale, &values, scheme, key);
        }
        self.by_lines = false;
        let mut survey = std::mem::take(&mut self.survey);
        survey.of_steps(steps, self.cols);
        self.write_rows(scale, Signals::Steps(steps), &survey, scheme, key);
        self.survey = survey;
        Ok(())
    }
}

/// The magnitudes of a matrix.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    /// The largest of each column, NaN if any entry is.
    pub(super) peaks: Vec<f32>,
    pub(super) cells: usize,
    most: Vec<u16>,
}

impl Survey {
    fn of(&mut self, matrix: &[f32], cols: usize) {
        self.cells = matrix.len();
        self.peaks.clear();
        self.peaks.resize(cols, 0.0);
        simd::dispatch(Peaks { matrix, peaks: &mut self.peaks });
    }

    /// The same of whole steps.
    fn of_steps(&mut self, matrix: &[i16], cols: usize) {
        self.cells = matrix.len();
        self.most.clear();
        self.most.resize(cols, 0);
        simd::dispatch(MostSteps { matrix, most: &mut self.most });
        self.peaks.clear();
        self.peaks.extend(self.most.iter().map(|steps| f32::from(*steps)));
    }
}

struct Peaks<'a> {
    matrix: &'a [f32],
    peaks: &'a mut [f32],
}

impl Kernel for Peaks<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for row in self.matrix.chunks_exact(self.peaks.len().max(1)) {
            for (peak, v) in self.peaks.iter_mut().zip(row) {
                // As whole numbers, which are ordered as the magnitudes are, with NaN above all.
                *peak = f32::from_bits(peak.to_bits().max(v.abs().to_bits()));
            }
        }
    }
}

struct MostSteps<'a> {
    matrix: &'a [i16],
    most: &'a mut [u16],
}

impl Kernel for MostSteps<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for row in self.matrix.chunks_exact(self.most.len().max(1)) {
            for (most, steps) in self.most.iter_mut().zip(row) {
                *most = (*most).max(steps.unsigned_abs());
            }
        }
    }
}
