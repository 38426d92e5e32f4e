//! What items with networks share: accuracy curves as a panel and as rows, settings, findings about numbers.

use residuum::stats::Summary;
use serde::Serialize;

use super::networks::{NetworkPoint, NetworkPoints};
use super::paper::Printed;
use super::verdict::{ONE_RUN_TOLERANCE, PaperVerdict};
use super::{Finding, ReproduceError, ReproduceOptions, settings, table};
use crate::figure::{Axis, Band, Color, Line, Marker, Panel, Points};
use crate::style::{RuleStyle, error_axis, rule_styles};

/// Test error against epochs; bands are the range over seeds. Nothing where nothing was run.
pub(super) fn panel<'a>(title: &str, points: impl Iterator<Item = &'a NetworkPoint>) -> Option<Panel> {
    let points: Vec<&NetworkPoint> =
        points.filter(|p| p.curves(ACCURACY).iter().any(|c| !c.is_empty())).collect();
    let rules: Vec<&str> = points.iter().map(|point| point.rule.as_str()).collect();
    let errors = |point: &NetworkPoint| -> Vec<Vec<f64>> {
        let of = |curve: Vec<f64>| curve.into_iter().map(|accuracy| 100.0 * (1.0 - accuracy)).collect();
        point.curves(ACCURACY).into_iter().map(of).collect()
    };
    let all = points.iter().flat_map(|point| errors(point)).flatten();
    let mut panel =
        Panel::new(title).x_axis(Axis::linear("epoch").whole()).y_axis(error_axis("test error (%)", all));
    for (point, RuleStyle { color, dash }) in points.iter().zip(rule_styles(&rules)) {
        let curves = errors(point);
        let length = curves.iter().map(Vec::len).min().unwrap_or(0);
        let epochs: Vec<f64> = (1..=length).map(|e| e as f64).collect();
        let at = |e: usize| curves.iter().map(move |curve| curve[e]);
        let means: Vec<f64> = (0..length).map(|e| Summary::of(at(e)).mean).collect();
        if curves.len() > 1 {
            let low: Vec<f64> = (0..length).map(|e| at(e).fold(f64::INFINITY, f64::min)).collect();
            let high: Vec<f64> = (0..length).map(|e| at(e).fold(f64::NEG_INFINITY, f64::max)).collect();
            panel = panel.band(Band::new(epochs.clone(), low, high).color(color).opacity(0.2));
        }
        panel = panel.line(Line::new(epochs, means).color(color).dash(dash).label(&point.title));
    }
    (!points.is_empty()).then_some(panel)
}

/// The metric behind the curves.
const ACCURACY: &str = "test_accuracy";

/// One rule at some places along an axis: ours, filled, with the deviation between seeds, and the paper's, hollow.
pub(super) struct Ends<'a> {
    /// Decides the look.
    pub rule: &'a str,
    pub title: &'a str,
    /// Place, our network if it was asked for, the paper's number if it prints one.
    pub at: Vec<(f64, Option<&'a NetworkPoint>, Option<Printed>)>,
}

/// Test errors at the end, ours beside the paper's.
pub(super) fn ends_panel(title: &str, axis: Axis, ends: &[Ends<'_>]) -> Panel {
    let rules: Vec<&str> = ends.iter().map(|end| end.rule).collect();
    let ours = ends.iter().flat_map(|end| &end.at).filter_map(|(_, point, _)| (*point)?.measured().ok());
    let papers = ends.iter().flat_map(|end| &end.at).filter_map(|(_, _, paper)| Some(paper.as_ref()?.level()));
    let errors = ours.flat_map(|measured| measured.ends).chain(papers).map(|accuracy| 100.0 - accuracy);
    let mut panel = Panel::new(title).x_axis(axis).y_axis(error_axis("test error at the end (%)", errors));
    for (end, RuleStyle { color, dash }) in ends.iter().zip(rule_styles(&rules)) {
        let ours: Vec<(f64, Summary)> = (end.at.iter())
            .filter_map(|(x, point, _)| Some((*x, Summary::of((*point)?.measured().ok()?.ends))))
            .collect();
        let (xs, means): (Vec<f64>, Vec<f64>) = ours.iter().map(|(x, s)| (*x, 100.0 - s.mean)).unzip();
        let bars: Vec<f64> = ours.iter().map(|(_, s)| if s.n > 1 { s.std } else { 0.0 }).collect();
        let is_run = !xs.is_empty();
        if is_run {
            panel = panel
                .line(Line::new(xs.clone(), means.clone()).color(color).dash(dash).label(end.title))
                .points(Points::new(xs, means).errors(bars).color(color));
        }
        let (xs, paper): (Vec<f64>, Vec<f64>) =
            end.at.iter().filter_map(|(x, _, paper)| Some((*x, 100.0 - (*paper)?.level()))).unzip();
        let papers = Points::new(xs, paper).color(color).marker(Marker::Diamond).hollow();
        panel = panel.points(if is_run { papers } else { papers.label(end.title) });
    }
    panel.points(
        Points::new([], []).color(Color::GREY).marker(Marker::Diamond).hollow().label("the paper's number"),
    )
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
