//! A sequence of named layers.

use super::{Layer, Pass, ShapeError, join};
use crate::layer::Mode;
use crate::state::{Collection, Named, StateError, Tensors};
use crate::{SampleShape, Tensor, TrainStepError, Weights};

/// A sequence of layers. The name of a layer is part of the names of its tensors and of the key it draws from.
#[derive(Debug, Default)]
pub struct Sequential {
    layers: Vec<(String, Box<dyn Layer>)>,
    /// Outputs of all layers but the last.
    activations: Vec<Tensor>,
    /// Errors passed from a layer to the one below.
    errors: [Tensor; 2],
}

impl Sequential {
    /// No layers: the identity.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more layer at the end.
    pub fn with(mut self, name: impl Into<String>, layer: impl Layer + 'static) -> Self {
        self.push(name, Box::new(layer));
        self
    }

    /// Adds a layer at the end.
    pub fn push(&mut self, name: impl Into<String>, layer: Box<dyn Layer>) {
        self.layers.push((name.into(), layer));
        self.activations.resize_with(self.layers.len().saturating_sub(1), Tensor::default);
    }

    /// Splits off the layer `name` and all above it; `None` if there is no such layer.
    pub fn split_off(&mut self, name: &str) -> Option<Self> {
        let at = self.layers.iter().position(|(layer, _)| layer == name)?;
        let mut above = Self::new();
        for (name, layer) in self.layers.drain(at..) {
            above.push(name, layer);
        }
        self.activations.truncate(at.saturating_sub(1));
        Some(above)
    }

    /// Number of layers.
    pub fn len(&self) -> usize {
        self.layers.len()
    }

    /// Whether there are no layers.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// The lowest layer that learns anything; errors need not go below it.
    fn lowest_trained(&self) -> usize {
        self.layers.iter().position(|(_, layer)| layer.trains()).unwrap_or(self.layers.len())
    }
}

impl Layer for Sequential {
    fn output_shape(&self, input: SampleShape) -> Result<SampleShape, ShapeError> {
        self.layers.iter().try_fold(input, |shape, (_, layer)| layer.output_shape(shape))
    }

    fn forward(&mut self, input: &Tensor, output: &mut Tensor, pass: Pass) {
        let Some(last) = self.layers.len().checked_sub(1) else {
            output.copy_from(input);
            return;
        };
        // Evaluation needs no tensor twice: two alternate, so that memory does not grow with depth.
        let slot = |i: usize| if pass.mode == Mode::Train { i } else { i % 2 };
        for (i, (name, layer)) in self.layers.iter_mut().enumerate() {
            let pass = pass.named(name);
            if i == 0 {
                layer.forward(input, if i == last { &mut *output } else { &mut self.activations[0] }, pass);
            } else if i == last {
                layer.forward(&self.activations[slot(i - 1)], output, pass);
            } else {
                let neighbours = self.activations.get_disjoint_mut([slot(i - 1), slot(i)]);
                let [before, after] = neighbours.expect("neighbouring slots differ and exist");
                layer.forward(before, after, pass);
            }
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
        let wanted = input_errors.is_some();
        let lowest = if wanted { 0 } else { self.lowest_trained() };
        if let (true, Some(input_errors)) = (self.layers.is_empty(), &mut input_errors) {
            input_errors.copy_from(errors);
        }
        let [above, below] = &mut self.errors;
        for (i, (name, layer)) in self.layers.iter_mut().enumerate().skip(lowest).rev() {
            let input = if i == 0 { input } else { &self.activations[i - 1] };
            let output = self.activations.get(i).unwrap_or(output);
            let errors = if i == self.activations.len() { errors } else { &*above };
            let target = match i {
                0 => input_errors.as_deref_mut(),
                _ => (i > lowest).then_some(&mut *below),
            };
            layer.backward(input, output, errors, target, pass.named(name))?;
            std::mem::swap(above, below);
        }
        Ok(())
    }

    fn held(&self, input: SampleShape, errors_wanted: bool) -> usize {
        let lowest = if errors_wanted { 0 } else { self.lowest_trained() };
        let (mut shape, mut held) = (input, 0);
        // Errors that go from a layer to the one below, from the lowest to the highest.
        let mut errors = Vec::new();
        for (i, (_, layer)) in self.layers.iter().enumerate() {
            let wanted = i > lowest || (i == 0 && errors_wanted);
            held += layer.held(shape, wanted);
            if i > 0 {
                held += shape.len();
                errors.extend((i > lowest).then_some(shape.len()));
            }
            shape = layer.output_shape(shape).expect("shapes are checked when a network is built");
        }
        // The two tensors of errors take turns, and change places from step to step if the number of layers is odd.
        let largest = |first: usize, step: usize| errors.iter().rev().skip(first).step_by(step).max().copied();
        let turns = if (self.layers.len() - lowest).is_multiple_of(2) {
            [largest(0, 2), largest(1, 2)]
        } else {
            [largest(0, 1); 2]
        };
        held + turns.into_iter().flatten().sum::<usize>()
    }

    fn trains(&self) -> bool {
        self.layers.iter().any(|(_, layer)| layer.trains())
    }

    fn visit_weights(&mut self, path: &str, visit: &mut dyn FnMut(&str, &mut dyn Weights)) {
        for (name, layer) in &mut self.layers {
            layer.visit_weights(&join(path, name), visit);
        }
    }
}

impl Named for Sequential {
    fn collect(&self, path: &str, out: &mut Collection) {
        for (name, layer) in &self.layers {
            layer.collect(&join(path, name), out);
        }
    }

    fn restore(&mut self, path: &str, from: &Tensors) -> Result<(), StateError> {
        self.layers.iter_mut().try_for_each(|(name, layer)| layer.restore(&join(path, name), from))
    }
}
