//! Files that grow with the run and are truncated to the checkpoint it resumes from.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use residuum_data::disk::{self, DATA, open_own};

use super::{TrainError, Warning};

/// An append-only file.
pub struct Log {
    path: PathBuf,
    file: File,
    length: u64,
    /// Bytes known to be on disk.
    synced: u64,
}

impl Log {
    /// Opens the file to append after its first `keep` bytes. A file that is not `sound` there is set aside, and
    /// a new one is started.
    pub fn open(
        path: PathBuf,
        keep: u64,
        sound: impl FnOnce(&[u8]) -> bool,
        warn: impl FnOnce(&Warning),
    ) -> Result<Self, TrainError> {
        let mut file = open_own(&path).map_err(TrainError::io(&path))?;
        let mut length = keep;
        if keep > 0 {
            let bytes = disk::read(&path, DATA).map_err(TrainError::io(&path))?;
            if !bytes.get(..keep as usize).is_some_and(sound) {
                let kept = set_aside(&path)?;
                warn(&Warning::DamagedLog { path: path.clone(), kept });
                file = open_own(&path).map_err(TrainError::io(&path))?;
                length = 0;
            }
        }
        file.set_len(length).and_then(|()| file.seek(SeekFrom::End(0))).map_err(TrainError::io(&path))?;
        Ok(Self { path, file, length, synced: 0 })
    }

    /// Adds bytes at the end.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), TrainError> {
        self.file.write_all(bytes).map_err(TrainError::io(&self.path))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Flushes the file to disk and returns its length: what a checkpoint refers to must be durable.
    pub fn sync(&mut self) -> Result<u64, TrainError> {
        if self.synced < self.length {
            self.file.sync_data().map_err(TrainError::io(&self.path))?;
            self.synced = self.length;
        }
        Ok(self.length)
    }

    /// Bytes so far.
    pub fn length(&self) -> u64 {
        self.length
    }
}

/// Renames a file to `….damaged-N`, the first free N.
fn set_aside(path: &Path) -> Result<PathBuf, TrainError> {
    let name = |n: u32| {
        let mut name = OsString::from(path);
        name.push(format!(".damaged-{n}"));
        PathBuf::from(name)
    };
    let mut n = 1;
    while name(n).exists() {
        n += 1;
    }
    fs::rename(path, name(n)).map_err(TrainError::io(path))?;
    Ok(name(n))
}
