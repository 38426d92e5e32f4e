// Only where documentation is made or tested: a change of the README must not compile the library again.
#![cfg_attr(doc, doc = include_str!("../README.md"))]
#![cfg_attr(not(doc), doc = "Optimisation and training on analog in-memory hardware.")]
//!
//! # A map of the crate
//!
//! | module | contents |
//! |---|---|
//! | [`response`] | q±, F, G, R, R_c, bounds, regularity: the physics of one cell |
//! | [`cells`], [`population`] | many cells: identical, varied, mixed |
//! | [`array`](mod@array) | the only way to write: `Z ← Z + A(ΔZ; Z)`, in expectation or by pulses, in f64 or f32 |
//! | [`state`] | named tensors: what a checkpoint holds |
//! | [`readout`] | products `W x` and `Wᵀ δ` through converters: quantised, noisy, bounded |
//! | [`rule`] | Digital and Analog SGD (or momentum, or Adam), Tiki-Taka, Residual Learning, cascades, mixed precision |
//! | [`objective`] | problems and the noise of their gradients |
//! | [`minimize`](mod@minimize) | the loop |
//! | [`progress`] | how far long work has come, and whether to stop |
//! | [`device`] | device models: steps, spreads, noise, presets, AIHWKIT |
//! | [`tile`] | crossbar tiles: f32 weights written by coincident pulse trains |
//! | [`theory`] | what the mathematics predicts |
//! | [`key`] | randomness as a value |
//! | [`schedule`] | rates as functions of the step |
//! | [`stats`] | means with standard errors |
//! | [`math`], [`numeric`], [`expression`], [`interpolate`] | tools |

pub mod array;
pub mod cells;
pub mod device;
pub mod error;
pub mod expression;
pub mod interpolate;
pub mod key;
pub mod math;
pub mod minimize;
mod normal32;
pub mod numeric;
pub mod objective;
pub mod population;
pub mod progress;
pub mod range;
pub mod readout;
pub mod response;
pub mod rule;
pub mod scalar;
pub mod schedule;
#[doc(hidden)]
pub mod simd;
pub mod state;
pub mod stats;
mod stream;
#[doc(hidden)]
pub mod testing;
pub mod theory;
pub mod threads;
pub mod tile;

pub use array::{Array, ExactArray, Pulses, Rounding, Update};
pub use cells::Cells;
pub use error::ParameterError;
pub use key::Key;
pub use minimize::{Control, Observer, minimize, minimize_observed};
pub use objective::{GradientOracle, Noise, Noisy, Objective};
pub use range::Range;
pub use readout::Readout;
pub use response::{Bounds, ResponseFunction};
pub use rule::{Gradient, Inspect, RateSchedules, Rates, Rule, StepError, UpdateRule};
pub use scalar::Scalar;
pub use schedule::Schedule;
pub use state::{State, StateError, Tensors};

/// The items most programs need.
pub mod prelude {
    pub use crate::array::{Array, ExactArray, Pulses, Update, ZeroShift};
    pub use crate::objective::{GradientOracle, Noise, Noisy, Objective};
    pub use crate::readout::Readout;
    pub use crate::response::ResponseFunction;
    pub use crate::rule::{
        Analog, Digital, Gradient, Inspect, RateSchedules, Rates, ResidualConfig, ResidualLearning, Rule,
        Source, SymmetricPoint, TikiTaka, TikiTakaConfig, Transfer, UpdateRule,
    };
    pub use crate::schedule::Schedule;
    pub use crate::state::{State, Tensors};
    pub use crate::tile::{Device, Scheme, Tile};
    pub use crate::{Control, Key, minimize, minimize_observed};
}

/// The Rust of a page outside the crate, compiled and run with the examples of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/aihwkit.md")]
mod how_to_aihwkit {}
