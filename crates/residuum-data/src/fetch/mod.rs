//! Installs data sets in a folder: downloaded from the first address that has them (feature `fetch`) or imported, and
//! checked before they are installed. Intact files stay; no file is ever half-written.

#[cfg(feature = "fetch")]
mod client;
#[cfg(feature = "fetch")]
mod download;
mod error;
mod install;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use residuum::Control;

#[cfg(feature = "fetch")]
pub use client::Patience;
#[cfg(feature = "fetch")]
pub use download::fetch;
pub use error::{Corruption, FetchError, Refusal, Refusals};

use super::catalogue::{Download, Entry};
use super::check::Verified;
use super::disk::open_own;
use install::{install_archive, install_files};

/// Progress of a fetch.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The next file.
    File(&'a str),
    /// A transfer starts.
    Begin {
        /// Bytes already here.
        done: u64,
        /// Bytes of the whole file, if the server says.
        total: Option<u64>,
    },
    /// This many more bytes arrived.
    Advance(u64),
    /// It failed and will be retried.
    Retry {
        /// Why.
        refusal: &'a Refusal,
        /// Time until the retry.
        wait: Duration,
    },
}

/// Listens to a fetch and returns whether to continue.
pub type Watch<'a> = &'a mut dyn FnMut(Event<'_>) -> Control;

/// Where a file came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOrigin {
    /// It was already there and intact.
    Present,
    /// It was downloaded.
    Downloaded,
    /// It was imported.
    Imported,
}

/// An installed, intact file of a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Its name.
    pub file: String,
    /// Where it came from.
    pub origin: FileOrigin,
    /// How well it was verified.
    pub verified: Verified,
}

/// Copies `entry` from `from` into `folder`: a folder that holds its files, plain, gzipped or in their archive, there
/// or where other tools keep them, or the archive itself.
pub fn import(entry: &Entry, from: &Path, folder: &Path) -> Result<Vec<Fetched>, FetchError> {
    fs::metadata(from).map_err(FetchError::reading(from))?;
    each_download(entry, folder, |download| {
        import_download(entry, download, from, folder).map(|verified| (FileOrigin::Imported, verified))
    })
}

/// Checks every file of `entry` in `folder`, in the order of the catalogue.
pub fn verify(entry: &Entry, folder: &Path) -> Vec<(String, Result<Verified, FetchError>)> {
    let files = entry.downloads.iter().flat_map(|d| &d.files);
    files.map(|file| (file.name.clone(), file.check(&folder.join(&file.name)))).collect()
}

/// Fetches every download with a missing or damaged file, while no other process uses the folder.
fn each_download(
    entry: &Entry,
    folder: &Path,
    mut get: impl FnMut(&Download) -> Result<(FileOrigin, Vec<Verified>), FetchError>,
) -> Result<Vec<Fetched>, FetchError> {
    fs::create_dir_all(folder).map_err(FetchError::writing(folder))?;
    let _lock = lock(folder)?;
    let mut fetched = Vec::new();
    for download in &entry.downloads {
        let present: Result<Vec<Verified>, FetchError> =
            download.files.iter().map(|file| file.check(&folder.join(&file.name))).collect();
        let (origin, verified) = match present {
            Ok(verified) => (FileOrigin::Present, verified),
            Err(FetchError::Missing { .. } | FetchError::Corrupt(_)) => get(download)?,
            Err(error) => return Err(error),
        };
        let named = download.files.iter().zip(verified);
        fetched.extend(named.map(|(f, verified)| Fetched { file: f.name.clone(), origin, verified }));
    }
    Ok(fetched)
}

/// Held until dropped or the process ends.
fn lock(folder: &Path) -> Result<File, FetchError> {
    let path = folder.join(".lock");
    let file = open_own(&path).map_err(FetchError::writing(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(FetchError::Busy { folder: folder.into() }),
        Err(TryLockError::Error(source)) => Err(FetchError::writing(path)(source)),
    }
}

fn import_download(
    entry: &Entry,
    download: &Download,
    from: &Path,
    folder: &Path,
) -> Result<Vec<Verified>, FetchError> {
    if from.is_file() && entry.downloads.len() == 1 {
        return install_archive(download, from, folder);
    }
    let candidates = [String::new(), entry.name.clone()].into_iter().chain(entry.folders.iter().cloned());
    for candidate in candidates.map(|name| from.join(name)) {
        let existing = |name: &String| {
            [candidate.join(name), candidate.join(format!("{name}.gz"))].into_iter().find(|path| path.is_file())
        };
        let paths: Option<Vec<PathBuf>> = download.files.iter().map(|f| existing(&f.name)).collect();
        if let Some(paths) = paths {
            return install_files(download, &paths, folder);
        }
        let archive = candidate.join(&download.name);
        if archive.is_file() {
            return install_archive(download, &archive, folder);
        }
    }
    let file = download.files.first().map_or_else(|| download.name.clone(), |f| f.name.clone());
    Err(FetchError::NotFound { from: from.into(), file, archive: download.name.clone() })
}
