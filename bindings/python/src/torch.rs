//! The way of `residuum.torch` to a matrix on tiles: one call for each direction, which takes and gives tensors.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use residuum_lab::train::Scaled;
use residuum_nn::Mode;

use crate::dlpack::{Moved, numbers, tensor, unbent};
use crate::error::{Failure, refuse};
use crate::layer::PyTileMatrix;
use crate::threads::compute_sized;

/// What a pair of inputs and errors adds to the gradient of its handle, which counts pairs; see `TileParameter`.
pub const PAIR: f32 = 1.0 / (1u128 << 100) as f32;

/// What a read leaves for its way back.
#[pyclass(name = "_Pass", frozen, module = "residuum")]
pub struct PyPass {
    /// Its number since the last step.
    #[pyo3(get)]
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

/// The handle of a tile is 0 unless someone has stepped it.
pub fn untouched(handle: &Bound<'_, PyAny>) -> Result<(), Failure> {
    if numbers(handle)?.is_some_and(|numbers| numbers.values == [0.0]) {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(
        "a torch optimiser has stepped the handle of a tile, which trains nothing: use residuum.torch.Optimizer, which steps tiles \
         and everything digital",
    )
    .into())
}

/// A shape with another last dimension.
fn resized(shape: &[i64], last: usize) -> Result<Vec<usize>, Failure> {
    let rest = &shape[..shape.len().saturating_sub(1)];
    Ok(rest.iter().map(|size| usize::try_from(*size)).chain([Ok(last)]).collect::<Result<_, _>>()?)
}

type Read<'py> = (Bound<'py, PyAny>, PyPass);

/// `W x + bias` for the x in the last dimension of `inputs`, and what its way back needs. None if a tensor is not float32 on the CPU,
/// its numbers one after the other: `residuum/torch/_memory.py` tells what is wrong with it.
#[pyfunction]
pub fn forward<'py>(
    to: &Bound<'py, PyTileMatrix>,
    handle: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    bias: Option<&Bound<'py, PyAny>>,
    scales: Option<&Bound<'py, PyAny>>,
    training: bool,
) -> Result<Option<Read<'py>>, Failure> {
    let (py, tiles) = (to.py(), to.get());
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
        Ok::<_, Failure>(tiles.lock()?.read(values, bias, &mut outputs, scaled, mode)?)
    })??;
    let shape = resized(given, rows)?;
    let pass = PyPass { n, unscaled: scales.map(|_| unscaled) };
    Ok(Some((tensor(py, &shape, outputs)?, pass)))
}

type Gradient<'py> = Option<Bound<'py, PyAny>>;
type Gradients<'py> = (Gradient<'py>, Gradient<'py>, Gradient<'py>, Gradient<'py>, Gradient<'py>);

/// The way back of a read: the gradients of inputs, handle, bias, output scales and mode, those that are wanted. None as above.
#[pyfunction]
pub fn backward<'py>(
    to: &Bound<'py, PyTileMatrix>,
    passed: &Bound<'py, PyPass>,
    errors: &Bound<'py, PyAny>,
    wanted: (bool, bool, bool, bool, bool),
) -> Result<Option<Gradients<'py>>, Failure> {
    let (py, tiles, pass) = (to.py(), to.get(), passed.get());
    let (rows, cols) = tiles.size();
    let (want_inputs, want_handle, want_bias, want_scales, _) = wanted;
    let Some(errors) = unbent(errors)? else { return Ok(None) };
    let values = errors.values;
    let unscaled = pass.unscaled.as_deref().filter(|_| want_scales);
    let mut inputs = want_inputs.then(|| vec![0.0; values.len() / rows * cols]);
    let mut bias = want_bias.then(|| vec![0.0; rows]);
    let mut scales = unscaled.map(|_| vec![0.0; tiles.scale_count()]);
    compute_sized(py, values.len() * cols, || {
        let mut tiles = tiles.lock()?;
        tiles.read_back(pass.n, values, inputs.as_deref_mut(), bias.as_deref_mut())?;
        if let (Some(unscaled), Some(scales)) = (unscaled, scales.as_deref_mut()) {
            tiles.scale_gradients(values, unscaled, scales)?;
        }
        Ok::<_, Failure>(())
    })??;
    let shape = resized(errors.shape, cols)?;
    let vector = |values: Vec<f32>| tensor(py, &[values.len()], values);
    Ok(Some((
        inputs.map(|inputs| tensor(py, &shape, inputs)).transpose()?,
        want_handle.then(|| tensor(py, &[], vec![PAIR])).transpose()?,
        bias.map(vector).transpose()?,
        scales.map(vector).transpose()?,
        None,
    )))
}

/// What a step writes to one matrix: the matrix and its handle, errors and inputs, the learning rate, and the scale of the transfer rate.
type Write<'py> = (Bound<'py, PyTileMatrix>, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, f64, f64);

/// What plain gradient descent moves: a parameter, its gradient, and the learning rate.
type Descent<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, f64);

/// One step of every matrix, and of digital parameters. Nothing has been written if a tensor or a handle is refused. False, and the
/// digital parameters are as they were, if one of them is not as tiles take it: they are torch's to step.
#[pyfunction]
pub fn write(py: Python<'_>, all: Vec<Write<'_>>, digital: Vec<Descent<'_>>) -> Result<bool, Failure> {
    let mut ready = Vec::with_capacity(all.len());
    for (to, handle, errors, inputs, learning_rate, scale) in &all {
        untouched(handle)?;
        let (Some(errors), Some(inputs)) = (numbers(errors)?, numbers(inputs)?) else {
            return Err(refuse("errors and inputs must be as the layer has kept them"));
        };
        ready.push((to.get(), errors.values, inputs.values, *learning_rate, *scale));
    }
    for (tiles, errors, inputs, learning_rate, scale) in ready {
        compute_sized(py, errors.len() * tiles.size().1, || {
            Ok::<_, Failure>(tiles.lock()?.step(errors, inputs, learning_rate, scale)?)
        })??;
    }
    let mut moved = Vec::with_capacity(digital.len());
    for (parameter, gradient, learning_rate) in &digital {
        let Some(both) = Moved::of(parameter, gradient)? else { return Ok(false) };
        moved.push((both, -*learning_rate as f32));
    }
    // SAFETY: `digital` holds the tensors, and nothing has run in between.
    moved.iter().for_each(|(both, scale)| unsafe { both.add_scaled(*scale) });
    Ok(true)
}
