//! A residual block: `y = relu(main(x) + shortcut(x))`, or without the ReLU.

use super::{Layer, Pass, Sequential, ShapeError, join};
use crate::state::{Collection, Named, StateError, Tensors};
use crate::{SampleShape, Tensor, TrainStepError, Weights, kernel};

/// A main path and a shortcut around it: the identity, or layers called `downsample` that change the shape.
#[derive(Debug)]
pub struct Residual {
    main: Sequential,
    downsample: Option<Sequential>,
    /// Whether a ReLU follows the sum.
    relu: bool,
    main_output: Tensor,
    shortcut_output: Tensor,
    /// Errors before the ReLU, and those that come back through the shortcut.
    errors: Tensor,
    shortcut_errors: Tensor,
}

impl Residual {
    /// A block with these paths, and a ReLU after their sum.
    pub fn new(main: Sequential, downsample: Option<Sequential>) -> Self {
        let [main_output, shortcut_output, errors, shortcut_errors] = [(); 4].map(|()| Tensor::default());
        Self { main, downsample, relu: true, main_output, shortcut_output, errors, shortcut_errors }
    }

    /// The same block with nothing after the sum.
    pub fn without_relu(self) -> Self {
        Self { relu: false, ..self }
    }
}

impl Layer for Residual {
    fn output_shape(&self, input: SampleShape) -> Result<SampleShape, ShapeError> {
        let main = self.main.output_shape(input)?;
        let shortcut = self.downsample.as_ref().map_or(Ok(input), |path| path.output_shape(input))?;
        if main != shortcut {
            let expected = format!("an input whose shortcut ({shortcut}) meets its main path ({main})");
            return Err(ShapeError { layer: "a residual block", expected, given: input });
        }
        Ok(main)
    }

    fn forward(&mut self, input: &Tensor, output: &mut Tensor, pass: Pass) {
        self.main.forward(input, &mut self.main_output, pass);
        let shortcut = match &mut self.downsample {
            None => input,
            Some(path) => {
                path.forward(input, &mut self.shortcut_output, pass.named("downsample"));
                &self.shortcut_output
            }
        };
        output.resize(self.main_output.batch(), self.main_output.shape());
        let (main, shortcut) = (self.main_output.values(), shortcut.values());
        if self.relu {
            kernel::zip(output.values_mut(), main, shortcut, |m, s| {
                let sum = m + s;
                if sum < 0.0 { 0.0 } else { sum }
            });
        } else {
            kernel::zip(output.values_mut(), main, shortcut, |m, s| m + s);
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
        self.errors.resize(output.batch(), output.shape());
        let (e, y) = (errors.values(), output.values());
        let relu = self.relu;
        kernel::zip(self.errors.values_mut(), e, y, |e, y| if y > 0.0 || !relu { e } else { 0.0 });
        self.main.backward(input, &self.main_output, &self.errors, input_errors.as_deref_mut(), pass)?;
        let through_shortcut = match &mut self.downsample {
            None => &self.errors,
            Some(path) => {
                let wanted = input_errors.is_some().then_some(&mut self.shortcut_errors);
                path.backward(input, &self.shortcut_output, &self.errors, wanted, pass.named("downsample"))?;
                &self.shortcut_errors
            }
        };
        if let Some(input_errors) = input_errors {
            kernel::add(input_errors.values_mut(), through_shortcut.values());
        }
        Ok(())
    }

    fn held(&self, input: SampleShape, errors_wanted: bool) -> usize {
        let output = self.main.output_shape(input).expect("shapes are checked when a network is built").len();
        // The output of the main path, and the errors before the ReLU.
        let main = self.main.held(input, errors_wanted) + 2 * output;
        let shortcut = self.downsample.as_ref().map_or(0, |path| {
            path.held(input, errors_wanted) + output + if errors_wanted { input.len() } else { 0 }
        });
        main + shortcut
    }

    fn trains(&self) -> bool {
        self.main.trains() || self.downsample.as_ref().is_some_and(Layer::trains)
    }

    fn visit_weights(&mut self, path: &str, visit: &mut dyn FnMut(&str, &mut dyn Weights)) {
        self.main.visit_weights(path, visit);
        if let Some(downsample) = &mut self.downsample {
            downsample.visit_weights(&join(path, "downsample"), visit);
        }
    }
}

impl Named for Residual {
    fn collect(&self, path: &str, out: &mut Collection) {
        self.main.collect(path, out);
        if let Some(downsample) = &self.downsample {
            downsample.collect(&join(path, "downsample"), out);
        }
    }

    fn restore(&mut self, path: &str, from: &Tensors) -> Result<(), StateError> {
        self.main.restore(path, from)?;
        match &mut self.downsample {
            Some(downsample) => downsample.restore(&join(path, "downsample"), from),
            None => Ok(()),
        }
    }
}
