//! The one door to weights at cross points, whether one tile holds them or several.

use std::fmt::Debug;

use super::{Ledger, Scheme, Tile};
use crate::rule::Slot;
use crate::{Key, ParameterError};

/// Weights that pulses write: a [`Tile`], or a unit cell of several tiles that act as one.
pub trait Crossbar: Debug + Send {
    /// Number of rows (outputs).
    fn rows(&self) -> usize;

    /// Number of columns (inputs).
    fn cols(&self) -> usize;

    /// What a perfect read sees, row-major.
    fn weights(&self) -> &[f32];

    /// Mean change of a weight by one pulse at w = 0.
    fn granularity(&self) -> f32;

    /// Bounds of a weight, on average over the cells.
    fn range(&self) -> [f32; 2];

    /// `W ← W + A(scale · Σ_b rows_b colsᵀ_b; W)`, sample by sample.
    ///
    /// # Errors
    /// If a shape does not fit or a signal is not finite; nothing is written then.
    fn update(
        &mut self,
        scale: f32,
        row_signals: &[f32],
        col_signals: &[f32],
        scheme: Scheme,
        key: Key,
    ) -> Result<(), ParameterError>;

    /// `W_j ← W_j + A(scale · values; W_j)` for one column j.
    ///
    /// # Errors
    /// As [`Crossbar::update`].
    fn update_column(
        &mut self,
        column: usize,
        scale: f32,
        values: &[f32],
        scheme: Scheme,
        key: Key,
    ) -> Result<(), ParameterError>;

    /// `W ← W + A(scale · direction; W)`, one column after the other.
    ///
    /// # Errors
    /// As [`Crossbar::update`].
    fn increment(
        &mut self,
        scale: f32,
        direction: &[f32],
        scheme: Scheme,
        key: Key,
    ) -> Result<(), ParameterError>;

    /// Marks the rows that the last [`update`](Crossbar::update) or [`increment`](Crossbar::increment) may have changed; all
    /// of them, unless the crossbar knows better.
    fn mark_written(&self, rows: &mut [bool]) {
        rows.fill(true);
    }

    /// Writes a state at set-up.
    ///
    /// # Errors
    /// If the length differs or a value is not finite; nothing is written then.
    fn program(&mut self, target: &[f32], key: Key) -> Result<(), ParameterError>;

    /// Pulses that reached a cell so far.
    fn pulses_sent(&self) -> u64;

    /// What a checkpoint must hold: everything that changes and that a later operation depends on. A tile that was drawn with
    /// the same device and key, and counts pulses if this one does, continues from it to the bit.
    fn slots(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>));
}

impl Crossbar for Tile {
    fn rows(&self) -> usize {
        self.rows
    }

    fn cols(&self) -> usize {
        self.cols
    }

    fn weights(&self) -> &[f32] {
        &self.weights
    }

    fn granularity(&self) -> f32 {
        self.device.granularity()
    }

    fn range(&self) -> [f32; 2] {
        let shift = self.device.reference.map_or(0.0, |r| r.mean);
        [self.device.min - shift, self.device.max - shift]
    }

    fn update(
        &mut self,
        scale: f32,
        row_signals: &[f32],
        col_signals: &[f32],
        scheme: Scheme,
        key: Key,
    ) -> Result<(), ParameterError> {
        Self::update(self, scale, row_signals, col_signals, scheme, key)
    }

    fn update_column(
        &mut self,
        column: usize,
        scale: f32,
        values: &[f32],
        scheme: Scheme,
        key: Key,
    ) -> Result<(), ParameterError> {
        Self::update_column(self, column, scale, values, scheme, key)
    }

    fn increment(
        &mut self,
        scale: f32,
        direction: &[f32],
        scheme: Scheme,
        key: Key,
    ) -> Result<(), ParameterError> {
        Self::increment(self, scale, direction, scheme, key)
    }

    fn mark_written(&self, rows: &mut [bool]) {
        if self.by_lines { self.lines.mark_rows(rows) } else { rows.fill(true) }
    }

    fn program(&mut self, target: &[f32], key: Key) -> Result<(), ParameterError> {
        Self::program(self, target, key)
    }

    fn pulses_sent(&self) -> u64 {
        self.pulses_sent
    }

    fn slots(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        visit("weights", Slot::Floats(&mut self.weights));
        if let Some(hidden) = &mut self.hidden {
            visit("hidden", Slot::Floats(hidden));
        }
        visit("pulses", Slot::Count(&mut self.pulses_sent));
        if let Some(Ledger { up, down, cells }) = &mut self.ledger {
            visit("ledger.up", Slot::Count(up));
            visit("ledger.down", Slot::Count(down));
            visit("ledger.cells", Slot::Counts(cells));
        }
        self.retained.slots(visit);
    }
}
