//! Convolution: every window of the image is an input vector of the weights.

use super::linear::check_bias;
use super::linear::{collect_weights, restore_matrix};
use super::patches::Patches;
use super::{Geometry, Layer, Mode, Pass, ShapeError, join};
use crate::state::{Collection, Named, Role, StateError, Tensors};
use crate::weights::Parameter;
use crate::{SampleShape, Tensor, TrainStepError, Weights, kernel};

/// Values of unfolded images that an evaluation holds at a time: a few megabytes for any batch.
const EVALUATION: usize = 1 << 20;

/// A convolution whose kernel is a matrix of one row per output channel; columns run over (row, column, channel) of the
/// window.
#[derive(Debug)]
pub struct Conv2d {
    weights: Box<dyn Weights>,
    bias: Option<Parameter>,
    geometry: Geometry,
    channels: usize,
    /// Whether PyTorch's kernel has no rows: its `Conv1d`.
    sequence: bool,
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
        assert_eq!(weights.cols(), geometry.positions() * channels, "one column per value of a window");
        check_bias(weights.as_ref(), bias.as_ref());
        let (patches, patch_errors) = (Vec::new(), Vec::new());
        Self { weights, bias, geometry, channels, sequence: false, patches, patch_errors }
    }

    /// The same convolution as PyTorch's `Conv1d`: its kernel has no dimension for rows.
    ///
    /// # Panics
    /// If the window has several rows.
    pub fn over_sequences(self) -> Self {
        assert_eq!(self.geometry.height, 1, "a window over sequences has one row");
        Self { sequence: true, ..self }
    }

    /// The weights.
    pub fn weights(&self) -> &dyn Weights {
        self.weights.as_ref()
    }

    fn windows(&self, image: SampleShape) -> Patches {
        let out = self
            .geometry
            .output(image, self.weights.rows())
            .expect("shapes are checked when a network is built");
        Patches { image, out, geometry: self.geometry }
    }

    /// (outputs, row, column, channel) ↔ PyTorch's (outputs, channel, row, column).
    fn transpose(&self, from: &[f32], to: &mut [f32], into_torch: bool) {
        let (window, channels) = (self.geometry.positions(), self.channels);
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
    fn output_shape(&self, input: SampleShape) -> Result<SampleShape, ShapeError> {
        let refuse = |expected| ShapeError { layer: "a convolution", expected, given: input };
        if input.channels != self.channels {
            return Err(refuse(format!("{} channels", self.channels)));
        }
        self.geometry.output(input, self.weights.rows()).ok_or_else(|| refuse(self.geometry.least_image()))
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

    fn held(&self, input: SampleShape, errors_wanted: bool) -> usize {
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

impl Conv2d {
    /// The kernel in PyTorch's order, with its shape.
    pub(super) fn torch_kernel(&self) -> (Vec<usize>, Vec<f32>) {
        let Geometry { height, width, .. } = self.geometry;
        let mut ours = vec![0.0; self.weights.rows() * self.weights.cols()];
        let mut torch = ours.clone();
        self.weights.effective_weights(&mut ours);
        self.transpose(&ours, &mut torch, true);
        let window = if self.sequence { vec![width] } else { vec![height, width] };
        ([vec![self.weights.rows(), self.channels], window].concat(), torch)
    }

    /// Programs a kernel in PyTorch's order, if there is one, and restores the state behind the weights.
    pub(super) fn restore_kernel(
        &mut self,
        name: &str,
        torch: Option<&[f32]>,
        behind: &Tensors,
    ) -> Result<(), StateError> {
        let ours = torch.map(|torch| {
            let mut ours = vec![0.0; torch.len()];
            self.transpose(torch, &mut ours, false);
            ours
        });
        restore_matrix(name, &mut *self.weights, ours.as_deref(), behind)
    }
}

impl Named for Conv2d {
    fn collect(&self, path: &str, out: &mut Collection) {
        let (shape, torch) = self.torch_kernel();
        collect_weights(&join(path, "weight"), &*self.weights, &shape, torch, out);
        if let Some(bias) = &self.bias {
            bias.collect(&join(path, "bias"), Role::Parameter, out);
        }
    }

    fn restore(&mut self, path: &str, from: &Tensors) -> Result<(), StateError> {
        let name = join(path, "weight");
        let torch = from.get(&name).and_then(|tensor| tensor.data.as_f32()).map(<[f32]>::to_vec);
        self.restore_kernel(&name, torch.as_deref(), &from.within(&name))?;
        if let Some(bias) = &mut self.bias {
            bias.restore(&join(path, "bias"), from);
        }
        Ok(())
    }
}
