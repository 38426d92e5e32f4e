//! `y_j = x_j − ln Σ_i e^{x_i}` of every sample.

use residuum::math::{exp, ln};

use super::{Layer, Pass, ShapeError, no_tensors};
use crate::{SampleShape, Tensor, TrainStepError};

/// The logarithm of the softmax over all values of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSoftmax;

no_tensors!(LogSoftmax);

/// The log-softmax of one sample. The sum runs in double precision: rows are short, and the loss is made of it.
pub(crate) fn log_softmax(x: &[f32], out: &mut [f32]) {
    let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = x.iter().map(|&x| exp(f64::from(x - max))).sum();
    let log_sum = ln(sum);
    for (out, &x) in out.iter_mut().zip(x) {
        *out = (f64::from(x - max) - log_sum) as f32;
    }
}

impl Layer for LogSoftmax {
    fn output_shape(&self, input: SampleShape) -> Result<SampleShape, ShapeError> {
        Ok(input)
    }

    fn forward(&mut self, input: &Tensor, output: &mut Tensor, _: Pass) {
        output.resize(input.batch(), input.shape());
        let classes = input.shape().len();
        for (x, out) in input.values().chunks_exact(classes).zip(output.values_mut().chunks_exact_mut(classes))
        {
            log_softmax(x, out);
        }
    }

    fn backward(
        &mut self,
        _: &Tensor,
        output: &Tensor,
        errors: &Tensor,
        input_errors: Option<&mut Tensor>,
        _: Pass,
    ) -> Result<(), TrainStepError> {
        let Some(input_errors) = input_errors else { return Ok(()) };
        input_errors.resize(output.batch(), output.shape());
        let classes = output.shape().len();
        let rows = input_errors.values_mut().chunks_exact_mut(classes);
        for ((out, y), e) in
            rows.zip(output.values().chunks_exact(classes)).zip(errors.values().chunks_exact(classes))
        {
            let sum: f64 = e.iter().copied().map(f64::from).sum();
            for ((out, &y), &e) in out.iter_mut().zip(y).zip(e) {
                *out = (f64::from(e) - exp(f64::from(y)) * sum) as f32;
            }
        }
        Ok(())
    }
}
