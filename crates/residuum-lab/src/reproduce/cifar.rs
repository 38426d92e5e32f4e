//! `table:CIFAR-fine-tune-pow` and `table:CIFAR-fine-tune-exp`: ResNets fine-tuned on CIFAR-10 and CIFAR-100, heads on tiles.
//!
//! They need ImageNet weights and days of two cores. What can be looked at in minutes is the order of the rules on a network that
//! is not the paper's; it is shown as that, without the paper's numbers beside it.

use serde::Serialize;

use super::curves::{Ends, claim, curve_table, ends_panel, number, panel, trial_settings};
use super::networks::{NetworkPoints, Wanted, obtain};
use super::paper::{CIFAR_EXPONENTIAL, CIFAR_POWER, CifarCell, Printed};
use super::verdict::{PaperVerdict, same_order};
use super::{Finding, ReproduceError, ReproduceOptions, Reproduction, table};
use crate::figure::{Axis, Figure};
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
    let figure = draw(cells, response, &obtained, &small);
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

/// The paper's table as points, ours beside them where they could be run, and the small network that stands in.
fn draw(
    cells: &[CifarCell],
    response: &str,
    obtained: &[(String, NetworkPoints)],
    small: &NetworkPoints,
) -> Option<Figure> {
    let own = |cell: &CifarCell, rule: &str| {
        let name = format!("{}-{response}-{rule}", cell.network);
        let experiment = format!("{}-resnet", cell.set);
        obtained.iter().filter(|(own, _)| *own == experiment).find_map(|(_, points)| points.get(&name))
    };
    let title = |rule: &str| match rule {
        "digital" => "Digital SGD",
        "analog" => "Analog SGD",
        _ => "Residual Learning (Tiki-Taka, mixing 0.4)",
    };
    let ends = RULES.map(|rule| Ends {
        rule: if rule == RULES[2] { "tiki_taka" } else { rule },
        title: title(rule),
        at: (cells.iter().enumerate())
            .map(|(i, cell)| {
                let paper = match rule {
                    "digital" => cell.digital,
                    "analog" => cell.analog,
                    _ => cell.residual,
                };
                (i as f64 + 1.0, own(cell, rule), Some(paper))
            })
            .collect(),
    });
    let short =
        |cell: &CifarCell| format!("C{} R{}", &cell.set["cifar".len()..], &cell.network["resnet".len()..]);
    let ticks = cells.iter().enumerate().map(|(i, cell)| (i as f64 + 1.0, short(cell)));
    let axis = Axis::linear("data set and network (C10 R18: CIFAR-10, ResNet-18)")
        .range(0.5, cells.len() as f64 + 0.5)
        .ticks(ticks);
    let figure = Figure::new(2).panel_size(560.0, 400.0).description(format!(
        "Left: test errors of fine-tuned ResNets at the end, {response} response, the paper's numbers and ours where they were run. \
         Right: test error after each epoch, {SMALL_WORDS}."
    ));
    let right = panel("A small network in its place: perceptron, head on tiles", small.iter())?;
    Some(figure.panel(ends_panel("Fine-tuned ResNets", axis, &ends)).panel(right))
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
