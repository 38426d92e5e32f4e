//! How pulses reach the cells: trains on lines, coincidences, counted pulses, expected updates.
//!
//! Nothing here depends on a step model: a kernel asks the device for its [`Law`](crate::device::Law) once for a run of cells and is compiled for
//! each.

mod at_once;
mod blocks;
mod column;
mod column_lines;
mod counted;
mod expected;
mod fire;
mod gathered;
pub(crate) mod group;
pub(crate) mod lines;
pub(super) mod management;
mod matrix;
mod noise;
mod rounded;
mod row;
mod single;
mod stochastic;
mod tables;
mod transposed;
mod visits;

pub(super) use column::{Columns, Survey};
pub(super) use matrix::{MatrixLines, longest_span};
pub(crate) use single::one;
