//! Trials from a store.

use std::path::Path;

use super::StoredTrial;
use crate::store::{Store, StoreError};

/// The finished trials of a store with their records, in the order of experiments, labels and seeds.
///
/// # Errors
/// If there is no store, or one of its files cannot be read.
pub fn load(path: &Path) -> Result<Vec<StoredTrial>, StoreError> {
    let store = Store::open(path)?;
    let manifests = store.trials()?.into_iter();
    manifests.map(|manifest| Ok(StoredTrial { rows: store.records(&manifest.id)?, manifest })).collect()
}
