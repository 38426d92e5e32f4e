//! Checkpoints of a problem's trial: the state of its rule and its records so far.

use residuum::{Rule, Tensors};
use residuum_nn::checkpoint::Position;
use serde::{Deserialize, Serialize};

use super::recorder::Kept;
use crate::store::{rows_from_csv, rows_to_csv};

/// The position of a trial; its numbers are stored as tensors next to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Progressed {
    /// What is run, as text.
    pub(super) description: String,
    pub(super) step: u64,
    pub(super) seconds: f64,
    next: usize,
    tail_count: u64,
    /// What was recorded, as CSV.
    rows: String,
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
    kept: &Kept,
) -> (Progressed, Tensors) {
    let position = Progressed {
        description: description.into(),
        step,
        seconds,
        next: kept.next,
        tail_count: kept.tail_count,
        rows: rows_to_csv(&kept.rows),
    };
    (position, tensors(rule, &kept.tail_sum))
}

fn tensors(rule: &dyn Rule, tail_sum: &[f64]) -> Tensors {
    let mut tensors = Tensors::new();
    tensors.nest("rule", rule.tensors());
    tensors.vector("tail_sum", tail_sum);
    tensors
}

/// Restores a state if all of it fits; otherwise only time is lost.
pub(super) fn restore(position: &Progressed, state: &Tensors, rule: &mut dyn Rule, kept: &mut Kept) -> bool {
    let Ok(rows) = rows_from_csv(&position.rows) else { return false };
    if state.fit(&tensors(rule, &kept.tail_sum)).is_err() || rule.load(&state.within("rule")).is_err() {
        return false;
    }
    let mut tail_sum = kept.tail_sum.clone();
    state.read("tail_sum", &mut tail_sum);
    *kept = Kept { next: position.next, tail_count: position.tail_count, tail_sum, rows };
    true
}
