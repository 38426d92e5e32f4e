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
        if rate == 0.0 || row_max == 0.0 || col_max == 0.0 {
            return None;
        }
        let needed = rate * row_max * col_max / granularity;
        let slots = match self.management {
            Management::Length => (needed.ceil() as u32).clamp(1, self.length),
            _ => self.length,
        };
        let even = (rate / (granularity * slots as f32)).sqrt();
        if self.management == Management::Fixed {
            return Some(Plan { row: even, col: even, slots });
        }
        // An update that needs more than the longest train is cut on the side of the rows: errors are outliers more
        // often than inputs.
        let limit = self.length as f32;
        let row_max = if needed > limit { row_max * limit / needed } else { row_max };
        let tilt = (col_max / row_max).sqrt();
        Some(Plan { row: even * tilt, col: even / tilt, slots })
    }
}
