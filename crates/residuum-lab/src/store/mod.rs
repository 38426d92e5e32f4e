//! The run store: a folder of trials, each under the [`id`](crate::plan::Plan::id) of its content.
//!
//! ```text
//! STORE/store.json                    the schema of the store
//!       trials/<id>/manifest.json     what the trial is; once it is done, also its time
//!                   records.csv       its numbers; written last: a trial that has them is done
//!                   failed.json       instead of both: why the trial has no numbers
//!                   run/              of a network: checkpoints, metrics, events
//!                   checkpoints/      of an unfinished problem: its state so far
//!                   .lock             locked by the process that runs the trial
//!       tensorboard/<name>            link to the run/ of a network, named by what distinguishes its trial
//! ```
//!
//! Any number of processes may use a store at once.

mod error;
mod lease;
mod manifest;
mod names;
mod row;

use std::fs;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use crate::spec::SpecKind;
pub use error::StoreError;
pub use lease::Lease;
pub use manifest::{Failure, StoredParameter, TrialManifest};
pub use names::run_name;
pub use row::{Row, RowError, rows_from_csv, rows_to_csv};

use crate::files::{probe, tidy, write_atomic};

const STORE: &str = "store.json";
const SCHEMA: &str = "residuum.store/1";
const TRIALS: &str = "trials";
const MANIFEST: &str = "manifest.json";
const RECORDS: &str = "records.csv";
const FAILURE: &str = "failed.json";
const RUN: &str = "run";
const CHECKPOINT: &str = "checkpoints";
const LOCK: &str = ".lock";

/// Bytes written to check for free space.
const PROBE: usize = 4096;

/// A folder of trials.
#[derive(Clone, Debug)]
pub struct Store {
    path: PathBuf,
}

/// The state of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialState {
    /// Nothing is stored.
    Absent,
    /// It was started and may still be running.
    Begun,
    /// It failed; see [`Store::failures`].
    Failed,
    /// Its records are stored.
    Done,
}

/// Whether a trial may be run.
#[derive(Debug)]
pub enum TrialClaim {
    /// Yes, by us.
    Ours(Lease),
    /// Another process runs it.
    Busy,
    /// Nothing is left to do: it is done or has failed.
    Settled(TrialState),
}

#[derive(Serialize, Deserialize)]
struct Header {
    schema: String,
}

impl Store {
    /// The store at `path`, for writing; created if the folder is new or empty.
    ///
    /// # Errors
    /// If it cannot be written, or the folder holds something else.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        if path.exists() && !path.is_dir() {
            return Err(StoreError::NotAFolder { path: path.into() });
        }
        let refused = |source| StoreError::NotWritable { path: path.into(), source };
        fs::create_dir_all(path).map_err(refused)?;
        let store = match Self::open(path) {
            Err(StoreError::NoStore { .. }) => {
                let header = Header { schema: SCHEMA.into() };
                check_empty(path)?;
                probe(path, PROBE).map_err(refused)?;
                let text = serde_json::to_string_pretty(&header).unwrap_or_default() + "\n";
                write_atomic(path.join(STORE), text.as_bytes())?;
                Self { path: path.into() }
            }
            opened => {
                probe(path, PROBE).map_err(refused)?;
                // Of a process that was killed while another made the store.
                tidy(path, STORE.as_ref());
                opened?
            }
        };
        let trials = path.join(TRIALS);
        fs::create_dir_all(&trials).map_err(StoreError::io(&trials))?;
        Ok(store)
    }

    /// The store at `path`, for reading.
    ///
    /// # Errors
    /// If there is none, or it is of another version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        if path.exists() && !path.is_dir() {
            return Err(StoreError::NotAFolder { path: path.into() });
        }
        let file = path.join(STORE);
        let text = match fs::read_to_string(&file) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(StoreError::NoStore { path: path.into() });
            }
            read => read.map_err(StoreError::io(&file))?,
        };
        let found = serde_json::from_str::<Header>(&text).map_or_else(|_| text, |header| header.schema);
        if found != SCHEMA {
            return Err(StoreError::Schema { path: file, expected: SCHEMA, found });
        }
        Ok(Self { path: path.into() })
    }

    /// The store and the id of a trial's folder, `STORE/trials/ID`; a prefix of the id is enough.
    ///
    /// # Errors
    /// If there is no such trial.
    pub fn locate(folder: &Path) -> Result<(Self, String), StoreError> {
        let missing = || StoreError::NoTrial { path: folder.into() };
        let whole = fs::canonicalize(folder);
        let path = whole.as_deref().unwrap_or(folder);
        let (Some(name), Some(trials)) = (path.file_name(), path.parent()) else { return Err(missing()) };
        if trials.file_name() != Some(TRIALS.as_ref()) {
            return Err(missing());
        }
        // The parent of a two-part relative path may be the empty path, which names nothing.
        let root = trials.parent().filter(|root| !root.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let store = Self::open(root).map_err(|_| missing())?;
        let id = store.find(&name.to_string_lossy())?;
        Ok((store, id))
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of a network's checkpoints, metrics and events.
    pub fn run_folder(&self, id: &str) -> PathBuf {
        self.folder(id).join(RUN)
    }

    /// The folder of a trial.
    pub fn folder(&self, id: &str) -> PathBuf {
        self.path.join(TRIALS).join(id)
    }

    /// How far a trial is.
    pub fn state(&self, id: &str) -> TrialState {
        let folder = self.folder(id);
        if ends_in_line(&folder.join(RECORDS)) {
            TrialState::Done
        } else if ends_in_line(&folder.join(FAILURE)) {
            TrialState::Failed
        } else if folder.is_dir() {
            TrialState::Begun
        } else {
            TrialState::Absent
        }
    }

    /// Asks for the right to run a trial.
    ///
    /// # Errors
    /// If its folder cannot be written.
    pub fn claim(&self, id: &str) -> Result<TrialClaim, StoreError> {
        if !self.path.join(STORE).is_file() {
            return Err(StoreError::NoStore { path: self.path.clone() });
        }
        let before = self.state(id);
        if matches!(before, TrialState::Done | TrialState::Failed) {
            return Ok(TrialClaim::Settled(before));
        }
        let Some(lease) = Lease::take(&self.folder(id))? else { return Ok(TrialClaim::Busy) };
        // Another process may have finished it before we got the lock.
        match self.state(id) {
            settled @ (TrialState::Done | TrialState::Failed) => Ok(TrialClaim::Settled(settled)),
            _ => {
                if before == TrialState::Begun {
                    lease.tidy()?;
                }
                Ok(TrialClaim::Ours(lease))
            }
        }
    }

    /// The manifests of all trials that are done, in the order of experiments, labels and seeds.
    ///
    /// # Errors
    /// If a manifest cannot be read.
    pub fn trials(&self) -> Result<Vec<TrialManifest>, StoreError> {
        let mut trials = Vec::new();
        for id in self.ids()? {
            if self.state(&id) == TrialState::Done {
                trials.push(self.manifest(&id)?);
            }
        }
        trials.sort_by(|a, b| a.order().cmp(&b.order()));
        Ok(trials)
    }

    /// The failed trials, in the same order.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn failures(&self) -> Result<Vec<Failure>, StoreError> {
        let mut failures = Vec::new();
        for id in self.ids()? {
            if self.state(&id) == TrialState::Failed {
                failures.push(self.failure(&id)?);
            }
        }
        failures.sort_by(|a: &Failure, b| a.manifest.order().cmp(&b.manifest.order()));
        Ok(failures)
    }

    /// Why a trial failed.
    ///
    /// # Errors
    /// If it has not, or the file cannot be read.
    pub fn failure(&self, id: &str) -> Result<Failure, StoreError> {
        let path = self.folder(id).join(FAILURE);
        let failure: Failure = read_json(&path)?;
        check_id(&path, &failure.manifest, id)?;
        Ok(failure)
    }

    /// The ids of all trials in the store, sorted.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn ids(&self) -> Result<Vec<String>, StoreError> {
        let folder = self.path.join(TRIALS);
        let entries = match fs::read_dir(&folder) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(StoreError::io(&folder))?,
        };
        let mut ids = Vec::new();
        for entry in entries {
            let entry = entry.map_err(StoreError::io(&folder))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // A link would lead out of the store.
            let is_folder = entry.file_type().map_err(StoreError::io(entry.path()))?.is_dir();
            if is_folder && !name.starts_with('.') {
                ids.push(name);
            }
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// The one trial whose id begins with `prefix`.
    ///
    /// # Errors
    /// If there is none, or more than one.
    pub fn find(&self, prefix: &str) -> Result<String, StoreError> {
        let mut found = self.ids()?;
        // Nothing begins every id: an empty variable of a script must not name the only trial.
        found.retain(|id| !prefix.is_empty() && id.starts_with(prefix));
        let count = found.len();
        match found.pop() {
            Some(id) if count == 1 => Ok(id),
            _ => Err(StoreError::NotOne { prefix: prefix.into(), count }),
        }
    }

    /// The manifest of a trial that was started.
    ///
    /// # Errors
    /// If it cannot be read, or is that of another trial.
    pub fn manifest(&self, id: &str) -> Result<TrialManifest, StoreError> {
        let path = self.folder(id).join(MANIFEST);
        let manifest = read_json(&path)?;
        check_id(&path, &manifest, id)?;
        Ok(manifest)
    }

    /// The records of a finished trial.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn records(&self, id: &str) -> Result<Vec<Row>, StoreError> {
        let path = self.folder(id).join(RECORDS);
        let text = fs::read_to_string(&path).map_err(StoreError::io(&path))?;
        rows_from_csv(&text).map_err(|source| StoreError::Records { path, source })
    }

    /// Takes over a trial that was run elsewhere: its files by their paths in its folder. Records are written last, so that
    /// the trial is done only with all of them; files of an unfinished trial let this store continue it.
    ///
    /// # Errors
    /// If another process runs it, a path leads out of its folder, or a file cannot be written.
    pub fn adopt(&self, id: &str, files: &[(String, Vec<u8>)]) -> Result<TrialState, StoreError> {
        let lease = match self.claim(id)? {
            TrialClaim::Ours(lease) => lease,
            TrialClaim::Settled(state) => return Ok(state),
            TrialClaim::Busy => return Err(StoreError::Busy { id: id.into() }),
        };
        lease.adopt(files)?;
        Ok(self.state(id))
    }

    /// The files of a trial by their paths in its folder, without what is being written.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn files(&self, id: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let mut files = Vec::new();
        gather(&self.folder(id), "", &mut files)?;
        files.sort();
        Ok(files)
    }

    /// Removes a trial.
    ///
    /// # Errors
    /// If another process runs it, or its files cannot be removed.
    pub fn remove(&self, id: &str) -> Result<(), StoreError> {
        if self.state(id) == TrialState::Absent {
            return Err(StoreError::NotOne { prefix: id.into(), count: 0 });
        }
        match Lease::take(&self.folder(id))? {
            Some(lease) => {
                lease.discard()?;
                self.forget_run(id);
                Ok(())
            }
            None => Err(StoreError::Busy { id: id.into() }),
        }
    }
}

/// Adds the files under `folder`.
fn gather(folder: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) -> Result<(), StoreError> {
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        read => read.map_err(StoreError::io(folder))?,
    };
    for entry in entries {
        let entry = entry.map_err(StoreError::io(folder))?;
        let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        if name == LOCK || name.ends_with(".partial") {
            continue;
        }
        let kind = entry.file_type().map_err(StoreError::io(&path))?;
        let place = format!("{prefix}{name}");
        if kind.is_dir() {
            gather(&path, &format!("{place}/"), files)?;
        } else if kind.is_file() {
            match fs::read(&path) {
                // An older checkpoint may make room for a newer one meanwhile.
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                read => files.push((place, read.map_err(StoreError::io(&path))?)),
            }
        }
    }
    Ok(())
}

/// Whether a file exists and is complete: a power cut may leave an empty one, or one that ends in zeros.
fn ends_in_line(path: &Path) -> bool {
    let last = |path: &Path| -> std::io::Result<u8> {
        let mut file = fs::File::open(path)?;
        file.seek(SeekFrom::End(-1))?;
        let mut byte = [0];
        file.read_exact(&mut byte)?;
        Ok(byte[0])
    };
    last(path).is_ok_and(|byte| byte == b'\n')
}

/// The name of a trial's folder is its id; a manifest with another id is rejected.
fn check_id(path: &Path, manifest: &TrialManifest, id: &str) -> Result<(), StoreError> {
    if manifest.id == id {
        return Ok(());
    }
    let reason = format!("its id must be the name of its folder, got {:?}", manifest.id);
    Err(StoreError::Manifest { path: path.into(), reason })
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    let text = fs::read_to_string(path).map_err(StoreError::io(path))?;
    serde_json::from_str(&text).map_err(|e| StoreError::Manifest { path: path.into(), reason: e.to_string() })
}

/// Ignores hidden files: another process may be creating the same store.
fn check_empty(path: &Path) -> Result<(), StoreError> {
    for entry in fs::read_dir(path).map_err(StoreError::io(path))? {
        let found = entry.map_err(StoreError::io(path))?.file_name().to_string_lossy().into_owned();
        if !found.starts_with('.') && found != STORE && found != TRIALS {
            return Err(StoreError::Foreign { path: path.into(), found });
        }
    }
    Ok(())
}
