//! Networks of the shipped experiments, trained into a store, or the reason why they were not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use residuum_nn::data::catalogue;

use super::verdict::Measured;
use super::{Profile, ReproduceError, ReproduceOptions};
use crate::plan::{Plan, Work, plans};
use crate::progress::{Cancelled, Progress};
use crate::spec::{DataSpec, Folders, Resolved, TrialSpec};
use crate::store::{Row, Store};
use crate::style::drawn_as;
use crate::sweep::{self, End, Listener, SweepOptions, sweep};
use crate::train::CATALOGUE;

/// Where networks find their data, and where they are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkOptions {
    /// The folder of all data sets.
    pub data_root: PathBuf,
    /// The folder that weights named in specs are relative to.
    pub base: PathBuf,
    /// The store that trials are kept in; made when the first is run.
    pub store: PathBuf,
    /// Trials at a time, each on one thread.
    pub jobs: usize,
    /// The commit of the program, for manifests.
    pub commit: Option<String>,
}

impl Default for NetworkOptions {
    /// Everything beside each other in the current folder, one trial at a time.
    fn default() -> Self {
        Self {
            data_root: "data".into(),
            base: ".".into(),
            store: "reproduce-store".into(),
            jobs: 1,
            commit: None,
        }
    }
}

/// One trial over its seeds: its records, or why there are none.
#[derive(Clone, Debug)]
pub struct NetworkPoint {
    /// As the spec names it: cell and variant.
    pub name: String,
    /// The rule in words.
    pub title: String,
    /// The word for its rule that decides how it is drawn.
    pub rule: String,
    /// What was done, in words: epochs, seeds, and what the profile leaves out.
    pub words: String,
    /// Whether nothing was omitted.
    pub complete: bool,
    /// Seed and records of each run.
    pub runs: Result<Vec<(u64, Vec<Row>)>, String>,
    /// Time of the runs.
    pub seconds: f64,
}

impl NetworkPoint {
    /// A metric after each epoch, for each seed.
    pub fn curves(&self, metric: &str) -> Vec<Vec<f64>> {
        let of = |rows: &Vec<Row>| rows.iter().filter(|r| r.metric == metric).map(|r| r.value).collect();
        self.runs.as_ref().map_or_else(|_| Vec::new(), |runs| runs.iter().map(|(_, rows)| of(rows)).collect())
    }

    /// Test accuracies at the end in per cent: means over the last sixth of the epochs, five at most.
    pub fn measured(&self) -> Result<Measured, String> {
        self.runs.as_ref().map_err(String::clone)?;
        let end = |curve: &Vec<f64>| {
            let tail = &curve[curve.len() - (curve.len() / 6).clamp(1, 5).min(curve.len())..];
            100.0 * tail.iter().sum::<f64>() / tail.len() as f64
        };
        let ends: Vec<f64> = self.curves("test_accuracy").iter().map(end).collect();
        Ok(Measured { ends, complete: self.complete })
    }

    /// Accuracy in per cent and what it is of, or why there is none.
    pub fn accuracy(&self) -> String {
        match self.measured() {
            Ok(measured) => format!("{} % ({})", measured.words(), self.words),
            Err(_) => "–".into(),
        }
    }
}

/// The trials of an item.
pub struct NetworkPoints(Vec<NetworkPoint>);

impl NetworkPoints {
    /// The trial of this name, if it was asked for.
    pub fn get(&self, name: &str) -> Option<&NetworkPoint> {
        self.0.iter().find(|point| point.name == name)
    }

    /// All trials, in the order they were asked for.
    pub fn iter(&self) -> impl Iterator<Item = &NetworkPoint> {
        self.0.iter()
    }

    /// Time of all runs.
    pub fn seconds(&self) -> f64 {
        self.0.iter().map(|point| point.seconds).sum()
    }
}

/// The text of a shipped experiment.
fn shipped(name: &str) -> Result<&'static str, ReproduceError> {
    let found = CATALOGUE.iter().find(|shipped| shipped.name == name);
    found.map(|shipped| shipped.text).ok_or_else(|| ReproduceError::Unknown { name: name.to_owned() })
}

/// What an item asks of an experiment.
pub struct Wanted<'a> {
    /// The name of the experiment.
    pub experiment: &'a str,
    /// Names of its trials, in the order they are to be shown.
    pub trials: Vec<String>,
    /// Hours that each takes, roughly, if that is too long for the quick profile.
    pub hours: Option<f64>,
}

impl<'a> Wanted<'a> {
    /// Trials that fit the quick profile.
    pub fn new<S: Into<String>>(experiment: &'a str, trials: impl IntoIterator<Item = S>) -> Self {
        Self { experiment, trials: trials.into_iter().map(Into::into).collect(), hours: None }
    }
}

/// A trial before it is run.
struct Prepared {
    /// As the profile has it.
    own: Arc<TrialSpec>,
    /// As the paper has it.
    full: Arc<TrialSpec>,
    /// One for each seed.
    plans: Vec<Plan>,
    /// Why it cannot be run.
    obstacle: Option<String>,
}

/// Trains every trial that can be trained and is not in the store yet, all experiments together.
pub fn obtain<const N: usize>(
    wanted: &[Wanted<'_>; N],
    options: &ReproduceOptions,
    label: &str,
    progress: &dyn Progress,
) -> Result<[NetworkPoints; N], ReproduceError> {
    let mut prepared = Vec::new();
    for wanted in wanted {
        prepared.push(prepare(wanted, options)?);
    }
    let open: Vec<Plan> = prepared
        .iter()
        .flatten()
        .filter(|trial| trial.obstacle.is_none())
        .flat_map(|trial| trial.plans.iter().cloned())
        .collect();
    let failed = train(&open, options, label, progress)?;
    let mut all = [const { NetworkPoints(Vec::new()) }; N];
    for (points, trials) in all.iter_mut().zip(prepared) {
        for trial in trials {
            points.0.push(collect(trial, &failed, &options.networks.store)?);
        }
    }
    Ok(all)
}

/// The trials of an experiment in the profile, beside what the paper did.
fn prepare(wanted: &Wanted<'_>, options: &ReproduceOptions) -> Result<Vec<Prepared>, ReproduceError> {
    let text = shipped(wanted.experiment)?;
    let folders = Folders::new(&options.networks.base).with_data(&options.networks.data_root);
    let read = |profile| plans(text, &folders, profile, wanted.experiment);
    let quick = options.profile == Profile::Quick;
    let all = seeded(read(quick.then_some("quick"))?, options.seed);
    let full = read(None)?;
    let of = |plans: &[Plan], name: &str| -> Vec<Plan> {
        plans.iter().filter(|plan| spec(plan).is_some_and(|spec| spec.name == name)).cloned().collect()
    };
    let trial = |name: &String| {
        let plans = of(&all, name);
        let own = Arc::clone(spec(plans.first()?)?);
        let full = Arc::clone(spec(of(&full, name).first()?)?);
        let obstacle = obstacle(&own, &options.networks).or_else(|| {
            let hours = wanted.hours.filter(|_| quick)?;
            Some(format!("needs --profile full, estimated {hours:.0} hours"))
        });
        Some(Prepared { own, full, plans, obstacle })
    };
    Ok(wanted.trials.iter().filter_map(trial).collect())
}

/// What the store holds of a trial.
fn collect(
    trial: Prepared,
    failed: &BTreeMap<String, String>,
    store: &Path,
) -> Result<NetworkPoint, ReproduceError> {
    let Prepared { own, full, plans, obstacle } = trial;
    let mut seconds = 0.0;
    let mut reason = obstacle;
    let mut runs = Vec::new();
    if reason.is_none() {
        let store = Store::open(store)?;
        for plan in &plans {
            let id = plan.id();
            match failed.get(&id) {
                Some(sentence) => reason = Some(sentence.clone()),
                None => {
                    runs.push((plan.seed, store.records(&id)?));
                    seconds += store.manifest(&id)?.seconds;
                }
            }
        }
    }
    let left_out = left_out(&own, &full);
    let seeds: Vec<u64> = plans.iter().map(|plan| plan.seed).collect();
    Ok(NetworkPoint {
        name: own.name.clone(),
        title: own.title.clone(),
        rule: plans
            .first()
            .and_then(|plan| drawn_as(|path| plan.work.value(path)))
            .unwrap_or_default()
            .to_string(),
        words: words(&own, &full, &seeds, &left_out),
        complete: left_out.is_empty() && own.training.epochs == full.training.epochs,
        runs: reason.map_or(Ok(runs), Err),
        seconds,
    })
}

/// The same trials with seeds from `first` on.
fn seeded(plans: Vec<Plan>, first: u64) -> Vec<Plan> {
    plans.into_iter().map(|plan| Plan { seed: plan.seed.wrapping_add(first), ..plan }).collect()
}

fn spec(plan: &Plan) -> Option<&Arc<TrialSpec>> {
    match &plan.work {
        Work::Network(spec) => Some(spec),
        Work::Problem(_) => None,
    }
}

/// Runs trials into the store; gives the sentences of those that have no result.
fn train(
    open: &[Plan],
    options: &ReproduceOptions,
    label: &str,
    progress: &dyn Progress,
) -> Result<BTreeMap<String, String>, ReproduceError> {
    let networks = &options.networks;
    if open.is_empty() {
        return Ok(BTreeMap::new());
    }
    let store = Store::create(&networks.store)?;
    let options = SweepOptions {
        jobs: networks.jobs,
        // The same numbers on any number of threads; trials side by side use the cores best.
        threads: networks.jobs,
        commit: networks.commit.clone(),
        ..SweepOptions::new(&networks.data_root)
    };
    let summary = sweep(open, &store, &options, &Watch { label, progress })?;
    if summary.interrupted {
        return Err(Cancelled.into());
    }
    Ok(summary.failed.into_iter().map(|trial| (trial.id, trial.sentence)).collect())
}

/// What is missing for a trial.
fn obstacle(spec: &TrialSpec, networks: &NetworkOptions) -> Option<String> {
    let missing = |path: &Path| {
        let shown = path.strip_prefix(&networks.base).unwrap_or(path);
        format!("weights missing ({})", shown.display())
    };
    if !has_data(&spec.data, &networks.data_root) {
        return Some(format!("data missing ({0}; residuum data fetch {0})", spec.data.set));
    }
    spec.network.weights.as_deref().filter(|path| !path.exists()).map(missing)
}

/// Whether the files of a data set exist, plain or gzipped; their contents are checked when they are read.
fn has_data(data: &DataSpec, root: &Path) -> bool {
    let Ok(entry) = catalogue::find(data.set) else {
        // The others are embedded.
        return true;
    };
    let folder = data.directory.clone().unwrap_or_else(|| root.join(data.set));
    let here = |name: &str| folder.join(name).exists() || folder.join(format!("{name}.gz")).exists();
    entry.downloads.iter().flat_map(|download| &download.files).all(|file| here(&file.name))
}

/// The fields in which a profile differs from the full one, seeds and epochs aside.
fn left_out<'a>(own: &'a TrialSpec, full: &TrialSpec) -> Vec<&'a Resolved> {
    let aside = |r: &&Resolved| r.path == "training.epochs" || r.path.starts_with("training.seeds");
    let same = |r: &&Resolved| full.resolved.iter().any(|f| f.path == r.path && f.value == r.value);
    own.resolved.iter().filter(|r| !aside(r) && !same(r)).collect()
}

/// What was run, with what was omitted.
fn words(own: &TrialSpec, full: &TrialSpec, seeds: &[u64], left_out: &[&Resolved]) -> String {
    let (epochs, of) = (own.training.epochs, full.training.epochs);
    let epochs = if epochs == of { format!("{epochs} epochs") } else { format!("{epochs} of {of} epochs") };
    let mut parts = vec![epochs];
    parts.extend(left_out.iter().map(|r| format!("{} = {}", r.path, r.value)));
    let list: Vec<String> = seeds.iter().map(u64::to_string).collect();
    parts.push(format!("{} {}", if seeds.len() == 1 { "seed" } else { "seeds" }, list.join(", ")));
    parts.join(", ")
}

/// Reports how many trials are done.
struct Watch<'a> {
    label: &'a str,
    progress: &'a dyn Progress,
}

impl Listener for Watch<'_> {
    fn begins(&self, total: usize, settled: usize) {
        self.progress.begin(self.label, total as u64);
        self.progress.advance(settled as u64);
    }

    fn trial_ends(&self, _: &Plan, end: &sweep::End) {
        if !matches!(end, End::Busy | End::Interrupted) {
            self.progress.advance(1);
        }
    }

    fn cancelled(&self) -> bool {
        self.progress.cancelled()
    }
}
