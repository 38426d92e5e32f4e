//! The way of `residuum.torch` to a matrix on tiles: tensors come by the address of their memory.
//!
//! A tensor becomes a NumPy array in 1 to 3 µs, and a small layer is read in 2. An address is had in a tenth of one. What cannot be seen
//! here is checked in `residuum/torch/_memory.py`, the only caller: float32 on the CPU, contiguous, and as many numbers as are said.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use residuum_lab::train::Scaled;
use residuum_nn::Mode;

use crate::error::{Failure, refuse};
use crate::layer::PyTileMatrix;
use crate::threads::compute_sized;

/// The numbers at an address; 0 stands for a tensor that is not there.
fn numbers<'a>(name: &str, address: usize, count: usize) -> Result<&'a [f32], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    // A tensor that torch only pretends to have has no memory.
    if address == 0 || !address.is_multiple_of(align_of::<f32>()) {
        return Err(refuse(format!("{name} must have memory of its own, got a tensor without")));
    }
    // SAFETY: the caller holds the tensor for the time of the call, and has checked that so many numbers are there.
    Ok(unsafe { std::slice::from_raw_parts(address as *const f32, count) })
}

/// The same for a tensor that may be left out.
fn optional<'a>(name: &str, address: usize, count: usize) -> Result<Option<&'a [f32]>, Failure> {
    if address == 0 { Ok(None) } else { numbers(name, address, count).map(Some) }
}

/// New memory for results, which are written before anyone sees them.
fn matrix(py: Python<'_>, rows: usize, cols: usize) -> Bound<'_, PyArray2<f32>> {
    // SAFETY: every number is written by the read that it is made for; one that fails drops it unseen.
    unsafe { PyArray2::new(py, [rows, cols], false) }
}

fn vector(py: Python<'_>, len: usize) -> Bound<'_, PyArray1<f32>> {
    // SAFETY: as above.
    unsafe { PyArray1::new(py, [len], false) }
}

type Read<'py> = (Bound<'py, PyArray2<f32>>, u64, Option<Bound<'py, PyArray1<f32>>>);

/// `W x + bias` for `samples` inputs; the number of the read, for the way back; and the outputs before scales, where they are scaled.
#[pyfunction]
pub fn forward<'py>(
    to: &Bound<'py, PyTileMatrix>,
    inputs: usize,
    samples: usize,
    bias: usize,
    scales: usize,
    training: bool,
) -> Result<Read<'py>, Failure> {
    let (py, tiles) = (to.py(), to.get());
    let (rows, cols) = tiles.size();
    let inputs = numbers("inputs", inputs, samples * cols)?;
    let bias = optional("bias", bias, rows)?;
    let scales = optional("output_scale", scales, tiles.scale_count())?;
    let mode = if training { Mode::Train } else { Mode::Evaluate };
    let outputs = matrix(py, samples, rows);
    let mut unscaled = Vec::new();
    let mut writer = outputs.try_readwrite()?;
    let slice = writer.as_slice_mut()?;
    let n = compute_sized(py, inputs.len() * rows, || {
        let scaled = scales.map(|scales| Scaled { scales, unscaled: &mut unscaled });
        Ok::<_, Failure>(tiles.lock()?.read(inputs, bias, slice, scaled, mode)?)
    })??;
    drop(writer);
    Ok((outputs, n, scales.map(|_| PyArray1::from_vec(py, unscaled))))
}

type ReadBack<'py> =
    (Option<Bound<'py, PyArray2<f32>>>, Option<Bound<'py, PyArray1<f32>>>, Option<Bound<'py, PyArray1<f32>>>);

/// The way back of read `n`: the errors of the inputs, and the gradients of bias and output scales, those that are wanted.
#[pyfunction]
pub fn backward<'py>(
    to: &Bound<'py, PyTileMatrix>,
    n: u64,
    errors: usize,
    samples: usize,
    want_inputs: bool,
    want_bias: bool,
    unscaled: Option<PyReadonlyArray1<'py, f32>>,
) -> Result<ReadBack<'py>, Failure> {
    let (py, tiles) = (to.py(), to.get());
    let (rows, cols) = tiles.size();
    let errors = numbers("errors", errors, samples * rows)?;
    let unscaled = unscaled.as_ref().map(|unscaled| unscaled.as_slice()).transpose()?;
    let inputs = want_inputs.then(|| matrix(py, samples, cols));
    let bias = want_bias.then(|| vector(py, rows));
    let scales = unscaled.map(|_| vector(py, tiles.scale_count()));
    let mut inputs_writer = inputs.as_ref().map(|x| x.try_readwrite()).transpose()?;
    let mut bias_writer = bias.as_ref().map(|x| x.try_readwrite()).transpose()?;
    let mut scales_writer = scales.as_ref().map(|x| x.try_readwrite()).transpose()?;
    let to_inputs = inputs_writer.as_mut().map(|x| x.as_slice_mut()).transpose()?;
    let to_bias = bias_writer.as_mut().map(|x| x.as_slice_mut()).transpose()?;
    let to_scales = scales_writer.as_mut().map(|x| x.as_slice_mut()).transpose()?;
    compute_sized(py, errors.len() * cols, || {
        let mut tiles = tiles.lock()?;
        tiles.read_back(n, errors, to_inputs, to_bias)?;
        if let (Some(unscaled), Some(to_scales)) = (unscaled, to_scales) {
            tiles.scale_gradients(errors, unscaled, to_scales)?;
        }
        Ok::<_, Failure>(())
    })??;
    drop((inputs_writer, bias_writer, scales_writer));
    Ok((inputs, bias, scales))
}

/// One step from the errors and inputs of `samples`.
#[pyfunction]
pub fn write(
    to: &Bound<'_, PyTileMatrix>,
    errors: usize,
    inputs: usize,
    samples: usize,
    learning_rate: f64,
    scale: f64,
) -> Result<(), Failure> {
    let (py, tiles) = (to.py(), to.get());
    let (rows, cols) = tiles.size();
    let errors = numbers("errors", errors, samples * rows)?;
    let inputs = numbers("inputs", inputs, samples * cols)?;
    compute_sized(py, errors.len() * cols, || Ok(tiles.lock()?.step(errors, inputs, learning_rate, scale)?))?
}
