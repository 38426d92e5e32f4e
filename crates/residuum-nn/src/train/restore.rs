//! A trained network without its data.

use std::path::Path;

use super::files::{checkpoints, newest};
use super::{TrainError, TrainingListener};
use crate::Network;
use crate::state::Scope;

/// Loads the newest whole checkpoint of the run in `directory` into its network, which must be built as the run's was. Gives
/// the number of steps the run had done. Neither data nor the right to write are needed, and the run may be going on.
///
/// # Errors
/// If there is no checkpoint, or it is of another network.
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
