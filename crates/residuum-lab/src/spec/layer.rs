//! The tables of a spec that decide one layer on tiles, for a training loop that is not ours, such as PyTorch's.

use std::path::Path;

use residuum::{ParameterError, Rates, Schedule};
use residuum_nn::analog::{Mapping, OutputScaling};

use super::Document;
use super::device::{DeviceField, Devices, DevicesRead};
use super::experiment::check_rule;
use super::file::{Kind, read_devices};
use super::folders::Folders;
use super::node::{Node, SpecError, Value};
use super::readout::{ReadoutField, ReadoutSpec};
use super::resolved::Resolved;
use super::rule::{RATED, RuleField, RuleSpec};
use super::section::{Optional, Or, Section as _, section};
use super::table::{Context, Table};
use super::training::MappingTable;
use super::types::table;

section! {
    /// One layer on tiles. The tables are those of a spec with `[network]`; the learning rate is the caller's.
    pub(crate) struct LayerTable {
        /// the cells of arrays
        device: Option<DevicesRead> = DeviceField, "–", Optional("required");
        /// the algorithm
        rule: Option<RuleSpec> = RuleField, "–", Optional("required");
        /// how tiles are read
        readout: ReadoutSpec = ReadoutField, "–", Or("\"ideal\"");
        /// how weights are mapped to tiles
        mapping: MappingTable = table::<MappingTable>(), "–", Or("{}");
    }
}

/// How the weights of one layer are stored, read and written.
#[derive(Clone, Debug)]
pub struct LayerSpec {
    /// The algorithm.
    pub rule: RuleSpec,
    /// The cells.
    pub devices: Devices,
    /// The converters.
    pub readout: ReadoutSpec,
    /// How weights lie on tiles.
    pub mapping: Mapping,
    /// Every parameter as it will be used.
    pub resolved: Vec<Resolved>,
}

impl LayerSpec {
    /// Reads the tables `device`, `rule`, `readout` and `mapping`; relative paths in them are relative to `base`.
    ///
    /// # Errors
    /// The first fault.
    pub fn of(Document(document): &Document, base: &Path) -> Result<Self, SpecError> {
        let folders = Folders::new(base);
        let context = Context::new(Kind::Network, &folders);
        let document = with_rate(document)?;
        let root = Table::root(&document, context.clone())?;
        let file = LayerTable::read(&root)?;
        let mut rule = file.rule.ok_or_else(|| root.missing("rule"))?;
        if rule.is_digital() {
            let message = "rule.kind must not be \"digital\" for a layer on tiles: leave the layer in digital memory instead";
            return Err(root.error(message));
        }
        rule.read_through(&file.readout.transfer);
        let devices = read_devices(file.device, &rule, &root)?.ok_or_else(|| root.missing("device"))?;
        check_rule(&root, &rule, Some(&devices))?;
        let mapping = file.mapping.mapping();
        if mapping.output_scaling != OutputScaling::Off {
            let message = "mapping.output_scaling must be \"off\" in a training loop of your own: \
                           multiply the output of the layer by a parameter instead";
            return Err(root.error(message));
        }
        let mut resolved = context.resolved();
        resolved.retain(|parameter| parameter.path != "rule.learning_rate");
        Ok(Self { rule, devices, readout: file.readout, mapping, resolved })
    }

    /// The rates of step `k`: α is the caller's, and `scale` is what the caller's schedule makes of a transfer rate that is a
    /// number, as the schedule of `[training]` does. A transfer rate with a schedule of its own stands for itself.
    ///
    /// # Errors
    /// If a rate is negative or not finite.
    pub fn rates(&self, k: u64, learning_rate: f64, scale: f64) -> Result<Rates, ParameterError> {
        for (name, value) in [("learning rate", learning_rate), ("scale of the transfer rates", scale)] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(ParameterError::OutOfDomain { name, must: "zero or positive, and finite", value });
            }
        }
        let rates = self.rule.rates(|rate| Schedule::Constant(rate * scale)).at(k);
        Ok(Rates { learning: learning_rate, ..rates })
    }
}

/// The document with a learning rate for the reader, where the rule has one: that of every step is the caller's.
fn with_rate(document: &Node) -> Result<Node, SpecError> {
    let mut document = document.clone();
    let Value::Table(tables) = &mut document.value else { return Ok(document) };
    let Some((_, Node { value: Value::Table(rule), .. })) = tables.iter_mut().find(|(name, _)| name == "rule")
    else {
        return Ok(document);
    };
    let kind = rule.iter().find(|(name, _)| name == "kind").and_then(|(_, node)| node.as_text());
    let chosen = rule.iter().any(|(name, _)| name == "rates");
    if chosen || !kind.is_some_and(|kind| RATED.contains(&kind)) {
        return Ok(document);
    }
    if let Some((_, node)) = rule.iter().find(|(name, _)| name == "learning_rate") {
        return Err(node.error("rule.learning_rate must not be given for a layer: the optimiser's lr is the learning rate"));
    }
    rule.push(("learning_rate".into(), Node { line: None, value: Value::Number(1.0) }));
    Ok(document)
}
