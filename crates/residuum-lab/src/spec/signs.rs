//! Weights of both signs, and cells that hold only one.

use super::device::{CellSpec, DeviceSpec, Devices};
use super::node::SpecError;
use super::rule::RuleSpec;
use super::table::Table;

impl DeviceSpec {
    /// The range of what reads see, if all of it lies on one side of 0 and no unit cell makes up for that.
    fn one_side(&self) -> Option<[f64; 2]> {
        let [min, max] = match self {
            Self::Exact { .. } => self.range()?,
            Self::Tile { cell: Some(CellSpec::Reference | CellSpec::OneSided { .. }), .. } => return None,
            Self::Tile { device, cell, .. } => {
                if device.reference.is_some_and(|reference| reference.at_symmetric_point) {
                    return None;
                }
                let read = device.reference.map_or(0.0, |reference| f64::from(reference.mean));
                let ends = [device.min, device.max].map(|bound| f64::from(bound) - read);
                match cell {
                    Some(CellSpec::Vector { gains, .. }) => {
                        // A negative gain turns the range around.
                        let end = |upper: bool, gain: f64| gain * ends[usize::from(upper == (gain > 0.0))];
                        [false, true].map(|upper| gains.iter().map(|gain| end(upper, f64::from(*gain))).sum())
                    }
                    _ => ends,
                }
            }
        };
        (min >= 0.0 || max <= 0.0).then_some([min, max])
    }
}

impl Devices {
    /// Refuses cells on one side of 0 where weights need both: all of a network's, or those of a problem with such a
    /// minimiser. They would be clipped without a word.
    pub(super) fn check_signs(
        &self,
        rule: &RuleSpec,
        minimizer: Option<&[f64]>,
        root: &Table<'_>,
    ) -> Result<(), SpecError> {
        let two = ["main", "residual"].iter().any(|name| root.child("device").has(name));
        let refuse = |name: &str, device: &DeviceSpec, [min, max]: [f64; 2], why: String| {
            let path = if two { format!("device.{name}") } else { "device".into() };
            let cure = match device {
                DeviceSpec::Tile { .. } => "pair its cells: cell = { kind = \"one_sided\" }",
                DeviceSpec::Exact { .. } => "pair its cells: array = \"tile\", cell = { kind = \"one_sided\" }",
            };
            root.error(format!("{path} holds weights from {min} to {max}, but {why}; {cure}"))
        };
        if let Some(range) = self.main.one_side() {
            let outside = |w: &&f64| !(range[0]..=range[1]).contains(*w);
            let why = match minimizer {
                None => Some("those of a network have both signs".into()),
                Some(w) => w.iter().find(outside).map(|w| format!("the minimizer has {w}")),
            };
            if let Some(why) = why {
                return Err(refuse("main", &self.main, range, why));
            }
        }
        match self.residual.one_side() {
            Some(range) if rule.needs_signed_residual() => {
                let why = "those of a residual array around 0 have both signs".into();
                Err(refuse("residual", &self.residual, range, why))
            }
            _ => Ok(()),
        }
    }
}
