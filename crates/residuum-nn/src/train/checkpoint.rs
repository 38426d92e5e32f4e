//! Checkpoints: all named tensors of the network, and a manifest of where in the run they were taken.
//!
//! ```text
//! checkpoints/epoch-000002-step-000000120/state.safetensors
//!                                         manifest.json
//! ```
//!
//! A checkpoint is written under another name, reaches the disk, and takes its own name last: under that name it is
//! whole. The one before is kept until then, and after, in case the disk damages the new one.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::crc32c::{checksum, checksum_file};
use super::early_stop::Patience;
use super::evaluate::Tally;
use super::{TrainError, Warning};
use crate::state::{FileError, State, read_safetensors, write_safetensors};

/// Version of the format. A change that older versions would misread raises it.
const VERSION: u32 = 1;

const STATE: &str = "state.safetensors";
const MANIFEST: &str = "manifest.json";
const PARTIAL: &str = "partial";
const REMOVED: &str = "removed";

/// What makes a run this run and no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// The canonical text of the spec, and its checksum for the eye.
    pub description: String,
    pub description_crc32c: String,
    /// The first random bits of the run's key.
    pub key: String,
    /// Training samples and steps of an epoch.
    pub train_samples: u64,
    pub steps_per_epoch: u64,
}

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Position {
    /// Steps done since the run began.
    pub k: u64,
    /// Whole epochs done.
    pub epoch: u64,
    /// Steps done in the current one.
    pub step: u64,
    /// What the current epoch's samples came to.
    pub tally: Tally,
    pub patience: Patience,
    /// Bytes of the files of metrics that belong to this position.
    pub metrics_bytes: u64,
    pub events_bytes: u64,
    /// Wall time spent on the current epoch.
    pub seconds: f64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Contents {
    identity: Identity,
    position: Position,
    state_crc32c: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    version: u32,
    written_by: String,
    contents: Contents,
    contents_crc32c: u32,
}

impl Contents {
    fn checksum(&self) -> io::Result<u32> {
        Ok(checksum(&serde_json::to_vec(self)?))
    }
}

/// The checkpoints of one run.
pub(super) struct Checkpoints {
    folder: PathBuf,
    /// The newest that is known to be whole.
    last: Option<PathBuf>,
}

impl Checkpoints {
    pub fn new(directory: &Path) -> Self {
        Self { folder: directory.join("checkpoints"), last: None }
    }

    /// The newest that is known to be whole: written or read.
    pub fn last(&self) -> Option<&PathBuf> {
        self.last.as_ref()
    }

    /// Where the checkpoint of `position` is or would be. Names sort as positions do.
    fn path(&self, position: &Position) -> PathBuf {
        self.folder.join(format!("epoch-{:06}-step-{:09}", position.epoch, position.step))
    }

    /// All checkpoints, whole or not, oldest first.
    pub fn list(&self) -> Result<Vec<PathBuf>, TrainError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(TrainError::io(&self.folder))?,
        };
        let mut paths = Vec::new();
        for entry in entries {
            let entry = entry.map_err(TrainError::io(&self.folder))?;
            if entry.file_name().to_string_lossy().starts_with("epoch-") {
                paths.push(entry.path());
            }
        }
        paths.sort();
        Ok(paths)
    }

    /// Whether the checkpoint of `position` is there already.
    pub fn holds(&self, position: &Position) -> bool {
        self.last.as_ref() == Some(&self.path(position))
    }

    /// Writes a checkpoint and removes all but it and the one before.
    pub fn write(
        &mut self,
        identity: &Identity,
        position: &Position,
        state: &State,
    ) -> Result<&Path, TrainError> {
        let path = self.path(position);
        let failed = |kept: &Option<PathBuf>| {
            let kept = kept.clone();
            |source| TrainError::Checkpoint { k: position.k, kept, source }
        };
        self.write_whole(&path, identity, position, state).map_err(failed(&self.last))?;
        let before = self.last.replace(path);
        for old in self.list()? {
            if Some(&old) != before.as_ref() && Some(&old) != self.last.as_ref() {
                remove(&old).map_err(TrainError::io(&old))?;
            }
        }
        Ok(self.last.as_deref().unwrap_or(&self.folder))
    }

    fn write_whole(
        &self,
        path: &Path,
        identity: &Identity,
        position: &Position,
        state: &State,
    ) -> Result<(), FileError> {
        let partial = self.folder.join(PARTIAL);
        let io = |path: &Path| {
            let path = path.to_owned();
            |source| FileError::Io { path, source }
        };
        remove(&partial).and_then(|()| fs::create_dir_all(&partial)).map_err(io(&partial))?;
        let written = (|| {
            let tensors = partial.join(STATE);
            write_safetensors(&tensors, state)?;
            let state_crc32c = checksum_file(&tensors).map_err(io(&tensors))?;
            let contents = Contents { identity: identity.clone(), position: position.clone(), state_crc32c };
            write_manifest(&partial.join(MANIFEST), contents).map_err(io(&partial.join(MANIFEST)))?;
            // A checkpoint of this name was damaged, or the run would have gone on from it.
            let rename = || {
                sync_folder(&partial)?;
                remove(path)?;
                fs::rename(&partial, path)?;
                sync_folder(&self.folder)
            };
            rename().map_err(io(path))
        })();
        if written.is_err() {
            // What is left of it only takes space; that it cannot be removed changes nothing.
            let _ = remove(&partial);
        }
        written
    }

    /// Removes what a kill left: half-written, half-removed, and older than the one before the last. A run that was
    /// killed after its last checkpoint writes none that would do so.
    pub fn tidy(&self) {
        let list = self.list().unwrap_or_default();
        let older = list.iter().filter(|path| Some(*path) < self.last.as_ref()).rev().skip(1);
        let litter = [PARTIAL, REMOVED].map(|name| self.folder.join(name));
        for path in older.chain(&litter) {
            // It only takes space; that it cannot be removed changes nothing.
            let _ = remove(path);
        }
    }

    /// Reads the newest checkpoint that is whole, and tells of those that are not. Nothing is removed: the run may be going
    /// on in another process.
    pub fn newest(
        &mut self,
        directory: &Path,
        mut warn: impl FnMut(&Warning),
    ) -> Result<(PathBuf, Identity, Position, State), TrainError> {
        let mut damage = None;
        for path in self.list()?.into_iter().rev() {
            match read(&path) {
                Ok((contents, state)) => {
                    self.last = Some(path.clone());
                    return Ok((path, contents.identity, contents.position, state));
                }
                Err(Unreadable::Version(stored)) => {
                    return Err(TrainError::Version { path, stored, supported: VERSION });
                }
                Err(Unreadable::Damaged(reason)) => {
                    warn(&Warning::DamagedCheckpoint { path: path.clone(), reason: reason.clone() });
                    damage = Some((path, reason));
                }
            }
        }
        let directory = directory.to_owned();
        Err(match damage {
            None => TrainError::NoCheckpoint { directory },
            Some((last, reason)) => TrainError::AllDamaged { directory, last, reason },
        })
    }
}

/// Why a checkpoint cannot be read.
enum Unreadable {
    Damaged(String),
    Version(u32),
}

fn read(path: &Path) -> Result<(Contents, State), Unreadable> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let damaged = |what: &str, error: &dyn std::fmt::Display| Unreadable::Damaged(format!("{what}: {error}"));
    let text = fs::read(path.join(MANIFEST)).map_err(|e| damaged(MANIFEST, &e))?;
    // The version first: what follows may mean something else in another.
    let Version { version } = serde_json::from_slice(&text).map_err(|e| damaged(MANIFEST, &e))?;
    if version != VERSION {
        return Err(Unreadable::Version(version));
    }
    let manifest: Manifest = serde_json::from_slice(&text).map_err(|e| damaged(MANIFEST, &e))?;
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
    Ok((manifest.contents, state))
}

fn write_manifest(path: &Path, contents: Contents) -> io::Result<()> {
    let contents_crc32c = contents.checksum()?;
    let written_by = concat!("residuum ", env!("CARGO_PKG_VERSION")).to_owned();
    let manifest = Manifest { version: VERSION, written_by, contents, contents_crc32c };
    let mut file = File::create(path)?;
    file.write_all(&serde_json::to_vec_pretty(&manifest)?)?;
    file.write_all(b"\n")?;
    file.sync_all()
}

/// Removes a folder, if it is there, so that no part of it keeps its name.
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

/// Puts the names in a folder on the disk. Where folders cannot be opened, the system does so by itself.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
