//! Unit cells: several tiles that act as one array of weights.

mod one_sided;
mod reference;
mod vector;

pub use one_sided::{OneSidedCell, Refresh};
pub use reference::ReferenceCell;
pub use vector::{Policy, VectorCell};

use super::Tile;
use crate::error::{ParameterError, same_length};

/// Checks that all tiles of a unit cell have the same shape.
fn alike(first: &Tile, other: &Tile) -> Result<(), ParameterError> {
    same_length("rows of a unit cell's tile", first.rows, other.rows)?;
    same_length("columns of a unit cell's tile", first.cols, other.cols)
}

/// The parameters of one tile of a cell, under its name.
fn named(tile: &str, parameters: Vec<(String, Vec<f32>)>) -> impl Iterator<Item = (String, Vec<f32>)> + use<> {
    let tile = tile.to_owned();
    parameters.into_iter().map(move |(name, values)| (format!("{tile}.{name}"), values))
}
