//! Symmetric points of tiles where a spec asks for the true ones: a cell without one is an error, never a point at 0.

use residuum::readout::Shape;
use residuum::tile::{Device, Scheme, Spread};
use residuum::{Array, Key, Scalar};

use super::build::{Number as _, RuleBuildError};
use super::device::{DeviceSpec, Devices};
use super::node::SpecError;
use super::rule::{CellGain, RuleKind, RuleSpec};
use super::symmetric_point::SymmetricPointSpec;
use super::table::Table;

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

impl Devices {
    /// Refuses a device whose mean cell has no symmetric point where the rule takes the true one. Cells that differ from the mean are
    /// looked at when they are drawn.
    pub(super) fn check_points(&self, rule: &RuleSpec, root: &Table<'_>) -> Result<(), SpecError> {
        let check = |device: &DeviceSpec, asked: Option<Asked>| match device {
            DeviceSpec::Exact { .. } => Ok(()),
            DeviceSpec::Tile { device, cell } => {
                let mean = DeviceSpec::Tile { device: Box::new(mean(device)), cell: cell.clone() };
                let array = f32::tile(&mean, Shape { rows: 1, cols: 1 }, Scheme::default(), Key::new(0));
                array.and_then(|array| asked.map_or(Ok(()), |asked| true_points(&*array, asked).map(|_| ())))
            }
        };
        let RuleKind::Residual(residual) = &rule.kind else {
            // Building it is check enough: a reference may need the points.
            return check(&self.main, None).map_err(|e| root.error(e.to_string()));
        };
        let point = match residual.first_point() {
            Some(SymmetricPointSpec::Known) => Some(Asked::Known),
            Some(SymmetricPointSpec::Error(_)) => Some(Asked::Error),
            _ => None,
        };
        let gain = matches!(residual.cell_gain, CellGain::Known).then_some(Asked::Gain);
        check(&self.residual, point)
            .and_then(|()| check(&self.residual, gain))
            .and_then(|()| check(&self.main, gain))
            .map_err(|e| root.error(e.to_string()))
    }
}

/// The device without what differs from cell to cell.
fn mean(device: &Device) -> Device {
    let alike = |spread: Spread| Spread { deviation: 0.0, ..spread };
    Device {
        step_spread: alike(device.step_spread),
        max_spread: alike(device.max_spread),
        min_spread: alike(device.min_spread),
        imbalance_spread: 0.0,
        stuck: None,
        ..device.clone()
    }
}
