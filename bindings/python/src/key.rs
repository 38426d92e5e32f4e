//! Randomness as a value.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// Determines random draws. The same key gives the same draws on any number of threads; `named` and `fold` make new keys.
///
/// A key is never advanced: drawing twice from one key gives the same numbers twice.
#[pyclass(name = "Key", frozen, eq, hash, from_py_object, module = "residuum")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PyKey {
    word: u64,
}

impl PyKey {
    pub fn inner(self) -> residuum::Key {
        residuum::Key::from_word(self.word)
    }
}

impl From<residuum::Key> for PyKey {
    fn from(key: residuum::Key) -> Self {
        Self { word: key.word() }
    }
}

#[pymethods]
impl PyKey {
    /// The root key of a seed.
    #[new]
    fn new(seed: u64) -> Self {
        residuum::Key::new(seed).into()
    }

    /// The child stream of this name.
    fn named(&self, name: &str) -> Self {
        self.inner().named(name).into()
    }

    /// The child stream of this index.
    fn fold(&self, index: u64) -> Self {
        self.inner().fold(index).into()
    }

    /// `count` standard normal draws.
    fn normal<'py>(&self, py: Python<'py>, count: usize) -> Bound<'py, PyArray1<f64>> {
        let mut draws = vec![0.0; count];
        py.detach(|| self.inner().fill_normal(&mut draws));
        PyArray1::from_vec(py, draws)
    }

    /// `count` uniform draws in [0, 1).
    fn uniform<'py>(&self, py: Python<'py>, count: usize) -> Bound<'py, PyArray1<f64>> {
        let mut draws = vec![0.0; count];
        py.detach(|| self.inner().fill_uniform(&mut draws));
        PyArray1::from_vec(py, draws)
    }

    /// A permutation of `0..count`.
    fn permutation<'py>(&self, py: Python<'py>, count: usize) -> Bound<'py, PyArray1<i64>> {
        let order = py.detach(|| self.inner().permutation(count));
        PyArray1::from_iter(py, order.into_iter().map(|i| i.cast_signed() as i64))
    }

    /// All that the key is.
    #[getter]
    fn word(&self) -> u64 {
        self.word
    }

    /// The key of a word.
    #[classmethod]
    fn from_word(_: &Bound<'_, PyType>, word: u64) -> Self {
        Self { word }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (u64,))> {
        Ok((slf.get_type().getattr("from_word")?, (slf.get().word,)))
    }

    fn __repr__(&self) -> String {
        format!("Key.from_word(0x{:016x})", self.word)
    }
}
