use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use residuum_lab::plan::{Plan, plans, seeded};
use residuum_lab::spec::Folders;
use residuum_lab::train::CATALOGUE;

use super::{Context, data_root};
use crate::args::SpecSettings;

/// A spec from a file, or a built-in one.
pub struct SpecFile {
    /// As the user named it.
    pub given: String,
    /// Name of the experiment if the spec has none.
    pub stem: String,
    pub text: String,
    /// Folder that its paths are relative to.
    pub base: PathBuf,
}

impl SpecFile {
    pub fn open(spec: &str) -> anyhow::Result<Self> {
        let given = spec.to_string();
        let path = Path::new(spec);
        if let Some(shipped) = CATALOGUE.iter().find(|s| s.name == spec) {
            return Ok(Self { stem: given.clone(), given, text: shipped.text.into(), base: ".".into() });
        }
        if path.extension().is_none() && !path.exists() {
            let names: Vec<&str> = CATALOGUE.iter().map(|s| s.name).collect();
            bail!("{spec:?} must be a spec file or one of {}", names.join(", "));
        }
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("run").into();
        // The parent of a bare file name is the empty path, which names nothing.
        let base = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).into();
        Ok(Self { given, stem, text, base })
    }

    /// Its trials; --seed replaces its own seeds.
    pub fn plans(&self, context: &Context, settings: &SpecSettings) -> anyhow::Result<Vec<Plan>> {
        let folders = Folders::new(&self.base).with_data(data_root(settings.data.as_deref()));
        let plans = plans(&self.text, &folders, settings.profile.as_deref(), &self.stem)
            .with_context(|| self.given.clone())?;
        Ok(match context.seed {
            Some(seed) => seeded(&plans, seed),
            None => plans,
        })
    }
}
