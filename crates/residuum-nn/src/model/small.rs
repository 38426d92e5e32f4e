//! The small networks: the paper's FCN and CNN for 28×28 images, and a perceptron for smaller ones.
//!
//! Names are those of the equivalent `torch.nn.Sequential`: the position of the layer.

use residuum::Key;

use super::build::{Builder, Start};
use super::{BuildError, Factory, Network};
use crate::Shape;
use crate::layer::{Activation, Flatten, Geometry, LogSoftmax, Pool2d, Reduce, Sequential};

/// A perceptron: `sizes` from input to classes, the activation between them, raw scores at the end.
///
/// # Errors
/// If the factory fails, or `sizes` does not start with the size of `input`.
pub fn mlp(
    input: Shape,
    sizes: &[usize],
    activation: Activation,
    factory: &mut dyn Factory,
    key: Key,
) -> Result<Network, BuildError> {
    Ok(Network::new(perceptron(sizes, activation, factory, key)?, input)?)
}

fn perceptron(
    sizes: &[usize],
    activation: Activation,
    factory: &mut dyn Factory,
    key: Key,
) -> Result<Sequential, BuildError> {
    let mut build = Builder { factory, key };
    let mut layers = Sequential::new().with("0", Flatten);
    for (i, pair) in sizes.windows(2).enumerate() {
        if i > 0 {
            let name = layers.len().to_string();
            layers = layers.with(name, activation);
        }
        let name = layers.len().to_string();
        let linear = build.linear(&name, pair[0], pair[1])?;
        layers = layers.with(name, linear);
    }
    Ok(layers)
}

/// The paper's fully connected network, 784-256-128-10 with sigmoids and log-probabilities at the end.
///
/// # Errors
/// If the factory fails.
pub fn fcn(factory: &mut dyn Factory, key: Key) -> Result<Network, BuildError> {
    let layers = perceptron(&[784, 256, 128, 10], Activation::Sigmoid, factory, key)?;
    let name = layers.len().to_string();
    Ok(Network::new(layers.with(name, LogSoftmax), Shape::image(28, 28, 1))?)
}

/// The paper's convolutional network for 28×28 images: two convolutions 5×5 of 16 and 32 channels with tanh and 2×2
/// max-pools, then 512-128-10 with tanh, log-probabilities at the end.
///
/// # Errors
/// If the factory fails.
pub fn cnn(factory: &mut dyn Factory, key: Key) -> Result<Network, BuildError> {
    let mut build = Builder { factory, key };
    let window = Geometry::square(5, 1, 0);
    let pool = || Pool2d::new(Reduce::Max, Geometry::square(2, 2, 0));
    let layers = Sequential::new()
        .with("0", build.conv("0", [1, 16], window, Start::FanIn, true)?)
        .with("1", Activation::Tanh)
        .with("2", pool())
        .with("3", build.conv("3", [16, 32], window, Start::FanIn, true)?)
        .with("4", Activation::Tanh)
        .with("5", pool())
        .with("6", Activation::Tanh)
        .with("7", Flatten)
        .with("8", build.linear("8", 512, 128)?)
        .with("9", Activation::Tanh)
        .with("10", build.linear("10", 128, 10)?)
        .with("11", LogSoftmax);
    Ok(Network::new(layers, Shape::image(28, 28, 1))?)
}
