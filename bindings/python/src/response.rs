//! Response functions.

use std::path::Path;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use residuum::{Range, ResponseFunction};
use residuum_lab::device_report::{DeviceReport, DriftProblem};
use residuum_lab::spec::{ArraySetup, Document, SpecKind};
use serde_json::{Map, Value, json};

use crate::error::{PyFailure, refuse};
use crate::figure::PyFigure;
use crate::numpy_io::numbers;
use crate::value::{from_python, to_python};

/// Points at which a callable is taken, unless given.
const POINTS: usize = 513;

/// A response: q₊ and q₋ as functions of the weight. It also serves as a device, wherever one is expected.
///
/// `Response("power", shape=2.0, radius=0.6)` is a built-in one, in the words of `[device]` of a spec; others come from
/// `Response.table`, `Response.formula`, `Response.tabulate` (of Python functions) and `Response.preset`.
#[pyclass(name = "Response", frozen, module = "residuum")]
pub struct PyResponse {
    inner: Arc<dyn ResponseFunction>,
    /// The words for it in `[device]`.
    words: Value,
}

/// The response that words of `[device]` name.
pub fn response_of(device: &Value) -> Result<Arc<dyn ResponseFunction>, PyFailure> {
    let mut device = device.clone();
    if let Some(fields) = device.as_object_mut() {
        fields.entry("array").or_insert_with(|| "exact".into());
    }
    let document = Document::from_value(&json!({ "device": device }))?;
    Ok(ArraySetup::of(&document, SpecKind::Problem, Path::new("."))?.device.representative()?)
}

impl PyResponse {
    fn of(words: Value) -> Result<Self, PyFailure> {
        Ok(Self { inner: response_of(&words)?, words })
    }

    pub fn words(&self) -> &Value {
        &self.words
    }

    fn each<'py>(
        &self,
        w: &Bound<'py, PyAny>,
        f: impl Fn(&dyn ResponseFunction, f64) -> f64,
    ) -> Result<Bound<'py, PyAny>, PyFailure> {
        let py = w.py();
        if let Ok(w) = w.extract::<f64>() {
            return Ok(f(&*self.inner, w).into_pyobject(py)?.into_any());
        }
        let (values, shape) = numbers("w", w)?;
        let values = values.into_iter().map(|w| f(&*self.inner, w)).collect();
        Ok(crate::numpy_io::shaped(py, values, &shape)?.into_any())
    }
}

#[pymethods]
impl PyResponse {
    #[new]
    #[pyo3(signature = (response, **parameters))]
    fn new(response: &str, parameters: Option<&Bound<'_, PyDict>>) -> Result<Self, PyFailure> {
        let mut words = Map::from_iter([("response".to_string(), Value::from(response))]);
        if let Some(parameters) = parameters
            && let Value::Object(given) = from_python(parameters, "device")?
        {
            words.extend(given);
        }
        Self::of(Value::Object(words))
    }

    /// Measured points, joined by an interpolation that keeps their shape.
    #[classmethod]
    fn table(
        _: &Bound<'_, PyType>,
        w: &Bound<'_, PyAny>,
        q_plus: &Bound<'_, PyAny>,
        q_minus: &Bound<'_, PyAny>,
    ) -> Result<Self, PyFailure> {
        let (w, _) = numbers("w", w)?;
        let ((q_plus, _), (q_minus, _)) = (numbers("q_plus", q_plus)?, numbers("q_minus", q_minus)?);
        for (name, column) in [("q_plus", &q_plus), ("q_minus", &q_minus)] {
            if column.len() != w.len() {
                let (expected, given) = (w.len(), column.len());
                return Err(refuse(format!("{name} must have {expected} entries like w, got {given}")));
            }
        }
        let rows = w.iter().zip(&q_plus).zip(&q_minus).map(|((w, p), m)| json!([w, p, m]));
        Self::of(json!({ "response": "table", "points": rows.collect::<Vec<_>>() }))
    }

    /// Two expressions in `w`, such as `"(1 - w/0.6)^2"`, on a range.
    #[classmethod]
    fn formula(
        _: &Bound<'_, PyType>,
        q_plus: &str,
        q_minus: &str,
        range: (f64, f64),
    ) -> Result<Self, PyFailure> {
        let range = [range.0, range.1];
        Self::of(json!({ "response": "formula", "q_plus": q_plus, "q_minus": q_minus, "range": range }))
    }

    /// Two Python functions of `w` on a range, each called once with an array of `points` weights and then forgotten.
    #[classmethod]
    #[pyo3(signature = (q_plus, q_minus, range, points = POINTS))]
    fn tabulate(
        cls: &Bound<'_, PyType>,
        q_plus: &Bound<'_, PyAny>,
        q_minus: &Bound<'_, PyAny>,
        range: (f64, f64),
        points: usize,
    ) -> Result<Self, PyFailure> {
        let py = cls.py();
        let range = Range::new(range.0, range.1)?;
        if !(2..=1_000_000).contains(&points) {
            return Err(refuse(format!("points must be between 2 and 1000000, got {points}")));
        }
        let w = crate::numpy_io::vector(py, range.grid(points));
        Self::table(cls, &w, &q_plus.call1((&w,))?, &q_minus.call1((&w,))?)
    }

    /// The mean cell of a device of the literature, such as `"reram_sb"`.
    #[classmethod]
    fn preset(_: &Bound<'_, PyType>, name: &str) -> Result<Self, PyFailure> {
        Self::of(json!({ "preset": name }))
    }

    /// q₊ at weights.
    fn q_plus<'py>(&self, w: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, PyFailure> {
        self.each(w, |r, w| r.q_plus(w))
    }

    /// q₋ at weights.
    fn q_minus<'py>(&self, w: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, PyFailure> {
        self.each(w, |r, w| r.q_minus(w))
    }

    /// F = (q₋ + q₊)/2.
    fn gain<'py>(&self, w: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, PyFailure> {
        self.each(w, |r, w| r.gain(w))
    }

    /// G = (q₋ − q₊)/2.
    fn asymmetry<'py>(&self, w: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, PyFailure> {
        self.each(w, |r, w| r.asymmetry(w))
    }

    /// R = G/F.
    fn asymmetry_ratio<'py>(&self, w: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, PyFailure> {
        self.each(w, |r, w| r.asymmetry_ratio(w))
    }

    /// R_c, the integral of R from the symmetric point.
    fn asymmetry_potential<'py>(&self, w: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, PyFailure> {
        self.each(w, |r, w| r.asymmetry_potential(w))
    }

    /// A(desired; w): the change that a cell in state `w` makes of a desired one.
    fn realized(&self, desired: f64, w: f64) -> f64 {
        self.inner.realized(desired, w)
    }

    /// The states that a cell can reach.
    #[getter]
    fn range(&self) -> (f64, f64) {
        let Range { lo, hi } = self.inner.range();
        (lo, hi)
    }

    /// W⋄, where q₊ = q₋; None if they do not cross.
    #[getter]
    fn symmetric_point(&self) -> Option<f64> {
        self.inner.symmetric_point()
    }

    /// q_min, q_max, L_S and κ₂ = q_max/q_min over a range.
    fn bounds<'py>(&self, py: Python<'py>, lo: f64, hi: f64) -> Result<Bound<'py, PyDict>, PyFailure> {
        let (range, own) = (Range::new(lo, hi)?, self.inner.range());
        if let Some(end) = [lo, hi].into_iter().find(|end| !own.contains(*end)) {
            return Err(refuse(format!("range must be inside the dynamic range {own}, got {end}")));
        }
        let bounds = self.inner.bounds(range);
        let dict = PyDict::new(py);
        dict.set_item("range", (lo, hi))?;
        dict.set_item("min", bounds.min)?;
        dict.set_item("max", bounds.max)?;
        dict.set_item("lipschitz", bounds.lipschitz)?;
        dict.set_item("hardware_condition", bounds.hardware_condition())?;
        Ok(dict)
    }

    /// What `residuum device show` prints: curves, bounds, κ₂, regularity, and the drift of Analog SGD on a scalar problem.
    #[pyo3(signature = (*, range = None, curvature = 1.0, minimizer = 0.5))]
    fn report(&self, range: Option<(f64, f64)>, curvature: f64, minimizer: f64) -> Result<String, PyFailure> {
        let range = range.map(|(lo, hi)| Range::new(lo, hi)).transpose()?;
        let problem = DriftProblem { curvature, minimizer, deviations: [0.1, 0.5, 1.0, 2.0] };
        Ok(DeviceReport::new(&self.inner, range, problem)?.to_text())
    }

    /// q± and what follows from them, drawn over a range.
    #[pyo3(signature = (range = None))]
    fn figure(&self, range: Option<(f64, f64)>) -> Result<PyFigure, PyFailure> {
        let range = range.map(|(lo, hi)| Range::new(lo, hi)).transpose()?;
        let problem = DriftProblem { curvature: 1.0, minimizer: 0.5, deviations: [0.1, 0.5, 1.0, 2.0] };
        Ok(PyFigure(DeviceReport::new(&self.inner, range, problem)?.figure()))
    }

    /// The words for it in `[device]` of a spec.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.words)
    }

    /// The response of such words.
    #[classmethod]
    fn from_dict(_: &Bound<'_, PyType>, words: &Bound<'_, PyDict>) -> Result<Self, PyFailure> {
        Self::of(from_python(words, "device")?)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        Ok((slf.get_type().getattr("from_dict")?, (slf.get().to_dict(slf.py())?,)))
    }

    fn __repr__(&self) -> String {
        format!("<residuum.Response: {}>", self.inner.describe())
    }
}
