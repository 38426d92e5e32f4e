//! The tables of the papers after the paper: devices with ten states (arXiv 2510.02516) and wrong references (arXiv 2602.21321).
//!
//! Their networks are LeNet and an FCN on MNIST. Ours is smaller, and every rule had the same number of settings in its search; the
//! heads of the specs tell how. Beside the accuracies stand time and energy of the hardware of `[hardware]`.

use residuum::stats::Summary;
use serde::Serialize;

use super::curves::{curve_table, number, trial_settings};
use super::networks::{NetworkPoint, NetworkPoints, Wanted, obtain};
use super::paper::{COARSE, REFERENCES, Reported};
use super::verdict::{PaperVerdict, off_by, points, written};
use super::{Finding, ReproduceError, ReproduceOptions, Reproduction, table};
use crate::figure::{Axis, Figure, Line, Panel};
use crate::progress::Progress;
use crate::style::{RuleStyle, error_axis, rule_styles};

/// One of the tables, and the sentence it is printed for.
struct Comparison {
    name: &'static str,
    experiment: &'static str,
    rules: &'static [Reported],
    /// Variants of the spec that the papers do not have.
    ours: &'static [&'static str],
    /// The rule that is proposed, and the one it is said to surpass.
    ahead: [&'static str; 2],
    statement: &'static str,
    note: &'static str,
}

const COARSE_STATES: Comparison = Comparison {
    name: "table-coarse-states",
    experiment: "coarse-states",
    rules: &COARSE,
    ours: &["tiki-taka-2-one-column", "multi-tile-printed", "one-residual", "digital"],
    ahead: ["multi-tile", "tiki-taka-2"],
    statement: "With ten states multi-tile Residual Learning is ahead of Tiki-Taka 2.",
    note: "The paper trains LeNet; ours is an MLP with 32 hidden units and images of 14 × 14 pixels.",
};

const WRONG_REFERENCES: Comparison = Comparison {
    name: "table-wrong-references",
    experiment: "wrong-references",
    rules: &REFERENCES,
    ours: &["residual", "e-rider-unmixed", "e-rider-printed", "digital"],
    ahead: ["e-rider", "agad"],
    statement: "With references off by 0.4 ± 0.4 of the range and five states E-RIDER is ahead of AGAD.",
    note: "The paper's FCN; ours is an MLP with 32 hidden units and images of 14 × 14 pixels.",
};

pub(super) fn coarse_states(
    options: &ReproduceOptions,
    progress: &dyn Progress,
) -> Result<Reproduction, ReproduceError> {
    COARSE_STATES.run(options, progress)
}

pub(super) fn wrong_references(
    options: &ReproduceOptions,
    progress: &dyn Progress,
) -> Result<Reproduction, ReproduceError> {
    WRONG_REFERENCES.run(options, progress)
}

#[derive(Serialize)]
struct Row<'a> {
    rule: &'a str,
    paper: Option<f64>,
    accuracy: Option<f64>,
    deviation_between_seeds: Option<f64>,
    pulses: Option<f64>,
    time_s: Option<f64>,
    energy_j: Option<f64>,
    what: &'a str,
}

impl Comparison {
    fn run(&self, options: &ReproduceOptions, progress: &dyn Progress) -> Result<Reproduction, ReproduceError> {
        let trials = self.rules.iter().map(|rule| rule.variant).chain(self.ours.iter().copied());
        let [points] = obtain(&[Wanted::new(self.experiment, trials)], options, self.name, progress)?;
        let experiments = [(self.experiment, &points)];
        Ok(Reproduction {
            name: self.name,
            figure: draw(&points),
            training_seconds: points.seconds(),
            tables: vec![
                table(self.name, &self.rows(&points))?,
                curve_table(&format!("{}-curves", self.name), &experiments)?,
            ],
            settings: trial_settings(self.name, options, &experiments)?,
            summary: String::new(),
            findings: self.findings(&points),
        })
    }

    fn paper(&self, variant: &str) -> Option<&Reported> {
        self.rules.iter().find(|rule| rule.variant == variant)
    }

    fn rows<'a>(&self, points: &'a NetworkPoints) -> Vec<Row<'a>> {
        let row = |point: &'a NetworkPoint| {
            let ends = point.measured().map(|measured| measured.ends).unwrap_or_default();
            let summary = Summary::of(ends.iter().copied());
            Row {
                rule: &point.title,
                paper: self.paper(&point.name).map(|rule| rule.accuracy.level()),
                accuracy: (!ends.is_empty()).then_some(written(summary.mean)),
                deviation_between_seeds: (ends.len() > 1).then_some(written(summary.std)),
                pulses: spent(point, "pulses"),
                time_s: spent(point, "training_time"),
                energy_j: spent(point, "training_energy"),
                what: &point.words,
            }
        };
        points.iter().map(row).collect()
    }

    fn findings(&self, points: &NetworkPoints) -> Vec<Finding> {
        let mean = |variant: &str| Some(points.get(variant)?.measured().ok()?.mean());
        let order = self.same_order(mean);
        let mut findings: Vec<Finding> = self
            .rules
            .iter()
            .map(|rule| {
                let statement = format!("{}.", rule.title);
                number(statement, rule.accuracy, points.get(rule.variant), order, self.note)
            })
            .collect();
        findings.push(self.lead(points));
        findings.extend(points.iter().filter_map(cost));
        findings
    }

    /// Whether all rules of the paper stand in its order.
    fn same_order(&self, mean: impl Fn(&str) -> Option<f64>) -> Option<bool> {
        let mut ranked: Vec<&Reported> = self.rules.iter().collect();
        ranked.sort_by(|a, b| a.accuracy.level().total_cmp(&b.accuracy.level()));
        let ours: Option<Vec<f64>> = ranked.iter().map(|rule| mean(rule.variant)).collect();
        Some(ours?.is_sorted())
    }

    /// By how much the proposed rule is ahead, paired by seed.
    fn lead(&self, points: &NetworkPoints) -> Finding {
        let level = |variant: &str| self.paper(variant).map_or(f64::NAN, |rule| rule.accuracy.level());
        let paper = level(self.ahead[0]) - level(self.ahead[1]);
        let ends = self.ahead.map(|variant| match points.get(variant) {
            Some(point) => point.measured(),
            None => Err("not part of this profile".into()),
        });
        let (ours, verdict) = match ends {
            [Ok(proposed), Ok(other)] => {
                let lead = lead(&proposed.ends, &other.ends);
                let error = if lead.n > 1 { format!(" ± {:.2}", lead.se) } else { String::new() };
                (format!("{:+.2}{error} points, paired by seed.", lead.mean), lead_verdict(lead, paper))
            }
            [Err(reason), _] | [_, Err(reason)] => ("–".into(), PaperVerdict::NotRun(reason)),
        };
        Finding {
            statement: self.statement.into(),
            paper: format!("{paper:+.1} points."),
            ours: ours.replace('-', "−"),
            verdict,
            note: "Agrees: a lead of at least two standard errors, and not below the paper's by more than that and a point.".into(),
        }
    }
}

/// Differences seed by seed.
pub fn lead(proposed: &[f64], other: &[f64]) -> Summary {
    Summary::of(proposed.iter().zip(other).map(|(a, b)| a - b))
}

/// The verdict on a lead: there must be one beyond chance, and one as large as the paper's, give or take a point.
pub fn lead_verdict(ours: Summary, paper: f64) -> PaperVerdict {
    let chance = if ours.n > 1 { 2.0 * ours.se } else { 0.0 };
    if ours.mean <= chance {
        return PaperVerdict::DiffersBy(points(ours.mean - paper));
    }
    if ours.mean >= paper - chance - super::ONE_RUN_TOLERANCE {
        return PaperVerdict::Agrees;
    }
    off_by(points(ours.mean - paper), true)
}

/// What was spent in the end, a mean over seeds; layers are added.
fn spent(point: &NetworkPoint, metric: &str) -> Option<f64> {
    let runs = point.runs.as_ref().ok()?;
    let last = |rows: &[crate::store::Row]| {
        let step = rows.iter().filter(|row| row.metric == metric).map(|row| row.step).max()?;
        let own = rows.iter().filter(|row| row.metric == metric && row.step == step);
        Some(own.map(|row| row.value).sum::<f64>())
    };
    let ends: Option<Vec<f64>> = runs.iter().map(|(_, rows)| last(rows)).collect();
    ends.filter(|ends| !ends.is_empty()).map(|ends| Summary::of(ends).mean)
}

fn cost(point: &NetworkPoint) -> Option<Finding> {
    let [pulses, time, energy] = ["pulses", "training_time", "training_energy"].map(|m| spent(point, m));
    Some(Finding {
        statement: format!("What training costs: {}.", point.title),
        paper: "Not stated for this table.".into(),
        ours: format!("{:.1e} pulses, {:.2} s, {:.1e} J.", pulses.unwrap_or(0.0), time?, energy?)
            .replace("e-", "e−"),
        verdict: PaperVerdict::NotStated,
        note: "Time and energy of the hardware in the spec's [hardware]; evaluation is not counted.".into(),
    })
}

/// Errors against epochs, energy and time, on a logarithmic axis as those of the paper's own networks.
fn draw(points: &NetworkPoints) -> Option<Figure> {
    let axes: [(&str, Option<&str>, Axis); 3] = [
        ("Against epochs", None, Axis::linear("epoch").whole()),
        ("Against energy", Some("training_energy"), Axis::log("energy of the hardware (J)")),
        ("Against time", Some("training_time"), Axis::log("time of the hardware (s)")),
    ];
    let mut figure = Figure::new(3).panel_size(430.0, 400.0).description(
        "Test error after each epoch under every rule, against the epoch, and against the energy and the time that training \
         would have taken on the hardware of the spec by then.",
    );
    let errors = || {
        let curves = points.iter().map(|point| means(&point.curves("test_accuracy")));
        curves.flatten().map(|accuracy| 100.0 * (1.0 - accuracy))
    };
    let mut any = false;
    for (title, cost, axis) in axes {
        let mut panel = Panel::new(title).x_axis(axis).y_axis(error_axis("test error (%)", errors()));
        let rules: Vec<&str> = points.iter().map(|point| point.rule.as_str()).collect();
        for (point, RuleStyle { color, dash }) in points.iter().zip(rule_styles(&rules)) {
            let accuracy = means(&point.curves("test_accuracy"));
            let spent = match cost {
                Some(metric) => means(&point.curves(metric)),
                None => (1..=accuracy.len()).map(|epoch| epoch as f64).collect(),
            };
            // A digital network has no ledger, or a place on the axis of epochs alone.
            let (xs, ys): (Vec<f64>, Vec<f64>) = spent
                .into_iter()
                .zip(accuracy)
                .filter(|(x, _)| *x > 0.0)
                .map(|(x, y)| (x, 100.0 * (1.0 - y)))
                .unzip();
            if !xs.is_empty() {
                any = true;
                panel = panel.line(Line::new(xs, ys).color(color).dash(dash).label(&point.title));
            }
        }
        figure = figure.panel(panel);
    }
    any.then_some(figure)
}

/// Mean curve over seeds.
fn means(curves: &[Vec<f64>]) -> Vec<f64> {
    let length = curves.iter().map(Vec::len).min().unwrap_or(0);
    (0..length).map(|epoch| Summary::of(curves.iter().map(|curve| curve[epoch])).mean).collect()
}
