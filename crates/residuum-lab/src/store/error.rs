use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::RowError;
use crate::files::FileError;

/// A store that cannot be used, or a trial that cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no store.
    #[error("{} must be a run store: it has no store.json", path.display())]
    NoStore {
        /// The path.
        path: PathBuf,
    },
    /// The path is a file.
    #[error("{} must be a folder", path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// A folder with other contents.
    #[error("{} must be a run store or an empty folder, got one with {found} in it; choose another with --out", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Something in it.
        found: String,
    },
    /// A store of another version.
    #[error("{}: schema must be {expected:?}, got {found:?}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// What this version supports.
        expected: &'static str,
        /// What the file says.
        found: String,
    },
    /// Nothing can be written there.
    #[error("store {} must be writable: {source}", path.display())]
    NotWritable {
        /// The store.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file or folder that cannot be accessed.
    #[error("{} must be readable and writable: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file that could not be written.
    #[error(transparent)]
    Write(#[from] FileError),
    /// The folder of a trial was removed while it ran.
    #[error("{} was removed while its trial ran", path.display())]
    Removed {
        /// The folder.
        path: PathBuf,
    },
    /// A path that is neither a store nor a trial of one.
    #[error("{} must be the folder of a trial in a run store, STORE/trials/ID", path.display())]
    NoTrial {
        /// The path.
        path: PathBuf,
    },
    /// A manifest that cannot be used.
    #[error("{} must be the manifest of its trial: {reason}; remove the trial with `residuum runs rm`", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Records that cannot be read.
    #[error("{}: {source}; remove the trial with `residuum runs rm`", path.display())]
    Records {
        /// The file.
        path: PathBuf,
        /// The line.
        source: RowError,
    },
    /// Another process is running the trial.
    #[error("trial {id} is being run by another process")]
    Busy {
        /// The trial.
        id: String,
    },
    /// No trial, or more than one.
    #[error("ID must match exactly one trial, got {prefix:?}, which matches {count}")]
    NotOne {
        /// The prefix.
        prefix: String,
        /// How many there are.
        count: usize,
    },
}

impl StoreError {
    /// For `map_err`: an I/O error at `path`.
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.into(), source }
    }
}
