//! Trials from a store.

use std::path::Path;

use super::Trial;
use crate::store::{Store, StoreError};

/// The finished trials of a store with their records, in the order of experiments, labels and seeds.
///
/// # Errors
/// If there is no store, or one of its files cannot be read.
pub fn load(path: &Path) -> Result<Vec<Trial>, StoreError> {
    let store = Store::open(path)?;
    let manifests = store.trials()?.into_iter();
    manifests.map(|manifest| Ok(Trial { rows: store.records(&manifest.id)?, manifest })).collect()
}
