//! The outcome of a run for the terminal: a row per point, a sentence, a figure.

use residuum::stats::Summary;
use serde_json::{Map, Value, json};

use super::curves::{curves, densities};
use super::measure::{Goal, Measure, measures, tail};
use super::number::written;
use super::study::{Arm, Study, studies};
use super::table::{Column, Table, TableCell};
use super::{Bands, ReportOptions, StoredTrial};
use crate::figure::Figure;
use crate::plan::Plan;
use crate::store::{SpecKind, Store, StoreError, TrialState};

/// Below this test accuracy, a network of ten classes has learned practically nothing.
const FAILED: f64 = 0.5;
/// Accuracies closer than this count as equal.
const MATCH: f64 = 0.01;
/// Rounding error of a difference of shares.
const ROUNDING: f64 = 1e-12;
/// Most rows of the table; `residuum report` shows all.
const ROWS: usize = 60;
/// Metrics of problems that fit a terminal.
const COLUMNS: usize = 6;
/// The metric that networks are judged by, unless they have none: a regression, or one that is measured on its validation part.
const ACCURACY: &str = "test_accuracy";

/// The trials of some plans that are done, with their records, in the order of the plans and under their names.
///
/// # Errors
/// If one of their files cannot be read.
pub fn trials_of(plans: &[Plan], store: &Store) -> Result<Vec<StoredTrial>, StoreError> {
    let mut trials = Vec::new();
    for plan in plans {
        let id = plan.id();
        if store.state(&id) == TrialState::Done {
            let mut manifest = store.manifest(&id)?;
            // The trial may have been run under other words.
            manifest.experiment.clone_from(&plan.experiment);
            manifest.name.clone_from(&plan.name);
            manifest.labels.clone_from(&plan.labels);
            trials.push(StoredTrial { rows: store.records(&id)?, manifest });
        }
    }
    Ok(trials)
}

/// The trials of one experiment side by side.
#[derive(Debug)]
pub struct RunOutcome<'a> {
    title: String,
    study: Study<'a>,
}

impl<'a> RunOutcome<'a> {
    /// How trials of one experiment ended; none if there are none.
    pub fn new(title: &str, trials: &'a [StoredTrial]) -> Option<Self> {
        let study = studies(trials, None).into_iter().next()?;
        Some(Self { title: title.into(), study })
    }

    /// Every point with the words for its block.
    fn points(&self) -> impl Iterator<Item = (String, &Arm<'a>)> {
        let words = |block: &super::study::Block<'a>| block.words(&self.study.others);
        self.study.blocks.iter().flat_map(move |b| b.arms.iter().map(move |arm| (words(b), arm)))
    }

    /// The points that are compared with one another, under the words of their block. Where no block has more than one, all are.
    fn groups(&self) -> Vec<(String, Vec<End>)> {
        let measure = self.judged();
        let end = |title: String, arm: &Arm<'a>| End {
            title,
            is_digital: is_digital(arm),
            summary: measure.as_ref().map_or_else(|| Summary::of([]), |m| m.summary(arm)),
        };
        if self.study.blocks.iter().all(|b| b.arms.len() == 1) {
            return vec![(
                String::new(),
                self.points().map(|(w, arm)| end(joined(&w, &arm.name), arm)).collect(),
            )];
        }
        let of = |b: &super::study::Block<'a>| b.arms.iter().map(|arm| end(arm.name.clone(), arm)).collect();
        self.study.blocks.iter().map(|b| (b.words(&self.study.others), of(b))).collect()
    }

    /// What the points are judged by, if anything.
    fn judged(&self) -> Option<Measure> {
        let measures = measures(&self.study, &[]);
        let goal = if self.study.kind == SpecKind::Network { Goal::Higher } else { Goal::Lower };
        measures.into_iter().find(|m| m.goal == goal)
    }

    /// What was seen, one sentence for each block.
    pub fn findings(&self) -> Vec<String> {
        let said = |ends: &[End]| match self.study.kind {
            SpecKind::Network => Some(accuracies(ends)),
            SpecKind::Problem => smallest(ends, &self.judged()?),
        };
        let groups = self.groups();
        let of = |(words, ends): &(String, Vec<End>)| {
            let sentence = said(ends)?;
            Some(if words.is_empty() { sentence } else { format!("{words}: {sentence}") })
        };
        groups.iter().filter_map(of).collect()
    }

    /// A row for each point: where it ended, with the deviation between seeds.
    pub fn table(&self) -> Table {
        let (columns, row): (Vec<Column>, Box<dyn Fn(&Arm<'a>) -> Vec<String> + '_>) = match self.study.kind {
            SpecKind::Network => {
                let judged = self.judged().unwrap_or_else(|| Measure::new(ACCURACY));
                (network_columns(&judged), Box::new(move |arm| network_cells(arm, &judged)))
            }
            SpecKind::Problem => {
                let measures: Vec<Measure> = measures(&self.study, &[]).into_iter().take(COLUMNS).collect();
                let heads = ["seeds".to_string()].into_iter().chain(measures.iter().map(|m| m.head.clone()));
                let columns = heads.chain(["seconds".to_string()]).map(Column::numbers).collect();
                (columns, Box::new(move |arm| problem_cells(arm, &measures)))
            }
        };
        let first = if self.study.kind == SpecKind::Network { "rule" } else { "trial" };
        let rows: Vec<Vec<TableCell>> = self
            .points()
            .map(|(words, arm)| {
                let name = match joined(&words, &arm.name) {
                    // A single point has no words of its own.
                    words if words.is_empty() => arm.runs.first().map_or(words, |t| t.manifest.name.clone()),
                    words => words,
                };
                [name].into_iter().chain(row(arm)).map(TableCell::Text).collect()
            })
            .collect();
        let mut notes = vec![self.note()];
        if rows.len() > ROWS {
            notes.push(format!("The first {ROWS} of {} points; `residuum report` shows all.", rows.len()));
        }
        Table {
            name: "outcome".into(),
            caption: self.title.clone(),
            columns: [Column::words(first)].into_iter().chain(columns).collect(),
            rows: rows.into_iter().take(ROWS).collect(),
            notes,
        }
    }

    fn note(&self) -> String {
        if self.study.kind == SpecKind::Problem {
            return "after the last step; entries of vectors are averaged; ± deviation between seeds".into();
        }
        let epochs = tail(self.points().map(|(_, arm)| epochs(arm)).max().unwrap_or(0));
        let over = if epochs > 1 { format!("mean of the last {epochs} epochs") } else { "last epoch".into() };
        let what = self.judged().map_or("accuracy".into(), |measure| measure.head);
        let what = if what == Measure::new(ACCURACY).head { "accuracy" } else { &what };
        format!("{what}: {over}; ± deviation between seeds")
    }

    /// The table and the sentences.
    pub fn to_text(&self) -> String {
        let findings = self.findings();
        let closing = if findings.is_empty() { String::new() } else { format!("\n{}\n", findings.join("\n")) };
        self.table().to_text() + &closing
    }

    /// Curves over time, or densities where there is one time alone; none if there is nothing to draw.
    pub fn figure(&self) -> Option<Figure> {
        let metrics = match self.study.kind {
            SpecKind::Network => vec![self.judged().map_or_else(|| ACCURACY.into(), |measure| measure.metric)],
            SpecKind::Problem => Vec::new(),
        };
        let options = ReportOptions { metrics, spread: Bands::Range, ..ReportOptions::default() };
        let plot = curves(&self.study, &options).or_else(|| densities(&self.study))?;
        let described = format!("{} {}", plot.caption, self.findings().join(" "));
        Some(plot.figure().title(&self.title).description(described))
    }

    /// Every point with its seeds and their numbers.
    pub fn to_json(&self) -> Vec<Value> {
        let mut points = Vec::new();
        for block in &self.study.blocks {
            let words = block.words(&self.study.others);
            for arm in &block.arms {
                let means = measures(&self.study, &[]).into_iter().map(|m| {
                    let Summary { n, mean, std, .. } = m.summary(arm);
                    // In the units of the records, not of tables.
                    let value = json!({ "n": n, "mean": finite(mean / m.scale), "std": finite(std / m.scale) });
                    (m.metric, value)
                });
                let means: Map<String, Value> = means.collect();
                let mut point = json!({
                    "trial": arm.runs.first().map(|t| &t.manifest.name),
                    "title": arm.name,
                    "cell": if words.is_empty() { None } else { Some(&words) },
                });
                if self.study.kind == SpecKind::Network {
                    point["test_accuracy"] = means.get(ACCURACY).map_or(Value::Null, |m| m["mean"].clone());
                }
                point["ends"] = means.into();
                point["runs"] = arm.runs.iter().map(|trial| run_json(trial)).collect();
                points.push(point);
            }
        }
        points
    }
}

/// A number as JSON.
fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

fn run_json(trial: &StoredTrial) -> Value {
    let manifest = &trial.manifest;
    let mut run = json!({ "seed": manifest.seed, "id": manifest.id, "seconds": manifest.seconds });
    if manifest.kind == SpecKind::Problem {
        let record = |r: &crate::store::Row| json!([r.step, r.metric, r.index, finite(r.value)]);
        run["columns"] = json!(["step", "metric", "index", "value"]);
        run["records"] = trial.rows.iter().map(record).collect();
        return run;
    }
    let mut epochs: Vec<Value> = Vec::new();
    for row in trial.rows.iter().filter(|r| r.part.is_empty() || r.metric == "pulses") {
        if epochs.last().is_none_or(|e| e["steps"] != row.step) {
            epochs.push(json!({ "epoch": row.epoch, "steps": row.step }));
        }
        let Some(epoch) = epochs.last_mut() else { continue };
        if row.part.is_empty() {
            epoch[&row.metric] = json!(finite(row.value));
        } else {
            epoch[&row.metric][&row.part] = json!(row.value as u64);
        }
    }
    run["epochs"] = epochs.into();
    run
}

fn joined(block: &str, arm: &str) -> String {
    [block, arm].into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(", ")
}

fn is_digital(arm: &Arm<'_>) -> bool {
    let parameters = arm.runs.first().into_iter().flat_map(|t| &t.manifest.spec);
    parameters.into_iter().any(|p| p.field == "rule.kind" && p.value == "\"digital\"")
}

fn epochs(arm: &Arm<'_>) -> usize {
    let last = |t: &&StoredTrial| t.rows.iter().filter_map(|r| r.epoch).max();
    arm.runs.iter().filter_map(last).max().unwrap_or(0) as usize
}

fn seconds(arm: &Arm<'_>) -> String {
    format!("{:.1}", arm.runs.iter().map(|t| t.manifest.seconds).sum::<f64>())
}

fn network_columns(judged: &Measure) -> Vec<Column> {
    let head = judged.head.trim_end_matches(" (%)");
    ["epochs", head, "training loss", "pulses", "seconds"].map(Column::numbers).into()
}

/// Pulses and seconds are those of all seeds together.
fn network_cells(arm: &Arm<'_>, judged: &Measure) -> Vec<String> {
    let accuracy = judged.summary(arm);
    let deviation = if accuracy.n > 1 { format!(" ± {:.1}", accuracy.std) } else { String::new() };
    let at_end = |metric: &'static str| {
        let of = move |t: &&StoredTrial| {
            let last = t.rows.iter().filter(|r| r.metric == metric).map(|r| r.step).max()?;
            Some(t.rows.iter().filter(|r| r.metric == metric && r.step == last).map(|r| r.value).sum::<f64>())
        };
        arm.runs.iter().filter_map(of)
    };
    let pulses: f64 = at_end("pulses").sum();
    vec![
        epochs(arm).to_string(),
        format!("{:.1}{deviation} %", accuracy.mean),
        format!("{:.4}", Summary::of(at_end("train_loss")).mean),
        if pulses > 0.0 { format!("{pulses:.2e}") } else { "–".into() },
        seconds(arm),
    ]
}

fn problem_cells(arm: &Arm<'_>, measures: &[Measure]) -> Vec<String> {
    let value = |m: &Measure| deviating(&m.summary(arm));
    [arm.runs.len().to_string()].into_iter().chain(measures.iter().map(value)).chain([seconds(arm)]).collect()
}

/// A mean with the deviation between seeds.
fn deviating(summary: &Summary) -> String {
    written(summary.mean, (summary.n > 1).then_some(summary.std)).plain()
}

/// A point as sentences speak of it.
struct End {
    title: String,
    is_digital: bool,
    /// Of what points are judged by; accuracies in per cent.
    summary: Summary,
}

impl End {
    fn accuracy(&self) -> f64 {
        self.summary.mean / 100.0
    }

    fn words(&self) -> String {
        format!("{} ({:.1} %)", self.title, self.summary.mean)
    }
}

/// Which problem came closest.
fn smallest(ends: &[End], measure: &Measure) -> Option<String> {
    let known = ends.iter().filter(|end| !end.summary.mean.is_nan());
    let best = known.min_by(|a, b| a.summary.mean.total_cmp(&b.summary.mean))?;
    let (head, value) = (&measure.head, deviating(&best.summary));
    Some(match ends {
        [_] => format!("The {head} ends at {value}."),
        _ => format!("{} ends with the smallest {head}, {value}.", best.title),
    })
}

/// Which networks failed, and which matched the digital one, or did best if there is none.
fn accuracies(ends: &[End]) -> String {
    match ends {
        [] => "Nothing was run.".into(),
        [only] => format!("{} reaches {:.1} %.", only.title, only.summary.mean),
        _ => match ends.iter().position(|end| end.is_digital) {
            Some(place) => against(&ends[place], &others(ends, place)),
            None => ranked(ends),
        },
    }
}

fn others(ends: &[End], place: usize) -> Vec<&End> {
    ends.iter().enumerate().filter(|(i, _)| *i != place).map(|(_, end)| end).collect()
}

/// The points for which it holds, with the singular or plural verb.
fn list(ends: &[&End], holds: impl Fn(f64) -> bool, verbs: [&str; 2]) -> Option<String> {
    let named: Vec<String> = ends.iter().filter(|e| holds(e.accuracy())).map(|e| e.words()).collect();
    let verb = verbs[usize::from(named.len() > 1)];
    (!named.is_empty()).then(|| format!("{} {verb}", named.join(", ")))
}

/// The others beside the digital network.
fn against(digital: &End, others: &[&End]) -> String {
    let (first, goal) = (digital.words(), digital.accuracy());
    if goal < FAILED {
        let all_fail = others.iter().all(|e| e.accuracy() < FAILED);
        let best = others.iter().max_by(|a, b| a.accuracy().total_cmp(&b.accuracy()));
        let all = if all_fail { ", and so do all others" } else { "" };
        return format!(
            "{first} fails{all}; the best of them is {}.",
            best.map_or(String::new(), |e| e.words())
        );
    }
    let failed = list(others, |a| a < FAILED, ["fails", "fail"]);
    let matched = list(others, |a| a >= FAILED && (a - goal).abs() <= MATCH + ROUNDING, ["matches", "match"]);
    let ahead = list(others, |a| a > goal + MATCH + ROUNDING, ["is ahead of", "are ahead of"]);
    let level = [matched, ahead].into_iter().flatten().collect::<Vec<_>>().join(", ");
    match (failed, level.is_empty()) {
        (None, true) => format!("{first} is ahead of the others."),
        (None, false) => format!("{level} {first}."),
        (Some(failed), true) => format!("{failed}; {first} is ahead of the others."),
        (Some(failed), false) => format!("{failed} where {level} {first}."),
    }
}

/// Networks on tiles among themselves.
fn ranked(ends: &[End]) -> String {
    let best = (0..ends.len()).max_by(|&a, &b| ends[a].accuracy().total_cmp(&ends[b].accuracy()));
    let place = best.unwrap_or(0);
    let (first, goal) = (ends[place].words(), ends[place].accuracy());
    if goal < FAILED {
        return format!("All fail; the best of them is {first}.");
    }
    let others = others(ends, place);
    let matched = list(&others, |a| a >= (goal - MATCH - ROUNDING).max(FAILED), ["matches", "match"]);
    let failed = list(&others, |a| a < FAILED, ["fails", "fail"]);
    match (failed, matched) {
        (None, None) => format!("{first} is ahead of the others."),
        (None, Some(matched)) => format!("{matched} {first}, the best."),
        (Some(failed), None) => format!("{failed}; {first} is the best."),
        (Some(failed), Some(matched)) => format!("{failed} where {matched} {first}, the best."),
    }
}
