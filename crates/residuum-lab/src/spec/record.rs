//! `[record]`: which numbers are kept, and when.

use std::fmt;

use serde_json::{Value as Json, json};

use super::MAX_ROWS;
use super::node::{Node, SpecError, Value};
use super::section::{Optional, Or, Takes, section};
use super::table::{At, Table};
use super::types::{count, list};
use super::vector::{VectorSpec, vector};

section! {
    /// Where a run starts.
    pub struct InitialSpec {
        /// W₀
        main: VectorSpec = vector(), "weight", Or("0");
        /// P₀
        residual: Option<VectorSpec> = vector(), "weight", Optional("the symmetric point that the rule assumes");
    }
}

section! {
    /// Which numbers a run records, and when.
    pub(crate) struct RecordTable {
        /// `main`, `residual`, `effective`, `tail_average` (each also with `_mean` and `_std`), `objective`, `gap`, `main_gap`,
        /// `tail_gap`, `distance`, `lyapunov`, `pulses`
        metrics: Vec<Metric> = Metrics, "–", Or("[\"gap\", \"effective\"]");
        /// steps to record; step 0 is the start
        steps: Option<Vec<u64>> = list(count(), "a list of whole numbers", [0, usize::MAX]), "steps", Optional("by `every`");
        /// interval: steps 0, n, 2n, … and the last
        every: Option<u64> = count().at_least(1), "steps", Optional("1/100 of the run");
        /// entries of vectors to record, from 0
        indices: Option<Vec<u64>> = list(count(), "a list of whole numbers", [0, usize::MAX]), "–", Optional("all");
        /// first step of `tail_average`
        tail_from: Option<u64> = count(), "steps", Optional("half of the run");
    }
}

/// Names of metrics.
#[derive(Clone, Copy, Debug)]
struct Metrics;

impl Takes for Metrics {
    type Value = Vec<Metric>;

    fn accepts(&self, node: &Node) -> bool {
        matches!(node.value, Value::List(_))
    }

    fn read(&self, at: &At<'_>) -> Result<Vec<Metric>, SpecError> {
        let Value::List(items) = &at.node.value else { return Err(at.must("a list of names")) };
        if items.is_empty() {
            return Err(at.error(" must name at least one metric"));
        }
        at.list_whole();
        let read = |item: &Node| {
            item.as_text().and_then(Metric::parse).ok_or_else(|| {
                let (path, names) = (&at.path, Metric::names().join(", "));
                item.error(format!("{path}: no metric {}; there are {names}", item.show()))
            })
        };
        items.iter().map(read).collect()
    }

    fn noun(&self) -> String {
        "a list of names".into()
    }

    fn schema(&self) -> Json {
        json!({ "type": "array", "items": { "enum": Metric::names() }, "minItems": 1 })
    }
}

/// A vector that can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    /// W.
    Main,
    /// P.
    Residual,
    /// W̄, where the gradient is taken.
    Effective,
    /// Mean of W̄ since `tail_from`, kept in digital memory.
    TailAverage,
}

impl Variable {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Main, "main"),
        (Self::Residual, "residual"),
        (Self::Effective, "effective"),
        (Self::TailAverage, "tail_average"),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(v, _)| *v == self).map_or("", |(_, name)| name)
    }
}

/// A number or vector that can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The entries of a vector.
    Entries(Variable),
    /// Mean over its entries.
    Mean(Variable),
    /// Standard deviation over its entries (n − 1).
    Deviation(Variable),
    /// f(W̄).
    Objective,
    /// f(W̄) − f*.
    Gap,
    /// f(W) − f*.
    MainGap,
    /// f(tail average) − f*.
    TailGap,
    /// ‖W̄ − W*‖.
    Distance,
    /// V = f(W̄) − f* + (μ/2)‖W − W*‖², the Lyapunov function with C = μ.
    Lyapunov,
    /// Pulses sent so far.
    Pulses,
}

impl Metric {
    const SCALARS: [(Self, &'static str); 7] = [
        (Self::Objective, "objective"),
        (Self::Gap, "gap"),
        (Self::MainGap, "main_gap"),
        (Self::TailGap, "tail_gap"),
        (Self::Distance, "distance"),
        (Self::Lyapunov, "lyapunov"),
        (Self::Pulses, "pulses"),
    ];

    /// All names a spec may use.
    pub fn names() -> Vec<String> {
        let vectors = Variable::ALL
            .iter()
            .flat_map(|(_, name)| [(*name).to_string(), format!("{name}_mean"), format!("{name}_std")]);
        vectors.chain(Self::SCALARS.iter().map(|(_, name)| (*name).to_string())).collect()
    }

    /// The metric of this name, if there is one.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some((metric, _)) = Self::SCALARS.iter().find(|(_, name)| *name == text) {
            return Some(*metric);
        }
        Variable::ALL.iter().find_map(|(variable, name)| match text.strip_prefix(name)? {
            "" => Some(Self::Entries(*variable)),
            "_mean" => Some(Self::Mean(*variable)),
            "_std" => Some(Self::Deviation(*variable)),
            _ => None,
        })
    }

    /// The vector the metric is made of, if it is one.
    pub fn variable(self) -> Option<Variable> {
        match self {
            Self::Entries(v) | Self::Mean(v) | Self::Deviation(v) => Some(v),
            Self::TailGap => Some(Variable::TailAverage),
            _ => None,
        }
    }

    /// Whether it needs to know W*.
    pub fn needs_minimizer(self) -> bool {
        matches!(self, Self::Gap | Self::MainGap | Self::TailGap | Self::Distance | Self::Lyapunov)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entries(v) => f.write_str(v.name()),
            Self::Mean(v) => write!(f, "{}_mean", v.name()),
            Self::Deviation(v) => write!(f, "{}_std", v.name()),
            scalar => {
                let name = Self::SCALARS.iter().find(|(m, _)| m == scalar).map_or("", |(_, name)| name);
                f.write_str(name)
            }
        }
    }
}

/// What to record and when.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordSpec {
    /// The metrics, in the order given.
    pub metrics: Vec<Metric>,
    /// Steps at which they are taken, ascending.
    pub steps: Vec<u64>,
    /// Entries of vectors that are kept; all if `None`.
    pub indices: Option<Vec<usize>>,
    /// First step of the tail average.
    pub tail_from: u64,
}

impl RecordSpec {
    pub(crate) fn new(f: RecordTable, steps: u64, dim: usize, at: &Table<'_>) -> Result<Self, SpecError> {
        let taken = match (f.steps, f.every) {
            (Some(_), Some(_)) => {
                return Err(at.error("record.every must not be given together with record.steps"));
            }
            (Some(list), None) => ascending(at, "steps", list, steps, "at most the number of steps")?,
            // Refused before the list of steps fills the memory.
            (None, Some(n)) if steps / n >= MAX_ROWS => {
                let least = steps / MAX_ROWS + 1;
                return Err(at.error(format!(
                    "record.every must be at least {least} to stay within {MAX_ROWS} rows, got {n}"
                )));
            }
            (None, Some(n)) => every(n, steps),
            (None, None) => {
                // A hundredth of the run.
                let n = (steps / 100).max(1);
                at.defaulted("every", n.to_string());
                every(n, steps)
            }
        };
        let last = (dim - 1) as u64;
        let indices = f.indices.map(|list| ascending(at, "indices", list, last, "below the number of weights"));
        let indices = indices.transpose()?.map(|list| list.into_iter().map(|i| i as usize).collect());
        let tail_from = f.tail_from.unwrap_or_else(|| {
            at.defaulted("tail_from", (steps / 2).to_string());
            steps / 2
        });
        if tail_from > steps {
            return Err(at.error(format!("record.tail_from must be at most steps = {steps}, got {tail_from}")));
        }
        Ok(Self { metrics: f.metrics, steps: taken, indices, tail_from })
    }

    /// Rows per seed.
    pub fn rows(&self, dim: usize) -> u64 {
        let entries = self.indices.as_ref().map_or(dim, Vec::len) as u64;
        let per_step: u64 =
            self.metrics.iter().map(|m| if matches!(m, Metric::Entries(_)) { entries } else { 1 }).sum();
        per_step.saturating_mul(self.steps.len() as u64)
    }
}

/// 0, n, 2n, … and the last step.
pub fn every(n: u64, steps: u64) -> Vec<u64> {
    let mut at: Vec<u64> = (0..=steps).step_by(n.max(1) as usize).collect();
    if at.last() != Some(&steps) {
        at.push(steps);
    }
    at
}

/// A list in ascending order without doubles.
fn ascending(
    at: &Table<'_>,
    name: &str,
    mut list: Vec<u64>,
    max: u64,
    must: &str,
) -> Result<Vec<u64>, SpecError> {
    let path = at.path(name);
    if let Some(wrong) = list.iter().find(|n| **n > max) {
        return Err(at.error(format!("{path} must be whole numbers {must}, got {wrong}")));
    }
    list.sort_unstable();
    list.dedup();
    if list.is_empty() {
        return Err(at.error(format!("{path} must not be empty")));
    }
    Ok(list)
}
