//! The state protocol as a dict of NumPy arrays.

use numpy::{PyArrayDyn, PyReadonlyArrayDyn, ndarray::ArrayD};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use residuum::Tensors;
use residuum::state::{Data, SavedTensor};

use crate::error::{PyFailure, refuse};

/// Every tensor under its name, in its own type.
pub fn to_dict<'py>(py: Python<'py>, tensors: &Tensors) -> Result<Bound<'py, PyDict>, PyFailure> {
    let dict = PyDict::new(py);
    for (name, tensor) in tensors.iter() {
        let shape = tensor.shape.as_slice();
        match &tensor.data {
            Data::F32(values) => dict.set_item(name, array(py, shape, values)?)?,
            Data::F64(values) => dict.set_item(name, array(py, shape, values)?)?,
            Data::U32(values) => dict.set_item(name, array(py, shape, values)?)?,
            Data::U64(values) => dict.set_item(name, array(py, shape, values)?)?,
        }
    }
    Ok(dict)
}

fn array<'py, T: numpy::Element + Clone>(
    py: Python<'py>,
    shape: &[usize],
    values: &[T],
) -> Result<Bound<'py, PyArrayDyn<T>>, PyFailure> {
    Ok(PyArrayDyn::from_owned_array(py, ArrayD::from_shape_vec(shape, values.to_vec())?))
}

/// The reverse.
pub fn from_dict(dict: &Bound<'_, PyDict>) -> Result<Tensors, PyFailure> {
    let mut tensors = Tensors::new();
    for (name, value) in dict {
        let name: String = name.extract()?;
        let tensor = tensor(&value).ok_or_else(|| {
            refuse(format!("tensor {name} must be an array of float32, float64, uint32 or uint64"))
        })?;
        tensors.insert(name, tensor);
    }
    Ok(tensors)
}

fn tensor(value: &Bound<'_, PyAny>) -> Option<SavedTensor> {
    macro_rules! try_type {
        ($($kind:ident),*) => {
            $(if let Ok(array) = value.extract::<PyReadonlyArrayDyn<'_, _>>() {
                let array = array.as_array();
                let (shape, data) = (array.shape().to_vec(), array.iter().copied().collect());
                return Some(SavedTensor { shape, data: Data::$kind(data) });
            })*
        };
    }
    try_type!(F32, F64, U32, U64);
    None
}
