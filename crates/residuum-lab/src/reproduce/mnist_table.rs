//! `table:MNIST-pow-and-exp`: the fully connected network on MNIST, response × shape × radius, under every rule.

use std::fmt::Write as _;

use serde::Serialize;

use super::curves::{claim, curve_table, number, trial_settings};
use super::networks::{NetworkPoint, NetworkPoints, Wanted, obtain};
use super::paper::{MNIST, MNIST_DIGITAL, MnistCell};
use super::verdict::{PaperVerdict, same_order, written};
use super::{Finding, ReproduceError, ReproduceOptions, Reproduction, table};
use crate::progress::Progress;

const NAME: &str = "table-mnist";
const RULES: [&str; 3] = ["analog", "tiki-taka", "tiki-taka-mixed"];
const NOTE: &str =
    "Residual Learning as the paper's scripts run it: Tiki-Taka, one column per mini-batch, mixing 0.4.";

impl MnistCell {
    /// Its name in `mnist-table`.
    fn name(&self) -> String {
        format!("{}-{}-{}", self.response, self.shape, self.radius)
    }

    fn words(&self) -> String {
        format!("{} response, γ_res = {}, τ = {}", self.response, self.shape, self.radius)
    }
}

/// A cell with its trials, where they were asked for.
struct Cell<'a> {
    paper: &'a MnistCell,
    analog: Option<&'a NetworkPoint>,
    mixing_0: Option<&'a NetworkPoint>,
    residual: Option<&'a NetworkPoint>,
}

impl<'a> Cell<'a> {
    fn new(paper: &'a MnistCell, points: &'a NetworkPoints) -> Self {
        let [analog, mixing_0, residual] = RULES.map(|rule| points.get(&format!("{}-{rule}", paper.name())));
        Self { paper, analog, mixing_0, residual }
    }

    /// Whether Analog SGD and Residual Learning stand as in the paper.
    fn same_order(&self) -> Option<bool> {
        let mean = |point: Option<&NetworkPoint>| Some(point?.measured().ok()?.mean());
        let ours = (mean(self.analog)?, mean(self.residual)?);
        Some(same_order(ours, (self.paper.analog.level(), self.paper.residual.level())))
    }
}

#[derive(Serialize)]
struct Row {
    response: &'static str,
    shape: f64,
    radius: f64,
    rule: String,
    paper: String,
    ours: Option<f64>,
    deviation_between_seeds: Option<f64>,
    seeds: usize,
    what: String,
    verdict: String,
}

pub(super) fn run(options: &ReproduceOptions, progress: &dyn Progress) -> Result<Reproduction, ReproduceError> {
    let trials = MNIST.iter().flat_map(|cell| RULES.map(|rule| format!("{}-{rule}", cell.name())));
    let wanted = [Wanted::new("mnist-table", trials), Wanted::new("mnist-fcn", ["digital"])];
    let [points, baseline] = obtain(&wanted, options, NAME, progress)?;
    let cells: Vec<Cell<'_>> = MNIST.iter().map(|paper| Cell::new(paper, &points)).collect();
    let digital = baseline.get("digital");
    let findings = findings(&cells, digital);
    let experiments = [("mnist-table", &points), ("mnist-fcn", &baseline)];
    Ok(Reproduction {
        name: NAME,
        figure: None,
        training_seconds: points.seconds() + baseline.seconds(),
        tables: vec![table(NAME, &rows(&cells))?, curve_table(&format!("{NAME}-curves"), &experiments)?],
        settings: trial_settings(NAME, options, &experiments)?,
        summary: summary(&cells),
        findings,
    })
}

fn rows(cells: &[Cell<'_>]) -> Vec<Row> {
    let row = |cell: &Cell<'_>, point: &NetworkPoint, paper: String, verdict: PaperVerdict| {
        let ends = point.measured().map(|measured| measured.ends).unwrap_or_default();
        let summary = residuum::stats::Summary::of(ends.iter().copied());
        Row {
            response: cell.paper.response,
            shape: cell.paper.shape,
            radius: cell.paper.radius,
            rule: point.title.clone(),
            paper,
            ours: (!ends.is_empty()).then_some(written(summary.mean)),
            deviation_between_seeds: (ends.len() > 1).then_some(written(summary.std)),
            seeds: ends.len(),
            what: point.words.clone(),
            verdict: verdict.words().into_owned(),
        }
    };
    let mut rows = Vec::new();
    for cell in cells {
        let printed = [
            (cell.analog, Some(cell.paper.analog)),
            (cell.mixing_0, None),
            (cell.residual, Some(cell.paper.residual)),
        ];
        for (point, paper) in printed {
            let Some(point) = point else { continue };
            let verdict = match (point.measured(), paper) {
                (Err(reason), _) => PaperVerdict::NotRun(reason),
                (Ok(_), None) => PaperVerdict::NotStated,
                (Ok(measured), Some(paper)) => measured.against(paper, cell.same_order()),
            };
            rows.push(row(cell, point, paper.map_or_else(String::new, |p| p.words()), verdict));
        }
    }
    rows
}

/// The table as the paper has it, ours beside it.
fn summary(cells: &[Cell<'_>]) -> String {
    let ours = |point: Option<&NetworkPoint>| {
        point.and_then(|p| p.measured().ok()).map_or_else(|| "–".to_string(), |m| m.words())
    };
    let mut text = format!(
        "\n  test accuracy in %, ours beside the paper's\n\n  {:<12} {:>5} {:>4}  {:>14} {:>14}  {:>14} {:>14}  {:>14}\n",
        "response", "γ_res", "τ", "Analog SGD", "paper", "mixing 0.4", "paper (RL)", "mixing 0"
    );
    for cell in cells {
        let MnistCell { response, shape, radius, analog, residual } = cell.paper;
        let _ = writeln!(
            text,
            "  {response:<12} {shape:>5} {radius:>4}  {:>14} {:>14}  {:>14} {:>14}  {:>14}",
            ours(cell.analog),
            analog.words(),
            ours(cell.residual),
            residual.words(),
            ours(cell.mixing_0),
        );
    }
    text
}

fn findings(cells: &[Cell<'_>], digital: Option<&NetworkPoint>) -> Vec<Finding> {
    let mut findings = vec![number("Digital SGD.".into(), MNIST_DIGITAL, digital, None, "")];
    for cell in cells {
        let order = cell.same_order();
        let words = cell.paper.words();
        findings.push(number(format!("Analog SGD, {words}."), cell.paper.analog, cell.analog, order, ""));
        findings.push(number(
            format!("Residual Learning, {words}."),
            cell.paper.residual,
            cell.residual,
            order,
            NOTE,
        ));
    }
    let pairs: Vec<Option<&NetworkPoint>> =
        cells.iter().flat_map(|cell| [cell.analog, cell.residual]).collect();
    let mut order = claim(
        "Which of Analog SGD and Residual Learning is better, in all 18 cells.",
        "Residual Learning in 16 cells; Analog SGD at power, γ_res = 0.5, τ = 0.7 and 0.8.",
        &pairs,
        |means| {
            let same = means.chunks_exact(2).zip(cells).filter(|(pair, cell)| {
                same_order((pair[0], pair[1]), (cell.paper.analog.level(), cell.paper.residual.level()))
            });
            match same.count() {
                all if all == cells.len() => PaperVerdict::Agrees,
                some => PaperVerdict::DiffersBy(format!("{} of {} cells", cells.len() - some, cells.len())),
            }
        },
        "",
    );
    if !matches!(order.verdict, PaperVerdict::NotRun(_)) {
        let ahead = cells.iter().filter(|cell| {
            let mean = |point: Option<&NetworkPoint>| point.and_then(|p| p.measured().ok()).map(|m| m.mean());
            mean(cell.residual) > mean(cell.analog)
        });
        order.ours = format!("Residual Learning in {} cells (see the lines above).", ahead.count());
    }
    findings.push(order);
    findings
}
