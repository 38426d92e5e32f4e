//! Why a data set could not be fetched.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::DataError;

/// Why a data set could not be fetched, imported or verified. Intact files are left unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// A local file could not be written, read or renamed.
    #[error("file {} must be {must}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What must be possible.
        must: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
    /// The disk is full.
    #[error("the disk holding {} is full; free some space and run the same command again to continue", path.display())]
    DiskFull {
        /// The file that was being written.
        path: PathBuf,
    },
    /// No address delivered the file.
    #[error("{file} could not be fetched:{refusals}\n  --from PATH imports files you already have")]
    Unavailable {
        /// The file.
        file: String,
        /// The error of each address.
        refusals: Refusals,
    },
    /// A missing file.
    #[error("file {} must exist", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The folder or archive to import from lacks a file.
    #[error("{} must hold {file}, plain or packed as {archive}", from.display())]
    NotFound {
        /// Where to import from.
        from: PathBuf,
        /// The file.
        file: String,
        /// The archive it may be packed in.
        archive: String,
    },
    /// Wrong contents.
    #[error(transparent)]
    Corrupt(#[from] Corruption),
    /// Another process is using the folder.
    #[error("folder {} must not be in use by another fetch", folder.display())]
    Busy {
        /// The folder.
        folder: PathBuf,
    },
    /// The user stopped it.
    #[error("interrupted; the same command continues the download")]
    Interrupted,
}

impl FetchError {
    pub(crate) fn writing(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            _ => Self::File { path, must: "writable", source },
        }
    }

    pub(crate) fn reading(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { path },
            _ => Self::File { path, must: "readable", source },
        }
    }
}

/// Wrong contents.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Corruption {
    /// Wrong length.
    #[error("{file} must have {expected} bytes, got {given}")]
    Length {
        /// The file.
        file: String,
        /// The length it must have.
        expected: u64,
        /// The length it has.
        given: u64,
    },
    /// Wrong checksum.
    #[error("{file} must have the checksum {expected}, got {given}")]
    Checksum {
        /// The file.
        file: String,
        /// The checksum it must have.
        expected: String,
        /// The checksum it has.
        given: String,
    },
    /// Images are missing from a class.
    #[error("{file} must have {expected} images of class {class}, got {given}")]
    Class {
        /// The file.
        file: String,
        /// The class.
        class: usize,
        /// Images it must have.
        expected: usize,
        /// Images it has.
        given: usize,
    },
    /// A file of the wrong format.
    #[error(transparent)]
    Structure(#[from] DataError),
    /// An archive that cannot be unpacked.
    #[error("{file} could not be unpacked: {source}")]
    Packing {
        /// The archive.
        file: String,
        /// The decoder's error.
        source: io::Error,
    },
    /// An archive without a file that it must hold.
    #[error("{archive} must hold {file}")]
    Member {
        /// The archive.
        archive: String,
        /// The file.
        file: String,
    },
}

/// Why an address did not deliver a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A response other than the file.
    #[error("HTTP status {0}")]
    Status(u16),
    /// Unknown host.
    #[error("host not found ({0}); is there a network?")]
    Host(io::Error),
    /// No response.
    #[error("no connection ({source})")]
    Connection {
        /// The client's error.
        source: Box<dyn std::error::Error + Send + Sync>,
        /// Whether retrying can help.
        passing: bool,
    },
    /// The transfer broke off.
    #[error("the connection broke after {received} bytes ({source})")]
    Broken {
        /// Bytes received.
        received: u64,
        /// What happened.
        source: io::Error,
    },
    /// A part that was not requested.
    #[error("the server sent a different part than the one requested, from byte {offset}")]
    Part {
        /// First byte requested.
        offset: u64,
    },
    /// Longer than the file can be.
    #[error("the response is longer than the {limit} bytes the file can have")]
    Endless {
        /// Maximum bytes accepted.
        limit: u64,
    },
    /// Wrong contents.
    #[error("wrong contents: {0}")]
    Corrupt(Corruption),
}

/// The error of each address, one per line.
#[derive(Debug, Default)]
pub struct Refusals(pub Vec<(String, Refusal)>);

impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(address, refusal)| write!(f, "\n  {address}: {refusal}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_other_failures() {
        let error = |kind: io::ErrorKind| FetchError::writing("a/b")(kind.into());
        assert!(matches!(error(io::ErrorKind::StorageFull), FetchError::DiskFull { .. }));
        assert!(error(io::ErrorKind::StorageFull).to_string().starts_with("the disk holding a/b is full"));
        let denied = error(io::ErrorKind::PermissionDenied).to_string();
        assert!(denied.starts_with("file a/b must be writable: "), "{denied}");
    }
}
