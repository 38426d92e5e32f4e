//! From a spec to its trials: each says everything that decides its numbers.

use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::spec::{Experiment, Resolved, Spec, SpecError, TrialSpec};

/// Version of the numbers: raised when the same spec and seed give other records than before, so that old records are not taken
/// for new ones.
pub const VALUE_VERSION: u32 = 1;

/// Bytes of an [`id`](Plan::id): enough that no two trials share one by chance.
const ID_BYTES: usize = 16;

/// One trial: one point of a grid with one seed.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the experiment.
    pub experiment: String,
    /// What tells this trial from the others of its experiment, seeds aside: `variant`, `cell` and the swept fields, in the order
    /// of the spec.
    pub labels: Vec<(String, String)>,
    /// Its seed.
    pub seed: u64,
    /// What is done.
    pub work: Work,
}

/// What a trial does.
#[derive(Clone, Debug)]
pub enum Work {
    /// Minimises an objective.
    Problem(Box<Spec>),
    /// Trains a network.
    Network(Box<TrialSpec>),
}

impl Plan {
    /// Every parameter as it will be used.
    pub fn resolved(&self) -> &[Resolved] {
        match &self.work {
            Work::Problem(spec) => &spec.resolved,
            Work::Network(spec) => &spec.resolved,
        }
    }

    /// Everything that decides the numbers, as text: one parameter in each line.
    pub fn description(&self) -> String {
        const NOT_VALUES: [&str; 4] = ["seeds", "training.seeds", "title", "name"];
        let mut lines: Vec<String> = self
            .resolved()
            .iter()
            // Seeds may be a table of their own: more of them must not change what is known of the others.
            .filter(|r| {
                !NOT_VALUES
                    .iter()
                    .any(|n| r.path.strip_prefix(n).is_some_and(|p| p.is_empty() || p.starts_with('.')))
            })
            .map(|r| format!("{} = {}", r.path, r.value))
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines.push(format!("seed = {}\n", self.seed));
        lines.join("\n")
    }

    /// The name of the trial in a store: the same for the same numbers, wherever the spec says them.
    pub fn id(&self) -> String {
        let text = format!("residuum values {VALUE_VERSION}\n{}", self.description());
        let mut id = String::with_capacity(2 * ID_BYTES);
        for byte in &Sha256::digest(text.as_bytes())[..ID_BYTES] {
            let _ = write!(id, "{byte:02x}");
        }
        id
    }
}

/// The trials of a spec in the order of its grid, seeds innermost. `stem` names an experiment that has no name of its own.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn plans(text: &str, base: &Path, profile: Option<&str>, stem: &str) -> Result<Vec<Plan>, SpecError> {
    let experiment = Experiment::parse(text, base, profile)?;
    let name = experiment.name.unwrap_or_else(|| stem.to_string());
    let mut plans = Vec::new();
    for trial in experiment.trials {
        let cell = trial.cell.clone().map(|cell| ("cell".to_string(), cell));
        let labels: Vec<_> = cell.into_iter().chain([("variant".to_string(), trial.title.clone())]).collect();
        for &seed in &trial.training.seeds {
            plans.push(Plan {
                experiment: name.clone(),
                labels: labels.clone(),
                seed,
                work: Work::Network(Box::new(trial.clone())),
            });
        }
    }
    Ok(plans)
}
