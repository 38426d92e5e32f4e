//! `y = W x + b`.

use super::{Layer, Pass, ShapeError, join};
use crate::state::{Collection, Named, Role, StateError, Tensors};
use crate::weights::Parameter;
use crate::{SampleShape, Tensor, TrainStepError, Weights, kernel};

/// A fully connected layer: weights in any memory, and a digital bias.
#[derive(Debug)]
pub struct LinearLayer {
    weights: Box<dyn Weights>,
    bias: Option<Parameter>,
}

impl LinearLayer {
    /// A layer with these weights. The bias, if any, has one entry per row.
    ///
    /// # Panics
    /// If the bias has the wrong length.
    pub fn new(weights: Box<dyn Weights>, bias: Option<Parameter>) -> Self {
        check_bias(weights.as_ref(), bias.as_ref());
        Self { weights, bias }
    }

    /// The weights.
    pub fn weights(&self) -> &dyn Weights {
        self.weights.as_ref()
    }

    /// The bias.
    pub fn bias(&self) -> Option<&Parameter> {
        self.bias.as_ref()
    }
}

pub(super) fn check_bias(weights: &dyn Weights, bias: Option<&Parameter>) {
    if let Some(bias) = bias {
        assert_eq!(bias.values.len(), weights.rows(), "a bias has one entry for each row of the weights");
    }
}

impl Layer for LinearLayer {
    fn output_shape(&self, input: SampleShape) -> Result<SampleShape, ShapeError> {
        if input.len() != self.weights.cols() {
            let expected = format!("{} values", self.weights.cols());
            return Err(ShapeError { layer: "a linear layer", expected, given: input });
        }
        Ok(SampleShape::flat(self.weights.rows()))
    }

    fn forward(&mut self, input: &Tensor, output: &mut Tensor, pass: Pass) {
        output.resize(input.batch(), SampleShape::flat(self.weights.rows()));
        self.weights.read(input.values(), output.values_mut(), pass.key.named("read"));
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
        if let Some(input_errors) = input_errors {
            input_errors.resize(input.batch(), input.shape());
            let key = pass.key.named("read_transposed");
            self.weights.read_transposed(errors.values(), input_errors.values_mut(), key);
        }
        if let Some(bias) = &mut self.bias
            && bias.trains()
        {
            kernel::column_sums(errors.values(), &mut bias.gradient);
            bias.step(pass.k);
        }
        self.weights.step(pass.k, errors.values(), input.values(), pass.key.named("step"))
    }

    fn trains(&self) -> bool {
        self.weights.trains() || self.bias.as_ref().is_some_and(Parameter::trains)
    }

    fn visit_weights(&mut self, path: &str, visit: &mut dyn FnMut(&str, &mut dyn Weights)) {
        visit(path, self.weights.as_mut());
    }
}

impl Named for LinearLayer {
    fn collect(&self, path: &str, out: &mut Collection) {
        let shape = [self.weights.rows(), self.weights.cols()];
        let mut values = vec![0.0; shape[0] * shape[1]];
        self.weights.effective_weights(&mut values);
        collect_weights(&join(path, "weight"), &*self.weights, &shape, values, out);
        if let Some(bias) = &self.bias {
            bias.collect(&join(path, "bias"), Role::Parameter, out);
        }
    }

    fn restore(&mut self, path: &str, from: &Tensors) -> Result<(), StateError> {
        restore_weights(&join(path, "weight"), &mut *self.weights, from, <[f32]>::to_vec)?;
        if let Some(bias) = &mut self.bias {
            bias.restore(&join(path, "bias"), from);
        }
        Ok(())
    }
}

/// A matrix as its tensor `name`, the state behind it, and the range of its cells.
pub(super) fn collect_weights(
    name: &str,
    weights: &dyn Weights,
    shape: &[usize],
    values: Vec<f32>,
    out: &mut Collection,
) {
    out.tensor(name, Role::Parameter, shape, values);
    out.nest(name, Role::Optimizer, weights.tensors());
    if let Some(range) = weights.range() {
        out.note_range(name, range);
    }
    out.note_unreachable(name, weights.unreachable());
}

/// Programs a matrix from its tensor, laid out by `ours`, and restores the state behind it where there is any.
pub(super) fn restore_weights(
    name: &str,
    weights: &mut dyn Weights,
    from: &Tensors,
    ours: impl Fn(&[f32]) -> Vec<f32>,
) -> Result<(), StateError> {
    let values = from.get(name).and_then(|tensor| tensor.data.as_f32()).map(ours);
    restore_matrix(name, weights, values.as_deref(), &from.within(name))
}

/// The same from its values and the state behind it.
pub(super) fn restore_matrix(
    name: &str,
    weights: &mut dyn Weights,
    values: Option<&[f32]>,
    behind: &Tensors,
) -> Result<(), StateError> {
    if let Some(values) = values {
        let programmed = weights.set_weights(values);
        programmed.map_err(|source| StateError::Refused { name: name.into(), source })?;
    }
    if behind.is_empty() { Ok(()) } else { weights.load(behind) }
}
