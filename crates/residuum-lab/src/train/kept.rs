//! What lies in a folder: a run of `residuum train`, or a trial of a store. Either tells enough to build its network again.

use std::fs;
use std::path::{Path, PathBuf};

use super::run::{RunError, RunManifest};
use crate::spec::{Experiment, SpecError, TrialSpec};
use crate::store::{Kind, Parameter, TrialManifest};

/// Name of the file that tells what a run is.
pub(super) const MANIFEST: &str = "run.json";
/// The spec as it was read.
pub(super) const SPEC: &str = "spec.toml";
/// Name of the file that tells what a trial of a store is.
const TRIAL: &str = "manifest.json";
/// Where such a trial keeps its checkpoints.
const CHECKPOINTS: &str = "run";

/// A network that lies in a folder.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) manifest: RunManifest,
    pub(super) spec: TrialSpec,
    /// The folder of its checkpoints.
    pub(super) folder: PathBuf,
    /// The folder of features that it shares with others.
    pub(super) shared: Option<PathBuf>,
}

impl Kept {
    /// Reads what the folder of a run or of a trial says of itself; paths in its spec are relative to `base`.
    pub(super) fn read(folder: &Path, base: &Path) -> Result<Self, RunError> {
        let files = Files { folder, base };
        if !folder.join(MANIFEST).exists() && folder.join(TRIAL).exists() { files.trial() } else { files.run() }
    }
}

#[derive(Clone, Copy)]
struct Files<'a> {
    folder: &'a Path,
    base: &'a Path,
}

impl Files<'_> {
    fn none(self, reason: impl Into<String>) -> RunError {
        RunError::NoRun { path: self.folder.into(), reason: reason.into() }
    }

    fn text(self, name: &str) -> Result<String, RunError> {
        fs::read_to_string(self.folder.join(name)).map_err(|e| self.none(format!("{name}: {e}")))
    }

    fn run(self) -> Result<Kept, RunError> {
        let manifest: RunManifest =
            serde_json::from_str(&self.text(MANIFEST)?).map_err(|e| self.none(format!("{MANIFEST}: {e}")))?;
        let experiment = Experiment::parse(&self.text(SPEC)?, self.base, manifest.profile.as_deref())
            .map_err(|source| RunError::Spec { path: self.folder.join(SPEC), source })?;
        let mut trials = experiment.trials.into_iter();
        let spec = trials
            .find(|trial| trial.name == manifest.trial)
            .ok_or_else(|| self.none(format!("its spec has no trial {:?}", manifest.trial)))?;
        let shared = self.folder.parent().map(PathBuf::from);
        Ok(Kept { manifest, spec, folder: self.folder.into(), shared })
    }

    fn trial(self) -> Result<Kept, RunError> {
        let manifest: TrialManifest =
            serde_json::from_str(&self.text(TRIAL)?).map_err(|e| self.none(format!("{TRIAL}: {e}")))?;
        if manifest.kind == Kind::Problem {
            return Err(self.none("the trial minimises an objective and has no network"));
        }
        let mut spec = spec_of(&manifest.spec, self.base)
            .map_err(|source| RunError::Spec { path: self.folder.join(TRIAL), source })?;
        let words: Vec<&str> = manifest.labels.iter().map(|(_, value)| value.as_str()).collect();
        spec.title = words.join(", ");
        let manifest = RunManifest {
            schema: manifest.schema,
            version: manifest.version,
            trial: spec.title.clone(),
            seed: manifest.seed,
            profile: None,
        };
        // The store, two folders above.
        let shared = self.folder.ancestors().nth(2).map(PathBuf::from);
        Ok(Kept { manifest, spec, folder: self.folder.join(CHECKPOINTS), shared })
    }
}

/// The spec that a manifest lists parameter by parameter.
fn spec_of(parameters: &[Parameter], base: &Path) -> Result<TrialSpec, SpecError> {
    let given = parameters.iter().filter(|p| p.given && !p.field.ends_with(".contents"));
    let text = crate::spec::joined(given.map(|p| (p.field.as_str(), p.value.as_str())))?;
    let mut trials = Experiment::parse(&text, base, None)?.trials;
    let spec = trials.remove(0);
    // Whatever a manifest does not give back is not guessed.
    let same = |p: &&Parameter| {
        p.field.ends_with(".contents") || spec.resolved.iter().any(|r| r.path == p.field && r.value == p.value)
    };
    match parameters.iter().find(|p| !same(p)) {
        None => Ok(spec),
        Some(p) => {
            let message =
                format!("{} = {} of the manifest must make a spec again, but does not", p.field, p.value);
            Err(SpecError { line: None, message })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Work, plans};
    use crate::spec::Folders;
    use crate::train::CATALOGUE;

    /// Every trial of every shipped experiment comes back from its list of parameters.
    #[test]
    fn a_list_of_parameters_is_a_spec_again() {
        let base = Path::new("../../experiments");
        let mut networks = 0;
        for shipped in CATALOGUE {
            for plan in plans(shipped.text, &Folders::new(base), None, shipped.name).unwrap() {
                let Work::Network(spec) = &plan.work else { continue };
                let parameter = |r: &crate::spec::Resolved| Parameter {
                    field: r.path.clone(),
                    value: r.value.clone(),
                    given: r.given,
                };
                let listed: Vec<Parameter> = spec.resolved.iter().map(parameter).collect();
                let again = spec_of(&listed, base).unwrap_or_else(|e| panic!("{}: {e}", spec.name));
                assert_eq!(again.description(plan.seed), spec.description(plan.seed), "{}", spec.name);
                networks += 1;
            }
        }
        assert!(networks > 50);
        // Broken twin: a value that the spec does not have is noticed.
        let plan = &plans(CATALOGUE[0].text, &Folders::new(base), None, "one").unwrap()[0];
        let Some(first) = plan.resolved().iter().find(|r| !r.given) else { panic!("no default") };
        let odd = Parameter { field: first.path.clone(), value: "\"odd\"".into(), given: false };
        let mut listed: Vec<Parameter> = plan
            .resolved()
            .iter()
            .map(|r| Parameter { field: r.path.clone(), value: r.value.clone(), given: r.given })
            .collect();
        listed.push(odd);
        assert!(spec_of(&listed, base).unwrap_err().message.contains("must make a spec again"));
    }
}
