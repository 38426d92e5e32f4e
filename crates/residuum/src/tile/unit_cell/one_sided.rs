use super::super::lines::Lines;
use super::super::scheme::{all_finite, check_update};
use super::super::{Crossbar, Scheme, Tile, Trains};
use super::{alike, column_by_update, increment_by_columns};
use crate::Key;
use crate::error::{ParameterError, require};
use crate::readout::{Readout, Scratch, Shape};
use crate::rule::Slot;

/// When both tiles of a [`OneSidedCell`] are reset and their difference written anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refresh {
    /// Samples between two looks at all cells.
    pub every: u64,
    /// The larger of a pair must exceed this share of the mean upper bound…
    pub upper: f32,
    /// …and the smaller one this share.
    pub lower: f32,
    /// Converters of the look.
    pub readout: Readout,
    /// Trains of the rewrite, which is one open-loop update.
    pub trains: Trains,
}

impl Refresh {
    /// AIHWKIT's thresholds, an exact look, full trains.
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

/// W = G₊ − G₋ with cells that only grow: positive increments pulse G₊ up, negative ones G₋, as phase-change cells need.
#[derive(Debug)]
pub struct OneSidedCell {
    /// G₊ and G₋.
    sides: [Tile; 2],
    weights: Vec<f32>,
    refresh: Option<Refresh>,
    /// Samples since the last look.
    waited: u64,
    /// Cells rewritten so far.
    refreshed: u64,
    lines: [Lines; 2],
    one_hot: Vec<f32>,
    /// One column of a matrix.
    column: Vec<f32>,
    /// Of a look: what was read of G₊ and G₋, what is written back.
    look: [Vec<f32>; 3],
    scratch: Scratch,
}

impl OneSidedCell {
    /// A cell of G₊ and G₋, refreshed now and then or never.
    ///
    /// # Errors
    /// If shapes differ or a threshold is impossible.
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
            column: Vec::new(),
            look: [(); 3].map(|()| vec![0.0; plus.rows]),
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

    /// Looks at all cells once the time has come.
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
            // What is to be written back on either side; nothing where the pair is not full.
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
                self.sides[n].update_column(
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
}

impl Crossbar for OneSidedCell {
    fn rows(&self) -> usize {
        self.sides[0].rows
    }

    fn cols(&self) -> usize {
        self.sides[0].cols
    }

    fn weights(&self) -> &[f32] {
        &self.weights
    }

    fn granularity(&self) -> f32 {
        f32::midpoint(self.sides[0].device.granularity(), self.sides[1].device.granularity())
    }

    fn range(&self) -> [f32; 2] {
        [-self.sides[1].device.max, self.sides[0].device.max]
    }

    /// By stochastic trains.
    fn update(
        &mut self,
        scale: f32,
        row_signals: &[f32],
        col_signals: &[f32],
        scheme: Scheme,
        key: Key,
    ) -> Result<(), ParameterError> {
        let (rows, cols, granularity) = (self.rows(), self.cols(), self.granularity());
        let batch = check_update([rows, cols], scale, [row_signals, col_signals], scheme)?;
        let Scheme::Stochastic(trains) = scheme else {
            return Err(ParameterError::OutOfDomain {
                name: "scheme",
                must: "stochastic trains for a one-sided cell; number of tiles given",
                value: 2.0,
            });
        };
        let together = self.sides.iter().all(|t| t.cells.at_once);
        let [lines, masked] = &mut self.lines;
        lines.fire((rows, cols), (row_signals, col_signals), (scale, granularity), trains, together, key);
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

    fn update_column(
        &mut self,
        column: usize,
        scale: f32,
        values: &[f32],
        scheme: Scheme,
        key: Key,
    ) -> Result<(), ParameterError> {
        let mut one_hot = std::mem::take(&mut self.one_hot);
        let written = column_by_update(self, column, scale, values, scheme, key, &mut one_hot);
        self.one_hot = one_hot;
        written
    }

    fn increment(
        &mut self,
        scale: f32,
        direction: &[f32],
        scheme: Scheme,
        key: Key,
    ) -> Result<(), ParameterError> {
        let mut column = std::mem::take(&mut self.column);
        let written = increment_by_columns(self, scale, direction, scheme, key, &mut column);
        self.column = column;
        written
    }

    /// Writes positive targets to G₊, negative ones to G₋, and 0 to the other side.
    fn program(&mut self, target: &[f32], key: Key) -> Result<(), ParameterError> {
        all_finite("target", target)?;
        let part = |sign: f32| -> Vec<f32> { target.iter().map(|t| (sign * t).max(0.0)).collect() };
        self.sides[0].program(&part(1.0), key.named("plus"))?;
        self.sides[1].program(&part(-1.0), key.named("minus"))?;
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

    fn pulses_sent(&self) -> u64 {
        self.sides.iter().map(Tile::pulses_sent).sum()
    }

    fn slots(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        for (side, name) in self.sides.iter_mut().zip(["plus", "minus"]) {
            side.slots(&mut |slot_name, slot| visit(&format!("{name}.{slot_name}"), slot));
        }
        visit("waited", Slot::Count(&mut self.waited));
        visit("refreshed", Slot::Count(&mut self.refreshed));
        visit("difference", Slot::Floats(&mut self.weights));
    }
}
