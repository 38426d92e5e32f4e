//! Whether files are still those that were looked into: a trial is known by their contents, so others must not pass for them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::folders::below;

/// Size and time of change; none if there is no such file.
type Stamp = Option<(u64, Option<SystemTime>)>;

/// Files as they were at one moment. Cloning shares them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stamps(Arc<Vec<(PathBuf, Stamp)>>);

impl Stamps {
    /// These files, and all files below these folders.
    pub(crate) fn of<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut all = Vec::new();
        for path in paths {
            add(path, &mut all);
            if path.is_dir() {
                // A folder that cannot be walked is told by who reads it.
                below(path).unwrap_or_default().iter().for_each(|path| add(path, &mut all));
            }
        }
        Self(Arc::new(all))
    }

    /// A file that is no longer what it was.
    pub(crate) fn changed(&self) -> Option<&Path> {
        let now = |path: &Path| {
            let mut all = Vec::new();
            add(path, &mut all);
            all.first().map(|(_, stamp)| *stamp)
        };
        self.0.iter().find(|(path, stamp)| now(path) != Some(*stamp)).map(|(path, _)| path.as_path())
    }
}

/// The sentence about a file that has changed.
pub(crate) fn changed_sentence(path: &Path) -> String {
    let path = path.display();
    format!("{path} must stay as it was when the spec was read, but it has changed; run the command again")
}

fn add(path: &Path, all: &mut Vec<(PathBuf, Stamp)>) {
    let found = fs::metadata(path).ok();
    all.push((path.into(), found.as_ref().map(|file| (file.len(), file.modified().ok()))));
}
