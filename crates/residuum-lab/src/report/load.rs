//! Trials from the folders of a store.

use std::path::{Path, PathBuf};

use thiserror::Error;

use super::Trial;
use crate::store::{RowError, rows_from_csv};

/// Why a store cannot be reported on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A file or folder that cannot be read.
    #[error("{} must be readable: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the system answered.
        source: std::io::Error,
    },
    /// A manifest that is none.
    #[error("{} must be the manifest of a trial: {source}", path.display())]
    Manifest {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Records that are none.
    #[error("{}, {source}", path.display())]
    Records {
        /// Which.
        path: PathBuf,
        /// The line.
        source: RowError,
    },
}

/// The finished trials of a store in the order of their names; those without records are not done yet.
///
/// # Errors
/// The first file that cannot be read.
pub fn load(store: &Path) -> Result<Vec<Trial>, LoadError> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|source| LoadError::Read { path: path.into(), source })
    };
    let folder = store.join("trials");
    let failed = |source| LoadError::Read { path: folder.clone(), source };
    let mut folders: Vec<PathBuf> = std::fs::read_dir(&folder)
        .and_then(|entries| entries.map(|e| e.map(|e| e.path())).collect())
        .map_err(failed)?;
    folders.sort();
    let mut trials = Vec::new();
    for folder in folders {
        let (manifest, records) = (folder.join("manifest.json"), folder.join("records.csv"));
        if !records.exists() {
            continue;
        }
        let text = read(&manifest)?;
        let manifest =
            serde_json::from_str(&text).map_err(|source| LoadError::Manifest { path: manifest, source })?;
        let text = read(&records)?;
        let rows = rows_from_csv(&text).map_err(|source| LoadError::Records { path: records, source })?;
        trials.push(Trial { manifest, rows });
    }
    Ok(trials)
}
