//! Weights that behave like hardware as far as a run can tell.

use residuum::{Key, ParameterError, State, StateError, Tensors};
use residuum_nn::layer::Activation;
use residuum_nn::model::{Factory, mlp};
use residuum_nn::weights::Parameter;
use residuum_nn::{DigitalWeights, Network, SampleShape, Sgd, TrainStepError, Weights};

use super::Setup;

/// DigitalWeights weights that claim a dynamic range and count three pulses a step, and may refuse one.
#[derive(Debug)]
pub struct Ranged {
    digital: DigitalWeights,
    pulses: u64,
    refuse_at: Option<u64>,
}

impl Weights for Ranged {
    fn rows(&self) -> usize {
        self.digital.rows()
    }
    fn cols(&self) -> usize {
        self.digital.cols()
    }
    fn read(&mut self, inputs: &[f32], outputs: &mut [f32], key: Key) {
        self.digital.read(inputs, outputs, key);
    }
    fn read_transposed(&mut self, errors: &[f32], outputs: &mut [f32], key: Key) {
        self.digital.read_transposed(errors, outputs, key);
    }
    fn step(&mut self, k: u64, errors: &[f32], inputs: &[f32], key: Key) -> Result<(), TrainStepError> {
        if self.refuse_at == Some(k) {
            let value = f64::NAN;
            return Err(ParameterError::NotFinite { name: "gradient", index: 7, value }.into());
        }
        self.pulses += 3;
        self.digital.step(k, errors, inputs, key)
    }
    fn effective_weights(&self, out: &mut [f32]) {
        self.digital.effective_weights(out);
    }
    fn set_weights(&mut self, weights: &[f32]) -> Result<(), ParameterError> {
        self.digital.set_weights(weights)
    }
    fn range(&self) -> Option<[f32; 2]> {
        Some([-0.25, 0.25])
    }
}

impl State for Ranged {
    fn tensors(&self) -> Tensors {
        let mut tensors = self.digital.tensors();
        tensors.count("pulses", self.pulses);
        tensors
    }
    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        from.fit(&self.tensors())?;
        from.read_count("pulses", &mut self.pulses);
        self.digital.load(&from.filtered(|name| name != "pulses"))
    }
}

struct RangedHead(Sgd, Option<u64>);

impl Factory for RangedHead {
    fn weights(
        &mut self,
        name: &str,
        rows: usize,
        cols: usize,
        initial: Vec<f32>,
    ) -> Result<Box<dyn Weights>, ParameterError> {
        let digital = DigitalWeights::new(rows, cols, initial, Some(self.0))?;
        Ok(if name == "3" {
            Box::new(Ranged { digital, pulses: 0, refuse_at: self.1 })
        } else {
            Box::new(digital)
        })
    }

    fn parameter(&mut self, _: &str, initial: Vec<f32>) -> Parameter {
        Parameter::new(initial, Some(self.0))
    }
}

/// The network of `setup` with such weights in its head, `3`.
pub fn network(setup: &Setup, refuse_at: Option<u64>) -> Network {
    let mut factory = RangedHead(setup.sgd, refuse_at);
    mlp(SampleShape::image(8, 8, 1), &setup.sizes, Activation::Tanh, &mut factory, Key::new(setup.seed))
        .unwrap()
}
