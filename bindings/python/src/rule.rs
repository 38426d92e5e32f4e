//! Update rules.

use std::path::Path;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use residuum::rule::MAX_LINKS;
use residuum::{Gradient, Rates, Rule};
use residuum_lab::spec::{Document, Setup, SpecKind};
use serde_json::{Value, json};

use crate::array::{busy, device_words, is_single, matrix_shape};
use crate::error::{PyFailure, refuse};
use crate::key::PyKey;
use crate::numpy_io::{Real, from_dict, numbers, readonly, shaped, to_dict, writable};
use crate::threads::compute;
use crate::value::{from_python, to_python};

/// In the two precisions.
pub enum RuleIn {
    F32(Box<dyn Rule<f32>>),
    F64(Box<dyn Rule<f64>>),
}

macro_rules! both {
    ($inner:expr, $rule:ident => $body:expr) => {
        match $inner {
            RuleIn::F32($rule) => $body,
            RuleIn::F64($rule) => $body,
        }
    };
}

/// An optimisation algorithm on its arrays: every rule, device and preset that a spec can name.
///
/// `rule` is a dict in the words of `[rule]` of a spec, such as `{"kind": "analog", "learning_rate": 0.1}`, or the kind alone;
/// `device` is as for `Array`, or a dict of `main` and `residual`. `weights` is where it starts, a matrix or a vector (one
/// column). Take the gradient at `effective_weights`, then call `step`; rates are arguments of a step, the rule's own by default.
#[pyclass(name = "Rule", module = "residuum")]
pub struct PyRule {
    pub inner: RuleIn,
    setup: Setup,
    words: Value,
    shape: [usize; 2],
    key: PyKey,
    pub steps: u64,
}

/// The rates of a step, as Python gives them.
#[derive(FromPyObject)]
pub enum TransferRate {
    One(f64),
    Each(Vec<f64>),
}

fn build(
    words: &Value,
    dtype: Option<&str>,
    weights: &[f64],
    shape: [usize; 2],
    key: PyKey,
) -> Result<(RuleIn, Setup), PyFailure> {
    let setup = Setup::of(&Document::from_value(words)?, SpecKind::Problem, Path::new("."))?;
    let inner = if is_single(dtype, setup.is_single())? {
        RuleIn::F32(setup.rule_f32(shape, weights, key.inner())?)
    } else {
        RuleIn::F64(setup.rule_f64(shape, weights, key.inner())?)
    };
    Ok((inner, setup))
}

impl PyRule {
    /// The rates of the next step: those given, or the rule's own.
    pub fn rates(
        &self,
        k: u64,
        learning_rate: Option<f64>,
        transfer_rate: Option<&TransferRate>,
    ) -> Result<Rates, PyFailure> {
        let mut rates = self.setup.rates().at(k);
        match learning_rate {
            Some(rate) if !(rate >= 0.0 && rate.is_finite()) => {
                return Err(refuse(format!("learning_rate must be at least 0 and finite, got {rate}")));
            }
            Some(_) if self.setup.rule.learning_rate.is_none() => {
                let name = self.setup.rule.name;
                return Err(refuse(format!(
                    "learning_rate must not be given for kind = {name:?}, which has none"
                )));
            }
            Some(rate) => rates.learning = rate,
            None if !self.setup.has_learning_rate => {
                return Err(refuse("learning_rate must be given, here or in the rule"));
            }
            None => {}
        }
        let given = match transfer_rate {
            None if !self.setup.has_transfer_rate => {
                return Err(refuse("transfer_rate must be given, here or in the rule"));
            }
            None => return Ok(rates),
            Some(_) if !self.setup.rule.has_residual() => {
                let name = self.setup.rule.name;
                return Err(refuse(format!(
                    "transfer_rate must not be given for kind = {name:?}, which has no transfers"
                )));
            }
            Some(TransferRate::One(rate)) => vec![*rate; MAX_LINKS],
            Some(TransferRate::Each(each)) if (1..=MAX_LINKS).contains(&each.len()) => each.clone(),
            Some(TransferRate::Each(each)) => {
                return Err(refuse(format!(
                    "transfer_rate must have 1 to {MAX_LINKS} entries, got {}",
                    each.len()
                )));
            }
        };
        if let Some(rate) = given.iter().find(|rate| !(**rate >= 0.0 && rate.is_finite())) {
            return Err(refuse(format!("transfer_rate must be at least 0 and finite, got {rate}")));
        }
        let last = given.last().copied().unwrap_or(0.0);
        for (n, rate) in rates.transfer.iter_mut().enumerate() {
            *rate = given.get(n).copied().unwrap_or(last);
        }
        Ok(rates)
    }

    /// The given key, or that of this step.
    fn step_key(&self, key: Option<PyKey>) -> residuum::Key {
        key.map_or_else(|| self.key.inner().named("step").fold(self.steps), PyKey::inner)
    }
}

fn take<T: Real>(
    py: Python<'_>,
    rule: &mut dyn Rule<T>,
    gradient: Gradient<'_, T>,
    rates: &Rates,
    key: residuum::Key,
) -> Result<(), PyFailure> {
    // A rule refuses what its arrays refuse; digital memory takes anything.
    match gradient {
        Gradient::Dense(values) => T::all_finite("gradient", values)?,
        Gradient::Outer { errors, inputs, .. } => {
            T::all_finite("errors", errors)?;
            T::all_finite("inputs", inputs)?;
        }
    }
    Ok(compute(py, || rule.step(gradient, rates, key))??)
}

fn dense<T: Real>(
    rule: &mut dyn Rule<T>,
    gradient: &Bound<'_, PyAny>,
    rates: &Rates,
    key: residuum::Key,
) -> Result<(), PyFailure> {
    let py = gradient.py();
    let gradient = readonly::<T>("gradient", gradient)?;
    let values = gradient.as_slice().map_err(|e| refuse(format!("gradient: {e}")))?;
    let expected = rule.effective_weights().len();
    if values.len() != expected {
        return Err(refuse(format!("gradient must have {expected} entries, got {}", values.len())));
    }
    take(py, rule, Gradient::Dense(values), rates, key)
}

fn outer<T: Real>(
    rule: &mut dyn Rule<T>,
    [errors, inputs]: [&Bound<'_, PyAny>; 2],
    shape: [usize; 2],
    rates: &Rates,
    key: residuum::Key,
) -> Result<(), PyFailure> {
    let py = errors.py();
    let (errors, inputs) = (readonly::<T>("errors", errors)?, readonly::<T>("inputs", inputs)?);
    for (name, array, n) in [("errors", &errors, shape[0]), ("inputs", &inputs, shape[1])] {
        let last = array.as_array().shape().last().copied().unwrap_or(0);
        if last != n {
            return Err(refuse(format!("{name} must have {n} entries per sample, got {last}")));
        }
    }
    let slice = |name: &str, e: numpy::AsSliceError| refuse(format!("{name}: {e}"));
    let errors = errors.as_slice().map_err(|e| slice("errors", e))?;
    let inputs = inputs.as_slice().map_err(|e| slice("inputs", e))?;
    let batch = errors.len() / shape[0].max(1);
    if inputs.len() != batch * shape[1] {
        let given = inputs.len() / shape[1].max(1);
        return Err(refuse(format!("inputs must have as many samples as errors, {batch}, got {given}")));
    }
    take(py, rule, Gradient::Outer { batch, errors, inputs }, rates, key)
}

#[pymethods]
impl PyRule {
    #[new]
    #[pyo3(signature = (rule, weights, device = None, *, key = PyKey::from(residuum::Key::new(0)), readout = None, dtype = None))]
    fn new(
        rule: &Bound<'_, PyAny>,
        weights: &Bound<'_, PyAny>,
        device: Option<&Bound<'_, PyAny>>,
        key: PyKey,
        readout: Option<&Bound<'_, PyAny>>,
        dtype: Option<&str>,
    ) -> Result<Self, PyFailure> {
        let rule = match from_python(rule, "rule")? {
            Value::String(kind) => json!({ "kind": kind }),
            words => words,
        };
        let mut words = json!({ "rule": rule });
        if let Some(device) = device {
            words["device"] = device_words(device)?;
        }
        if let Some(readout) = readout {
            words["readout"] = from_python(readout, "readout")?;
        }
        let (weights, shape) = numbers("weights", weights)?;
        let shape = matrix_shape("weights", &shape)?;
        let (inner, setup) = build(&words, dtype, &weights, shape, key)?;
        Ok(Self { inner, setup, words, shape, key, steps: 0 })
    }

    /// Rows and columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.shape[0], self.shape[1])
    }

    /// "float32" or "float64".
    #[getter]
    fn dtype(&self) -> &'static str {
        match &self.inner {
            RuleIn::F32(_) => "float32",
            RuleIn::F64(_) => "float64",
        }
    }

    /// Steps taken.
    #[getter]
    fn steps(&self) -> u64 {
        self.steps
    }

    /// Name for tables and legends.
    #[getter]
    fn label(&self) -> String {
        both!(&self.inner, rule => rule.label())
    }

    /// W̄, where the gradient is to be taken: a copy, or written into `out` without one.
    #[pyo3(signature = (out = None))]
    fn effective_weights<'py>(
        &self,
        py: Python<'py>,
        out: Option<Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>, PyFailure> {
        fn give<'py, T: Real>(
            py: Python<'py>,
            weights: &[T],
            shape: [usize; 2],
            out: Option<Bound<'py, PyAny>>,
        ) -> Result<Bound<'py, PyAny>, PyFailure> {
            let Some(out) = out else {
                return Ok(shaped(py, weights.to_vec(), &shape)?.into_any());
            };
            let mut array = writable::<T>("out", &out)?;
            let to = array.as_slice_mut().map_err(|e| refuse(format!("out: {e}")))?;
            if to.len() != weights.len() {
                return Err(refuse(format!("out must have {} entries, got {}", weights.len(), to.len())));
            }
            to.copy_from_slice(weights);
            drop(array);
            Ok(out)
        }
        both!(&self.inner, rule => give(py, rule.effective_weights(), self.shape, out))
    }

    /// One iteration, given the gradient at the effective weights, one entry for each. Nothing moves if the step is refused.
    #[pyo3(signature = (gradient, *, learning_rate = None, transfer_rate = None, key = None))]
    fn step(
        slf: &Bound<'_, Self>,
        gradient: &Bound<'_, PyAny>,
        learning_rate: Option<f64>,
        transfer_rate: Option<TransferRate>,
        key: Option<PyKey>,
    ) -> Result<(), PyFailure> {
        let mut own = slf.try_borrow_mut().map_err(|_| busy("rule"))?;
        let rates = own.rates(own.steps, learning_rate, transfer_rate.as_ref())?;
        let key = own.step_key(key);
        both!(&mut own.inner, rule => dense(&mut **rule, gradient, &rates, key))?;
        own.steps += 1;
        Ok(())
    }

    /// The same, given the gradient as factors: Σ errors inputsᵀ, a row of each for every sample.
    #[pyo3(signature = (errors, inputs, *, learning_rate = None, transfer_rate = None, key = None))]
    fn step_outer(
        slf: &Bound<'_, Self>,
        errors: &Bound<'_, PyAny>,
        inputs: &Bound<'_, PyAny>,
        learning_rate: Option<f64>,
        transfer_rate: Option<TransferRate>,
        key: Option<PyKey>,
    ) -> Result<(), PyFailure> {
        let mut own = slf.try_borrow_mut().map_err(|_| busy("rule"))?;
        let rates = own.rates(own.steps, learning_rate, transfer_rate.as_ref())?;
        let (key, shape) = (own.step_key(key), own.shape);
        both!(&mut own.inner, rule => outer(&mut **rule, [errors, inputs], shape, &rates, key))?;
        own.steps += 1;
        Ok(())
    }

    /// Writes a state at set-up: the main array becomes `weights`, residual arrays their symmetric points, digital memory 0.
    #[pyo3(signature = (weights, *, key = None))]
    fn program(slf: &Bound<'_, Self>, weights: &Bound<'_, PyAny>, key: Option<PyKey>) -> Result<(), PyFailure> {
        fn run<T: Real>(
            py: Python<'_>,
            rule: &mut dyn Rule<T>,
            values: &[f64],
            key: residuum::Key,
        ) -> Result<(), PyFailure> {
            let values: Vec<T> = values.iter().map(|w| T::from_f64(*w)).collect();
            Ok(compute(py, || rule.program(&values, key))??)
        }
        let mut own = slf.try_borrow_mut().map_err(|_| busy("rule"))?;
        let (values, _) = numbers("weights", weights)?;
        let key = key.map_or_else(|| own.key.inner().named("program"), PyKey::inner);
        both!(&mut own.inner, rule => run(slf.py(), &mut **rule, &values, key))
    }

    /// Lets a mini-batch of time pass for cells that leak, diffuse or drift.
    #[pyo3(signature = (*, key = None))]
    fn age(slf: &Bound<'_, Self>, key: Option<PyKey>) -> Result<(), PyFailure> {
        let mut own = slf.try_borrow_mut().map_err(|_| busy("rule"))?;
        let key = key.map_or_else(|| own.key.inner().named("age").fold(own.steps), PyKey::inner);
        both!(&mut own.inner, rule => compute(slf.py(), || rule.age(key)))
    }

    /// Copies of the weights of each array by name, `main` first, and of sums in digital memory.
    #[getter]
    fn states<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let cells = self.shape[0] * self.shape[1];
        both!(&self.inner, rule => {
            for (name, state) in rule.states() {
                let shape = if state.len() == cells { self.shape.to_vec() } else { vec![state.len()] };
                dict.set_item(name, shaped(py, state.to_vec(), &shape)?)?;
            }
        });
        Ok(dict)
    }

    /// Pulses sent so far by all arrays.
    #[getter]
    fn pulses_sent(&self) -> u64 {
        both!(&self.inner, rule => rule.pulses_sent())
    }

    /// Bounds of the main array's cells, on average.
    #[getter]
    fn range(&self) -> Option<(f64, f64)> {
        let [lo, hi] = match &self.inner {
            RuleIn::F32(rule) => rule.range()?.map(f64::from),
            RuleIn::F64(rule) => rule.range()?,
        };
        Some((lo, hi))
    }

    /// Every number that a later step depends on, by name.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut tensors = both!(&self.inner, rule => rule.tensors());
        tensors.count("steps_taken", self.steps);
        to_dict(py, &tensors)
    }

    /// Puts a state back into a rule that was made the same way; it then continues to the bit.
    fn load_state_dict(&mut self, state: &Bound<'_, PyDict>) -> Result<(), PyFailure> {
        let tensors = from_dict(state)?;
        let mut steps = self.steps;
        tensors.read_count("steps_taken", &mut steps);
        let tensors = tensors.filtered(|name| name != "steps_taken");
        both!(&mut self.inner, rule => rule.load(&tensors))?;
        self.steps = steps;
        Ok(())
    }

    /// A rule from what `__reduce__` kept.
    #[classmethod]
    fn _restore(
        _: &Bound<'_, PyType>,
        words: &Bound<'_, PyAny>,
        dtype: &str,
        shape: (usize, usize),
        key: PyKey,
        state: &Bound<'_, PyDict>,
    ) -> Result<Self, PyFailure> {
        let (words, shape) = (from_python(words, "")?, [shape.0, shape.1]);
        let setup = Setup::of(&Document::from_value(&words)?, SpecKind::Problem, Path::new("."))?;
        let range = setup.devices.as_ref().and_then(|devices| devices.main.range());
        let middle = range.map_or(0.0, |[lo, hi]| 0.0f64.clamp(lo, hi));
        let (inner, setup) = build(&words, Some(dtype), &vec![middle; shape[0] * shape[1]], shape, key)?;
        let mut rule = Self { inner, setup, words, shape, key, steps: 0 };
        rule.load_state_dict(state)?;
        Ok(rule)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(
        Bound<'py, PyAny>,
        (Bound<'py, PyAny>, &'static str, (usize, usize), PyKey, Bound<'py, PyDict>),
    )> {
        let (py, own) = (slf.py(), slf.try_borrow().map_err(|_| PyErr::from(busy("rule")))?);
        let kept = (to_python(py, &own.words)?, own.dtype(), own.shape(), own.key, own.state_dict(py)?);
        Ok((slf.get_type().getattr("_restore")?, kept))
    }

    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (restore, kept) = Self::__reduce__(slf)?;
        restore.call1(kept)
    }

    fn __repr__(&self) -> String {
        format!(
            "<residuum.Rule: {}, {} × {} weights, {}>",
            self.label(),
            self.shape[0],
            self.shape[1],
            self.dtype()
        )
    }
}
