//! What a search found: for a terminal, as JSON, and as a picture of how much each field matters.

use std::fmt::Write as _;

use residuum::stats::Summary;
use serde_json::{Value as Json, json};

use super::{Tried, Tuned};
use crate::figure::{Axis, Color, Figure, Panel, Points};

/// How much a field matters: means of the score over quarters of its range.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// The field.
    pub field: &'static str,
    /// Mean score of the short trials in each quarter of the range, from low to high; none where there was no trial.
    pub quarters: [Option<f64>; 4],
    /// The best quarter minus the worst.
    pub effect: f64,
}

impl Tuned {
    /// How much each field matters, from the short trials.
    pub fn sensitivity(&self) -> Vec<Sensitivity> {
        let short = || self.trials.iter().filter(|t| t.epochs == self.schedule.short_epochs);
        // A trial that failed reached nothing, and one that is worse than the mean of the targets no more than that.
        let reached = |t: &Tried| t.score.map_or(0.0, |s| s.0.max(0.0));
        let of = |(j, tunable): (usize, &super::Tunable)| {
            let quarter = |q: usize| {
                let own = short().filter(|t| ((4.0 * t.place[j]) as usize).min(3) == q);
                let summary = Summary::of(own.map(reached));
                (summary.n > 0).then_some(summary.mean)
            };
            let quarters = [0, 1, 2, 3].map(quarter);
            let known = || quarters.iter().flatten().copied();
            let effect = known().fold(f64::MIN, f64::max) - known().fold(f64::MAX, f64::min);
            Sensitivity { field: tunable.field, quarters, effect }
        };
        self.space.iter().enumerate().map(of).collect()
    }

    /// The best setting as fields and values.
    pub fn setting(&self) -> Vec<(&'static str, f64)> {
        self.space.iter().map(|t| t.field).zip(self.best.iter().copied()).collect()
    }

    fn what(&self) -> &'static str {
        if self.metric == "validation_r2" { "validation R²" } else { "validation accuracy" }
    }

    /// The report for a terminal.
    pub fn to_text(&self) -> String {
        let Summary { mean, std, n, .. } = self.score;
        let deviation = if n > 1 { format!(" ± {:.1} over {n} seeds", 100.0 * std) } else { String::new() };
        let mut text =
            format!("{} ({}): {} {:.1} %{deviation}\n", self.point, self.rule, self.what(), 100.0 * mean);
        for (field, value) in self.setting() {
            let _ = writeln!(text, "  {field} = {value}");
        }
        let failed = self.trials.iter().filter(|t| t.score.is_none()).count();
        let _ = writeln!(
            text,
            "{} trials ({} of {} epochs, {} of {}), {failed} failed, {:.0} s of training",
            self.trials.len(),
            self.schedule.start + self.schedule.around,
            self.schedule.short_epochs,
            self.trials.iter().filter(|t| t.epochs == self.schedule.epochs).count(),
            self.schedule.epochs,
            self.seconds
        );
        let _ =
            writeln!(text, "mean {} of short trials in quarters of each range, from low to high", self.what());
        for (tunable, sensitivity) in self.space.iter().zip(self.sensitivity()) {
            let shown = |q: &Option<f64>| q.map_or("–".into(), |q| format!("{:.0} %", 100.0 * q));
            let quarters: Vec<String> = sensitivity.quarters.iter().map(shown).collect();
            let (low, high) = (tunable.at(0.0), tunable.at(1.0));
            let _ = writeln!(text, "  {} from {low} to {high}: {}", tunable.field, quarters.join(", "));
        }
        text
    }

    /// The report as JSON, schema `residuum.tune/1`.
    pub fn to_json(&self) -> Json {
        let setting: serde_json::Map<String, Json> =
            self.setting().into_iter().map(|(field, value)| (field.to_string(), json!(value))).collect();
        let trial = |t: &Tried| {
            json!({
                "id": t.id, "values": t.values, "epochs": t.epochs, "seed": t.seed,
                "score": t.score.map(|s| s.0), "loss": t.score.map(|s| s.1),
            })
        };
        let range = |t: &super::Tunable| json!({ "field": t.field, "low": t.at(0.0), "centre": t.at(0.5), "high": t.at(1.0) });
        let effect = |s: &Sensitivity| json!({ "field": s.field, "quarters": s.quarters, "effect": s.effect });
        json!({
            "schema": "residuum.tune/1",
            "version": env!("CARGO_PKG_VERSION"),
            "point": self.point, "rule": self.rule, "metric": self.metric,
            "best": setting, "mean": self.score.mean, "std": if self.score.n > 1 { json!(self.score.std) } else { Json::Null },
            "seeds": self.score.n, "seconds": self.seconds,
            "space": self.space.iter().map(range).collect::<Vec<_>>(),
            "sensitivity": self.sensitivity().iter().map(effect).collect::<Vec<_>>(),
            "trials": self.trials.iter().map(trial).collect::<Vec<_>>(),
            "spec": self.spec,
        })
    }

    /// Every trial against each field, the best marked.
    pub fn figure(&self) -> Figure {
        let mut figure = Figure::new(self.space.len().clamp(1, 3))
            .title(format!("{}: how much each field matters", self.point));
        for (j, tunable) in self.space.iter().enumerate() {
            let of = |epochs: u64| {
                let own = self.trials.iter().filter(move |t| t.epochs == epochs);
                let pairs: Vec<(f64, f64)> =
                    own.map(|t| (t.values[j], 100.0 * t.score.map_or(0.0, |s| s.0.max(0.0)))).collect();
                pairs.into_iter().unzip::<f64, f64, Vec<f64>, Vec<f64>>()
            };
            let (xs, ys) = of(self.schedule.short_epochs);
            let mut panel = Panel::new(tunable.field)
                .x_axis(Axis::log(tunable.field))
                .y_axis(Axis::linear(format!("{} (%)", self.what())))
                .points(
                    Points::new(xs, ys)
                        .color(Color::BLUE)
                        .opacity(0.6)
                        .label(format!("{} epochs", self.schedule.short_epochs)),
                );
            if self.schedule.epochs > self.schedule.short_epochs {
                let (xs, ys) = of(self.schedule.epochs);
                panel = panel.points(
                    Points::new(xs, ys).color(Color::ORANGE).label(format!("{} epochs", self.schedule.epochs)),
                );
            }
            let best = Points::new(vec![self.best[j]], vec![100.0 * self.score.mean])
                .color(Color::VERMILLION)
                .size(6.0)
                .hollow();
            figure = figure.panel(panel.points(best.label("best, mean over seeds")));
        }
        figure
    }
}
