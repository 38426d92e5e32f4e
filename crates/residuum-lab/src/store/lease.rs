//! The right to run a trial: a lock on its folder, which the system releases when the process ends, however it ends.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use residuum_nn::data::disk::open_own;

use super::{CHECKPOINT, FAILURE, LOCK, MANIFEST, RECORDS, RUN};
use super::{Failure, Row, StoreError, TrialManifest, rows_to_csv};
use crate::files::{FileError, write_atomic, write_whole};

/// Results of longer work are flushed to disk before the trial counts as done. Shorter work is quick to repeat after a power
/// cut, and waiting for the disk would take longer than the work.
const SYNC_FROM_SECONDS: f64 = 1.0;

/// The exclusive right to run a trial, until dropped.
#[derive(Debug)]
pub struct Lease {
    folder: PathBuf,
    /// Held, not read.
    lock: File,
}

impl Lease {
    /// Locks a trial's folder; none if another process has the lock.
    pub(super) fn take(folder: &Path) -> Result<Option<Self>, StoreError> {
        let path = folder.join(LOCK);
        loop {
            fs::create_dir_all(folder).map_err(StoreError::io(folder))?;
            let lock = match open_own(&path) {
                // The folder was removed just now.
                Err(e) if e.kind() == ErrorKind::NotFound => continue,
                opened => opened.map_err(StoreError::io(&path))?,
            };
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(source)) => return Err(StoreError::Io { path, source }),
            }
            if is_current(&lock, &path).map_err(StoreError::io(&path))? {
                return Ok(Some(Self { folder: folder.into(), lock }));
            }
        }
    }

    /// The folder for a network's checkpoints.
    pub fn run_folder(&self) -> PathBuf {
        self.folder.join(RUN)
    }

    /// The folder for a problem's checkpoints.
    pub fn checkpoint(&self) -> PathBuf {
        self.folder.join(CHECKPOINT)
    }

    /// Removes files left half written by a kill.
    pub(super) fn tidy(&self) -> Result<(), StoreError> {
        for entry in fs::read_dir(&self.folder).map_err(StoreError::io(&self.folder))? {
            let entry = entry.map_err(StoreError::io(&self.folder))?;
            if entry.file_name().to_string_lossy().ends_with(".partial") {
                fs::remove_file(entry.path()).map_err(StoreError::io(entry.path()))?;
            }
        }
        Ok(())
    }

    /// Writes what is run here, so that others can read the trial's checkpoints.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn begin(&self, manifest: &TrialManifest) -> Result<(), StoreError> {
        Ok(write_whole(self.folder.join(MANIFEST), json(manifest)?.as_bytes())?)
    }

    /// Fails if the folder is no longer ours: writing would create a new one.
    fn check(&self) -> Result<(), StoreError> {
        match is_current(&self.lock, &self.folder.join(LOCK)) {
            Ok(true) => Ok(()),
            _ => Err(StoreError::Removed { path: self.folder.clone() }),
        }
    }

    /// Writes the files of a trial that was run elsewhere, records last.
    pub(super) fn adopt(self, files: &[(String, Vec<u8>)]) -> Result<(), StoreError> {
        self.check()?;
        for (place, _) in files {
            let plain = |part: &str| !part.is_empty() && !part.starts_with('.');
            if !place.split('/').all(plain) || place.contains('\\') {
                return Err(StoreError::NoTrial { path: self.folder.join(place) });
            }
        }
        // What an earlier state left would be mistaken for part of this one.
        self.remove(RUN)?;
        self.remove(CHECKPOINT)?;
        let is_last = |place: &str| place == RECORDS || place == FAILURE;
        let (last, first): (Vec<_>, Vec<_>) = files.iter().partition(|(place, _)| is_last(place));
        for (place, bytes) in first.into_iter().chain(last.iter().copied()) {
            write_atomic(self.folder.join(place), bytes)?;
        }
        if last.is_empty() { Ok(()) } else { self.remove(LOCK) }
    }

    /// Stores the result; the trial is then done.
    ///
    /// # Errors
    /// If the folder is gone or the files cannot be written; the trial is not done then.
    pub fn finish(self, manifest: &TrialManifest, rows: &[Row]) -> Result<(), StoreError> {
        self.check()?;
        let write = writer(manifest.seconds);
        write(self.folder.join(MANIFEST), json(manifest)?.as_bytes())?;
        // Last: a trial that has records is done.
        write(self.folder.join(RECORDS), rows_to_csv(rows).as_bytes())?;
        self.remove(FAILURE)?;
        self.remove(CHECKPOINT)?;
        self.remove(LOCK)
    }

    /// Stores why there is no result.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn fail(self, failure: &Failure) -> Result<(), StoreError> {
        self.check()?;
        writer(failure.manifest.seconds)(self.folder.join(FAILURE), json(failure)?.as_bytes())?;
        self.remove(CHECKPOINT)?;
        self.remove(LOCK)
    }

    /// Removes everything of the trial.
    pub(super) fn discard(self) -> Result<(), StoreError> {
        // Rename first, in one step: anyone who runs the trial from now on creates a new folder.
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        let away = self.folder.with_file_name(format!(".removed-{name}-{}", std::process::id()));
        fs::rename(&self.folder, &away).map_err(StoreError::io(&self.folder))?;
        fs::remove_dir_all(&away).map_err(StoreError::io(&away))
    }

    fn remove(&self, name: &str) -> Result<(), StoreError> {
        let path = self.folder.join(name);
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(source) if source.kind() != ErrorKind::NotFound => Err(StoreError::Io { path, source }),
            _ => Ok(()),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Closing the file would be enough; this is explicit.
        let _ = self.lock.unlock();
    }
}

/// Whether our lock is on the file that is now at `path`: the previous holder may have removed the file, and another process
/// may have created a new one.
#[cfg(unix)]
fn is_current(lock: &File, path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let here = match fs::symlink_metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
        found => found?,
    };
    let held = lock.metadata()?;
    Ok((held.dev(), held.ino()) == (here.dev(), here.ino()))
}

/// On other systems an open file cannot be removed.
#[cfg(not(unix))]
fn is_current(_: &File, path: &Path) -> std::io::Result<bool> {
    path.try_exists()
}

fn writer(seconds: f64) -> impl Fn(PathBuf, &[u8]) -> Result<(), FileError> {
    move |path, bytes| {
        if seconds >= SYNC_FROM_SECONDS { write_atomic(path, bytes) } else { write_whole(path, bytes) }
    }
}

fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| StoreError::Manifest { path: MANIFEST.into(), reason: e.to_string() })?;
    Ok(text + "\n")
}
