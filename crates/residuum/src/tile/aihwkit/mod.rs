//! Devices by the names of AIHWKIT 1.1.0: its classes and parameters to [`Device`](super::Device) and back.
//!
//! ```
//! use residuum::tile::aihwkit::{Class, PowStep};
//! let class = Class::PowStep(PowStep { pow_gamma: 2.0, ..PowStep::default() });
//! let device = class.to_device()?;
//! assert_eq!(Class::from_device(&device)?, class);
//! # Ok::<(), residuum::tile::aihwkit::ConversionError>(())
//! ```
//!
//! A conversion is exact in what pulses do, or an error: what one side cannot say is named. `docs/aihwkit.md` has the formulas,
//! and how resets and programming differ under a reference.

mod classes;
mod from_device;
mod to_device;

pub use classes::{
    ExpStep, LinearStep, PiecewiseStep, PowStep, PowStepReference, Pulsed, SoftBounds, SoftBoundsPmax,
    SoftBoundsReference,
};
pub(super) use to_device::down_step_at_zero;

use thiserror::Error;

use crate::error::ParameterError;

/// One of AIHWKIT's pulsed devices.
#[derive(Clone, Debug, PartialEq)]
pub enum Class {
    /// `ConstantStepDevice`.
    ConstantStep(Pulsed),
    /// `LinearStepDevice`.
    LinearStep(LinearStep),
    /// `SoftBoundsDevice`.
    SoftBounds(SoftBounds),
    /// `SoftBoundsPmaxDevice`.
    SoftBoundsPmax(SoftBoundsPmax),
    /// `SoftBoundsReferenceDevice`.
    SoftBoundsReference(SoftBoundsReference),
    /// `ExpStepDevice`.
    ExpStep(ExpStep),
    /// `PowStepDevice`.
    PowStep(PowStep),
    /// `PowStepReferenceDevice`.
    PowStepReference(PowStepReference),
    /// `PiecewiseStepDevice`.
    PiecewiseStep(PiecewiseStep),
}

/// Why a device has no counterpart on the other side.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ConversionError {
    /// An AIHWKIT parameter that a [`Device`](super::Device) does not have.
    #[error("{field} must be {must} to become a device of a tile, got {value}")]
    NotModelled {
        /// AIHWKIT's name.
        field: &'static str,
        /// The value that can be converted.
        must: &'static str,
        /// What was given.
        value: f64,
    },
    /// A property of a [`Device`](super::Device) that no AIHWKIT class has.
    #[error("{field} must be {must} to become an AIHWKIT device, got {value}")]
    NotExpressible {
        /// Field of the device.
        field: &'static str,
        /// What AIHWKIT can say.
        must: &'static str,
        /// What was given.
        value: f64,
    },
    /// Numbers that no device can have.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}
