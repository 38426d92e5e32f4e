//! `[record]`: which numbers are kept, and when.

use std::fmt;

use super::MAX_ROWS;
use super::reader::{Fields, Node, SpecError, Value};

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

    fn parse(text: &str) -> Option<Self> {
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
    pub(crate) fn read(fields: Option<&Fields<'_>>, steps: u64, dim: usize) -> Result<Self, SpecError> {
        let default_every = default_every(steps);
        let Some(fields) = fields else {
            return Ok(Self {
                metrics: vec![Metric::Gap, Metric::Entries(Variable::Effective)],
                steps: every(default_every, steps),
                indices: None,
                tail_from: steps / 2,
            });
        };
        let metrics = match fields.given("metrics") {
            None => {
                fields.defaulted("metrics", DEFAULT_METRICS);
                vec![Metric::Gap, Metric::Entries(Variable::Effective)]
            }
            Some(node) => read_metrics(fields, node)?,
        };
        let at = match (fields.given("steps"), fields.given("every")) {
            (Some(_), Some(node)) => return Err(node.error("record must have steps or every, not both")),
            (Some(node), None) => read_counts(fields, "steps", node, steps, "at most the number of steps")?,
            (None, Some(_)) => match fields.count("every")? {
                0 => return Err(fields.error("record.every must be at least 1, got 0")),
                // Refused before the list of steps fills the memory.
                n if steps / n >= MAX_ROWS => {
                    let least = steps / MAX_ROWS + 1;
                    return Err(fields.error(format!(
                        "record.every must be at least {least}, or more than {MAX_ROWS} rows are written, got {n}"
                    )));
                }
                n => every(n, steps),
            },
            (None, None) => {
                fields.defaulted("every", default_every.to_string());
                every(default_every, steps)
            }
        };
        let indices = match fields.given("indices") {
            None => None,
            Some(node) => {
                let last = (dim - 1) as u64;
                let list = read_counts(fields, "indices", node, last, "below the number of weights")?;
                Some(list.into_iter().map(|i| i as usize).collect())
            }
        };
        let tail_from = fields.count_or("tail_from", steps / 2)?;
        if tail_from > steps {
            return Err(
                fields.error(format!("record.tail_from must be at most steps = {steps}, got {tail_from}"))
            );
        }
        Ok(Self { metrics, steps: at, indices, tail_from })
    }

    /// Lists what is recorded without a table, as fields of the whole document.
    pub(crate) fn list_defaults(root: &Fields<'_>, steps: u64) {
        root.defaulted("record.metrics", DEFAULT_METRICS);
        root.defaulted("record.every", default_every(steps).to_string());
        root.defaulted("record.tail_from", (steps / 2).to_string());
    }

    /// Rows per seed.
    pub fn rows(&self, dim: usize) -> u64 {
        let entries = self.indices.as_ref().map_or(dim, Vec::len) as u64;
        let per_step: u64 =
            self.metrics.iter().map(|m| if matches!(m, Metric::Entries(_)) { entries } else { 1 }).sum();
        per_step.saturating_mul(self.steps.len() as u64)
    }
}

const DEFAULT_METRICS: &str = "[\"gap\", \"effective\"]";

/// A hundredth of the run.
fn default_every(steps: u64) -> u64 {
    (steps / 100).max(1)
}

/// 0, n, 2n, … and the last step.
fn every(n: u64, steps: u64) -> Vec<u64> {
    let mut at: Vec<u64> = (0..=steps).step_by(n.max(1) as usize).collect();
    if at.last() != Some(&steps) {
        at.push(steps);
    }
    at
}

fn read_metrics(fields: &Fields<'_>, node: &Node) -> Result<Vec<Metric>, SpecError> {
    let path = fields.path("metrics");
    let Value::List(items) = &node.value else {
        return Err(node.error(format!("{path} must be a list of names, got {}", node.show())));
    };
    if items.is_empty() {
        return Err(node.error(format!("{path} must name at least one metric")));
    }
    items
        .iter()
        .map(|item| {
            let known = || {
                item.error(format!(
                    "{path}: no metric {}; there are {}",
                    item.show(),
                    Metric::names().join(", ")
                ))
            };
            let Value::Text(text) = &item.value else { return Err(known()) };
            Metric::parse(text).ok_or_else(known)
        })
        .collect()
}

fn read_counts(
    fields: &Fields<'_>,
    name: &str,
    node: &Node,
    max: u64,
    must: &str,
) -> Result<Vec<u64>, SpecError> {
    let path = fields.path(name);
    let Value::List(items) = &node.value else {
        return Err(node.error(format!("{path} must be a list of whole numbers, got {}", node.show())));
    };
    let mut list = items
        .iter()
        .map(|item| match item.value {
            Value::Integer(i) if i >= 0 && i as u64 <= max => Ok(i as u64),
            _ => Err(item.error(format!("{path} must be whole numbers {must}, got {}", item.show()))),
        })
        .collect::<Result<Vec<_>, _>>()?;
    list.sort_unstable();
    list.dedup();
    if list.is_empty() {
        return Err(node.error(format!("{path} must not be empty")));
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_to_itself() {
        for name in Metric::names() {
            assert_eq!(Metric::parse(&name).map(|m| m.to_string()), Some(name));
        }
        assert_eq!(Metric::parse("loss"), None);
    }

    #[test]
    fn the_last_step_is_always_recorded() {
        assert_eq!(every(4, 10), [0, 4, 8, 10]);
        assert_eq!(every(5, 10), [0, 5, 10]);
        assert_eq!(every(1, 0), [0]);
    }
}
