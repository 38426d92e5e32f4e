//! The toy with an unknown symmetric point: what Residual Learning with the wrong point and E-RIDER keep of it.

use residuum::Key;
use residuum::stats::Summary;
use serde::Serialize;

use super::{Finding, PaperVerdict, Profile, ReproduceError, ReproduceOptions, Reproduction, settings, table};
use crate::figure::{Axis, Figure, Line, Panel, Points as Dots};
use crate::progress::Progress;
use crate::style::{RuleStyle, rule_styles};
use crate::verify::{tracking_bias, tracking_setting};

const NAME: &str = "fig-tracking";
const ERRORS: [f64; 5] = [-0.3, -0.15, 0.0, 0.15, 0.3];
const RULES: [&str; 2] = ["Residual Learning, fixed W⋄", "E-RIDER"];

/// What the laws leave out, as a share of the larger of the two: higher orders of α, and of the error.
const SHARE: f64 = 0.15;

#[derive(Serialize)]
struct Setting {
    learning_rate: f64,
    transfer_rate: f64,
    mixing: f64,
    filter_rate: f64,
    chopper: f64,
    blocks: u64,
    replicas_per_block: u64,
    steps: u64,
}

#[derive(Serialize)]
struct Row {
    rule: &'static str,
    error_of_point: f64,
    bias: f64,
    standard_error: f64,
    law: f64,
}

pub(super) fn run(options: &ReproduceOptions, progress: &dyn Progress) -> Result<Reproduction, ReproduceError> {
    let (rates, tracking, model) = tracking_setting()?;
    let (blocks, steps) = if options.profile == Profile::Quick { (40, 24_000) } else { (200, 48_000) };
    let plain = model.stationary(rates)?.effective_bias;
    let tracked = model.tracked(rates, tracking)?.effective_bias;
    progress.begin("points", 2 * ERRORS.len() as u64);
    let mut rows = Vec::new();
    for (n, rule) in RULES.into_iter().enumerate() {
        for error in ERRORS {
            let key = Key::new(options.seed).named(NAME).named(rule).fold((1000.0 * (error + 1.0)) as u64);
            let found: Summary =
                tracking_bias((key, blocks, steps), error, (n == 1).then_some(tracking), progress)?;
            let law = if n == 1 { tracked } else { plain + model.shift_of_wrong_symmetric_point(error) };
            rows.push(Row { rule, error_of_point: error, bias: found.mean, standard_error: found.se, law });
            progress.advance(1);
        }
    }
    let setting = Setting {
        learning_rate: rates.learning_rate,
        transfer_rate: rates.transfer_rate,
        mixing: rates.mixing,
        filter_rate: tracking.rate,
        chopper: tracking.chopper,
        blocks,
        replicas_per_block: 10,
        steps,
    };
    Ok(Reproduction {
        name: NAME,
        figure: Some(draw(&rows)),
        training_seconds: 0.0,
        tables: vec![table(NAME, &rows)?],
        settings: settings(NAME, options, &setting)?,
        summary: String::new(),
        findings: RULES.map(|rule| finding(rule, &rows)).into(),
    })
}

fn draw(rows: &[Row]) -> Figure {
    let mut panel = Panel::new("Toy with an unknown symmetric point")
        .x_axis(Axis::linear("error ε of the symmetric point at first"))
        .y_axis(Axis::linear("bias of W̄"));
    for (rule, RuleStyle { color, dash }) in RULES.into_iter().zip(rule_styles(&RULES)) {
        let own = || rows.iter().filter(move |row| row.rule == rule);
        let xs: Vec<f64> = own().map(|row| row.error_of_point).collect();
        let (ys, laws): (Vec<f64>, Vec<f64>) = own().map(|row| (row.bias, row.law)).unzip();
        let bars: Vec<f64> = own().map(|row| 2.0 * row.standard_error).collect();
        panel = panel
            .line(Line::new(xs.clone(), laws).color(color).dash(dash).label(format!("{rule}: law")))
            .points(Dots::new(xs, ys).errors(bars).color(color).label(format!("{rule}: measured")));
    }
    Figure::new(1).panel_size(520.0, 400.0).panel(panel).description(
        "Bias of the effective weights against the error of the symmetric point: a line through the origin's neighbour for a fixed \
         point, a constant for E-RIDER, each with its law.",
    )
}

fn finding(rule: &'static str, rows: &[Row]) -> Finding {
    let own = || rows.iter().filter(move |row| row.rule == rule);
    let largest = own().map(|row| row.law.abs()).fold(0.0, f64::max);
    let worst = own()
        .map(|row| (row.bias - row.law).abs() - residuum::stats::Z * row.standard_error)
        .fold(0.0, f64::max);
    let ends: Vec<String> = own()
        .map(|row| format!("{:.4} (law {:.4}) at ε = {}", row.bias, row.law, row.error_of_point))
        .collect();
    Finding {
        statement: format!("{rule}: the remaining bias of W̄ is that of its law."),
        paper: "No number; E-RIDER is claimed to need no calibration.".into(),
        ours: ends.join("; "),
        verdict: PaperVerdict::of(worst <= SHARE * largest),
        note: "Laws: −ΣR'(W⋄)ε/h for a fixed point, none of ε for E-RIDER, and what order √α leaves of both."
            .into(),
    }
}
