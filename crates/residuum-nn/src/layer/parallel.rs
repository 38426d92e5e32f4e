//! Branches side by side: all see the same input, and their outputs are joined.

use super::{Layer, Pass, Sequential, ShapeError, join};
use crate::state::{Collection, Named, StateError, Tensors};
use crate::{SampleShape, Tensor, TrainStepError, Weights, kernel};

/// What becomes of the outputs of branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Their channels one after the other.
    Concat,
    /// Their sum.
    Add,
}

/// Branches that see the same input. A branch without layers is the identity.
#[derive(Debug)]
pub struct Parallel {
    branches: Vec<(String, Sequential)>,
    by: Join,
    outputs: Vec<Tensor>,
    errors: Tensor,
    input_errors: Tensor,
}

impl Parallel {
    /// Named branches; their names are part of the names of their tensors.
    ///
    /// # Panics
    /// If there is none.
    pub fn new(branches: Vec<(String, Sequential)>, by: Join) -> Self {
        assert!(!branches.is_empty(), "there must be a branch");
        let outputs = vec![Tensor::default(); branches.len()];
        Self { branches, by, outputs, errors: Tensor::default(), input_errors: Tensor::default() }
    }

    /// The shape of joined outputs; `input` is for errors.
    pub(crate) fn joined(
        shapes: &[SampleShape],
        by: Join,
        input: SampleShape,
    ) -> Result<SampleShape, ShapeError> {
        let refuse = |expected| ShapeError { layer: "a group of branches", expected, given: input };
        let Some(&first) = shapes.first() else { return Err(refuse("a branch".into())) };
        let fits = |shape: &SampleShape| match by {
            Join::Add => *shape == first,
            Join::Concat => (shape.height, shape.width) == (first.height, first.width),
        };
        if let Some(odd) = shapes.iter().find(|shape| !fits(shape)) {
            let what = if by == Join::Add { "one shape" } else { "one height and width" };
            return Err(refuse(format!("an input whose branches end in {what}, not in {first} and {odd}")));
        }
        Ok(match by {
            Join::Add => first,
            Join::Concat => SampleShape { channels: shapes.iter().map(|shape| shape.channels).sum(), ..first },
        })
    }

    fn shapes(&self, input: SampleShape) -> Result<Vec<SampleShape>, ShapeError> {
        self.branches.iter().map(|(_, branch)| branch.output_shape(input)).collect()
    }
}

/// The channels from `first` on.
fn take(from: &Tensor, first: usize, shape: SampleShape, to: &mut Tensor) {
    to.resize(from.batch(), shape);
    let (all, own) = (from.shape().channels, shape.channels);
    let pixels = to.values_mut().chunks_exact_mut(own).zip(from.values().chunks_exact(all));
    pixels.for_each(|(to, from)| to.copy_from_slice(&from[first..][..own]));
}

/// The transpose of [`take`].
fn put(from: &Tensor, first: usize, to: &mut Tensor) {
    let (all, own) = (to.shape().channels, from.shape().channels);
    let pixels = to.values_mut().chunks_exact_mut(all).zip(from.values().chunks_exact(own));
    pixels.for_each(|(to, from)| to[first..][..own].copy_from_slice(from));
}

impl Layer for Parallel {
    fn output_shape(&self, input: SampleShape) -> Result<SampleShape, ShapeError> {
        Self::joined(&self.shapes(input)?, self.by, input)
    }

    fn forward(&mut self, input: &Tensor, output: &mut Tensor, pass: Pass) {
        let shape = self.output_shape(input.shape()).expect("shapes are checked when a network is built");
        output.resize(input.batch(), shape);
        let mut first = 0;
        for (i, ((name, branch), own)) in self.branches.iter_mut().zip(&mut self.outputs).enumerate() {
            branch.forward(input, own, pass.named(name));
            match self.by {
                Join::Concat => put(own, first, output),
                Join::Add if i == 0 => output.copy_from(own),
                Join::Add => kernel::add(output.values_mut(), own.values()),
            }
            first += own.shape().channels;
        }
    }

    fn backward(
        &mut self,
        input: &Tensor,
        _: &Tensor,
        errors: &Tensor,
        mut input_errors: Option<&mut Tensor>,
        pass: Pass,
    ) -> Result<(), TrainStepError> {
        let mut first = 0;
        for (i, ((name, branch), own)) in self.branches.iter_mut().zip(&self.outputs).enumerate() {
            match self.by {
                Join::Concat => take(errors, first, own.shape(), &mut self.errors),
                Join::Add => self.errors.copy_from(errors),
            }
            first += own.shape().channels;
            let wanted = input_errors.is_some().then_some(&mut self.input_errors);
            branch.backward(input, own, &self.errors, wanted, pass.named(name))?;
            match input_errors.as_deref_mut() {
                None => {}
                Some(sum) if i == 0 => sum.copy_from(&self.input_errors),
                Some(sum) => kernel::add(sum.values_mut(), self.input_errors.values()),
            }
        }
        Ok(())
    }

    fn held(&self, input: SampleShape, errors_wanted: bool) -> usize {
        let shapes = self.shapes(input).expect("shapes are checked when a network is built");
        let inside: usize = self.branches.iter().map(|(_, branch)| branch.held(input, errors_wanted)).sum();
        let outputs: usize = shapes.iter().map(|shape| shape.len()).sum();
        let largest = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
        inside + outputs + largest + if errors_wanted { input.len() } else { 0 }
    }

    fn trains(&self) -> bool {
        self.branches.iter().any(|(_, branch)| branch.trains())
    }

    fn visit_weights(&mut self, path: &str, visit: &mut dyn FnMut(&str, &mut dyn Weights)) {
        for (name, branch) in &mut self.branches {
            branch.visit_weights(&join(path, name), visit);
        }
    }
}

impl Named for Parallel {
    fn collect(&self, path: &str, out: &mut Collection) {
        for (name, branch) in &self.branches {
            branch.collect(&join(path, name), out);
        }
    }

    fn restore(&mut self, path: &str, from: &Tensors) -> Result<(), StateError> {
        self.branches.iter_mut().try_for_each(|(name, branch)| branch.restore(&join(path, name), from))
    }
}
