//! Residuum: optimisation on analog in-memory hardware.

pub mod array;
pub mod cells;
pub mod error;
pub mod interpolate;
pub mod key;
pub mod math;
pub mod minimize;
pub mod numeric;
pub mod objective;
pub mod range;
pub mod response;
pub mod rule;
pub mod schedule;
mod simd;
pub mod stats;
pub mod theory;

pub use array::{AnalogArray, Pulses, Rounding, Update};
pub use cells::Cells;
pub use error::ParameterError;
pub use key::Key;
pub use minimize::{Control, Observer, minimize};
pub use objective::{GradientOracle, Noise, Noisy, Objective};
pub use range::Range;
pub use response::{Bounds, ResponseFunction};
pub use rule::UpdateRule;
pub use schedule::Schedule;
