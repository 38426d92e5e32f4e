//! Residuum for Python: conversions, errors and threads. The work is done in the library crates.
//!
//! One file per exposed type; this one registers them. The Python side of the package is in `python/residuum`.
// `#[pyfunction]`, `#[pymethods]` and `#[pymodule]` expand to the C functions that the interpreter calls. What this crate itself
// does with pointers is in `arrow.rs` and `dlpack.rs`.
#![allow(unsafe_code)]
// The macros also make items that cannot carry comments, take arguments by value, and call methods on `self` that need none.
#![allow(missing_docs, clippy::needless_pass_by_value, clippy::unused_self, clippy::trivially_copy_pass_by_ref)]

mod array;
mod arrow;
mod chain;
mod command;
mod display;
mod dlpack;
mod error;
mod figure;
mod function;
mod key;
mod lab;
mod layer;
mod numpy_io;
mod pair;
mod problem;
mod records;
mod response;
mod rule;
mod spec;
mod store;
mod tensors;
mod theory;
mod threads;
mod torch;
mod trial;
mod value;

/// The part of the package `residuum` that is written in Rust.
#[pyo3::pymodule]
mod _residuum {
    #[pymodule_export]
    use super::array::PyArray;
    #[pymodule_export]
    use super::chain::{PyChain, PyChainPass, chain_backward, chain_forward, chain_loss};
    #[pymodule_export]
    use super::command::command;
    #[pymodule_export]
    use super::dlpack::use_tensors;
    #[pymodule_export]
    use super::error::ResiduumError;
    #[pymodule_export]
    use super::figure::PyFigure;
    #[pymodule_export]
    use super::function::{apply, apply_back, loss};
    #[pymodule_export]
    use super::key::PyKey;
    #[pymodule_export]
    use super::lab::{PyReproduction, PyVerification, compare, reproduce, verify};
    #[pymodule_export]
    use super::layer::PyTileMatrix;
    #[pymodule_export]
    use super::pair::{PyPair, write};
    #[pymodule_export]
    use super::problem::{PyProblem, minimize};
    #[pymodule_export]
    use super::records::PyRecords;
    #[pymodule_export]
    use super::response::PyResponse;
    #[pymodule_export]
    use super::rule::PyRule;
    #[pymodule_export]
    use super::spec::{PyExplanation, PyRun, check, explain, run, spec_values, trials};
    #[pymodule_export]
    use super::store::{PyReport, PyStore, report};
    #[pymodule_export]
    use super::theory::{
        coefficients, drift, drift_zeros, implicit_penalty, magnitude, mean_drift, practical, stationary_law,
        zero_shift_cycle,
    };
    #[pymodule_export]
    use super::threads::{_panic, set_threads, threads};
    #[pymodule_export]
    use super::torch::{PyPass, backward, forward};
    #[pymodule_export]
    use super::trial::{PyEpoch, PyTrial};

    /// Version of the package.
    #[allow(non_upper_case_globals)]
    #[pymodule_export]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
