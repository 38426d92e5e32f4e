//! From an image to a vector, in PyTorch's order.

use super::{Layer, Pass, ShapeError, no_tensors};
use crate::{SampleShape, Tensor, TrainStepError};

/// An image as a vector in the order (channel, row, column): the order in which PyTorch's next layer expects it, so that
/// weights can be exchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flatten;

no_tensors!(Flatten);

/// `out[j · rows + i] = x[i · cols + j]` for every sample.
fn transpose(x: &Tensor, rows: usize, cols: usize, out: &mut [f32]) {
    if rows == 1 || cols == 1 {
        return out.copy_from_slice(x.values());
    }
    for (x, out) in x.values().chunks_exact(rows * cols).zip(out.chunks_exact_mut(rows * cols)) {
        for i in 0..rows {
            for j in 0..cols {
                out[j * rows + i] = x[i * cols + j];
            }
        }
    }
}

impl Layer for Flatten {
    fn output_shape(&self, input: SampleShape) -> Result<SampleShape, ShapeError> {
        Ok(SampleShape::flat(input.len()))
    }

    fn forward(&mut self, input: &Tensor, output: &mut Tensor, _: Pass) {
        let SampleShape { channels, .. } = input.shape();
        output.resize(input.batch(), SampleShape::flat(input.shape().len()));
        transpose(input, input.shape().positions(), channels, output.values_mut());
    }

    fn backward(
        &mut self,
        input: &Tensor,
        _: &Tensor,
        errors: &Tensor,
        input_errors: Option<&mut Tensor>,
        _: Pass,
    ) -> Result<(), TrainStepError> {
        let Some(input_errors) = input_errors else { return Ok(()) };
        let shape = input.shape();
        input_errors.resize(input.batch(), shape);
        transpose(errors, shape.channels, shape.positions(), input_errors.values_mut());
        Ok(())
    }
}
