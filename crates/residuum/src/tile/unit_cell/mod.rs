//! Unit cells: several tiles that act as one array of weights.

mod one_sided;
mod reference;
mod vector;

pub use one_sided::{OneSidedCell, Refresh};
pub use reference::ReferenceCell;
pub use vector::{Policy, VectorCell};

use super::{Crossbar, Scheme, Tile};
use crate::Key;
use crate::error::{ParameterError, require, same_length};

/// Tiles of a unit cell have one shape.
fn alike(first: &Tile, other: &Tile) -> Result<(), ParameterError> {
    same_length("rows of a unit cell's tile", first.rows, other.rows)?;
    same_length("columns of a unit cell's tile", first.cols, other.cols)
}

/// A column write as an update whose column signal is 1 there and 0 elsewhere; `one_hot` is all zeros before and after.
fn column_by_update(
    cell: &mut dyn Crossbar,
    column: usize,
    scale: f32,
    values: &[f32],
    scheme: Scheme,
    key: Key,
    one_hot: &mut [f32],
) -> Result<(), ParameterError> {
    require(column < one_hot.len(), "column", "below the number of columns", column as f64)?;
    same_length("values", cell.rows(), values.len())?;
    one_hot[column] = 1.0;
    let written = cell.update(scale, values, one_hot, scheme, key);
    one_hot[column] = 0.0;
    written
}

/// A matrix as one column write after the other; `values` is a buffer.
fn increment_by_columns(
    cell: &mut dyn Crossbar,
    scale: f32,
    direction: &[f32],
    scheme: Scheme,
    key: Key,
    values: &mut Vec<f32>,
) -> Result<(), ParameterError> {
    let (rows, cols) = (cell.rows(), cell.cols());
    same_length("direction", rows * cols, direction.len())?;
    super::scheme::all_finite("direction", direction)?;
    values.resize(rows, 0.0);
    for column in 0..cols {
        for (v, d) in values.iter_mut().zip(direction[column..].iter().step_by(cols)) {
            *v = *d;
        }
        cell.update_column(column, scale, values, scheme, key.fold(column as u64))?;
    }
    Ok(())
}
