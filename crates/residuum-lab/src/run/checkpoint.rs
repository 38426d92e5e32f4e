//! How far a trial of a problem is: the state of its rule and what was recorded.

use std::fs;
use std::path::Path;

use residuum::UpdateRule;
use residuum::rule::Slot;
use serde::{Deserialize, Serialize};

use super::recorder::Kept;
use crate::files::{FileError, write_whole};
use crate::store::{rows_from_csv, rows_to_csv};

const SCHEMA: &str = "residuum.problem-checkpoint/2";

/// Numbers are kept as their bits: JSON has no NaN, and would round.
#[derive(Serialize, Deserialize)]
pub(super) struct Checkpoint {
    schema: String,
    description: String,
    step: u64,
    seconds: f64,
    /// Every slot of the rule by name.
    state: Vec<(String, Vec<u64>)>,
    next: usize,
    tail_count: u64,
    tail_sum: Vec<u64>,
    /// As CSV.
    rows: String,
}

impl Checkpoint {
    /// The state after `step` steps.
    pub(super) fn of(
        description: &str,
        step: u64,
        seconds: f64,
        rule: &mut dyn UpdateRule,
        kept: &Kept,
    ) -> Self {
        let mut state = Vec::new();
        rule.state(&mut |name, slot| {
            let bits = match slot {
                Slot::Floats(values) => values.iter().map(|v| v.to_bits().into()).collect(),
                Slot::Doubles(values) => values.iter().map(|v| v.to_bits()).collect(),
                Slot::Count(value) => vec![*value],
                Slot::Counts(values) => values.iter().map(|&v| v.into()).collect(),
            };
            state.push((name.to_string(), bits));
        });
        Self {
            schema: SCHEMA.into(),
            description: description.into(),
            step,
            seconds,
            state,
            next: kept.next,
            tail_count: kept.tail_count,
            tail_sum: kept.tail_sum.iter().map(|v| v.to_bits()).collect(),
            rows: rows_to_csv(&kept.rows),
        }
    }

    /// Puts the file in place of the one before. A kill leaves one of them whole.
    pub(super) fn write(&self, path: &Path) -> Result<(), FileError> {
        write_whole(path, serde_json::to_string(self).unwrap_or_default().as_bytes())
    }

    /// The checkpoint of this description; none if there is none that can be read. Nothing is lost then but time.
    pub(super) fn read(path: &Path, description: &str) -> Option<Self> {
        let text = fs::read(path).ok()?;
        let found: Self = serde_json::from_slice(&text).ok()?;
        (found.schema == SCHEMA && found.description == description).then_some(found)
    }

    /// Writes the state back, if all of it fits; gives the steps done and the time they took.
    pub(super) fn restore(self, rule: &mut dyn UpdateRule, kept: &mut Kept) -> Option<(u64, f64)> {
        let mut fits = self.tail_sum.len() == kept.tail_sum.len();
        let mut slots = 0;
        rule.state(&mut |name, slot| {
            let length = match slot {
                Slot::Floats(values) => values.len(),
                Slot::Doubles(values) => values.len(),
                Slot::Count(_) => 1,
                Slot::Counts(values) => values.len(),
            };
            let stored = self.state.get(slots);
            fits &= stored.is_some_and(|(own, bits)| own == name && bits.len() == length);
            slots += 1;
        });
        if !fits || slots != self.state.len() {
            return None;
        }
        let rows = rows_from_csv(&self.rows).ok()?;
        let mut stored = self.state.into_iter();
        rule.state(&mut |_, slot| {
            let bits = stored.next().map(|(_, bits)| bits).unwrap_or_default();
            match slot {
                Slot::Floats(values) => {
                    values.iter_mut().zip(bits).for_each(|(v, b)| *v = f32::from_bits(b as u32));
                }
                Slot::Doubles(values) => {
                    values.iter_mut().zip(bits).for_each(|(v, b)| *v = f64::from_bits(b));
                }
                Slot::Count(value) => *value = bits[0],
                Slot::Counts(values) => values.iter_mut().zip(bits).for_each(|(v, b)| *v = b as u32),
            }
        });
        let tail_sum = self.tail_sum.into_iter().map(f64::from_bits).collect();
        *kept = Kept { next: self.next, tail_count: self.tail_count, tail_sum, rows };
        Some((self.step, self.seconds))
    }
}
