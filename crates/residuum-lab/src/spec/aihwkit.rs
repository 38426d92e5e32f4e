//! Devices of AIHWKIT from files of parameters.

use std::path::Path;

use residuum::tile::Device;

use super::node::SpecError;
use super::table::Table;

/// Reads the device of a file.
pub(super) fn read(path: &Path, at: &Table<'_>) -> Result<Device, SpecError> {
    Err(at.error(format!("{}: cannot read {}", at.path("aihwkit"), path.display())))
}
