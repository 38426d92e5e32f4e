//! One matrix on tiles that a training loop elsewhere reads and steps.

use std::sync::Arc;

use residuum::{Key, ParameterError, RateSchedules, Scalar, State, StateError, Tensors};
use residuum_nn::analog::{AnalogFactory, AnalogWeights, Reads};
use residuum_nn::layer::GroupedConv2d;
use residuum_nn::model::Select;
use residuum_nn::{Mode, Pass, Sgd, TrainStepError, Weights, kernel};

use super::trial::TileRecipe;
use crate::spec::LayerSpec;

/// A matrix on tiles, its keys and its counters.
///
/// Everything drawn depends on the seed, the name of the layer, the number k of steps it has made and the number of the read
/// since the last step. A layer that is read once in every step draws what the layer of that name draws in a trial of that seed.
/// Reads for evaluation have a key and a counter of their own: they change nothing that is learned.
#[derive(Debug)]
pub struct TileMatrix {
    weights: AnalogWeights,
    spec: LayerSpec,
    seed: u64,
    name: String,
    /// Of the run.
    key: Key,
    /// Steps made.
    k: u64,
    /// Training reads since the last step.
    reads: u64,
    /// Evaluation reads so far.
    evaluations: u64,
    /// Output scales, which the caller learns.
    scales: usize,
}

/// Output scales as the caller has them, and what their gradients are made of.
#[derive(Debug)]
pub struct Scaled<'a> {
    /// The scales, tile by tile.
    pub scales: &'a [f32],
    /// Of the outputs of all tiles before they are scaled.
    pub unscaled: &'a mut Vec<f32>,
}

impl TileMatrix {
    /// Puts `initial` (`rows × cols`) on tiles.
    ///
    /// # Errors
    /// If a size is 0, a length differs, a weight is not finite, or the tiles cannot be built.
    pub fn new(
        spec: LayerSpec,
        [rows, cols]: [usize; 2],
        initial: &[f32],
        seed: u64,
        name: &str,
    ) -> Result<Self, ParameterError> {
        for (name, value) in [("outputs", rows), ("inputs", cols)] {
            if value == 0 {
                return Err(ParameterError::OutOfDomain { name, must: "at least 1", value: 0.0 });
            }
        }
        let factory = AnalogFactory {
            select: Select::All,
            recipe: Arc::new(TileRecipe { rule: spec.rule.clone(), devices: spec.devices.clone() }),
            // Every step is given its own.
            rates: RateSchedules::learning(0.0),
            mapping: spec.mapping,
            reads: Reads { forward: spec.readout.forward, backward: spec.readout.backward },
            // Output scales are the caller's to learn.
            sgd: Sgd::new(0.0),
            key: Key::new(seed).named("devices"),
        };
        let mut weights = AnalogWeights::new(name, [rows, cols], initial, &factory)?;
        let scales = weights.open_scales();
        let key = Key::new(seed).named("run");
        Ok(Self { weights, spec, seed, name: name.into(), key, k: 0, reads: 0, evaluations: 0, scales })
    }

    /// How it was built.
    pub fn spec(&self) -> &LayerSpec {
        &self.spec
    }

    /// The seed of its draws.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The name that its draws depend on.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Steps made so far.
    pub fn k(&self) -> u64 {
        self.k
    }

    /// The matrix.
    pub fn weights(&self) -> &AnalogWeights {
        &self.weights
    }

    /// The key of read `n` of this step and its backward pass, without its purpose.
    fn key(&self, mode: Mode, n: u64) -> Key {
        let pass = match mode {
            Mode::Train => Pass::train(self.k, self.key.named("train")),
            Mode::Evaluate => Pass::evaluate(self.key.named("evaluate").fold(self.evaluations)),
        };
        let group = self.name.split_once('#').and_then(|(layer, group)| Some((layer, group.parse().ok()?)));
        let key = match group {
            // A group of a convolution, which draws what `GroupedConv2d` has it draw.
            Some((layer, group)) => GroupedConv2d::key_of(layer.split('.').fold(pass, Pass::named).key, group),
            None => self.name.split('.').fold(pass, Pass::named).key,
        };
        // The first one draws what a layer does that is read once.
        if n == 0 { key } else { key.named("again").fold(n) }
    }

    /// `outputs_b = W inputs_b + bias`; returns the number of the read since the last step, for the way back.
    ///
    /// # Errors
    /// If a length differs or an input is not finite; then nothing is read.
    pub fn read(
        &mut self,
        inputs: &[f32],
        bias: Option<&[f32]>,
        outputs: &mut [f32],
        scaled: Option<Scaled<'_>>,
        mode: Mode,
    ) -> Result<u64, ParameterError> {
        let [rows, cols] = self.shape();
        let batch = samples("inputs", inputs, cols)?;
        same_length("outputs", batch * rows, outputs.len())?;
        if let Some(bias) = bias {
            same_length("bias", rows, bias.len())?;
        }
        f32::all_finite("inputs", inputs)?;
        if let Some(scaled) = &scaled {
            self.set_scales(scaled.scales)?;
        }
        let n = self.reads;
        match mode {
            Mode::Train => {
                let key = self.key(mode, n).named("read");
                self.weights.read(inputs, outputs, key);
                self.reads += 1;
            }
            Mode::Evaluate => {
                let key = self.key(mode, 0).named("read");
                self.weights.evaluate(inputs, outputs, key);
                self.evaluations += 1;
            }
        }
        if let Some(scaled) = scaled {
            self.weights.unscaled(scaled.unscaled);
        }
        if let Some(bias) = bias {
            kernel::add_row(outputs, bias);
        }
        Ok(n)
    }

    /// Number of output scales, which the caller learns.
    pub fn scales(&self) -> usize {
        self.scales
    }

    /// Sets the output scales.
    ///
    /// # Errors
    /// If there are too many or too few, or one is not finite.
    pub fn set_scales(&mut self, scales: &[f32]) -> Result<(), ParameterError> {
        same_length("output scales", self.scales, scales.len())?;
        f32::all_finite("output scales", scales)?;
        self.weights.set_scales(scales);
        Ok(())
    }

    /// The gradient of the output scales, from the errors of a read and its unscaled outputs.
    ///
    /// # Errors
    /// If a length differs.
    pub fn scale_gradients(
        &mut self,
        errors: &[f32],
        unscaled: &[f32],
        out: &mut [f32],
    ) -> Result<(), ParameterError> {
        let rows = self.shape()[0];
        let batch = samples("errors", errors, rows)?;
        let all: usize = self.weights.tiles().map(|(rows, _, _)| batch * rows.len()).sum();
        same_length("unscaled outputs", all, unscaled.len())?;
        same_length("output scales", self.scales, out.len())?;
        self.weights.scale_gradients(errors, unscaled, out);
        Ok(())
    }

    /// The way back of read `n` of this step: `outputs_b = Wᵀ errors_b` and `bias_b = Σ errors_b`, those that are wanted.
    ///
    /// # Errors
    /// If a length differs or an error is not finite; then nothing is read.
    pub fn read_back(
        &mut self,
        n: u64,
        errors: &[f32],
        outputs: Option<&mut [f32]>,
        bias: Option<&mut [f32]>,
    ) -> Result<(), ParameterError> {
        let [rows, cols] = self.shape();
        let batch = samples("errors", errors, rows)?;
        f32::all_finite("errors", errors)?;
        if let Some(outputs) = &outputs {
            same_length("outputs", batch * cols, outputs.len())?;
        }
        if let Some(bias) = bias {
            same_length("bias", rows, bias.len())?;
            kernel::column_sums(errors, bias);
        }
        if let Some(outputs) = outputs {
            let key = self.key(Mode::Train, n).named("read_transposed");
            self.weights.read_transposed(errors, outputs, key);
        }
        Ok(())
    }

    /// One step: desires `W ← W − α Σ_b errors_b inputs_bᵀ`; see [`LayerSpec::rates`] for `scale`.
    ///
    /// # Errors
    /// If a length differs, a number is not finite, or a rate is negative; then nothing is written.
    pub fn step(
        &mut self,
        errors: &[f32],
        inputs: &[f32],
        learning_rate: f64,
        scale: f64,
    ) -> Result<(), TrainStepError> {
        let [rows, cols] = self.shape();
        let batch = samples("errors", errors, rows)?;
        same_length("inputs", batch * cols, inputs.len())?;
        // Tiles are stepped one after the other: what one would refuse is refused before the first.
        f32::all_finite("errors", errors)?;
        f32::all_finite("inputs", inputs)?;
        let rates = self.spec.rates(self.k, learning_rate, scale)?;
        let key = self.key(Mode::Train, 0).named("step");
        self.weights.step_at(self.k, &rates, errors, inputs, key)?;
        self.k += 1;
        self.reads = 0;
        Ok(())
    }

    /// Programs the matrix as closely as its cells allow.
    ///
    /// # Errors
    /// If the length differs or a weight is not finite.
    pub fn set_weights(&mut self, weights: &[f32]) -> Result<(), ParameterError> {
        self.weights.set_weights(weights)
    }

    /// Outputs and inputs.
    pub fn shape(&self) -> [usize; 2] {
        [self.weights.rows(), self.weights.cols()]
    }

    /// A copy that draws and learns the same from here on.
    ///
    /// # Errors
    /// None for a matrix that could be built.
    pub fn duplicate(&self) -> Result<Self, StateError> {
        let [rows, cols] = self.shape();
        let zeros = vec![0.0; rows * cols];
        let copy = Self::new(self.spec.clone(), [rows, cols], &zeros, self.seed, &self.name);
        let mut copy = copy.map_err(|source| StateError::Refused { name: self.name.clone(), source })?;
        copy.load(&self.tensors())?;
        Ok(copy)
    }
}

impl State for TileMatrix {
    fn tensors(&self) -> Tensors {
        let mut tensors = self.weights.tensors();
        for (name, count) in [("k", self.k), ("reads", self.reads), ("evaluations", self.evaluations)] {
            tensors.count(name, count);
        }
        tensors
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        let counters = ["k", "reads", "evaluations"];
        let own = self.tensors();
        from.fit(&own)?;
        self.weights.load(&from.filtered(|name| !counters.contains(&name)))?;
        from.read_count("k", &mut self.k);
        from.read_count("reads", &mut self.reads);
        from.read_count("evaluations", &mut self.evaluations);
        Ok(())
    }
}

/// How many samples of `width` numbers there are.
fn samples(name: &'static str, values: &[f32], width: usize) -> Result<usize, ParameterError> {
    let batch = values.len() / width;
    same_length(name, batch * width, values.len())?;
    Ok(batch)
}

fn same_length(name: &'static str, expected: usize, given: usize) -> Result<(), ParameterError> {
    if expected == given { Ok(()) } else { Err(ParameterError::Length { name, expected, given }) }
}
