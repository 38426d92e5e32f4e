//! What a network will hold, before any of it is allocated: names and sizes of its layers.

use residuum::{Key, ParameterError, State};

use super::build::{Factory, layer_of};
use crate::state::{StateError, Tensors};
use crate::weights::{Parameter, TrainStepError, Weights};

/// Most weights of a network, all layers together: 4 GB in digital memory, and several times that on tiles, whose cells have
/// parameters of their own. More are taken for a mistake and refused before they fill the memory.
pub const MAX_WEIGHTS: usize = 1_000_000_000;

/// A matrix that a network will have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedMatrix {
    /// Name of its layer.
    pub layer: String,
    /// Outputs.
    pub rows: usize,
    /// Inputs.
    pub cols: usize,
}

/// A factory that only takes notes: no value is drawn or stored. The network it makes has shapes and names, and must not be
/// read or trained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Planner {
    /// The matrices, from input to output.
    pub matrices: Vec<PlannedMatrix>,
    /// Layers with digital vectors, such as biases and the scales of normalisations.
    pub vectors: Vec<String>,
}

impl Planner {
    /// Names of all layers that hold something, from input to output.
    pub fn layers(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.matrices.iter().map(|matrix| matrix.layer.as_str()).collect();
        names.extend(
            self.vectors
                .iter()
                .map(String::as_str)
                .filter(|name| !self.matrices.iter().any(|matrix| matrix.layer == *name)),
        );
        names
    }

    fn weights_so_far(&self) -> usize {
        self.matrices.iter().fold(0, |sum: usize, m| sum.saturating_add(m.rows.saturating_mul(m.cols)))
    }
}

impl Factory for Planner {
    fn weights(
        &mut self,
        name: &str,
        rows: usize,
        cols: usize,
        _: Vec<f32>,
    ) -> Result<Box<dyn Weights>, ParameterError> {
        self.matrices.push(PlannedMatrix { layer: layer_of(name).to_owned(), rows, cols });
        if self.weights_so_far() > MAX_WEIGHTS {
            let message = format!(
                "{rows} × {cols} weights: a network must have at most {MAX_WEIGHTS} in all its layers, which is 4 GB of \
                 digital memory and several times that on tiles"
            );
            return Err(ParameterError::Other { message });
        }
        Ok(Box::new(Planned { rows, cols }))
    }

    fn parameter(&mut self, name: &str, initial: Vec<f32>) -> Parameter {
        let layer = name.rsplit_once('.').map_or(name, |(layer, _)| layer).to_owned();
        if self.vectors.last() != Some(&layer) {
            self.vectors.push(layer);
        }
        Parameter::new(initial, None)
    }

    fn holds_values(&self) -> bool {
        false
    }
}

/// Weights that are a size and nothing else.
#[derive(Debug)]
struct Planned {
    rows: usize,
    cols: usize,
}

impl Weights for Planned {
    fn rows(&self) -> usize {
        self.rows
    }

    fn cols(&self) -> usize {
        self.cols
    }

    fn read(&mut self, _: &[f32], outputs: &mut [f32], _: Key) {
        outputs.fill(f32::NAN);
    }

    fn read_transposed(&mut self, _: &[f32], outputs: &mut [f32], _: Key) {
        outputs.fill(f32::NAN);
    }

    fn step(&mut self, _: u64, _: &[f32], _: &[f32], _: Key) -> Result<(), TrainStepError> {
        Ok(())
    }

    fn trains(&self) -> bool {
        false
    }

    fn effective_weights(&self, out: &mut [f32]) {
        out.fill(f32::NAN);
    }

    fn set_weights(&mut self, _: &[f32]) -> Result<(), ParameterError> {
        Ok(())
    }
}

impl State for Planned {
    fn tensors(&self) -> Tensors {
        Tensors::new()
    }

    fn load(&mut self, _: &Tensors) -> Result<(), StateError> {
        Ok(())
    }
}
