//! From a spec to its trials, each with everything that determines its numbers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use rayon::prelude::*;
use residuum_nn::model::Select;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::spec::{
    Document, Folders, Grid, MAX_TRIALS, Node, Point, Resolved, Spec, SpecError, TrainingSpec, TrialSpec,
    describe,
};
use crate::store::{StoredParameter, TrialManifest};

/// Version of the numbers: increased when the same spec and seed give different records than before, so that old records are not
/// mistaken for new ones.
pub const VALUE_VERSION: u32 = 1;

/// Bytes of an [`id`](Plan::id): enough to rule out collisions.
const ID_BYTES: usize = 16;

/// One trial: one point of a grid with one seed.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the experiment.
    pub experiment: String,
    /// The experiment in words, for tables and figures.
    pub title: Option<String>,
    /// Name of its point: cell, variant and swept values, joined by `-`; the kind of the rule where there are none.
    pub name: String,
    /// What distinguishes this trial from others of its experiment, apart from the seed: `variant`, `cell` and the swept fields, in
    /// the order of the spec.
    pub labels: Vec<(String, String)>,
    /// The place of its point in the grid, counted from 0: rows of tables and curves of figures stand in this order.
    pub place: usize,
    /// Its seed.
    pub seed: u64,
    /// The work.
    pub work: Work,
}

/// What a trial does; seeds of one point share it.
#[derive(Clone, Debug)]
pub enum Work {
    /// Minimises an objective.
    Problem(Arc<Spec>),
    /// Trains a network.
    Network(Arc<TrialSpec>),
}

impl Work {
    fn read(point: &Point<'_>, is_network: bool, grid: &Grid, folders: &Folders) -> Result<Self, SpecError> {
        if is_network {
            return Ok(Self::Network(Arc::new(TrialSpec::read(point, folders)?)));
        }
        let spec = Spec { title: grid.title.clone(), ..Spec::read(&point.node, folders)? };
        Ok(Self::Problem(Arc::new(spec)))
    }

    /// Every parameter as it will be used.
    pub fn resolved(&self) -> &[Resolved] {
        match self {
            Self::Problem(spec) => &spec.resolved,
            Self::Network(spec) => &spec.resolved,
        }
    }

    /// The value of a field, in TOML notation, if it has one.
    pub fn value(&self, path: &str) -> Option<&str> {
        self.resolved().iter().find(|r| r.path == path).map(|r| r.value.as_str())
    }

    /// The kind of its rule.
    pub fn rule(&self) -> &str {
        self.value("rule.kind").map_or("", |kind| kind.trim_matches('"'))
    }

    /// The seeds of its point.
    pub fn seeds(&self) -> &[u64] {
        match self {
            Self::Problem(spec) => &spec.seeds,
            Self::Network(spec) => &spec.training.seeds,
        }
    }

    /// The same, with a single seed.
    fn seeded(&self, seed: u64) -> Self {
        let among = |resolved: &[Resolved], field: &str| {
            let mut own: Vec<Resolved> =
                resolved.iter().filter(|r| !r.path.starts_with(field)).cloned().collect();
            own.push(Resolved { path: field.into(), value: format!("[{seed}]"), given: true });
            own
        };
        match self {
            Self::Problem(spec) => {
                let resolved = among(&spec.resolved, "seeds");
                Self::Problem(Arc::new(Spec { seeds: vec![seed], resolved, ..(**spec).clone() }))
            }
            Self::Network(spec) => {
                let resolved = among(&spec.resolved, "training.seeds");
                let training = TrainingSpec { seeds: vec![seed], ..spec.training.clone() };
                Self::Network(Arc::new(TrialSpec { training, resolved, ..(**spec).clone() }))
            }
        }
    }
}

/// One trial per point with this seed, instead of the point's own seeds.
pub fn seeded(plans: &[Plan], seed: u64) -> Vec<Plan> {
    let seeded = |plan: &Plan| Plan { seed, work: plan.work.seeded(seed), ..plan.clone() };
    points(plans).map(seeded).collect()
}

/// The trials of points whose names match one of the patterns, such as `*-analog`; all trials if there is no pattern.
///
/// # Errors
/// A pattern that matches no name.
pub fn selected(plans: Vec<Plan>, patterns: &[String]) -> Result<Vec<Plan>, UnknownPoint> {
    let selects: Vec<Select> = patterns.iter().map(|pattern| Select::Names(vec![pattern.clone()])).collect();
    for (pattern, select) in patterns.iter().zip(&selects) {
        if !plans.iter().any(|plan| select.includes(&plan.name)) {
            let mut names: Vec<String> = points(&plans).map(|plan| plan.name.clone()).collect();
            names.dedup();
            return Err(UnknownPoint { pattern: pattern.clone(), names });
        }
    }
    let fits = |plan: &Plan| selects.is_empty() || selects.iter().any(|select| select.includes(&plan.name));
    Ok(plans.into_iter().filter(fits).collect())
}

/// A pattern that matches no point of a grid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("variant must be one of {}, or a pattern such as \"*-analog\", got {pattern:?}", names.join(", "))]
pub struct UnknownPoint {
    /// The pattern.
    pub pattern: String,
    /// The available names.
    pub names: Vec<String>,
}

/// The first trial of every point.
pub fn points(plans: &[Plan]) -> impl Iterator<Item = &Plan> {
    plans.iter().filter(|plan| plan.work.seeds().first() == Some(&plan.seed))
}

impl Plan {
    /// Every parameter as it will be used.
    pub fn resolved(&self) -> &[Resolved] {
        self.work.resolved()
    }

    /// Its labels in one line.
    pub fn words(&self) -> String {
        let words: Vec<String> =
            self.labels.iter().map(|(field, value)| format!("{field} = {value}")).collect();
        words.join(", ")
    }

    /// Everything that determines the numbers, as text: one parameter per line.
    pub fn description(&self) -> String {
        describe(self.resolved(), self.seed)
    }

    /// The name of the trial in a store: the same for the same numbers, however the spec expresses them. Files named in the spec
    /// count by content; so do data sets whose files are not the published ones.
    pub fn id(&self) -> String {
        let text = format!("residuum values {VALUE_VERSION}\n{}", self.description());
        let mut id = String::with_capacity(2 * ID_BYTES);
        for byte in &Sha256::digest(text.as_bytes())[..ID_BYTES] {
            let _ = write!(id, "{byte:02x}");
        }
        id
    }
}

/// Points read at a time; an error in any of them stops the reading.
const CHUNK: usize = 1024;

/// The trials of a spec in the order of its grid, seeds innermost. `stem` is the name of the experiment if the spec gives none.
///
/// A spec with `[network]` trains networks, one with `[problem]` minimises an objective. Everything is read and checked here,
/// before the first trial begins.
///
/// # Errors
/// The first fault, with its line and the point of the grid; two points that are the same trial; more than a million trials.
pub fn plans(text: &str, folders: &Folders, profile: Option<&str>, stem: &str) -> Result<Vec<Plan>, SpecError> {
    plans_of(&Document::parse(text)?, folders, profile, stem)
}

/// The same of a document.
///
/// # Errors
/// As [`plans`]; a document that did not come from a file has no lines.
pub fn plans_of(
    Document(document): &Document,
    folders: &Folders,
    profile: Option<&str>,
    stem: &str,
) -> Result<Vec<Plan>, SpecError> {
    let is_network = document.field("network").is_some();
    if !is_network && document.field("problem").is_none() {
        return Err(no_kind(document));
    }
    let grid = Grid::read(document, profile)?;
    let places = grid.places()?;
    let experiment = grid.name.clone().unwrap_or_else(|| stem.to_string());
    let read = |place: &Vec<usize>| -> Result<(String, Labels, Work), SpecError> {
        let point = grid.point(place)?;
        let work = Work::read(&point, is_network, &grid, folders).map_err(|e| point.blame(e))?;
        Ok((name(&point, &work), labels(&point, &work), work))
    };
    // The first point gives the number of seeds, before the others are read.
    let (first, others) = places.split_at(1);
    let mut plans: Vec<Plan> = Vec::new();
    for some in [first].into_iter().chain(others.chunks(CHUNK)) {
        let points: Vec<_> = some.par_iter().map(read).collect();
        for point in points {
            let (name, labels, work) = point?;
            let seeds = work.seeds();
            let place = plans.last().map_or(0, |plan| plan.place + 1);
            let trials = if plans.is_empty() { places.len() * seeds.len() } else { plans.len() + seeds.len() };
            if trials as u64 > MAX_TRIALS {
                return Err(grid.too_many(trials as u64));
            }
            plans.extend(seeds.iter().map(|&seed| Plan {
                experiment: experiment.clone(),
                title: grid.title.clone(),
                name: name.clone(),
                labels: labels.clone(),
                place,
                seed,
                work: work.clone(),
            }));
        }
    }
    refuse_doubles(&grid, &plans)?;
    Ok(plans)
}

/// Rebuilds the trial that a manifest describes, parameter by parameter; its paths are relative to `folders`.
///
/// # Errors
/// If the parameters do not make the same trial again.
pub fn replan(manifest: &TrialManifest, folders: &Folders) -> Result<Plan, SpecError> {
    // Tables that ask for something by being there, though they may be empty: one of their fields makes them stand again.
    const ASKING: [&str; 2] = ["hardware.pulse_time", "rule.warm_start.coarse"];
    let stands = |p: &StoredParameter| p.given || ASKING.contains(&p.field.as_str());
    let given = manifest.spec.iter().filter(|p| stands(p) && !is_digest(p));
    let text = crate::spec::joined(given.map(|p| (p.field.as_str(), p.value.as_str())))?;
    let mut plans = seeded(&plans(&text, folders, None, &manifest.experiment)?, manifest.seed);
    let plan = plans.swap_remove(0);
    // Nothing that the manifest lacks is guessed.
    let is_seed = |p: &StoredParameter| p.field.split('.').any(|part| part == "seeds");
    let changed = |p: &&StoredParameter| {
        is_digest(p) && plan.resolved().iter().any(|r| r.path == p.field && r.value != p.value)
    };
    if let Some(p) = manifest.spec.iter().find(changed) {
        let field = p.field.trim_end_matches(CONTENTS);
        let message = format!(
            "{field}: the file must be the one that the trial was run with, but its contents have changed"
        );
        return Err(SpecError { line: None, message });
    }
    let same = |p: &&StoredParameter| {
        is_digest(p) || is_seed(p) || plan.resolved().iter().any(|r| r.path == p.field && r.value == p.value)
    };
    match manifest.spec.iter().find(|p| !same(p)) {
        None => Ok(Plan {
            labels: manifest.labels.clone(),
            name: manifest.name.clone(),
            place: manifest.place,
            ..plan
        }),
        Some(p) => {
            let message =
                format!("{} = {} in the manifest must be valid in a spec, but is not", p.field, p.value);
            Err(SpecError { line: None, message })
        }
    }
}

/// How the fields end under which the digests of files stand.
const CONTENTS: &str = ".contents";

/// Whether a parameter is the digest of a file, which the reader adds.
fn is_digest(parameter: &StoredParameter) -> bool {
    parameter.field.ends_with(CONTENTS)
}

type Labels = Vec<(String, String)>;

fn no_kind(document: &Node) -> SpecError {
    let message = "problem or network is missing: a spec needs one of them".into();
    SpecError { line: document.line, message }
}

/// The name of a point.
fn name(point: &Point<'_>, work: &Work) -> String {
    let mut words: Vec<String> =
        [point.cell, point.variant].into_iter().flatten().map(|change| change.name.clone()).collect();
    if words.is_empty() {
        words.push(work.rule().into());
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    words.extend(point.swept.iter().map(|(_, label)| label.chars().map(plain).collect()));
    words.join("-")
}

/// The labels of a point; a network without variants goes by its rule.
fn labels(point: &Point<'_>, work: &Work) -> Labels {
    let mut labels = point.labels();
    if let (Work::Network(spec), None) = (work, point.variant) {
        labels.insert(usize::from(point.cell.is_some()), ("variant".into(), spec.rule.name.into()));
    }
    labels
}

/// A duplicate trial would be run once and counted twice.
fn refuse_doubles(grid: &Grid, plans: &[Plan]) -> Result<(), SpecError> {
    let ids: Vec<String> = plans.par_iter().map(Plan::id).collect();
    let mut first = BTreeMap::new();
    for (plan, id) in plans.iter().zip(ids) {
        if let Some(other) = first.insert(id, plan) {
            let (a, b) = (other.words(), plan.words());
            return Err(
                grid.error(format!("sweep must make different trials, got one twice: at {a} and at {b}"))
            );
        }
    }
    Ok(())
}
