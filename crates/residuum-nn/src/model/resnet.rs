//! ResNet-18, 34 and 50 (He, Zhang, Ren & Sun 2016) with torchvision's layout and names.

use residuum::Key;

use super::{BuildError, Factory, KernelStart, LayerKind, LayerList, Network};
use crate::SampleShape;
use crate::layer::{Activation, BatchNorm2d, Geometry, Reduce};

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
pub fn resnet(
    model: ResNet,
    input: SampleShape,
    factory: &mut dyn Factory,
    key: Key,
) -> Result<Network, BuildError> {
    model.layers().build(input, factory, key)
}

impl ResNet {
    /// Its layers. The head is `fc`.
    pub fn layers(&self) -> LayerList {
        let stem = self.conv(LayerList::new(), ["conv1", "bn1"], 64, Geometry::square(7, 2, 3));
        let pool =
            LayerKind::Pool { reduce: Reduce::Max, geometry: Geometry::square(3, 2, 1), sequence: false };
        let mut layers =
            stem.then_named("relu", LayerKind::Activation(Activation::Relu)).then_named("maxpool", pool);
        let mut channels = 64;
        for (stage, &count) in self.blocks.iter().enumerate() {
            let mut blocks = LayerList::new();
            let width = 64 << stage;
            for index in 0..count {
                let stride = if stage > 0 && index == 0 { 2 } else { 1 };
                blocks = blocks.then(self.block(channels, width, stride));
                channels = width * self.expansion();
            }
            layers = layers.then_named(format!("layer{}", stage + 1), LayerKind::Group(blocks));
        }
        layers
            .then_named("avgpool", LayerKind::GlobalAvgPool)
            .then_named("flatten", LayerKind::Flatten)
            .then_named("fc", LayerKind::Linear { outputs: self.classes, bias: true })
    }

    /// With a convolution and its normalisation.
    fn conv(&self, path: LayerList, [conv, norm]: [&str; 2], outputs: usize, geometry: Geometry) -> LayerList {
        let (bias, start) = (self.conv_bias, KernelStart::FanOut);
        let layer = LayerKind::Conv { outputs, geometry, groups: 1, bias, start, sequence: false };
        let (epsilon, momentum) = (self.epsilon, BatchNorm2d::MOMENTUM);
        path.then_named(conv, layer).then_named(norm, LayerKind::BatchNorm { epsilon, momentum })
    }

    /// One block from `inputs` channels to `width` (times four for a bottleneck).
    fn block(&self, inputs: usize, width: usize, stride: usize) -> LayerKind {
        let outputs = width * self.expansion();
        let (first, second) = if self.stride_in_first { (stride, 1) } else { (1, stride) };
        let convolutions = if self.bottleneck {
            vec![
                (["conv1", "bn1"], width, Geometry::square(1, first, 0)),
                (["conv2", "bn2"], width, Geometry::square(3, second, 1)),
                (["conv3", "bn3"], outputs, Geometry::square(1, 1, 0)),
            ]
        } else {
            vec![
                (["conv1", "bn1"], width, Geometry::square(3, stride, 1)),
                (["conv2", "bn2"], outputs, Geometry::square(3, 1, 1)),
            ]
        };
        let mut main = LayerList::new();
        for (i, (names, outputs, geometry)) in convolutions.into_iter().enumerate() {
            if i > 0 {
                main = main.then_named(format!("relu{i}"), LayerKind::Activation(Activation::Relu));
            }
            main = self.conv(main, names, outputs, geometry);
        }
        let shortcut = if stride == 1 && inputs == outputs {
            LayerList::new()
        } else {
            self.conv(LayerList::new(), ["0", "1"], outputs, Geometry::square(1, stride, 0))
        };
        LayerKind::Residual { main, shortcut, relu: true }
    }
}
