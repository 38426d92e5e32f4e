//! What the mathematics predicts.

use std::path::Path;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use residuum::cells::Cells;
use residuum::theory::coefficients::{Coefficients, Problem};
use residuum::theory::fixed_point::{MeanDrift, predict_drift};
use residuum::theory::implicit_penalty::ImplicitPenalty;
use residuum::theory::magnitude::{Sampling, gradient_magnitude};
use residuum::theory::practical::practical_rates;
use residuum::theory::residual_law::{LawRates, LocalModel};
use residuum::theory::zero_shift::CyclePrediction;
use residuum::{Bounds, Range};
use residuum_lab::spec::{ArraySetup, Document, SpecKind};
use serde_json::json;

use crate::array::device_words;
use crate::error::{PyFailure, refuse};
use crate::key::PyKey;
use crate::numpy_io::vector;
use crate::problem::PyProblem;
use crate::response::response_of;
use crate::threads::compute;

/// The cells of a device, for the theory: exact ones.
fn cells(device: &Bound<'_, PyAny>, n: usize, key: PyKey) -> Result<Arc<dyn Cells>, PyFailure> {
    let mut words = device_words(device)?;
    if let Some(fields) = words.as_object_mut() {
        fields.entry("array").or_insert_with(|| "exact".into());
    }
    let document = Document::from_value(&json!({ "device": words }))?;
    let setup = ArraySetup::of(&document, SpecKind::Problem, Path::new("."))?;
    Ok(setup.device.cells(n, key.inner().named("device"))?)
}

/// Where Analog SGD ends: `minimizer` W*, `penalized_minimizer` W̃* to leading order, `fixed_point`, the zero of T, and
/// `symmetric_point` W⋄, to which noise pulls.
#[pyfunction]
#[pyo3(name = "predict_drift", signature = (problem, device, *, key = PyKey::from(residuum::Key::new(0))))]
pub fn drift<'py>(
    py: Python<'py>,
    problem: &Bound<'py, PyProblem>,
    device: &Bound<'py, PyAny>,
    key: PyKey,
) -> Result<Bound<'py, PyDict>, PyFailure> {
    let own = problem.get();
    let cells = cells(device, own.noisy().objective().dim(), key)?;
    let found =
        compute(py, || own.evaluate(|| predict_drift(own.noisy(), &*cells, Sampling::new(key.inner()))))???;
    let dict = PyDict::new(py);
    dict.set_item("minimizer", vector(py, found.minimizer))?;
    dict.set_item("penalized_minimizer", vector(py, found.penalized_minimizer))?;
    dict.set_item("fixed_point", vector(py, found.fixed_point))?;
    dict.set_item("symmetric_point", vector(py, found.symmetric_point))?;
    Ok(dict)
}

/// T(w) = E∇f + E|∇f| ⊙ R(w), the mean drift of Analog SGD.
#[pyfunction]
#[pyo3(signature = (problem, device, w, *, key = PyKey::from(residuum::Key::new(0))))]
pub fn mean_drift<'py>(
    py: Python<'py>,
    problem: &Bound<'py, PyProblem>,
    device: &Bound<'py, PyAny>,
    w: &Bound<'py, PyAny>,
    key: PyKey,
) -> Result<Bound<'py, PyAny>, PyFailure> {
    let own = problem.get();
    let w = own.point("w", w)?;
    let cells = cells(device, w.len(), key)?;
    let mut out = vec![0.0; w.len()];
    let drift = MeanDrift::new(own.noisy(), &*cells, Sampling::new(key.inner()))?;
    compute(py, || own.evaluate(|| drift.mean_drift(&w, &mut out)))??;
    Ok(vector(py, out).into_any())
}

/// The zeros of T over a range, for a problem of one weight: pairs of the weight and whether Analog SGD returns to it.
#[pyfunction]
#[pyo3(signature = (problem, device, range, *, key = PyKey::from(residuum::Key::new(0))))]
pub fn drift_zeros(
    py: Python<'_>,
    problem: &Bound<'_, PyProblem>,
    device: &Bound<'_, PyAny>,
    range: (f64, f64),
    key: PyKey,
) -> Result<Vec<(f64, bool)>, PyFailure> {
    let own = problem.get();
    let range = Range::new(range.0, range.1)?;
    let cells = cells(device, 1, key)?;
    let drift = MeanDrift::new(own.noisy(), &*cells, Sampling::new(key.inner()))?;
    let zeros = compute(py, || own.evaluate(|| drift.zeros(range)))???;
    Ok(zeros.into_iter().map(|zero| (zero.weight, zero.stable)).collect())
}

/// The implicit penalty: `implicit_penalty` φ(w) and `penalized_objective` f_Σ(w) at weights, with the `gradient_magnitude` Σ,
/// `minimizer`, `symmetric_point` and `penalized_minimizer` behind them.
#[pyfunction]
#[pyo3(signature = (problem, device, w, *, key = PyKey::from(residuum::Key::new(0))))]
pub fn implicit_penalty<'py>(
    py: Python<'py>,
    problem: &Bound<'py, PyProblem>,
    device: &Bound<'py, PyAny>,
    w: &Bound<'py, PyAny>,
    key: PyKey,
) -> Result<Bound<'py, PyDict>, PyFailure> {
    let own = problem.get();
    let w = own.point("w", w)?;
    let cells = cells(device, w.len(), key)?;
    let look = || {
        let penalty = ImplicitPenalty::new(own.noisy(), &*cells, Sampling::new(key.inner()))?;
        let minimizer = penalty.penalized_minimizer()?;
        Ok::<_, PyFailure>((penalty.implicit_penalty(&w), penalty.penalized_objective(&w), minimizer, penalty))
    };
    let (phi, objective, penalized, penalty) = compute(py, || own.evaluate(look))???;
    let dict = PyDict::new(py);
    dict.set_item("implicit_penalty", phi)?;
    dict.set_item("penalized_objective", objective)?;
    dict.set_item("penalized_minimizer", vector(py, penalized))?;
    dict.set_item("minimizer", vector(py, penalty.minimizer().to_vec()))?;
    dict.set_item("symmetric_point", vector(py, penalty.symmetric_point().to_vec()))?;
    dict.set_item("gradient_magnitude", vector(py, penalty.gradient_magnitude().value.clone()))?;
    Ok(dict)
}

/// Σ = E|∇f(w; ξ)| by coordinate.
#[pyfunction]
#[pyo3(name = "gradient_magnitude", signature = (problem, w, *, key = PyKey::from(residuum::Key::new(0))))]
pub fn magnitude<'py>(
    py: Python<'py>,
    problem: &Bound<'py, PyProblem>,
    w: &Bound<'py, PyAny>,
    key: PyKey,
) -> Result<Bound<'py, PyAny>, PyFailure> {
    let own = problem.get();
    let w = own.point("w", w)?;
    let found =
        compute(py, || own.evaluate(|| gradient_magnitude(own.noisy(), &w, Sampling::new(key.inner()))))??;
    Ok(vector(py, found.value).into_any())
}

/// The stationary law of Residual Learning on one coordinate of curvature h with noise σ at a minimiser, under constant rates.
#[pyfunction]
#[pyo3(signature = (device, *, curvature, deviation, minimizer, learning_rate, transfer_rate, mixing, residual = None))]
#[allow(clippy::too_many_arguments)]
pub fn stationary_law<'py>(
    py: Python<'py>,
    device: &Bound<'py, PyAny>,
    curvature: f64,
    deviation: f64,
    minimizer: f64,
    learning_rate: f64,
    transfer_rate: f64,
    mixing: f64,
    residual: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyDict>, PyFailure> {
    let main = response_of(&device_words(device)?)?;
    let residual =
        residual.map(|r| response_of(&device_words(r)?)).transpose()?.unwrap_or_else(|| main.clone());
    let law = LocalModel::new(curvature, deviation, minimizer, &*residual, &*main)?.stationary(LawRates {
        learning_rate,
        transfer_rate,
        mixing,
    })?;
    let dict = PyDict::new(py);
    for (name, value) in [
        ("residual_bias", law.residual_bias),
        ("leading_residual_bias", law.leading_residual_bias),
        ("residual_deviation", law.residual_deviation),
        ("main_bias", law.main_bias),
        ("main_deviation", law.main_deviation),
        ("effective_bias", law.effective_bias),
        ("effective_deviation", law.effective_deviation),
        ("fast_rate", law.fast_rate),
        ("slow_rate", law.slow_rate),
        ("lyapunov", law.lyapunov),
    ] {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

fn lemma(
    strong_convexity: f64,
    smoothness: f64,
    noise: f64,
    bounds: Bounds,
    steps: u64,
    initial_lyapunov: f64,
) -> Problem {
    Problem { strong_convexity, smoothness, noise, bounds, steps, initial_lyapunov }
}

/// The rates that the coefficient lemma of the convergence theorem chooses, with its guarantee and every condition. `bounds` is
/// that of `Response.bounds`, `noise` the total σ over coordinates.
#[pyfunction]
#[pyo3(signature = (*, strong_convexity, smoothness, noise, bounds, steps, initial_lyapunov, mixing = None))]
#[allow(clippy::too_many_arguments)]
pub fn coefficients<'py>(
    py: Python<'py>,
    strong_convexity: f64,
    smoothness: f64,
    noise: f64,
    bounds: &Bound<'py, PyDict>,
    steps: u64,
    initial_lyapunov: f64,
    mixing: Option<f64>,
) -> Result<Bound<'py, PyDict>, PyFailure> {
    let problem = lemma(strong_convexity, smoothness, noise, given(bounds)?, steps, initial_lyapunov);
    let Coefficients { rates, contraction, log_argument, lyapunov_bound, conditions } = match mixing {
        Some(mixing) => problem.coefficients_with_mixing(mixing)?,
        None => problem.coefficients()?,
    };
    let dict = PyDict::new(py);
    for (name, value) in [
        ("learning_rate", rates.learning_rate),
        ("transfer_rate", rates.transfer_rate),
        ("mixing", rates.mixing),
        ("weight", rates.weight),
        ("contraction", contraction),
        ("log_argument", log_argument),
        ("lyapunov_bound", lyapunov_bound),
    ] {
        dict.set_item(name, value)?;
    }
    let conditions: Vec<_> = conditions.iter().map(|c| (c.statement, c.left, c.right, c.holds())).collect();
    dict.set_item("conditions", conditions)?;
    Ok(dict)
}

/// Rates to use where the theorem asks too much: they come with a prediction, not with a guarantee. `gain` is F(W⋄).
#[pyfunction]
#[pyo3(name = "practical_rates", signature = (*, strong_convexity, smoothness, noise, bounds, steps, initial_lyapunov, gain = 1.0))]
#[allow(clippy::too_many_arguments)]
pub fn practical<'py>(
    py: Python<'py>,
    strong_convexity: f64,
    smoothness: f64,
    noise: f64,
    bounds: &Bound<'py, PyDict>,
    steps: u64,
    initial_lyapunov: f64,
    gain: f64,
) -> Result<Bound<'py, PyDict>, PyFailure> {
    let problem = lemma(strong_convexity, smoothness, noise, given(bounds)?, steps, initial_lyapunov);
    let rates = practical_rates(&problem, gain)?.rates;
    let dict = PyDict::new(py);
    dict.set_item("learning_rate", rates.learning_rate)?;
    dict.set_item("transfer_rate", rates.transfer_rate)?;
    dict.set_item("mixing", rates.mixing)?;
    Ok(dict)
}

/// The bounds in a dict of `Response.bounds`.
fn given(bounds: &Bound<'_, PyDict>) -> Result<Bounds, PyFailure> {
    let get = |name: &str| -> Result<Bound<'_, PyAny>, PyFailure> {
        bounds
            .get_item(name)?
            .ok_or_else(|| refuse(format!("bounds must have {name:?}, as Response.bounds gives it")))
    };
    let number = |name: &str| -> Result<f64, PyFailure> { Ok(get(name)?.extract()?) };
    let (lo, hi): (f64, f64) = get("range")?.extract()?;
    let (min, max, lipschitz) = (number("min")?, number("max")?, number("lipschitz")?);
    Ok(Bounds { min, max, lipschitz, range: Range::new(lo, hi)? })
}

/// What zero-shifting does to a device: `contraction` of a pair of pulses, the two-cycle `after_down`, `after_up`, its `swing`,
/// `midpoint_error` and `deviation`, and the `pairs` that a cell `distance` away needs.
#[pyfunction]
#[pyo3(signature = (device, *, pulse_step, cycle_noise = 0.0, distance = 1.0))]
pub fn zero_shift_cycle<'py>(
    py: Python<'py>,
    device: &Bound<'py, PyAny>,
    pulse_step: f64,
    cycle_noise: f64,
    distance: f64,
) -> Result<Bound<'py, PyDict>, PyFailure> {
    let response = response_of(&device_words(device)?)?;
    let cycle = CyclePrediction::new(&*response, pulse_step, cycle_noise)?;
    let dict = PyDict::new(py);
    for (name, value) in [
        ("contraction", cycle.contraction),
        ("after_down", cycle.after_down),
        ("after_up", cycle.after_up),
        ("swing", cycle.swing()),
        ("midpoint_error", cycle.midpoint_error),
        ("deviation", cycle.deviation),
        ("pairs", cycle.pairs(distance)),
    ] {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}
