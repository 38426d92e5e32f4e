//! `residuum tune`: settings of a rule that do best on held-out training samples, never on the test samples.

mod centre;
mod choice;
mod presets;
mod report;
mod search;
mod setting;
mod space;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use residuum::Key;
use residuum::stats::Summary;
use thiserror::Error;

pub use centre::Centre;
pub use choice::{Finalist, LUCK, chosen, undecided, verdict};
pub use presets::preset_file;
pub use report::Sensitivity;
pub use search::{Halving, Search};
pub use setting::{Setting, Tunable, Values};
pub use space::Space;
pub(crate) use space::own_setting;

use crate::files::{FileError, write_whole};
use crate::plan::{Plan, Work, plans_of, points};
use crate::report::tail;
use crate::source::SpecSource;
use crate::spec::{
    Document, Folders, Node, RulePresets, SpecError, TrialSpec, Value, device_preset, rule_has, rule_presets,
};
use crate::store::{Row, Store, StoreError, TrialState};
use crate::sweep::{Listener, SweepError, SweepOptions, sweep};

/// Share of the training samples that is held out if the spec does not say.
const VALIDATION: f64 = 0.2;
/// Trials of the shortest search.
const FEWEST: usize = 5;
/// Trials of the longest: as many as a grid may have.
const MOST: usize = 1_000_000;
/// Short trials from which the length of a search of so many minutes is planned.
const TIMED: usize = 4;

/// How to search.
#[derive(Clone, Debug, PartialEq)]
pub struct TuneOptions {
    /// Most trials.
    pub trials: usize,
    /// Most minutes; the number of trials is then decided once, from the first of them, and kept in the store.
    pub minutes: Option<f64>,
    /// Seeds of the best settings; from 30 trials on the last of them get more, so that luck does not choose.
    pub seeds: usize,
    /// Decides where the search looks, and the first seed of trials.
    pub seed: u64,
    /// Values of fields that are searched instead of their own ranges, or besides; one value holds a field. A field that a rule
    /// does not have is left out for it.
    pub choices: Vec<(String, Vec<Setting>)>,
    /// Settings known before, with which searches of the same rule and device begin, besides the spec's own and those that come
    /// with the library. Values that are not searched are left out.
    pub starts: Vec<RulePresets>,
    /// Whether the best setting is in the end trained with nothing held out and measured on the test samples, with every seed. Nothing
    /// is chosen by it.
    pub test: bool,
}

/// Why a search cannot be done.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TuneError {
    /// The spec.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The trials.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// A problem has no validation part.
    #[error(
        "tune needs a spec with [network]: settings are judged on held-out samples; `residuum rates` chooses those of a problem"
    )]
    NoNetwork,
    /// Every trial failed.
    #[error("no setting of {point} could be trained; the first failed with: {sentence}")]
    AllFailed {
        /// The point.
        point: String,
        /// Why.
        sentence: String,
    },
    /// A budget that cannot hold a search.
    #[error("tune needs a budget of {FEWEST} to {MOST} trials, got {0}")]
    Budget(usize),
    /// A choice for a field that none of the rules has.
    #[error("search: {field} must be a field of a rule that is searched, which are {}", rules.join(", "))]
    NoRule {
        /// The field.
        field: String,
        /// The rules.
        rules: Vec<String>,
    },
    /// Settings to begin with for none of the searches.
    #[error("start: file {number} must have settings for something that is searched: {}", searched.join(", "))]
    NoStart {
        /// Which of the files, from 1.
        number: usize,
        /// Rules and devices.
        searched: Vec<String>,
    },
    /// A time that is none.
    #[error("tune needs minutes above 0, got {0}")]
    Minutes(f64),
    /// The file with the length of an earlier search is damaged.
    #[error("{}: {reason}; remove it and the length is planned again", path.display())]
    Kept {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The user stopped it.
    #[error("stopped; finished trials are kept")]
    Interrupted,
}

/// A trial of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// Place in the space.
    pub place: Vec<f64>,
    /// Values of the fields.
    pub settings: Vec<Setting>,
    /// Its epochs.
    pub epochs: u64,
    /// Its seed.
    pub seed: u64,
    /// What it reached on the validation part (accuracy, or R²) and its loss there; none if it failed.
    pub score: Option<(f64, f64)>,
    /// Its id in the store.
    pub id: String,
}

/// The outcome of a search for one point of a spec.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The point.
    pub point: String,
    /// The rule.
    pub rule: String,
    /// The metric that was maximised.
    pub metric: &'static str,
    /// What was searched.
    pub space: Space,
    /// How.
    pub schedule: Halving,
    /// Every trial, in order.
    pub trials: Vec<Tried>,
    /// The best values.
    pub best: Vec<Setting>,
    /// What they reached over seeds.
    pub score: Summary,
    /// Why the best known setting stays, or does not, where seeds were kept to decide it.
    pub verdict: Option<String>,
    /// What they reached over seeds on the test samples, if it was asked for.
    pub test: Option<Summary>,
    /// Why the first of the settings that failed did.
    pub failure: Option<String>,
    /// The `device.preset` of all arrays, if it is one.
    pub device: Option<String>,
    /// The fields of `[rule]` but its kind, in TOML notation.
    pub settings: String,
    /// Network, data and length of training in words.
    pub evidence: String,
    /// Accuracy of guessing.
    pub chance: f64,
    /// The spec to run, without anything held out.
    pub spec: String,
    /// Seconds of all trials.
    pub seconds: f64,
}

/// One point of a spec, ready to be changed.
struct PointSearch<'a> {
    node: Node,
    plan: Plan,
    folders: &'a Folders,
    store: &'a Store,
    sweep: &'a SweepOptions,
    listener: &'a dyn Listener,
    metric: &'static str,
    space: Space,
    trials: Vec<Tried>,
    failure: Option<String>,
}

/// A setting and its place in the space.
type Candidate = (Vec<f64>, Vec<Setting>);

/// Searches for every point of a spec that `wanted` selects, one after the other.
///
/// # Errors
/// If the spec has a fault or no network, the store cannot be used, or no setting can be trained.
pub fn tune(
    source: &SpecSource,
    profile: Option<&str>,
    wanted: impl Fn(&str) -> bool,
    store: &Store,
    (options, sweep): (TuneOptions, &SweepOptions),
    listener: &dyn Listener,
) -> Result<Vec<Tuned>, TuneError> {
    if !(FEWEST..=MOST).contains(&options.trials) {
        return Err(TuneError::Budget(options.trials));
    }
    if let Some(minutes) = options.minutes.filter(|minutes| !(*minutes > 0.0 && minutes.is_finite())) {
        return Err(TuneError::Minutes(minutes));
    }
    let folders = Folders::new(&source.base).with_data(&sweep.data_root);
    let mut searches = Vec::new();
    for (name, node) in source.document.points(profile)? {
        let document = Document(node.clone());
        let plans = plans_of(&document, &folders, None, &source.stem)?;
        let Some(plan) = points(&plans).next().cloned() else { continue };
        let point = name.unwrap_or_else(|| plan.name.clone());
        if !wanted(&point) {
            continue;
        }
        let Work::Network(spec) = &plan.work else { return Err(TuneError::NoNetwork) };
        let metric = if spec.data.is_regression() { "validation_r2" } else { "validation_accuracy" };
        let (_, mut space) = search_space(spec, &node)?;
        for (field, values) in options.choices.iter().filter(|(field, _)| has_field(spec, field)) {
            space.replace(field, values.clone());
        }
        searches.push(PointSearch {
            node,
            folders: &folders,
            store,
            sweep,
            listener,
            metric,
            space,
            trials: Vec::new(),
            failure: None,
            plan: Plan { name: point, ..plan },
        });
    }
    for (field, _) in &options.choices {
        if !searches.iter().any(|search| search.space.fields.iter().any(|tunable| tunable.field == *field)) {
            let mut rules: Vec<String> = searches.iter().map(|s| s.plan.work.rule().to_string()).collect();
            rules.dedup();
            return Err(TuneError::NoRule { field: field.clone(), rules });
        }
    }
    for (i, presets) in options.starts.iter().enumerate() {
        let of = |search: &PointSearch<'_>| {
            presets.find(search.plan.work.rule(), device_preset(&search.node)).is_some()
        };
        if !searches.iter().any(of) {
            let words = |search: &PointSearch<'_>| {
                format!(
                    "{} on {}",
                    search.plan.work.rule(),
                    device_preset(&search.node).unwrap_or("no device.preset")
                )
            };
            return Err(TuneError::NoStart { number: i + 1, searched: searches.iter().map(words).collect() });
        }
    }
    searches.into_iter().map(|search| search.run(&options, &source.base)).collect()
}

/// Whether the rule of a trial has a field; fields of other tables are read with the spec.
fn has_field(spec: &TrialSpec, field: &str) -> bool {
    let Some(field) = field.strip_prefix("rule.") else { return true };
    rule_has(spec.rule.name, field.split('.').next().unwrap_or(field))
}

/// Where a search of this trial looks, and what the laws give for it.
///
/// # Errors
/// If the spec cannot be read, or the numbers of samples are not known.
pub(crate) fn search_space(spec: &TrialSpec, node: &Node) -> Result<(Centre, Space), SpecError> {
    let centre = Centre::new(spec)?;
    Ok((centre, Space::new(spec, node, &centre)))
}

impl PointSearch<'_> {
    fn run(mut self, options: &TuneOptions, base: &Path) -> Result<Tuned, TuneError> {
        let Work::Network(spec) = &self.plan.work else { return Err(TuneError::NoNetwork) };
        let epochs = spec.training.epochs;
        let key = Key::new(options.seed).named("tune").named(&self.plan.name);
        let search = Search { dimensions: self.space.fields.len(), key };
        let mut schedule = Halving::new(options.trials, epochs, options.seeds);
        // What is known comes first, and has places of its own later: a search should not end below what was there.
        let known = self.known(spec, options);
        let mut first = known.clone();
        first.push(self.at(self.space.centre()));
        first.extend((0..schedule.start).map(|i| self.at(search.quasi_random(i))));
        if let Some(minutes) = options.minutes {
            self.evaluate(&first[..TIMED.min(schedule.start)], schedule.short_epochs, options.seed)?;
            schedule = self.timed(schedule, minutes, options)?;
            self.trials.clear();
        }
        first.truncate(schedule.start);
        self.evaluate(&first, schedule.short_epochs, options.seed)?;
        let mut index = 0;
        for (round, width) in schedule.widths.iter().enumerate() {
            // Each round looks around what those before it found.
            let best = self.best(schedule.short_epochs, 4);
            if best.is_empty() {
                break;
            }
            let share = (schedule.around - index).div_ceil(schedule.widths.len() - round);
            let near = (0..share).map(|i| search.around(&best[i % best.len()].0, *width, index + i));
            let near: Vec<Candidate> = near.map(|place| self.at(place)).collect();
            self.evaluate(&near, schedule.short_epochs, options.seed)?;
            index += share;
        }
        let best = with_known(&self.best(schedule.short_epochs, usize::MAX), &known, schedule.long);
        if schedule.epochs > schedule.short_epochs {
            self.evaluate(&best, schedule.epochs, options.seed)?;
        }
        let finalists = with_known(&self.best(schedule.epochs, usize::MAX), &known, schedule.finalists);
        for seed in 1..=schedule.seeds as u64 {
            self.evaluate(&finalists, schedule.epochs, options.seed + seed)?;
        }
        // These seeds pick the challenger; the following ones judge it.
        let fresh = options.seed + 1 + schedule.seeds as u64;
        let mut last = finalists;
        let mut spent = 0;
        for seed in fresh.. {
            let left = undecided(&self.finalists(&last, &known, schedule.epochs));
            last = left.into_iter().map(|i| last[i].clone()).collect();
            spent += last.len();
            if last.len() < 2 || spent > schedule.last {
                break;
            }
            self.evaluate(&last, schedule.epochs, seed)?;
        }
        let ends = self.finalists(&last, &known, schedule.epochs);
        let Some(choice) = chosen(&ends, fresh) else {
            let sentence = self.failure.unwrap_or_else(|| "no trial was run".into());
            return Err(TuneError::AllFailed { point: self.plan.name, sentence });
        };
        self.finish(schedule, (last.swap_remove(choice).1, verdict(&ends, fresh)), options, base)
    }

    /// The settings known before: the spec's own, those that come with the library and those given for the rule and device.
    fn known(&self, spec: &TrialSpec, options: &TuneOptions) -> Vec<Candidate> {
        let mut known: Vec<Candidate> = self.space.own(spec, &self.node).into_iter().collect();
        for presets in std::iter::once(rule_presets()).chain(&options.starts) {
            let Some(preset) = presets.find(spec.rule.name, device_preset(&self.node)) else { continue };
            let node = self.node.with(&["rule".into()], Some(&preset.rule_node()));
            let plans = plans_of(&Document(node.clone()), self.folders, None, &self.plan.experiment);
            let Ok([Plan { work: Work::Network(spec), .. }, ..]) = plans.as_deref() else { continue };
            let setting = self.space.own(spec, &node).filter(|one| !known.contains(one));
            known.extend(setting);
        }
        known
    }

    /// What these settings reached with so many epochs, by seed.
    fn finalists(&self, candidates: &[Candidate], known: &[Candidate], epochs: u64) -> Vec<Finalist> {
        let finalist = |one: &Candidate| {
            let mut seen = BTreeSet::new();
            let own = self.trials.iter().filter(|t| t.settings == one.1 && t.epochs == epochs);
            let own: Vec<&Tried> = own.filter(|t| seen.insert(t.seed)).collect();
            Finalist {
                known: known.iter().any(|(_, settings)| *settings == one.1),
                scores: own.iter().map(|t| (t.seed, t.score.map_or(0.0, |s| s.0))).collect(),
                loss: own.iter().map(|t| t.score.map_or(f64::INFINITY, |s| s.1)).sum::<f64>()
                    / own.len() as f64,
            }
        };
        candidates.iter().map(finalist).collect()
    }

    fn at(&self, place: Vec<f64>) -> Candidate {
        let settings = self.space.at(&place);
        (place, settings)
    }

    /// The best settings with so many epochs under the first seed, each once.
    fn best(&self, epochs: u64, count: usize) -> Vec<Candidate> {
        let first = self.trials.first().map_or(0, |t| t.seed);
        let mut ranked: Vec<&Tried> =
            self.trials.iter().filter(|t| t.epochs == epochs && t.seed == first && t.score.is_some()).collect();
        ranked.sort_by(|a, b| better(b.score, a.score));
        let mut best: Vec<Candidate> = Vec::new();
        for tried in ranked {
            if best.len() < count && !best.iter().any(|(_, settings)| *settings == tried.settings) {
                best.push((tried.place.clone(), tried.settings.clone()));
            }
        }
        best
    }

    /// Runs what is not in the store, and reads what came of it. Places whose listed values are the same share a trial.
    fn evaluate(&mut self, candidates: &[Candidate], epochs: u64, seed: u64) -> Result<(), TuneError> {
        let mut plans: Vec<(String, Plan)> = Vec::new();
        let mut ids = Vec::new();
        for (_, settings) in candidates {
            let plan = match self.plan_at(settings, epochs, seed) {
                Ok(plan) => plan,
                // Values that do not go together are one more setting that cannot be trained.
                Err(error) => {
                    self.failure.get_or_insert_with(|| error.to_string());
                    ids.push(String::new());
                    continue;
                }
            };
            ids.push(plan.id());
            if !plans.iter().any(|(id, _)| *id == plan.id()) {
                plans.push((plan.id(), plan));
            }
        }
        let plans: Vec<Plan> = plans.into_iter().map(|(_, plan)| plan).collect();
        let summary = sweep(&plans, self.store, self.sweep, self.listener)?;
        if summary.interrupted {
            return Err(TuneError::Interrupted);
        }
        if let Some(failed) = summary.failed.first() {
            self.failure.get_or_insert_with(|| failed.sentence.clone());
        }
        for (id, (place, settings)) in ids.into_iter().zip(candidates) {
            let score = match self.store.state(&id) {
                _ if id.is_empty() => None,
                TrialState::Done => score(&self.store.records(&id)?, self.metric),
                _ => None,
            };
            self.trials.push(Tried {
                place: place.clone(),
                settings: settings.clone(),
                epochs,
                seed,
                score,
                id,
            });
        }
        Ok(())
    }

    /// The spec with these values.
    fn node_at(&self, settings: &[Setting]) -> Result<Node, SpecError> {
        let mut node = self.node.clone();
        for (tunable, setting) in self.space.fields.iter().zip(settings) {
            let path: Vec<String> = tunable.field.split('.').map(String::from).collect();
            node = node.with(&path, None);
            node.put(&tunable.field, setting.node())?;
        }
        Ok(node)
    }

    fn plan_at(&self, settings: &[Setting], epochs: u64, seed: u64) -> Result<Plan, SpecError> {
        let mut node = self.node_at(settings)?;
        let plain = |value| Node { line: None, value };
        let held_out = node.field("data").is_some_and(|data| data.field("validation").is_some());
        if !held_out {
            node.put("data.validation", &plain(Value::Number(VALIDATION)))?;
        }
        node.put("data.evaluate", &plain(Value::Text("validation".into())))?;
        node.put("training.epochs", &plain(Value::Integer(epochs.cast_signed())))?;
        let seeds = plain(Value::List(vec![plain(Value::Integer(seed.cast_signed()))]));
        node = node.with(&["training".into(), "seeds".into()], Some(&seeds));
        let mut plans = plans_of(&Document(node), self.folders, None, &self.plan.experiment)?;
        let mut plan = plans.remove(0);
        plan.name = format!("tune-{}", self.plan.name);
        plan.labels = vec![("variant".into(), format!("tune {}", self.plan.name))];
        plan.labels
            .extend(self.space.fields.iter().zip(settings).map(|(t, v)| (t.field.clone(), v.to_string())));
        plan.labels.push(("training.epochs".into(), epochs.to_string()));
        Ok(plan)
    }

    /// The schedule that fits into some minutes, decided once and kept in the store.
    fn timed(&self, most: Halving, minutes: f64, options: &TuneOptions) -> Result<Halving, TuneError> {
        let name = format!("tune-{}-{}-{minutes}.json", self.plan.name, options.seed);
        let path = self.store.path().join(name);
        if let Ok(text) = std::fs::read_to_string(&path) {
            let trials = kept_trials(&text, options.trials)
                .map_err(|reason| TuneError::Kept { path: path.clone(), reason })?;
            return Ok(Halving::new(trials, most.epochs, options.seeds));
        }
        let per_epoch = self.seconds()? / (self.trials.len() as u64 * most.short_epochs).max(1) as f64;
        let fits = |trials: &usize| {
            let schedule = Halving::new(*trials, most.epochs, options.seeds);
            schedule.cost() as f64 * per_epoch / self.sweep.jobs as f64 <= 60.0 * minutes
        };
        let trials = (FEWEST..=options.trials).rev().find(fits).unwrap_or(FEWEST);
        write_whole(&path, serde_json::json!({ "trials": trials }).to_string().as_bytes())?;
        Ok(Halving::new(trials, most.epochs, options.seeds))
    }

    /// Seconds of all trials.
    fn seconds(&self) -> Result<f64, TuneError> {
        let mut sum = 0.0;
        for tried in self.trials.iter().filter(|t| t.score.is_some()) {
            sum += self.store.manifest(&tried.id)?.seconds;
        }
        Ok(sum)
    }

    /// What a setting reaches on the test samples with nothing held out.
    fn tested(&self, settings: &[Setting], seeds: std::ops::Range<u64>) -> Result<Summary, TuneError> {
        let plain = |value| Node { line: None, value };
        let seeds = seeds.map(|seed| plain(Value::Integer(seed.cast_signed()))).collect();
        let seeds = plain(Value::List(seeds));
        let node = self.node_at(settings)?.with(&["training".into(), "seeds".into()], Some(&seeds));
        let plans = plans_of(&Document(node), self.folders, None, &self.plan.experiment)?;
        if sweep(&plans, self.store, self.sweep, self.listener)?.interrupted {
            return Err(TuneError::Interrupted);
        }
        let metric = self.metric.replace("validation", "test");
        let mut reached = Vec::new();
        for plan in &plans {
            reached.extend(ending(&self.store.records(&plan.id())?, &metric));
        }
        Ok(Summary::of(reached))
    }

    /// Network, data and length of training, in words.
    fn evidence(&self, spec: &TrialSpec) -> String {
        let training = &spec.training;
        let length = format!("{} epochs, mini-batches of {}", training.epochs, training.batch_size);
        let title = self.plan.title.as_ref().unwrap_or(&self.plan.experiment);
        format!("{title}, {length}")
    }

    fn finish(
        self,
        schedule: Halving,
        (best, verdict): (Vec<Setting>, Option<String>),
        options: &TuneOptions,
        base: &Path,
    ) -> Result<Tuned, TuneError> {
        let base = base.canonicalize().unwrap_or_else(|_| base.to_owned());
        let node = self.node_at(&best)?;
        let spec = node.rebased(&base).to_toml();
        let seeds = options.seed..options.seed + options.seeds.max(1) as u64;
        let test = if options.test { Some(self.tested(&best, seeds)?) } else { None };
        let mut seen = BTreeSet::new();
        let own = self.trials.iter().filter(|t| t.settings == best && t.epochs == schedule.epochs);
        let score = Summary::of(own.filter(|t| seen.insert(t.seed)).filter_map(|t| t.score).map(|s| s.0));
        let Work::Network(trial) = &self.plan.work else { return Err(TuneError::NoNetwork) };
        let classes = if trial.data.is_regression() { f64::INFINITY } else { trial.data.image().1 as f64 };
        let seconds = self.seconds()?;
        Ok(Tuned {
            point: self.plan.name.clone(),
            rule: self.plan.work.rule().to_string(),
            metric: self.metric,
            score,
            verdict,
            best,
            test,
            failure: self.failure.clone(),
            device: device_preset(&self.node).map(String::from),
            settings: node.field("rule").map(|rule| rule.without(&["kind"]).inline()).unwrap_or_default(),
            evidence: self.evidence(trial),
            chance: classes.recip(),
            spec,
            seconds,
            schedule,
            space: self.space,
            trials: self.trials,
        })
    }
}

/// The first of a ranking; up to half of the places are for the best of what is known, wherever it stands.
fn with_known(ranked: &[Candidate], known: &[Candidate], count: usize) -> Vec<Candidate> {
    let (kept, others): (Vec<&Candidate>, Vec<&Candidate>) = ranked.iter().partition(|one| known.contains(one));
    let kept = &kept[..kept.len().min(count.div_ceil(2))];
    let others = &others[..others.len().min(count - kept.len())];
    let chosen = [kept, others].concat();
    ranked.iter().filter(|one| chosen.contains(one)).cloned().collect()
}

/// The trials of a search that was planned before, from the file that keeps their number.
///
/// # Errors
/// If the file is not one of these, or the number is not one that a search of at most `most` trials decides for.
pub fn kept_trials(text: &str, most: usize) -> Result<usize, String> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Kept {
        trials: usize,
    }
    let Kept { trials } = serde_json::from_str(text).map_err(|e| format!("must be {{\"trials\": N}}: {e}"))?;
    if (FEWEST..=most.max(FEWEST)).contains(&trials) {
        Ok(trials)
    } else {
        Err(format!("trials must be {FEWEST} to {most}, the most that was asked for, got {trials}"))
    }
}

/// What a trial reached in its last epochs, as reports have it.
fn ending(rows: &[Row], metric: &str) -> Option<f64> {
    let own: Vec<f64> = rows.iter().filter(|row| row.metric == metric).map(|row| row.value).collect();
    let from = own.len().saturating_sub(tail(own.len()));
    (!own.is_empty()).then(|| Summary::of(own[from..].iter().copied()).mean)
}

/// What a trial reached, with its loss.
fn score(rows: &[Row], metric: &str) -> Option<(f64, f64)> {
    let (score, loss) = (ending(rows, metric)?, ending(rows, "validation_loss")?);
    (score.is_finite() && loss.is_finite()).then_some((score, loss))
}

/// Which of two scores is the larger; of equal ones the one with the smaller loss.
fn better(a: Option<(f64, f64)>, b: Option<(f64, f64)>) -> std::cmp::Ordering {
    let key = |score: Option<(f64, f64)>| score.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    let ((a, loss_a), (b, loss_b)) = (key(a), key(b));
    a.total_cmp(&b).then(loss_b.total_cmp(&loss_a))
}
