//! `network.layers`: a network as a list of layers.
//!
//! A layer is a word (`"relu"`) or a table (`{ kind = "linear", outputs = 64 }`). What a layer takes follows from the one below,
//! so a list says only what each layer gives.

use residuum_nn::layer::{Activation, Geometry, Join, Reduce};
use residuum_nn::model::{KernelStart, LayerKind, LayerList, Select};
use serde_json::{Value as Json, json};

use super::node::{Node, SpecError, Value};
use super::section::{Declaration, Optional, Or, Required, RequiredIf, Section, Takes, section};
use super::table::At;
use super::types::{TakesExt as _, choice, count, flag, list, number, text, word};

const LINEAR: &str = "linear";
/// Layers with matrices.
const WEIGHTED: &[&str] = &[LINEAR, "conv2d", "conv1d"];
const CONVOLUTIONS: &[&str] = &["conv2d", "conv1d"];
/// Layers with sliding windows.
const WINDOWED: &[&str] = &["conv2d", "conv1d", "max_pool", "avg_pool", "max_pool1d", "avg_pool1d"];
const POOLS: &[&str] = &["max_pool", "avg_pool", "max_pool1d", "avg_pool1d"];
const NORMS: &[&str] = &["batch_norm", "layer_norm"];
/// Layers that hold layers.
const HOLDING: &[&str] = &["linear", "conv2d", "conv1d", "residual", "parallel", "group"];

/// Layers of a list; more are taken for a mistake.
pub(super) const MOST_LAYERS: usize = 2000;

/// Every kind of layer.
const KINDS: [&str; 21] = [
    "linear",
    "conv2d",
    "conv1d",
    "batch_norm",
    "layer_norm",
    "dropout",
    "max_pool",
    "avg_pool",
    "max_pool1d",
    "avg_pool1d",
    "global_avg_pool",
    "relu",
    "leaky_relu",
    "sigmoid",
    "tanh",
    "silu",
    "flatten",
    "log_softmax",
    "residual",
    "parallel",
    "group",
];

section! {
    /// One layer. A word stands for a layer with nothing but defaults. Sizes of inputs follow from the layer below.
    pub(crate) struct LayerTable by kind {
        /// what it is, as PyTorch's layer of that name
        kind: &'static str = word(KINDS), "–", Required;
        /// part of the names of its tensors in files of weights, and of the keys it draws from
        name: Option<String> = text("letters, digits, `-`, `_`"), "–", Optional("its place in the list, from 0, as in `torch.nn.Sequential`");
        /// whether it is on tiles; for layers that hold layers also patterns of those inside
        analog: Option<LayerAnalog> = flag().map(LayerAnalog::Flag).or(text("patterns of names inside").map(LayerAnalog::Names)), "–",
            Optional("as `network.analog` says"), of kind HOLDING;
        /// values, or channels, that it gives
        outputs: Option<usize> = count().at_least(1).size(), "values", Optional("for the last layer with weights: one for each class, or target"), of kind WEIGHTED;
        /// size of the window, rows first if they differ
        kernel: Option<[usize; 2]> = count().at_least(1).size().pair(), "positions", RequiredIf, of kind WINDOWED;
        /// positions between windows
        stride: Option<[usize; 2]> = count().at_least(1).size().pair(), "positions", Optional("1 for convolutions, the kernel for pools"), of kind WINDOWED;
        /// positions added on every side
        padding: [usize; 2] = count().size().pair(), "positions", Or("0"), of kind WINDOWED;
        /// positions between neighbours in the window
        dilation: [usize; 2] = count().at_least(1).size().pair(), "positions", Or("1"), of kind CONVOLUTIONS;
        /// equal groups of channels that do not see each other, each on tiles of its own
        groups: usize = count().at_least(1).size(), "groups", Or("1"), of kind CONVOLUTIONS;
        /// whether there is a bias, in digital memory
        bias: bool = flag(), "–", Or("true"), of kind WEIGHTED;
        /// initial kernel: uniform on ±1/√(fan in), or normal with variance 2/(fan out)
        start: KernelStart = choice([("fan_in", KernelStart::FanIn), ("fan_out", KernelStart::FanOut)]), "–", Or("\"fan_in\""), of kind CONVOLUTIONS;
        /// keeps the division finite
        epsilon: f64 = number().positive(), "value²", Or("1e-5"), of kind NORMS;
        /// share of a new batch in the running statistics
        momentum: f64 = number().share(), "share", Or("0.1"), of kind ["batch_norm"];
        /// of a value to be 0 in training; the others are scaled to keep the mean
        probability: f64 = number().memory(), "probability", Or("0.5"), of kind ["dropout"];
        /// the main path; its layers go by the name of the block
        main: Option<Vec<Listed>> = list(LayerField, "a list of layers", [1, MOST_LAYERS]), "–", RequiredIf, of kind ["residual"];
        /// layers on the way around; they go by `downsample` in the block
        shortcut: Vec<Listed> = list(LayerField, "a list of layers", [0, MOST_LAYERS]), "–", Or("[]"), of kind ["residual"];
        /// what follows the sum
        activation: &'static str = word(["relu", "none"]), "–", Or("\"relu\""), of kind ["residual"];
        /// lists of layers that see the same input, called 0, 1, …; an empty one is the identity
        branches: Option<Vec<Vec<Listed>>> = list(list(LayerField, "a list of layers", [0, MOST_LAYERS]), "a list of lists of layers", [1, MOST_LAYERS]), "–",
            RequiredIf, of kind ["parallel"];
        /// what becomes of their outputs: channels side by side, or the sum
        join: Join = choice([("concat", Join::Concat), ("add", Join::Add)]), "–", Or("\"concat\""), of kind ["parallel"];
        /// layers under a common name
        layers: Option<Vec<Listed>> = list(LayerField, "a list of layers", [1, MOST_LAYERS]), "–", RequiredIf, of kind ["group"];
    }
}

/// Whether a layer is on tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LayerAnalog {
    /// It and all in it, or none of them.
    Flag(bool),
    /// Those in it that match.
    Names(String),
}

/// A layer with the line it stands on.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    table: Box<LayerTable>,
    line: Option<usize>,
}

/// A layer of a list: a word or a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LayerField;

impl Takes for LayerField {
    type Value = Listed;

    fn accepts(&self, node: &Node) -> bool {
        matches!(node.value, Value::Text(_) | Value::Table(_))
    }

    fn read(&self, at: &At<'_>) -> Result<Listed, SpecError> {
        let line = at.node.line;
        let table = match &at.node.value {
            Value::Text(_) => {
                let kind = ("kind".to_string(), at.node.clone());
                let node = Node { line, value: Value::Table(vec![kind]) };
                LayerTable::read(&at.with(&node).table()?)?
            }
            Value::Table(_) => LayerTable::read(&at.table()?)?,
            _ => return Err(at.must("a layer: a word such as \"relu\", or { kind = … }")),
        };
        if let Some(name) = &table.name
            && (name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'))
        {
            return Err(at.error(format_args!(".name must be letters, digits, '-' and '_', got {name:?}")));
        }
        check_window(&table, at)?;
        Ok(Listed { table: Box::new(table), line })
    }

    fn noun(&self) -> String {
        "a layer".into()
    }

    fn words(&self) -> String {
        "word, or table".into()
    }

    fn schema(&self) -> Json {
        json!({ "anyOf": [{ "enum": KINDS }, { "$ref": "#/$defs/LayerTable" }] })
    }

    fn tables(&self) -> Vec<fn() -> &'static Declaration> {
        vec![LayerTable::declaration]
    }
}

/// What the library would panic on.
fn check_window(table: &LayerTable, at: &At<'_>) -> Result<(), SpecError> {
    let Some(kernel) = table.kernel else { return Ok(()) };
    let wrong = |message: String| Err(at.error(message));
    if table.kind.ends_with("1d") {
        for (name, pair) in [
            ("kernel", Some(kernel)),
            ("stride", table.stride),
            ("padding", Some(table.padding)),
            ("dilation", Some(table.dilation)),
        ] {
            if let Some([a, b]) = pair.filter(|[a, b]| a != b) {
                return wrong(format!(".{name} must be one number for {}, got [{a}, {b}]", table.kind));
            }
        }
    }
    let [rows, columns] = kernel;
    if POOLS.contains(&table.kind) && (2 * table.padding[0] > rows || 2 * table.padding[1] > columns) {
        return wrong(format!(
            ".padding must be at most half the kernel of a pool, got {:?} with {kernel:?}",
            table.padding
        ));
    }
    Ok(())
}

/// The layers of `network.layers`.
#[derive(Clone, Debug)]
pub struct ListedLayers(Vec<Listed>);

impl PartialEq for ListedLayers {
    fn eq(&self, other: &Self) -> bool {
        self.list(1) == other.list(1)
    }
}

impl ListedLayers {
    pub(crate) fn new(layers: Vec<Listed>) -> Self {
        Self(layers)
    }

    /// The list with so many outputs of the last layer with weights, unless it says otherwise.
    pub fn list(&self, outputs: usize) -> LayerList {
        made(&self.0, outputs)
    }

    /// The names of layers on tiles, or `None` if no layer says anything and `others` decides all of them.
    pub(crate) fn analog(&self, others: &Select) -> Result<Option<Vec<String>>, SpecError> {
        let mut chosen = Chosen { names: Vec::new(), said: false };
        chosen.among(&self.0, "", &|name| others.includes(name))?;
        Ok(chosen.said.then_some(chosen.names))
    }

    /// A layer with weights but the last that does not say how many outputs it has.
    pub(crate) fn without_outputs(&self) -> Option<(String, Option<usize>)> {
        let (mut missing, mut last) = (Vec::new(), String::new());
        each(&self.0, "", &mut |name, layer| {
            if WEIGHTED.contains(&layer.table.kind) {
                name.clone_into(&mut last);
                if layer.table.outputs.is_none() {
                    missing.push((name.to_owned(), layer.line));
                }
            }
        });
        missing.into_iter().find(|(name, _)| *name != last)
    }

    /// The line of the layer of this full name.
    pub(crate) fn line(&self, name: &str) -> Option<usize> {
        let mut line = None;
        each(&self.0, "", &mut |own, layer| {
            if own == name {
                line = layer.line;
            }
        });
        line
    }
}

/// The name of a layer at a place.
fn name_of(layer: &Listed, place: usize) -> String {
    layer.table.name.clone().unwrap_or_else(|| place.to_string())
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{path}.{name}") }
}

/// The lists inside a layer, with their paths.
fn inside<'a>(layer: &'a Listed, name: &str) -> Vec<(String, &'a [Listed])> {
    let table = &layer.table;
    let mut all: Vec<(String, &[Listed])> = Vec::new();
    all.extend(table.main.iter().map(|main| (name.to_owned(), main.as_slice())));
    if !table.shortcut.is_empty() {
        all.push((joined(name, "downsample"), &table.shortcut));
    }
    for (i, branch) in table.branches.iter().flatten().enumerate() {
        all.push((joined(name, &i.to_string()), branch));
    }
    all.extend(table.layers.iter().map(|layers| (name.to_owned(), layers.as_slice())));
    all
}

/// Visits every layer with its full name, a container before what is in it.
fn each(layers: &[Listed], path: &str, visit: &mut dyn FnMut(&str, &Listed)) {
    for (place, layer) in layers.iter().enumerate() {
        let name = joined(path, &name_of(layer, place));
        visit(&name, layer);
        for (path, layers) in inside(layer, &name) {
            each(layers, &path, visit);
        }
    }
}

/// Layers on tiles.
struct Chosen {
    names: Vec<String>,
    /// Whether any layer said so.
    said: bool,
}

impl Chosen {
    fn among(
        &mut self,
        layers: &[Listed],
        path: &str,
        default: &dyn Fn(&str) -> bool,
    ) -> Result<(), SpecError> {
        for (place, layer) in layers.iter().enumerate() {
            let name = joined(path, &name_of(layer, place));
            self.said |= layer.table.analog.is_some();
            let before = self.names.len();
            match &layer.table.analog {
                None => self.one(layer, &name, default)?,
                Some(LayerAnalog::Flag(on)) => self.one(layer, &name, &|_| *on)?,
                Some(LayerAnalog::Names(patterns)) => {
                    let select = Select::Names(patterns.split(',').map(|p| p.trim().to_owned()).collect());
                    // Names inside go without that of the container too.
                    let within = |full: &str| {
                        let short = full.strip_prefix(&name).and_then(|rest| rest.strip_prefix('.'));
                        select.includes(full) || short.is_some_and(|short| select.includes(short))
                    };
                    self.one(layer, &name, &within)?;
                    if self.names.len() == before {
                        let message = format!(
                            "network.layers: analog = {patterns:?} of layer {name} must match a layer with weights, got none"
                        );
                        return Err(SpecError { line: layer.line, message });
                    }
                }
            }
        }
        Ok(())
    }

    fn one(&mut self, layer: &Listed, name: &str, default: &dyn Fn(&str) -> bool) -> Result<(), SpecError> {
        if WEIGHTED.contains(&layer.table.kind) && default(name) {
            self.names.push(name.to_owned());
        }
        for (path, layers) in inside(layer, name) {
            self.among(layers, &path, default)?;
        }
        Ok(())
    }
}

fn made(layers: &[Listed], outputs: usize) -> LayerList {
    layers.iter().enumerate().fold(LayerList::new(), |list, (place, layer)| {
        list.then_named(name_of(layer, place), kind(&layer.table, outputs))
    })
}

fn kind(table: &LayerTable, outputs: usize) -> LayerKind {
    let own = table.outputs.unwrap_or(outputs);
    let sequence = table.kind.ends_with("1d");
    let [height, width] = table.kernel.unwrap_or([1; 2]);
    let pooled = POOLS.contains(&table.kind);
    let [down, along] = table.stride.unwrap_or(if pooled { [height, width] } else { [1; 2] });
    let geometry = if sequence {
        let line = Geometry::line(width, along, table.padding[1]);
        Geometry { dilation: [1, table.dilation[1]], ..line }
    } else {
        Geometry { height, width, stride: [down, along], padding: table.padding, dilation: table.dilation }
    };
    let inner = |layers: &Option<Vec<Listed>>| made(layers.as_deref().unwrap_or(&[]), outputs);
    match table.kind {
        "linear" => LayerKind::Linear { outputs: own, bias: table.bias },
        "conv2d" | "conv1d" => LayerKind::Conv {
            outputs: own,
            geometry,
            groups: table.groups,
            bias: table.bias,
            start: table.start,
            sequence,
        },
        "batch_norm" => LayerKind::BatchNorm { epsilon: table.epsilon as f32, momentum: table.momentum as f32 },
        "layer_norm" => LayerKind::LayerNorm { epsilon: table.epsilon as f32 },
        "dropout" => LayerKind::Dropout { probability: table.probability },
        "max_pool" | "max_pool1d" => LayerKind::Pool { reduce: Reduce::Max, geometry, sequence },
        "avg_pool" | "avg_pool1d" => LayerKind::Pool { reduce: Reduce::Average, geometry, sequence },
        "global_avg_pool" => LayerKind::GlobalAvgPool,
        "relu" => LayerKind::Activation(Activation::Relu),
        "leaky_relu" => LayerKind::Activation(Activation::LeakyRelu),
        "sigmoid" => LayerKind::Activation(Activation::Sigmoid),
        "tanh" => LayerKind::Activation(Activation::Tanh),
        "silu" => LayerKind::Activation(Activation::Silu),
        "flatten" => LayerKind::Flatten,
        "log_softmax" => LayerKind::LogSoftmax,
        "residual" => LayerKind::Residual {
            main: inner(&table.main),
            shortcut: made(&table.shortcut, outputs),
            relu: table.activation == "relu",
        },
        "parallel" => LayerKind::Parallel {
            branches: table.branches.iter().flatten().map(|branch| made(branch, outputs)).collect(),
            join: table.join,
        },
        _ => LayerKind::Group(inner(&table.layers)),
    }
}
