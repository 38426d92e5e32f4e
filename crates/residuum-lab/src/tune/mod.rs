//! `residuum tune`: settings of a rule that do best on held-out training samples, never on the test samples.

mod report;
mod search;
mod space;

use std::path::{Path, PathBuf};

use residuum::Key;
use residuum::stats::Summary;
use thiserror::Error;

pub use report::Sensitivity;
pub use search::{Halving, Search};
pub use space::{Centre, Tunable, space};

use crate::files::{FileError, write_whole};
use crate::plan::{Plan, Work, plans_of, points};
use crate::source::SpecSource;
use crate::spec::{Document, Folders, Node, SpecError, TrialSpec, Value};
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TuneOptions {
    /// Most trials.
    pub trials: usize,
    /// Most minutes; the number of trials is then decided once, from the first of them, and kept in the store.
    pub minutes: Option<f64>,
    /// Seeds of the best settings.
    pub seeds: usize,
    /// Decides where the search looks, and the first seed of trials.
    pub seed: u64,
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
    pub values: Vec<f64>,
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
    pub space: Vec<Tunable>,
    /// How.
    pub schedule: Halving,
    /// Every trial, in order.
    pub trials: Vec<Tried>,
    /// The best values.
    pub best: Vec<f64>,
    /// What they reached over seeds.
    pub score: Summary,
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
    space: Vec<Tunable>,
    trials: Vec<Tried>,
    failure: Option<String>,
}

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
    let mut all = Vec::new();
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
        let space = search_space(spec)?;
        let search = PointSearch {
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
        };
        all.push(search.run(options, &source.base)?);
    }
    Ok(all)
}

/// The fields of a trial's rule, around their centre.
///
/// # Errors
/// If the numbers of samples are not known.
pub fn search_space(spec: &TrialSpec) -> Result<Vec<Tunable>, SpecError> {
    let samples = spec.data.samples().map_err(|e| SpecError { line: None, message: format!("data: {e}") })?;
    let steps = samples[0].div_ceil(spec.training.batch_size) as u64 * spec.training.epochs;
    let centre = Centre::new(spec, steps);
    let (image, outputs) = spec.data.image();
    let shapes = spec.network.model.layers(outputs).shapes(spec.network.model.input().unwrap_or(image));
    let matrices = shapes.iter().flatten().flat_map(|shape| &shape.matrices);
    let columns = matrices.map(|[_, cols]| (*cols).min(spec.mapping.max_cols)).max().unwrap_or(1);
    Ok(space(&spec.rule, &centre, columns))
}

impl PointSearch<'_> {
    fn run(mut self, options: TuneOptions, base: &Path) -> Result<Tuned, TuneError> {
        let Work::Network(spec) = &self.plan.work else { return Err(TuneError::NoNetwork) };
        let epochs = spec.training.epochs;
        let key = Key::new(options.seed).named("tune").named(&self.plan.name);
        let space = self.space.clone();
        let search = Search { space: &space, key };
        let mut schedule = Halving::new(options.trials, epochs, options.seeds);
        // The setting of the spec and the centre come first: the search never ends below what was there.
        let mut places = self.own_place().into_iter().collect::<Vec<_>>();
        places.push(vec![0.5; space.len()]);
        places.extend((0..).map(|i| search.quasi_random(i)).take(schedule.start));
        if let Some(minutes) = options.minutes {
            self.evaluate(&places[..TIMED.min(schedule.start)], schedule.short_epochs, options.seed)?;
            schedule = self.timed(schedule, minutes, options)?;
            self.trials.clear();
        }
        places.truncate(schedule.start);
        self.evaluate(&places, schedule.short_epochs, options.seed)?;
        for round in 0..2 {
            // Two rounds: the second looks around what the first found.
            let share = if round == 0 { schedule.around.div_ceil(2) } else { schedule.around / 2 };
            let best = self.best(schedule.short_epochs, 4);
            if best.is_empty() {
                break;
            }
            let first = round * schedule.around.div_ceil(2);
            let near: Vec<Vec<f64>> =
                (0..share).map(|i| search.around(&best[i % best.len()], first + i)).collect();
            self.evaluate(&near, schedule.short_epochs, options.seed)?;
        }
        let best = self.best(schedule.short_epochs, schedule.long);
        if schedule.epochs > schedule.short_epochs {
            self.evaluate(&best, schedule.epochs, options.seed)?;
        }
        let finalists = self.best(schedule.epochs, schedule.finalists);
        for seed in 1..=schedule.seeds as u64 {
            self.evaluate(&finalists, schedule.epochs, options.seed + seed)?;
        }
        self.finish(schedule, &finalists, base)
    }

    /// The place of the spec's own setting, if it gives every field as a number.
    fn own_place(&self) -> Option<Vec<f64>> {
        let own = |tunable: &Tunable| {
            let node = tunable.field.split('.').try_fold(&self.node, |node, name| node.field(name))?;
            node.as_number().filter(|value| *value > 0.0).map(|value| tunable.place(value))
        };
        self.space.iter().map(own).collect()
    }

    /// The best settings with so many epochs under the first seed, each once.
    fn best(&self, epochs: u64, count: usize) -> Vec<Vec<f64>> {
        let first = self.trials.first().map_or(0, |t| t.seed);
        let mut ranked: Vec<&Tried> =
            self.trials.iter().filter(|t| t.epochs == epochs && t.seed == first && t.score.is_some()).collect();
        ranked.sort_by(|a, b| better(b.score, a.score));
        let mut places: Vec<Vec<f64>> = Vec::new();
        for tried in ranked {
            if places.len() < count && !places.contains(&tried.place) {
                places.push(tried.place.clone());
            }
        }
        places
    }

    /// Runs what is not in the store, and reads what came of it.
    fn evaluate(&mut self, places: &[Vec<f64>], epochs: u64, seed: u64) -> Result<(), TuneError> {
        let mut plans = Vec::new();
        for place in places {
            let values: Vec<f64> = self.space.iter().zip(place).map(|(t, &p)| t.at(p)).collect();
            plans.push(self.plan_at(&values, epochs, seed)?);
        }
        let summary = sweep(&plans, self.store, self.sweep, self.listener)?;
        if summary.interrupted {
            return Err(TuneError::Interrupted);
        }
        if let Some(failed) = summary.failed.first() {
            self.failure.get_or_insert_with(|| failed.sentence.clone());
        }
        for (plan, place) in plans.iter().zip(places) {
            let id = plan.id();
            let score = match self.store.state(&id) {
                TrialState::Done => score(&self.store.records(&id)?, self.metric),
                _ => None,
            };
            let values = self.space.iter().zip(place).map(|(t, &p)| t.at(p)).collect();
            self.trials.push(Tried { place: place.clone(), values, epochs, seed, score, id });
        }
        Ok(())
    }

    /// The spec with these values; with a seed, measured on its validation part.
    fn node_at(&self, values: &[f64]) -> Result<Node, SpecError> {
        let mut node = self.node.clone();
        for (tunable, &value) in self.space.iter().zip(values) {
            node.put(tunable.field, &Node { line: None, value: Value::Number(value) })?;
        }
        Ok(node)
    }

    fn plan_at(&self, values: &[f64], epochs: u64, seed: u64) -> Result<Plan, TuneError> {
        let mut node = self.node_at(values)?;
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
        let words = |value: f64| value.to_string();
        plan.name = format!("tune-{}", self.plan.name);
        plan.labels = vec![("variant".into(), format!("tune {}", self.plan.name))];
        plan.labels.extend(self.space.iter().zip(values).map(|(t, &v)| (t.field.to_string(), words(v))));
        plan.labels.push(("training.epochs".into(), epochs.to_string()));
        Ok(plan)
    }

    /// The schedule that fits into some minutes, decided once and kept in the store.
    fn timed(&self, most: Halving, minutes: f64, options: TuneOptions) -> Result<Halving, TuneError> {
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

    fn finish(self, schedule: Halving, finalists: &[Vec<f64>], base: &Path) -> Result<Tuned, TuneError> {
        // Of the finalists the one with the best mean over its seeds.
        let summary = |place: &Vec<f64>| {
            let own = self.trials.iter().filter(|t| t.place == *place && t.epochs == schedule.epochs);
            let scores: Vec<(f64, f64)> = own.filter_map(|t| t.score).collect();
            (Summary::of(scores.iter().map(|s| s.0)), Summary::of(scores.iter().map(|s| s.1)).mean)
        };
        let best = finalists.iter().max_by(|a, b| {
            let ((a, loss_a), (b, loss_b)) = (summary(a), summary(b));
            better(Some((a.mean, loss_a)), Some((b.mean, loss_b)))
        });
        let Some(best) = best else {
            let sentence = self.failure.clone().unwrap_or_else(|| "no trial was run".into());
            return Err(TuneError::AllFailed { point: self.plan.name.clone(), sentence });
        };
        let values: Vec<f64> = self.space.iter().zip(best).map(|(t, &p)| t.at(p)).collect();
        let base = base.canonicalize().unwrap_or_else(|_| base.to_owned());
        let spec = self.node_at(&values)?.rebased(&base).to_toml();
        let seconds = self.seconds()?;
        Ok(Tuned {
            point: self.plan.name.clone(),
            rule: self.plan.work.rule().to_string(),
            metric: self.metric,
            score: summary(best).0,
            best: values,
            spec,
            seconds,
            schedule,
            space: self.space,
            trials: self.trials,
        })
    }
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

/// What a trial reached after its last epoch, with its loss.
fn score(rows: &[Row], metric: &str) -> Option<(f64, f64)> {
    let last = |metric: &str| rows.iter().rfind(|row| row.metric == metric).map(|row| row.value);
    let (score, loss) = (last(metric)?, last("validation_loss")?);
    (score.is_finite() && loss.is_finite()).then_some((score, loss))
}

/// Which of two scores is the larger; of equal ones the one with the smaller loss.
fn better(a: Option<(f64, f64)>, b: Option<(f64, f64)>) -> std::cmp::Ordering {
    let key = |score: Option<(f64, f64)>| score.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    let ((a, loss_a), (b, loss_b)) = (key(a), key(b));
    a.total_cmp(&b).then(loss_b.total_cmp(&loss_a))
}
