//! The file as a whole.

use residuum::Range;

use super::data::DataTable;
use super::device::{DeviceField, Devices, DevicesRead};
use super::hardware::HardwareTable;
use super::network::NetworkTable;
use super::node::SpecError;
use super::problem::{NoiseTable, ProblemTable};
use super::readout::{ReadoutField, ReadoutSpec};
use super::record::{InitialSpec, RecordTable};
use super::rule::{RuleField, RuleKind, RuleSpec};
use super::section::{Optional, Or, RequiredIf, section};
use super::seeds::Seeds;
use super::table::Table;
use super::training::{DigitalTable, MappingTable, TrainingTable};
use super::types::{count, interval, table, text};

/// What a spec is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpecKind {
    /// An objective: `[problem]`.
    Problem,
    /// A network: `[network]`.
    Network,
}

impl SpecKind {
    /// The arrays of a spec that does not say which.
    pub(crate) fn array(self) -> &'static str {
        match self {
            Self::Problem => "exact",
            Self::Network => "tile",
        }
    }
}

section! {
    /// A spec with `[problem]` minimises an objective, one with `[network]` trains a network. `[device]`, `[rule]` and `[readout]`
    /// are the same for both.
    pub(crate) struct FileTable by spec or problem or network {
        /// for tables and figures
        title: Option<String> = text("text"), "–", Optional("none");
        /// for the folders of runs
        name: Option<String> = text("letters, digits, `-`, `_`, `.`"), "–", Optional("that of the file");
        /// K, the length of a run
        steps: Option<u64> = count(), "steps", RequiredIf, of spec ["problem"];
        /// one trial each
        seeds: Vec<u64> = Seeds, "–", Or("[0]"), of spec ["problem"];
        /// where weights are expected to stay; theory bounds the responses over it when it chooses rates
        operating_range: Option<Range> = interval(), "weight", Optional("0.8 of each dynamic range"), of spec ["problem"];
        /// what is minimised
        problem: Option<ProblemTable> = table::<ProblemTable>(), "–", RequiredIf, of spec ["problem"];
        /// the gradient noise
        noise: Option<NoiseTable> = table::<NoiseTable>(), "–", Optional("none"), of spec ["problem"];
        /// where a run starts
        initial: InitialSpec = table::<InitialSpec>(), "–", Or("{}"), of spec ["problem"];
        /// what is recorded
        record: RecordTable = table::<RecordTable>(), "–", Or("{}"), of spec ["problem"];
        /// what is trained
        network: Option<NetworkTable> = table::<NetworkTable>(), "–", RequiredIf, of spec ["network"];
        /// the images
        data: Option<DataTable> = table::<DataTable>(), "–", RequiredIf, of spec ["network"];
        /// how it is trained
        training: Option<TrainingTable> = table::<TrainingTable>(), "–", RequiredIf, of spec ["network"];
        /// how weights are mapped to tiles
        mapping: MappingTable = table::<MappingTable>(), "–", Or("{}"), of spec ["network"];
        /// how everything that is not on tiles learns
        digital: Option<DigitalTable> = table::<DigitalTable>(), "–", Optional("by the rule"), of spec ["network"];
        /// what operations cost: the ledger of time and energy
        hardware: Option<HardwareTable> = table::<HardwareTable>(), "–", Optional("none: no ledger"), of spec ["network"];
        /// the cells of arrays
        device: Option<DevicesRead> = DeviceField, "–", Optional("required by analog rules");
        /// the algorithm
        rule: Option<RuleSpec> = RuleField, "–", Optional("required");
        /// how tiles are read
        readout: ReadoutSpec = ReadoutField, "–", Or("\"ideal\"");
    }
}

/// The devices that a rule needs, and whether the rule may have them.
pub(super) fn read_devices(
    devices: Option<DevicesRead>,
    rule: &RuleSpec,
    root: &Table<'_>,
) -> Result<Option<Devices>, SpecError> {
    let devices = devices.map(|devices| devices.finish(rule.has_residual(), root)).transpose()?;
    if rule.is_digital() {
        return Ok(devices);
    }
    let devices = devices.ok_or_else(|| root.missing("device"))?;
    if let RuleKind::Residual(residual) = &rule.kind
        && residual.symmetric_point.is_none()
        && !devices.residual.is_symmetric()
    {
        return Err(root.error(
            "rule.symmetric_point must be given, since not every cell of this device has it at exactly 0: \
             \"zero\", \"known\", a number, { error = … }, { zero_shift = { pairs = … } } or { track = { rate = … } }",
        ));
    }
    Ok(Some(devices))
}
