//! Builds layers from names and sizes: initial values, and where weights are stored.

use residuum::{Key, ParameterError};
use thiserror::Error;

use crate::SampleShape;
use crate::layer::{BatchNorm2d, Conv2d, Geometry, GroupedConv2d, LayerNorm, LinearLayer, ShapeError};
use crate::weights::{DigitalWeights, Parameter, Sgd, Weights};

/// Why a network cannot be built.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// An invalid parameter of a device, rule or optimiser.
    #[error("{layer}: {source}")]
    Parameter {
        /// The layer.
        layer: String,
        /// Why.
        source: ParameterError,
    },
    /// Layers whose shapes do not match.
    #[error(transparent)]
    SampleShape(#[from] ShapeError),
    /// A layer of a list that cannot take the output of the one below.
    #[error("layer {layer}: {source}")]
    Layer {
        /// Its name.
        layer: String,
        /// Why.
        source: ShapeError,
    },
    /// Two layers of a list with one name.
    #[error("layer {layer}: names must differ, got it twice")]
    Twice {
        /// The name.
        layer: String,
    },
    /// A layer whose output would fill the memory.
    #[error("layer {layer}: its output must have at most {MAX_VALUES} values for a sample, got {shape}")]
    Large {
        /// The name.
        layer: String,
        /// What it would give.
        shape: SampleShape,
    },
}

/// Most values that a layer may give for one sample: 400 MB. More are taken for a mistake.
pub(super) const MAX_VALUES: usize = 100_000_000;

/// Decides, by name, where the weights of a layer are stored and how parameters learn.
pub trait Factory {
    /// The weights of the layer `name` (without `.weight`), starting from `initial` (`rows × cols`).
    ///
    /// # Errors
    /// If such weights cannot be built.
    fn weights(
        &mut self,
        name: &str,
        rows: usize,
        cols: usize,
        initial: Vec<f32>,
    ) -> Result<Box<dyn Weights>, ParameterError>;

    /// A digital vector, such as a bias, under its full name.
    fn parameter(&mut self, name: &str, initial: Vec<f32>) -> Parameter;

    /// Whether anything is stored; if not, no initial weights are drawn, and what the factory is given is empty.
    fn holds_values(&self) -> bool {
        true
    }
}

/// Everything in digital memory, trained by one SGD or frozen.
#[derive(Clone, Copy, Debug)]
pub struct DigitalFactory(pub Option<Sgd>);

impl Factory for DigitalFactory {
    fn weights(
        &mut self,
        _: &str,
        rows: usize,
        cols: usize,
        initial: Vec<f32>,
    ) -> Result<Box<dyn Weights>, ParameterError> {
        Ok(Box::new(DigitalWeights::new(rows, cols, initial, self.0)?))
    }

    fn parameter(&mut self, _: &str, initial: Vec<f32>) -> Parameter {
        Parameter::new(initial, self.0)
    }
}

/// Two factories side by side: layers selected by `chosen` come from one, all others from the other. For example, heads are
/// analog and backbones digital, or heads are trained and backbones frozen.
pub struct SplitFactory<'a> {
    /// Which layers are selected.
    pub chosen: Select,
    /// Builds the selected layers.
    pub inside: &'a mut dyn Factory,
    /// Builds the others.
    pub outside: &'a mut dyn Factory,
}

impl SplitFactory<'_> {
    fn pick(&mut self, layer: &str) -> &mut dyn Factory {
        if self.chosen.includes(layer) { self.inside } else { self.outside }
    }
}

impl Factory for SplitFactory<'_> {
    fn weights(
        &mut self,
        name: &str,
        rows: usize,
        cols: usize,
        initial: Vec<f32>,
    ) -> Result<Box<dyn Weights>, ParameterError> {
        self.pick(name).weights(name, rows, cols, initial)
    }

    fn parameter(&mut self, name: &str, initial: Vec<f32>) -> Parameter {
        // The layer of `fc.bias` is `fc`.
        let layer = name.rsplit_once('.').map_or(name, |(layer, _)| layer);
        self.pick(layer).parameter(name, initial)
    }

    fn holds_values(&self) -> bool {
        self.inside.holds_values() || self.outside.holds_values()
    }
}

/// A selection of layers by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Select {
    /// None of them.
    None,
    /// All of them.
    All,
    /// Those that match one of these patterns; `*` stands for any characters.
    Names(Vec<String>),
}

impl Select {
    /// Parses `none`, `all`, `head` (the model's head layer) or comma-separated patterns.
    pub fn parse(text: &str, head: &str) -> Self {
        match text.trim() {
            "none" => Self::None,
            "all" => Self::All,
            "head" => Self::Names(vec![head.to_owned()]),
            patterns => Self::Names(patterns.split(',').map(|p| p.trim().to_owned()).collect()),
        }
    }

    /// The first pattern that none of these layers matches.
    pub fn unmatched(&self, layers: &[&str]) -> Option<&str> {
        let Self::Names(patterns) = self else { return None };
        let fits = |pattern: &&String| !layers.iter().any(|layer| matches(pattern, layer));
        patterns.iter().find(fits).map(String::as_str)
    }

    /// Whether the layer `name` is selected. The groups of a grouped convolution go by the name of their layer.
    pub fn includes(&self, name: &str) -> bool {
        let name = layer_of(name);
        match self {
            Self::None => false,
            Self::All => true,
            Self::Names(patterns) => patterns.iter().any(|pattern| matches(pattern, name)),
        }
    }
}

/// The layer of a matrix: that of `conv1#2`, the third group of a grouped convolution, is `conv1`.
pub fn layer_of(matrix: &str) -> &str {
    matrix.split_once('#').map_or(matrix, |(layer, _)| layer)
}

/// Whether `name` fits `pattern`, in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|tail| {
            (0..=tail.len()).filter(|&i| tail.is_char_boundary(i)).any(|i| matches(rest, &tail[i..]))
        }),
    }
}

/// Initial kernels of convolutions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KernelStart {
    /// Uniform on ±1/√(fan in), PyTorch's default.
    #[default]
    FanIn,
    /// Normal with variance 2/(fan out), as torchvision's ResNets.
    FanOut,
}

/// Builds layers from a factory and a key. The draws of a layer depend only on its name.
pub(super) struct Builder<'a> {
    pub factory: &'a mut dyn Factory,
    pub key: Key,
}

impl Builder<'_> {
    /// `y = W x + b` with both uniform on ±1/√inputs.
    pub fn linear(
        &mut self,
        name: &str,
        inputs: usize,
        outputs: usize,
        with_bias: bool,
    ) -> Result<LinearLayer, BuildError> {
        let weights = self.matrix(name, [outputs, inputs], KernelStart::FanIn, 1)?;
        Ok(LinearLayer::new(weights, self.bias(name, inputs, outputs, with_bias)))
    }

    /// A convolution from `inputs` to `outputs` channels.
    pub fn conv(
        &mut self,
        name: &str,
        [inputs, outputs]: [usize; 2],
        geometry: Geometry,
        start: KernelStart,
        with_bias: bool,
    ) -> Result<Conv2d, BuildError> {
        let window = geometry.positions();
        let weights = self.matrix(name, [outputs, window * inputs], start, window)?;
        Ok(Conv2d::new(weights, self.bias(name, window * inputs, outputs, with_bias), inputs, geometry))
    }

    /// A convolution in groups. Each has a matrix of its own, `name#0` and so on.
    pub fn grouped_conv(
        &mut self,
        name: &str,
        [inputs, outputs]: [usize; 2],
        (geometry, groups): (Geometry, usize),
        start: KernelStart,
        with_bias: bool,
    ) -> Result<GroupedConv2d, BuildError> {
        let window = geometry.positions();
        let size = [outputs / groups, window * inputs / groups];
        let weights = (0..groups)
            .map(|group| self.matrix(&format!("{name}#{group}"), size, start, window))
            .collect::<Result<_, _>>()?;
        let bias = self.bias(name, size[1], outputs, with_bias);
        Ok(GroupedConv2d::new(weights, bias, inputs, geometry))
    }

    /// Batch normalisation with scales 1 and shifts 0.
    pub fn norm(&mut self, name: &str, channels: usize, epsilon: f32, momentum: f32) -> BatchNorm2d {
        let [scale, shift] = self.affine(name, channels);
        BatchNorm2d::new(scale, shift, epsilon, momentum)
    }

    /// Layer normalisation with scales 1 and shifts 0.
    pub fn layer_norm(&mut self, name: &str, shape: SampleShape, epsilon: f32) -> LayerNorm {
        let [scale, shift] = self.affine(name, shape.len());
        LayerNorm::new(shape, scale, shift, epsilon)
    }

    fn affine(&mut self, name: &str, n: usize) -> [Parameter; 2] {
        let scale = self.factory.parameter(&format!("{name}.weight"), vec![1.0; n]);
        [scale, self.factory.parameter(&format!("{name}.bias"), vec![0.0; n])]
    }

    fn matrix(
        &mut self,
        name: &str,
        [rows, cols]: [usize; 2],
        start: KernelStart,
        window: usize,
    ) -> Result<Box<dyn Weights>, BuildError> {
        let refuse = |source| BuildError::Parameter { layer: name.to_owned(), source };
        if !self.factory.holds_values() {
            return self.factory.weights(name, rows, cols, Vec::new()).map_err(refuse);
        }
        let key = self.key.named(name).named("weight");
        let initial = match start {
            KernelStart::FanIn => uniform(key, cols, rows * cols),
            KernelStart::FanOut => {
                let deviation = (2.0 / (rows * window) as f64).sqrt();
                let mut draws = vec![0.0; rows * cols];
                key.fill_normal(&mut draws);
                draws.into_iter().map(|z| (deviation * z) as f32).collect()
            }
        };
        self.factory.weights(name, rows, cols, initial).map_err(refuse)
    }

    fn bias(&mut self, name: &str, inputs: usize, outputs: usize, wanted: bool) -> Option<Parameter> {
        if !self.factory.holds_values() {
            if wanted {
                self.factory.parameter(&format!("{name}.bias"), Vec::new());
            }
            return None;
        }
        let key = self.key.named(name).named("bias");
        wanted.then(|| self.factory.parameter(&format!("{name}.bias"), uniform(key, inputs, outputs)))
    }
}

/// Uniform on ±1/√inputs.
fn uniform(key: Key, inputs: usize, n: usize) -> Vec<f32> {
    let bound = 1.0 / (inputs as f64).sqrt();
    let mut draws = vec![0.0; n];
    key.fill_uniform(&mut draws);
    draws.into_iter().map(|u| (bound * (2.0 * u - 1.0)) as f32).collect()
}
