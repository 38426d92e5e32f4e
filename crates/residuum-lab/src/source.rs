//! Where a spec comes from: a file, a built-in experiment, or a program's own values.

use std::path::{Path, PathBuf};

use residuum_nn::data::catalogue::default_root;
use residuum_nn::data::disk::{DOCUMENT, read_text};
use thiserror::Error;

use crate::plan::{Plan, plans_of, seeded};
use crate::spec::{Document, Folders, SpecError};
use crate::train::CATALOGUE;

/// A spec and what its paths and names refer to.
#[derive(Clone, Debug)]
pub struct SpecSource {
    /// As the user named it; none for values.
    pub given: Option<String>,
    /// Name of the experiment if the spec has none.
    pub stem: String,
    /// The spec.
    pub document: Document,
    /// Folder that its paths are relative to.
    pub base: PathBuf,
}

/// A spec that cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// Neither a file nor a built-in experiment.
    #[error("{given:?} must be a spec file or one of {}", names().join(", "))]
    Unknown {
        /// As given.
        given: String,
    },
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file has a fault.
    #[error("{given}: {source}")]
    File {
        /// As the user named it.
        given: String,
        /// The fault, with its line.
        source: SpecError,
    },
    /// The values have a fault.
    #[error(transparent)]
    Values(SpecError),
}

/// The built-in experiments.
fn names() -> Vec<&'static str> {
    CATALOGUE.iter().map(|s| s.name).collect()
}

impl SpecSource {
    /// A built-in experiment by name, or a file.
    ///
    /// # Errors
    /// If there is none, or it is not TOML.
    pub fn open(spec: &str) -> Result<Self, SourceError> {
        let (given, path) = (spec.to_string(), Path::new(spec));
        let parse = |text: &str| {
            Document::parse(text).map_err(|source| SourceError::File { given: given.clone(), source })
        };
        if let Some(shipped) = CATALOGUE.iter().find(|s| s.name == spec) {
            let document = parse(shipped.text)?;
            return Ok(Self { stem: given.clone(), given: Some(given), document, base: ".".into() });
        }
        if path.extension().is_none() && !path.exists() {
            return Err(SourceError::Unknown { given });
        }
        let text = read_text(path, DOCUMENT)
            .map_err(|source| SourceError::Unreadable { path: path.into(), source })?;
        let document = parse(&text)?;
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("run").into();
        // The parent of a bare file name is the empty path, which names nothing.
        let base = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).into();
        Ok(Self { given: Some(given), stem, document, base })
    }

    /// The values of a program, such as a Python dict; paths in them are relative to the working folder.
    ///
    /// # Errors
    /// If a value has no counterpart in a spec.
    pub fn of_values(values: &serde_json::Value) -> Result<Self, SourceError> {
        let document = Document::from_value(values).map_err(SourceError::Values)?;
        Ok(Self { given: None, stem: "run".into(), document, base: ".".into() })
    }

    /// Its trials in this profile; a seed replaces its own seeds. `data_root` holds the folders of all data sets.
    ///
    /// # Errors
    /// The first fault of the spec.
    pub fn plans(
        &self,
        data_root: &Path,
        profile: Option<&str>,
        seed: Option<u64>,
    ) -> Result<Vec<Plan>, SourceError> {
        let folders = Folders::new(&self.base).with_data(data_root);
        let plans = plans_of(&self.document, &folders, profile, &self.stem).map_err(|e| self.blame(e))?;
        Ok(match seed {
            Some(seed) => seeded(&plans, seed),
            None => plans,
        })
    }

    fn blame(&self, source: SpecError) -> SourceError {
        match &self.given {
            Some(given) => SourceError::File { given: given.clone(), source },
            None => SourceError::Values(source),
        }
    }
}

/// The folder of the data sets: as given, or where `residuum data` puts them. Embedded sets need none.
pub fn data_root(asked: Option<&Path>) -> PathBuf {
    asked.map(PathBuf::from).or_else(default_root).unwrap_or_else(|| "data".into())
}
