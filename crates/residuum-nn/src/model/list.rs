//! Networks as lists of layers: sizes follow from the shape of a sample, names from the place in the list.

use std::collections::BTreeSet;

use residuum::{Key, ParameterError};

use super::build::{Builder, MAX_VALUES};
use super::{BuildError, Factory, KernelStart, Network};
use crate::SampleShape;
use crate::layer::{
    Activation, BatchNorm2d, Dropout, Flatten, Geometry, GlobalAvgPool, Join, Layer, LayerNorm, LogSoftmax,
    Parallel, Pool2d, Reduce, Residual, Sequential, ShapeError, join,
};

/// What a layer of a [`LayerList`] is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LayerKind {
    /// `y = W x + b` of a vector.
    Linear {
        /// Number of outputs.
        outputs: usize,
        /// Whether there is a bias.
        bias: bool,
    },
    /// A convolution, PyTorch's `Conv2d` or `Conv1d`.
    Conv {
        /// Channels of the output.
        outputs: usize,
        /// The window.
        geometry: Geometry,
        /// Equal groups of channels that do not see each other.
        groups: usize,
        /// Whether there is a bias.
        bias: bool,
        /// Initial kernel.
        start: KernelStart,
        /// Over sequences (images of one row) instead of images.
        sequence: bool,
    },
    /// Batch normalisation by channel.
    BatchNorm {
        /// Keeps the division finite.
        epsilon: f32,
        /// Share of a new batch in the running statistics.
        momentum: f32,
    },
    /// Layer normalisation over all values of a sample.
    LayerNorm {
        /// Keeps the division finite.
        epsilon: f32,
    },
    /// In training each value is 0 with this probability.
    Dropout {
        /// In [0, 1).
        probability: f64,
    },
    /// The largest or the mean value of windows.
    Pool {
        /// Which of them.
        reduce: Reduce,
        /// The window.
        geometry: Geometry,
        /// Over sequences (images of one row) instead of images.
        sequence: bool,
    },
    /// The mean over all positions, by channel.
    GlobalAvgPool,
    /// A function of each value.
    Activation(Activation),
    /// An image as a vector, in PyTorch's order.
    Flatten,
    /// Log-probabilities.
    LogSoftmax,
    /// Layers under a common name.
    Group(LayerList),
    /// `main(x) + shortcut(x)`. Layers of the main path go by the name of the block, those of the shortcut by `downsample` in it.
    Residual {
        /// The main path.
        main: LayerList,
        /// The shortcut; the identity if it has no layers.
        shortcut: LayerList,
        /// Whether a ReLU follows the sum.
        relu: bool,
    },
    /// Branches that see the same input, called `0`, `1`, ….
    Parallel {
        /// The branches; one without layers is the identity.
        branches: Vec<LayerList>,
        /// What becomes of their outputs.
        join: Join,
    },
}

impl LayerKind {
    /// A convolution over images in one group, with a bias.
    pub fn conv2d(outputs: usize, geometry: Geometry) -> Self {
        let (groups, bias, start, sequence) = (1, true, KernelStart::FanIn, false);
        Self::Conv { outputs, geometry, groups, bias, start, sequence }
    }

    /// The word for it in tables.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Linear { .. } => "linear",
            Self::Conv { sequence: false, .. } => "conv2d",
            Self::Conv { sequence: true, .. } => "conv1d",
            Self::BatchNorm { .. } => "batch_norm",
            Self::LayerNorm { .. } => "layer_norm",
            Self::Dropout { .. } => "dropout",
            Self::Pool { reduce: Reduce::Max, .. } => "max_pool",
            Self::Pool { reduce: Reduce::Average, .. } => "avg_pool",
            Self::GlobalAvgPool => "global_avg_pool",
            Self::Activation(Activation::Relu) => "relu",
            Self::Activation(Activation::Sigmoid) => "sigmoid",
            Self::Activation(Activation::Tanh) => "tanh",
            Self::Activation(Activation::LeakyRelu) => "leaky_relu",
            Self::Activation(Activation::Silu) => "silu",
            Self::Flatten => "flatten",
            Self::LogSoftmax => "log_softmax",
            Self::Group(_) => "group",
            Self::Residual { .. } => "residual",
            Self::Parallel { .. } => "parallel",
        }
    }
}

/// A list of named layers. Sizes of inputs are not given: they follow from the shape of a sample.
///
/// ```
/// use residuum::Key;
/// use residuum_nn::layer::{Activation, Geometry};
/// use residuum_nn::model::{DigitalFactory, LayerKind, LayerList};
/// use residuum_nn::{Sgd, SampleShape};
///
/// let layers = LayerList::new()
///     .then(LayerKind::conv2d(6, Geometry::square(5, 1, 2)))
///     .activation(Activation::Relu)
///     .flatten()
///     .linear(32)
///     .batch_norm()
///     .activation(Activation::Relu)
///     .dropout(0.2)
///     .then_named("head", LayerKind::Linear { outputs: 10, bias: true });
/// let shapes = layers.shapes(SampleShape::image(8, 8, 1))?;
/// assert_eq!(shapes[2].output, SampleShape::flat(8 * 8 * 6));
/// assert_eq!(layers.matrices().last().map(String::as_str), Some("head"));
/// let network = layers.build(SampleShape::image(8, 8, 1), &mut DigitalFactory(Some(Sgd::new(0.1))), Key::new(1))?;
/// assert_eq!(network.classes(), 10);
/// # Ok::<(), residuum_nn::model::BuildError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerList {
    layers: Vec<(String, LayerKind)>,
}

/// A layer of a list as it will be built.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerShape {
    /// Its full name.
    pub name: String,
    /// The word for it.
    pub word: &'static str,
    /// What it gives.
    pub output: SampleShape,
    /// Rows and columns of its matrices; several for a grouped convolution, none for most layers.
    pub matrices: Vec<[usize; 2]>,
    /// Learned numbers that are not in a matrix: biases, scales and shifts.
    pub vectors: usize,
}

impl LayerShape {
    /// Learned numbers.
    pub fn parameters(&self) -> usize {
        self.matrices
            .iter()
            .fold(self.vectors, |sum, [rows, cols]| sum.saturating_add(rows.saturating_mul(*cols)))
    }
}

impl LayerList {
    /// No layers: the identity.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more layer, named by its place as in `torch.nn.Sequential`.
    pub fn then(self, kind: LayerKind) -> Self {
        let name = self.layers.len().to_string();
        self.then_named(name, kind)
    }

    /// With one more layer of this name, which becomes part of the names of its tensors and of the keys it draws from.
    pub fn then_named(mut self, name: impl Into<String>, kind: LayerKind) -> Self {
        self.layers.push((name.into(), kind));
        self
    }

    /// With a linear layer and its bias.
    pub fn linear(self, outputs: usize) -> Self {
        self.then(LayerKind::Linear { outputs, bias: true })
    }

    /// With an activation.
    pub fn activation(self, activation: Activation) -> Self {
        self.then(LayerKind::Activation(activation))
    }

    /// With a batch normalisation of PyTorch's settings.
    pub fn batch_norm(self) -> Self {
        self.then(LayerKind::BatchNorm { epsilon: BatchNorm2d::EPSILON, momentum: BatchNorm2d::MOMENTUM })
    }

    /// With a layer normalisation of PyTorch's settings.
    pub fn layer_norm(self) -> Self {
        self.then(LayerKind::LayerNorm { epsilon: LayerNorm::EPSILON })
    }

    /// With dropout.
    pub fn dropout(self, probability: f64) -> Self {
        self.then(LayerKind::Dropout { probability })
    }

    /// With a flatten.
    pub fn flatten(self) -> Self {
        self.then(LayerKind::Flatten)
    }

    /// Its layers, outermost only.
    pub fn layers(&self) -> &[(String, LayerKind)] {
        &self.layers
    }

    /// Whether it has no layers.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// The full names of all layers with matrices, from input to output.
    pub fn matrices(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.collect_matrices("", &mut names);
        names
    }

    fn collect_matrices(&self, path: &str, names: &mut Vec<String>) {
        for (name, kind) in &self.layers {
            let name = join(path, name);
            match kind {
                LayerKind::Linear { .. } | LayerKind::Conv { .. } => names.push(name),
                LayerKind::Group(layers) => layers.collect_matrices(&name, names),
                LayerKind::Residual { main, shortcut, .. } => {
                    main.collect_matrices(&name, names);
                    shortcut.collect_matrices(&join(&name, "downsample"), names);
                }
                LayerKind::Parallel { branches, .. } => {
                    for (i, branch) in branches.iter().enumerate() {
                        branch.collect_matrices(&join(&name, &i.to_string()), names);
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether the last layer gives log-probabilities.
    pub fn gives_log_probabilities(&self) -> bool {
        matches!(self.layers.last(), Some((_, LayerKind::LogSoftmax)))
    }

    /// Every layer with its output for samples of this shape, from input to output; a container comes after what is in it.
    ///
    /// # Errors
    /// The first layer that cannot take the output of the one below, or whose name is taken.
    pub fn shapes(&self, input: SampleShape) -> Result<Vec<LayerShape>, BuildError> {
        let mut shapes = Vec::new();
        self.walk("", input, &mut shapes)?;
        Ok(shapes)
    }

    fn walk(
        &self,
        path: &str,
        input: SampleShape,
        out: &mut Vec<LayerShape>,
    ) -> Result<SampleShape, BuildError> {
        let mut seen = BTreeSet::new();
        let mut shape = input;
        for (name, kind) in &self.layers {
            let name = join(path, name);
            if !seen.insert(name.clone()) {
                return Err(BuildError::Twice { layer: name });
            }
            shape = kind.walk(&name, shape, out)?;
            // Vectors are limited by the weights that give them.
            if shape.positions() > 1 && shape.len() > MAX_VALUES {
                return Err(BuildError::Large { layer: name, shape });
            }
        }
        Ok(shape)
    }

    /// The network for samples of this shape. The factory decides where weights live; the draws of a layer depend on the key and
    /// its name.
    ///
    /// # Errors
    /// If a layer cannot take the output of the one below, or the factory refuses.
    pub fn build(
        &self,
        input: SampleShape,
        factory: &mut dyn Factory,
        key: Key,
    ) -> Result<Network, BuildError> {
        self.walk("", input, &mut Vec::new())?;
        let layers = self.sequence("", input, &mut Builder { factory, key })?;
        Ok(Network::new(layers, input)?)
    }

    fn sequence(
        &self,
        path: &str,
        input: SampleShape,
        build: &mut Builder<'_>,
    ) -> Result<Sequential, BuildError> {
        let (mut layers, mut shape) = (Sequential::new(), input);
        for (name, kind) in &self.layers {
            let layer = kind.build(&join(path, name), shape, build)?;
            shape = layer.output_shape(shape)?;
            layers.push(name.clone(), layer);
        }
        Ok(layers)
    }
}

/// An input that a layer cannot take.
fn refused(layer: &'static str, expected: impl Into<String>, given: SampleShape) -> ShapeError {
    ShapeError { layer, expected: expected.into(), given }
}

impl LayerKind {
    /// The output for an input, listed with what is inside.
    fn walk(
        &self,
        name: &str,
        input: SampleShape,
        out: &mut Vec<LayerShape>,
    ) -> Result<SampleShape, BuildError> {
        let at = |source| BuildError::Layer { layer: name.to_owned(), source };
        let (mut matrices, mut vectors) = (Vec::new(), 0);
        let output = match self {
            Self::Linear { outputs, bias } => {
                if input.positions() != 1 {
                    return Err(at(refused("a linear layer", "a vector: put a flatten before it", input)));
                }
                matrices.push([*outputs, input.len()]);
                vectors = if *bias { *outputs } else { 0 };
                SampleShape::flat(*outputs)
            }
            Self::Conv { outputs, geometry, groups, bias, sequence, .. } => {
                check_sequence(*sequence, "a convolution over sequences", input).map_err(at)?;
                if !input.channels.is_multiple_of(*groups) || !outputs.is_multiple_of(*groups) {
                    let what = format!("channels and outputs ({outputs}) that {groups} groups divide");
                    return Err(at(refused("a convolution", what, input)));
                }
                let cols = geometry.positions().saturating_mul(input.channels) / groups;
                matrices = vec![[outputs / groups, cols]; *groups];
                vectors = if *bias { *outputs } else { 0 };
                let output = geometry.output(input, *outputs);
                output.ok_or_else(|| at(refused("a convolution", geometry.least_image(), input)))?
            }
            Self::Pool { geometry, sequence, .. } => {
                check_sequence(*sequence, "a pool over sequences", input).map_err(at)?;
                let output = geometry.output(input, input.channels);
                output.ok_or_else(|| at(refused("a pool", geometry.least_image(), input)))?
            }
            Self::BatchNorm { .. } => {
                vectors = 2 * input.channels;
                input
            }
            Self::LayerNorm { .. } => {
                vectors = 2 * input.len();
                input
            }
            Self::Dropout { .. } | Self::Activation(_) | Self::LogSoftmax => input,
            Self::GlobalAvgPool => SampleShape::flat(input.channels),
            Self::Flatten => SampleShape::flat(input.len()),
            Self::Group(layers) => layers.walk(name, input, out)?,
            Self::Residual { main, shortcut, .. } => {
                let through = main.walk(name, input, out)?;
                let around = shortcut.walk(&join(name, "downsample"), input, out)?;
                if through != around {
                    let what = format!("an input whose shortcut ({around}) meets its main path ({through})");
                    return Err(at(refused("a residual block", what, input)));
                }
                through
            }
            Self::Parallel { branches, join: by } => {
                let mut ends = Vec::new();
                for (i, branch) in branches.iter().enumerate() {
                    ends.push(branch.walk(&join(name, &i.to_string()), input, out)?);
                }
                Parallel::joined(&ends, *by, input).map_err(at)?
            }
        };
        out.push(LayerShape { name: name.to_owned(), word: self.word(), output, matrices, vectors });
        Ok(output)
    }

    fn build(
        &self,
        name: &str,
        input: SampleShape,
        build: &mut Builder<'_>,
    ) -> Result<Box<dyn Layer>, BuildError> {
        let refuse = |source: ParameterError| BuildError::Parameter { layer: name.to_owned(), source };
        Ok(match self {
            Self::Linear { outputs, bias } => Box::new(build.linear(name, input.len(), *outputs, *bias)?),
            Self::Conv { outputs, geometry, groups, bias, start, sequence } => {
                let channels = [input.channels, *outputs];
                if *groups == 1 {
                    let conv = build.conv(name, channels, *geometry, *start, *bias)?;
                    Box::new(if *sequence { conv.over_sequences() } else { conv })
                } else {
                    let conv = build.grouped_conv(name, channels, (*geometry, *groups), *start, *bias)?;
                    Box::new(if *sequence { conv.over_sequences() } else { conv })
                }
            }
            Self::BatchNorm { epsilon, momentum } => {
                Box::new(build.norm(name, input.channels, *epsilon, *momentum))
            }
            Self::LayerNorm { epsilon } => Box::new(build.layer_norm(name, input, *epsilon)),
            Self::Dropout { probability } => Box::new(Dropout::new(*probability).map_err(refuse)?),
            Self::Pool { reduce, geometry, .. } => Box::new(Pool2d::new(*reduce, *geometry)),
            Self::GlobalAvgPool => Box::new(GlobalAvgPool),
            Self::Activation(activation) => Box::new(*activation),
            Self::Flatten => Box::new(Flatten),
            Self::LogSoftmax => Box::new(LogSoftmax),
            Self::Group(layers) => Box::new(layers.sequence(name, input, build)?),
            Self::Residual { main, shortcut, relu } => {
                let around = if shortcut.is_empty() {
                    None
                } else {
                    Some(shortcut.sequence(&join(name, "downsample"), input, build)?)
                };
                let block = Residual::new(main.sequence(name, input, build)?, around);
                Box::new(if *relu { block } else { block.without_relu() })
            }
            Self::Parallel { branches, join: by } => {
                let branches = (branches.iter().enumerate())
                    .map(|(i, branch)| {
                        let own = i.to_string();
                        Ok((own.clone(), branch.sequence(&join(name, &own), input, build)?))
                    })
                    .collect::<Result<_, BuildError>>()?;
                Box::new(Parallel::new(branches, *by))
            }
        })
    }
}

/// A sequence is an image of one row.
fn check_sequence(sequence: bool, layer: &'static str, input: SampleShape) -> Result<(), ShapeError> {
    if sequence && input.height != 1 {
        return Err(refused(layer, "an image of one row", input));
    }
    Ok(())
}
