//! Checkpoints: named tensors, and a manifest of where in a run they were taken.
//!
//! ```text
//! checkpoints/epoch-000002-step-000000120/state.safetensors
//!                                         manifest.json
//! ```
//!
//! A checkpoint is written under a temporary name, flushed to disk, and renamed last: under its own name it is
//! complete. The previous one is kept as well, in case the disk damages the new one. CRC-32C checksums of the
//! manifest and the tensors detect damage.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use residuum::Tensors;
use residuum_data::disk::{self, DOCUMENT};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::checksum::{checksum, checksum_file};
use crate::state::{TensorFileError, read_safetensors, write_safetensors};

/// Version of the format, raised by changes that older versions would misread.
const VERSION: u32 = 2;

const STATE: &str = "state.safetensors";
const MANIFEST: &str = "manifest.json";
const PARTIAL: &str = "partial";
const REMOVED: &str = "removed";

/// Where in a run a checkpoint was taken, and anything else for its manifest.
pub trait Position: Clone + Serialize + DeserializeOwned {
    /// Name of the checkpoint of this position. Names sort as positions do.
    fn name(&self) -> String;
}

/// Why checkpoints cannot be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// A folder could not be read or written.
    #[error("{} must be readable and writable: {source}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A checkpoint could not be written. The previous one is intact.
    #[error(transparent)]
    Write(#[from] TensorFileError),
    /// A checkpoint of an unknown format version.
    #[error("checkpoint {} must have format version {supported}, got {stored}", path.display())]
    Version {
        /// The checkpoint.
        path: PathBuf,
        /// The version of its format.
        stored: u32,
        /// The supported version.
        supported: u32,
    },
    /// All checkpoints are damaged.
    #[error("no checkpoint is intact; {} was tried last: {reason}", last.display())]
    AllDamaged {
        /// The oldest checkpoint.
        last: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl CheckpointError {
    fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.into(), source }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Contents<P> {
    position: P,
    state_crc32c: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct Manifest<P> {
    version: u32,
    written_by: String,
    contents: Contents<P>,
    contents_crc32c: u32,
}

impl<P: Position> Contents<P> {
    fn checksum(&self) -> io::Result<u32> {
        Ok(checksum(&serde_json::to_vec(self)?))
    }
}

/// The checkpoints of one run.
#[derive(Debug)]
pub struct Checkpoints<P> {
    folder: PathBuf,
    /// The newest that is known to be intact.
    last: Option<PathBuf>,
    position: PhantomData<P>,
}

/// A checkpoint that was read.
#[derive(Clone, Debug)]
pub struct Checkpoint<P> {
    /// Its folder.
    pub path: PathBuf,
    /// Where it was taken.
    pub position: P,
    /// The state there.
    pub state: Tensors,
}

impl<P: Position> Checkpoints<P> {
    /// The checkpoints in `folder`, which need not exist.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), last: None, position: PhantomData }
    }

    /// The newest that is known to be intact: written or read.
    pub fn last(&self) -> Option<&PathBuf> {
        self.last.as_ref()
    }

    /// All checkpoints, intact or not, oldest first.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn list(&self) -> Result<Vec<PathBuf>, CheckpointError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(CheckpointError::io(&self.folder))?,
        };
        let mut paths = Vec::new();
        for entry in entries {
            let entry = entry.map_err(CheckpointError::io(&self.folder))?;
            if entry.file_name() != PARTIAL && entry.file_name() != REMOVED {
                paths.push(entry.path());
            }
        }
        paths.sort();
        Ok(paths)
    }

    /// Whether a checkpoint of this name already exists.
    pub fn holds(&self, name: &str) -> bool {
        self.last.as_ref() == Some(&self.folder.join(name))
    }

    /// Writes a checkpoint and removes all but it and the previous one.
    ///
    /// # Errors
    /// If it cannot be written; the previous one is then intact.
    pub fn write(&mut self, position: &P, state: &Tensors) -> Result<&Path, CheckpointError> {
        let path = self.folder.join(position.name());
        self.write_whole(&path, position, state)?;
        let before = self.last.replace(path);
        for old in self.list()? {
            if Some(&old) != before.as_ref() && Some(&old) != self.last.as_ref() {
                remove(&old).map_err(CheckpointError::io(&old))?;
            }
        }
        Ok(self.last.as_deref().unwrap_or(&self.folder))
    }

    fn write_whole(&self, path: &Path, position: &P, state: &Tensors) -> Result<(), TensorFileError> {
        let partial = self.folder.join(PARTIAL);
        let io = |path: &Path| {
            let path = path.to_owned();
            |source| TensorFileError::Io { path, source }
        };
        remove(&partial).and_then(|()| fs::create_dir_all(&partial)).map_err(io(&partial))?;
        let written = (|| {
            let tensors = partial.join(STATE);
            write_safetensors(&tensors, state)?;
            let state_crc32c = checksum_file(&tensors).map_err(io(&tensors))?;
            let contents = Contents { position: position.clone(), state_crc32c };
            write_manifest(&partial.join(MANIFEST), contents).map_err(io(&partial.join(MANIFEST)))?;
            // A checkpoint of this name was damaged, or the run would have continued from it.
            let rename = || {
                sync_folder(&partial)?;
                remove(path)?;
                fs::rename(&partial, path)?;
                sync_folder(&self.folder)
            };
            rename().map_err(io(path))
        })();
        if written.is_err() {
            // Leftovers only take space; failing to remove them does no harm.
            let _ = remove(&partial);
        }
        written
    }

    /// Removes what a killed run left behind: half-written, half-removed and outdated checkpoints. A run that was
    /// killed after its last checkpoint writes no further one to do so.
    pub fn tidy(&self) {
        let list = self.list().unwrap_or_default();
        let older = list.iter().filter(|path| Some(*path) < self.last.as_ref()).rev().skip(1);
        let litter = [PARTIAL, REMOVED].map(|name| self.folder.join(name));
        for path in older.chain(&litter) {
            // It only takes space; failing to remove it does no harm.
            let _ = remove(path);
        }
    }

    /// Reads the newest intact checkpoint and reports damaged ones with the reason; `None` if there are no checkpoints.
    /// Nothing is removed: the run may still be active in another process.
    ///
    /// # Errors
    /// If all are damaged, or one has an unknown format.
    pub fn newest(
        &mut self,
        mut warn: impl FnMut(&Path, &str),
    ) -> Result<Option<Checkpoint<P>>, CheckpointError> {
        let mut damage = None;
        for path in self.list()?.into_iter().rev() {
            match read(&path) {
                Ok((position, state)) => {
                    self.last = Some(path.clone());
                    return Ok(Some(Checkpoint { path, position, state }));
                }
                Err(Unreadable::Version(stored)) => {
                    return Err(CheckpointError::Version { path, stored, supported: VERSION });
                }
                Err(Unreadable::Damaged(reason)) => {
                    warn(&path, &reason);
                    damage = Some((path, reason));
                }
            }
        }
        match damage {
            None => Ok(None),
            Some((last, reason)) => Err(CheckpointError::AllDamaged { last, reason }),
        }
    }
}

/// Why a checkpoint cannot be read.
enum Unreadable {
    Damaged(String),
    Version(u32),
}

fn read<P: Position>(path: &Path) -> Result<(P, Tensors), Unreadable> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let damaged = |what: &str, error: &dyn std::fmt::Display| Unreadable::Damaged(format!("{what}: {error}"));
    let text = disk::read(path.join(MANIFEST), DOCUMENT).map_err(|e| damaged(MANIFEST, &e))?;
    // The version first: other fields may mean something else in another version.
    let Version { version } = serde_json::from_slice(&text).map_err(|e| damaged(MANIFEST, &e))?;
    if version != VERSION {
        return Err(Unreadable::Version(version));
    }
    let manifest: Manifest<P> = serde_json::from_slice(&text).map_err(|e| damaged(MANIFEST, &e))?;
    let sum = manifest.contents.checksum().map_err(|e| damaged(MANIFEST, &e))?;
    if sum != manifest.contents_crc32c {
        return Err(damaged(MANIFEST, &"its checksum does not hold"));
    }
    let tensors = path.join(STATE);
    let sum = checksum_file(&tensors).map_err(|e| damaged(STATE, &e))?;
    if sum != manifest.contents.state_crc32c {
        return Err(damaged(STATE, &"its checksum does not hold"));
    }
    let state = read_safetensors(&tensors).map_err(|e| damaged(STATE, &e))?;
    Ok((manifest.contents.position, state))
}

fn write_manifest<P: Position>(path: &Path, contents: Contents<P>) -> io::Result<()> {
    let contents_crc32c = contents.checksum()?;
    let written_by = concat!("residuum ", env!("CARGO_PKG_VERSION")).to_owned();
    let manifest = Manifest { version: VERSION, written_by, contents, contents_crc32c };
    let mut file = File::create(path)?;
    file.write_all(&serde_json::to_vec_pretty(&manifest)?)?;
    file.write_all(b"\n")?;
    file.sync_all()
}

/// Removes a folder if it exists, never leaving a partial one under its name.
fn remove(folder: &Path) -> io::Result<()> {
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    };
    let doomed = folder.with_file_name(REMOVED);
    gone(fs::remove_dir_all(&doomed))?;
    match fs::rename(folder, &doomed) {
        Ok(()) => gone(fs::remove_dir_all(&doomed)),
        missing => gone(missing),
    }
}

/// Flushes the entries of a folder to disk. Where folders cannot be opened, the system does so itself.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
