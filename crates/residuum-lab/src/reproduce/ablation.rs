//! `figure:gamma-ablation`: accuracy against the mixing coefficient γ.
//!
//! The paper's own (ResNets on CIFAR from ImageNet weights) is run where weights and time are there. The same sweep on a perceptron
//! for CIFAR-10 says whether its sentence holds there too; it is not put beside a number of the paper.

use residuum::stats::Summary;
use serde::Serialize;

use super::cifar::{SMALL, SMALL_WORDS, resnet_hours};
use super::curves::{claim, curve_table, trial_settings};
use super::networks::{NetworkPoint, NetworkPoints, Wanted, obtain};
use super::verdict::{PaperVerdict, written};
use super::{Finding, ReproduceError, ReproduceOptions, Reproduction, table};
use crate::figure::{Axis, Figure, Line, Panel, Points as Dots};
use crate::progress::Progress;
use crate::style::{RuleStyle, rule_styles};

const NAME: &str = "fig-ablation";
const MIXINGS: [f64; 5] = [0.0, 0.1, 0.2, 0.3, 0.4];
const CLAIM: &str = "A great gain from γ = 0 to 0.1, saturating after that; no numbers are printed.";
const PAPERS: &str = "ablation";

/// Range over γ ≥ 0.1, in points, that still counts as saturated beside the gain.
const SHARE: f64 = 0.5;

#[derive(Serialize)]
struct Row<'a> {
    experiment: &'a str,
    mixing: f64,
    accuracy: f64,
    deviation_between_seeds: Option<f64>,
    what: &'a str,
}

pub(super) fn run(options: &ReproduceOptions, progress: &dyn Progress) -> Result<Reproduction, ReproduceError> {
    let named = |prefix: &str| MIXINGS.map(|mixing| format!("{prefix}mixing-{mixing}"));
    let wanted = [
        Wanted { hours: Some(resnet_hours("resnet18")), ..Wanted::new(PAPERS, named("")) },
        Wanted::new(SMALL, named("exponential-")),
    ];
    let [papers, small] = obtain(&wanted, options, NAME, progress)?;
    let experiments = [(PAPERS, &papers), (SMALL, &small)];
    let rows: Vec<Row<'_>> =
        experiments.iter().flat_map(|(experiment, points)| rows(experiment, points)).collect();
    Ok(Reproduction {
        name: NAME,
        figure: draw(&rows, &experiments),
        training_seconds: papers.seconds() + small.seconds(),
        tables: vec![table(NAME, &rows)?, curve_table(&format!("{NAME}-curves"), &experiments)?],
        settings: trial_settings(NAME, options, &experiments)?,
        summary: String::new(),
        findings: vec![
            finding("ResNet-18 on CIFAR-10 gains from γ > 0, and the gain saturates.", &papers),
            finding(&format!("The gain from γ = 0 to 0.1 is most of it ({SMALL_WORDS})."), &small),
        ],
    })
}

fn rows<'a>(experiment: &'a str, points: &'a NetworkPoints) -> Vec<Row<'a>> {
    let row = |(point, &mixing): (&'a NetworkPoint, &f64)| {
        let ends = point.measured().ok()?.ends;
        let summary = Summary::of(ends.iter().copied());
        Some(Row {
            experiment,
            mixing,
            accuracy: written(summary.mean),
            deviation_between_seeds: (ends.len() > 1).then_some(written(summary.std)),
            what: &point.words,
        })
    };
    points.iter().zip(&MIXINGS).filter_map(row).collect()
}

fn draw(rows: &[Row<'_>], experiments: &[(&str, &NetworkPoints)]) -> Option<Figure> {
    let mut panel = Panel::new("Accuracy against the mixing coefficient")
        .x_axis(Axis::linear("mixing coefficient γ").range(-0.02, 0.42))
        .y_axis(Axis::linear("test accuracy at the end (%), ± deviation between seeds"));
    let run: Vec<(&str, &str)> = (experiments.iter())
        .filter(|(experiment, _)| rows.iter().any(|row| row.experiment == *experiment))
        .filter_map(|(experiment, points)| Some((*experiment, points.iter().next()?.rule.as_str())))
        .collect();
    let rules: Vec<&str> = run.iter().map(|(_, rule)| *rule).collect();
    for ((experiment, _), RuleStyle { color, dash }) in run.iter().zip(rule_styles(&rules)) {
        let own = || rows.iter().filter(|row| row.experiment == *experiment);
        let xs: Vec<f64> = own().map(|row| row.mixing).collect();
        let ys: Vec<f64> = own().map(|row| row.accuracy).collect();
        let bars: Vec<f64> = own().map(|row| row.deviation_between_seeds.unwrap_or(0.0)).collect();
        panel = panel
            .line(Line::new(xs.clone(), ys.clone()).color(color).dash(dash).label(*experiment))
            .points(Dots::new(xs, ys).errors(bars).color(color));
    }
    let figure = Figure::new(1).panel_size(520.0, 400.0).description(format!(
        "Test accuracy at the end of training against the mixing coefficient; {SMALL} is {SMALL_WORDS}."
    ));
    (!rows.is_empty()).then(|| figure.panel(panel))
}

/// The gain up to γ = 0.1 is there, and what follows changes less than half as much.
pub fn saturates(means: &[f64]) -> PaperVerdict {
    let gain = means[1] - means[0];
    let rest = means[1..]
        .iter()
        .map(|mean| mean - means[1])
        .fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
    if gain > 0.0 && rest.abs() < SHARE * gain {
        PaperVerdict::SameOrdering(String::new())
    } else {
        PaperVerdict::Differs
    }
}

fn finding(statement: &str, points: &NetworkPoints) -> Finding {
    let all: Vec<Option<&NetworkPoint>> = points.iter().map(Some).collect();
    let note =
        "Judged so: accuracy rises from γ = 0 to 0.1, and by more than twice of what any later γ changes.";
    claim(statement, CLAIM, &all, saturates, note)
}
