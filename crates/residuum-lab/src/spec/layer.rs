//! The tables of a spec that decide one layer on tiles, for a training loop that is not ours, such as PyTorch's.

use std::path::Path;

use residuum::{ParameterError, Rates, Schedule};
use residuum_nn::analog::Mapping;

use super::Document;
use super::device::{DeviceField, Devices, DevicesRead};
use super::experiment::check_rule;
use super::file::{SpecKind, read_devices};
use super::folders::Folders;
use super::node::{Node, SpecError, Value};
use super::rate::Rate;
use super::readout::{ReadoutField, ReadoutSpec};
use super::resolved::Resolved;
use super::rule::{RATED, RuleField, RuleSpec};
use super::section::{Optional, Or, Section as _, section};
use super::table::{Context, Table};
use super::training::MappingTable;
use super::types::{flag, table};

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
        /// whether pulses are counted for each cell
        ledger: bool = flag(), "–", Or("false");
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
        let context = Context::new(SpecKind::Network, &folders);
        let (document, own_rate) = with_rate(document)?;
        let root = Table::root(&document, context.clone())?;
        let file = LayerTable::read(&root)?;
        let mut rule = file.rule.ok_or_else(|| root.missing("rule"))?;
        if rule.is_digital() {
            let message = "rule.kind must not be \"digital\" for a layer on tiles: leave the layer in digital memory instead";
            return Err(root.error(message));
        }
        rule.read_through(&file.readout.transfer);
        let mut devices = read_devices(file.device, &rule, &root)?.ok_or_else(|| root.missing("device"))?;
        if file.ledger {
            devices.main.count_pulses();
            devices.residual.count_pulses();
        }
        check_rule(&root, &rule, Some(&devices))?;
        let mapping = file.mapping.mapping();
        let mut resolved = context.resolved();
        if !own_rate {
            resolved.retain(|parameter| parameter.path != "rule.learning_rate");
        }
        Ok(Self { rule, devices, readout: file.readout, mapping, resolved })
    }

    /// The rates of step `k`: α is the caller's unless the rule has a schedule of its own for it, and `scale` is what the caller's schedule makes of a transfer rate that is a
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
        Ok(match self.rule.learning_rate {
            Some(Rate::Fixed(_)) => rates,
            _ => Rates { learning: learning_rate, ..rates },
        })
    }
}

/// The document with a learning rate for the reader, where the rule has one and does not schedule it itself; whether it does.
fn with_rate(document: &Node) -> Result<(Node, bool), SpecError> {
    let mut document = document.clone();
    let Value::Table(tables) = &mut document.value else { return Ok((document, false)) };
    let Some((_, Node { value: Value::Table(rule), .. })) = tables.iter_mut().find(|(name, _)| name == "rule")
    else {
        return Ok((document, false));
    };
    let field = |name: &str| rule.iter().find(|(own, _)| own == name).map(|(_, node)| node);
    let rated = field("kind").and_then(Node::as_text).is_some_and(|kind| RATED.contains(&kind));
    match field("learning_rate") {
        Some(Node { value: Value::Table(_), .. }) => Ok((document, true)),
        Some(node) => Err(node.error(
            "rule.learning_rate must not be a number in a layer, where it is the optimiser's lr; \
             a schedule such as { constant = 0.01 } stands for itself",
        )),
        None => {
            if rated && field("rates").is_none() {
                rule.push(("learning_rate".into(), Node { line: None, value: Value::Number(1.0) }));
            }
            Ok((document, false))
        }
    }
}
