//! The way of `residuum.torch` to a matrix on tiles: one call for each direction, which takes and gives tensors.

use pyo3::prelude::*;
use residuum_lab::train::Scaled;
use residuum_nn::Mode;

use crate::dlpack::{numbers, tensor, unbent};
use crate::error::{PyFailure, refuse};
use crate::pair::{Kept, keep, matrix, untouched};
use crate::threads::compute_sized;

/// What a read leaves for its way back.
#[pyclass(name = "_Pass", frozen, module = "residuum")]
pub struct PyPass {
    handle: Py<PyAny>,
    /// Its number since the last step.
    n: u64,
    /// Outputs before they were scaled, where they are.
    unscaled: Option<Vec<f32>>,
}

/// The numbers of a parameter that may be left out. None if it is not as tiles take it.
macro_rules! parameter {
    ($name:literal, $tensor:expr, $count:expr) => {
        match $tensor {
            None => None,
            Some(tensor) => match numbers(tensor)? {
                None => return Ok(None),
                Some(numbers) if numbers.values.len() != $count => {
                    let (name, count, shape) = ($name, $count, numbers.shape);
                    return Err(refuse(format!("{name} must have {count} values, got the shape {shape:?}")));
                }
                Some(numbers) => Some(numbers.values),
            },
        }
    };
}

/// A shape with another last dimension.
fn resized(shape: &[i64], last: usize) -> Result<Vec<usize>, PyFailure> {
    let rest = &shape[..shape.len().saturating_sub(1)];
    Ok(rest.iter().map(|size| usize::try_from(*size)).chain([Ok(last)]).collect::<Result<_, _>>()?)
}

type Read<'py> = (Bound<'py, PyAny>, PyPass);

/// `W x + bias` for the x in the last dimension of `inputs`, with the W behind a handle, and what its way back needs. None if a tensor
/// is not float32 on the CPU, its numbers one after the other: `residuum/torch/_memory.py` tells what is wrong with it.
#[pyfunction]
pub fn forward<'py>(
    handle: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    bias: Option<&Bound<'py, PyAny>>,
    scales: Option<&Bound<'py, PyAny>>,
    training: bool,
) -> Result<Option<Read<'py>>, PyFailure> {
    let (py, tiles) = (handle.py(), matrix(handle)?);
    let tiles = tiles.get();
    let (rows, cols) = tiles.size();
    let Some(inputs) = unbent(inputs)? else { return Ok(None) };
    let (values, given) = (inputs.values, inputs.shape);
    if given.last().is_none_or(|width| usize::try_from(*width) != Ok(cols)) {
        return Err(refuse(format!(
            "inputs must have {cols} values in their last dimension, got the shape {given:?}"
        )));
    }
    let bias = parameter!("bias", bias, rows);
    let scales = parameter!("output_scale", scales, tiles.scale_count());
    untouched(handle)?;
    let mode = if training { Mode::Train } else { Mode::Evaluate };
    let mut outputs = vec![0.0; values.len() / cols * rows];
    let mut unscaled = Vec::new();
    let n = compute_sized(py, values.len() * rows, || {
        let scaled = scales.map(|scales| Scaled { scales, unscaled: &mut unscaled });
        Ok::<_, PyFailure>(tiles.lock()?.read(values, bias, &mut outputs, scaled, mode)?)
    })??;
    let shape = resized(given, rows)?;
    let pass = PyPass { handle: handle.clone().unbind(), n, unscaled: scales.map(|_| unscaled) };
    Ok(Some((tensor(py, &shape, outputs)?, pass)))
}

type Gradient<'py> = Option<Bound<'py, PyAny>>;
type Gradients<'py> = (Gradient<'py>, Gradient<'py>, Gradient<'py>, Gradient<'py>, Gradient<'py>);

/// The way back of a read: the gradients of inputs, handle, bias, output scales and mode, those that are wanted. A handle keeps the
/// pair of inputs and errors. None as above.
#[pyfunction]
pub fn backward<'py>(
    passed: &Bound<'py, PyPass>,
    inputs: &Bound<'py, PyAny>,
    errors: &Bound<'py, PyAny>,
    wanted: (bool, bool, bool, bool, bool),
) -> Result<Option<Gradients<'py>>, PyFailure> {
    let (py, pass) = (passed.py(), passed.get());
    let handle = pass.handle.bind(py);
    let tiles = matrix(handle)?;
    let tiles = tiles.get();
    let (rows, cols) = tiles.size();
    let (want_inputs, want_handle, want_bias, want_scales, _) = wanted;
    let Some(given) = unbent(errors)? else { return Ok(None) };
    let values = given.values;
    let unscaled = pass.unscaled.as_deref().filter(|_| want_scales);
    let mut to_inputs = want_inputs.then(|| vec![0.0; values.len() / rows * cols]);
    let mut bias = want_bias.then(|| vec![0.0; rows]);
    let mut scales = unscaled.map(|_| vec![0.0; tiles.scale_count()]);
    let k = compute_sized(py, values.len() * cols, || {
        let mut tiles = tiles.lock()?;
        tiles.read_back(pass.n, values, to_inputs.as_deref_mut(), bias.as_deref_mut())?;
        if let (Some(unscaled), Some(scales)) = (unscaled, scales.as_deref_mut()) {
            tiles.scale_gradients(values, unscaled, scales)?;
        }
        Ok::<_, PyFailure>(tiles.k())
    })??;
    let shape = resized(given.shape, cols)?;
    let vector = |values: Vec<f32>| tensor(py, &[values.len()], values);
    let pair = || keep(handle, (k, pass.n), Kept::of(inputs)?, Kept::of(errors)?);
    Ok(Some((
        to_inputs.map(|inputs| tensor(py, &shape, inputs)).transpose()?,
        want_handle.then(pair).transpose()?,
        bias.map(vector).transpose()?,
        scales.map(vector).transpose()?,
        None,
    )))
}
