//! Where the files lie that a spec names, and what is in them: a trial is known by contents, not by paths.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use residuum_nn::data::catalogue;
use residuum_nn::data::disk::open_data;
use residuum_nn::state::read_safetensors;
use sha2::{Digest as _, Sha256};

use super::data::DataSpec;
use super::own_data::OwnData;

/// Bytes of a digest: enough that no two files share one by chance.
const DIGEST_BYTES: usize = 16;

/// The folders of a spec's files. Every file and data set is looked into once, however many trials name it.
#[derive(Debug, Default)]
pub struct Folders {
    base: PathBuf,
    data_root: Option<PathBuf>,
    digests: Mutex<BTreeMap<PathBuf, Option<String>>>,
    /// What is wrong with files of weights.
    faults: Mutex<BTreeMap<PathBuf, Option<String>>>,
    /// Data of one's own, by all that says what they are.
    own: Mutex<BTreeMap<String, Result<OwnData, String>>>,
}

impl Folders {
    /// Relative paths are relative to `base`. Data sets of the data folder go by their names alone.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into(), ..Self::default() }
    }

    /// The folder of all data sets: where the files of one are not the published ones, trials are known by their contents too.
    pub fn with_data(self, root: impl Into<PathBuf>) -> Self {
        Self { data_root: Some(root.into()), ..self }
    }

    /// What relative paths are relative to.
    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    /// The digest of a file, or of all files in a folder with their names; none if it cannot be read, which is reported when it
    /// is needed.
    pub(crate) fn file(&self, path: &Path) -> Option<String> {
        once(&self.digests, path, || digest_at(path).ok())
    }

    /// Why there is no digest of something that is there: it cannot be read, never ends, or leads back to itself.
    pub(crate) fn fault(&self, path: &Path) -> Option<String> {
        let unknown = self.file(path).is_none() && path.exists();
        unknown.then(|| digest_at(path).err().map_or_else(String::new, |e| e.to_string()))
    }

    /// Data of one's own, read once.
    pub(crate) fn own_data(
        &self,
        key: &str,
        read: impl FnOnce() -> Result<OwnData, String>,
    ) -> Result<OwnData, String> {
        let mut known = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(key.into()).or_insert_with(read).clone()
    }

    /// What is wrong with a file of weights; a missing one is reported when it is needed.
    pub(crate) fn weights_fault(&self, path: &Path) -> Option<String> {
        once(&self.faults, path, || match read_safetensors(path) {
            Err(_) if !path.exists() => None,
            Err(error) => Some(error.to_string()),
            Ok(tensors) => tensors.iter().find_map(|(name, tensor)| {
                let values = tensor.data.as_f32()?;
                let index = values.iter().position(|v| !v.is_finite())?;
                let value = values[index];
                Some(format!("{}: {name}[{index}] must be finite, got {value}", path.display()))
            }),
        })
    }

    /// The files of a data set, each plain or compressed; none if they are embedded, or nobody says where they are.
    pub(crate) fn files_of(&self, spec: &DataSpec) -> Vec<PathBuf> {
        let (Ok(entry), Some(folder)) = (catalogue::find(spec.set), self.folder_of(spec)) else {
            return Vec::new();
        };
        let names = entry.downloads.iter().flat_map(|download| &download.files);
        names.flat_map(|file| ["", ".gz"].map(|end| folder.join(format!("{}{end}", file.name)))).collect()
    }

    fn folder_of(&self, spec: &DataSpec) -> Option<PathBuf> {
        spec.directory.clone().or_else(|| Some(self.data_root.as_ref()?.join(spec.set)))
    }

    /// The digest of a data set that is not the published one; none if it is missing, which is reported when it is needed.
    pub(crate) fn data(&self, spec: &DataSpec) -> Option<String> {
        // Embedded sets are not in the catalogue.
        let entry = catalogue::find(spec.set).ok()?;
        let folder = self.folder_of(spec)?;
        // One folder may hold the files of two sets.
        once(&self.digests, &folder.join(spec.set), || entry.own_contents(&folder).ok()?)
    }
}

/// What is found at `path`, looked for once: others wait.
fn once(
    known: &Mutex<BTreeMap<PathBuf, Option<String>>>,
    path: &Path,
    find: impl FnOnce() -> Option<String>,
) -> Option<String> {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(path.into()).or_insert_with(find).clone()
}

/// The digest of contents at hand.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn digest_at(path: &Path) -> io::Result<String> {
    if path.is_dir() { digest_of_folder(path) } else { digest_of_file(path) }
}

fn digest_of_file(path: &Path) -> io::Result<String> {
    let (mut file, mut hash) = (open_data(path)?, Sha256::new());
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            count => hash.update(&buffer[..count]),
        }
    }
}

/// Of the relative names and contents of all files below a folder, in the order of their names.
fn digest_of_folder(folder: &Path) -> io::Result<String> {
    let mut all = below(folder)?;
    all.retain(|path| !path.is_dir());
    all.sort();
    let mut hash = Sha256::new();
    for path in all {
        let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        hash.update(format!(
            "{} {name} {}\n",
            name.len(),
            digest_of_file(&path).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?
        ));
    }
    Ok(hex(&hash.finalize()))
}

/// Everything below a folder, folders included.
///
/// # Errors
/// If one cannot be read, or a link leads back to a folder above it, which would be followed for ever.
pub(super) fn below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fn add(folder: &Path, above: &mut Vec<PathBuf>, all: &mut Vec<PathBuf>) -> io::Result<()> {
        let own = folder.canonicalize()?;
        if above.contains(&own) {
            let message = format!("{} must not be a link to a folder above it", folder.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        above.push(own);
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let is_folder = path.is_dir();
            all.push(path.clone());
            if is_folder {
                add(&path, above, all)?;
            }
        }
        above.pop();
        Ok(())
    }
    let mut all = Vec::new();
    add(folder, &mut Vec::new(), &mut all)?;
    Ok(all)
}

fn hex(sum: &[u8]) -> String {
    sum[..DIGEST_BYTES].iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
