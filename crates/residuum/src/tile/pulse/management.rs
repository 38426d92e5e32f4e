//! How a desired outer product becomes probabilities of pulses on lines.

use crate::error::{ParameterError, require};

/// Length of pulse trains and whether it follows the size of the update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trains {
    /// Longest train, 1 to 31 slots.
    pub length: u32,
    /// What is adapted to the sample.
    pub management: Management,
}

/// What is adapted to the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Management {
    /// Nothing: equal scales on rows and columns, full trains.
    Fixed,
    /// The split of the scale between rows and columns, so that neither saturates before the other.
    Scale,
    /// The split, and trains no longer than the update needs.
    Length,
}

impl Default for Trains {
    fn default() -> Self {
        Self { length: 31, management: Management::Length }
    }
}

/// Probability per unit of a row's and a column's signal, and the slots used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) row: f32,
    pub(super) col: f32,
    pub(super) slots: u32,
}

impl Trains {
    /// Checks the train length.
    ///
    /// # Errors
    /// If the length is not between 1 and 31.
    pub fn validate(&self) -> Result<(), ParameterError> {
        require((1..=31).contains(&self.length), "train_length", "between 1 and 31", f64::from(self.length))
    }

    /// The plan for one sample with the given largest magnitudes; `None` if nothing moves.
    #[inline(always)]
    pub(super) fn plan(self, rate: f32, row_max: f32, col_max: f32, granularity: f32) -> Option<Plan> {
        let plan = self.plan_or_none(rate, row_max, col_max, granularity);
        (plan.slots > 0).then_some(plan)
    }

    /// The plans for several samples, without slots where nothing moves: one for each lane of a vector.
    #[inline(always)]
    pub(super) fn plans<const N: usize>(
        self,
        rate: f32,
        row_max: [f32; N],
        col_max: [f32; N],
        granularity: f32,
    ) -> Plans<N> {
        let mut plans = Plans { row: [0.0; N], col: [0.0; N], slots: [0; N] };
        for i in 0..N {
            let Plan { row, col, slots } = self.plan_or_none(rate, row_max[i], col_max[i], granularity);
            (plans.row[i], plans.col[i], plans.slots[i]) = (row, col, slots);
        }
        plans
    }

    /// No slots if nothing moves. Without a branch on the magnitudes.
    #[inline(always)]
    fn plan_or_none(self, rate: f32, row_max: f32, col_max: f32, granularity: f32) -> Plan {
        let (needed, limit) = (rate * row_max * col_max / granularity, self.length as f32);
        let slots = match self.management {
            Management::Length => {
                let least = if needed > 1.0 { needed.ceil() } else { 1.0 };
                if least < limit { least } else { limit }
            }
            _ => limit,
        };
        let even = (rate / (granularity * slots)).sqrt();
        // An update that needs more than the longest train is cut on the side of the rows: errors are outliers more
        // often than inputs.
        let cut = if needed > limit { row_max * limit / needed } else { row_max };
        let tilt = if self.management == Management::Fixed { 1.0 } else { (col_max / cut).sqrt() };
        let moves = (rate != 0.0) & (row_max != 0.0) & (col_max != 0.0);
        Plan { row: even * tilt, col: even / tilt, slots: if moves { slots as i32 as u32 } else { 0 } }
    }
}

/// The [`Plan`]s of several samples.
pub(super) struct Plans<const N: usize> {
    pub(super) row: [f32; N],
    pub(super) col: [f32; N],
    pub(super) slots: [u32; N],
}
