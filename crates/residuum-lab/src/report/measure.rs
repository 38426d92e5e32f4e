//! Measures: one number per trial, taken from its records.

use std::collections::BTreeSet;

use residuum::stats::Summary;
use thiserror::Error;

use super::StoredTrial;
use super::study::{Arm, Study};
use crate::store::{Row, SpecKind};

/// Accuracies at the end are averaged over a sixth of the epochs, but no more than this.
const TAIL: usize = 5;

/// Epochs over which the end of a network is averaged.
pub(crate) fn tail(epochs: usize) -> usize {
    (epochs / 6).clamp(1, TAIL)
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    Higher,
    Lower,
    /// Neither: nothing is marked.
    Open,
}

/// A metric at the end of a trial.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measure {
    pub metric: String,
    /// In tables and on axes.
    pub head: String,
    /// Numbers are shown times this.
    pub scale: f64,
    pub goal: Goal,
}

/// Metrics of networks that make a column of their own, most important first.
const NETWORK: [&str; 10] = [
    "test_accuracy",
    "test_r2",
    "validation_accuracy",
    "validation_r2",
    "test_loss",
    "validation_loss",
    "train_loss",
    "pulses",
    "training_time",
    "training_energy",
];
/// Metrics of problems, most important first; others follow in the order they were recorded.
const PROBLEM: [&str; 4] = ["gap", "distance", "objective", "effective"];

/// Counts since training began: those of layers are added, and the last one is that of the trial.
const SUMS: [&str; 8] = [
    "pulses",
    "energy",
    "reads",
    "conversions",
    "digital_operations",
    "digital_bytes",
    "training_time",
    "training_energy",
];

impl Measure {
    pub fn new(metric: &str) -> Self {
        let (head, scale, goal) = match metric {
            "test_accuracy" => ("test accuracy (%)", 100.0, Goal::Higher),
            "test_r2" => ("test R² (%)", 100.0, Goal::Higher),
            "validation_accuracy" => ("validation accuracy (%)", 100.0, Goal::Higher),
            "validation_r2" => ("validation R² (%)", 100.0, Goal::Higher),
            "validation_loss" => ("validation loss", 1.0, Goal::Lower),
            "train_accuracy" => ("training accuracy (%)", 100.0, Goal::Higher),
            "test_loss" => ("test loss", 1.0, Goal::Lower),
            "train_loss" => ("training loss", 1.0, Goal::Lower),
            "gap" => ("gap f(W̄) − f*", 1.0, Goal::Lower),
            "objective" => ("objective f(W̄)", 1.0, Goal::Lower),
            "distance" => ("distance to W*", 1.0, Goal::Lower),
            "training_time" => ("time of the hardware (s)", 1.0, Goal::Lower),
            "training_energy" => ("energy of the hardware (J)", 1.0, Goal::Lower),
            "kappa2" => ("κ₂", 1.0, Goal::Open),
            other => (other, 1.0, Goal::Open),
        };
        Self { metric: metric.into(), head: head.replace('_', " "), scale, goal }
    }

    /// Its value for a trial: the mean over the last epochs of a network, the last step of a problem. The entries of a vector are
    /// averaged, the pulses of layers added.
    pub fn of(&self, trial: &StoredTrial) -> Option<f64> {
        let rows = || trial.rows.iter().filter(|r| r.metric == self.metric);
        let last = rows().map(|r| r.step).max()?;
        let at_end = || rows().filter(|r| r.step == last);
        if SUMS.contains(&self.metric.as_str()) {
            return Some(at_end().map(|r| r.value).sum());
        }
        let value = match trial.manifest.kind {
            SpecKind::Network if rows().all(|r| r.part.is_empty()) => {
                let epochs = rows().filter_map(|r| r.epoch).max()?;
                let from = epochs - (tail(epochs as usize) as u64).min(epochs);
                mean(rows().filter(|r| r.epoch > Some(from)))
            }
            _ => mean(at_end()),
        };
        Some(self.scale * value)
    }

    /// Its value for each seed of an arm.
    pub fn ends(&self, arm: &Arm<'_>) -> Vec<(u64, f64)> {
        arm.runs.iter().filter_map(|t| Some((t.manifest.seed, self.of(t)?))).collect()
    }

    /// Mean over the seeds of an arm.
    pub fn summary(&self, arm: &Arm<'_>) -> Summary {
        Summary::of(self.ends(arm).into_iter().map(|(_, value)| value))
    }
}

fn mean<'a>(rows: impl Iterator<Item = &'a Row>) -> f64 {
    Summary::of(rows.map(|r| r.value)).mean
}

/// The metrics of a study that become columns: those asked for, or all that are known.
pub(super) fn measures(study: &Study<'_>, wanted: &[String]) -> Vec<Measure> {
    let recorded = recorded(study);
    if !wanted.is_empty() {
        return wanted.iter().filter(|m| recorded.contains(&m.as_str())).map(|m| Measure::new(m)).collect();
    }
    let known: Vec<&str> = match study.kind {
        SpecKind::Network => NETWORK.into_iter().filter(|m| recorded.contains(m)).collect(),
        SpecKind::Problem => {
            let others = recorded.iter().copied().filter(|m| !PROBLEM.contains(m));
            PROBLEM.into_iter().filter(|m| recorded.contains(m)).chain(others).collect()
        }
    };
    known.into_iter().map(Measure::new).collect()
}

/// Names of all metrics in the order they come.
pub(super) fn recorded<'a>(study: &Study<'a>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for trial in study.blocks.iter().flat_map(|b| &b.arms).filter_map(|a| a.runs.first()) {
        for row in &trial.rows {
            if !names.contains(&row.metric.as_str()) {
                names.push(&row.metric);
            }
        }
    }
    names
}

/// A metric that no trial has recorded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("metric must be one of {}, got {metric:?}{}", known.join(", "), hint(nearest.as_deref()))]
pub struct UnknownMetric {
    /// As given.
    pub metric: String,
    /// What was recorded.
    pub known: Vec<String>,
    /// The closest name.
    pub nearest: Option<String>,
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

/// Checks that the trials recorded these metrics.
///
/// # Errors
/// The first such metric.
pub fn check_metrics(trials: &[StoredTrial], wanted: &[String]) -> Result<(), UnknownMetric> {
    let known: BTreeSet<&str> = trials.iter().flat_map(|t| &t.rows).map(|r| r.metric.as_str()).collect();
    let Some(metric) = wanted.iter().find(|m| !known.contains(m.as_str())) else { return Ok(()) };
    let likeness = |name: &&str| strsim::jaro_winkler(name, metric);
    let nearest = known.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    Err(UnknownMetric {
        metric: metric.clone(),
        nearest: nearest.filter(|name| likeness(name) > 0.8).map(String::from),
        known: known.into_iter().map(String::from).collect(),
    })
}

/// The end of a trial by one metric, in the units of tables (accuracies in per cent); none if it was not recorded.
pub fn end(trial: &StoredTrial, metric: &str) -> Option<f64> {
    Measure::new(metric).of(trial)
}

/// The words for a metric.
pub(crate) fn head_of(metric: &str) -> String {
    Measure::new(metric).head
}

/// The default metric: the first known one that all trials have.
pub(crate) fn main_metric(trials: &[StoredTrial]) -> Option<&'static str> {
    let known = || NETWORK.into_iter().chain(PROBLEM);
    let judged = known().filter(|m| Measure::new(m).goal != Goal::Open);
    let has = |trial: &StoredTrial, metric: &str| trial.rows.iter().any(|r| r.metric == metric);
    judged.into_iter().find(|m| !trials.is_empty() && trials.iter().all(|t| has(t, m)))
}
