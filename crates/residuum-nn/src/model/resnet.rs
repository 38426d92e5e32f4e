//! ResNet-18, 34 and 50 (He, Zhang, Ren & Sun 2016) with torchvision's layout and names.

use residuum::Key;

use super::build::{Builder, Start};
use super::{BuildError, Factory, Network};
use crate::Shape;
use crate::layer::{
    Activation, BatchNorm2d, Flatten, Geometry, GlobalAvgPool, Pool2d, Reduce, Residual, Sequential,
};

/// Configuration of a residual network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResNet {
    /// Blocks of the four stages.
    pub blocks: [usize; 4],
    /// Blocks of three convolutions (1×1, 3×3, 1×1) that widen fourfold, instead of two 3×3.
    pub bottleneck: bool,
    /// Number of classes.
    pub classes: usize,
    /// Whether a bottleneck shrinks the image in its first 1×1 convolution, as Keras does, not in its 3×3.
    pub stride_in_first: bool,
    /// Whether convolutions have biases, as Keras's do.
    pub conv_bias: bool,
    /// ε of the batch normalisations.
    pub epsilon: f32,
}

impl ResNet {
    const fn new(blocks: [usize; 4], bottleneck: bool, classes: usize) -> Self {
        let epsilon = BatchNorm2d::EPSILON;
        Self { blocks, bottleneck, classes, stride_in_first: false, conv_bias: false, epsilon }
    }

    /// ResNet-18.
    pub const fn resnet18(classes: usize) -> Self {
        Self::new([2, 2, 2, 2], false, classes)
    }

    /// ResNet-34.
    pub const fn resnet34(classes: usize) -> Self {
        Self::new([3, 4, 6, 3], false, classes)
    }

    /// ResNet-50, the stride in the 3×3 convolutions ("v1.5").
    pub const fn resnet50(classes: usize) -> Self {
        Self::new([3, 4, 6, 3], true, classes)
    }

    /// ResNet-50 as Keras's weights require it: stride in the first 1×1, biases, ε = 0.001.
    pub const fn keras_resnet50(classes: usize) -> Self {
        let epsilon = 1e-3;
        Self { stride_in_first: true, conv_bias: true, epsilon, ..Self::resnet50(classes) }
    }

    const fn expansion(&self) -> usize {
        if self.bottleneck { 4 } else { 1 }
    }
}

/// Builds a residual network for images of this shape. Its head is `fc`.
///
/// # Errors
/// If the factory fails, or the image is too small.
pub fn resnet(model: ResNet, input: Shape, factory: &mut dyn Factory, key: Key) -> Result<Network, BuildError> {
    let mut stem = Blocks { model, build: Builder { factory, key } };
    let mut layers = Sequential::new();
    stem.conv(&mut layers, "", ["conv1", "bn1"], [input.channels, 64], Geometry::square(7, 2, 3))?;
    layers = layers
        .with("relu", Activation::Relu)
        .with("maxpool", Pool2d::new(Reduce::Max, Geometry::square(3, 2, 1)));
    let mut channels = 64;
    for (stage, &count) in model.blocks.iter().enumerate() {
        let mut blocks = Sequential::new();
        let width = 64 << stage;
        for index in 0..count {
            let name = format!("layer{}.{index}", stage + 1);
            let stride = if stage > 0 && index == 0 { 2 } else { 1 };
            blocks.push(index.to_string(), Box::new(stem.block(&name, channels, width, stride)?));
            channels = width * model.expansion();
        }
        layers = layers.with(format!("layer{}", stage + 1), blocks);
    }
    let head = stem.build.linear("fc", channels, model.classes)?;
    let layers = layers.with("avgpool", GlobalAvgPool).with("flatten", Flatten).with("fc", head);
    Ok(Network::new(layers, input)?)
}

struct Blocks<'a> {
    model: ResNet,
    build: Builder<'a>,
}

impl Blocks<'_> {
    /// Adds a convolution and its normalisation to `path`.
    fn conv(
        &mut self,
        path: &mut Sequential,
        prefix: &str,
        [conv, norm]: [&str; 2],
        channels: [usize; 2],
        geometry: Geometry,
    ) -> Result<(), BuildError> {
        let full = |name: &str| format!("{prefix}{name}");
        let layer = self.build.conv(&full(conv), channels, geometry, Start::FanOut, self.model.conv_bias)?;
        path.push(conv, Box::new(layer));
        path.push(norm, Box::new(self.build.norm(&full(norm), channels[1], self.model.epsilon)));
        Ok(())
    }

    /// One block from `inputs` channels to `width` (times four for a bottleneck).
    fn block(
        &mut self,
        name: &str,
        inputs: usize,
        width: usize,
        stride: usize,
    ) -> Result<Residual, BuildError> {
        let outputs = width * self.model.expansion();
        let prefix = format!("{name}.");
        let (first, second) = if self.model.stride_in_first { (stride, 1) } else { (1, stride) };
        let convolutions = if self.model.bottleneck {
            vec![
                (["conv1", "bn1"], [inputs, width], Geometry::square(1, first, 0)),
                (["conv2", "bn2"], [width, width], Geometry::square(3, second, 1)),
                (["conv3", "bn3"], [width, outputs], Geometry::square(1, 1, 0)),
            ]
        } else {
            vec![
                (["conv1", "bn1"], [inputs, width], Geometry::square(3, stride, 1)),
                (["conv2", "bn2"], [width, outputs], Geometry::square(3, 1, 1)),
            ]
        };
        let mut main = Sequential::new();
        for (i, (names, channels, geometry)) in convolutions.into_iter().enumerate() {
            if i > 0 {
                main.push(format!("relu{i}"), Box::new(Activation::Relu));
            }
            self.conv(&mut main, &prefix, names, channels, geometry)?;
        }
        let downsample = if stride == 1 && inputs == outputs {
            None
        } else {
            let mut path = Sequential::new();
            let prefix = format!("{name}.downsample.");
            self.conv(&mut path, &prefix, ["0", "1"], [inputs, outputs], Geometry::square(1, stride, 0))?;
            Some(path)
        };
        Ok(Residual::new(main, downsample))
    }
}
