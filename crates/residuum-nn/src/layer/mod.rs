//! Layers with explicit forward and backward passes.
//!
//! A container owns the activations between its layers and hands each layer its input and output again on the way back,
//! so a layer keeps only what cannot be derived from them. A backward pass also updates the layer's weights: nothing below
//! it needs its old weights, and the errors are still in the cache.

pub(crate) mod activation;
mod conv;
mod dropout;
mod flatten;
mod geometry;
mod grouped;
mod layer_norm;
mod linear;
mod log_softmax;
mod norm;
mod parallel;
mod patches;
mod pool;
mod residual;
mod sequential;

use std::fmt::Debug;

use residuum::Key;
use thiserror::Error;

pub use activation::Activation;
pub use conv::Conv2d;
pub use dropout::Dropout;
pub use flatten::Flatten;
pub use geometry::Geometry;
pub use grouped::GroupedConv2d;
pub use layer_norm::LayerNorm;
pub use linear::LinearLayer;
pub use log_softmax::LogSoftmax;
pub(crate) use log_softmax::log_softmax;
pub use norm::BatchNorm2d;
pub use parallel::{Join, Parallel};
pub use pool::{GlobalAvgPool, Pool2d, Reduce};
pub use residual::Residual;
pub use sequential::Sequential;

use crate::state::Named;
use crate::{SampleShape, Tensor, TrainStepError, Weights};

/// Purpose of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A backward pass follows: activations are kept, batches are measured, units drop out.
    Train,
    /// Only the output is needed.
    Evaluate,
}

/// Context of one pass.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its purpose.
    pub mode: Mode,
    /// Number of the step, for schedules.
    pub k: u64,
    /// Where draws come from; containers name it after their layers.
    pub key: Key,
}

impl Pass {
    /// A pass that will be followed by a backward pass at step `k`. The key is that of the run: the step is folded in.
    pub fn train(k: u64, key: Key) -> Self {
        Self { mode: Mode::Train, k, key: key.fold(k) }
    }

    /// A pass for the output only.
    pub fn evaluate(key: Key) -> Self {
        Self { mode: Mode::Evaluate, k: 0, key }
    }

    /// The same pass for part number `n` of the batch. A batch of one part draws as if it were not cut.
    pub(crate) fn part(self, n: u64) -> Self {
        if n == 0 { self } else { Self { key: self.key.fold(n), ..self } }
    }

    /// The same pass for the layer of this name.
    pub fn named(self, name: &str) -> Self {
        Self { key: self.key.named(name), ..self }
    }
}

/// An input that a layer cannot take.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{layer} must be given {expected}, got {given}")]
pub struct ShapeError {
    /// The layer.
    pub layer: &'static str,
    /// What it takes.
    pub expected: String,
    /// What it got.
    pub given: SampleShape,
}

/// One layer of a network.
pub trait Layer: Named + Debug + Send + Sync {
    /// The output shape for this input shape.
    ///
    /// # Errors
    /// If the layer cannot take such an input.
    fn output_shape(&self, input: SampleShape) -> Result<SampleShape, ShapeError>;

    /// Computes `output` (resized as needed) from `input`.
    fn forward(&mut self, input: &Tensor, output: &mut Tensor, pass: Pass);

    /// Given the tensors of the last training pass and `errors` = ∂L/∂output, computes `input_errors` = ∂L/∂input, if
    /// requested, and updates the layer's weights.
    ///
    /// # Errors
    /// If the weights reject the step.
    fn backward(
        &mut self,
        input: &Tensor,
        output: &Tensor,
        errors: &Tensor,
        input_errors: Option<&mut Tensor>,
        pass: Pass,
    ) -> Result<(), TrainStepError>;

    /// Four-byte values that a training step holds per sample, in addition to the input and output of the layer and their
    /// errors; `errors_wanted` says whether the layers below need errors.
    fn held(&self, input: SampleShape, errors_wanted: bool) -> usize {
        let _ = (input, errors_wanted);
        0
    }

    /// Whether a backward pass could change anything in this layer.
    fn trains(&self) -> bool {
        false
    }

    /// Visits every matrix with the name of its layer; names start with `path`.
    fn visit_weights(&mut self, path: &str, visit: &mut dyn FnMut(&str, &mut dyn Weights)) {
        let _ = (path, visit);
    }
}

/// `path.name`, or `name` at the root.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Layers without tensors.
macro_rules! no_tensors {
    ($($layer:ty),*) => {
        $(impl crate::state::Named for $layer {
            fn collect(&self, _: &str, _: &mut crate::state::Collection) {}

            fn restore(
                &mut self,
                _: &str,
                _: &crate::state::Tensors,
            ) -> Result<(), crate::state::StateError> {
                Ok(())
            }
        })*
    };
}
pub(crate) use no_tensors;
