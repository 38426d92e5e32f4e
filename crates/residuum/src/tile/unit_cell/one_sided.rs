use std::ops::Range;

use super::super::array::{column_key, full_train, pulse_rows, shift};
use super::super::lines::Lines;
use super::super::scheme::{all_finite, check_update};
use super::super::{Scheme, Tile, Trains};
use super::{alike, named};
use crate::Key;
use crate::array::{Array, Calibration, ZeroShift, all_points, check_column};
use crate::error::{ParameterError, require, same_length};
use crate::readout::{Readout, Scratch, Shape};
use crate::state::{State, StateError, Tensors};

/// When both tiles of a [`OneSidedCell`] are reset and their difference rewritten.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refresh {
    /// Samples between two checks of all cells.
    pub every: u64,
    /// A pair is refreshed if the larger cell exceeds this fraction of the mean upper bound…
    pub upper: f32,
    /// …and the smaller one this fraction.
    pub lower: f32,
    /// Converters of the check.
    pub readout: Readout,
    /// Trains of the rewrite, which is one open-loop update.
    pub trains: Trains,
}

impl Refresh {
    /// AIHWKIT's thresholds, an exact read, full trains.
    pub fn every(samples: u64) -> Self {
        Self {
            every: samples,
            upper: 0.75,
            lower: 0.25,
            readout: Readout::default(),
            trains: Trains::default(),
        }
    }
}

/// W = G₊ − G₋ with cells that can only increase, such as phase-change cells: positive increments pulse G₊ up, negative ones G₋.
#[derive(Debug)]
pub struct OneSidedCell {
    /// G₊ and G₋.
    sides: [Tile; 2],
    weights: Vec<f32>,
    scheme: Scheme,
    refresh: Option<Refresh>,
    /// Samples since the last check.
    waited: u64,
    /// Cells rewritten so far.
    refreshed: u64,
    lines: [Lines; 2],
    one_hot: Vec<f32>,
    row_signal: Vec<f32>,
    /// One column of a matrix.
    column: Vec<f32>,
    /// Buffers of a check: what was read from G₊ and G₋, and what is written back.
    look: [Vec<f32>; 3],
    scratch: Scratch,
}

impl OneSidedCell {
    /// A cell of G₊ and G₋, refreshed as given or never.
    ///
    /// # Errors
    /// If shapes differ or a threshold is invalid.
    pub fn new(plus: Tile, minus: Tile, refresh: Option<Refresh>) -> Result<Self, ParameterError> {
        alike(&plus, &minus)?;
        if let Some(refresh) = refresh {
            require(refresh.every > 0, "refresh every", "at least 1", refresh.every as f64)?;
            refresh.trains.validate()?;
            let (lower, upper) = (f64::from(refresh.lower), f64::from(refresh.upper));
            require((0.0..=1.0).contains(&lower), "refresh lower", "between 0 and 1", lower)?;
            require((lower..=1.0).contains(&upper), "refresh upper", "between lower and 1", upper)?;
        }
        let mut cell = Self {
            weights: vec![0.0; plus.weights.len()],
            one_hot: vec![0.0; plus.cols],
            row_signal: Vec::new(),
            column: Vec::new(),
            look: [(); 3].map(|()| vec![0.0; plus.rows]),
            scheme: plus.scheme,
            sides: [plus, minus],
            refresh,
            waited: 0,
            refreshed: 0,
            lines: [Lines::default(), Lines::default()],
            scratch: Scratch::default(),
        };
        cell.subtract();
        Ok(cell)
    }

    /// Sets the pulse trains.
    ///
    /// # Errors
    /// If the trains are invalid.
    pub fn with_scheme(mut self, scheme: impl Into<Scheme>) -> Result<Self, ParameterError> {
        self.scheme = scheme.into();
        self.scheme.validate()?;
        Ok(self)
    }

    /// G₊ and G₋.
    pub fn sides(&self) -> &[Tile; 2] {
        &self.sides
    }

    /// Cells reset and rewritten so far.
    pub fn refreshed(&self) -> u64 {
        self.refreshed
    }

    fn subtract(&mut self) {
        let [plus, minus] = &self.sides;
        for ((out, p), m) in self.weights.iter_mut().zip(&plus.weights).zip(&minus.weights) {
            *out = p - m;
        }
    }

    /// Checks all cells when due.
    fn look(&mut self, samples: u64, key: Key) -> Result<(), ParameterError> {
        let Some(refresh) = self.refresh else { return Ok(()) };
        self.waited += samples;
        if self.waited < refresh.every {
            return Ok(());
        }
        self.waited %= refresh.every;
        let (rows, cols) = (self.sides[0].rows, self.sides[0].cols);
        let shape = Shape { rows, cols };
        let bounds = [self.sides[0].device.max, self.sides[1].device.max];
        let [plus, minus, back] = &mut self.look;
        for column in 0..cols {
            let key = key.fold(column as u64);
            for ((side, out), name) in self.sides.iter().zip([&mut *plus, &mut *minus]).zip(["plus", "minus"]) {
                refresh.readout.read_column(
                    &side.weights,
                    shape,
                    column,
                    key.named(name),
                    out,
                    &mut self.scratch,
                );
            }
            // What to write back on either side; nothing where the pair is not full.
            let full = |row: usize| {
                let (p, m) = (plus[row] / bounds[0], minus[row] / bounds[1]);
                p.max(m) > refresh.upper && p.min(m) > refresh.lower
            };
            let count = (0..rows).filter(|row| full(*row)).count();
            if count == 0 {
                continue;
            }
            self.refreshed += count as u64;
            for (n, name) in ["plus", "minus"].into_iter().enumerate() {
                let here = |row: usize, col: usize| col == column && full(row);
                self.sides[n].reset_where(here, key.named("reset").named(name));
                let sign = if n == 0 { 1.0 } else { -1.0 };
                for (row, back) in back.iter_mut().enumerate() {
                    *back = if full(row) { (sign * (plus[row] - minus[row])).max(0.0) } else { 0.0 };
                }
                self.sides[n].write_column(
                    column,
                    1.0,
                    back,
                    refresh.trains,
                    key.named("rewrite").named(name),
                )?;
            }
        }
        self.subtract();
        Ok(())
    }

    /// By stochastic trains.
    fn write(
        &mut self,
        scale: f32,
        errors: &[f32],
        inputs: &[f32],
        scheme: Scheme,
        key: Key,
    ) -> Result<(), ParameterError> {
        let (Shape { rows, cols }, granularity) = (self.shape(), self.granularity());
        let batch = check_update([rows, cols], scale, [errors, inputs], scheme)?;
        let Scheme::Stochastic(trains) = scheme else {
            let message = format!("scheme must be stochastic trains for a one-sided cell, got {scheme:?}");
            return Err(ParameterError::Other { message });
        };
        let together = self.sides.iter().all(|t| t.cells.at_once);
        let [lines, masked] = &mut self.lines;
        lines.fire((rows, cols), (errors, inputs), (scale, granularity), trains, together, key);
        // Pulses of one direction commute in law, so the samples of a batch may be sorted by the signs of their lines.
        for (n, [row, col]) in
            [[false, false], [true, true], [false, true], [true, false]].into_iter().enumerate()
        {
            lines.only_signs(row, col, masked);
            self.sides[n / 2].take(masked, key.named("side").fold(n as u64));
        }
        self.subtract();
        self.look(batch as u64, key.named("refresh"))
    }

    /// A column write as an update whose column signal is 1 there and 0 elsewhere.
    fn write_column(
        &mut self,
        column: usize,
        scale: f32,
        values: &[f32],
        scheme: Scheme,
        key: Key,
    ) -> Result<(), ParameterError> {
        check_column(self.shape(), column, values.len())?;
        let mut one_hot = std::mem::take(&mut self.one_hot);
        one_hot[column] = 1.0;
        let written = self.write(scale, values, &one_hot, scheme, key);
        one_hot[column] = 0.0;
        self.one_hot = one_hot;
        written
    }
}

impl State for OneSidedCell {
    fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::new();
        for (side, name) in self.sides.iter().zip(["plus", "minus"]) {
            tensors.nest(name, side.tensors());
        }
        tensors.count("waited", self.waited);
        tensors.count("refreshed", self.refreshed);
        tensors.matrix("difference", [self.sides[0].rows, self.sides[0].cols], &self.weights);
        tensors.nest("readout", self.scratch.tensors());
        tensors
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        from.fit(&self.tensors())?;
        for (side, name) in self.sides.iter_mut().zip(["plus", "minus"]) {
            side.load(&from.within(name))?;
        }
        from.read_count("waited", &mut self.waited);
        from.read_count("refreshed", &mut self.refreshed);
        from.read("difference", &mut self.weights);
        self.scratch.load(&from.within("readout"))
    }
}

impl Array<f32> for OneSidedCell {
    fn shape(&self) -> Shape {
        self.sides[0].shape()
    }

    fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// One column after the other.
    fn increment(&mut self, scale: f32, direction: &[f32], key: Key) -> Result<(), ParameterError> {
        let (Shape { rows, cols }, scheme) = (self.shape(), self.scheme);
        same_length("direction", rows * cols, direction.len())?;
        all_finite("direction", direction)?;
        let mut values = std::mem::take(&mut self.column);
        for column in 0..cols {
            values.clear();
            values.extend(direction[column..].iter().step_by(cols));
            let written = self.write_column(column, scale, &values, scheme, column_key(key, column));
            if written.is_err() {
                self.column = values;
                return written;
            }
        }
        self.column = values;
        Ok(())
    }

    fn update(&mut self, scale: f32, errors: &[f32], inputs: &[f32], key: Key) -> Result<(), ParameterError> {
        self.write(scale, errors, inputs, self.scheme, key)
    }

    fn update_column(
        &mut self,
        column: usize,
        scale: f32,
        values: &[f32],
        key: Key,
    ) -> Result<(), ParameterError> {
        self.write_column(column, scale, values, self.scheme, column_key(key, column))
    }

    fn pulse_column(
        &mut self,
        column: usize,
        counts: &[f32],
        max_pulses: u32,
        key: Key,
    ) -> Result<(), ParameterError> {
        let unit = self.granularity();
        self.write_column(column, unit, counts, full_train(max_pulses), column_key(key, column))
    }

    fn pulse_cells(&mut self, unit: f32, counts: &[f32], key: Key) -> Result<(), ParameterError> {
        let mut row_signal = std::mem::take(&mut self.row_signal);
        let written = pulse_rows(self, unit, counts, &mut row_signal, key);
        self.row_signal = row_signal;
        written
    }

    /// Writes positive targets to G₊, negative ones to G₋, and 0 to the other side.
    fn program(&mut self, target: &[f32], key: Key) -> Result<(), ParameterError> {
        all_finite("target", target)?;
        let side = |sign: f32| -> Vec<f32> { target.iter().map(|t| (sign * t).max(0.0)).collect() };
        self.sides[0].program(&side(1.0), key.named("plus"))?;
        self.sides[1].program(&side(-1.0), key.named("minus"))?;
        self.subtract();
        Ok(())
    }

    fn age(&mut self, key: Key) -> bool {
        let mut aged = false;
        for (side, name) in self.sides.iter_mut().zip(["plus", "minus"]) {
            aged |= side.age(key.named(name));
        }
        if aged {
            self.subtract();
        }
        aged
    }

    fn reset(&mut self, columns: Range<usize>, key: Key) -> Result<(), ParameterError> {
        for (side, name) in self.sides.iter_mut().zip(["plus", "minus"]) {
            side.reset(columns.clone(), key.named(name))?;
        }
        self.subtract();
        Ok(())
    }

    /// An up pulse goes to G₊, a down pulse to G₋.
    fn pulse_all(&mut self, up: bool, key: Key) {
        self.sides[usize::from(!up)].pulse_all(true, key);
        self.subtract();
    }

    fn zero_shift(&mut self, settings: &ZeroShift, key: Key) -> Result<Calibration<f32>, ParameterError> {
        shift(self, settings, key)
    }

    fn granularity(&self) -> f32 {
        f32::midpoint(self.sides[0].device.granularity(), self.sides[1].device.granularity())
    }

    fn range(&self) -> Option<[f32; 2]> {
        Some([-self.sides[1].device.max, self.sides[0].device.max])
    }

    fn pulses_sent(&self) -> u64 {
        self.sides.iter().map(Tile::pulses_sent).sum()
    }

    /// `None`: the steps of either side depend on its own state, not on the difference.
    fn symmetric_points(&self) -> Vec<Option<f32>> {
        vec![None; self.weights.len()]
    }

    fn known_symmetric_points(&self) -> Result<Vec<f32>, ParameterError> {
        all_points(self.symmetric_points(), |_| "its up and down pulses go to two one-sided tiles".into())
    }

    fn programmable(&self, cell: usize) -> Option<[f32; 2]> {
        let [plus, minus] = &self.sides;
        let max = |tile: &Tile| tile.programmable(cell).map(|[_, max]| max);
        Some([-max(minus)?, max(plus)?])
    }

    /// The response of the side that would be pulsed, at its present state.
    fn cell_parameters(&self) -> Vec<(String, Vec<f32>)> {
        let sides = ["plus", "minus"].into_iter().zip(&self.sides);
        sides.flat_map(|(name, tile)| named(name, tile.cell_parameters())).collect()
    }

    fn response(&self, cell: usize, up: bool, _: f32) -> f32 {
        let side = &self.sides[usize::from(!up)];
        side.response(cell, true, side.hidden()[cell])
    }
}
