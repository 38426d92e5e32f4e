//! How far a trial of a problem is: the state of its rule and what was recorded.

use residuum::{Rule, Tensors};
use residuum_nn::checkpoint::Position;
use serde::{Deserialize, Serialize};

use super::Record;
use super::recorder::Kept;
use crate::spec::RecordSpec;

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
    records: Vec<(u64, usize, Option<usize>)>,
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
    let place = |record: &Record| metrics.metrics.iter().position(|&m| m == record.metric);
    let placed: Vec<(&Record, usize)> = kept.records.iter().filter_map(|r| Some((r, place(r)?))).collect();
    let values: Vec<f64> = placed.iter().map(|(record, _)| record.value).collect();
    let mut tensors = Tensors::new();
    tensors.nest("rule", rule.tensors());
    tensors.vector("tail_sum", &kept.tail_sum);
    tensors.vector("records", &values);
    let position = Progressed {
        description: description.into(),
        step,
        seconds,
        next: kept.next,
        tail_count: kept.tail_count,
        records: placed.iter().map(|(record, place)| (record.step, *place, record.index)).collect(),
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
    seed: u64,
) -> bool {
    let mut values = vec![0.0; position.records.len()];
    let mut tail_sum = kept.tail_sum.clone();
    let mut expected = Tensors::new();
    expected.nest("rule", rule.tensors());
    expected.vector("tail_sum", &tail_sum);
    expected.vector("records", &values);
    if state.fit(&expected).is_err() {
        return false;
    }
    state.read("tail_sum", &mut tail_sum);
    state.read("records", &mut values);
    let record = |(&(step, place, index), &value): (&(u64, usize, Option<usize>), &f64)| {
        Some(Record { seed, step, metric: *metrics.metrics.get(place)?, index, value })
    };
    let Some(records) = position.records.iter().zip(&values).map(record).collect() else { return false };
    if rule.load(&state.within("rule")).is_err() {
        return false;
    }
    *kept = Kept { next: position.next, tail_count: position.tail_count, tail_sum, records };
    true
}
