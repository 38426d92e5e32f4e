//! A matrix on tiles that a training loop in Python reads and steps.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, TryLockError};

use numpy::ndarray::Array2;
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1, PyReadwriteArray2,
};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use residuum::state::Data;
use residuum::{State as _, Tensors};
use residuum_lab::spec::{Document, LayerSpec};
use residuum_lab::train::TileMatrix;
use residuum_nn::{Mode, Weights as _};

use crate::error::{PyFailure, refuse};
use crate::tensors;
use crate::threads::{compute, compute_sized};
use crate::value::from_python;

/// A matrix on tiles: read, read transposed, stepped. `residuum.torch` makes layers of it.
///
/// `tables` is a dict with the tables `device`, `rule`, `readout` and `mapping` of a spec, and `ledger = True` to count the pulses of
/// every cell; `initial` becomes the weights, as closely
/// as the cells allow. Draws depend on `seed` and `name`.
#[pyclass(name = "TileMatrix", frozen, module = "residuum")]
pub struct PyTileMatrix {
    matrix: Mutex<TileMatrix>,
    rows: usize,
    cols: usize,
    scales: usize,
}

/// A contiguous array, or which one is not.
fn contiguous<'a, T>(name: &str, slice: Result<&'a [T], impl std::fmt::Display>) -> Result<&'a [T], PyFailure> {
    slice.map_err(|_| refuse(format!("{name} must be contiguous")))
}

impl PyTileMatrix {
    fn of(matrix: TileMatrix) -> Self {
        let ([rows, cols], scales) = (matrix.shape(), matrix.scales());
        Self { matrix: Mutex::new(matrix), rows, cols, scales }
    }

    /// Outputs and inputs.
    pub fn size(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    /// Number of output scales.
    pub fn scale_count(&self) -> usize {
        self.scales
    }

    /// The matrix, unless another thread has it.
    pub fn lock(&self) -> Result<MutexGuard<'_, TileMatrix>, PyFailure> {
        self.matrix.try_lock().map_err(|e| {
            let sentence = match e {
                TryLockError::WouldBlock => {
                    "a layer must be used by one thread at a time: another thread is reading or stepping this one"
                }
                TryLockError::Poisoned(_) => "this layer stopped in the middle of a step: build it again",
            };
            PyRuntimeError::new_err(sentence).into()
        })
    }
}

#[pymethods]
impl PyTileMatrix {
    #[new]
    fn new(
        tables: &Bound<'_, PyAny>,
        initial: PyReadonlyArray2<'_, f32>,
        seed: u64,
        name: &str,
    ) -> Result<Self, PyFailure> {
        let document = Document::from_value(&from_python(tables, "")?)?;
        let shape = initial.as_array().dim();
        let initial = contiguous("initial", initial.as_slice())?;
        let build = || {
            let spec = LayerSpec::of(&document, Path::new("."))?;
            Ok::<_, PyFailure>(TileMatrix::new(spec, [shape.0, shape.1], initial, seed, name)?)
        };
        Ok(Self::of(compute(tables.py(), build)??))
    }

    /// Writes `W x + bias` for every row x of `inputs` to `outputs`; returns the number of the read since the last step.
    #[pyo3(signature = (inputs, outputs, bias = None, training = true))]
    fn read(
        &self,
        py: Python<'_>,
        inputs: PyReadonlyArray2<'_, f32>,
        mut outputs: PyReadwriteArray2<'_, f32>,
        bias: Option<PyReadonlyArray1<'_, f32>>,
        training: bool,
    ) -> Result<u64, PyFailure> {
        let inputs = contiguous("inputs", inputs.as_slice())?;
        let bias = bias.as_ref().map(|bias| contiguous("bias", bias.as_slice())).transpose()?;
        let outputs = outputs.as_slice_mut().map_err(|_| refuse("outputs must be contiguous"))?;
        let mode = if training { Mode::Train } else { Mode::Evaluate };
        compute_sized(py, inputs.len() * self.rows, || {
            Ok(self.lock()?.read(inputs, bias, outputs, None, mode)?)
        })?
    }

    /// The way back of read `n`: writes `Wᵀ δ` for every row δ of `errors` to `outputs`, and their sum to `bias`.
    #[pyo3(signature = (n, errors, outputs = None, bias = None))]
    fn read_back(
        &self,
        py: Python<'_>,
        n: u64,
        errors: PyReadonlyArray2<'_, f32>,
        mut outputs: Option<PyReadwriteArray2<'_, f32>>,
        mut bias: Option<PyReadwriteArray1<'_, f32>>,
    ) -> Result<(), PyFailure> {
        let errors = contiguous("errors", errors.as_slice())?;
        let outputs = outputs.as_mut().map(|outputs| outputs.as_slice_mut()).transpose();
        let outputs = outputs.map_err(|_| refuse("outputs must be contiguous"))?;
        let bias = bias.as_mut().map(|bias| bias.as_slice_mut()).transpose();
        let bias = bias.map_err(|_| refuse("bias must be contiguous"))?;
        compute_sized(py, errors.len() * self.cols, || Ok(self.lock()?.read_back(n, errors, outputs, bias)?))?
    }

    /// Sets the output scales.
    fn set_scales(&self, scales: PyReadonlyArray1<'_, f32>) -> Result<(), PyFailure> {
        Ok(self.lock()?.set_scales(contiguous("scales", scales.as_slice())?)?)
    }

    /// Number of output scales, which the caller learns.
    #[getter]
    fn scales(&self) -> usize {
        self.scales
    }

    /// One step: desires `W ← W − learning_rate · Σ δ xᵀ`. `scale` multiplies transfer rates that are numbers.
    #[pyo3(signature = (errors, inputs, learning_rate, scale = 1.0))]
    fn step(
        &self,
        py: Python<'_>,
        errors: PyReadonlyArray2<'_, f32>,
        inputs: PyReadonlyArray2<'_, f32>,
        learning_rate: f64,
        scale: f64,
    ) -> Result<(), PyFailure> {
        let errors = contiguous("errors", errors.as_slice())?;
        let inputs = contiguous("inputs", inputs.as_slice())?;
        let size = errors.len() * self.cols;
        compute_sized(py, size, || Ok(self.lock()?.step(errors, inputs, learning_rate, scale)?))?
    }

    /// The effective weights: what a noiseless read would see.
    fn weights<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray2<f32>>, PyFailure> {
        let matrix = self.lock()?;
        let [rows, cols] = matrix.shape();
        let mut weights = vec![0.0; rows * cols];
        matrix.weights().effective_weights(&mut weights);
        Ok(square(weights, rows, cols)?.into_pyarray(py))
    }

    /// Programs the weights as closely as the cells allow.
    fn set_weights(&self, py: Python<'_>, weights: PyReadonlyArray2<'_, f32>) -> Result<(), PyFailure> {
        let shape = weights.as_array().dim();
        let weights = contiguous("weights", weights.as_slice())?;
        let mut matrix = self.lock()?;
        let [rows, cols] = matrix.shape();
        if shape != (rows, cols) {
            let (given_rows, given_cols) = shape;
            return Err(refuse(format!("weights must be {rows} × {cols}, got {given_rows} × {given_cols}")));
        }
        let matrix = &mut *matrix;
        Ok(compute(py, || matrix.set_weights(weights))??)
    }

    /// Everything that a later step depends on, by name.
    fn tensors<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>, PyFailure> {
        tensors::to_dict(py, &self.lock()?.tensors())
    }

    /// Restores what `tensors` gave.
    fn load(&self, tensors: &Bound<'_, PyDict>) -> Result<(), PyFailure> {
        let tensors = tensors::from_dict(tensors)?;
        Ok(self.lock()?.load(&tensors)?)
    }

    /// A copy that draws and learns the same from here on.
    fn duplicate(&self, py: Python<'_>) -> Result<Self, PyFailure> {
        let matrix = self.lock()?;
        let matrix = &*matrix;
        Ok(Self::of(compute(py, || matrix.duplicate())??))
    }

    /// Every parameter as it is used, by its path in a spec.
    fn parameters<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>, PyFailure> {
        let all = PyDict::new(py);
        for parameter in &self.lock()?.spec().resolved {
            all.set_item(&parameter.path, &parameter.value)?;
        }
        Ok(all)
    }

    /// One dict for each tile: the `rows` and `cols` that it holds, and its `arrays` by name with their weights, pulses, and what
    /// is hidden from a rule: the symmetric point and the parameters of every cell.
    fn tiles<'py>(&self, py: Python<'py>) -> Result<Vec<Bound<'py, PyDict>>, PyFailure> {
        let matrix = self.lock()?;
        let tiles = matrix.weights().tiles().map(|(rows, cols, rule)| {
            let (height, width) = (rows.len(), cols.len());
            let tile = PyDict::new(py);
            tile.set_item("rows", (rows.start, rows.end))?;
            tile.set_item("cols", (cols.start, cols.end))?;
            tile.set_item("rule", rule.label())?;
            let arrays = PyDict::new(py);
            let state = rule.tensors();
            for (name, array) in rule.arrays() {
                let own = PyDict::new(py);
                let shaped =
                    |values: Vec<f32>| Ok::<_, PyFailure>(square(values, height, width)?.into_pyarray(py));
                own.set_item("weights", shaped(array.weights().to_vec())?)?;
                let points = array.symmetric_points().into_iter().map(|point| point.unwrap_or(f32::NAN));
                own.set_item("symmetric_point", shaped(points.collect())?)?;
                own.set_item("pulses", array.pulses_sent())?;
                own.set_item("range", array.range())?;
                if let Some(ledger) = ledger(&state, name, height * width) {
                    own.set_item("ledger", square(ledger, height, width)?.into_pyarray(py))?;
                }
                let parameters = PyDict::new(py);
                for (name, values) in array.cell_parameters() {
                    parameters.set_item(name, shaped(values)?)?;
                }
                own.set_item("parameters", parameters)?;
                arrays.set_item(name, own)?;
            }
            tile.set_item("arrays", arrays)?;
            let states = PyDict::new(py);
            for (name, state) in rule.states() {
                states.set_item(name, PyArray1::from_slice(py, state))?;
            }
            tile.set_item("states", states)?;
            Ok(tile)
        });
        tiles.collect()
    }

    /// Pulses that its cells have received so far.
    fn pulses(&self) -> Result<u64, PyFailure> {
        Ok(self.lock()?.weights().tiles().map(|(_, _, rule)| rule.pulses_sent()).sum())
    }

    /// Joules of a pulse, if the device says so.
    #[getter]
    fn pulse_energy(&self) -> Result<Option<f64>, PyFailure> {
        Ok(self.lock()?.spec().devices.pulse_energy)
    }

    /// The dynamic range of the weights, where devices give it one.
    #[getter]
    fn range(&self) -> Result<Option<[f32; 2]>, PyFailure> {
        Ok(self.lock()?.weights().range())
    }

    /// Outputs and inputs.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    /// Steps made so far.
    #[getter]
    fn k(&self) -> Result<u64, PyFailure> {
        Ok(self.lock()?.k())
    }

    #[getter]
    fn seed(&self) -> Result<u64, PyFailure> {
        Ok(self.lock()?.seed())
    }

    #[getter]
    fn name(&self) -> Result<String, PyFailure> {
        Ok(self.lock()?.name().to_owned())
    }

    /// The rule, in words.
    #[getter]
    fn rule(&self) -> Result<&'static str, PyFailure> {
        Ok(self.lock()?.spec().rule.name)
    }
}

/// Pulses of each cell of an array, where they are counted; those of all its tiles where it has several.
fn ledger(state: &Tensors, array: &str, cells: usize) -> Option<Vec<u32>> {
    let mut sum: Option<Vec<u32>> = None;
    for (name, tensor) in state.iter() {
        let of_array = name.strip_prefix(array).is_some_and(|rest| rest.starts_with('.'));
        if let Data::U32(counts) = &tensor.data
            && of_array
            && name.ends_with(".ledger.cells")
            && counts.len() == cells
        {
            let sum = sum.get_or_insert_with(|| vec![0; cells]);
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
        }
    }
    sum
}

fn square<T>(values: Vec<T>, rows: usize, cols: usize) -> Result<Array2<T>, PyFailure> {
    Ok(Array2::from_shape_vec((rows, cols), values)?)
}
