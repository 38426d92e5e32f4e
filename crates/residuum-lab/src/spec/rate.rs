//! Rates: a number, or a schedule.

use residuum::Schedule;

use super::node::SpecError;
use super::section::{Optional, Or, RequiredIf, Takes, section};
use super::table::At;
use super::types::{TakesExt as _, count, number, table, word};

/// A rate of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// A number, which the schedule of `[training]` scales; a problem has none.
    Scheduled(f64),
    /// A schedule of its own.
    Fixed(Schedule),
}

impl Rate {
    /// The rate as a function of the step, given what the schedule of the training makes of a number.
    pub fn schedule(self, shape: impl Fn(f64) -> Schedule) -> Schedule {
        match self {
            Self::Scheduled(rate) => shape(rate),
            Self::Fixed(schedule) => schedule,
        }
    }
}

impl From<f64> for Rate {
    fn from(rate: f64) -> Self {
        Self::Scheduled(rate)
    }
}

section! {
    /// A number, or a table. In a spec with `[network]` the schedule of `[training]` scales a number; a table stands for itself.
    /// Times are in steps of the run, k from 0.
    pub(crate) struct ScheduleTable by kind or constant as "a schedule such as { constant = … }" {
        /// initial/(1 + k/half_life) for `inverse`; initial·factor^⌊k/every⌋ for `step`; half a cosine for `cosine`;
        /// rate·(k+1)/steps until it is reached for `warm_up`
        kind: Option<&'static str> = word(["constant", "inverse", "step", "cosine", "warm_up"]), "–",
            Optional("`constant`, where that is given");
        /// the rate in every step
        constant: Option<f64> = number().checked_later(" ≥ 0"), "that of the rate", Optional("none"), of kind ["constant"];
        /// of `constant`, another way to say it
        constant_rate @ "rate": Option<f64> = number().checked_later(" ≥ 0"), "that of the rate", Optional("none"),
            of kind ["constant"];
        /// the rate at the end of the rise
        rate: Option<f64> = number().checked_later(" ≥ 0"), "that of the rate", RequiredIf, of kind ["warm_up"];
        /// the rate at k = 0
        initial: Option<f64> = number().checked_later(" ≥ 0"), "that of the rate", RequiredIf,
            of kind ["inverse" "step" "cosine"];
        /// when half of it is left
        half_life: Option<f64> = number().checked_later(" > 0"), "steps", RequiredIf, of kind ["inverse"];
        /// between drops
        every: Option<u64> = count().at_least(1), "steps", RequiredIf, of kind ["step"];
        /// of each drop
        factor: Option<f64> = number().checked_later(" ≥ 0"), "–", RequiredIf, of kind ["step"];
        /// the rate at the end
        last: f64 = number().checked_later(" ≥ 0"), "that of the rate", Or("0.0"), of kind ["cosine"];
        /// how long
        steps: Option<u64> = count().at_least(1), "steps", RequiredIf, of kind ["cosine" "warm_up"];
    }
}

/// A rate: a number or a schedule.
pub(crate) fn rate() -> impl Takes<Value = Rate> {
    number().not_negative().map(Rate::Scheduled).or(table::<ScheduleTable>().then(schedule))
}

fn schedule(fields: &ScheduleTable, at: &At<'_>) -> Result<Rate, SpecError> {
    let table = at.table()?;
    let needed = |value: Option<f64>, name: &str| value.ok_or_else(|| table.missing(name));
    let counted = |value: Option<u64>, name: &str| value.ok_or_else(|| table.missing(name));
    let schedule = match (fields.kind.unwrap_or("constant"), fields.constant, fields.constant_rate) {
        ("constant", Some(_), Some(_)) => {
            return Err(table.error(format!("{}.rate must not be given together with constant", at.path)));
        }
        ("constant", constant, rate) => Schedule::Constant(needed(constant.or(rate), "constant")?),
        ("inverse", ..) => Schedule::Inverse {
            initial: needed(fields.initial, "initial")?,
            half_life: needed(fields.half_life, "half_life")?,
        },
        ("step", ..) => Schedule::Step {
            initial: needed(fields.initial, "initial")?,
            every: counted(fields.every, "every")?,
            factor: needed(fields.factor, "factor")?,
            warm_up: 0,
        },
        ("cosine", ..) => Schedule::Cosine {
            initial: needed(fields.initial, "initial")?,
            last: fields.last,
            steps: counted(fields.steps, "steps")?,
            warm_up: 0,
        },
        _ => Schedule::WarmUp { rate: needed(fields.rate, "rate")?, steps: counted(fields.steps, "steps")? },
    };
    schedule.validate().map(Rate::Fixed).map_err(|e| table.blame(&e))
}
