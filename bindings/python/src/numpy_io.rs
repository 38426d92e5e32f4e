//! Arrays of NumPy as slices, and the other way round; strict about what is handed to a step.

use numpy::{
    Element, IntoPyArray as _, PyArray1, PyArrayDescrMethods as _, PyArrayDyn, PyArrayMethods as _,
    PyReadonlyArrayDyn, PyReadwriteArrayDyn, PyUntypedArray, PyUntypedArrayMethods as _,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use residuum::state::{Data, SavedTensor};
use residuum::{Scalar, Tensors};

use crate::error::{PyFailure, refuse};

/// A number that NumPy and the library share.
pub trait Real: Scalar + Element {
    const NAME: &'static str;
}

impl Real for f32 {
    const NAME: &'static str = "float32";
}

impl Real for f64 {
    const NAME: &'static str = "float64";
}

/// What is wrong with an argument that is not an array of this type, or not contiguous.
fn fault(name: &str, value: &Bound<'_, PyAny>, wanted: &str) -> PyFailure {
    match value.cast::<PyUntypedArray>() {
        Err(_) => {
            let kind =
                value.get_type().name().map_or_else(|_| "another object".into(), |kind| kind.to_string());
            refuse(format!("{name} must be a NumPy array of {wanted}, got {kind}"))
        }
        Ok(array) if !array.is_c_contiguous() => {
            refuse(format!("{name} must be contiguous in C order: use numpy.ascontiguousarray"))
        }
        Ok(array) => {
            let given =
                array.dtype().typeobj().name().map_or_else(|_| "another type".into(), |n| n.to_string());
            refuse(format!("{name} must be an array of {wanted}, got {given}"))
        }
    }
}

/// An argument that is read where it lies.
pub fn readonly<'py, T: Real>(
    name: &str,
    value: &Bound<'py, PyAny>,
) -> Result<PyReadonlyArrayDyn<'py, T>, PyFailure> {
    let array = value.cast::<PyArrayDyn<T>>().map_err(|_| fault(name, value, T::NAME))?;
    if !array.is_c_contiguous() {
        return Err(fault(name, value, T::NAME));
    }
    array.try_readonly().map_err(|_| refuse(format!("{name} must not be written to by another call")))
}

/// An argument that is written where it lies.
pub fn writable<'py, T: Real>(
    name: &str,
    value: &Bound<'py, PyAny>,
) -> Result<PyReadwriteArrayDyn<'py, T>, PyFailure> {
    let array = value.cast::<PyArrayDyn<T>>().map_err(|_| fault(name, value, T::NAME))?;
    if !array.is_c_contiguous() {
        return Err(fault(name, value, T::NAME));
    }
    array.try_readwrite().map_err(|_| refuse(format!("{name} must be writable, and in no other use")))
}

/// A new array of this shape.
pub fn shaped<'py, T: Real>(
    py: Python<'py>,
    values: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    values.into_pyarray(py).reshape(shape)
}

/// Numbers at set-up, of any type that NumPy converts, with their shape.
pub fn numbers(name: &str, value: &Bound<'_, PyAny>) -> Result<(Vec<f64>, Vec<usize>), PyFailure> {
    let py = value.py();
    let options = PyDict::new(py);
    options.set_item("dtype", "float64")?;
    options.set_item("order", "C")?;
    let array = py.import("numpy")?.call_method("asarray", (value,), Some(&options)).map_err(|e| {
        refuse(format!("{name} must be numbers that NumPy takes for an array of float64: {}", e.value(py)))
    })?;
    let array = readonly::<f64>(name, &array)?;
    let shape = array.shape().to_vec();
    let values = array.as_slice().map_err(|e| refuse(format!("{name}: {e}")))?.to_vec();
    if let Some(i) = values.iter().position(|x| !x.is_finite()) {
        return Err(refuse(format!("{name}[{i}] must be finite, got {}", values[i])));
    }
    Ok((values, shape))
}

/// Tensors as a dict of arrays.
pub fn to_dict<'py>(py: Python<'py>, tensors: &Tensors) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, tensor) in tensors.iter() {
        let shape = tensor.shape.clone();
        let array = match &tensor.data {
            Data::F32(v) => v.clone().into_pyarray(py).reshape(shape)?.into_any(),
            Data::F64(v) => v.clone().into_pyarray(py).reshape(shape)?.into_any(),
            Data::U32(v) => v.clone().into_pyarray(py).reshape(shape)?.into_any(),
            Data::U64(v) => v.clone().into_pyarray(py).reshape(shape)?.into_any(),
        };
        dict.set_item(name, array)?;
    }
    Ok(dict)
}

/// A dict of arrays as tensors.
pub fn from_dict(dict: &Bound<'_, PyDict>) -> Result<Tensors, PyFailure> {
    fn data<T: Element + Clone>(array: &Bound<'_, PyAny>) -> Option<Vec<T>> {
        let array = array.cast::<PyArrayDyn<T>>().ok()?;
        array.readonly().as_array().iter().cloned().collect::<Vec<T>>().into()
    }
    let mut tensors = Tensors::new();
    for (name, array) in dict {
        let name: String = name.extract().map_err(|_| refuse("names of tensors must be text"))?;
        let untyped = array.cast::<PyUntypedArray>();
        let shape =
            untyped.map_err(|_| refuse(format!("tensor {name} must be a NumPy array")))?.shape().to_vec();
        let found = (data(&array).map(Data::F32))
            .or_else(|| data(&array).map(Data::F64))
            .or_else(|| data(&array).map(Data::U32))
            .or_else(|| data(&array).map(Data::U64));
        let data = found.ok_or_else(|| {
            refuse(format!("tensor {name} must be an array of float32, float64, uint32 or uint64"))
        })?;
        tensors.insert(name, SavedTensor { shape, data });
    }
    Ok(tensors)
}

/// A vector for Python.
pub fn vector<T: Real>(py: Python<'_>, values: Vec<T>) -> Bound<'_, PyArray1<T>> {
    PyArray1::from_vec(py, values)
}
