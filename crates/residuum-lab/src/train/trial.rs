//! Builds the network, the data and the training settings of one trial and seed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use residuum::{Key, ParameterError, Rule, Schedule};
use residuum_nn::analog::{AnalogFactory, Reads, Recipe};
use residuum_nn::data::Batches;
use residuum_nn::data::disk::{self, DATA};
use residuum_nn::model::{BuildError, DigitalFactory, Factory};
use residuum_nn::state::{Scope, StateError, TensorFileError, Tensors, parse_safetensors};
use residuum_nn::{Network, SampleShape};
use thiserror::Error;

use crate::spec::{DataSpecError, Devices, NetworkSpec, RuleBuildError, RuleSpec, ScheduleSpec, TrialSpec};
use crate::spec::{batch_sentence, digest_of, shape_sentence};

/// Samples evaluated at a time; affects only running averages in the converters.
const TEST_BATCH: usize = 200;

/// Why a trial cannot start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrialError {
    /// The images.
    #[error(transparent)]
    Data(#[from] DataSpecError),
    /// The layers, devices or rules.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A number of the data or of the training.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The file of weights.
    #[error("network.weights: {0}")]
    File(#[from] TensorFileError),
    /// Other weights than when the spec was read.
    #[error(
        "network.weights: {} must stay as it was when the spec was read, but its contents have changed; run the command again",
        path.display()
    )]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// Weights of another network.
    #[error("network.weights: {}: {source}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        source: StateError,
    },
    /// Steps of more images than there are.
    #[error("{}", batch_sentence(*batch_size, *train))]
    Batch {
        /// Images of a step.
        batch_size: usize,
        /// Training images.
        train: usize,
    },
    /// Images that the model cannot take.
    #[error("{}", shape_sentence("network.model", [*expected, *given], [*classes, *given_classes]))]
    Shape {
        /// What it takes.
        expected: SampleShape,
        /// Number of classes it has.
        classes: usize,
        /// What there is.
        given: SampleShape,
        /// How many there are.
        given_classes: usize,
    },
}

/// Where layers get their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightsFrom {
    /// The weights named in the spec, or random ones.
    Spec,
    /// A checkpoint that is loaded next. It holds everything but the backbone, for which alone the weights of the spec are read.
    Checkpoint,
}

/// The layers of a trial at their start.
#[derive(Debug)]
pub struct NetworkParts {
    /// What learns: the whole network, or what is above the backbone.
    pub network: Network,
    /// Layers whose output for an image is the same in every epoch, so it is computed once.
    pub backbone: Option<Network>,
}

impl NetworkParts {
    /// The layers of a spec for one seed. `steps` is the length of an epoch.
    ///
    /// # Errors
    /// If the network cannot be built or its weights cannot be loaded.
    pub fn build(
        spec: &TrialSpec,
        seed: u64,
        (image, classes): (SampleShape, usize),
        steps: u64,
        origin: WeightsFrom,
    ) -> Result<Self, TrialError> {
        let key = Key::new(seed);
        let shape = Shaped::new(spec, steps);
        let sgd = spec.digital.sgd(|rate| shape.of(rate));
        let mut factory: Box<dyn Factory> = match &spec.devices {
            Some(devices) if !spec.rule.is_digital() => Box::new(AnalogFactory {
                select: spec.network.analog.clone(),
                recipe: Arc::new(TileRecipe { rule: spec.rule.clone(), devices: devices.clone() }),
                rates: spec.rule.rates(|rate| shape.of(rate)),
                mapping: spec.mapping,
                reads: Reads { forward: spec.readout.forward, backward: spec.readout.backward },
                sgd,
                key: key.named("devices"),
            }),
            _ => Box::new(DigitalFactory(Some(sgd))),
        };
        let mut network = spec.network.build(image, classes, &mut *factory, key.named("network"))?;
        if (network.input_shape(), network.classes()) != (image, classes) {
            let (expected, own) = (network.input_shape(), network.classes());
            return Err(TrialError::Shape { expected, classes: own, given: image, given_classes: classes });
        }
        let fixed = spec.data.is_fixed() && spec.network.learns_head_only(&mut network);
        if fixed || origin == WeightsFrom::Spec {
            load_weights(&mut network, &spec.network)?;
        }
        let head = if fixed { network.split_off(&spec.network.model.head()) } else { None };
        Ok(match head {
            Some(head) => Self { network: head, backbone: Some(network) },
            None => Self { network, backbone: None },
        })
    }

    /// All parameters that the network computes with (effective weights of tiles), under their names.
    pub fn state(&self) -> Tensors {
        let mut state = self.network.state(Scope::Network);
        if let Some(backbone) = &self.backbone {
            state.extend(backbone.state(Scope::Network));
        }
        state
    }
}

/// A network with its data, ready to be trained.
#[derive(Debug)]
pub struct NetworkTrial {
    /// The network at its start.
    pub parts: NetworkParts,
    /// Training data.
    pub train: Batches,
    /// Test data.
    pub test: Batches,
    /// Key of its random draws.
    pub key: Key,
    /// Rate of the rule, for records.
    pub learning_rate: Schedule,
}

impl NetworkTrial {
    /// Prepares the run of one seed. `root` holds the folders of data sets. Trials of one seed start from the same weights
    /// and see the same images in the same order, whatever their rules are. Where there is a backbone, the batches hold
    /// images until `take_features` has sent them through it.
    ///
    /// # Errors
    /// If data are missing, or the network cannot be built.
    pub fn prepare(spec: &TrialSpec, seed: u64, root: &Path, origin: WeightsFrom) -> Result<Self, TrialError> {
        let key = Key::new(seed);
        let split = spec.data.load(root)?;
        let classes = split.train.outputs();
        let [train_pipeline, test_pipeline] = spec.data.pipelines(&split.train)?;
        let image = test_pipeline.output();
        let batch_size = spec.training.batch_size;
        if batch_size > split.train.len() {
            return Err(TrialError::Batch { batch_size, train: split.train.len() });
        }
        let train = Batches::new(split.train, train_pipeline, batch_size, key.named("order"))?.shuffled();
        let test = Batches::new(split.test, test_pipeline, TEST_BATCH, key.named("test"))?;
        let input = SampleShape::image(image.height, image.width, image.channels);
        let steps = train.len() as u64;
        let parts = NetworkParts::build(spec, seed, (input, classes), steps, origin)?;
        let shape = Shaped::new(spec, steps);
        let learning_rate = spec.rule.rates(|rate| shape.of(rate)).learning;
        Ok(Self { parts, train, test, key: key.named("run"), learning_rate })
    }
}

fn load_weights(network: &mut Network, spec: &NetworkSpec) -> Result<(), TrialError> {
    let Some(path) = &spec.weights else { return Ok(()) };
    let bytes = disk::read(path, DATA).map_err(|source| TensorFileError::Io { path: path.clone(), source })?;
    // The id of the trial says which weights: others must not pass for them.
    if spec.weights_digest.as_ref().is_some_and(|digest| *digest != digest_of(&bytes)) {
        return Err(TrialError::Replaced { path: path.clone() });
    }
    let state = parse_safetensors(&bytes, path)?;
    let loaded = if spec.fresh_head {
        network.load_backbone(&spec.model.head(), &state)
    } else {
        network.load(Scope::Network, &state)
    };
    loaded.map_err(|source| TrialError::State { path: path.clone(), source })
}

/// Applies the schedule to a rate.
#[derive(Clone, Copy, Debug)]
struct Shaped {
    schedule: ScheduleSpec,
    epochs: u64,
    /// Steps of an epoch.
    steps: u64,
}

impl Shaped {
    fn new(spec: &TrialSpec, steps: u64) -> Self {
        Self { schedule: spec.training.schedule, epochs: spec.training.epochs, steps }
    }

    fn of(self, rate: f64) -> Schedule {
        self.schedule.of(rate, self.epochs, self.steps)
    }
}

/// The rule of a spec on tiles of any size.
#[derive(Clone, Debug)]
pub(super) struct TileRecipe {
    pub(super) rule: RuleSpec,
    pub(super) devices: Devices,
}

impl Recipe for TileRecipe {
    fn build(&self, rows: usize, cols: usize, key: Key) -> Result<Box<dyn Rule<f32>>, ParameterError> {
        self.rule.build(&self.devices, [rows, cols], key).map_err(RuleBuildError::into_parameter)
    }
}
