//! Installs downloaded or imported files: unpacked next to their final names, checked, renamed.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::{Corruption, FetchError};
use crate::catalogue::{ContentFile, Download, Packing};
use crate::check::Verified;
use crate::disk::create_new;

/// Unpacks `archive` into `folder`. All files are checked before the first is installed.
pub(super) fn install_archive(
    download: &Download,
    archive: &Path,
    folder: &Path,
) -> Result<Vec<Verified>, FetchError> {
    let contents = open(archive)?;
    let mut staged: Vec<Staged> = match (download.packing, download.files.as_slice()) {
        (Packing::Gzip, [file, ..]) => vec![Staged::new(file, archive, contents, folder)?],
        _ => unpack(download, archive, contents, folder)?,
    };
    for file in &download.files {
        if !staged.iter().any(|s| s.file.name == file.name) {
            let (archive, file) = (archive.display().to_string(), file.name.clone());
            return Err(Corruption::Member { archive, file }.into());
        }
    }
    // Results are in catalogue order, whatever the order of the archive.
    staged.sort_by_key(|s| download.files.iter().position(|f| f.name == s.file.name));
    commit(&staged)
}

/// Copies the files at `paths`, plain or gzipped, into `folder`. All are checked before the first is installed.
pub(super) fn install_files(
    download: &Download,
    paths: &[PathBuf],
    folder: &Path,
) -> Result<Vec<Verified>, FetchError> {
    let stage = |(file, path): (_, &PathBuf)| Staged::new(file, path, open(path)?, folder);
    let staged = download.files.iter().zip(paths).map(stage).collect::<Result<Vec<_>, _>>()?;
    commit(&staged)
}

/// The wanted members of a tar archive. Only the last part of their path counts, so none can leave `folder`.
fn unpack<'a>(
    download: &'a Download,
    archive: &Path,
    contents: impl Read,
    folder: &Path,
) -> Result<Vec<Staged<'a>>, FetchError> {
    let broken = |source| Corruption::Packing { file: archive.display().to_string(), source };
    let mut staged: Vec<Staged<'a>> = Vec::new();
    let mut tar = tar::Archive::new(contents);
    for member in tar.entries().map_err(broken)? {
        let member = member.map_err(broken)?;
        let name = member.path().map_err(broken)?.file_name().map(|n| n.to_os_string());
        let wanted = download.files.iter().find(|f| name.as_deref() == Some(f.name.as_ref()));
        if let Some(file) = wanted.filter(|f| !staged.iter().any(|s| s.file.name == f.name))
            && member.header().entry_type().is_file()
        {
            staged.push(Staged::new(file, archive, member, folder)?);
        }
    }
    Ok(staged)
}

/// A file under a temporary name, removed unless installed.
struct Staged<'a> {
    file: &'a ContentFile,
    path: PathBuf,
    target: PathBuf,
}

impl<'a> Staged<'a> {
    /// Writes `contents`, read from `origin`.
    fn new(
        file: &'a ContentFile,
        origin: &Path,
        contents: impl Read,
        folder: &Path,
    ) -> Result<Self, FetchError> {
        let path = folder.join(format!(".{}.staged", file.name));
        let staged = Self { file, path, target: folder.join(&file.name) };
        let mut out = create_new(&staged.path).map_err(FetchError::writing(&staged.path))?;
        // One byte over the limit shows that there are too many, without unpacking a bomb.
        let mut contents = contents.take(file.bytes + 1);
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = contents.read(&mut buffer).map_err(|source| {
                FetchError::from(Corruption::Packing { file: origin.display().to_string(), source })
            })?;
            if count == 0 {
                break;
            }
            out.write_all(&buffer[..count]).map_err(FetchError::writing(&staged.path))?;
        }
        out.sync_all().map_err(FetchError::writing(&staged.path))?;
        Ok(staged)
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        // After a rename there is nothing to remove; otherwise the first error is the one worth reporting.
        let _ = fs::remove_file(&self.path);
    }
}

fn commit(staged: &[Staged<'_>]) -> Result<Vec<Verified>, FetchError> {
    let verified = staged.iter().map(|s| s.file.check(&s.path)).collect::<Result<_, _>>()?;
    for s in staged {
        fs::rename(&s.path, &s.target).map_err(FetchError::writing(&s.target))?;
    }
    Ok(verified)
}

/// The contents of a file, decompressed when it starts like gzip.
fn open(path: &Path) -> Result<Box<dyn Read>, FetchError> {
    let mut reader = BufReader::new(File::open(path).map_err(FetchError::reading(path))?);
    let gzipped = starts_like_gzip(&mut reader).map_err(FetchError::reading(path))?;
    Ok(if gzipped { Box::new(MultiGzDecoder::new(reader)) } else { Box::new(reader) })
}

fn starts_like_gzip(reader: &mut impl BufRead) -> io::Result<bool> {
    Ok(reader.fill_buf()?.starts_with(&[0x1F, 0x8B]))
}
