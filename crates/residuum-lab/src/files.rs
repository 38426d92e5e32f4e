//! Atomic files: written completely or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use residuum_nn::state::refuse_special;
use residuum_plot::{Figure, FigureFormat, PngError};

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The path does not end in a file name.
    #[error("path must end in a file name, got {}", path.display())]
    NoName {
        /// The path as given.
        path: PathBuf,
    },
    /// The folder of the file could not be created.
    #[error("folder {} must be creatable: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file could not be written or renamed into place.
    #[error("file {} must be writable: {source}", path.display())]
    Write {
        /// The requested file, not the temporary one.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Writes `bytes` to `path` so that a reader sees either the old file or the new one, never part of one.
///
/// The bytes go to a temporary file in the same folder (a rename across file systems is not atomic), reach the disk,
/// and take the final name last. Missing folders are created.
pub fn write_atomic(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), FileError> {
    write(path.as_ref(), bytes, File::sync_all)
}

/// The same without waiting for the disk: after a kill the file is complete, after a power cut it may be empty. For files
/// that are quick to recreate.
pub fn write_whole(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), FileError> {
    write(path.as_ref(), bytes, |_| Ok(()))
}

fn write(path: &Path, bytes: &[u8], settle: impl FnOnce(&File) -> io::Result<()>) -> Result<(), FileError> {
    let Some(name) = path.file_name() else {
        return Err(FileError::NoName { path: path.into() });
    };
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        fs::create_dir_all(folder).map_err(|source| FileError::Folder { path: folder.into(), source })?;
    }
    let failed = |source| FileError::Write { path: path.into(), source };
    refuse_special(path).map_err(failed)?;

    let (partial, mut file) = create_partial(folder, name).map_err(failed)?;
    // Says that somebody writes it; where there are no locks, nothing is tidied either.
    let _ = file.try_lock();
    let written = file.write_all(bytes).and_then(|()| settle(&file));
    let written = written.and_then(|()| match fs::rename(&partial, path) {
        // Tidied by another writer before it was locked: the bytes are at hand.
        Err(gone) if gone.kind() == ErrorKind::NotFound && folder.is_dir() => fs::write(path, bytes),
        renamed => renamed,
    });
    if written.is_ok() {
        tidy(folder, name);
    }
    written.map_err(|source| {
        // Report the first error, whether or not the clean-up succeeds.
        let _ = fs::remove_file(&partial);
        failed(source)
    })
}

/// Removes what killed writers of this file have left: partial files that nobody holds.
pub(crate) fn tidy(folder: &Path, name: &OsStr) {
    let start = format!(".{}.", name.to_string_lossy());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let own = entry.file_name();
        let own = own.to_string_lossy();
        let is_partial = own.strip_prefix(&start).is_some_and(|rest| {
            rest.strip_suffix(".partial").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit() || b == b'-'))
        });
        // It only takes space; failing to remove it does no harm.
        if is_partial && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Writes and removes a file of `bytes` bytes: better to fail now than after hours of work.
pub(crate) fn probe(folder: &Path, bytes: usize) -> io::Result<()> {
    let name = OsStr::new("probe");
    let (partial, mut file) = create_partial(folder, name)?;
    let _ = file.try_lock();
    let written = file.write_all(&vec![0; bytes]);
    let _ = fs::remove_file(&partial);
    tidy(folder, name);
    written
}

/// Why a figure could not be saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FigureError {
    /// It could not be rasterised.
    #[error(transparent)]
    Png(#[from] PngError),
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// What figures are written as unless something else is asked for.
pub const FIGURES: [FigureFormat; 2] = [FigureFormat::Svg, FigureFormat::Png];

/// Writes a figure into `folder` as `name.svg`, `name.png` and so on, each atomically, and gives the paths in the order of the
/// formats. Nothing is written if one of them cannot be made.
pub fn save_figure(
    figure: &Figure,
    folder: impl AsRef<Path>,
    name: &str,
    formats: &[FigureFormat],
) -> Result<Vec<PathBuf>, FigureError> {
    let mut files = Vec::new();
    for format in formats {
        let path = folder.as_ref().join(format!("{name}.{}", format.extension()));
        files.push((path, figure.render(*format)?));
    }
    for (path, bytes) in &files {
        write_atomic(path, bytes)?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// A new file next to the target; names left by an interrupted run, or in use by another writer, are skipped.
fn create_partial(folder: &Path, name: &OsStr) -> io::Result<(PathBuf, File)> {
    for attempt in 0_u32.. {
        let mut partial = OsString::from(".");
        partial.push(name);
        partial.push(format!(".{}-{attempt}.partial", std::process::id()));
        let candidate = folder.join(partial);
        match OpenOptions::new().write(true).create_new(true).open(&candidate) {
            Err(taken) if taken.kind() == ErrorKind::AlreadyExists => {}
            outcome => return outcome.map(|file| (candidate, file)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Opens a file to lock it, creating it if necessary and keeping its contents. Symbolic links are refused, because locks are
/// taken in folders that others may write to.
pub fn open_lock(path: &Path) -> io::Result<File> {
    refuse_link(path)?;
    OpenOptions::new().write(true).create(true).truncate(false).open(path)
}

/// Refuses a symbolic link.
///
/// # Errors
/// If there is one at `path`.
pub fn refuse_link(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            Err(io::Error::new(ErrorKind::InvalidInput, "it must be a file, but is a symbolic link"))
        }
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Text as a CSV field, quoted if necessary. An apostrophe is put before anything that a spreadsheet would take for a formula.
pub fn csv_field(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    let text = if is_formula { format!("'{text}") } else { text.to_string() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
