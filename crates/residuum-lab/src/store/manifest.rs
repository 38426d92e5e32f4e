//! What a trial is, and how long it took.

use serde::{Deserialize, Serialize};

use crate::spec::SpecKind;

/// One parameter as it was used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredParameter {
    /// Dotted path of the field.
    pub field: String,
    /// Its value in TOML notation.
    pub value: String,
    /// Whether the spec gave it or it is the default.
    pub given: bool,
}

/// `manifest.json` of a trial. Holds no host name and no path; only what follows `threads` differs between two runs of the same
/// trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialManifest {
    /// `residuum.trial/1`.
    pub schema: String,
    /// Name of its folder.
    pub id: String,
    /// Name of the experiment.
    pub experiment: String,
    /// Name of its point: cell, variant and swept values, joined by `-`.
    #[serde(default)]
    pub name: String,
    /// What was done.
    pub kind: SpecKind,
    /// What distinguishes the trial from others of its experiment, apart from the seed.
    pub labels: Vec<(String, String)>,
    /// The place of its point in the grid of the spec that ran it, counted from 0.
    #[serde(default)]
    pub place: usize,
    /// Its seed.
    pub seed: u64,
    /// Every parameter.
    pub spec: Vec<StoredParameter>,
    /// Version of the program.
    pub version: String,
    /// Version of the numbers.
    pub value_version: u32,
    /// The commit the program was built from, if known.
    pub commit: Option<String>,
    /// Worker threads.
    pub threads: usize,
    /// Model of the CPU, if known.
    pub cpu: Option<String>,
    /// Wall time of the work, without interruptions.
    pub seconds: f64,
}

impl TrialManifest {
    /// Sort key of trials: the order of the spec, seeds innermost.
    pub(super) fn order(&self) -> (&str, usize, &[(String, String)], u64) {
        (&self.experiment, self.place, &self.labels, self.seed)
    }
}

/// `failed.json`: a trial that was run and has no result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Why.
    pub sentence: String,
    /// What was run.
    pub manifest: TrialManifest,
}
