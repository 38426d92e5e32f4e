//! The outcome of a run for the terminal: a row per point, a sentence, a figure.

use residuum::stats::Summary;
use serde_json::{Map, Value, json};

use super::curves::{curves, densities};
use super::findings::{deviating, findings, joined, judged};
use super::measure::{Measure, measures, tail};
use super::study::{Arm, Study, studies};
use super::table::{Column, Table, TableCell};
use super::{Bands, ReportOptions, StoredTrial};
use crate::figure::Figure;
use crate::plan::Plan;
use crate::store::{SpecKind, Store, StoreError, TrialState};

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
            manifest.place = plan.place;
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

    /// What was seen, one sentence for each block.
    pub fn findings(&self) -> Vec<String> {
        findings(&self.study)
    }

    /// A row for each point: where it ended, with the deviation between seeds.
    pub fn table(&self) -> Table {
        let (columns, row): (Vec<Column>, Box<dyn Fn(&Arm<'a>) -> Vec<String> + '_>) = match self.study.kind {
            SpecKind::Network => {
                let judged = judged(&self.study).unwrap_or_else(|| Measure::new(ACCURACY));
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
        let what = judged(&self.study).map_or("accuracy".into(), |measure| measure.head);
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
            SpecKind::Network => {
                vec![judged(&self.study).map_or_else(|| ACCURACY.into(), |measure| measure.metric)]
            }
            SpecKind::Problem => Vec::new(),
        };
        let options = ReportOptions { metrics, spread: Bands::Range, ..ReportOptions::default() };
        let several = curves(&self.study, &options).into_iter().reduce(|mut all, one| {
            all.charts.extend(one.charts);
            all
        });
        let plot = several.or_else(|| densities(&self.study))?;
        let several = if plot.charts.len() > 1 { "Learning curves." } else { &plot.caption };
        let described = format!("{several} {}", self.findings().join(" "));
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
