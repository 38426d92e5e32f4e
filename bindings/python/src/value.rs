//! Python values as those of a spec, and JSON as Python values.

use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{Map, Number, Value};

use crate::error::{PyFailure, refuse};
use crate::response::PyResponse;

/// A dict as the tree of values that the lab reads; `path` names it in errors and is empty for a whole spec.
pub fn from_python(value: &Bound<'_, PyAny>, path: &str) -> Result<Value, PyFailure> {
    let named = || if path.is_empty() { "the spec".to_string() } else { path.to_string() };
    if value.is_none() {
        return Err(refuse(format!("{} must not be None: omit the field", named())));
    }
    if let Ok(b) = value.cast::<PyBool>() {
        return Ok(Value::Bool(b.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(text.to_cow()?.into_owned()));
    }
    if value.cast::<PyInt>().is_ok() {
        let integer: Result<i64, _> = value.extract();
        let integer = integer.map_err(|_| refuse(format!("{} must fit 64 bits, got {value}", named())))?;
        return Ok(integer.into());
    }
    if value.cast::<PyFloat>().is_ok() {
        let x: f64 = value.extract()?;
        let number = Number::from_f64(x).ok_or_else(|| refuse(format!("{} must be finite, got {x}", named())));
        return Ok(Value::Number(number?));
    }
    if let Ok(fields) = value.cast::<PyDict>() {
        let mut map = Map::new();
        for (name, field) in fields {
            let Ok(name) = name.cast::<PyString>() else {
                return Err(refuse(format!("{} must have words for keys, got {name}", named())));
            };
            let name = name.to_cow()?.into_owned();
            let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            map.insert(name, from_python(&field, &inner)?);
        }
        return Ok(Value::Object(map));
    }
    if value.cast::<PyList>().is_ok() || value.cast::<PyTuple>().is_ok() {
        let items = value.try_iter()?.enumerate();
        let items = items.map(|(i, item)| from_python(&item?, &format!("{path}[{i}]")));
        return Ok(Value::Array(items.collect::<Result<_, _>>()?));
    }
    if let Ok(response) = value.cast::<PyResponse>() {
        return Ok(response.get().words().clone());
    }
    // Paths, and the arrays and numbers of NumPy and torch.
    if value.hasattr("__fspath__")? {
        return from_python(&value.call_method0("__fspath__")?, path);
    }
    if value.hasattr("tolist")? {
        return from_python(&value.call_method0("tolist")?, path);
    }
    let kind = value.get_type().name()?;
    Err(refuse(format!("{} must be a number, text, a truth value, a list or a dict, got {kind}", named())))
}

/// JSON as Python has it.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(b) => b.into_bound_py_any(py),
        Value::Number(n) => match (n.as_i64(), n.as_u64()) {
            (Some(i), _) => i.into_bound_py_any(py),
            (_, Some(u)) => u.into_bound_py_any(py),
            _ => n.as_f64().unwrap_or(f64::NAN).into_bound_py_any(py),
        },
        Value::String(s) => s.into_bound_py_any(py),
        Value::Array(items) => {
            let items = items.iter().map(|item| to_python(py, item)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
        Value::Object(fields) => {
            let dict = PyDict::new(py);
            for (name, field) in fields {
                dict.set_item(name, to_python(py, field)?)?;
            }
            Ok(dict.into_any())
        }
    }
}
