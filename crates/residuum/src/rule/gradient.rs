//! The two forms in which a gradient arrives.

use crate::error::{ParameterError, same_length};
use crate::readout::Shape;
use crate::{Key, Scalar};

/// A gradient with one entry per weight, or as the factors of a layer: errors and inputs of each sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gradient<'a, T = f64> {
    /// One entry per weight.
    Dense(&'a [T]),
    /// Σ_b errors_b inputsᵀ_b: `errors` holds batch × rows numbers, `inputs` batch × columns.
    Outer {
        /// Number of samples.
        batch: usize,
        /// Derivatives with respect to the outputs of the array.
        errors: &'a [T],
        /// Inputs of the array.
        inputs: &'a [T],
    },
}

impl<'a, T: Scalar> Gradient<'a, T> {
    /// Number of samples; a gradient with one entry per weight counts as one.
    pub fn samples(&self) -> usize {
        match self {
            Self::Dense(_) => 1,
            Self::Outer { batch, .. } => *batch,
        }
    }

    /// Checks the shape.
    ///
    /// # Errors
    /// If a length differs.
    pub fn fits(&self, shape: Shape) -> Result<(), ParameterError> {
        match self {
            Self::Dense(gradient) => same_length("gradient", shape.rows * shape.cols, gradient.len()),
            Self::Outer { batch, errors, inputs } => {
                same_length("errors", batch * shape.rows, errors.len())?;
                same_length("inputs", batch * shape.cols, inputs.len())
            }
        }
    }

    /// One entry per weight, row by row; `buffer` holds it where it has to be summed first.
    pub fn dense(self, buffer: &'a mut Vec<T>) -> &'a [T] {
        match self {
            Self::Dense(gradient) => gradient,
            Self::Outer { batch, errors, inputs } => {
                let (rows, cols) = (errors.len() / batch.max(1), inputs.len() / batch.max(1));
                buffer.clear();
                buffer.resize(rows * cols, T::ZERO);
                for (e, x) in errors.chunks_exact(rows.max(1)).zip(inputs.chunks_exact(cols.max(1))) {
                    for (row, e) in buffer.chunks_exact_mut(cols.max(1)).zip(e) {
                        for (g, x) in row.iter_mut().zip(x) {
                            *g += *e * *x;
                        }
                    }
                }
                buffer
            }
        }
    }

    /// Row `row` of [`Gradient::dense`], with the same bits; `buffer` holds it where it has to be summed first.
    #[inline(always)]
    pub(super) fn row<'b>(&self, row: usize, cols: usize, buffer: &'b mut Vec<T>) -> &'b [T]
    where
        'a: 'b,
    {
        match self {
            Self::Dense(gradient) => &gradient[row * cols..(row + 1) * cols],
            Self::Outer { batch, errors, inputs } => {
                let rows = errors.len() / (*batch).max(1);
                buffer.clear();
                buffer.resize(cols, T::ZERO);
                for (errors, x) in errors.chunks_exact(rows.max(1)).zip(inputs.chunks_exact(cols.max(1))) {
                    let e = errors[row];
                    for (g, x) in buffer.iter_mut().zip(x) {
                        *g += e * *x;
                    }
                }
                buffer
            }
        }
    }

    /// Samples `from..to`.
    pub(crate) fn chunk(self, from: usize, to: usize) -> Self {
        match self {
            Self::Dense(_) => self,
            Self::Outer { batch, errors, inputs } => {
                let (rows, cols) = (errors.len() / batch.max(1), inputs.len() / batch.max(1));
                Self::Outer {
                    batch: to - from,
                    errors: &errors[from * rows..to * rows],
                    inputs: &inputs[from * cols..to * cols],
                }
            }
        }
    }

    /// The key of the samples from `from`: one per sample of a batch, that of the step for a gradient that counts as one.
    pub(crate) fn key(&self, key: Key, from: usize) -> Key {
        match self {
            Self::Dense(_) => key,
            Self::Outer { .. } => key.fold(from as u64),
        }
    }
}

impl<'a, T> From<&'a [T]> for Gradient<'a, T> {
    fn from(gradient: &'a [T]) -> Self {
        Self::Dense(gradient)
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for Gradient<'a, T> {
    fn from(gradient: &'a [T; N]) -> Self {
        Self::Dense(gradient)
    }
}

impl<'a, T> From<&'a Vec<T>> for Gradient<'a, T> {
    fn from(gradient: &'a Vec<T>) -> Self {
        Self::Dense(gradient)
    }
}
