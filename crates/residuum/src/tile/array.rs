//! The array interface of tiles.

use std::ops::Range;

use rayon::prelude::*;

use super::{Ledger, Management, Scheme, Tile, Trains};
use crate::Key;
use crate::array::{Array, Calibration, ZeroShift, all_points, run_zero_shift};
use crate::device::value;
use crate::error::{ParameterError, require, same_length};
use crate::readout::Shape;
use crate::state::{State, StateError, Tensors};

impl State for Tile {
    fn tensors(&self) -> Tensors {
        let shape = [self.rows, self.cols];
        let mut tensors = Tensors::new();
        tensors.matrix("weights", shape, &self.weights);
        if let Some(hidden) = &self.hidden {
            tensors.matrix("hidden", shape, hidden);
        }
        tensors.count("pulses", self.pulses_sent);
        if let Some(Ledger { up, down, cells }) = &self.ledger {
            tensors.count("ledger.up", *up);
            tensors.count("ledger.down", *down);
            tensors.counts("ledger.cells", cells);
        }
        self.retained.save(&mut tensors);
        tensors
    }

    /// A tile that was drawn with the same device and key, and counts pulses if the saved one did, continues bit for bit.
    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        from.fit(&self.tensors())?;
        from.read("weights", &mut self.weights);
        if let Some(hidden) = &mut self.hidden {
            from.read("hidden", hidden);
        }
        from.read_count("pulses", &mut self.pulses_sent);
        if let Some(Ledger { up, down, cells }) = &mut self.ledger {
            from.read_count("ledger.up", up);
            from.read_count("ledger.down", down);
            from.read_counts("ledger.cells", cells);
        }
        self.retained.restore(from);
        Ok(())
    }
}

impl Array<f32> for Tile {
    fn shape(&self) -> Shape {
        Shape { rows: self.rows, cols: self.cols }
    }

    fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Column by column, each with its own key.
    fn increment(&mut self, scale: f32, direction: &[f32], key: Key) -> Result<(), ParameterError> {
        Self::write_matrix(self, scale, direction, self.scheme, key.named("write"))
    }

    fn prefers_steps(&self) -> bool {
        matches!(self.scheme, Scheme::Stochastic(_))
    }

    fn increment_steps(&mut self, scale: f32, steps: &[i16], key: Key) -> Result<(), ParameterError> {
        Self::write_steps(self, scale, steps, self.scheme, key.named("write"))
    }

    /// Sample by sample.
    fn update(&mut self, scale: f32, errors: &[f32], inputs: &[f32], key: Key) -> Result<(), ParameterError> {
        Self::write(self, scale, errors, inputs, self.scheme, key)
    }

    fn update_column(
        &mut self,
        column: usize,
        scale: f32,
        values: &[f32],
        key: Key,
    ) -> Result<(), ParameterError> {
        Self::write_column(self, column, scale, values, self.scheme, column_key(key, column))
    }

    fn pulse_column(
        &mut self,
        column: usize,
        counts: &[f32],
        max_pulses: u32,
        key: Key,
    ) -> Result<(), ParameterError> {
        let (unit, scheme) = (self.device.granularity(), full_train(max_pulses));
        Self::write_column(self, column, unit, counts, scheme, column_key(key, column))
    }

    fn pulse_cells(&mut self, unit: f32, counts: &[f32], key: Key) -> Result<(), ParameterError> {
        let mut one_hot = std::mem::take(&mut self.one_hot);
        let written = pulse_rows(self, unit, counts, &mut one_hot, key);
        self.one_hot = one_hot;
        written
    }

    fn written(&self, rows: &mut [bool]) -> bool {
        if self.by_lines {
            self.lines.mark_rows(rows);
        }
        !self.by_lines
    }

    fn program(&mut self, target: &[f32], key: Key) -> Result<(), ParameterError> {
        Self::program(self, target, key)
    }

    fn age(&mut self, key: Key) -> bool {
        Self::age(self, key)
    }

    fn reset(&mut self, columns: Range<usize>, key: Key) -> Result<(), ParameterError> {
        Self::reset(self, columns, key)
    }

    fn pulse_all(&mut self, up: bool, key: Key) {
        Self::pulse_all(self, up, key);
    }

    fn zero_shift(&mut self, settings: &ZeroShift, key: Key) -> Result<Calibration<f32>, ParameterError> {
        shift(self, settings, key)
    }

    fn granularity(&self) -> f32 {
        self.device.granularity()
    }

    fn range(&self) -> Option<[f32; 2]> {
        let shift = self.device.reference.map_or(0.0, |r| r.mean);
        Some([self.device.min - shift, self.device.max - shift])
    }

    fn pulses_sent(&self) -> u64 {
        self.pulses_sent
    }

    fn symmetric_points(&self) -> Vec<Option<f32>> {
        self.symmetric_point()
    }

    fn known_symmetric_points(&self) -> Result<Vec<f32>, ParameterError> {
        let rest = |i: usize| self.device.rest(self.cells.span(i, i + 1, &mut self.cells.room()), i);
        let cells = (0..self.weights.len()).into_par_iter().with_min_len(1024);
        all_points(cells.map(|i| rest(i).point()).collect(), |i| rest(i).reason())
    }

    fn programmable(&self, cell: usize) -> Option<[f32; 2]> {
        let mut room = self.cells.room();
        let span = self.cells.span(cell, cell + 1, &mut room);
        let i = cell - span.first;
        Some([value(&span.cells.min, i), value(&span.cells.max, i)])
    }

    fn cell_parameters(&self) -> Vec<(String, Vec<f32>)> {
        self.cells.named()
    }

    fn response(&self, cell: usize, up: bool, at: f32) -> f32 {
        let mut room = self.cells.room();
        let span = self.cells.span(cell, cell + 1, &mut room);
        self.device.step_size(span.cells, cell - span.first, up, at) / self.device.granularity()
    }
}

/// The key of one column in a write to all columns.
pub(super) fn column_key(key: Key, column: usize) -> Key {
    key.named("write").fold(column as u64)
}

/// A train as long as the largest count, with equal scales: if that is 1, the pulse is certain.
pub(super) fn full_train(max_pulses: u32) -> Scheme {
    Trains { length: max_pulses, management: Management::Fixed }.into()
}

/// Sends whole pulses to every cell, one update per row that gets any; `one_hot` is a buffer.
pub(super) fn pulse_rows(
    array: &mut dyn Array<f32>,
    unit: f32,
    counts: &[f32],
    one_hot: &mut Vec<f32>,
    key: Key,
) -> Result<(), ParameterError> {
    let Shape { rows, cols } = array.shape();
    same_length("counts", rows * cols, counts.len())?;
    one_hot.clear();
    one_hot.resize(rows, 0.0);
    for (row, counts) in counts.chunks_exact(cols).enumerate() {
        if counts.iter().any(|n| *n != 0.0) {
            one_hot[row] = 1.0;
            array.update(unit, one_hot, counts, key.fold(row as u64))?;
            one_hot[row] = 0.0;
        }
    }
    Ok(())
}

/// Alternates the device's own pulses.
pub(super) fn shift<A: Array<f32>>(
    array: &mut A,
    settings: &ZeroShift,
    key: Key,
) -> Result<Calibration<f32>, ParameterError> {
    let must = "left out for tiles, whose devices have their own";
    require(settings.pulse_step.is_none(), "pulse_step", must, settings.pulse_step.unwrap_or(0.0))?;
    require(settings.cycle_noise == 0.0, "cycle_noise", must, settings.cycle_noise)?;
    let pulse = |array: &mut A, pair: u64, up: bool| {
        array.pulse_all(up, key.fold(pair).named(if up { "up" } else { "down" }));
    };
    let step = f64::from(array.granularity());
    run_zero_shift(array, settings, step, pulse, |high, low, pairs| (high + low) / (2.0 * pairs))
}
