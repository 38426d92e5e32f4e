//! How far a trial of a problem is: the state of its rule and what was recorded.

use residuum::{Rule, Tensors};
use residuum_nn::checkpoint::Position;
use serde::{Deserialize, Serialize};

use super::recorder::Kept;
use crate::spec::RecordSpec;
use crate::store::Row;

/// Where a trial was; its numbers are tensors beside it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Progressed {
    /// What is run, as text.
    pub(super) description: String,
    pub(super) step: u64,
    pub(super) seconds: f64,
    next: usize,
    tail_count: u64,
    /// Step, place of the metric in the spec, index; the values are a tensor.
    rows: Vec<(u64, usize, Option<u64>)>,
}

impl Position for Progressed {
    fn name(&self) -> String {
        format!("step-{:012}", self.step)
    }
}

/// The state after `step` steps.
pub(super) fn save(
    description: &str,
    (step, seconds): (u64, f64),
    rule: &dyn Rule,
    metrics: &RecordSpec,
    kept: &Kept,
) -> (Progressed, Tensors) {
    let names: Vec<String> = metrics.metrics.iter().map(ToString::to_string).collect();
    let place = |row: &Row| names.iter().position(|name| *name == row.metric);
    let placed: Vec<(&Row, usize)> = kept.rows.iter().filter_map(|r| Some((r, place(r)?))).collect();
    let values: Vec<f64> = placed.iter().map(|(row, _)| row.value).collect();
    let mut tensors = Tensors::new();
    tensors.nest("rule", rule.tensors());
    tensors.vector("tail_sum", &kept.tail_sum);
    tensors.vector("rows", &values);
    let position = Progressed {
        description: description.into(),
        step,
        seconds,
        next: kept.next,
        tail_count: kept.tail_count,
        rows: placed.iter().map(|(row, place)| (row.step, *place, row.index)).collect(),
    };
    (position, tensors)
}

/// Puts a state back, if all of it fits; nothing is lost otherwise but time.
pub(super) fn restore(
    position: &Progressed,
    state: &Tensors,
    rule: &mut dyn Rule,
    metrics: &RecordSpec,
    kept: &mut Kept,
) -> bool {
    let mut values = vec![0.0; position.rows.len()];
    let mut tail_sum = kept.tail_sum.clone();
    let mut expected = Tensors::new();
    expected.nest("rule", rule.tensors());
    expected.vector("tail_sum", &tail_sum);
    expected.vector("rows", &values);
    if state.fit(&expected).is_err() {
        return false;
    }
    state.read("tail_sum", &mut tail_sum);
    state.read("rows", &mut values);
    let row = |(&(step, place, index), &value): (&(u64, usize, Option<u64>), &f64)| {
        let metric = metrics.metrics.get(place)?.to_string();
        Some(Row { epoch: None, step, metric, part: String::new(), index, value })
    };
    let Some(rows) = position.rows.iter().zip(&values).map(row).collect() else { return false };
    if rule.load(&state.within("rule")).is_err() {
        return false;
    }
    *kept = Kept { next: position.next, tail_count: position.tail_count, tail_sum, rows };
    true
}
