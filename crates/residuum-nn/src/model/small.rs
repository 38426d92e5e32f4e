//! The small networks: the paper's FCN and CNN for 28×28 images, and a perceptron for smaller ones.
//!
//! Names are those of the equivalent `torch.nn.Sequential`: the position of the layer.

use residuum::Key;

use super::{BuildError, Factory, LayerKind, LayerList, Network};
use crate::SampleShape;
use crate::layer::{Activation, Geometry, Reduce, ShapeError};

impl LayerList {
    /// A perceptron: a flatten, then linear layers of these sizes with the activation between them, raw scores at the end.
    pub fn mlp(sizes: &[usize], activation: Activation) -> Self {
        sizes.iter().enumerate().fold(Self::new().flatten(), |layers, (i, &outputs)| {
            let layers = if i > 0 { layers.activation(activation) } else { layers };
            layers.linear(outputs)
        })
    }

    /// The paper's fully connected network, 784-256-128-10 with sigmoids and log-probabilities at the end.
    pub fn fcn() -> Self {
        Self::mlp(&[256, 128, 10], Activation::Sigmoid).then(LayerKind::LogSoftmax)
    }

    /// The paper's convolutional network for 28×28 images: two convolutions 5×5 of 16 and 32 channels with tanh and 2×2
    /// max-pools, then 512-128-10 with tanh, log-probabilities at the end.
    pub fn cnn() -> Self {
        let window = Geometry::square(5, 1, 0);
        let pool =
            || LayerKind::Pool { reduce: Reduce::Max, geometry: Geometry::square(2, 2, 0), sequence: false };
        Self::new()
            .then(LayerKind::conv2d(16, window))
            .activation(Activation::Tanh)
            .then(pool())
            .then(LayerKind::conv2d(32, window))
            .activation(Activation::Tanh)
            .then(pool())
            .activation(Activation::Tanh)
            .flatten()
            .linear(128)
            .activation(Activation::Tanh)
            .linear(10)
            .then(LayerKind::LogSoftmax)
    }
}

/// The shape of the images of [`fcn`] and [`cnn`].
pub const MNIST: SampleShape = SampleShape::image(28, 28, 1);

/// A perceptron: `sizes` from input to classes, the activation between them, raw scores at the end.
///
/// # Errors
/// If the factory fails, or `sizes` does not start with the size of `input`.
pub fn mlp(
    input: SampleShape,
    sizes: &[usize],
    activation: Activation,
    factory: &mut dyn Factory,
    key: Key,
) -> Result<Network, BuildError> {
    let (first, others) = sizes.split_first().unwrap_or((&0, &[]));
    if *first != input.len() {
        let expected = format!("{first} values");
        return Err(ShapeError { layer: "a linear layer", expected, given: input }.into());
    }
    LayerList::mlp(others, activation).build(input, factory, key)
}

/// [`LayerList::fcn`].
///
/// # Errors
/// If the factory fails.
pub fn fcn(factory: &mut dyn Factory, key: Key) -> Result<Network, BuildError> {
    LayerList::fcn().build(MNIST, factory, key)
}

/// [`LayerList::cnn`].
///
/// # Errors
/// If the factory fails.
pub fn cnn(factory: &mut dyn Factory, key: Key) -> Result<Network, BuildError> {
    LayerList::cnn().build(MNIST, factory, key)
}
