//! Loads a trained network without its data.

use std::path::Path;

use super::files::{checkpoints, newest};
use super::{TrainError, TrainingListener};
use crate::Network;
use crate::state::Scope;

/// Loads the newest intact checkpoint of the run in `directory` into its network, which must be built as the run's was. Returns
/// the number of steps done. Neither data nor write access is needed, and the run may still be active.
///
/// # Errors
/// If there is no checkpoint, or it belongs to another network.
pub fn restore(
    network: &mut Network,
    directory: &Path,
    listener: &mut dyn TrainingListener,
) -> Result<u64, TrainError> {
    let found = newest(&mut checkpoints(directory), directory, |warning| listener.warned(warning))?;
    let path = found.path;
    network
        .load(Scope::Everything, &found.state)
        .map_err(|source| TrainError::OtherNetwork { path, source })?;
    Ok(found.position.position.k)
}
