//! `[network]`: which layers, where their weights live, and what they start from.

use std::path::PathBuf;

use residuum::{Key, ParameterError};
use residuum_nn::layer::Activation;
use residuum_nn::model::{BuildError, Factory, LayerList, MNIST, Planner, ResNet, Select, layer_of};
use residuum_nn::weights::{Parameter, Still};
use residuum_nn::{Network, SampleShape, Weights};

use super::data::DataSpec;
use super::file::SpecKind;
use super::folders::Folders;
use super::layers::{LayerField, Listed, ListedLayers, MOST_LAYERS};
use super::node::{Node, SpecError, Value};
use super::section::{Optional, Or, Section as _, section};
use super::table::{At, Context, Table};
use super::types::{choice, count, flag, list, path, text, word};

section! {
    /// Which layers, where their weights live, and what they start from.
    pub(crate) struct NetworkTable by model or layers {
        /// the architecture, instead of `layers`
        model: Option<&'static str> = word(["fcn", "cnn", "mlp", "resnet18", "resnet34", "resnet50", "keras_resnet50"]), "–", Optional("by `layers`");
        /// the architecture as a list of layers from input to output, each a word such as `"relu"` or a table such as
        /// `{ kind = "linear", outputs = 64 }`
        layers: Option<Vec<Listed>> = list(LayerField, "a list of layers", [1, MOST_LAYERS]), "–", Optional("by `model`");
        /// sizes of the hidden layers
        hidden: Vec<usize> = list(count().at_least(1).size(), "a list of sizes of at least 1", [0, usize::MAX]), "units",
            Or("[32]"), of model ["mlp"];
        /// activation between layers
        activation: Activation = choice([
            ("sigmoid", Activation::Sigmoid), ("tanh", Activation::Tanh), ("relu", Activation::Relu)
        ]), "–", Or("\"sigmoid\""), of model ["mlp"];
        /// layers on tiles
        analog: String = text("`all`, `head`, `none`, or patterns such as `layer4.*, fc`"), "–", Or("\"all\"");
        /// layers that do not learn; `backbone` is all but the head
        frozen: String = text("`none`, `backbone`, or patterns"), "–", Or("\"none\"");
        /// safetensors file to start from, relative to the spec
        weights: Option<PathBuf> = path(), "–", Optional("drawn");
        /// draw a new head even though weights are given
        fresh_head: bool = flag(), "–", Or("false");
    }
}

/// Most layers that an error lists.
const MOST_LISTED: usize = 12;

/// Images, or classes, that a model cannot take.
pub(crate) fn shape_sentence(field: &str, [expected, given]: [SampleShape; 2], classes: [usize; 2]) -> String {
    format!(
        "{field} must fit data.set: it takes images of {expected} and {} classes, got {given} and {}",
        classes[0], classes[1]
    )
}

/// A network of a spec.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkSpec {
    /// Its layers.
    pub model: Model,
    /// Which of them live on tiles.
    pub analog: Select,
    /// Which of them do not learn.
    pub frozen: Frozen,
    /// What it starts from.
    pub weights: Option<PathBuf>,
    /// The digest of that file when the spec was read.
    pub weights_digest: Option<String>,
    /// Whether the head is drawn although there are weights.
    pub fresh_head: bool,
}

/// The models a spec can name.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    /// 784-256-128-10 with sigmoids.
    Fcn,
    /// LeNet-like, with tanh.
    Cnn,
    /// A perceptron from pixels to classes.
    Mlp {
        /// Hidden layers.
        hidden: Vec<usize>,
        /// Between them.
        activation: Activation,
    },
    /// A residual network; its number of classes is that of the data.
    ResNet(ResNet),
    /// A list of layers.
    List(ListedLayers),
}

/// Layers that do not learn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frozen {
    /// All but this one.
    AllBut(String),
    /// Those of these names.
    Some(Select),
}

impl Frozen {
    fn includes(&self, layer: &str) -> bool {
        match self {
            Self::AllBut(head) => layer_of(layer) != head,
            Self::Some(select) => select.includes(layer),
        }
    }
}

impl NetworkSpec {
    /// Reads a `[network]` table made by a program.
    ///
    /// # Errors
    /// The first fault.
    pub fn from_value(value: &serde_json::Value) -> Result<Self, SpecError> {
        let (node, folders) = (Node::from_json(value)?, Folders::new("."));
        let document = Node { line: None, value: Value::Table(vec![("network".into(), node)]) };
        let root = Table::root(&document, Context::new(SpecKind::Network, &folders))?;
        let table = root.child("network");
        let fields = NetworkTable::read(&table)?;
        let node = root.node("network").unwrap_or(&document);
        Self::new(fields, &root.at("network", node, true))
    }

    pub(crate) fn new(fields: NetworkTable, at: &At<'_>) -> Result<Self, SpecError> {
        let table = at.table()?;
        // The number of classes is set when the data are known.
        let model = match (fields.model, fields.layers) {
            (Some(_), Some(_)) => {
                return Err(
                    table.error("network.layers must not stand beside model: one of them names the layers")
                );
            }
            (None, Some(layers)) => Model::List(ListedLayers::new(layers)),
            (None, None) => return Err(table.missing("model")),
            (Some("fcn"), None) => Model::Fcn,
            (Some("cnn"), None) => Model::Cnn,
            (Some("mlp"), None) => Model::Mlp { hidden: fields.hidden, activation: fields.activation },
            (Some("resnet18"), None) => Model::ResNet(ResNet::resnet18(1)),
            (Some("resnet34"), None) => Model::ResNet(ResNet::resnet34(1)),
            (Some("resnet50"), None) => Model::ResNet(ResNet::resnet50(1)),
            (Some(_), None) => Model::ResNet(ResNet::keras_resnet50(1)),
        };
        if let Model::List(layers) = &model
            && let Some((layer, line)) = layers.without_outputs()
        {
            let message = format!(
                "network.layers: layer {layer} must say its outputs; only the last layer with weights need not"
            );
            return Err(SpecError { line, message });
        }
        let head = model.head();
        let mut analog = Select::parse(&fields.analog, &head);
        if let Model::List(layers) = &model
            && let Some(names) = layers.analog(&analog)?
        {
            analog = if names.is_empty() { Select::None } else { Select::Names(names) };
        }
        let frozen = match fields.frozen.as_str() {
            "backbone" => Frozen::AllBut(head.clone()),
            patterns => Frozen::Some(Select::parse(patterns, &head)),
        };
        let (weights, fresh_head) = (fields.weights, fields.fresh_head);
        let weights_digest = weights.as_deref().and_then(|path| table.context.folders.file(path));
        if let Some(digest) = &weights_digest {
            table.contents("weights", digest.clone());
        }
        if let Some(fault) = weights.as_deref().and_then(|path| table.context.folders.weights_fault(path)) {
            return Err(table.error(format!("{}: {fault}", table.path("weights"))));
        }
        if fresh_head && weights.is_none() {
            let path = table.path("fresh_head");
            return Err(table
                .error(format!("{path} must not be given without weights: then all layers are drawn anyway")));
        }
        Ok(Self { model, analog, frozen, weights, weights_digest, fresh_head })
    }

    /// Whether all layers below the head are digital and frozen, so that an image is the same to the head in every epoch.
    pub fn learns_head_only(&self, network: &mut Network) -> bool {
        let Frozen::AllBut(head) = &self.frozen else { return false };
        let mut only = true;
        network.visit_weights(&mut |layer, _| only &= layer == head || !self.analog.includes(layer));
        only
    }

    /// Refuses a list whose layers do not fit each other or the data, with the line of the layer.
    pub(super) fn check_shapes(&self, data: &DataSpec, root: &Table<'_>) -> Result<(), SpecError> {
        let Model::List(layers) = &self.model else { return Ok(()) };
        if self.model.head().is_empty() {
            return Err(root.error("network.layers must have a layer with weights: linear, conv2d or conv1d"));
        }
        let (image, outputs) = data.image();
        let at = |layer: &str, message: String| {
            let line = layers.line(layer).or_else(|| root.child("network").error("").line);
            SpecError { line, message: format!("network.layers: {message}") }
        };
        let shapes = self.model.layers(outputs).shapes(image).map_err(|error| match &error {
            BuildError::Layer { layer, .. } | BuildError::Twice { layer } => at(layer, error.to_string()),
            other => root.error(format!("network.layers: {other}")),
        })?;
        let (Some(last), wanted) = (shapes.last(), SampleShape::flat(outputs)) else { return Ok(()) };
        if last.output != wanted {
            let what = if data.is_regression() { "target value" } else { "class" };
            let (name, given) = (&last.name, last.output);
            let message =
                format!("layer {name} must give {wanted}, one value for each {what}, but gives {given}");
            return Err(at(name, message));
        }
        Ok(())
    }

    /// Builds the network without its values, and refuses one that does not fit the images or the memory, names of layers that
    /// it does not have, and an analog rule without a layer to learn.
    pub(super) fn check(
        &self,
        (image, classes): (SampleShape, usize),
        is_digital: bool,
        root: &Table<'_>,
    ) -> Result<(), SpecError> {
        let mut plan = Planner::default();
        let built = self.build(image, classes, &mut plan, Key::new(0));
        let network = built.map_err(|e| root.error(format!("network: layer {e}")))?;
        let (expected, own) = (network.input_shape(), network.classes());
        if (expected, own) != (image, classes) {
            return Err(root.error(shape_sentence("network.model", [expected, image], [own, classes])));
        }
        let on_tiles: Vec<&str> = plan.matrices.iter().map(|matrix| matrix.layer.as_str()).collect();
        let unmatched = |field: &str, pattern: &str, layers: &[&str]| {
            let near = layers.iter().min_by_key(|layer| strsim::levenshtein(pattern, layer));
            let listed = match layers.len() {
                0..=MOST_LISTED => format!("the layers are {}", layers.join(", ")),
                n => {
                    format!("the {n} layers are {}, …, {}", layers[..MOST_LISTED / 2].join(", "), layers[n - 1])
                }
            };
            let hint = near
                .filter(|_| layers.len() > MOST_LISTED)
                .map_or_else(String::new, |near| format!("; the nearest name is {near}"));
            root.error(format!(
                "network.{field} must name layers of this model, got {pattern:?}: {listed}{hint}"
            ))
        };
        if let Some(pattern) = self.analog.unmatched(&on_tiles) {
            return Err(unmatched("analog", pattern, &on_tiles));
        }
        if let Frozen::Some(frozen) = &self.frozen
            && let Some(pattern) = frozen.unmatched(&plan.layers())
        {
            return Err(unmatched("frozen", pattern, &plan.layers()));
        }
        if !is_digital && !on_tiles.iter().any(|layer| self.analog.includes(layer)) {
            return Err(root.error(
                "network.analog = \"none\" leaves an analog rule nothing to learn: name layers, or say rule.kind = \"digital\"",
            ));
        }
        Ok(())
    }

    /// The network for samples of this shape; `factory` decides where weights live.
    ///
    /// # Errors
    /// If layers do not fit or the factory refuses.
    pub fn build(
        &self,
        input: SampleShape,
        classes: usize,
        factory: &mut dyn Factory,
        key: Key,
    ) -> Result<Network, BuildError> {
        let factory = &mut Freezing { frozen: &self.frozen, inner: factory };
        self.model.layers(classes).build(self.model.input().unwrap_or(input), factory, key)
    }
}

impl Model {
    /// Its layers, for data with so many classes or target values.
    pub fn layers(&self, outputs: usize) -> LayerList {
        match self {
            Self::Fcn => LayerList::fcn(),
            Self::Cnn => LayerList::cnn(),
            Self::Mlp { hidden, activation } => {
                LayerList::mlp(&[hidden.as_slice(), &[outputs]].concat(), *activation)
            }
            Self::ResNet(model) => ResNet { classes: outputs, ..*model }.layers(),
            Self::List(layers) => layers.list(outputs),
        }
    }

    /// The images it is made for, if only these.
    pub fn input(&self) -> Option<SampleShape> {
        matches!(self, Self::Fcn | Self::Cnn).then_some(MNIST)
    }

    /// Name of the last layer with weights.
    pub fn head(&self) -> String {
        self.layers(1).matrices().pop().unwrap_or_default()
    }

    /// Whether scores are log-probabilities.
    pub fn gives_log_probabilities(&self) -> bool {
        self.layers(1).gives_log_probabilities()
    }
}

/// A factory whose frozen layers never learn, wherever they live.
struct Freezing<'a> {
    frozen: &'a Frozen,
    inner: &'a mut dyn Factory,
}

impl Factory for Freezing<'_> {
    fn weights(
        &mut self,
        name: &str,
        rows: usize,
        cols: usize,
        initial: Vec<f32>,
    ) -> Result<Box<dyn Weights>, ParameterError> {
        let weights = self.inner.weights(name, rows, cols, initial)?;
        Ok(if self.frozen.includes(name) { Box::new(Still(weights)) } else { weights })
    }

    fn parameter(&mut self, name: &str, initial: Vec<f32>) -> Parameter {
        let layer = name.rsplit_once('.').map_or(name, |(layer, _)| layer);
        if self.frozen.includes(layer) && self.inner.holds_values() {
            return Parameter::new(initial, None);
        }
        self.inner.parameter(name, initial)
    }

    fn holds_values(&self) -> bool {
        self.inner.holds_values()
    }
}
