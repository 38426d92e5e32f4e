//! What a backward pass leaves for the step that writes it.

use std::sync::Arc;

use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;
use residuum_nn::Tensor;

use crate::dlpack::{Descent, numbers, tensor};
use crate::error::{PyFailure, refuse};
use crate::layer::PyTileMatrix;
use crate::threads::compute_sized;

/// What a pair of inputs and errors adds to the gradient of its handle. The gradient counts pairs, so that zero_grad in any form
/// empties them; it is too small to matter to a norm, and scaling it leaves a trace.
const PAIR: f32 = 1.0 / (1u128 << 100) as f32;

/// Inputs and errors of one read.
#[pyclass(name = "_Pair", frozen, module = "residuum")]
pub struct PyPair {
    /// Steps of the matrix before, and the number of the read since.
    at: (u64, u64),
    inputs: Kept,
    errors: Kept,
}

/// One side of a pair. None of them leads back to the handle that keeps it.
pub enum Kept {
    /// A tensor, and its version when it was kept.
    Tensor(Py<PyAny>, u64),
    /// Numbers that nobody else can change.
    Own(Tensor),
    /// The outputs of a stage of a chain.
    Stage(Arc<Vec<Tensor>>, usize),
}

impl Kept {
    /// Keeps a tensor without the graph behind it.
    pub fn of(tensor: &Bound<'_, PyAny>) -> Result<Self, PyFailure> {
        let py = tensor.py();
        let version = tensor.getattr(intern!(py, "_version"))?.extract()?;
        let tracked = tensor.getattr(intern!(py, "requires_grad"))?.is_truthy()?;
        let tensor = if tracked { tensor.call_method0(intern!(py, "detach"))? } else { tensor.clone() };
        Ok(Self::Tensor(tensor.unbind(), version))
    }

    fn values<'a>(&'a self, py: Python<'a>) -> Result<&'a [f32], PyFailure> {
        match self {
            Self::Own(values) => Ok(values.values()),
            Self::Stage(outputs, stage) => Ok(outputs[*stage].values()),
            Self::Tensor(tensor, version) => {
                let tensor = tensor.bind(py);
                if tensor.getattr(intern!(py, "_version"))?.extract::<u64>()? != *version {
                    return Err(PyRuntimeError::new_err(
                        "inputs of a layer on tiles, and what comes back to it, must stay as they are until the optimiser's step \
                         writes them, but one was changed in place after the backward pass",
                    )
                    .into());
                }
                let values = numbers(tensor)?
                    .ok_or_else(|| refuse("errors and inputs must be as the layer has kept them"))?;
                Ok(values.values)
            }
        }
    }
}

/// Gives a pair to the handle of its matrix, and the gradient that says so.
pub fn keep<'py>(
    handle: &Bound<'py, PyAny>,
    at: (u64, u64),
    inputs: Kept,
    errors: Kept,
) -> Result<Bound<'py, PyAny>, PyFailure> {
    let py = handle.py();
    let pairs = handle.getattr(intern!(py, "pairs"))?.cast_into::<PyList>().map_err(PyErr::from)?;
    pairs.append(Bound::new(py, PyPair { at, inputs, errors })?)?;
    tensor(py, &[], vec![PAIR])
}

/// The matrix behind a handle. It has been replaced if a state was loaded.
pub fn matrix<'py>(handle: &Bound<'py, PyAny>) -> Result<Bound<'py, PyTileMatrix>, PyFailure> {
    let matrix = handle.getattr(intern!(handle.py(), "matrix"))?;
    Ok(matrix.cast_into().map_err(PyErr::from)?)
}

/// The handle of a tile is 0 unless someone has stepped it.
pub fn untouched(handle: &Bound<'_, PyAny>) -> Result<(), PyFailure> {
    if numbers::<f32>(handle)?.is_some_and(|numbers| numbers.values == [0.0]) {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(
        "a torch optimiser has stepped the handle of a tile, which trains nothing: use residuum.torch.Optimizer, which steps tiles \
         and everything digital",
    )
    .into())
}

/// The pairs of backward passes since the gradient was last emptied, in the order of their reads. As gradients of torch do, they stay
/// until zero_grad: a second step without it writes them again.
fn waiting<'py>(handle: &Bound<'py, PyAny>) -> Result<Vec<Bound<'py, PyPair>>, PyFailure> {
    let py = handle.py();
    let pairs = handle.getattr(intern!(py, "pairs"))?.cast_into::<PyList>().map_err(PyErr::from)?;
    let gradient = handle.getattr(intern!(py, "grad"))?;
    let count = if gradient.is_none() {
        0
    } else {
        let count = numbers::<f32>(&gradient)?.and_then(|numbers| numbers.values.first().map(|sum| sum / PAIR));
        let kept = |count: &f32| count.fract() == 0.0 && (0.0..=pairs.len() as f32).contains(count);
        let scaled = || {
            PyRuntimeError::new_err(
                "the gradient of a tile must not be scaled: clip_grad_norm_, GradScaler and hooks do not reach the pulses of tiles. \
                 Clip digital parameters alone, or scale the loss or the learning rate",
            )
        };
        count.filter(kept).ok_or_else(scaled)? as usize
    };
    if count < pairs.len() {
        // What came before zero_grad.
        pairs.del_slice(0, pairs.len() - count)?;
    }
    let mut pairs = pairs
        .iter()
        .map(|pair| pair.cast_into::<PyPair>())
        .collect::<Result<Vec<_>, _>>()
        .map_err(PyErr::from)?;
    pairs.sort_by_key(|pair| pair.get().at);
    Ok(pairs)
}

/// Numbers that are there already, or those of several pairs one after the other.
fn joined<'a>(
    py: Python<'a>,
    kept: impl ExactSizeIterator<Item = &'a Kept>,
) -> Result<std::borrow::Cow<'a, [f32]>, PyFailure> {
    let single = kept.len() == 1;
    let mut all = Vec::new();
    for side in kept {
        let values = side.values(py)?;
        if single {
            return Ok(values.into());
        }
        all.extend_from_slice(values);
    }
    Ok(all.into())
}

/// Handles of a group, its learning rate, and the scale of its transfer rates.
type Tiles<'py> = (Vec<Bound<'py, PyAny>>, f64, f64);
/// Parameters of a group that plain gradient descent moves, and its learning rate.
type Digital<'py> = (Vec<Bound<'py, PyAny>>, f64);

/// One step of every matrix that has a gradient, and of digital parameters, which it returns if they have moved. Nothing has been
/// written if a tensor or a handle is refused. None, and the digital parameters are as they were, if one of them is not as tiles
/// take it: they are torch's to step.
#[pyfunction]
pub fn write<'py>(
    py: Python<'py>,
    tiles: Vec<Tiles<'py>>,
    digital: Vec<Digital<'py>>,
) -> Result<Option<Vec<Bound<'py, PyAny>>>, PyFailure> {
    let mut all = Vec::new();
    for (handles, learning_rate, scale) in &tiles {
        for handle in handles {
            if !handle.getattr(intern!(py, "requires_grad"))?.is_truthy()? {
                continue;
            }
            let pairs = waiting(handle)?;
            if !pairs.is_empty() {
                untouched(handle)?;
                all.push((matrix(handle)?, pairs, *learning_rate, *scale));
            }
        }
    }
    let mut ready = Vec::with_capacity(all.len());
    for (matrix, pairs, learning_rate, scale) in &all {
        let errors = joined(py, pairs.iter().map(|pair| &pair.get().errors))?;
        let inputs = joined(py, pairs.iter().map(|pair| &pair.get().inputs))?;
        ready.push((matrix.get(), errors, inputs, *learning_rate, *scale));
    }
    for (tiles, errors, inputs, learning_rate, scale) in &ready {
        compute_sized(py, errors.len() * tiles.size().1, || {
            Ok::<_, PyFailure>(tiles.lock()?.step(errors, inputs, *learning_rate, *scale)?)
        })??;
    }
    let mut moved = Vec::new();
    for (parameters, learning_rate) in &digital {
        for parameter in parameters {
            let gradient = parameter.getattr(intern!(py, "grad"))?;
            if !gradient.is_none() {
                let Some(both) = Descent::of(parameter, &gradient)? else { return Ok(None) };
                moved.push((both, -*learning_rate as f32, parameter.clone(), gradient));
            }
        }
    }
    // SAFETY: the tensors are held, and nothing has run in between.
    moved.iter().for_each(|(both, scale, ..)| unsafe { both.add_scaled(*scale) });
    Ok(Some(moved.into_iter().map(|(_, _, parameter, _)| parameter).collect()))
}
