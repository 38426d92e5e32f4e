//! Problems, and the loop that minimises them.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use residuum::rule::RatePlan;
use residuum::{Control, GradientOracle, Key, Noisy, Objective, Rates, Rule, Scalar, minimize_observed};
use residuum_lab::spec::{Document, noisy_problem};
use serde_json::{Map, Value};

use crate::array::busy;
use crate::error::{PyFailure, refuse};
use crate::key::PyKey;
use crate::numpy_io::{numbers, vector};
use crate::rule::{PyRule, RuleIn, TransferRate};
use crate::threads::{StopRequest, compute, watched};
use crate::value::from_python;

/// Unwinds from a callback that raised an exception.
struct Raised;

/// An objective written in Python.
struct PyObjective {
    dim: usize,
    gradient: Py<PyAny>,
    value: Option<Py<PyAny>>,
    minimizer: Option<Vec<f64>>,
    /// The first exception of a callback; the loop then stops.
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl PyObjective {
    /// Calls Python. What it raises is kept, and unwinds out of the loop before a rule moves: gradients have no errors.
    fn call(&self, name: &str, function: &Py<PyAny>, w: &[f64], entries: usize) -> Vec<f64> {
        Python::attach(|py| {
            let answer = function.call1(py, (vector(py, w.to_vec()),)).map_err(PyFailure::from);
            let answer = answer.and_then(|answer| {
                let (values, _) = numbers(name, answer.bind(py))?;
                if values.len() == entries {
                    return Ok(values);
                }
                Err(refuse(format!("{name} must have {entries} entries, got {}", values.len())))
            });
            answer.unwrap_or_else(|failure| {
                let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
                raised.get_or_insert(failure.into());
                drop(raised);
                resume_unwind(Box::new(Raised))
            })
        })
    }
}

impl Objective for PyObjective {
    fn dim(&self) -> usize {
        self.dim
    }

    fn value(&self, w: &[f64]) -> f64 {
        self.value.as_ref().map_or(f64::NAN, |value| self.call("value", value, w, 1)[0])
    }

    fn gradient(&self, w: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.call("gradient", &self.gradient, w, self.dim));
    }

    fn describe(&self) -> String {
        "a function in Python".into()
    }

    fn minimizer(&self) -> Option<&[f64]> {
        self.minimizer.as_deref()
    }
}

/// An objective and the noise of its gradients.
///
/// `problem` is a dict in the words of `[problem]` of a spec, `noise` one in those of `[noise]`. An objective of one's own is
/// `Problem.of(gradient, dim)`.
#[pyclass(name = "Problem", frozen, module = "residuum")]
pub struct PyProblem {
    inner: Noisy,
    raised: Option<Arc<Mutex<Option<PyErr>>>>,
}

impl PyProblem {
    pub fn noisy(&self) -> &Noisy {
        &self.inner
    }

    /// Evaluates something of the objective; what a callback raised is the error.
    pub fn evaluate<R>(&self, work: impl FnOnce() -> R) -> Result<R, PyFailure> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(result) => Ok(result),
            Err(payload) if payload.is::<Raised>() => {
                let raised = self.raised.as_ref();
                let raised = raised.and_then(|r| r.lock().unwrap_or_else(PoisonError::into_inner).take());
                Err(raised.map_or_else(|| refuse("the objective raised an exception"), PyFailure::from))
            }
            Err(payload) => resume_unwind(payload),
        }
    }
}

#[pymethods]
impl PyProblem {
    #[new]
    #[pyo3(signature = (problem, noise = None, *, key = PyKey::from(Key::new(0))))]
    fn new(
        problem: &Bound<'_, PyAny>,
        noise: Option<&Bound<'_, PyAny>>,
        key: PyKey,
    ) -> Result<Self, PyFailure> {
        let mut words = Map::from_iter([("problem".to_string(), from_python(problem, "problem")?)]);
        if let Some(noise) = noise {
            words.insert("noise".into(), from_python(noise, "noise")?);
        }
        let document = Document::from_value(&Value::Object(words))?;
        Ok(Self { inner: noisy_problem(&document, None, Path::new("."), key.inner())?, raised: None })
    }

    /// An objective in Python: `gradient(w)` takes and returns an array of `dim` numbers. `value(w)` and the minimiser W* serve
    /// the theory.
    #[staticmethod]
    #[pyo3(signature = (gradient, dim, *, noise = None, value = None, minimizer = None))]
    fn of(
        gradient: Py<PyAny>,
        dim: usize,
        noise: Option<&Bound<'_, PyAny>>,
        value: Option<Py<PyAny>>,
        minimizer: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self, PyFailure> {
        if dim == 0 {
            return Err(refuse("dim must be at least 1, got 0"));
        }
        let minimizer = minimizer.map(|m| numbers("minimizer", m)).transpose()?.map(|(values, _)| values);
        if let Some(minimizer) = minimizer.as_ref().filter(|m| m.len() != dim) {
            return Err(refuse(format!("minimizer must have {dim} entries, got {}", minimizer.len())));
        }
        let mut words = Map::new();
        if let Some(noise) = noise {
            words.insert("noise".into(), from_python(noise, "noise")?);
        }
        let raised = Arc::new(Mutex::new(None));
        let own = PyObjective { dim, gradient, value, minimizer, raised: raised.clone() };
        let document = Document::from_value(&Value::Object(words))?;
        let inner = noisy_problem(&document, Some(Arc::new(own)), Path::new("."), Key::new(0))?;
        Ok(Self { inner, raised: Some(raised) })
    }

    /// Number of weights.
    #[getter]
    fn dim(&self) -> usize {
        self.inner.objective().dim()
    }

    /// f(w).
    fn value(&self, py: Python<'_>, w: &Bound<'_, PyAny>) -> Result<f64, PyFailure> {
        let w = self.point("w", w)?;
        py.detach(|| self.evaluate(|| self.inner.objective().value(&w)))
    }

    /// ∇f(w), without noise.
    fn gradient<'py>(&self, py: Python<'py>, w: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, PyFailure> {
        let (w, mut out) = (self.point("w", w)?, vec![0.0; self.dim()]);
        py.detach(|| self.evaluate(|| self.inner.objective().gradient(&w, &mut out)))?;
        Ok(vector(py, out).into_any())
    }

    /// W*, if it is known.
    #[getter]
    fn minimizer<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        Some(vector(py, self.inner.objective().minimizer()?.to_vec()).into_any())
    }

    fn __repr__(&self) -> String {
        format!("<residuum.Problem: {}; {}>", self.inner.objective().describe(), self.inner.noise().describe())
    }
}

impl PyProblem {
    /// Weights of the right number.
    pub fn point(&self, name: &str, w: &Bound<'_, PyAny>) -> Result<Vec<f64>, PyFailure> {
        let (w, _) = numbers(name, w)?;
        if w.len() != self.dim() {
            return Err(refuse(format!("{name} must have {} entries, got {}", self.dim(), w.len())));
        }
        Ok(w)
    }
}

/// The rates of some of the rules, step by step.
struct Looked<'a> {
    rates: &'a [Vec<Rates>],
    of: Vec<usize>,
    first: u64,
}

impl RatePlan for Looked<'_> {
    fn rates(&self, rule: usize, k: u64) -> Rates {
        self.rates[self.of[rule]][(k - self.first) as usize]
    }
}

/// Most steps for which rates are looked up at a time.
const CHUNK: u64 = 1024;
/// Fewer steps than this are not worth a thread that waits for Ctrl-C.
const FEW: u64 = 64;

/// Runs rules side by side on a problem for `steps` steps, on common random numbers, and continues where the last call ended.
///
/// Without rates, each rule has its own. `observe(k, rules)` is called before the first step and after every `every` steps; if it
/// returns False the run ends. Returns the number of steps that the rules have taken.
#[pyfunction]
#[pyo3(signature = (problem, rules, steps, *, key = PyKey::from(Key::new(0)), learning_rate = None, transfer_rate = None, observe = None, every = 1))]
#[allow(clippy::too_many_arguments)]
pub fn minimize(
    py: Python<'_>,
    problem: &Bound<'_, PyProblem>,
    rules: Vec<Bound<'_, PyRule>>,
    steps: u64,
    key: PyKey,
    learning_rate: Option<f64>,
    transfer_rate: Option<TransferRate>,
    observe: Option<Py<PyAny>>,
    every: u64,
) -> Result<u64, PyFailure> {
    let Some(first) = rules.first() else { return Err(refuse("rules must have at least one rule")) };
    if every == 0 {
        return Err(refuse("every must be at least 1, got 0"));
    }
    let mut taken = first.try_borrow().map_err(|_| busy("rule"))?.steps;
    let end = taken.saturating_add(steps);
    let look = |k: u64| -> Result<bool, PyFailure> {
        let Some(observe) = &observe else { return Ok(true) };
        let answer = observe.call1(py, (k, rules.clone()))?;
        Ok(answer.is_none(py) || answer.is_truthy(py)?)
    };
    if taken == 0 && !look(0)? {
        return Ok(0);
    }
    let mut next = taken + every - taken % every;
    while taken < end {
        // Up to the next look, but never so far that the rates of a schedule take much memory.
        let until = end.min(taken + CHUNK).min(next);
        advance(py, problem, &rules, taken..until, key, learning_rate, transfer_rate.as_ref())?;
        taken = until;
        if taken == next {
            next += every;
            if !look(taken)? {
                break;
            }
        }
    }
    Ok(taken)
}

fn advance(
    py: Python<'_>,
    problem: &Bound<'_, PyProblem>,
    rules: &[Bound<'_, PyRule>],
    steps: std::ops::Range<u64>,
    key: PyKey,
    learning_rate: Option<f64>,
    transfer_rate: Option<&TransferRate>,
) -> Result<(), PyFailure> {
    let problem = problem.get();
    let mut own = rules
        .iter()
        .map(|rule| rule.try_borrow_mut().map_err(|_| busy("rule")))
        .collect::<Result<Vec<_>, _>>()?;
    let mut rates = Vec::new();
    for rule in &own {
        if rule.steps != steps.start {
            let (expected, given) = (steps.start, rule.steps);
            return Err(refuse(format!(
                "rules must have taken equally many steps, got {expected} and {given}"
            )));
        }
        let each = steps.clone().map(|k| rule.rates(k, learning_rate, transfer_rate));
        rates.push(each.collect::<Result<Vec<_>, _>>()?);
    }
    let (mut single, mut double): (Vec<&mut dyn Rule<f32>>, Vec<&mut dyn Rule<f64>>) = (Vec::new(), Vec::new());
    let mut place = Vec::new();
    for (n, rule) in own.iter_mut().enumerate() {
        match &mut rule.inner {
            RuleIn::F32(rule) => {
                place.push((true, n));
                single.push(&mut **rule);
            }
            RuleIn::F64(rule) => {
                place.push((false, n));
                double.push(&mut **rule);
            }
        }
    }
    let of = |is_single: bool| Looked {
        rates: &rates,
        of: place.iter().filter(|(s, _)| *s == is_single).map(|(_, n)| *n).collect(),
        first: steps.start,
    };
    let (of_single, of_double) = (of(true), of(false));
    // Steps that both groups have taken, whatever stops them.
    let reached = [AtomicU64::new(steps.start), AtomicU64::new(steps.start)];
    let work = |watch: &StopRequest| {
        let looks = [0, 1].map(|group: usize| {
            let reached = &reached[group];
            move |k: u64| {
                reached.store(k, Ordering::Relaxed);
                if watch.cancelled() { Control::Stop } else { Control::Continue }
            }
        });
        let [mut of_f32, mut of_f64] = looks;
        problem.evaluate(|| {
            run(&problem.inner, single, &of_single, steps.clone(), key.inner(), &mut of_f32)?;
            run(&problem.inner, double, &of_double, steps.clone(), key.inner(), &mut of_f64)
        })
    };
    let done = if steps.end - steps.start < FEW {
        py.check_signals()?;
        compute(py, || work(&StopRequest::default()))
    } else {
        watched(py, work, |_| Ok(()))
    };
    for rule in &mut own {
        let group = usize::from(matches!(rule.inner, RuleIn::F64(_)));
        rule.steps = reached[group].load(Ordering::Relaxed);
    }
    done???;
    Ok(())
}

fn run<T: Scalar>(
    oracle: &dyn GradientOracle,
    mut rules: Vec<&mut dyn Rule<T>>,
    rates: &dyn RatePlan,
    steps: std::ops::Range<u64>,
    key: Key,
    stop: &mut dyn FnMut(u64) -> Control,
) -> Result<(), PyFailure> {
    if rules.is_empty() {
        return Ok(());
    }
    let mut look = |k: u64, _: usize, _: &dyn Rule<T>| stop(k);
    minimize_observed(oracle, &mut rules, rates, steps, key, &mut look)?;
    Ok(())
}
