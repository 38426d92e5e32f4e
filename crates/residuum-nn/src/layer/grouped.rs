//! A convolution in groups: outputs of a group see the input channels of that group alone.

use residuum::Key;

use super::{Conv2d, Geometry, Layer, Pass, ShapeError, join};
use crate::state::{Collection, Named, Role, StateError, Tensors};
use crate::weights::Parameter;
use crate::{SampleShape, Tensor, TrainStepError, Weights, kernel};

/// Equal groups of channels, each with a convolution of its own: on tiles, each with tiles of its own. One group per channel is
/// a depthwise convolution.
#[derive(Debug)]
pub struct GroupedConv2d {
    groups: Vec<Conv2d>,
    bias: Option<Parameter>,
    /// Of all groups.
    inputs: usize,
    outputs: usize,
    /// Of one group, one after the other: inputs, outputs and their errors.
    input: Vec<Tensor>,
    output: Tensor,
    errors: Tensor,
    input_errors: Tensor,
}

impl GroupedConv2d {
    /// One convolution for each group, all alike, and one bias for all of them.
    ///
    /// # Panics
    /// If there is no group, or the weights or the bias do not fit.
    pub fn new(
        weights: Vec<Box<dyn Weights>>,
        bias: Option<Parameter>,
        inputs: usize,
        geometry: Geometry,
    ) -> Self {
        let count = weights.len();
        assert!(
            count > 0 && inputs.is_multiple_of(count),
            "groups must divide the {inputs} channels, got {count}"
        );
        let outputs: usize = weights.iter().map(|w| w.rows()).sum();
        assert!(weights.iter().all(|w| w.rows() * count == outputs), "groups must have equally many outputs");
        if let Some(bias) = &bias {
            assert_eq!(bias.values.len(), outputs, "a bias has one entry for each output");
        }
        let groups = weights.into_iter().map(|w| Conv2d::new(w, None, inputs / count, geometry)).collect();
        let input = vec![Tensor::default(); count];
        let [output, errors, input_errors] = [(); 3].map(|()| Tensor::default());
        Self { groups, bias, inputs, outputs, input, output, errors, input_errors }
    }

    /// The same convolution as PyTorch's `Conv1d`.
    ///
    /// # Panics
    /// If the window has several rows.
    pub fn over_sequences(mut self) -> Self {
        self.groups = self.groups.into_iter().map(Conv2d::over_sequences).collect();
        self
    }

    /// The key of a group, from that of its layer.
    #[must_use]
    pub fn key_of(layer: Key, group: u64) -> Key {
        layer.named("group").fold(group)
    }

    fn of_group(&self, shape: SampleShape) -> SampleShape {
        SampleShape { channels: shape.channels / self.groups.len(), ..shape }
    }
}

/// The channels of group `group` of `from`, as images of their own.
fn gather(from: &Tensor, group: usize, own: SampleShape, to: &mut Tensor) {
    to.resize(from.batch(), own);
    let (all, channels) = (from.shape().channels, own.channels);
    let pixels = to.values_mut().chunks_exact_mut(channels).zip(from.values().chunks_exact(all));
    pixels.for_each(|(to, from)| to.copy_from_slice(&from[group * channels..][..channels]));
}

/// The transpose of [`gather`].
fn scatter(from: &Tensor, group: usize, to: &mut Tensor) {
    let (all, channels) = (to.shape().channels, from.shape().channels);
    let pixels = to.values_mut().chunks_exact_mut(all).zip(from.values().chunks_exact(channels));
    pixels.for_each(|(to, from)| to[group * channels..][..channels].copy_from_slice(from));
}

/// The pass of one group.
fn of(pass: Pass, group: usize) -> Pass {
    Pass { key: GroupedConv2d::key_of(pass.key, group as u64), ..pass }
}

impl Layer for GroupedConv2d {
    fn output_shape(&self, input: SampleShape) -> Result<SampleShape, ShapeError> {
        if input.channels != self.inputs {
            let expected = format!("{} channels", self.inputs);
            return Err(ShapeError { layer: "a convolution", expected, given: input });
        }
        let own = self.groups[0].output_shape(self.of_group(input))?;
        Ok(SampleShape { channels: self.outputs, ..own })
    }

    fn forward(&mut self, input: &Tensor, output: &mut Tensor, pass: Pass) {
        let shape = self.output_shape(input.shape()).expect("shapes are checked when a network is built");
        output.resize(input.batch(), shape);
        let own = self.of_group(input.shape());
        for (group, conv) in self.groups.iter_mut().enumerate() {
            gather(input, group, own, &mut self.input[group]);
            conv.forward(&self.input[group], &mut self.output, of(pass, group));
            scatter(&self.output, group, output);
        }
        if let Some(bias) = &self.bias {
            kernel::add_row(output.values_mut(), &bias.values);
        }
    }

    fn backward(
        &mut self,
        input: &Tensor,
        output: &Tensor,
        errors: &Tensor,
        mut input_errors: Option<&mut Tensor>,
        pass: Pass,
    ) -> Result<(), TrainStepError> {
        if let Some(input_errors) = input_errors.as_deref_mut() {
            input_errors.resize(input.batch(), input.shape());
        }
        if let Some(bias) = &mut self.bias
            && bias.trains()
        {
            kernel::column_sums(errors.values(), &mut bias.gradient);
            bias.step(pass.k);
        }
        let own = self.of_group(output.shape());
        for (group, conv) in self.groups.iter_mut().enumerate() {
            gather(errors, group, own, &mut self.errors);
            let wanted = input_errors.is_some().then_some(&mut self.input_errors);
            // A convolution does not look at its output.
            conv.backward(&self.input[group], &self.output, &self.errors, wanted, of(pass, group))?;
            if let Some(input_errors) = input_errors.as_deref_mut() {
                scatter(&self.input_errors, group, input_errors);
            }
        }
        Ok(())
    }

    fn held(&self, input: SampleShape, errors_wanted: bool) -> usize {
        let own = self.of_group(input);
        let unfolded: usize = self.groups.iter().map(|conv| conv.held(own, errors_wanted)).sum();
        let output = self.groups[0].output_shape(own).map_or(0, SampleShape::len);
        unfolded + input.len() + 2 * output + if errors_wanted { own.len() } else { 0 }
    }

    fn trains(&self) -> bool {
        self.groups.iter().any(Layer::trains) || self.bias.as_ref().is_some_and(Parameter::trains)
    }

    fn visit_weights(&mut self, path: &str, visit: &mut dyn FnMut(&str, &mut dyn Weights)) {
        self.groups.iter_mut().for_each(|conv| conv.visit_weights(path, visit));
    }
}

impl Named for GroupedConv2d {
    /// PyTorch's tensor holds the kernels of all groups; the state behind them is that of `weight.group0` and so on.
    fn collect(&self, path: &str, out: &mut Collection) {
        let name = join(path, "weight");
        let mut shape = Vec::new();
        let kernels: Vec<f32> = (self.groups.iter())
            .flat_map(|conv| {
                let (own, kernel) = conv.torch_kernel();
                shape = own;
                kernel
            })
            .collect();
        shape[0] = self.outputs;
        out.tensor(&name, Role::Parameter, &shape, kernels);
        for (group, conv) in self.groups.iter().enumerate() {
            out.nest(&format!("{name}.group{group}"), Role::Optimizer, conv.weights().tensors());
        }
        let ranges = self.groups.iter().filter_map(|conv| conv.weights().range());
        if let Some(range) = ranges.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]) {
            out.note_range(&name, range);
        }
        for conv in &self.groups {
            out.note_unreachable(&name, conv.weights().unreachable());
        }
        if let Some(bias) = &self.bias {
            bias.collect(&join(path, "bias"), Role::Parameter, out);
        }
    }

    fn restore(&mut self, path: &str, from: &Tensors) -> Result<(), StateError> {
        let name = join(path, "weight");
        let kernels = from.get(&name).and_then(|tensor| tensor.data.as_f32()).map(<[f32]>::to_vec);
        let count = self.groups.len();
        for (group, conv) in self.groups.iter_mut().enumerate() {
            let own = kernels.as_ref().map(|kernels| {
                let length = kernels.len() / count;
                &kernels[group * length..][..length]
            });
            conv.restore_kernel(&name, own, &from.within(&format!("{name}.group{group}")))?;
        }
        if let Some(bias) = &mut self.bias {
            bias.restore(&join(path, "bias"), from);
        }
        Ok(())
    }
}
