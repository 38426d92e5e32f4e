//! A sequence of layers on tiles and functions between them as one function for torch: one call for each direction.

use std::sync::Arc;

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use residuum::Key;
use residuum_lab::train::Scaled;
use residuum_nn::{Layer, Loss, Mode, Pass, SampleShape, Targets, Tensor};

use crate::dlpack::{Numbers, numbers, tensor, unbent};
use crate::error::{PyFailure, refuse};
use crate::function::{self, classes, loss_named};
use crate::layer::PyTileMatrix;
use crate::pair::{Kept, keep, matrix, untouched};
use crate::threads::compute_sized;

/// A stage as Python names it: "tiles", or a function.
enum Stage {
    /// The number of the matrix among the chain's.
    Tiles(usize),
    Function(Box<dyn Layer>),
}

fn stages(plan: &[String]) -> Result<Vec<Stage>, PyFailure> {
    let mut matrices = 0..;
    plan.iter()
        .map(|name| match name.as_str() {
            "tiles" => Ok(Stage::Tiles(matrices.next().unwrap_or(0))),
            name => Ok(Stage::Function(function::layer(name)?)),
        })
        .collect()
}

/// Layers that are read in one call. `plan` names what each does: "tiles", a function, or "flatten" for the first.
#[pyclass(name = "_Chain", frozen, module = "residuum")]
pub struct PyChain {
    flattens: bool,
    plan: Vec<String>,
    /// What every layer keeps of itself, in its `__dict__`.
    layers: Vec<Py<PyDict>>,
}

#[pymethods]
impl PyChain {
    #[new]
    fn new(mut plan: Vec<String>, layers: Vec<Bound<'_, PyAny>>) -> Result<Self, PyFailure> {
        let own = |layer: &Bound<'_, PyAny>| Ok(layer.getattr("__dict__")?.cast_into::<PyDict>()?.unbind());
        let layers = layers.iter().map(own).collect::<PyResult<_>>()?;
        let flattens = plan.first().is_some_and(|name| name == "flatten");
        if flattens {
            plan.remove(0);
        }
        if stages(&plan)?.is_empty() {
            return Err(refuse("plan must have a stage beside \"flatten\""));
        }
        Ok(Self { flattens, plan, layers })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.layers.iter().try_for_each(|layer| visit.call(layer))
    }

    /// The arguments of the function that reads all layers: `inputs`, this chain, and for every matrix its handle, bias, scales, and
    /// whether it trains. None where something wants to see the layers, or the inputs are not plain samples.
    fn arguments<'py>(
        slf: &Bound<'py, Self>,
        inputs: &Bound<'py, PyAny>,
    ) -> Result<Option<Bound<'py, PyTuple>>, PyFailure> {
        let (py, own) = (slf.py(), slf.get());
        let Some(given) = unbent(inputs)? else { return Ok(None) };
        if given.shape.len() < 2 || given.shape.len() > 2 && !own.flattens {
            return Ok(None);
        }
        // Where torch keeps functions of someone else that want to be called.
        let hooks = [
            intern!(py, "_forward_hooks"),
            intern!(py, "_forward_pre_hooks"),
            intern!(py, "_backward_hooks"),
            intern!(py, "_backward_pre_hooks"),
        ];
        let mut all = vec![inputs.clone(), slf.clone().into_any()];
        for (n, layer) in own.layers.iter().enumerate() {
            let layer = layer.bind(py);
            for hooks in hooks {
                if layer.get_item(hooks)?.is_some_and(|hooks| hooks.is_truthy().unwrap_or(true)) {
                    return Ok(None);
                }
            }
            let stage = n.checked_sub(usize::from(own.flattens)).and_then(|n| own.plan.get(n));
            if stage.is_none_or(|name| name != "tiles") {
                continue;
            }
            let retired = layer.get_item(intern!(py, "_retired"))?;
            let parameters = layer.get_item(intern!(py, "_parameters"))?;
            let (Some(parameters), Some(training), true) = (
                parameters,
                layer.get_item(intern!(py, "training"))?,
                retired.is_some_and(|why| why.is_none()),
            ) else {
                return Ok(None);
            };
            let parameters = parameters.cast_into::<PyDict>().map_err(PyErr::from)?;
            for name in [intern!(py, "tile"), intern!(py, "bias"), intern!(py, "output_scale")] {
                // Parametrised, if one is not there: torch has put a property in its place.
                let Some(parameter) = parameters.get_item(name)? else { return Ok(None) };
                all.push(parameter);
            }
            all.push(training);
        }
        Ok(Some(PyTuple::new(py, all)?))
    }
}

/// What a chain leaves for its way back.
#[pyclass(name = "_ChainPass", frozen, module = "residuum")]
pub struct PyChainPass {
    chain: Py<PyChain>,
    handles: Vec<Py<PyAny>>,
    /// Of every stage.
    outputs: Arc<Vec<Tensor>>,
    /// Of every matrix: the number of the read, and outputs before scales.
    reads: Vec<(u64, Option<Vec<f32>>)>,
}

impl PyChainPass {
    /// The outputs of the last stage; a chain has one.
    fn last(&self) -> &Tensor {
        &self.outputs[self.outputs.len() - 1]
    }
}

/// A matrix, with its bias and scales.
struct Read<'a> {
    tiles: &'a PyTileMatrix,
    bias: Option<&'a [f32]>,
    scales: Option<&'a [f32]>,
    mode: Mode,
}

/// The numbers of a parameter that may be left out.
fn parameter<'a>(
    name: &str,
    tensor: &'a Bound<'_, PyAny>,
    count: usize,
) -> Result<Option<&'a [f32]>, PyFailure> {
    if tensor.is_none() {
        return Ok(None);
    }
    let Some(numbers) = numbers::<f32>(tensor)? else {
        return Err(refuse(format!("{name} must be float32 on the CPU and contiguous, as torch makes it")));
    };
    if numbers.values.len() != count {
        let shape = numbers.shape;
        return Err(refuse(format!("{name} must have {count} values, got the shape {shape:?}")));
    }
    Ok(Some(numbers.values))
}

/// The stages of `chain` on the samples in the first dimension of `inputs`, with `parameters` as `arguments` has them.
#[pyfunction]
pub fn chain_forward<'py>(
    chain: &Bound<'py, PyChain>,
    inputs: &Bound<'py, PyAny>,
    parameters: &Bound<'py, PyTuple>,
) -> Result<(Bound<'py, PyAny>, PyChainPass), PyFailure> {
    let passed = there(chain, inputs, parameters)?;
    let last = passed.last();
    let result = tensor(inputs.py(), &[last.batch(), last.shape().len()], last.values().to_vec())?;
    Ok((result, passed))
}

/// The way there: what every stage makes of the samples.
fn there<'py>(
    chain: &Bound<'py, PyChain>,
    inputs: &Bound<'py, PyAny>,
    parameters: &Bound<'py, PyTuple>,
) -> Result<PyChainPass, PyFailure> {
    let py = inputs.py();
    let Some(Numbers { values: inputs, shape: &[samples, ref each @ ..] }) = unbent(inputs)? else {
        return Err(refuse("inputs must be float32 on the CPU, their numbers one after the other"));
    };
    let (samples, mut width) = (usize::try_from(samples)?, usize::try_from(each.iter().product::<i64>())?);
    let parameters: Vec<_> = parameters.iter().collect();
    let own = || parameters.chunks_exact(4);
    let matrices = own().map(|own| matrix(&own[0])).collect::<Result<Vec<_>, _>>()?;
    let mut reads = Vec::with_capacity(matrices.len());
    for (tiles, own) in matrices.iter().zip(own()) {
        untouched(&own[0])?;
        let tiles = tiles.get();
        reads.push(Read {
            tiles,
            bias: parameter("bias", &own[1], tiles.size().0)?,
            scales: parameter("output_scale", &own[2], tiles.scale_count())?,
            mode: if own[3].is_truthy()? { Mode::Train } else { Mode::Evaluate },
        });
    }
    let mut stages = stages(&chain.get().plan)?;
    let work = reads.iter().map(|read| read.tiles.size()).map(|(rows, cols)| samples * rows * cols).sum();
    let (mut outputs, mut passed) = (Vec::<Tensor>::with_capacity(stages.len()), Vec::new());
    compute_sized(py, work, || {
        for stage in &mut stages {
            let before = outputs.last().map_or(inputs, Tensor::values);
            let mut after = Tensor::default();
            match stage {
                Stage::Tiles(n) => {
                    let Read { tiles, bias, scales, mode } = &reads[*n];
                    let (rows, cols) = tiles.size();
                    if cols != width {
                        return Err(refuse(format!(
                            "inputs must have {cols} values in their last dimension, got {width}"
                        )));
                    }
                    let mut values = vec![0.0; samples * rows];
                    let mut unscaled = Vec::new();
                    let scaled = scales.map(|scales| Scaled { scales, unscaled: &mut unscaled });
                    let number = tiles.lock()?.read(before, *bias, &mut values, scaled, *mode)?;
                    passed.push((number, scales.map(|_| unscaled)));
                    (after, width) = (Tensor::from_values(SampleShape::flat(rows), values), rows);
                }
                Stage::Function(layer) => {
                    let pass = Pass::evaluate(Key::new(0));
                    match outputs.last() {
                        Some(before) => layer.forward(before, &mut after, pass),
                        None => {
                            let before = Tensor::from_values(SampleShape::flat(width), before.to_vec());
                            layer.forward(&before, &mut after, pass);
                        }
                    }
                }
            }
            outputs.push(after);
        }
        Ok::<_, PyFailure>(())
    })??;
    let handles = own().map(|own| own[0].clone().unbind()).collect();
    Ok(PyChainPass { chain: chain.clone().unbind(), handles, outputs: Arc::new(outputs), reads: passed })
}

/// The way back of a chain: the gradients of what it was given, those that are wanted. The handles of matrices keep their pairs of
/// inputs and errors. None if the errors are not as tiles take them.
#[pyfunction]
pub fn chain_backward<'py>(
    passed: &Bound<'py, PyChainPass>,
    inputs: &Bound<'py, PyAny>,
    errors: &Bound<'py, PyAny>,
    wanted: Vec<bool>,
) -> Result<Option<Bound<'py, PyTuple>>, PyFailure> {
    let Some(Numbers { values: errors, shape: &[_, width] }) = unbent(errors)? else {
        return Ok(None);
    };
    let errors = Tensor::from_values(SampleShape::flat(usize::try_from(width)?), errors.to_vec());
    back(passed.py(), passed.get(), inputs, errors, &wanted).map(Some)
}

/// A loss of the last stage: the stages of `chain`, the mean loss (see `loss`; `targets` are labels, or values for "mean_square"), and
/// the way back. Returns the loss and the gradients of what was given, those that are wanted, as `chain_backward` does.
#[pyfunction]
pub fn chain_loss<'py>(
    chain: &Bound<'py, PyChain>,
    inputs: &Bound<'py, PyAny>,
    parameters: &Bound<'py, PyTuple>,
    name: &str,
    smoothing: f32,
    targets: &Bound<'py, PyAny>,
    wanted: Vec<bool>,
) -> Result<(f64, Bound<'py, PyTuple>), PyFailure> {
    let loss = loss_named(name, smoothing)?;
    let passed = there(chain, inputs, parameters)?;
    let mut errors = Tensor::default();
    let mean = evaluate(loss, passed.last(), targets, &mut errors)?;
    Ok((mean, back(inputs.py(), &passed, inputs, errors, &wanted)?))
}

/// The mean loss against a tensor of targets.
fn evaluate(
    loss: Loss,
    scores: &Tensor,
    targets: &Bound<'_, PyAny>,
    errors: &mut Tensor,
) -> Result<f64, PyFailure> {
    let (samples, outputs) = (scores.batch(), scores.shape().len());
    let refused = |must: String| refuse(format!("targets must be {must}, in order on the CPU"));
    if !loss.is_regression() {
        let Some(Numbers { values, shape: &[_] }) = numbers::<i64>(targets)? else {
            return Err(refused(format!("{samples} labels as int64")));
        };
        let labels = classes(scores, values.iter().copied())?;
        return Ok(loss.evaluate(scores, &labels, Some(errors)).loss);
    }
    let shape = [samples, outputs].map(|size| i64::try_from(size).unwrap_or(-1));
    match unbent(targets)? {
        Some(given) if given.shape == shape => {
            Ok(loss.evaluate(scores, Targets::Values(given.values), Some(errors)).loss)
        }
        _ => Err(refused(format!("{samples} × {outputs} values as float32"))),
    }
}

/// The way back from the errors of the last stage.
fn back<'py>(
    py: Python<'py>,
    pass: &PyChainPass,
    inputs: &Bound<'py, PyAny>,
    mut errors: Tensor,
    wanted: &[bool],
) -> Result<Bound<'py, PyTuple>, PyFailure> {
    let samples = errors.batch();
    let (want_inputs, wanted) = (wanted[0], &wanted[2..]);
    let handles: Vec<_> = pass.handles.iter().map(|handle| handle.bind(py)).collect();
    let matrices = handles.iter().map(|handle| matrix(handle)).collect::<Result<Vec<_>, _>>()?;
    let own: Vec<&PyTileMatrix> = matrices.iter().map(|tiles| tiles.get()).collect();
    let mut stages = stages(&pass.chain.get().plan)?;
    let mut gradients: Vec<Option<Vec<f32>>> = vec![None; wanted.len()];
    // Errors of the matrices, the stages that they are read at, and the steps before.
    let mut at: Vec<Option<(usize, Tensor, u64)>> = Vec::new();
    at.resize_with(matrices.len(), || None);
    let reached = own.iter().map(|tiles| tiles.size()).map(|(rows, cols)| samples * rows * cols);
    // Below the first parameter that wants a gradient there is nothing to do.
    let last = if want_inputs { 0 } else { lowest(&stages, wanted) };
    compute_sized(py, reached.sum(), || {
        for (index, stage) in stages.iter_mut().enumerate().skip(last).rev() {
            let mut back = Tensor::default();
            match stage {
                Stage::Function(layer) => {
                    // Every derivative is a function of the output; the input is not looked at.
                    let outputs = &pass.outputs[index];
                    layer.backward(outputs, outputs, &errors, Some(&mut back), Pass::evaluate(Key::new(0)))?;
                }
                Stage::Tiles(n) => {
                    let own = own[*n];
                    let (rows, cols) = own.size();
                    let (number, unscaled) = &pass.reads[*n];
                    let [_, want_bias, want_scales] = [0, 1, 2].map(|i| wanted[4 * *n + i]);
                    let mut inputs = (index > last || want_inputs).then(|| vec![0.0; samples * cols]);
                    let mut bias = want_bias.then(|| vec![0.0; rows]);
                    let mut tiles = own.lock()?;
                    tiles.read_back(*number, errors.values(), inputs.as_deref_mut(), bias.as_deref_mut())?;
                    if let (true, Some(unscaled)) = (want_scales, unscaled) {
                        let mut scales = vec![0.0; own.scale_count()];
                        tiles.scale_gradients(errors.values(), unscaled, &mut scales)?;
                        gradients[4 * *n + 2] = Some(scales);
                    }
                    gradients[4 * *n + 1] = bias;
                    back = inputs.map_or_else(Tensor::default, |inputs| {
                        Tensor::from_values(SampleShape::flat(cols), inputs)
                    });
                    at[*n] = Some((index, std::mem::take(&mut errors), tiles.k()));
                }
            }
            errors = back;
        }
        Ok::<_, PyFailure>(())
    })??;
    let mut made: Vec<Option<Bound<'_, PyAny>>> = vec![None; 2 + wanted.len()];
    if want_inputs && let Some(given) = numbers::<f32>(inputs)? {
        let shape = given.shape.iter().map(|size| usize::try_from(*size)).collect::<Result<Vec<_>, _>>()?;
        made[0] = Some(tensor(py, &shape, errors.values().to_vec())?);
    }
    for (made, values) in made[2..].iter_mut().zip(gradients) {
        *made = values.map(|values| tensor(py, &[values.len()], values)).transpose()?;
    }
    for (n, at) in at.into_iter().enumerate() {
        if let Some((index, errors, k)) = at.filter(|_| wanted[4 * n]) {
            let inputs = match index.checked_sub(1) {
                Some(before) => Kept::Stage(pass.outputs.clone(), before),
                None => Kept::of(inputs)?,
            };
            made[2 + 4 * n] = Some(keep(handles[n], (k, pass.reads[n].0), inputs, Kept::Own(errors))?);
        }
    }
    Ok(PyTuple::new(py, made)?)
}

/// The first stage with a parameter that wants a gradient.
fn lowest(stages: &[Stage], wanted: &[bool]) -> usize {
    let wants = |stage: &Stage| matches!(stage, Stage::Tiles(n) if wanted[4 * n..4 * n + 3].contains(&true));
    stages.iter().position(wants).unwrap_or(stages.len())
}
