//! Dropout: in training, values are zeroed at random and the others scaled to keep the mean.

use residuum::{Key, ParameterError};

use super::{Layer, Mode, Pass, ShapeError, no_tensors};
use crate::{SampleShape, Tensor, TrainStepError, kernel};

/// Each value is 0 with this probability and `1/(1 − probability)` of itself otherwise; nothing happens in evaluation.
#[derive(Clone, Debug)]
pub struct Dropout {
    probability: f64,
    /// The factors of the last training pass.
    factors: Vec<f32>,
    draws: Vec<f64>,
}

no_tensors!(Dropout);

impl Dropout {
    /// Dropout with this probability.
    ///
    /// # Errors
    /// If it is outside [0, 1).
    pub fn new(probability: f64) -> Result<Self, ParameterError> {
        if !(0.0..1.0).contains(&probability) {
            let (name, must) = ("probability", "at least 0 and below 1");
            return Err(ParameterError::OutOfDomain { name, must, value: probability });
        }
        Ok(Self { probability, factors: Vec::new(), draws: Vec::new() })
    }

    fn draw(&mut self, n: usize, key: Key) {
        self.draws.resize(n, 0.0);
        key.fill_uniform(&mut self.draws);
        let kept = (1.0 / (1.0 - self.probability)) as f32;
        self.factors.clear();
        self.factors.extend(self.draws.iter().map(|&u| if u < self.probability { 0.0 } else { kept }));
    }
}

impl Layer for Dropout {
    fn output_shape(&self, input: SampleShape) -> Result<SampleShape, ShapeError> {
        Ok(input)
    }

    fn held(&self, input: SampleShape, _: bool) -> usize {
        // Factors, and draws of eight bytes.
        3 * input.len()
    }

    fn forward(&mut self, input: &Tensor, output: &mut Tensor, pass: Pass) {
        if pass.mode == Mode::Evaluate {
            output.copy_from(input);
            return;
        }
        output.resize(input.batch(), input.shape());
        self.draw(input.values().len(), pass.key.named("dropout"));
        kernel::zip(output.values_mut(), input.values(), &self.factors, |x, f| x * f);
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
        input_errors.resize(input.batch(), input.shape());
        kernel::zip(input_errors.values_mut(), errors.values(), &self.factors, |e, f| e * f);
        Ok(())
    }
}
