//! Running a spec: one trial per seed, records as a tidy table.

use std::fmt::Write as _;

use rayon::prelude::*;
use residuum::{Control, Key, Objective, UpdateRule, minimize};
use thiserror::Error;

use crate::progress::{Cancelled, Progress};
use crate::spec::{Metric, RecordSpec, Spec, Variable, noisy};

/// One recorded number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    /// Seed of the trial.
    pub seed: u64,
    /// Steps taken.
    pub step: u64,
    /// What it is.
    pub metric: Metric,
    /// Which entry, for a vector.
    pub index: Option<usize>,
    /// The number.
    pub value: f64,
}

/// A run that could not be finished.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The spec cannot be built for this seed.
    #[error("seed {seed}: {message}")]
    Build {
        /// The seed.
        seed: u64,
        /// The sentence.
        message: String,
    },
    /// A weight became NaN or infinite.
    #[error(
        "seed {seed}: {variable} [{index}] is {value} after step {step}; the iteration diverges, \
         try a smaller rule.learning_rate"
    )]
    Diverged {
        /// The seed.
        seed: u64,
        /// The step.
        step: u64,
        /// Which array.
        variable: &'static str,
        /// Which weight.
        index: usize,
        /// What it became.
        value: f64,
    },
    /// The user stopped it.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Runs all seeds, in parallel, and returns their records in the order of the seeds.
///
/// # Errors
/// The error of the first seed that fails; no records are kept then.
pub fn run(spec: &Spec, progress: &dyn Progress) -> Result<Vec<Record>, RunError> {
    progress.begin("steps", spec.steps * spec.seeds.len() as u64);
    let trials: Vec<_> = spec.seeds.par_iter().map(|&seed| trial(spec, seed, progress)).collect();
    let mut records = Vec::new();
    for trial in trials {
        records.extend(trial?);
    }
    Ok(records)
}

/// Steps between two looks at the progress and at the user's wish to stop.
const REPORT_EVERY: u64 = 256;

fn trial(spec: &Spec, seed: u64, progress: &dyn Progress) -> Result<Vec<Record>, RunError> {
    let key = Key::new(seed);
    let fail = |message: String| RunError::Build { seed, message };
    let objective = spec.problem.build(key.named("problem")).map_err(|e| fail(e.to_string()))?;
    let oracle = noisy(objective, &spec.noise).map_err(|e| fail(e.to_string()))?;
    let devices = spec.devices.as_ref().map(|(main, residual)| (main, residual));
    let mut rule =
        spec.rule.build(&spec.initial, devices, spec.problem.dim(), key.named("rule")).map_err(fail)?;

    let mut recorder = Recorder::new(&spec.record, oracle.objective(), seed);
    let mut outcome = Ok(());
    let mut unreported = 0;
    let mut observe = |k: u64, _: usize, rule: &dyn UpdateRule| {
        if k > 0 {
            unreported += 1;
            if unreported == REPORT_EVERY {
                progress.advance(unreported);
                unreported = 0;
                // A diverging run need not be recorded to be stopped.
                let healthy = recorder.check_finite(k, rule);
                let verdict = if progress.cancelled() { Err(Cancelled.into()) } else { healthy };
                if verdict.is_err() {
                    outcome = verdict;
                    return Control::Stop;
                }
            }
        }
        match recorder.observe(k, rule) {
            Ok(()) => Control::Continue,
            Err(error) => {
                outcome = Err(error);
                Control::Stop
            }
        }
    };
    minimize(&oracle, &mut [&mut *rule], spec.steps, key, &mut observe).map_err(|e| fail(e.to_string()))?;
    progress.advance(unreported);
    outcome?;
    Ok(recorder.records)
}

struct Recorder<'a> {
    spec: &'a RecordSpec,
    objective: &'a dyn Objective,
    min_value: Option<f64>,
    seed: u64,
    next: usize,
    effective: Vec<f64>,
    tail_sum: Vec<f64>,
    tail_count: u64,
    wants_tail: bool,
    records: Vec<Record>,
}

impl<'a> Recorder<'a> {
    fn new(spec: &'a RecordSpec, objective: &'a dyn Objective, seed: u64) -> Self {
        let n = objective.dim();
        Self {
            spec,
            objective,
            min_value: objective.minimizer().map(|w| objective.value(w)),
            seed,
            next: 0,
            effective: vec![0.0; n],
            tail_sum: vec![0.0; n],
            tail_count: 0,
            wants_tail: spec.metrics.iter().any(|m| m.variable() == Some(Variable::TailAverage)),
            records: Vec::with_capacity(spec.rows(n) as usize),
        }
    }

    fn observe(&mut self, k: u64, rule: &dyn UpdateRule) -> Result<(), RunError> {
        let due = self.spec.steps.get(self.next) == Some(&k);
        let in_tail = self.wants_tail && k >= self.spec.tail_from;
        if !due && !in_tail {
            return Ok(());
        }
        rule.effective_weights(&mut self.effective);
        if in_tail {
            self.tail_count += 1;
            self.tail_sum.iter_mut().zip(&self.effective).for_each(|(sum, w)| *sum += w);
        }
        if due {
            self.next += 1;
            self.check_finite(k, rule)?;
            for &metric in &self.spec.metrics {
                self.record(k, metric, rule);
            }
        }
        Ok(())
    }

    fn check_finite(&self, step: u64, rule: &dyn UpdateRule) -> Result<(), RunError> {
        for (variable, state) in rule.arrays() {
            if let Some(index) = state.iter().position(|w| !w.is_finite()) {
                return Err(RunError::Diverged { seed: self.seed, step, variable, index, value: state[index] });
            }
        }
        Ok(())
    }

    fn record(&mut self, step: u64, metric: Metric, rule: &dyn UpdateRule) {
        let seed = self.seed;
        let gap = |w: &[f64]| self.objective.value(w) - self.min_value.unwrap_or(f64::NAN);
        let value = match metric {
            Metric::Entries(variable) => {
                let vector = self.vector(variable, rule);
                let row = |i: usize| Record { seed, step, metric, index: Some(i), value: vector[i] };
                let rows: Vec<Record> = match &self.spec.indices {
                    Some(indices) => indices.iter().map(|&i| row(i)).collect(),
                    None => (0..vector.len()).map(row).collect(),
                };
                self.records.extend(rows);
                return;
            }
            Metric::Mean(v) => residuum::stats::Summary::of(self.vector(v, rule)).mean,
            Metric::Deviation(v) => residuum::stats::Summary::of(self.vector(v, rule)).std,
            Metric::Objective => self.objective.value(&self.effective),
            Metric::Gap => gap(&self.effective),
            Metric::MainGap => gap(rule.arrays()[0].1),
            Metric::TailGap => gap(&self.vector(Variable::TailAverage, rule)),
            Metric::Distance => self.squared_distance(&self.effective).sqrt(),
            Metric::Lyapunov => {
                let mu = self.objective.curvature().map_or(f64::NAN, |(mu, _)| mu);
                gap(&self.effective) + 0.5 * mu * self.squared_distance(rule.arrays()[0].1)
            }
            Metric::Pulses => rule.pulses_sent() as f64,
        };
        self.records.push(Record { seed, step, metric, index: None, value });
    }

    fn squared_distance(&self, w: &[f64]) -> f64 {
        self.objective.minimizer().map_or(f64::NAN, |m| w.iter().zip(m).map(|(w, m)| (w - m) * (w - m)).sum())
    }

    fn vector(&self, variable: Variable, rule: &dyn UpdateRule) -> Vec<f64> {
        match variable {
            Variable::Main => rule.arrays()[0].1.to_vec(),
            Variable::Residual => rule.arrays()[1].1.to_vec(),
            Variable::Effective => self.effective.clone(),
            // Before the tail begins there is nothing to average: NaN says so.
            Variable::TailAverage => self.tail_sum.iter().map(|sum| sum / self.tail_count as f64).collect(),
        }
    }
}

/// The records as CSV with the columns `seed,step,metric,index,value`; numbers are written so that reading them
/// back gives the same bits, and `index` is empty for scalars.
pub fn to_csv(records: &[Record]) -> String {
    let mut text = String::from("seed,step,metric,index,value\n");
    for r in records {
        let index = r.index.map_or_else(String::new, |i| i.to_string());
        let _ = writeln!(text, "{},{},{},{index},{}", r.seed, r.step, r.metric, r.value);
    }
    text
}
