//! `rule.symmetric_point`: where a rule believes W⋄ to be, and how it is found or followed.

use residuum::array::ZeroShift;
use residuum::rule::Tracking;
use serde_json::{Value as Json, json};

use super::node::{Node, SpecError, Value};
use super::section::{Declaration, Optional, Or, Required, Section as _, Takes, section};
use super::table::At;
use super::types::{TakesExt as _, count, number, table};
use super::vector::{VectorSpec, VectorTable, vector};

/// Most pairs of a zero-shift: far more than any cell needs to settle, and an hour for a small tile.
const MAX_PAIRS: u64 = 100_000_000;

section! {
    /// Up and down pulses in turn, until the cells rest at their symmetric points.
    pub(crate) struct ZeroShiftTable {
        /// change by one pulse where q = 1; a tile has its own
        pulse_step: Option<f64> = number().checked_later(" > 0"), "weight", Optional("required for exact arrays");
        /// how many
        pairs: u64 = count().at_least(1).at_most(MAX_PAIRS), "pairs of pulses", Required;
        /// deviation from pulse to pulse; a tile has its own
        cycle_noise: f64 = number().checked_later(" ≥ 0"), "relative to the step", Or("0.0");
        /// pairs at the end over which the mean is taken
        averaged: Option<u64> = count().at_least(1), "pairs of pulses", Optional("1, or half of the pairs with cycle noise");
    }
}

section! {
    /// W⋄ with an error, or as measured before the run; with `track` it is where the filter starts, which is 0 if nothing else is said.
    pub(crate) struct SymmetricPointTable by kind or error or zero_shift or pairs or start {
        /// the true W⋄ plus this
        error: Option<VectorSpec> = vector(), "weight", Optional("none"), of kind ["error"];
        /// W⋄ as measured by pulses
        procedure @ "zero_shift": Option<ZeroShift> = table::<ZeroShiftTable>().then(zero_shift), "–", Optional("none"), of kind ["zero_shift"];
        /// of a zero-shift on tiles, in short
        pairs: Option<u64> = count().at_least(1).at_most(MAX_PAIRS), "pairs of pulses", Optional("none"), of kind ["pairs"];
        /// of them, at the end, over which the mean is taken
        averaged: u64 = count().at_least(1), "pairs of pulses", Or("1"), of kind ["pairs"];
        /// of the filter, as given numbers
        start: Option<VectorSpec> = vector(), "weight", Optional("0"), of kind ["start"];
        /// follows W⋄ while P learns: RIDER, and with a chopper E-RIDER
        track: Option<Tracking> = table::<TrackTable>().map(|t| Tracking { rate: t.rate, chopper: t.chopper }), "–", Optional("off");
    }
}

section! {
    /// A digital filter Q ← Q + η(P − Q) that follows the symmetric point of P, with W̄ = W + γc(P − Q) and the sign c of a chopper.
    pub(crate) struct TrackTable {
        /// η: share of a read of P
        rate: f64 = number().not_negative().checked_later(", 0 to 1"), "share per read", Required;
        /// p: that the sign c flips after a transfer; 0 is RIDER, which keeps c = 1
        chopper: f64 = number().checked_later(", 0 to 1"), "probability", Or("0.05");
    }
}

pub(super) fn zero_shift(fields: &ZeroShiftTable, at: &At<'_>) -> Result<ZeroShift, SpecError> {
    let ZeroShiftTable { pulse_step, pairs, cycle_noise, averaged } = *fields;
    // A cycle without noise repeats itself; a noisy one is averaged over the half that has settled.
    let averaged = averaged.unwrap_or(if cycle_noise > 0.0 { pairs.div_ceil(2) } else { 1 });
    let settings = ZeroShift { averaged, pulse_step, cycle_noise, ..ZeroShift::pairs(pairs) };
    checked(settings, at)
}

fn checked(settings: ZeroShift, at: &At<'_>) -> Result<ZeroShift, SpecError> {
    settings.validate().map(|()| settings).map_err(|e| at.table().map_or_else(|e| e, |table| table.blame(&e)))
}

/// Where the rule believes W⋄ to be.
#[derive(Clone, Debug, PartialEq)]
pub enum SymmetricPointSpec {
    /// At 0.
    Zero,
    /// The device's own.
    Known,
    /// Given numbers.
    Given(VectorSpec),
    /// The device's own plus an error.
    Error(VectorSpec),
    /// Measured by zero-shifting before the run.
    Measured(ZeroShift),
    /// Followed while P learns.
    Tracked {
        /// Where the filter starts.
        from: Box<SymmetricPointSpec>,
        /// How it follows.
        tracking: Tracking,
    },
}

/// `rule.symmetric_point`.
#[derive(Clone, Copy, Debug)]
pub(super) struct SymmetricPointField;

impl Takes for SymmetricPointField {
    type Value = SymmetricPointSpec;

    fn accepts(&self, node: &Node) -> bool {
        vector().accepts(node)
    }

    fn read(&self, at: &At<'_>) -> Result<SymmetricPointSpec, SpecError> {
        match at.node.as_text() {
            Some("zero") => {
                at.list_whole();
                return Ok(SymmetricPointSpec::Zero);
            }
            Some("known") => {
                at.list_whole();
                return Ok(SymmetricPointSpec::Known);
            }
            _ => {}
        }
        if let Value::Table(_) = at.node.value
            && !["csv", "uniform", "normal"].iter().any(|name| at.node.field(name).is_some())
        {
            let table = at.table()?;
            let fields = SymmetricPointTable::read(&table)?;
            let tracking = fields.track;
            let from = match fields {
                SymmetricPointTable { error: Some(error), .. } => SymmetricPointSpec::Error(error),
                SymmetricPointTable { procedure: Some(procedure), .. } => {
                    SymmetricPointSpec::Measured(procedure)
                }
                SymmetricPointTable { pairs: Some(pairs), averaged, .. } => {
                    let settings = checked(ZeroShift { averaged, ..ZeroShift::pairs(pairs) }, at)?;
                    SymmetricPointSpec::Measured(settings)
                }
                SymmetricPointTable { start: Some(start), .. } if tracking.is_some() => {
                    SymmetricPointSpec::Given(start)
                }
                _ if tracking.is_some() => SymmetricPointSpec::Zero,
                _ => return Err(at.must(&self.noun())),
            };
            let Some(tracking) = tracking else { return Ok(from) };
            let track = table.child("track");
            let tracking = tracking.validate().map_err(|e| track.blame(&e))?;
            return Ok(SymmetricPointSpec::Tracked { from: Box::new(from), tracking });
        }
        vector().read(at).map(SymmetricPointSpec::Given).map_err(|e| SpecError {
            message: format!(
                "{} (or \"zero\", \"known\", {{ error = … }}, {{ zero_shift = {{ pairs = … }} }}, \
                 {{ track = {{ rate = … }} }})",
                e.message
            ),
            ..e
        })
    }

    fn noun(&self) -> String {
        "\"zero\", \"known\", a vector, { error = … }, { zero_shift = { pairs = … } } or { track = { rate = … } }".into()
    }

    fn words(&self) -> String {
        "`zero`, `known`, vector, or table".into()
    }

    fn schema(&self) -> Json {
        json!({ "anyOf": [
            { "enum": ["zero", "known"] }, vector().schema(), table::<SymmetricPointTable>().schema(),
        ] })
    }

    fn tables(&self) -> Vec<fn() -> &'static Declaration> {
        vec![SymmetricPointTable::declaration, VectorTable::declaration]
    }
}
