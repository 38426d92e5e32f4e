//! Which layers are on tiles, and how their rules are built.

use std::fmt;
use std::sync::Arc;

use residuum::{Key, ParameterError, RateSchedules, Rule};

use super::{AnalogWeights, Mapping, Reads};
use crate::model::{Factory, Select};
use crate::weights::{DigitalWeights, Parameter, Sgd, Weights};

/// Builds the rule that holds the weights of one tile.
pub trait Recipe: Send + Sync {
    /// A rule on arrays of `rows × cols` cells; the key decides their variation. The weights are programmed afterwards.
    ///
    /// # Errors
    /// If the rule cannot be built.
    fn build(&self, rows: usize, cols: usize, key: Key) -> Result<Box<dyn Rule<f32>>, ParameterError>;
}

impl<F> Recipe for F
where
    F: Fn(usize, usize, Key) -> Result<Box<dyn Rule<f32>>, ParameterError> + Send + Sync,
{
    fn build(&self, rows: usize, cols: usize, key: Key) -> Result<Box<dyn Rule<f32>>, ParameterError> {
        self(rows, cols, key)
    }
}

/// Puts the selected layers on tiles and leaves the others in digital memory.
#[derive(Clone)]
pub struct AnalogFactory {
    /// The layers on tiles.
    pub select: Select,
    /// Their rules.
    pub recipe: Arc<dyn Recipe>,
    /// The rates of those rules.
    pub rates: RateSchedules,
    /// How weights are mapped to tiles.
    pub mapping: Mapping,
    /// Converters of the products.
    pub reads: Reads,
    /// How everything digital learns: biases, output scales, layers not selected.
    pub sgd: Sgd,
    /// Decides the variation of the cells, by the name of the layer.
    pub key: Key,
}

impl fmt::Debug for AnalogFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { select, rates, mapping, reads, sgd, key, .. } = self;
        let mut all = f.debug_struct("AnalogFactory");
        all.field("select", select).field("rates", rates).field("mapping", mapping).field("reads", reads);
        all.field("sgd", sgd).field("key", key).finish_non_exhaustive()
    }
}

impl Factory for AnalogFactory {
    fn weights(
        &mut self,
        name: &str,
        rows: usize,
        cols: usize,
        initial: Vec<f32>,
    ) -> Result<Box<dyn Weights>, ParameterError> {
        if !self.select.includes(name) {
            return Ok(Box::new(DigitalWeights::new(rows, cols, initial, Some(self.sgd))?));
        }
        Ok(Box::new(AnalogWeights::new(name, [rows, cols], &initial, self)?))
    }

    fn parameter(&mut self, _: &str, initial: Vec<f32>) -> Parameter {
        Parameter::new(initial, Some(self.sgd))
    }
}
