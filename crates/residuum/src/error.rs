//! The error type of all constructors that take numbers: which parameter, what must hold, what was given.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use thiserror::Error;

use crate::simd::{self, LargestMagnitude};
use crate::threads;

/// An invalid parameter of a device, rule or problem.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// A scalar outside its domain.
    #[error("{name} must be {must}, got {value}")]
    OutOfDomain {
        /// The parameter, in the vocabulary of the glossary.
        name: &'static str,
        /// What must hold.
        must: &'static str,
        /// What was given.
        value: f64,
    },
    /// An empty interval.
    #[error("a range needs lo < hi, got lo = {lo}, hi = {hi}")]
    EmptyRange {
        /// Lower end given.
        lo: f64,
        /// Upper end given.
        hi: f64,
    },
    /// A vector of the wrong length.
    #[error("{name} must have {expected} entries, got {given}")]
    Length {
        /// The vector.
        name: &'static str,
        /// The length it must have.
        expected: usize,
        /// The length it has.
        given: usize,
    },
    /// A vector entry that is NaN or infinite.
    #[error("{name}[{index}] must be finite, got {value}")]
    NotFinite {
        /// The vector.
        name: &'static str,
        /// Index of the entry.
        index: usize,
        /// The entry.
        value: f64,
    },
    /// A response that is not positive where it must be.
    #[error("{branch} must be positive inside the dynamic range {range}, but {branch}({at}) = {value}")]
    NotPositive {
        /// `q_plus` or `q_minus`.
        branch: &'static str,
        /// The range.
        range: crate::Range,
        /// Where it fails.
        at: f64,
        /// The value there.
        value: f64,
    },
    /// A matrix without a property it must have.
    #[error("{name} must be {must}, but its {property} is {value}")]
    Matrix {
        /// The matrix.
        name: &'static str,
        /// The property it must have.
        must: &'static str,
        /// The quantity that was tested.
        property: &'static str,
        /// Its value.
        value: f64,
    },
    /// Anything without a variant of its own.
    #[error("{message}")]
    Other {
        /// A full sentence that starts with the parameter.
        message: String,
    },
    /// A rule needs a symmetric point, but the device has none.
    #[error(
        "{rule} needs a symmetric point, but q_plus and q_minus of {device} do not cross inside {range}; \
         give symmetric_point a value"
    )]
    NoSymmetricPoint {
        /// The rule.
        rule: &'static str,
        /// The device.
        device: String,
        /// Its dynamic range.
        range: crate::Range,
    },
    /// The true symmetric point is asked for, but cells of a tile have none.
    #[error("{missing} of {cells} cells have no symmetric point: of cell {first}, {reason}")]
    NoPointOfCell {
        /// How many have none.
        missing: usize,
        /// How many there are.
        cells: usize,
        /// The first without one.
        first: usize,
        /// Why it has none.
        reason: String,
    },
    /// Mini-batches of an objective that is not a finite sum.
    #[error("{what} needs an objective that is a finite sum over samples; {objective} is not")]
    NotFiniteSum {
        /// What needs the sum.
        what: &'static str,
        /// The objective.
        objective: String,
    },
}

/// Checks one scalar; `must` finishes the sentence "… must be …".
pub(crate) fn require(
    holds: bool,
    name: &'static str,
    must: &'static str,
    value: f64,
) -> Result<(), ParameterError> {
    if holds { Ok(()) } else { Err(ParameterError::OutOfDomain { name, must, value }) }
}

/// `value` is positive and finite.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<f64, ParameterError> {
    require(value > 0.0 && value.is_finite(), name, "positive and finite", value).map(|()| value)
}

/// `value` is zero or positive, and finite.
pub(crate) fn non_negative(name: &'static str, value: f64) -> Result<f64, ParameterError> {
    require(value >= 0.0 && value.is_finite(), name, "zero or positive, and finite", value).map(|()| value)
}

/// `value` is finite.
pub(crate) fn finite(name: &'static str, value: f64) -> Result<f64, ParameterError> {
    require(value.is_finite(), name, "finite", value).map(|()| value)
}

/// Every entry is finite.
pub(crate) fn all_finite(name: &'static str, values: &[f64]) -> Result<(), ParameterError> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(index) => Err(ParameterError::NotFinite { name, index, value: values[index] }),
    }
}

/// The vector has the expected length.
pub(crate) fn same_length(name: &'static str, expected: usize, given: usize) -> Result<(), ParameterError> {
    if expected == given { Ok(()) } else { Err(ParameterError::Length { name, expected, given }) }
}

/// What a look at a value costs, in multiply–adds.
const LOOK: usize = 2;

/// The same in single precision, with a fast path when all are finite: every signal of every step is checked.
pub(crate) fn all_finite_32(name: &'static str, values: &[f32]) -> Result<(), ParameterError> {
    let finite = |values: &[f32]| simd::dispatch(LargestMagnitude(values)).is_finite();
    let (all, threads) = (AtomicBool::new(true), threads::worth(LOOK * values.len()));
    threads::each(threads, values.par_chunks(values.len().div_ceil(threads).max(1)), |values| {
        if !finite(values) {
            all.store(false, Ordering::Relaxed);
        }
    });
    if all.into_inner() {
        return Ok(());
    }
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(index) => Err(ParameterError::NotFinite { name, index, value: f64::from(values[index]) }),
    }
}
