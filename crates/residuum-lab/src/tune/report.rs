//! What a search found: for a terminal, as JSON, and as a picture of how much each field matters.

use std::fmt::Write as _;

use residuum::stats::Summary;
use serde_json::{Value as Json, json};

use super::{Setting, Tried, Tunable, Tuned, Values};
use crate::figure::{Axis, Color, Figure, Panel, Points};

/// How much a field matters: means of the score over parts of its range.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// The field.
    pub field: String,
    /// Mean score of the short trials in each quarter of the range, from low to high, or at each listed value; none where there
    /// was no trial.
    pub parts: Vec<Option<f64>>,
    /// The best part minus the worst.
    pub effect: f64,
}

impl Tuned {
    /// How much each field matters, from the short trials.
    pub fn sensitivity(&self) -> Vec<Sensitivity> {
        let short = || self.trials.iter().filter(|t| t.epochs == self.schedule.short_epochs);
        // A trial that failed reached nothing, and one that is worse than the mean of the targets no more than that.
        let reached = |t: &Tried| t.score.map_or(0.0, |s| s.0.max(0.0));
        let of = |(j, tunable): (usize, &Tunable)| {
            let mean = |part: usize| {
                let summary = Summary::of(short().filter(|t| tunable.part(t.place[j]) == part).map(reached));
                (summary.n > 0).then_some(summary.mean)
            };
            let parts: Vec<Option<f64>> = (0..tunable.parts()).map(mean).collect();
            let known = || parts.iter().flatten().copied();
            let effect = known().fold(f64::MIN, f64::max) - known().fold(f64::MAX, f64::min);
            Sensitivity { field: tunable.field.clone(), parts, effect }
        };
        self.space.fields.iter().enumerate().map(of).collect()
    }

    /// The best setting as fields and values.
    pub fn setting(&self) -> Vec<(&str, &Setting)> {
        self.space.fields.iter().map(|t| t.field.as_str()).zip(&self.best).collect()
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
        if let Some(verdict) = &self.verdict {
            let _ = writeln!(text, "{verdict}");
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
        if let Some(failure) = &self.failure {
            let _ = writeln!(text, "the first that failed: {failure}");
        }
        if let Some(test) = &self.test {
            let _ = writeln!(
                text,
                "on the test samples, nothing held out: {:.1} ± {:.1} %",
                100.0 * test.mean,
                100.0 * test.std
            );
        }
        let _ =
            writeln!(text, "mean {} of short trials in quarters of each range or at each value", self.what());
        for (tunable, sensitivity) in self.space.fields.iter().zip(self.sensitivity()) {
            let shown = |q: &Option<f64>| q.map_or("–".into(), |q| format!("{:.0} %", 100.0 * q));
            let parts: Vec<String> = sensitivity.parts.iter().map(shown).collect();
            let _ = writeln!(text, "  {} {}: {}", tunable.field, tunable.words(), parts.join(", "));
        }
        text
    }

    /// The report as JSON, schema `residuum.tune/2`.
    pub fn to_json(&self) -> Json {
        let setting: serde_json::Map<String, Json> =
            self.setting().into_iter().map(|(field, value)| (field.to_string(), value.to_json())).collect();
        let trial = |t: &Tried| {
            json!({
                "id": t.id, "values": t.settings.iter().map(Setting::to_json).collect::<Vec<_>>(), "epochs": t.epochs, "seed": t.seed,
                "score": t.score.map(|s| s.0), "loss": t.score.map(|s| s.1),
            })
        };
        let range = |t: &Tunable| match &t.values {
            Values::Scaled { .. } => {
                let [low, centre, high] = [0.0, 0.5, 1.0].map(|place| t.at(place, 1.0).to_json());
                json!({ "field": t.field, "low": low, "centre": centre, "high": high })
            }
            Values::Listed(values) => {
                json!({ "field": t.field, "values": values.iter().map(Setting::to_json).collect::<Vec<_>>() })
            }
        };
        let effect = |s: &Sensitivity| json!({ "field": s.field, "parts": s.parts, "effect": s.effect });
        json!({
            "schema": "residuum.tune/2",
            "version": env!("CARGO_PKG_VERSION"),
            "point": self.point, "rule": self.rule, "metric": self.metric,
            "best": setting, "mean": self.score.mean, "std": if self.score.n > 1 { json!(self.score.std) } else { Json::Null },
            "test": self.test.map(|test| json!({ "mean": test.mean, "std": test.std, "seeds": test.n })),
            "failure": self.failure, "verdict": self.verdict,
            "seeds": self.score.n, "seconds": self.seconds,
            "space": self.space.fields.iter().map(range).collect::<Vec<_>>(),
            "sensitivity": self.sensitivity().iter().map(effect).collect::<Vec<_>>(),
            "trials": self.trials.iter().map(trial).collect::<Vec<_>>(),
            "spec": self.spec,
        })
    }

    /// Every trial against each field, the best marked.
    pub fn figure(&self) -> Figure {
        // A field that is held has nothing to show.
        let shown = || self.space.fields.iter().enumerate().filter(|(_, tunable)| !tunable.is_held());
        let mut figure = Figure::new(shown().count().clamp(1, 3))
            .title(format!("{}: how much each field matters", self.point));
        for (j, tunable) in shown() {
            let of = |epochs: u64| {
                let own = self.trials.iter().filter(move |t| t.epochs == epochs);
                let pairs = own.filter_map(|t| {
                    let x = tunable.on_axis(&t.settings[j])?;
                    Some((x, 100.0 * t.score.map_or(0.0, |s| s.0.max(0.0))))
                });
                pairs.unzip::<f64, f64, Vec<f64>, Vec<f64>>()
            };
            let axis = match &tunable.values {
                Values::Scaled { .. } => Axis::log(tunable.field.clone()),
                Values::Listed(values) => {
                    let ticks = values.iter().enumerate().map(|(i, value)| (i as f64, short(value)));
                    Axis::linear(tunable.field.clone()).range(-0.5, values.len() as f64 - 0.5).ticks(ticks)
                }
            };
            let (xs, ys) = of(self.schedule.short_epochs);
            let mut panel = Panel::new(tunable.field.clone())
                .x_axis(axis)
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
            if let Some(x) = tunable.on_axis(&self.best[j]) {
                let best = Points::new(vec![x], vec![100.0 * self.score.mean])
                    .color(Color::VERMILLION)
                    .size(6.0)
                    .hollow();
                panel = panel.points(best.label("best, mean over seeds"));
            }
            figure = figure.panel(panel);
        }
        figure
    }
}

/// A value at the tick of an axis.
fn short(value: &Setting) -> String {
    const LONGEST: usize = 12;
    let text = value.to_string();
    if text.chars().count() <= LONGEST { text } else { text.chars().take(LONGEST - 1).chain(['…']).collect() }
}
