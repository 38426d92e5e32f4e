//! Networks to be trained and compared: a file with `[network]`.

use std::collections::BTreeSet;
use std::path::Path;

use residuum::rule::Source;
use residuum::tile::Scheme;
use residuum_nn::analog::Mapping;

use super::build::RuleBuildError;
use super::data::DataSpec;
use super::device::Devices;
use super::file::{FileTable, SpecKind, read_devices};
use super::folders::Folders;
use super::grid::{Change, Grid, Point, is_plain};
use super::hardware::HardwareSpec;
use super::network::NetworkSpec;
use super::node::{Node, SpecError};
use super::readout::ReadoutSpec;
use super::resolved::{Resolved, describe};
use super::rule::{ResidualSpec, RuleKind, RuleSpec};
use super::rule_preset::{UsedPreset, with_preset};
use super::section::Section as _;
use super::table::{Context, Table};
use super::training::{DigitalSpec, TrainingSpec};

/// Networks to be trained and compared.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// For figures.
    pub title: Option<String>,
    /// For the folders of runs, if the file gives one.
    pub name: Option<String>,
    /// One for each variant and cell.
    pub trials: Vec<TrialSpec>,
}

/// One network under one rule.
#[derive(Clone, Debug)]
pub struct TrialSpec {
    /// Name of the variant, with that of the cell before it if there are cells.
    pub name: String,
    /// The words for it in tables and legends, without those for the cell.
    pub title: String,
    /// The words for the cell, if there are cells.
    pub cell: Option<String>,
    /// The layers.
    pub network: NetworkSpec,
    /// The images.
    pub data: DataSpec,
    /// The cells of tiles; a digital rule needs none.
    pub devices: Option<Devices>,
    /// How weights learn.
    pub rule: RuleSpec,
    /// Where its settings come from, if the spec named a preset.
    pub preset: Option<UsedPreset>,
    /// How everything else learns.
    pub digital: DigitalSpec,
    /// Converters.
    pub readout: ReadoutSpec,
    /// How weights lie on tiles.
    pub mapping: Mapping,
    /// How long.
    pub training: TrainingSpec,
    /// What operations cost, if records are to tell.
    pub hardware: Option<HardwareSpec>,
    /// Every parameter as it will be used.
    pub resolved: Vec<Resolved>,
}

impl Experiment {
    /// Reads a file in the given profile; relative paths in it are relative to `base`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub fn parse(text: &str, base: &Path, profile: Option<&str>) -> Result<Self, SpecError> {
        let document = Node::parse(text)?;
        let grid = Grid::read(&document, profile)?;
        let folders = Folders::new(base);
        let mut trials = Vec::new();
        for place in grid.places()? {
            let point = grid.point(&place)?;
            trials.push(TrialSpec::read(&point, &folders).map_err(|e| point.blame(e))?);
        }
        let mut seen = BTreeSet::new();
        match trials.iter().find(|trial| !seen.insert(trial.name.clone())) {
            Some(double) => {
                let message = format!("variant.name must be unique, got {:?} twice", double.name);
                Err(document.error(message))
            }
            None => Ok(Self { title: grid.title, name: grid.name, trials }),
        }
    }
}

impl TrialSpec {
    /// Reads one point of a grid.
    pub(crate) fn read(point: &Point<'_>, folders: &Folders) -> Result<Self, SpecError> {
        let context = Context::new(SpecKind::Network, folders);
        let (node, preset) =
            with_preset(&point.node)?.map_or((None, None), |(node, used)| (Some(node), Some(used)));
        let root = Table::root(node.as_ref().unwrap_or(&point.node), context.clone())?;
        let file = FileTable::read(&root)?;
        let missing = |name: &str| root.missing(name);
        let at = |name: &'static str| {
            let node = root.node(name).ok_or_else(|| missing(name))?;
            Ok(root.at(name, node, true))
        };
        let network = NetworkSpec::new(file.network.ok_or_else(|| missing("network"))?, &at("network")?)?;
        let data = DataSpec::new(file.data.ok_or_else(|| missing("data"))?, &at("data")?)?;
        let readout = file.readout;
        let mut rule = file.rule.ok_or_else(|| missing("rule"))?;
        rule.read_through(&readout.transfer);
        let devices = read_devices(file.device, &rule, &root)?;
        rule.follow_states(devices.as_ref(), &root)?;
        let digital = DigitalSpec::new(file.digital, &rule, &root)?;
        let training = file.training.ok_or_else(|| missing("training"))?;
        let training =
            TrainingSpec::new(training, &network.model, data.is_regression(), &root.child("training"))?;
        network.check_shapes(&data, &root)?;
        let mapping = file.mapping.mapping();
        network.check(data.image(), rule.is_digital(), &root)?;
        data.check_batch(training.batch_size, &root)?;
        if let Some(devices) = devices.as_ref().filter(|_| !rule.is_digital()) {
            devices.check_signs(&rule, None, &root)?;
        }
        let slots = match rule.pulses {
            Scheme::Stochastic(trains) | Scheme::Deterministic(trains) | Scheme::MeanCount(trains) => {
                trains.length
            }
            Scheme::Expected => 1,
        };
        let pulse_energy = devices.as_ref().and_then(|devices| devices.pulse_energy);
        let hardware = file.hardware.map(|table| table.hardware(slots, pulse_energy));
        if mapping.by_width {
            let bounded = devices.as_ref().is_none_or(|devices| devices.main.range().is_some());
            let fault = match (mapping.omega, mapping.columnwise, bounded) {
                (None, ..) => Some("mapping.omega is missing: by_width scales by it"),
                (_, true, _) => {
                    Some("mapping.columnwise must not stand beside by_width, which has one scale for a layer")
                }
                (.., false) => Some("mapping.by_width must have a device whose cells have bounds"),
                _ => None,
            };
            if let Some(fault) = fault {
                return Err(root.error(fault));
            }
        }
        check_rule(&root, &rule, devices.as_ref())?;

        let given: Vec<&str> =
            [point.cell, point.variant].into_iter().flatten().map(|c| c.name.as_str()).collect();
        let mut name = if given.is_empty() { rule.name.to_string() } else { given.join("-") };
        let mut title = point.variant.map_or(rule.name, Change::words).to_string();
        for (field, label) in &point.swept {
            name = format!("{name}-{}", label.replace(|c| !is_plain(c), "_"));
            title = format!("{title}, {field} = {label}");
        }
        let cell = point.cell.map(|cell| cell.words().to_string());
        let resolved = context.resolved();
        Ok(TrialSpec {
            name,
            title,
            cell,
            network,
            data,
            devices,
            rule,
            preset,
            digital,
            readout,
            mapping,
            training,
            hardware,
            resolved,
        })
    }
}

/// Builds the rule once for a small tile: what cannot be is refused while the line is at hand.
pub(super) fn check_rule(
    root: &Table<'_>,
    rule: &RuleSpec,
    devices: Option<&Devices>,
) -> Result<(), SpecError> {
    if let RuleKind::Residual(ResidualSpec { chosen_by: Some(_), .. }) = rule.kind {
        return Err(root.error("rule.rates must not be given with [network]: the theory covers problems only"));
    }
    if let RuleKind::Residual(ResidualSpec { warm_start: Some(warm_start), .. }) = &rule.kind
        && warm_start.epoch.is_some()
    {
        let message =
            "rule.warm_start.epoch has no effect with [network], whose epochs are passes over the data";
        return Err(root.error(message));
    }
    if rule.is_digital() && !matches!(rule.source, Source::Sgd | Source::Momentum { .. }) {
        let message = "rule.source must be \"sgd\" or \"momentum\" for kind = \"digital\" with [network]";
        return Err(root.error(message));
    }
    let Some(devices) = devices.filter(|_| !rule.is_digital()) else { return Ok(()) };
    rule.for_check().build(devices, [2, 2], residuum::Key::new(0)).map(|_| ()).map_err(|error| match error {
        RuleBuildError::Parameter(error) => root.child("rule").blame(&error),
        other => root.error(other.to_string()),
    })
}

impl TrialSpec {
    /// Everything that decides the numbers of a run of this seed, as text: one parameter in each line.
    pub fn description(&self, seed: u64) -> String {
        describe(&self.resolved, seed)
    }
}
