//! Files as the rest of the toolkit opens them: nothing is read without a limit, and no file of a run or of a data folder is a
//! symbolic link, whose target may belong to anyone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// Most bytes of a document: a spec, a manifest, parameters of a device.
pub const DOCUMENT: u64 = 64 << 20;
/// Most bytes of data: tables, arrays, images, weights, records.
pub const DATA: u64 = 16 << 30;

/// The bytes of a file of at most `most` bytes. What is no file (a pipe, a device) gives at most those of a [`DOCUMENT`], as
/// nothing says that it ever ends.
///
/// # Errors
/// If it cannot be read, or is larger.
pub fn read(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    let most = if found.is_file() { most } else { most.min(DOCUMENT) };
    let too_large =
        || io::Error::new(ErrorKind::FileTooLarge, format!("it must have at most {most} bytes, got more"));
    if found.len() > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    // A little more than the file says: without it the end would be looked for with a larger buffer.
    let length = usize::try_from(found.len()).unwrap_or(usize::MAX);
    bytes.try_reserve_exact(length.saturating_add(1))?;
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// The same as text.
///
/// # Errors
/// If it cannot be read, is larger, or is not UTF-8.
pub fn read_text(path: impl AsRef<Path>, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|e| {
        io::Error::new(ErrorKind::InvalidData, format!("it must be text in UTF-8: {}", e.utf8_error()))
    })
}

/// Opens a file of data. What is none is refused: a pipe would be waited for, a device may never end.
///
/// # Errors
/// If it cannot be opened, or is no file.
pub fn open_data(path: &Path) -> io::Result<File> {
    refuse_special(path)?;
    File::open(path)
}

/// Refuses a place where there is something that is neither a file nor missing, such as a device or a pipe: a file that is renamed
/// to it would take its place.
///
/// # Errors
/// If there is one at `path`.
pub fn refuse_special(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            Err(io::Error::new(ErrorKind::InvalidInput, "it must be a file, but is something else"))
        }
        _ => Ok(()),
    }
}

/// Opens a file to lock it, to append to it or to go on with it: created if necessary, with what it has in it.
///
/// # Errors
/// If it cannot be opened, or is a symbolic link.
pub fn open_own(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it must be a file, but is a symbolic link"));
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    // The system refuses a link that was put there after the look.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
    options.open(path)
}

/// A new, empty file. What a killed process has left under its name goes; a link that somebody has put there is not followed.
///
/// # Errors
/// If it cannot be made.
pub fn create_new(path: &Path) -> io::Result<File> {
    let _ = fs::remove_file(path);
    OpenOptions::new().write(true).create_new(true).open(path)
}
