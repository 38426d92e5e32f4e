//! Convolution: every window of the image is an input vector of the weights.

use super::linear::check_bias;
use super::linear::{collect_weights, restore_weights};
use super::patches::Patches;
use super::{Layer, Mode, Pass, ShapeError, join};
use crate::state::{Collection, Named, Role, StateError, Tensors};
use crate::weights::Parameter;
use crate::{Shape, Tensor, TrainStepError, Weights, kernel};

/// Values of unfolded images that an evaluation holds at a time: a few megabytes for any batch.
const EVALUATION: usize = 1 << 20;

/// A sliding window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Rows of the window.
    pub height: usize,
    /// Columns of the window.
    pub width: usize,
    /// Positions between windows.
    pub stride: usize,
    /// Positions added around the image: zeros for a convolution, nothing for a pool.
    pub padding: usize,
}

impl Geometry {
    /// A square window.
    pub const fn square(size: usize, stride: usize, padding: usize) -> Self {
        Self { height: size, width: size, stride, padding }
    }

    /// Windows over an image of this shape, or `None` if no window fits.
    pub fn output(&self, image: Shape, channels: usize) -> Option<Shape> {
        let count = |size: usize, kernel: usize| {
            (size + 2 * self.padding).checked_sub(kernel).map(|room| room / self.stride + 1)
        };
        Some(Shape::image(count(image.height, self.height)?, count(image.width, self.width)?, channels))
    }
}

/// A convolution whose kernel is a matrix of one row per output channel; columns run over (row, column, channel) of the
/// window.
#[derive(Debug)]
pub struct Conv2d {
    weights: Box<dyn Weights>,
    bias: Option<Parameter>,
    geometry: Geometry,
    channels: usize,
    patches: Vec<f32>,
    patch_errors: Vec<f32>,
}

impl Conv2d {
    /// A convolution over images of `channels` channels.
    ///
    /// # Panics
    /// If the weights do not have one column per value of a window, or the bias one entry per row.
    pub fn new(
        weights: Box<dyn Weights>,
        bias: Option<Parameter>,
        channels: usize,
        geometry: Geometry,
    ) -> Self {
        assert_eq!(
            weights.cols(),
            geometry.height * geometry.width * channels,
            "one column per value of a window"
        );
        check_bias(weights.as_ref(), bias.as_ref());
        Self { weights, bias, geometry, channels, patches: Vec::new(), patch_errors: Vec::new() }
    }

    /// The weights.
    pub fn weights(&self) -> &dyn Weights {
        self.weights.as_ref()
    }

    fn windows(&self, image: Shape) -> Patches {
        let out = self
            .geometry
            .output(image, self.weights.rows())
            .expect("shapes are checked when a network is built");
        Patches { image, out, geometry: self.geometry }
    }

    /// (outputs, row, column, channel) ↔ PyTorch's (outputs, channel, row, column).
    fn transpose(&self, from: &[f32], to: &mut [f32], into_torch: bool) {
        let (window, channels) = (self.geometry.height * self.geometry.width, self.channels);
        for (i, kernel) in from.chunks_exact(window * channels).enumerate() {
            let to = &mut to[i * window * channels..][..window * channels];
            for position in 0..window {
                for channel in 0..channels {
                    let (ours, torch) = (position * channels + channel, channel * window + position);
                    if into_torch { to[torch] = kernel[ours] } else { to[ours] = kernel[torch] }
                }
            }
        }
    }
}

impl Layer for Conv2d {
    fn output_shape(&self, input: Shape) -> Result<Shape, ShapeError> {
        let refuse = |expected| ShapeError { layer: "a convolution", expected, given: input };
        if input.channels != self.channels {
            return Err(refuse(format!("{} channels", self.channels)));
        }
        let Geometry { height, width, padding, .. } = self.geometry;
        self.geometry
            .output(input, self.weights.rows())
            .ok_or_else(|| refuse(format!("at least {height}×{width} positions with {padding} of padding")))
    }

    fn forward(&mut self, input: &Tensor, output: &mut Tensor, pass: Pass) {
        let windows = self.windows(input.shape());
        output.resize(input.batch(), windows.out);
        let key = pass.key.named("read");
        let per_sample = windows.out.positions() * windows.window();
        if windows.trivial() {
            self.weights.read(input.values(), output.values_mut(), key);
        } else if pass.mode == Mode::Train {
            self.patches.resize(input.batch() * per_sample, 0.0);
            windows.unfold(input.values(), &mut self.patches);
            self.weights.read(&self.patches, output.values_mut(), key);
        } else {
            let samples = (EVALUATION / per_sample).max(1);
            let images = input.values().chunks(samples * input.shape().len());
            let outputs = output.values_mut().chunks_mut(samples * windows.out.len());
            for (index, (images, outputs)) in images.zip(outputs).enumerate() {
                self.patches.resize(images.len() / input.shape().len() * per_sample, 0.0);
                windows.unfold(images, &mut self.patches);
                self.weights.read(&self.patches, outputs, key.fold(index as u64));
            }
        }
        if let Some(bias) = &self.bias {
            kernel::add_row(output.values_mut(), &bias.values);
        }
    }

    fn backward(
        &mut self,
        input: &Tensor,
        _: &Tensor,
        errors: &Tensor,
        input_errors: Option<&mut Tensor>,
        pass: Pass,
    ) -> Result<(), TrainStepError> {
        let windows = self.windows(input.shape());
        if let Some(input_errors) = input_errors {
            input_errors.resize(input.batch(), input.shape());
            let key = pass.key.named("read_transposed");
            if windows.trivial() {
                self.weights.read_transposed(errors.values(), input_errors.values_mut(), key);
            } else {
                self.patch_errors.resize(self.patches.len(), 0.0);
                self.weights.read_transposed(errors.values(), &mut self.patch_errors, key);
                windows.fold(&self.patch_errors, input_errors.values_mut());
            }
        }
        if let Some(bias) = &mut self.bias
            && bias.trains()
        {
            kernel::column_sums(errors.values(), &mut bias.gradient);
            bias.step(pass.k);
        }
        let inputs = if windows.trivial() { input.values() } else { &self.patches };
        self.weights.step(pass.k, errors.values(), inputs, pass.key.named("step"))
    }

    fn held(&self, input: Shape, errors_wanted: bool) -> usize {
        let windows = self.windows(input);
        if windows.trivial() {
            return 0;
        }
        let unfolded = windows.out.positions() * windows.window();
        if errors_wanted { 2 * unfolded } else { unfolded }
    }

    fn trains(&self) -> bool {
        self.weights.trains() || self.bias.as_ref().is_some_and(Parameter::trains)
    }

    fn visit_weights(&mut self, path: &str, visit: &mut dyn FnMut(&str, &mut dyn Weights)) {
        visit(path, self.weights.as_mut());
    }
}

impl Named for Conv2d {
    fn collect(&self, path: &str, out: &mut Collection) {
        let shape = [self.weights.rows(), self.channels, self.geometry.height, self.geometry.width];
        let mut ours = vec![0.0; self.weights.rows() * self.weights.cols()];
        let mut torch = ours.clone();
        self.weights.effective_weights(&mut ours);
        self.transpose(&ours, &mut torch, true);
        collect_weights(&join(path, "weight"), &*self.weights, &shape, torch, out);
        if let Some(bias) = &self.bias {
            bias.collect(&join(path, "bias"), Role::Parameter, out);
        }
    }

    fn restore(&mut self, path: &str, from: &Tensors) -> Result<(), StateError> {
        let name = join(path, "weight");
        let mut ours = Vec::new();
        if let Some(torch) = from.get(&name).and_then(|tensor| tensor.data.as_f32()) {
            ours.resize(torch.len(), 0.0);
            self.transpose(torch, &mut ours, false);
        }
        restore_weights(&name, &mut *self.weights, from, |_| ours.clone())?;
        if let Some(bias) = &mut self.bias {
            bias.restore(&join(path, "bias"), from);
        }
        Ok(())
    }
}
