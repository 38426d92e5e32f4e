use super::super::{Crossbar, Scheme, Tile};
use super::alike;
use crate::rule::Slot;
use crate::{Key, ParameterError};

/// W = W₀ − W₁: only W₀ is pulsed, W₁ holds still.
#[derive(Debug)]
pub struct ReferenceCell {
    tile: Tile,
    reference: Tile,
    weights: Vec<f32>,
}

impl ReferenceCell {
    /// A cell of a tile and its reference, which holds what was programmed into it: 0, or the symmetric point of `tile`.
    ///
    /// # Errors
    /// If shapes differ.
    pub fn new(tile: Tile, reference: Tile) -> Result<Self, ParameterError> {
        alike(&tile, &reference)?;
        let mut cell = Self { weights: vec![0.0; tile.weights.len()], tile, reference };
        cell.subtract();
        Ok(cell)
    }

    /// The tile that is pulsed.
    pub fn tile(&self) -> &Tile {
        &self.tile
    }

    /// The tile that holds still.
    pub fn reference(&self) -> &Tile {
        &self.reference
    }

    fn subtract(&mut self) {
        for ((out, w), r) in self.weights.iter_mut().zip(&self.tile.weights).zip(&self.reference.weights) {
            *out = w - r;
        }
    }

    fn after(&mut self, written: Result<(), ParameterError>) -> Result<(), ParameterError> {
        self.subtract();
        written
    }
}

impl Crossbar for ReferenceCell {
    fn rows(&self) -> usize {
        self.tile.rows
    }

    fn cols(&self) -> usize {
        self.tile.cols
    }

    fn weights(&self) -> &[f32] {
        &self.weights
    }

    fn granularity(&self) -> f32 {
        self.tile.device.granularity()
    }

    fn range(&self) -> [f32; 2] {
        self.tile.range()
    }

    fn update(
        &mut self,
        scale: f32,
        row_signals: &[f32],
        col_signals: &[f32],
        scheme: Scheme,
        key: Key,
    ) -> Result<(), ParameterError> {
        let written = self.tile.update(scale, row_signals, col_signals, scheme, key);
        self.after(written)
    }

    fn update_column(
        &mut self,
        column: usize,
        scale: f32,
        values: &[f32],
        scheme: Scheme,
        key: Key,
    ) -> Result<(), ParameterError> {
        let written = self.tile.update_column(column, scale, values, scheme, key);
        self.after(written)
    }

    fn increment(
        &mut self,
        scale: f32,
        direction: &[f32],
        scheme: Scheme,
        key: Key,
    ) -> Result<(), ParameterError> {
        let written = self.tile.increment(scale, direction, scheme, key);
        self.after(written)
    }

    /// Writes `target` plus the reference to the tile.
    fn program(&mut self, target: &[f32], key: Key) -> Result<(), ParameterError> {
        let above: Vec<f32> = target.iter().zip(&self.reference.weights).map(|(t, r)| t + r).collect();
        let written = self.tile.program(&above, key);
        self.after(written)
    }

    fn age(&mut self, key: Key) -> bool {
        let aged = self.tile.age(key) | self.reference.age(key.named("reference"));
        if aged {
            self.subtract();
        }
        aged
    }

    fn pulses_sent(&self) -> u64 {
        self.tile.pulses_sent
    }

    fn slots(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        self.tile.slots(visit);
        self.reference.slots(&mut |name, slot| visit(&format!("reference.{name}"), slot));
        visit("difference", Slot::Floats(&mut self.weights));
    }
}
