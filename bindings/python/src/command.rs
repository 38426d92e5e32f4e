//! The command `residuum`, which the package carries.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with these words, its own name first, and returns its exit code.
#[pyfunction]
pub fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| residuum_cli::main(words))
}
