//! Functions of one number: ReLU and its leaky kin, sigmoid, tanh, SiLU.

use residuum::math::exp32;

use super::{Layer, Pass, ShapeError, no_tensors};
use crate::{SampleShape, Tensor, TrainStepError, kernel};

/// A function of one number, applied to each. Relative errors are below 4e-7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// max(0, x).
    Relu,
    /// 1/(1 + e^{−x}).
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// x where it is positive, a hundredth of x elsewhere.
    LeakyRelu,
    /// x/(1 + e^{−x}).
    Silu,
}

no_tensors!(Activation);

/// The larger of x and 0; NaN stays.
#[inline(always)]
pub fn relu(x: f32) -> f32 {
    // As PyTorch's: NaN stays NaN.
    if x < 0.0 { 0.0 } else { x }
}

/// Slope of the leaky ReLU below zero, PyTorch's.
const LEAK: f32 = 0.01;

#[inline(always)]
fn leaky_relu(x: f32) -> f32 {
    if x < 0.0 { LEAK * x } else { x }
}

#[inline(always)]
fn silu(x: f32) -> f32 {
    x * sigmoid(x)
}

#[inline(always)]
fn silu_slope(x: f32) -> f32 {
    let s = sigmoid(x);
    s * (1.0 + x * (1.0 - s))
}

/// 1/(1 + e^−x).
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp32(-x))
}

/// The hyperbolic tangent.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    // Near 0 the quotient of exponentials cancels; there a polynomial (interpolated at Chebyshev nodes) takes over.
    let z = x * x;
    let near = x + x * z * horner(z, TANH);
    let far = 1.0 - 2.0 / (exp32(2.0 * x.abs()) + 1.0);
    if x.abs() < 0.625 { near } else { far.copysign(x) }
}

/// (tanh(x)/x − 1)/x² as a polynomial in x², highest coefficient first, on |x| ≤ 0.625.
const TANH: [f32; 5] = [-0.006096714, 0.02099718, -0.05385091, 0.1333277, -0.33333329];

#[inline(always)]
fn horner<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut value = coefficients[0];
    for i in 1..N {
        value = value * x + coefficients[i];
    }
    value
}

impl Layer for Activation {
    fn output_shape(&self, input: SampleShape) -> Result<SampleShape, ShapeError> {
        Ok(input)
    }

    fn forward(&mut self, input: &Tensor, output: &mut Tensor, _: Pass) {
        output.resize(input.batch(), input.shape());
        let (out, x) = (output.values_mut(), input.values());
        match self {
            Self::Relu => kernel::map(out, x, relu),
            Self::Sigmoid => kernel::map(out, x, sigmoid),
            Self::Tanh => kernel::map(out, x, tanh),
            Self::LeakyRelu => kernel::map(out, x, leaky_relu),
            Self::Silu => kernel::map(out, x, silu),
        }
    }

    fn backward(
        &mut self,
        input: &Tensor,
        output: &Tensor,
        errors: &Tensor,
        input_errors: Option<&mut Tensor>,
        _: Pass,
    ) -> Result<(), TrainStepError> {
        let Some(input_errors) = input_errors else { return Ok(()) };
        input_errors.resize(output.batch(), output.shape());
        // All derivatives but that of SiLU are functions of the output.
        let (out, e, y) = (input_errors.values_mut(), errors.values(), output.values());
        match self {
            Self::Relu => kernel::zip(out, e, y, |e, y| if y > 0.0 { e } else { 0.0 }),
            Self::Sigmoid => kernel::zip(out, e, y, |e, y| e * (y * (1.0 - y))),
            Self::Tanh => kernel::zip(out, e, y, |e, y| e * (1.0 - y * y)),
            Self::LeakyRelu => kernel::zip(out, e, y, |e, y| if y > 0.0 { e } else { LEAK * e }),
            Self::Silu => kernel::zip(out, e, input.values(), |e, x| e * silu_slope(x)),
        }
        Ok(())
    }
}
