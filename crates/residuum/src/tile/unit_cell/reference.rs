use std::ops::Range;

use super::super::array::shift;
use super::super::{Scheme, Tile};
use super::{alike, named};
use crate::Key;
use crate::array::{Array, Calibration, ZeroShift};
use crate::error::{ParameterError, same_length};
use crate::readout::Shape;
use crate::state::{State, StateError, Tensors};

/// W = W₀ − W₁: only W₀ is pulsed, W₁ is fixed.
#[derive(Debug)]
pub struct ReferenceCell {
    tile: Tile,
    reference: Tile,
    weights: Vec<f32>,
}

impl ReferenceCell {
    /// A tile and its reference, which keeps what was programmed into it, such as 0 or the symmetric point of `tile`.
    ///
    /// # Errors
    /// If shapes differ.
    pub fn new(tile: Tile, reference: Tile) -> Result<Self, ParameterError> {
        alike(&tile, &reference)?;
        let mut cell = Self { weights: vec![0.0; tile.weights.len()], tile, reference };
        cell.subtract();
        Ok(cell)
    }

    /// Sets how increments reach the pulsed tile.
    ///
    /// # Errors
    /// If the trains are invalid.
    pub fn with_scheme(mut self, scheme: impl Into<Scheme>) -> Result<Self, ParameterError> {
        self.tile = self.tile.with_scheme(scheme)?;
        Ok(self)
    }

    /// The tile that is pulsed.
    pub fn tile(&self) -> &Tile {
        &self.tile
    }

    /// The fixed reference tile.
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

impl State for ReferenceCell {
    fn tensors(&self) -> Tensors {
        let mut tensors = self.tile.tensors();
        tensors.nest("reference", self.reference.tensors());
        tensors.matrix("difference", [self.tile.rows, self.tile.cols], &self.weights);
        tensors
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        from.fit(&self.tensors())?;
        self.tile.load(&from.filtered(|name| !name.starts_with("reference.") && name != "difference"))?;
        self.reference.load(&from.within("reference"))?;
        from.read("difference", &mut self.weights);
        Ok(())
    }
}

impl Array<f32> for ReferenceCell {
    fn shape(&self) -> Shape {
        self.tile.shape()
    }

    fn weights(&self) -> &[f32] {
        &self.weights
    }

    fn increment(&mut self, scale: f32, direction: &[f32], key: Key) -> Result<(), ParameterError> {
        let written = Array::increment(&mut self.tile, scale, direction, key);
        self.after(written)
    }

    fn prefers_steps(&self) -> bool {
        self.tile.prefers_steps()
    }

    fn increment_steps(&mut self, scale: f32, steps: &[i16], key: Key) -> Result<(), ParameterError> {
        let written = self.tile.increment_steps(scale, steps, key);
        self.after(written)
    }

    fn update(&mut self, scale: f32, errors: &[f32], inputs: &[f32], key: Key) -> Result<(), ParameterError> {
        let written = Array::update(&mut self.tile, scale, errors, inputs, key);
        self.after(written)
    }

    fn update_column(
        &mut self,
        column: usize,
        scale: f32,
        values: &[f32],
        key: Key,
    ) -> Result<(), ParameterError> {
        let written = Array::update_column(&mut self.tile, column, scale, values, key);
        self.after(written)
    }

    fn pulse_column(
        &mut self,
        column: usize,
        counts: &[f32],
        max_pulses: u32,
        key: Key,
    ) -> Result<(), ParameterError> {
        let written = self.tile.pulse_column(column, counts, max_pulses, key);
        self.after(written)
    }

    fn pulse_cells(&mut self, unit: f32, counts: &[f32], key: Key) -> Result<(), ParameterError> {
        let written = self.tile.pulse_cells(unit, counts, key);
        self.after(written)
    }

    /// Writes `target` plus the reference to the tile.
    fn program(&mut self, target: &[f32], key: Key) -> Result<(), ParameterError> {
        same_length("target", self.weights.len(), target.len())?;
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

    fn reset(&mut self, columns: Range<usize>, key: Key) -> Result<(), ParameterError> {
        let reset = self.tile.reset(columns, key);
        self.after(reset)
    }

    fn pulse_all(&mut self, up: bool, key: Key) {
        self.tile.pulse_all(up, key);
        self.subtract();
    }

    fn zero_shift(&mut self, settings: &ZeroShift, key: Key) -> Result<Calibration<f32>, ParameterError> {
        shift(self, settings, key)
    }

    fn granularity(&self) -> f32 {
        self.tile.device.granularity()
    }

    fn range(&self) -> Option<[f32; 2]> {
        self.tile.range()
    }

    fn pulses_sent(&self) -> u64 {
        self.tile.pulses_sent
    }

    /// The symmetric points of the pulsed tile minus the reference.
    fn symmetric_points(&self) -> Vec<Option<f32>> {
        let points = self.tile.symmetric_points().into_iter().zip(&self.reference.weights);
        points.map(|(point, r)| point.map(|point| point - r)).collect()
    }

    fn known_symmetric_points(&self) -> Result<Vec<f32>, ParameterError> {
        let points = self.tile.known_symmetric_points()?.into_iter().zip(&self.reference.weights);
        Ok(points.map(|(point, r)| point - r).collect())
    }

    fn programmable(&self, cell: usize) -> Option<[f32; 2]> {
        let reference = self.reference.weights[cell];
        self.tile.programmable(cell).map(|bounds| bounds.map(|bound| bound - reference))
    }

    fn cell_parameters(&self) -> Vec<(String, Vec<f32>)> {
        let mut all = self.tile.cell_parameters();
        all.extend(named("reference", self.reference.cell_parameters()));
        all
    }

    fn response(&self, cell: usize, up: bool, at: f32) -> f32 {
        self.tile.response(cell, up, at + self.reference.weights[cell])
    }
}
