//! Accuracy against what it cost: energy and time of the hardware that `[hardware]` states.

use super::ReportOptions;
use super::curves::{CHARTED, Palette, chart_title, charted, over_seeds, plot};
use super::measure::{Measure, recorded};
use super::plot::{Across, Chart, Form, Plot, Series};
use super::study::{Block, Study};

/// What is bought, the first that was recorded.
const BOUGHT: [&str; 4] = ["test_accuracy", "test_r2", "validation_accuracy", "validation_r2"];
/// What it is paid in.
const COSTS: [&str; 2] = ["training_energy", "training_time"];

/// A chart for each block and cost, if the trials have a ledger.
pub(super) fn costs(study: &Study<'_>, options: &ReportOptions) -> Option<Plot> {
    if !options.metrics.is_empty() && !COSTS.iter().any(|cost| options.metrics.iter().any(|m| m == cost)) {
        return None;
    }
    let recorded = recorded(study);
    let bought = Measure::new(BOUGHT.into_iter().find(|metric| recorded.contains(metric))?);
    let palette = Palette::new(study);
    let blocks = study.blocks.iter().take(CHARTED);
    let charts = blocks.flat_map(|block| COSTS.map(|cost| chart(study, block, (&bought, cost), &palette)));
    let caption = format!(
        "What accuracy costs on the hardware of the spec: a point for each epoch, with all that was spent until then (mean over \
         seeds).{}",
        charted(study)
    );
    plot("costs", caption, charts.flatten().collect())
}

fn chart(
    study: &Study<'_>,
    block: &Block<'_>,
    (bought, cost): (&Measure, &str),
    palette: &Palette,
) -> Option<Chart> {
    let cost = Measure::new(cost);
    let series: Vec<Series> = block
        .arms
        .iter()
        .map(|arm| {
            let [spent, reached] = [&cost, bought].map(|measure| over_seeds(arm, study.kind, measure));
            // Both are recorded at the end of the same epochs.
            let (xs, ys) = spent
                .iter()
                .filter_map(|(epoch, x)| {
                    Some((x.mean, reached.iter().find(|(other, _)| other == epoch)?.1.mean))
                })
                .filter(|(x, _)| *x > 0.0)
                .unzip();
            let (label, style) = (arm.name.clone(), palette.of(&arm.name));
            Series { label, style, xs, ys, band: None, form: Form::Curve }.kept(false)
        })
        .filter(|series| series.xs.len() > 1)
        .collect();
    (!series.is_empty()).then(|| Chart {
        title: chart_title(study, block, bought),
        x: cost.head.clone(),
        across: Across::Decades,
        y: bought.head.clone(),
        log: false,
        series,
        bounds: Vec::new(),
    })
}
