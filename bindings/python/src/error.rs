//! Errors of the library as Python exceptions with the same sentence.

use std::any::Any;

use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::{PyErr, create_exception};
use residuum_lab::progress::Cancelled;

create_exception!(
    residuum,
    ResiduumError,
    PyValueError,
    "Something that Residuum refuses: the sentence names the field, what must hold and what was given."
);

/// What a function of this crate fails with: any error of the library, or one of Python's own.
#[derive(Debug)]
pub struct PyFailure(PyErr);

impl<E: std::error::Error + Send + Sync + 'static> From<E> for PyFailure {
    fn from(error: E) -> Self {
        let mut slot = Some(error);
        // What Python raised stays what it is.
        if let Some(raised) = (&mut slot as &mut dyn Any).downcast_mut::<Option<PyErr>>()
            && let Some(raised) = raised.take()
        {
            return Self(raised);
        }
        let Some(error) = slot else { return Self(ResiduumError::new_err("unknown error")) };
        if (&error as &dyn Any).is::<Cancelled>() {
            return Self(PyKeyboardInterrupt::new_err(error.to_string()));
        }
        Self(ResiduumError::new_err(residuum_cli::sentence(&error)))
    }
}

impl From<PyFailure> for PyErr {
    fn from(failure: PyFailure) -> Self {
        failure.0
    }
}

/// A sentence of the binding's own.
pub fn refuse(sentence: impl Into<String>) -> PyFailure {
    PyFailure(ResiduumError::new_err(sentence.into()))
}
