//! The network and the data of one trial: what `residuum run` trains, step by step.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use numpy::ndarray::Array4;
use numpy::{IntoPyArray, PyArray1, PyArray4};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use residuum_lab::plan::{Work, points};
use residuum_lab::source::data_root;
use residuum_lab::train::{NetworkTrial, WeightsFrom};
use residuum_nn::data::{Batch, Epoch};
use residuum_nn::state::Scope;
use residuum_nn::train::evaluate;
use residuum_nn::{Loss, Tensor};

use crate::error::{PyFailure, refuse};
use crate::spec::{Reading, source};
use crate::tensors;
use crate::threads::compute;

/// The network and the data of one trial of a spec with `[network]`.
///
/// Its batches are those that `residuum run` sees, in the same order; its tensors are those the network starts from.
#[pyclass(name = "Trial", frozen, module = "residuum")]
pub struct PyTrial {
    state: Mutex<Held>,
}

struct Held {
    trial: NetworkTrial,
    loss: Loss,
    k: u64,
}

impl PyTrial {
    fn lock(&self) -> Result<MutexGuard<'_, Held>, PyFailure> {
        let taken = |_| PyRuntimeError::new_err("a trial must be used by one thread at a time").into();
        self.state.try_lock().map_err(taken)
    }
}

#[pymethods]
impl PyTrial {
    #[new]
    #[pyo3(signature = (spec, *, variant = None, seed = None, profile = None, data = None))]
    fn new(
        py: Python<'_>,
        spec: &Bound<'_, PyAny>,
        variant: Option<String>,
        seed: Option<u64>,
        profile: Option<String>,
        data: Option<PathBuf>,
    ) -> Result<Self, PyFailure> {
        let source = source(spec)?;
        let reading = Reading { profile, seed, variant: variant.into_iter().collect(), data, only: Vec::new() };
        let plans = reading.plans(&source)?;
        let mut points = points(&plans);
        let Some(plan) = points.next() else { return Err(refuse("spec must have a trial")) };
        if let Some(other) = points.next() {
            return Err(refuse(format!(
                "variant must choose one of the trials of the spec, such as {:?} or {:?}",
                plan.name, other.name
            )));
        }
        let Work::Network(spec) = &plan.work else {
            return Err(refuse("spec must have a network, got one that minimises an objective"));
        };
        let root = data_root(reading.data.as_deref());
        let prepared = compute(py, || NetworkTrial::prepare(spec, plan.seed, &root, WeightsFrom::Spec))??;
        Ok(Self { state: Mutex::new(Held { trial: prepared, loss: spec.training.loss, k: 0 }) })
    }

    /// The training batches of an epoch, from 0: pairs of images (samples × height × width × channels) and labels.
    fn batches(&self, epoch: u64) -> Result<PyEpoch, PyFailure> {
        let train = &self.lock()?.trial.train;
        Ok(PyEpoch::new(train.epoch(epoch), train.input_shape()))
    }

    /// The test batches.
    fn test(&self) -> Result<PyEpoch, PyFailure> {
        let test = &self.lock()?.trial.test;
        Ok(PyEpoch::new(test.epoch(0), test.input_shape()))
    }

    /// Trains the network for one epoch, or its first `steps` batches, as `residuum run` does, and returns the mean loss.
    #[pyo3(signature = (epoch, steps = None))]
    fn train(&self, py: Python<'_>, epoch: u64, steps: Option<usize>) -> Result<f64, PyFailure> {
        let mut held = self.lock()?;
        let Held { trial, loss, k } = &mut *held;
        compute(py, || {
            let key = trial.key.named("train");
            let network = &mut trial.parts.network;
            let (mut sum, mut samples) = (0.0, 0);
            for Batch { images, labels, targets } in trial.train.epoch(epoch).take(steps.unwrap_or(usize::MAX))
            {
                classes(&targets)?;
                let input = Tensor::from_values(network.input_shape(), images);
                let outcome = network.train_step(&input, &labels, *loss, *k, key)?;
                sum += outcome.loss * labels.len() as f64;
                samples += labels.len();
                *k += 1;
            }
            Ok(sum / f64::from(u32::try_from(samples).unwrap_or(u32::MAX)))
        })?
    }

    /// Loss and accuracy of the network on the test data.
    fn evaluate(&self, py: Python<'_>) -> Result<(f64, f64), PyFailure> {
        let mut held = self.lock()?;
        let Held { trial, loss, k } = &mut *held;
        let key = trial.key.named("evaluate").fold(*k);
        let result = compute(py, || evaluate(&mut trial.parts.network, &trial.test, *loss, key))??;
        Ok((result.loss, result.accuracy))
    }

    /// All tensors of the network by name: parameters, and what is behind them on tiles.
    fn tensors<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>, PyFailure> {
        tensors::to_dict(py, &self.lock()?.trial.parts.network.state(Scope::Everything))
    }
}

/// Batches of one epoch, in order.
#[pyclass(name = "Epoch", module = "residuum")]
pub struct PyEpoch {
    epoch: Epoch,
    shape: (usize, usize, usize),
}

impl PyEpoch {
    fn new(epoch: Epoch, shape: residuum_nn::data::ImageShape) -> Self {
        Self { epoch, shape: (shape.height, shape.width, shape.channels) }
    }
}

#[pymethods]
impl PyEpoch {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(
        &mut self,
        py: Python<'py>,
    ) -> Result<Option<(Bound<'py, PyArray4<f32>>, Bound<'py, PyArray1<i64>>)>, PyFailure> {
        let Some(Batch { images, labels, targets }) = self.epoch.next() else { return Ok(None) };
        classes(&targets)?;
        let (height, width, channels) = self.shape;
        let images = Array4::from_shape_vec((labels.len(), height, width, channels), images)?;
        let labels = PyArray1::from_iter(py, labels.into_iter().map(i64::from));
        Ok(Some((images.into_pyarray(py), labels)))
    }

    fn __len__(&self) -> usize {
        self.epoch.len()
    }
}

/// Batches from Python are of classes; a regression has targets.
fn classes(targets: &[f32]) -> Result<(), PyFailure> {
    if targets.is_empty() {
        Ok(())
    } else {
        Err(refuse("data must have classes to be trained from Python, got a regression"))
    }
}
