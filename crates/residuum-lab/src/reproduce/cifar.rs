//! `table:CIFAR-fine-tune-pow` and `table:CIFAR-fine-tune-exp`: ResNets fine-tuned on CIFAR-10 and CIFAR-100, heads on tiles.
//!
//! They need ImageNet weights and days of two cores. What can be looked at in minutes is the order of the rules on a network that
//! is not the paper's; it is shown as that, without the paper's numbers beside it.

use serde::Serialize;

use super::curves::{claim, curve_table, number, panel, trial_settings};
use super::networks::{NetworkPoints, Wanted, obtain};
use super::paper::{CIFAR_EXPONENTIAL, CIFAR_POWER, CifarCell, Printed};
use super::verdict::{PaperVerdict, same_order};
use super::{Finding, ReproduceError, ReproduceOptions, Reproduction, table};
use crate::figure::Figure;
use crate::progress::Progress;

/// The experiment that stands in where the paper's cannot be run.
pub(super) const SMALL: &str = "cifar10-small";
/// What it is, on every line that shows its numbers.
pub(super) const SMALL_WORDS: &str =
    "not the paper's network: CIFAR-10 at 32 pixels, perceptron 256-128 from scratch, head on tiles";
const RULES: [&str; 3] = ["digital", "analog", "tiki-taka"];
const SMALL_RULES: [&str; 3] = ["digital", "analog", "mixing-0.4"];

/// Operations a second that two cores sustain on large convolutions, for estimates.
const FLOPS: f64 = 2e11;

pub(super) fn power(
    options: &ReproduceOptions,
    progress: &dyn Progress,
) -> Result<Reproduction, ReproduceError> {
    run("table-cifar-power", "power", &CIFAR_POWER, options, progress)
}

pub(super) fn exponential(
    options: &ReproduceOptions,
    progress: &dyn Progress,
) -> Result<Reproduction, ReproduceError> {
    run("table-cifar-exp", "exponential", &CIFAR_EXPONENTIAL, options, progress)
}

/// Hours for three seeds of 100 epochs of 50 000 images at 224 pixels: three passes of two operations for each product.
pub fn resnet_hours(network: &str) -> f64 {
    let products = match network {
        "resnet18" => 1.82e9,
        "resnet34" => 3.67e9,
        _ => 4.11e9,
    };
    3.0 * 100.0 * 50_000.0 * 6.0 * products / FLOPS / 3600.0
}

#[derive(Serialize)]
struct Row<'a> {
    set: &'a str,
    network: &'a str,
    rule: &'a str,
    paper: String,
    ours: String,
    verdict: String,
}

fn run(
    name: &'static str,
    response: &str,
    cells: &[CifarCell],
    options: &ReproduceOptions,
    progress: &dyn Progress,
) -> Result<Reproduction, ReproduceError> {
    let mut findings = Vec::new();
    let mut rows = Vec::new();
    let mut obtained: Vec<(String, NetworkPoints)> = Vec::new();
    for cell in cells {
        let experiment = format!("{}-resnet", cell.set);
        let trials = RULES.map(|rule| format!("{}-{response}-{rule}", cell.network));
        let hours = Some(resnet_hours(cell.network));
        let wanted = Wanted { hours, ..Wanted::new(&experiment, trials) };
        let [points] = obtain(&[wanted], options, name, progress)?;
        let own = numbers(cell, response, &points);
        rows.extend(own.iter().zip(["Digital SGD", "Analog SGD", "Residual Learning"]).map(|(f, rule)| Row {
            set: cell.set,
            network: cell.network,
            rule,
            paper: f.paper.clone(),
            ours: f.ours.clone(),
            verdict: f.verdict.words().into_owned(),
        }));
        findings.extend(own);
        obtained.push((experiment, points));
    }
    let trials = SMALL_RULES.map(|rule| format!("{response}-{rule}"));
    let [small] = obtain(&[Wanted::new(SMALL, trials)], options, name, progress)?;
    findings.push(order(response, &small));
    let mut experiments: Vec<(&str, &NetworkPoints)> =
        obtained.iter().map(|(experiment, points)| (experiment.as_str(), points)).collect();
    experiments.push((SMALL, &small));
    let figure = panel("CIFAR-10 at 32 pixels, perceptron, head on tiles", small.iter()).map(|panel| {
        Figure::new(1).panel_size(520.0, 400.0).panel(panel).description(format!(
            "Test accuracy after each epoch; {SMALL_WORDS}, {response} response, three rules."
        ))
    });
    Ok(Reproduction {
        name,
        figure,
        training_seconds: experiments.iter().map(|(_, points)| points.seconds()).sum(),
        tables: vec![table(name, &rows)?, curve_table(&format!("{name}-curves"), &experiments)?],
        settings: trial_settings(name, options, &experiments)?,
        summary: String::new(),
        findings,
    })
}

/// The three numbers of a cell.
fn numbers(cell: &CifarCell, response: &str, points: &NetworkPoints) -> Vec<Finding> {
    let get = |rule: &str| points.get(&format!("{}-{response}-{rule}", cell.network));
    let mean = |rule: &str| Some(get(rule)?.measured().ok()?.mean());
    let order = mean("analog")
        .zip(mean("tiki-taka"))
        .map(|ours| same_order(ours, (cell.analog.level(), cell.residual.level())));
    let one = |title: &str, paper: Printed, rule: &str, order: Option<bool>| {
        number(format!("{title}, {}, {}.", cell.set, cell.network), paper, get(rule), order, "")
    };
    vec![
        one("Digital SGD", cell.digital, RULES[0], None),
        one("Analog SGD", cell.analog, RULES[1], order),
        one("Residual Learning", cell.residual, RULES[2], order),
    ]
}

/// The order of the rules on the small network.
fn order(response: &str, small: &NetworkPoints) -> Finding {
    let points = SMALL_RULES.map(|rule| small.get(&format!("{response}-{rule}")));
    claim(
        &format!("Analog SGD is last of the three rules ({SMALL_WORDS})."),
        "Of the means of six cells: Digital SGD first, then Residual Learning, then Analog SGD; no numbers for this network.",
        &points,
        |means| {
            if means[1] < means[0].min(means[2]) {
                PaperVerdict::SameOrdering(String::new())
            } else {
                PaperVerdict::Differs
            }
        },
        "Judged by means over the seeds, whose spread is shown.",
    )
}
