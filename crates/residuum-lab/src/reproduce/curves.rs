//! What items with networks share: accuracy curves as a panel and as rows, settings, findings about numbers.

use residuum::stats::Summary;
use serde::Serialize;

use super::networks::{NetworkPoint, NetworkPoints};
use super::paper::Printed;
use super::verdict::{ONE_RUN_TOLERANCE, PaperVerdict};
use super::{Finding, ReproduceError, ReproduceOptions, settings, table};
use crate::figure::{Axis, Band, Color, Dash, Legend, Line, Panel};

/// How one of the paper's rules is called in specs, and what it looks like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) color: Color,
    pub(super) dash: Dash,
}

/// The same rule looks the same in every figure.
pub(super) fn style(variant: &str) -> Style {
    let (color, dash) = match variant {
        name if name.ends_with("tiki-taka-mixed") || name.ends_with("mixing-0.4") => {
            (Color::RESIDUAL_LEARNING, Dash::Solid)
        }
        name if name.ends_with("tiki-taka") => (Color::PURPLE, Dash::Dashed),
        name if name.ends_with("residual") => (Color::GREEN, Dash::Dashed),
        name if name.ends_with("analog") => (Color::ANALOG_SGD, Dash::Solid),
        _ => (Color::DIGITAL_SGD, Dash::Solid),
    };
    Style { color, dash }
}

/// Test accuracy against epochs; bands are the range over seeds. Nothing where nothing was run.
pub(super) fn panel<'a>(title: &str, points: impl Iterator<Item = &'a NetworkPoint>) -> Option<Panel> {
    let mut panel = Panel::new(title)
        .x_axis(Axis::linear("epoch"))
        .y_axis(Axis::linear("test accuracy (%)").range(0.0, 102.0))
        .legend(Legend::Below);
    let mut any = false;
    for point in points {
        let curves = point.curves("test_accuracy");
        let length = curves.iter().map(Vec::len).min().unwrap_or(0);
        if length == 0 {
            continue;
        }
        any = true;
        let Style { color, dash } = style(&point.name);
        let epochs: Vec<f64> = (1..=length).map(|e| e as f64).collect();
        let at = |e: usize| curves.iter().map(move |curve| 100.0 * curve[e]);
        let means: Vec<f64> = (0..length).map(|e| Summary::of(at(e)).mean).collect();
        if curves.len() > 1 {
            let low: Vec<f64> = (0..length).map(|e| at(e).fold(f64::INFINITY, f64::min)).collect();
            let high: Vec<f64> = (0..length).map(|e| at(e).fold(f64::NEG_INFINITY, f64::max)).collect();
            panel = panel.band(Band::new(epochs.clone(), low, high).color(color).opacity(0.2));
        }
        panel = panel.line(Line::new(epochs, means).color(color).dash(dash).label(&point.title));
    }
    any.then_some(panel)
}

#[derive(Serialize)]
struct CurveRow<'a> {
    experiment: &'a str,
    trial: &'a str,
    seed: u64,
    epoch: u64,
    metric: &'a str,
    value: f64,
}

/// Losses and accuracies after every epoch of all runs.
pub(super) fn curve_table(
    stem: &str,
    experiments: &[(&str, &NetworkPoints)],
) -> Result<(String, Vec<u8>), ReproduceError> {
    const METRICS: [&str; 4] = ["train_loss", "train_accuracy", "test_loss", "test_accuracy"];
    let mut rows = Vec::new();
    for (experiment, points) in experiments {
        for point in points.iter() {
            for (seed, records) in point.runs.iter().flatten() {
                rows.extend(records.iter().filter(|row| METRICS.contains(&row.metric.as_str())).map(|row| {
                    CurveRow {
                        experiment,
                        trial: &point.name,
                        seed: *seed,
                        epoch: row.epoch.unwrap_or(0),
                        metric: &row.metric,
                        value: row.value,
                    }
                }));
            }
        }
    }
    table(stem, &rows)
}

/// What was asked of the experiments, and what each trial was.
pub(super) fn trial_settings(
    name: &str,
    options: &ReproduceOptions,
    experiments: &[(&str, &NetworkPoints)],
) -> Result<String, ReproduceError> {
    #[derive(Serialize)]
    struct Setting<'a> {
        tolerance_of_a_single_run_points: f64,
        experiments: Vec<&'a str>,
        trial: Vec<Trial<'a>>,
    }
    #[derive(Serialize)]
    struct Trial<'a> {
        experiment: &'a str,
        name: &'a str,
        rule: &'a str,
        what: &'a str,
        not_run: Option<&'a str>,
    }
    let trial = experiments
        .iter()
        .flat_map(|(experiment, points)| points.iter().map(move |point| (*experiment, point)))
        .map(|(experiment, point)| Trial {
            experiment,
            name: &point.name,
            rule: &point.title,
            what: &point.words,
            not_run: point.runs.as_ref().err().map(String::as_str),
        })
        .collect();
    let experiments = experiments.iter().map(|(experiment, _)| *experiment).collect();
    let tolerance_of_a_single_run_points = ONE_RUN_TOLERANCE;
    settings(name, options, &Setting { tolerance_of_a_single_run_points, experiments, trial })
}

/// One number of the paper beside ours.
pub(super) fn number(
    statement: String,
    paper: Printed,
    point: Option<&NetworkPoint>,
    same_order: Option<bool>,
    note: &str,
) -> Finding {
    let (ours, verdict) = match point.map(|point| (point, point.measured())) {
        Some((point, Ok(measured))) => (point.accuracy(), measured.against(paper, same_order)),
        Some((_, Err(reason))) => ("–".into(), PaperVerdict::NotRun(reason)),
        None => ("–".into(), PaperVerdict::NotRun("not part of this profile".into())),
    };
    Finding { statement, paper: format!("{} %", paper.words()), ours, verdict, note: note.into() }
}

/// A claim about several trials: `judge` sees their mean accuracies, and nothing is judged unless all were run.
pub(super) fn claim(
    statement: &str,
    paper: &str,
    points: &[Option<&NetworkPoint>],
    judge: impl FnOnce(&[f64]) -> PaperVerdict,
    note: &str,
) -> Finding {
    let measured: Result<Vec<f64>, String> = points
        .iter()
        .map(|point| match point {
            Some(point) => Ok(point.measured()?.mean()),
            None => Err("not part of this profile".into()),
        })
        .collect();
    let (ours, verdict) = match measured {
        Ok(means) => (accuracies(points), judge(&means)),
        Err(reason) => ("–".into(), PaperVerdict::NotRun(reason)),
    };
    Finding { statement: statement.into(), paper: paper.into(), ours, verdict, note: note.into() }
}

/// The accuracies of several trials; what they are of is said once if it is the same for all.
fn accuracies(points: &[Option<&NetworkPoint>]) -> String {
    let points: Vec<&NetworkPoint> = points.iter().flatten().copied().collect();
    let bare = |point: &&NetworkPoint| {
        let measured =
            point.measured().map_or_else(|_| "–".into(), |measured| format!("{} %", measured.words()));
        format!("{}: {measured}", point.title)
    };
    match points.split_first() {
        Some((first, rest)) if rest.iter().all(|point| point.words == first.words) => {
            let list: Vec<String> = points.iter().map(bare).collect();
            format!("{} ({}).", list.join("; "), first.words)
        }
        _ => {
            let list: Vec<String> =
                points.iter().map(|point| format!("{} ({})", bare(point), point.words)).collect();
            format!("{}.", list.join("; "))
        }
    }
}
