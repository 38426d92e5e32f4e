use residuum::{Objective, Rule};

use super::ProblemRunError;
use crate::spec::{Metric, RecordSpec, Variable};
use crate::store::Row;

/// How many times the size of the start, of the minimiser and of 1 a weight may have before the run counts as diverged: what
/// follows says nothing, even where it stays finite.
const DIVERGED: f64 = 1e9;

fn largest(weights: &[f64]) -> f64 {
    weights.iter().fold(0.0, |largest, w| largest.max(w.abs()))
}

/// The state of a recorder.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kept {
    /// Which of the recorded steps comes next.
    pub(super) next: usize,
    pub(super) tail_count: u64,
    pub(super) tail_sum: Vec<f64>,
    pub(super) rows: Vec<Row>,
}

/// Observes a rule after every step and records what the spec asks for.
pub(super) struct Recorder<'a> {
    spec: &'a RecordSpec,
    objective: &'a dyn Objective,
    min_value: Option<f64>,
    seed: u64,
    /// Beyond this a weight has diverged.
    largest: f64,
    effective: Vec<f64>,
    wants_tail: bool,
    /// The scalar shown while the trial runs: the gap, or the first one recorded.
    shown: Option<Metric>,
    newest: Option<f64>,
    /// The state that checkpoints save.
    pub(super) kept: Kept,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(spec: &'a RecordSpec, objective: &'a dyn Objective, start: &[f64], seed: u64) -> Self {
        let n = objective.dim();
        let is_scalar = |metric: &&Metric| !matches!(metric, Metric::Entries(_));
        let gap = spec.metrics.iter().find(|metric| **metric == Metric::Gap);
        Self {
            shown: gap.or_else(|| spec.metrics.iter().find(is_scalar)).copied(),
            newest: None,
            spec,
            objective,
            min_value: objective.minimizer().map(|w| objective.value(w)),
            seed,
            largest: DIVERGED * largest(objective.minimizer().unwrap_or_default()).max(largest(start)).max(1.0),
            effective: vec![0.0; n],
            wants_tail: spec.metrics.iter().any(|m| m.variable() == Some(Variable::TailAverage)),
            kept: Kept {
                next: 0,
                tail_count: 0,
                tail_sum: vec![0.0; n],
                rows: Vec::with_capacity(spec.rows(n) as usize),
            },
        }
    }

    pub(super) fn observe(&mut self, k: u64, rule: &dyn Rule) -> Result<(), ProblemRunError> {
        let due = self.spec.steps.get(self.kept.next) == Some(&k);
        let in_tail = self.wants_tail && k >= self.spec.tail_from;
        if !due && !in_tail {
            return Ok(());
        }
        self.effective.copy_from_slice(rule.effective_weights());
        if in_tail {
            self.kept.tail_count += 1;
            self.kept.tail_sum.iter_mut().zip(&self.effective).for_each(|(sum, w)| *sum += w);
        }
        if due {
            self.kept.next += 1;
            self.check_bounded(k, rule)?;
            for &metric in &self.spec.metrics {
                self.record(k, metric, rule);
            }
        }
        Ok(())
    }

    /// The latest value of the scalar shown while the trial runs, once.
    pub(super) fn take_newest(&mut self) -> Option<(String, f64)> {
        Some((self.shown?.to_string(), self.newest.take()?))
    }

    /// Refuses weights that have left the scale of the problem, or the numbers.
    pub(super) fn check_bounded(&self, step: u64, rule: &dyn Rule) -> Result<(), ProblemRunError> {
        for (variable, state) in rule.states() {
            if let Some(index) = state.iter().position(|w| w.is_nan() || w.abs() > self.largest) {
                return Err(ProblemRunError::Diverged {
                    seed: self.seed,
                    step,
                    variable,
                    index,
                    value: state[index],
                });
            }
        }
        Ok(())
    }

    fn record(&mut self, step: u64, metric: Metric, rule: &dyn Rule) {
        let row = |index: Option<usize>, value: f64| Row {
            epoch: None,
            step,
            metric: metric.to_string(),
            part: String::new(),
            index: index.map(|i| i as u64),
            value,
        };
        let gap = |w: &[f64]| self.objective.value(w) - self.min_value.unwrap_or(f64::NAN);
        let value = match metric {
            Metric::Entries(variable) => {
                let vector = self.vector(variable, rule);
                let entry = |i: usize| row(Some(i), vector[i]);
                let rows: Vec<Row> = match &self.spec.indices {
                    Some(indices) => indices.iter().map(|&i| entry(i)).collect(),
                    None => (0..vector.len()).map(entry).collect(),
                };
                self.kept.rows.extend(rows);
                return;
            }
            Metric::Mean(v) => residuum::stats::Summary::of(self.vector(v, rule)).mean,
            Metric::Deviation(v) => residuum::stats::Summary::of(self.vector(v, rule)).std,
            Metric::Objective => self.objective.value(&self.effective),
            Metric::Gap => gap(&self.effective),
            Metric::MainGap => gap(rule.states()[0].1),
            Metric::TailGap => gap(&self.vector(Variable::TailAverage, rule)),
            Metric::Distance => self.squared_distance(&self.effective).sqrt(),
            Metric::Lyapunov => {
                let mu = self.objective.curvature().map_or(f64::NAN, |(mu, _)| mu);
                gap(&self.effective) + 0.5 * mu * self.squared_distance(rule.states()[0].1)
            }
            Metric::Pulses => rule.pulses_sent() as f64,
        };
        self.kept.rows.push(row(None, value));
        if self.shown == Some(metric) {
            self.newest = Some(value);
        }
    }

    fn squared_distance(&self, w: &[f64]) -> f64 {
        self.objective.minimizer().map_or(f64::NAN, |m| w.iter().zip(m).map(|(w, m)| (w - m) * (w - m)).sum())
    }

    fn vector(&self, variable: Variable, rule: &dyn Rule) -> Vec<f64> {
        match variable {
            Variable::Main => rule.states()[0].1.to_vec(),
            Variable::Residual => rule.states()[1].1.to_vec(),
            Variable::Effective => self.effective.clone(),
            // Before the tail begins there is nothing to average, hence NaN.
            Variable::TailAverage => {
                self.kept.tail_sum.iter().map(|sum| sum / self.kept.tail_count as f64).collect()
            }
        }
    }
}
