//! Batch normalisation: every channel at mean 0 and variance 1, then scaled and shifted.
//!
//! `y = (x − μ)/√(σ² + ε) · w + b` with μ, σ² of the batch in training and the running statistics otherwise.

use super::{Layer, Mode, Pass, ShapeError, join};
use crate::kernel::{self, vectorized};
use crate::state::{Collection, Named, Role, StateError, Tensors};
use crate::weights::Parameter;
use crate::{SampleShape, Tensor, TrainStepError};

/// Batch normalisation over all positions of all samples, by channel. Frozen parameters freeze the statistics too: the
/// layer then always behaves as in evaluation.
#[derive(Debug)]
pub struct BatchNorm2d {
    scale: Parameter,
    shift: Parameter,
    running_mean: Vec<f32>,
    running_variance: Vec<f32>,
    batches: u64,
    epsilon: f32,
    momentum: f32,
    /// μ and 1/√(σ² + ε) of the last pass.
    mean: Vec<f32>,
    inverse_deviation: Vec<f32>,
}

impl BatchNorm2d {
    /// PyTorch's ε.
    pub const EPSILON: f32 = 1e-5;
    /// PyTorch's share of the new batch in the running statistics.
    pub const MOMENTUM: f32 = 0.1;

    /// A layer with these scales and shifts, one of each per channel, with running mean 0 and variance 1. `epsilon` keeps the
    /// division finite, `momentum` is the share of a new batch in the running statistics.
    ///
    /// # Panics
    /// If the numbers of shifts and scales differ.
    pub fn new(scale: Parameter, shift: Parameter, epsilon: f32, momentum: f32) -> Self {
        let channels = scale.values.len();
        assert_eq!(channels, shift.values.len(), "one shift for each scale");
        Self {
            scale,
            shift,
            running_mean: vec![0.0; channels],
            running_variance: vec![1.0; channels],
            batches: 0,
            epsilon,
            momentum,
            mean: vec![0.0; channels],
            inverse_deviation: vec![0.0; channels],
        }
    }

    fn measures(&self, mode: Mode) -> bool {
        mode == Mode::Train && self.scale.trains()
    }

    /// Computes the batch statistics and updates the running ones.
    fn measure(&mut self, values: &[f32]) {
        let channels = self.mean.len();
        let rows = values.len() / channels;
        kernel::column_sums(values, &mut self.mean);
        self.mean.iter_mut().for_each(|m| *m /= rows as f32);
        let mean = &self.mean;
        // Deviations from the mean just found: no cancellation, unlike the mean of squares.
        let variance = &mut self.inverse_deviation;
        kernel::sum_rows(rows, channels, variance, |range, sums| {
            let rows = &values[range.start * channels..range.end * channels];
            vectorized(
                #[inline(always)]
                || {
                    for row in rows.chunks_exact(channels) {
                        for ((sum, x), mean) in sums.iter_mut().zip(row).zip(mean) {
                            let deviation = x - mean;
                            *sum += deviation * deviation;
                        }
                    }
                },
            );
        });
        self.batches += 1;
        let share = self.momentum;
        let unbiased = 1.0 / (rows.max(2) - 1) as f32;
        for c in 0..channels {
            let squares = variance[c];
            self.running_mean[c] = (1.0 - share) * self.running_mean[c] + share * mean[c];
            self.running_variance[c] = (1.0 - share) * self.running_variance[c] + share * (squares * unbiased);
            variance[c] = 1.0 / (squares / rows as f32 + self.epsilon).sqrt();
        }
    }

    fn use_running_statistics(&mut self) {
        self.mean.copy_from_slice(&self.running_mean);
        for (inverse, variance) in self.inverse_deviation.iter_mut().zip(&self.running_variance) {
            *inverse = 1.0 / (variance + self.epsilon).sqrt();
        }
    }

    /// The sums of errors, and of errors times normalised inputs: the gradients of shift and scale.
    fn gradients(&mut self, input: &[f32], errors: &[f32]) {
        let channels = self.mean.len();
        let (mean, inverse) = (&self.mean[..], &self.inverse_deviation[..]);
        let mut sums = vec![0.0; 2 * channels];
        kernel::sum_rows(errors.len() / channels, 2 * channels, &mut sums, |range, sums| {
            let range = range.start * channels..range.end * channels;
            let (input, errors) = (&input[range.clone()], &errors[range]);
            let (shift, scale) = sums.split_at_mut(channels);
            vectorized(
                #[inline(always)]
                || {
                    for (x, e) in input.chunks_exact(channels).zip(errors.chunks_exact(channels)) {
                        let (shift, scale) = (&mut shift[..channels], &mut scale[..channels]);
                        let (x, e, mean) = (&x[..channels], &e[..channels], &mean[..channels]);
                        for c in 0..channels {
                            shift[c] += e[c];
                            scale[c] += e[c] * (x[c] - mean[c]);
                        }
                    }
                },
            );
        });
        self.shift.gradient.copy_from_slice(&sums[..channels]);
        for c in 0..channels {
            self.scale.gradient[c] = sums[channels + c] * inverse[c];
        }
    }
}

impl Layer for BatchNorm2d {
    fn output_shape(&self, input: SampleShape) -> Result<SampleShape, ShapeError> {
        if input.channels != self.mean.len() {
            let expected = format!("{} channels", self.mean.len());
            return Err(ShapeError { layer: "a batch normalisation", expected, given: input });
        }
        Ok(input)
    }

    fn forward(&mut self, input: &Tensor, output: &mut Tensor, pass: Pass) {
        output.resize(input.batch(), input.shape());
        if self.measures(pass.mode) {
            self.measure(input.values());
        } else {
            self.use_running_statistics();
        }
        let channels = self.mean.len();
        let factor: Vec<f32> =
            self.inverse_deviation.iter().zip(&self.scale.values).map(|(i, w)| i * w).collect();
        let (mean, shift) = (&self.mean, &self.shift.values);
        kernel::for_rows(output.values_mut(), channels, |first, rows| {
            let input = &input.values()[first * channels..][..rows.len()];
            vectorized(
                #[inline(always)]
                || {
                    for (y, x) in rows.chunks_exact_mut(channels).zip(input.chunks_exact(channels)) {
                        let terms = mean.iter().zip(&factor).zip(shift);
                        for ((y, x), ((mean, factor), shift)) in y.iter_mut().zip(x).zip(terms) {
                            *y = (x - mean) * factor + shift;
                        }
                    }
                },
            );
        });
    }

    fn backward(
        &mut self,
        input: &Tensor,
        _: &Tensor,
        errors: &Tensor,
        input_errors: Option<&mut Tensor>,
        pass: Pass,
    ) -> Result<(), TrainStepError> {
        let channels = self.mean.len();
        let measured = self.measures(pass.mode);
        if measured {
            self.gradients(input.values(), errors.values());
        }
        if let Some(input_errors) = input_errors {
            input_errors.resize(input.batch(), input.shape());
            // ∂L/∂x = f (e − mean(e) − x̂ mean(e x̂)) with f = w/√(σ² + ε); a frozen batch has no mean to shift.
            let rows = (input.values().len() / channels) as f32;
            let share = if measured { 1.0 / rows } else { 0.0 };
            let column = |c: usize| {
                let inverse = self.inverse_deviation[c];
                let slope = share * self.scale.gradient[c] * inverse;
                (inverse * self.scale.values[c], share * self.shift.gradient[c], slope)
            };
            let columns: Vec<_> = (0..channels).map(column).collect();
            let factor: Vec<f32> = columns.iter().map(|c| c.0).collect();
            let offset: Vec<f32> = columns.iter().map(|c| c.1).collect();
            let slope: Vec<f32> = columns.iter().map(|c| c.2).collect();
            let mean = &self.mean;
            kernel::for_rows(input_errors.values_mut(), channels, |first, rows| {
                let range = first * channels..first * channels + rows.len();
                let (input, errors) = (&input.values()[range.clone()], &errors.values()[range]);
                vectorized(
                    #[inline(always)]
                    || {
                        let lines = input.chunks_exact(channels).zip(errors.chunks_exact(channels));
                        for (out, (x, e)) in rows.chunks_exact_mut(channels).zip(lines) {
                            let (out, x, e) = (&mut out[..channels], &x[..channels], &e[..channels]);
                            let (mean, factor) = (&mean[..channels], &factor[..channels]);
                            let (offset, slope) = (&offset[..channels], &slope[..channels]);
                            for c in 0..channels {
                                out[c] = factor[c] * (e[c] - offset[c] - (x[c] - mean[c]) * slope[c]);
                            }
                        }
                    },
                );
            });
        }
        if measured {
            self.scale.step(pass.k);
            self.shift.step(pass.k);
        }
        Ok(())
    }

    fn trains(&self) -> bool {
        self.scale.trains()
    }
}

impl Named for BatchNorm2d {
    fn collect(&self, path: &str, out: &mut Collection) {
        let shape = [self.mean.len()];
        self.scale.collect(&join(path, "weight"), Role::Parameter, out);
        self.shift.collect(&join(path, "bias"), Role::Parameter, out);
        out.tensor(&join(path, "running_mean"), Role::Buffer, &shape, self.running_mean.clone());
        out.tensor(&join(path, "running_var"), Role::Buffer, &shape, self.running_variance.clone());
        out.counter(&join(path, "num_batches_tracked"), Role::Buffer, self.batches);
    }

    fn restore(&mut self, path: &str, from: &Tensors) -> Result<(), StateError> {
        self.scale.restore(&join(path, "weight"), from);
        self.shift.restore(&join(path, "bias"), from);
        from.read(&join(path, "running_mean"), &mut self.running_mean);
        from.read(&join(path, "running_var"), &mut self.running_variance);
        from.read_count(&join(path, "num_batches_tracked"), &mut self.batches);
        Ok(())
    }
}
