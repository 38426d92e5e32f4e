//! Trials side by side: accuracy curves, a table of ends, one sentence.

use std::fmt::Write as _;

use residuum::stats::Summary;
use residuum_nn::train::EpochRecord;
use serde_json::{Value, json};

use crate::figure::{Axis, Band, Color, Figure, Legend, Line, Panel};

/// Accuracies at the end are averaged over a sixth of the epochs, but no more than this.
const TAIL: usize = 5;
/// Below this share of the test images, a network of ten classes has learned nothing to speak of.
const FAILED: f64 = 0.5;
/// Accuracies closer than this are called equal in words.
const MATCH: f64 = 0.01;
/// What rounding does to a difference of shares.
const ROUNDING: f64 = 1e-12;

/// One trial over its seeds.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Name of the trial.
    pub name: String,
    /// Its words in tables and legends.
    pub title: String,
    /// The words for its cell: trials are compared with those of the same cell.
    pub cell: Option<String>,
    /// Whether its weights stay in digital memory: then the others are measured by it.
    pub digital: bool,
    /// The records of each seed.
    pub runs: Vec<(u64, Vec<EpochRecord>)>,
}

impl Curve {
    /// Mean test accuracy over the last epochs, for each seed.
    fn ends(&self) -> Vec<f64> {
        let end = |records: &[EpochRecord]| {
            let tail = &records[records.len() - tail(records.len())..];
            tail.iter().map(|r| r.test_accuracy).sum::<f64>() / tail.len() as f64
        };
        self.runs.iter().filter(|(_, records)| !records.is_empty()).map(|(_, records)| end(records)).collect()
    }

    /// Mean over the seeds of the test accuracy at the end.
    pub fn accuracy(&self) -> f64 {
        let ends = self.ends();
        ends.iter().sum::<f64>() / ends.len() as f64
    }

    /// Title and cell.
    fn words(&self) -> String {
        self.cell.as_ref().map_or_else(|| self.title.clone(), |cell| format!("{cell}, {}", self.title))
    }

    fn epochs(&self) -> usize {
        self.runs.iter().map(|(_, records)| records.len()).max().unwrap_or(0)
    }

    /// Mean, least and largest test accuracy after an epoch, in per cent.
    fn band(&self, epoch: usize) -> [f64; 3] {
        let at = || self.runs.iter().filter_map(|(_, r)| r.get(epoch)).map(|r| 100.0 * r.test_accuracy);
        [Summary::of(at()).mean, at().fold(f64::NAN, f64::min), at().fold(f64::NAN, f64::max)]
    }
}

/// Epochs over which the end of a run is averaged.
pub(crate) fn tail(epochs: usize) -> usize {
    (epochs / 6).clamp(1, TAIL)
}

/// Trials of one experiment.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// For the figure.
    pub title: String,
    /// The trials.
    pub curves: Vec<Curve>,
}

impl Comparison {
    /// Test accuracy against epochs, a panel for each cell; bands are the range over seeds.
    pub fn figure(&self) -> Figure {
        let cells = self.cells();
        let mut figure = Figure::new(cells.len().min(3)).panel_size(520.0, 400.0);
        if cells.len() > 1 {
            figure = figure.title(&self.title);
        }
        for (cell, curves) in &cells {
            figure = figure.panel(panel(cell.unwrap_or(&self.title), curves));
        }
        let rules: Vec<String> = self.curves.iter().map(Curve::words).collect();
        figure.description(format!(
            "Test accuracy after each epoch for {}. {}",
            rules.join("; "),
            self.findings().join(" ")
        ))
    }

    /// The trials of each cell, in their order.
    fn cells(&self) -> Vec<(Option<&str>, Vec<&Curve>)> {
        let mut cells: Vec<(Option<&str>, Vec<&Curve>)> = Vec::new();
        for curve in &self.curves {
            let cell = curve.cell.as_deref();
            match cells.iter_mut().find(|(name, _)| *name == cell) {
                Some((_, curves)) => curves.push(curve),
                None => cells.push((cell, vec![curve])),
            }
        }
        cells
    }

    /// What was seen, one sentence for each cell.
    pub fn findings(&self) -> Vec<String> {
        let told = |(cell, curves): &(Option<&str>, Vec<&Curve>)| match cell {
            Some(cell) => format!("{cell}: {}", sentence(curves)),
            None => sentence(curves),
        };
        self.cells().iter().map(told).collect()
    }

    /// The records as CSV.
    pub fn to_csv(&self) -> String {
        let mut text =
            String::from("trial,seed,epoch,train_loss,train_accuracy,test_loss,test_accuracy,pulses\n");
        for curve in &self.curves {
            for (seed, records) in &curve.runs {
                for r in records {
                    let pulses: u64 = r.pulses.values().sum();
                    let _ = writeln!(
                        text,
                        "{},{seed},{},{},{},{},{},{pulses}",
                        curve.name, r.epoch, r.train_loss, r.train_accuracy, r.test_loss, r.test_accuracy
                    );
                }
            }
        }
        text
    }

    /// A small table and the sentence: accuracy at the end, with the deviation between seeds if there are several, pulses and time.
    pub fn to_text(&self) -> String {
        let width = self.curves.iter().map(|c| c.words().chars().count()).max().unwrap_or(0).max(4);
        let mut text = format!(
            "{:<width$}  {:>6}  {:>13}  {:>12}  {:>10}  {:>7}\n",
            "rule", "epochs", "test accuracy", "training loss", "pulses", "seconds"
        );
        for curve in &self.curves {
            let ends = Summary::of(curve.ends().into_iter().map(|a| 100.0 * a));
            let accuracy = if curve.runs.len() > 1 {
                format!("{:.1} ± {:.1} %", ends.mean, ends.std)
            } else {
                format!("{:.1} %", ends.mean)
            };
            let records = || curve.runs.iter().filter_map(|(_, records)| records.last());
            let loss = Summary::of(records().map(|r| r.train_loss)).mean;
            let pulses: u64 = records().map(|r| r.pulses.values().sum::<u64>()).sum();
            let pulses = if pulses > 0 { format!("{:.2e}", pulses as f64) } else { "–".into() };
            let seconds: f64 = curve.runs.iter().flat_map(|(_, records)| records).map(|r| r.seconds).sum();
            let _ = writeln!(
                text,
                "{:<width$}  {:>6}  {accuracy:>13}  {loss:>12.4}  {pulses:>10}  {seconds:>7.1}",
                curve.words(),
                curve.epochs()
            );
        }
        let epochs = tail(self.curves.iter().map(Curve::epochs).max().unwrap_or(0));
        let over = if epochs > 1 { format!("mean of the last {epochs} epochs") } else { "last epoch".into() };
        let _ = writeln!(text, "accuracy: {over}; ± deviation between seeds\n\n{}", self.findings().join("\n"));
        text
    }

    /// Everything as JSON.
    pub fn to_json(&self) -> Value {
        let curves: Vec<Value> = self
            .curves
            .iter()
            .map(|curve| {
                let runs: Vec<Value> = curve
                    .runs
                    .iter()
                    .map(|(seed, records)| json!({ "seed": seed, "epochs": records }))
                    .collect();
                json!({ "trial": curve.name, "title": curve.title, "cell": curve.cell, "test_accuracy": curve.accuracy(), "runs": runs })
            })
            .collect();
        json!({ "schema": "residuum.comparison/1", "title": self.title, "findings": self.findings(), "trials": curves })
    }
}

fn panel(title: &str, curves: &[&Curve]) -> Panel {
    let mut panel = Panel::new(title)
        .x_axis(Axis::linear("epoch"))
        .y_axis(Axis::linear("test accuracy (%)").range(0.0, 102.0))
        .legend(Legend::Below);
    let colors = [
        Color::DIGITAL_SGD,
        Color::ANALOG_SGD,
        Color::RESIDUAL_LEARNING,
        Color::GREEN,
        Color::PURPLE,
        Color::ORANGE,
    ];
    for (curve, color) in curves.iter().zip(colors.iter().cycle()) {
        let epochs: Vec<f64> = (1..=curve.epochs()).map(|e| e as f64).collect();
        let bands: Vec<[f64; 3]> = (0..curve.epochs()).map(|e| curve.band(e)).collect();
        let part = |i: usize| bands.iter().map(|b| b[i]).collect::<Vec<f64>>();
        if curve.runs.len() > 1 {
            panel = panel.band(Band::new(epochs.clone(), part(1), part(2)).color(*color).opacity(0.2));
        }
        panel = panel.line(Line::new(epochs, part(0)).color(*color).label(&curve.title));
    }
    panel
}

/// What was seen, from the numbers: who failed, and who came as far as the digital trial, or furthest where there is none.
fn sentence(curves: &[&Curve]) -> String {
    match curves {
        [] => "Nothing was run.".into(),
        [only] => format!("{} reaches {:.1} %.", only.title, 100.0 * only.accuracy()),
        _ => match curves.iter().position(|curve| curve.digital) {
            Some(place) => against(curves[place], &others(curves, place)),
            None => ranked(curves),
        },
    }
}

fn told(curve: &Curve) -> String {
    format!("{} ({:.1} %)", curve.title, 100.0 * curve.accuracy())
}

fn others<'a>(curves: &[&'a Curve], place: usize) -> Vec<&'a Curve> {
    curves.iter().enumerate().filter(|(i, _)| *i != place).map(|(_, curve)| *curve).collect()
}

/// Those of whom it holds, with the verb for one or for several.
fn list(curves: &[&Curve], holds: impl Fn(f64) -> bool, verbs: [&str; 2]) -> Option<String> {
    let named: Vec<String> = curves.iter().filter(|c| holds(c.accuracy())).map(|c| told(c)).collect();
    let verb = verbs[usize::from(named.len() > 1)];
    (!named.is_empty()).then(|| format!("{} {verb}", named.join(", ")))
}

/// The others beside the digital trial.
fn against(digital: &Curve, others: &[&Curve]) -> String {
    let (first, goal) = (told(digital), digital.accuracy());
    if goal < FAILED {
        let all_fail = others.iter().all(|c| c.accuracy() < FAILED);
        let best = others.iter().max_by(|a, b| a.accuracy().total_cmp(&b.accuracy()));
        let all = if all_fail { ", and so do all others" } else { "" };
        return format!("{first} fails{all}; the best of them is {}.", best.map_or(String::new(), |c| told(c)));
    }
    let failed = list(others, |a| a < FAILED, ["fails", "fail"]);
    let matched = list(others, |a| a >= FAILED && (a - goal).abs() <= MATCH + ROUNDING, ["matches", "match"]);
    let ahead = list(others, |a| a > goal + MATCH + ROUNDING, ["is ahead of", "are ahead of"]);
    let level = [matched, ahead].into_iter().flatten().collect::<Vec<_>>().join(", ");
    match (failed, level.is_empty()) {
        (None, true) => format!("{first} is ahead of the others."),
        (None, false) => format!("{level} {first}."),
        (Some(failed), true) => format!("{failed}; {first} is ahead of the others."),
        (Some(failed), false) => format!("{failed} where {level} {first}."),
    }
}

/// Trials on tiles among themselves.
fn ranked(curves: &[&Curve]) -> String {
    let best = (0..curves.len()).max_by(|&a, &b| curves[a].accuracy().total_cmp(&curves[b].accuracy()));
    let place = best.unwrap_or(0);
    let (first, goal) = (told(curves[place]), curves[place].accuracy());
    if goal < FAILED {
        return format!("All fail; the best of them is {first}.");
    }
    let others = others(curves, place);
    let matched = list(&others, |a| a >= (goal - MATCH - ROUNDING).max(FAILED), ["matches", "match"]);
    let failed = list(&others, |a| a < FAILED, ["fails", "fail"]);
    match (failed, matched) {
        (None, None) => format!("{first} is ahead of the others."),
        (None, Some(matched)) => format!("{matched} {first}, the best."),
        (Some(failed), None) => format!("{failed}; {first} is the best."),
        (Some(failed), Some(matched)) => format!("{failed} where {matched} {first}, the best."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(name: &str, ends: &[f64]) -> Curve {
        let record = |epoch: u64, accuracy: f64| EpochRecord {
            epoch,
            steps: 10 * epoch,
            train_loss: 0.5,
            train_accuracy: accuracy,
            test_loss: 0.5,
            test_accuracy: accuracy,
            learning_rate: None,
            pulses: std::collections::BTreeMap::new(),
            seconds: 1.0,
            samples_per_second: 1.0,
        };
        let run = |end: f64| (1..=12).map(|e| record(e, if e > 10 { end } else { 0.0 })).collect();
        let runs = (0..).zip(ends).map(|(s, &e)| (s, run(e))).collect();
        Curve { name: name.into(), title: name.into(), cell: None, digital: name == "D", runs }
    }

    fn said(ends: &[(&str, f64)]) -> String {
        let curves: Vec<Curve> = ends.iter().map(|(name, end)| curve(name, &[*end])).collect();
        sentence(&curves.iter().collect::<Vec<_>>())
    }

    #[test]
    fn the_sentence_follows_the_numbers() {
        assert_eq!(
            said(&[("D", 0.97), ("A", 0.1), ("R", 0.965)]),
            "A (10.0 %) fails where R (96.5 %) matches D (97.0 %)."
        );
        assert_eq!(
            said(&[("D", 0.97), ("A", 0.1), ("R", 0.9)]),
            "A (10.0 %) fails; D (97.0 %) is ahead of the others."
        );
        assert_eq!(said(&[("D", 0.97), ("A", 0.965), ("R", 0.98)]), "A (96.5 %), R (98.0 %) match D (97.0 %).");
        assert_eq!(said(&[("D", 0.97), ("A", 0.7)]), "D (97.0 %) is ahead of the others.");
        assert_eq!(said(&[("D", 0.97)]), "D reaches 97.0 %.");
        assert_eq!(
            said(&[("A", 0.1), ("D", 0.95), ("R", 0.98)]),
            "A (10.0 %) fails where R (98.0 %) is ahead of D (95.0 %)."
        );
        assert_eq!(said(&[("D", 0.1), ("R", 0.9)]), "D (10.0 %) fails; the best of them is R (90.0 %).");
        assert_eq!(
            said(&[("D", 0.1), ("R", 0.2)]),
            "D (10.0 %) fails, and so do all others; the best of them is R (20.0 %)."
        );
    }

    /// The first trial is nobody's measure because it is the first.
    #[test]
    fn without_a_digital_trial_the_best_is_the_measure() {
        assert_eq!(said(&[("A", 0.93), ("R", 0.98)]), "R (98.0 %) is ahead of the others.");
        assert_eq!(said(&[("A", 0.975), ("R", 0.98)]), "A (97.5 %) matches R (98.0 %), the best.");
        assert_eq!(said(&[("A", 0.1), ("R", 0.9)]), "A (10.0 %) fails; R (90.0 %) is the best.");
        assert_eq!(
            said(&[("A", 0.1), ("B", 0.9), ("R", 0.9)]),
            "A (10.0 %) fails where B (90.0 %) matches R (90.0 %), the best."
        );
        assert_eq!(said(&[("A", 0.1), ("R", 0.2)]), "All fail; the best of them is R (20.0 %).");
    }

    #[test]
    fn the_table_averages_the_end_over_seeds() {
        let comparison = Comparison { title: "t".into(), curves: vec![curve("D", &[0.9, 0.8])] };
        // The last 2 of 12 epochs; the deviation of 90 and 80 is 7.07.
        assert!(comparison.to_text().contains("85.0 ± 7.1 %"), "{}", comparison.to_text());
        assert!(comparison.to_text().contains("mean of the last 2 epochs"));
        assert_eq!(comparison.to_csv().lines().count(), 1 + 2 * 12);
        assert!(comparison.figure().to_svg().contains("test accuracy"));
    }

    #[test]
    fn cells_are_judged_apart() {
        let within = |cell: &str, name, end| Curve { cell: Some(cell.into()), ..curve(name, &[end]) };
        let curves =
            vec![within("a", "D", 0.9), within("b", "D", 0.95), within("a", "R", 0.9), within("b", "R", 0.1)];
        let comparison = Comparison { title: "t".into(), curves };
        assert_eq!(
            comparison.findings(),
            ["a: R (90.0 %) matches D (90.0 %).", "b: R (10.0 %) fails; D (95.0 %) is ahead of the others."]
        );
        assert!(comparison.to_text().contains("b, R"));
    }
}
