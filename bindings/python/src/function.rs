//! The functions between the layers of `residuum run`, in the same bits.

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2};
use pyo3::prelude::*;
use residuum::Key;
use residuum_nn::layer::{Activation, LogSoftmax};
use residuum_nn::{Layer, Loss, Pass, SampleShape, Tensor};

use crate::error::{PyFailure, refuse};

/// The layer of a function by its name.
pub fn layer(name: &str) -> Result<Box<dyn Layer>, PyFailure> {
    Ok(match name {
        "relu" => Box::new(Activation::Relu),
        "sigmoid" => Box::new(Activation::Sigmoid),
        "tanh" => Box::new(Activation::Tanh),
        "log_softmax" => Box::new(LogSoftmax),
        _ => return Err(refuse(format!("function must be relu, sigmoid, tanh or log_softmax, got {name:?}"))),
    })
}

fn tensor(name: &str, values: &PyReadonlyArray2<'_, f32>) -> Result<Tensor, PyFailure> {
    let (_, width) = values.as_array().dim();
    let values = values.as_slice().map_err(|_| refuse(format!("{name} must be contiguous")))?;
    if values.is_empty() {
        return Err(refuse(format!("{name} must not be empty")));
    }
    Ok(Tensor::from_values(SampleShape::flat(width), values.to_vec()))
}

fn write(values: &Tensor, to: &mut PyReadwriteArray2<'_, f32>) -> Result<(), PyFailure> {
    let to = to.as_slice_mut().map_err(|_| refuse("outputs must be contiguous"))?;
    if to.len() != values.values().len() {
        return Err(refuse(format!("outputs must hold {} numbers, got {}", values.values().len(), to.len())));
    }
    to.copy_from_slice(values.values());
    Ok(())
}

/// Writes the function `name` of `inputs` to `outputs`.
#[pyfunction]
pub fn apply(
    name: &str,
    inputs: PyReadonlyArray2<'_, f32>,
    mut outputs: PyReadwriteArray2<'_, f32>,
) -> Result<(), PyFailure> {
    let mut result = Tensor::default();
    layer(name)?.forward(&tensor("inputs", &inputs)?, &mut result, Pass::evaluate(Key::new(0)));
    write(&result, &mut outputs)
}

/// Writes the errors of the inputs of the function `name`, given those of its outputs.
#[pyfunction]
pub fn apply_back(
    name: &str,
    outputs: PyReadonlyArray2<'_, f32>,
    errors: PyReadonlyArray2<'_, f32>,
    mut input_errors: PyReadwriteArray2<'_, f32>,
) -> Result<(), PyFailure> {
    let (outputs, errors) = (tensor("outputs", &outputs)?, tensor("errors", &errors)?);
    if outputs.values().len() != errors.values().len() {
        return Err(refuse("errors must have the shape of outputs"));
    }
    let mut result = Tensor::default();
    // Every derivative is a function of the output; the input is not looked at.
    layer(name)?.backward(&outputs, &outputs, &errors, Some(&mut result), Pass::evaluate(Key::new(0)))?;
    write(&result, &mut input_errors)
}

/// A loss by its name, which the stages of a network in Python share with a spec.
pub fn loss_named(name: &str, smoothing: f32) -> Result<Loss, PyFailure> {
    Ok(match name {
        "nll" => Loss::NegativeLogLikelihood,
        "cross_entropy" => Loss::CrossEntropy { smoothing }.validate()?,
        "mean_square" => Loss::MeanSquare,
        _ => return Err(refuse(format!("loss must be nll, cross_entropy or mean_square, got {name:?}"))),
    })
}

/// The labels of a batch of scores, if there is one for each sample and each names a class.
pub fn classes(scores: &Tensor, labels: impl ExactSizeIterator<Item = i64>) -> Result<Vec<u32>, PyFailure> {
    let (samples, classes) = (scores.batch(), scores.shape().len());
    let labels: Vec<u32> = labels.map(|label| u32::try_from(label).unwrap_or(u32::MAX)).collect();
    if labels.len() != samples || labels.iter().any(|label| *label as usize >= classes) {
        return Err(refuse(format!("labels must be {samples} numbers from 0 to {}", classes - 1)));
    }
    Ok(labels)
}

/// The mean loss of a batch, and its gradient by the scores.
#[pyfunction]
#[pyo3(signature = (name, scores, labels, errors, smoothing = 0.0))]
pub fn loss(
    name: &str,
    scores: PyReadonlyArray2<'_, f32>,
    labels: PyReadonlyArray1<'_, i64>,
    mut errors: PyReadwriteArray2<'_, f32>,
    smoothing: f32,
) -> Result<f64, PyFailure> {
    let loss = loss_named(name, smoothing)?;
    if loss.is_regression() {
        return Err(refuse("loss must be of classes: nll or cross_entropy"));
    }
    let scores = tensor("scores", &scores)?;
    let labels = classes(&scores, labels.as_array().iter().copied())?;
    let mut gradient = Tensor::default();
    let outcome = loss.evaluate(&scores, &labels, Some(&mut gradient));
    write(&gradient, &mut errors)?;
    Ok(outcome.loss)
}
