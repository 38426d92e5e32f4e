//! Symmetric points of tiles where a spec asks for the true ones: a cell without one is an error, never a point at 0.

use residuum::{Array, Scalar};

use super::build::RuleBuildError;

/// What is known of the cells of an array.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    /// `rule.symmetric_point = "known"`.
    Known,
    /// `rule.symmetric_point = { error = … }`.
    Error,
    /// `rule.cell_gain = "known"`.
    Gain,
}

/// The true symmetric point of every cell.
pub(super) fn true_points<T: Scalar>(array: &dyn Array<T>, asked: Asked) -> Result<Vec<T>, RuleBuildError> {
    array.known_symmetric_points().map_err(|e| {
        let cure = "give numbers, \"zero\", or measure with { zero_shift = { pairs = … } }";
        RuleBuildError::Field(match asked {
            Asked::Known => format!("rule.symmetric_point = \"known\" needs that of every cell, but {e}; {cure}"),
            Asked::Error => format!("rule.symmetric_point.error is added to that of every cell, but {e}; {cure}"),
            Asked::Gain => {
                format!("rule.cell_gain = \"known\" is the mean step at the symmetric point of every cell, but {e}; measure it")
            }
        })
    })
}
