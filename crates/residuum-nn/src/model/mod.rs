//! Networks: layers with an input shape, and the recipes that build them.

mod build;
pub mod keras;
mod list;
mod plan;
mod resnet;
mod small;

use residuum::Key;
use residuum::threads::{Helpers, Pace};

pub use build::{BuildError, DigitalFactory, Factory, KernelStart, Select, SplitFactory, layer_of};
pub use list::{LayerKind, LayerList, LayerShape};
pub use plan::{MAX_WEIGHTS, PlannedMatrix, Planner};
pub use resnet::{ResNet, resnet};
pub use small::{MNIST, cnn, fcn, mlp};

use crate::layer::{Layer, Mode, Pass, Sequential, ShapeError};
use crate::loss::{BatchOutcome, Loss, Targets};
use crate::state::{self, Collection, Named, Scope, StateError, Tensors};
use crate::{SampleShape, Tensor, TrainStepError, Weights};

/// The largest loss of a batch that still counts as training. A cross entropy this large means scores of a billion: the rates
/// are too large, and what follows is noise even where it stays finite.
pub const MAX_LOSS: f64 = 1e9;

/// Four-byte values of training steps as large as the parts of a batch that is evaluated: those of a convolutional network then stay in
/// the second-level cache on their way from layer to layer.
const IN_CACHE: usize = 1 << 21;
/// So many of them for each weight repay passing over all weights for each part.
const PASSED_OVER: usize = 4;

/// Layers that map samples of one shape to class scores.
#[derive(Debug)]
pub struct Network {
    layers: Sequential,
    input: SampleShape,
    output: SampleShape,
    scores: Tensor,
    errors: Tensor,
    /// Samples of a part of a batch that is evaluated, and its input and scores.
    part: usize,
    of_part: [Tensor; 2],
    helpers: Helpers,
    /// Of evaluation, and of training.
    paces: [Pace; 2],
}

impl Network {
    /// A network of these layers.
    ///
    /// # Errors
    /// If a layer cannot take the output of the one below.
    pub fn new(layers: Sequential, input: SampleShape) -> Result<Self, ShapeError> {
        let output = layers.output_shape(input)?;
        Ok(Self::of_layers(layers, input, output))
    }

    fn of_layers(layers: Sequential, input: SampleShape, output: SampleShape) -> Self {
        let (scores, errors, of_part, helpers, paces) = Default::default();
        let mut network = Self { layers, input, output, scores, errors, part: 1, of_part, helpers, paces };
        let mut weights = 0;
        network.visit_weights(&mut |_, matrix| weights += matrix.rows() * matrix.cols());
        network.part = (IN_CACHE.max(PASSED_OVER * weights) / network.held()).max(1);
        network
    }

    /// The shape of a sample.
    pub fn input_shape(&self) -> SampleShape {
        self.input
    }

    /// Its layers, to be run one by one.
    pub fn layers_mut(&mut self) -> &mut Sequential {
        &mut self.layers
    }

    /// Number of outputs: classes, or the values of a regression.
    pub fn classes(&self) -> usize {
        self.output.len()
    }

    /// Whether any layer learns.
    pub fn trains(&self) -> bool {
        self.layers.trains()
    }

    /// Four-byte values that a training step holds per sample: the input, the output of every layer, what layers keep
    /// for the backward pass (mostly unfolded images), and errors.
    pub fn held(&self) -> usize {
        self.input.len() + self.layers.held(self.input, false) + 2 * self.output.len()
    }

    /// Splits off the layer `head` and all above it as a separate network, which takes the output of what remains. Layers keep
    /// their names, so both parts compute and draw the same as before. `None`, with nothing changed, if none of the outermost
    /// layers has this name.
    pub fn split_off(&mut self, head: &str) -> Option<Self> {
        let layers = self.layers.split_off(head)?;
        let output = self.output;
        // The layers matched when they were one network.
        self.output = self.layers.output_shape(self.input).ok()?;
        Some(Self::of_layers(layers, self.output, output))
    }

    /// The scores of a batch. Where only these are needed, a large one goes through the layers in parts, each of which draws for itself: the
    /// memory is that of a part.
    ///
    /// # Panics
    /// If the shape of the samples is not [`Network::input_shape`].
    pub fn forward(&mut self, input: &Tensor, pass: Pass) -> &Tensor {
        let Self { layers, output, scores, part, of_part, helpers, paces: [evaluation, _], .. } = self;
        let (batch, shape) = (input.batch(), input.shape());
        assert_eq!(shape, self.input, "samples must have the shape of the network's input");
        let parts = if pass.mode == Mode::Evaluate { batch.div_ceil(*part) } else { 1 };
        helpers.during(evaluation, || {
            if parts <= 1 {
                return layers.forward(input, scores, pass);
            }
            scores.resize(batch, *output);
            let samples = batch.div_ceil(parts);
            let inputs = input.values().chunks(samples * shape.len());
            let outputs = scores.values_mut().chunks_mut(samples * output.len());
            let [part, own_scores] = of_part;
            for (n, (inputs, outputs)) in inputs.zip(outputs).enumerate() {
                part.resize(inputs.len() / shape.len(), shape);
                part.values_mut().copy_from_slice(inputs);
                layers.forward(part, own_scores, pass.part(n as u64));
                outputs.copy_from_slice(own_scores.values());
            }
        });
        scores
    }

    /// The loss of a batch, without learning.
    pub fn evaluate<'a>(
        &mut self,
        input: &Tensor,
        targets: impl Into<Targets<'a>>,
        loss: Loss,
        key: Key,
    ) -> BatchOutcome {
        self.forward(input, Pass::evaluate(key));
        loss.evaluate(&self.scores, targets, None)
    }

    /// Step `k` of training: forward, loss, backward with every layer learning on the way. The key is that of the run.
    ///
    /// # Errors
    /// If the loss is above [`MAX_LOSS`] or not a number (then nothing was learned from this batch), or the weights reject the
    /// step.
    pub fn train_step<'a>(
        &mut self,
        input: &Tensor,
        targets: impl Into<Targets<'a>>,
        loss: Loss,
        k: u64,
        key: Key,
    ) -> Result<BatchOutcome, TrainStepError> {
        assert_eq!(input.shape(), self.input, "samples must have the shape of the network's input");
        let Self { layers, scores, errors, helpers, paces: [_, training], .. } = self;
        helpers.during(training, || {
            let pass = Pass::train(k, key);
            layers.forward(input, scores, pass);
            let outcome = loss.evaluate(scores, targets, Some(errors));
            if outcome.loss.is_nan() || outcome.loss > MAX_LOSS {
                return Err(TrainStepError::Diverged { k, value: outcome.loss });
            }
            layers.backward(input, scores, errors, None, pass)?;
            // What learns has aged in its step. Time passes for frozen layers too.
            layers.visit_weights("", &mut |layer, weights| {
                if !weights.trains() {
                    weights.age(pass.named(layer).key.named("frozen"));
                }
            });
            Ok(outcome)
        })
    }

    /// Visits every matrix with the name of its layer, from input to output: for ledgers, histograms, programming.
    pub fn visit_weights(&mut self, visit: &mut dyn FnMut(&str, &mut dyn Weights)) {
        self.layers.visit_weights("", visit);
    }

    /// A copy of all named tensors.
    pub fn state(&self, scope: Scope) -> Tensors {
        state::export(self, scope)
    }

    /// Loads all named tensors from `state`, or none.
    ///
    /// # Errors
    /// If a tensor is missing, unknown or of another shape, or a weight is not finite.
    pub fn load(&mut self, scope: Scope, state: &Tensors) -> Result<(), StateError> {
        state::import(self, scope, state)
    }

    /// Loads the tensors of another network's state except those of its layer `head` (`fc` of a ResNet), which stays as
    /// it was built: the start of fine-tuning.
    ///
    /// # Errors
    /// If any other tensor is missing, unknown or of another shape.
    pub fn load_backbone(&mut self, head: &str, state: &Tensors) -> Result<(), StateError> {
        let of_head = |name: &str| name.strip_prefix(head).is_some_and(|rest| rest.starts_with('.'));
        let mut merged = self.state(Scope::Network).filtered(of_head);
        merged.extend(state.filtered(|name| !of_head(name)));
        self.load(Scope::Network, &merged)
    }
}

impl Named for Network {
    fn collect(&self, path: &str, out: &mut Collection) {
        self.layers.collect(path, out);
    }

    fn restore(&mut self, path: &str, from: &Tensors) -> Result<(), StateError> {
        self.layers.restore(path, from)
    }
}

/// Everything that a checkpoint holds.
impl residuum::State for Network {
    fn tensors(&self) -> Tensors {
        self.state(Scope::Everything)
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        Self::load(self, Scope::Everything, from)
    }
}
