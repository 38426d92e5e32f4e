//! A sequence of layers on tiles and functions between them as one function for torch: one call for each direction.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use residuum::Key;
use residuum_lab::train::Scaled;
use residuum_nn::{Layer, Mode, Pass, SampleShape, Tensor};

use crate::dlpack::{Numbers, numbers, tensor, unbent};
use crate::error::{Failure, refuse};
use crate::function;
use crate::layer::PyTileMatrix;
use crate::threads::compute_sized;
use crate::torch::{PAIR, untouched};

/// A stage as Python names it: "tiles", or a function.
enum Stage {
    /// The number of the matrix among the chain's.
    Tiles(usize),
    Function(Box<dyn Layer>),
}

fn stages(plan: &[String]) -> Result<Vec<Stage>, Failure> {
    let mut matrices = 0..;
    plan.iter()
        .map(|name| match name.as_str() {
            "tiles" => Ok(Stage::Tiles(matrices.next().unwrap_or(0))),
            name => Ok(Stage::Function(function::layer(name)?)),
        })
        .collect()
}

/// What a chain leaves for its way back.
#[pyclass(name = "_ChainPass", frozen, module = "residuum")]
pub struct PyChainPass {
    plan: Vec<String>,
    /// Of every stage.
    outputs: Vec<Tensor>,
    /// Of every matrix: the number of the read, and outputs before scales.
    reads: Vec<(u64, Option<Vec<f32>>)>,
}

/// A matrix, with its bias and scales.
struct Read<'a> {
    tiles: &'a PyTileMatrix,
    bias: Option<&'a [f32]>,
    scales: Option<&'a [f32]>,
    mode: Mode,
}

type Given<'py> = (Bound<'py, PyTileMatrix>, bool);
type Forward<'py> = (Bound<'py, PyAny>, PyChainPass);

/// The stages of `plan` on the samples in the first dimension of `inputs`. `matrices` are those of the stages "tiles", each with whether it trains;
/// `parameters` has a handle, a bias and scales for each. None if a tensor is not as tiles take it.
#[pyfunction]
pub fn chain_forward<'py>(
    plan: Vec<String>,
    matrices: Vec<Given<'py>>,
    inputs: &Bound<'py, PyAny>,
    parameters: &Bound<'py, PyTuple>,
) -> Result<Option<Forward<'py>>, Failure> {
    let py = inputs.py();
    let Some(Numbers { values: inputs, shape: &[samples, ref each @ ..] }) = unbent(inputs)? else {
        return Ok(None);
    };
    let (samples, mut width) = (usize::try_from(samples)?, usize::try_from(each.iter().product::<i64>())?);
    let parameters: Vec<_> = parameters.iter().collect();
    let mut reads = Vec::with_capacity(matrices.len());
    for ((tiles, training), own) in matrices.iter().zip(parameters.chunks_exact(3)) {
        untouched(&own[0])?;
        let tiles = tiles.get();
        let mut found = [None; 2];
        for (found, (tensor, count)) in
            found.iter_mut().zip([(&own[1], tiles.size().0), (&own[2], tiles.scale_count())])
        {
            if !tensor.is_none() {
                let Some(numbers) = numbers(tensor)?.filter(|numbers| numbers.values.len() == count) else {
                    return Ok(None);
                };
                *found = Some(numbers.values);
            }
        }
        let mode = if *training { Mode::Train } else { Mode::Evaluate };
        reads.push(Read { tiles, bias: found[0], scales: found[1], mode });
    }
    let mut stages = stages(&plan)?;
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
        Ok::<_, Failure>(())
    })??;
    let result = outputs.last().map_or_else(|| inputs.to_vec(), |last| last.values().to_vec());
    let result = tensor(py, &[samples, width], result)?;
    Ok(Some((result, PyChainPass { plan, outputs, reads: passed })))
}

type Gradient<'py> = Option<Bound<'py, PyAny>>;
/// The number of a read, its inputs unless they are those of the chain, and its errors.
type Pair<'py> = (u64, Gradient<'py>, Bound<'py, PyAny>);
type Backward<'py> = (Gradient<'py>, Vec<Gradient<'py>>, Vec<Option<Pair<'py>>>);

/// The way back of a chain: the gradient of its inputs, those of its parameters, and the pair of every matrix whose handle is among
/// the wanted. None if the errors are not as tiles take them.
#[pyfunction]
pub fn chain_backward<'py>(
    passed: &Bound<'py, PyChainPass>,
    matrices: Vec<Bound<'py, PyTileMatrix>>,
    errors: &Bound<'py, PyAny>,
    want_inputs: bool,
    wanted: Vec<bool>,
) -> Result<Option<Backward<'py>>, Failure> {
    let (py, pass) = (errors.py(), passed.get());
    let Some(Numbers { values: errors, shape: &[samples, width] }) = unbent(errors)? else {
        return Ok(None);
    };
    let (samples, width) = (usize::try_from(samples)?, usize::try_from(width)?);
    let own: Vec<&PyTileMatrix> = matrices.iter().map(|tiles| tiles.get()).collect();
    let mut stages = stages(&pass.plan)?;
    let mut errors = Tensor::from_values(SampleShape::flat(width), errors.to_vec());
    let mut gradients: Vec<Option<Vec<f32>>> = vec![None; wanted.len()];
    // Errors of the matrices, and the stages that they are read at.
    let mut at: Vec<Option<(usize, Tensor)>> = Vec::new();
    at.resize_with(matrices.len(), || None);
    let reached = own.iter().map(|tiles| tiles.size()).map(|(rows, cols)| samples * rows * cols);
    // Below the first parameter that wants a gradient there is nothing to do.
    let last = if want_inputs { 0 } else { lowest(&stages, &wanted) };
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
                    let [_, want_bias, want_scales] = [0, 1, 2].map(|i| wanted[3 * *n + i]);
                    let mut inputs = (index > last || want_inputs).then(|| vec![0.0; samples * cols]);
                    let mut bias = want_bias.then(|| vec![0.0; rows]);
                    let mut tiles = own.lock()?;
                    tiles.read_back(*number, errors.values(), inputs.as_deref_mut(), bias.as_deref_mut())?;
                    if let (true, Some(unscaled)) = (want_scales, unscaled) {
                        let mut scales = vec![0.0; own.scale_count()];
                        tiles.scale_gradients(errors.values(), unscaled, &mut scales)?;
                        gradients[3 * *n + 2] = Some(scales);
                    }
                    gradients[3 * *n + 1] = bias;
                    back = inputs.map_or_else(Tensor::default, |inputs| {
                        Tensor::from_values(SampleShape::flat(cols), inputs)
                    });
                    at[*n] = Some((index, std::mem::take(&mut errors)));
                }
            }
            errors = back;
        }
        Ok::<_, Failure>(())
    })??;
    let matrix = |values: &Tensor| {
        let width = values.values().len() / samples.max(1);
        tensor(py, &[samples, width], values.values().to_vec())
    };
    let mut pairs = Vec::with_capacity(matrices.len());
    for (n, at) in at.iter().enumerate() {
        let Some((index, errors)) = at.as_ref().filter(|_| wanted[3 * n]) else {
            pairs.push(None);
            continue;
        };
        let inputs = index.checked_sub(1).map(|before| matrix(&pass.outputs[before])).transpose()?;
        gradients[3 * n] = Some(vec![PAIR]);
        pairs.push(Some((pass.reads[n].0, inputs, matrix(errors)?)));
    }
    let made = gradients.into_iter().enumerate().map(|(n, values)| {
        let shape = |values: &Vec<f32>| if n % 3 == 0 { vec![] } else { vec![values.len()] };
        values.map(|values| tensor(py, &shape(&values), values)).transpose()
    });
    let made = made.collect::<Result<_, _>>()?;
    Ok(Some((want_inputs.then(|| matrix(&errors)).transpose()?, made, pairs)))
}

/// The first stage with a parameter that wants a gradient.
fn lowest(stages: &[Stage], wanted: &[bool]) -> usize {
    let wants = |stage: &Stage| matches!(stage, Stage::Tiles(n) if wanted[3 * n..3 * n + 3].contains(&true));
    stages.iter().position(wants).unwrap_or(stages.len())
}
