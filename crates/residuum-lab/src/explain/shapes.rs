//! Layers with their shapes, parameters and tiles, and data with their sizes and classes: what `check` and `explain` print.

use std::fmt::Write as _;

use residuum_nn::SampleShape;
use residuum_nn::data::{Dataset, ImageShape};
use residuum_nn::model::LayerShape;
use serde_json::{Value as Json, json};

use crate::plan::{Plan, Work, points};
use crate::spec::TrialSpec;

/// Most layers that are listed; a ResNet-50 has more than anybody reads.
const MOST_LAYERS: usize = 40;
/// Most networks, and most data, that a terminal shows.
const SHOWN: usize = 3;
/// Most classes whose sizes are listed.
const MOST_CLASSES: usize = 20;

/// The layers of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkShapes {
    /// What a sample is.
    pub input: SampleShape,
    /// From input to output.
    pub layers: Vec<ExplainedLayer>,
}

/// One layer of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedLayer {
    /// Its name, what it is and what it gives.
    pub shape: LayerShape,
    /// Tiles of each array of its rule; 0 for a digital layer.
    pub tiles: usize,
}

impl NetworkShapes {
    /// The layers of a trial; none if they do not fit, which training reports.
    pub fn new(spec: &TrialSpec) -> Option<Self> {
        let (image, outputs) = spec.data.image();
        let input = spec.network.model.input().unwrap_or(image);
        let digital = spec.rule.is_digital() || spec.devices.is_none();
        let layers = spec.network.model.layers(outputs).shapes(input).ok()?;
        let with_tiles = |shape: LayerShape| {
            let on_tiles = !digital && spec.network.analog.includes(&shape.name);
            let of = |&[rows, cols]: &[usize; 2]| {
                rows.div_ceil(spec.mapping.max_rows) * cols.div_ceil(spec.mapping.max_cols)
            };
            let tiles = if on_tiles { shape.matrices.iter().map(of).sum() } else { 0 };
            ExplainedLayer { shape, tiles }
        };
        Some(Self { input, layers: layers.into_iter().map(with_tiles).collect() })
    }

    /// Learned numbers of all layers.
    pub fn parameters(&self) -> usize {
        self.layers.iter().map(|layer| layer.shape.parameters()).sum()
    }

    /// Learned numbers on tiles.
    pub fn parameters_on_tiles(&self) -> usize {
        let matrices = self.layers.iter().filter(|layer| layer.tiles > 0).flat_map(|l| &l.shape.matrices);
        matrices.map(|[rows, cols]| rows * cols).sum()
    }

    /// Tiles of each array of the rule.
    pub fn tiles(&self) -> usize {
        self.layers.iter().map(|layer| layer.tiles).sum()
    }

    /// A line for each layer, and a sum.
    pub fn to_text(&self) -> String {
        let name = self.layers.iter().map(|l| l.shape.name.len()).max().unwrap_or(0).max(5);
        let mut text = format!("  {:name$}  {:15}  {:>13}\n", "input", "", self.input.to_string());
        for ExplainedLayer { shape, tiles } in self.layers.iter().take(MOST_LAYERS) {
            let LayerShape { name: own, word, output, .. } = shape;
            let parameters = match shape.parameters() {
                0 => String::new(),
                n => format!("{n} parameters"),
            };
            let on = if *tiles > 0 { format!(", {tiles} tile(s)") } else { String::new() };
            let line = format!("  {own:name$}  {word:15}  {:>13}  {parameters}{on}", output.to_string());
            let _ = writeln!(text, "{}", line.trim_end());
        }
        if self.layers.len() > MOST_LAYERS {
            let _ = writeln!(text, "  … {} layers in all", self.layers.len());
        }
        let _ = writeln!(
            text,
            "  {} parameters, {} of them on {} tile(s) for each array of the rule",
            self.parameters(),
            self.parameters_on_tiles(),
            self.tiles()
        );
        text
    }

    /// The same as JSON.
    pub fn to_json(&self) -> Json {
        let dimensions = |shape: SampleShape| json!([shape.height, shape.width, shape.channels]);
        let layers = self.layers.iter().map(|ExplainedLayer { shape, tiles }| {
            json!({
                "name": shape.name, "kind": shape.word, "output": dimensions(shape.output),
                "matrices": shape.matrices, "parameters": shape.parameters(), "tiles": tiles,
            })
        });
        json!({
            "input": dimensions(self.input), "layers": layers.collect::<Vec<_>>(), "parameters": self.parameters(),
            "parameters_on_tiles": self.parameters_on_tiles(), "tiles": self.tiles(),
        })
    }
}

/// The samples of a trial as it will see them.
#[derive(Clone, Debug, PartialEq)]
pub struct DataShapes {
    /// Where they come from.
    pub source: String,
    /// What is measured: `test` or `validation`.
    pub measured: &'static str,
    /// What a sample is.
    pub sample: ImageShape,
    /// Samples to train on and to measure.
    pub samples: [usize; 2],
    /// Of each class, its name and how many samples there are of it; empty for a regression.
    pub classes: Vec<(String, [usize; 2])>,
    /// Target values of a sample; 0 for classes.
    pub targets: usize,
}

impl DataShapes {
    /// The samples of a trial if they need no download: an embedded set, or files of one's own.
    pub fn new(spec: &TrialSpec) -> Option<Self> {
        if spec.data.own.is_none() && residuum_nn::data::catalogue::find(spec.data.set).is_ok() {
            return None;
        }
        let split = spec.data.load(std::path::Path::new(".")).ok()?;
        let (train, test): (&Dataset, &Dataset) = (&split.train, &split.test);
        let counts = [train.class_counts(), test.class_counts()];
        let class = |c: usize| (train.class_name(c), [counts[0][c], counts[1].get(c).copied().unwrap_or(0)]);
        Some(Self {
            source: if spec.data.own.is_some() { train.name().into() } else { spec.data.set.into() },
            measured: spec.data.evaluated_part(),
            sample: train.shape(),
            samples: [train.len(), test.len()],
            classes: (0..train.classes()).map(class).collect(),
            targets: if train.targets().is_some() { train.outputs() } else { 0 },
        })
    }

    /// Sizes, classes and their balance.
    pub fn to_text(&self) -> String {
        let ImageShape { height, width, channels } = self.sample;
        let shape = if height * width == 1 {
            format!("{channels} feature(s)")
        } else {
            format!("{height}×{width}×{channels}")
        };
        let goal = match (self.classes.len(), self.targets) {
            (0, targets) => format!("{targets} target value(s)"),
            (classes, _) => format!("{classes} classes"),
        };
        let [train, test] = self.samples;
        let mut text = format!(
            "  {}: {train} samples to train on, {test} to measure ({}), {shape}, {goal}\n",
            self.source, self.measured
        );
        if self.classes.is_empty() {
            return text;
        }
        let total = |n: [usize; 2]| n[0] + n[1];
        let words: Vec<String> =
            self.classes.iter().take(MOST_CLASSES).map(|(name, n)| format!("{name} {}", total(*n))).collect();
        let more = if self.classes.len() > MOST_CLASSES { ", …" } else { "" };
        let sizes = || self.classes.iter().map(|(_, n)| total(*n));
        let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
        let _ = writeln!(
            text,
            "  samples of each class: {}{more} (smallest {least}, largest {most})",
            words.join(", ")
        );
        text
    }

    /// The same as JSON.
    pub fn to_json(&self) -> Json {
        let ImageShape { height, width, channels } = self.sample;
        json!({
            "source": self.source, "measured": self.measured, "sample": [height, width, channels],
            "samples": self.samples, "targets": self.targets,
            "classes": self.classes.iter().map(|(name, n)| json!({ "name": name, "samples": n })).collect::<Vec<_>>(),
        })
    }
}

/// Networks and data of the trials, each once, in the order of the points.
pub fn shapes(plans: &[Plan]) -> (Vec<NetworkShapes>, Vec<DataShapes>) {
    let (mut networks, mut data) = (Vec::new(), Vec::new());
    for plan in points(plans) {
        let Work::Network(spec) = &plan.work else { continue };
        let network = NetworkShapes::new(spec);
        networks.extend(network.filter(|network| !networks.contains(network)));
        let samples = DataShapes::new(spec);
        data.extend(samples.filter(|samples| !data.contains(samples)));
    }
    (networks, data)
}

/// Networks and data for a terminal.
pub fn shapes_text(networks: &[NetworkShapes], data: &[DataShapes]) -> String {
    let mut text = String::new();
    for network in networks.iter().take(SHOWN) {
        text += "network\n";
        text += &network.to_text();
    }
    for samples in data.iter().take(SHOWN) {
        text += "data\n";
        text += &samples.to_text();
    }
    if networks.len() > SHOWN || data.len() > SHOWN {
        let _ = writeln!(text, "… {} different networks, {} different data in all", networks.len(), data.len());
    }
    text
}
