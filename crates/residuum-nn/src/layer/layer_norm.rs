//! Layer normalisation: every sample at mean 0 and variance 1, then scaled and shifted value by value.

use super::{Layer, Pass, ShapeError, join};
use crate::kernel;
use crate::state::{Collection, Named, StateError, Tensors};
use crate::weights::Parameter;
use crate::{SampleShape, Tensor, TrainStepError};

/// `y = (x − μ)/√(σ² + ε) · w + b` with μ, σ² over all values of a sample, as PyTorch's `LayerNorm` over the shape of a sample.
#[derive(Debug)]
pub struct LayerNorm {
    shape: SampleShape,
    /// In the order of our tensors: row, column, channel.
    scale: Parameter,
    shift: Parameter,
    epsilon: f64,
    /// μ and 1/√(σ² + ε) of each sample of the last pass.
    statistics: Vec<(f32, f32)>,
}

impl LayerNorm {
    /// PyTorch's ε.
    pub const EPSILON: f32 = 1e-5;

    /// A layer for samples of this shape with one scale and one shift for each value.
    ///
    /// # Panics
    /// If there are fewer or more.
    pub fn new(shape: SampleShape, scale: Parameter, shift: Parameter, epsilon: f32) -> Self {
        let given = [scale.values.len(), shift.values.len()];
        assert_eq!(given, [shape.len(); 2], "one scale and one shift for each value of a sample");
        Self { shape, scale, shift, epsilon: f64::from(epsilon), statistics: Vec::new() }
    }

    /// PyTorch's shape: vectors have one dimension, sequences channel and place, images channel, row, column.
    fn torch_shape(&self) -> Vec<usize> {
        let SampleShape { height, width, channels } = self.shape;
        match [height, width] {
            [1, 1] => vec![channels],
            [1, _] => vec![channels, width],
            _ => vec![channels, height, width],
        }
    }

    /// Every value from our order to PyTorch's, or back.
    fn reordered(&self, from: &[f32], into_torch: bool) -> Vec<f32> {
        let (positions, channels) = (self.shape.positions(), self.shape.channels);
        let mut to = vec![0.0; from.len()];
        for position in 0..positions {
            for channel in 0..channels {
                let (ours, torch) = (position * channels + channel, channel * positions + position);
                if into_torch { to[torch] = from[ours] } else { to[ours] = from[torch] }
            }
        }
        to
    }
}

impl Layer for LayerNorm {
    fn output_shape(&self, input: SampleShape) -> Result<SampleShape, ShapeError> {
        if input != self.shape {
            let expected = self.shape.to_string();
            return Err(ShapeError { layer: "a layer normalisation", expected, given: input });
        }
        Ok(input)
    }

    fn forward(&mut self, input: &Tensor, output: &mut Tensor, _: Pass) {
        output.resize(input.batch(), input.shape());
        let n = self.shape.len();
        self.statistics.clear();
        for (x, y) in input.values().chunks_exact(n).zip(output.values_mut().chunks_exact_mut(n)) {
            // Double precision: a sample may be long, and its sums decide every value.
            let mean = x.iter().map(|&x| f64::from(x)).sum::<f64>() / n as f64;
            let variance = x.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n as f64;
            let (mean, inverse) = (mean as f32, (1.0 / (variance + self.epsilon).sqrt()) as f32);
            self.statistics.push((mean, inverse));
            for (((y, x), w), b) in y.iter_mut().zip(x).zip(&self.scale.values).zip(&self.shift.values) {
                *y = (x - mean) * inverse * w + b;
            }
        }
    }

    fn backward(
        &mut self,
        input: &Tensor,
        _: &Tensor,
        errors: &Tensor,
        input_errors: Option<&mut Tensor>,
        pass: Pass,
    ) -> Result<(), TrainStepError> {
        let n = self.shape.len();
        if let Some(input_errors) = input_errors {
            input_errors.resize(input.batch(), input.shape());
            let samples = input.values().chunks_exact(n).zip(errors.values().chunks_exact(n));
            let outs = input_errors.values_mut().chunks_exact_mut(n);
            for ((out, (x, e)), &(mean, inverse)) in outs.zip(samples).zip(&self.statistics) {
                // ∂L/∂x = (g − mean(g) − x̂ mean(g x̂))/√(σ² + ε) with g = w e.
                let (mut sum, mut along) = (0.0, 0.0);
                for ((x, e), w) in x.iter().zip(e).zip(&self.scale.values) {
                    let g = f64::from(e * w);
                    sum += g;
                    along += g * f64::from((x - mean) * inverse);
                }
                let (sum, along) = ((sum / n as f64) as f32, (along / n as f64) as f32);
                for (((out, x), e), w) in out.iter_mut().zip(x).zip(e).zip(&self.scale.values) {
                    *out = (e * w - sum - (x - mean) * inverse * along) * inverse;
                }
            }
        }
        if self.scale.trains() {
            kernel::column_sums(errors.values(), &mut self.shift.gradient);
            let gradient = &mut self.scale.gradient;
            gradient.fill(0.0);
            let samples = input.values().chunks_exact(n).zip(errors.values().chunks_exact(n));
            for ((x, e), &(mean, inverse)) in samples.zip(&self.statistics) {
                for ((g, x), e) in gradient.iter_mut().zip(x).zip(e) {
                    *g += e * (x - mean) * inverse;
                }
            }
            self.scale.step(pass.k);
            self.shift.step(pass.k);
        }
        Ok(())
    }

    fn held(&self, _: SampleShape, _: bool) -> usize {
        // Two statistics.
        2
    }

    fn trains(&self) -> bool {
        self.scale.trains()
    }
}

impl Named for LayerNorm {
    fn collect(&self, path: &str, out: &mut Collection) {
        let shape = self.torch_shape();
        for (name, parameter) in [("weight", &self.scale), ("bias", &self.shift)] {
            parameter.collect_as(&join(path, name), &shape, |values| self.reordered(values, true), out);
        }
    }

    fn restore(&mut self, path: &str, from: &Tensors) -> Result<(), StateError> {
        let mut own = Tensors::new();
        for name in ["weight", "bias"] {
            let name = join(path, name);
            for name in [name.clone(), format!("{name}.velocity")] {
                if let Some(values) = from.get(&name).and_then(|tensor| tensor.data.as_f32()) {
                    own.vector(&name, &self.reordered(values, false));
                }
            }
        }
        self.scale.restore(&join(path, "weight"), &own);
        self.shift.restore(&join(path, "bias"), &own);
        Ok(())
    }
}
