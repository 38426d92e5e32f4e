//! A TOML file that says everything about training networks: `residuum train SPEC.toml`.
//!
//! | table | meaning |
//! |---|---|
//! | `title`, `name` | for figures, and for the folders of runs |
//! | `[network]`, `[data]`, `[training]`, `[rule]` | what is trained, on what, how long, and how it learns |
//! | `[device]`, `[readout]`, `[mapping]`, `[digital]` | tiles, their converters, how weights lie on them, what learns beside them |
//! | `[[variant]]` | a `name`, and tables that are laid over those of the file: one trial for each |
//! | `[[cell]]` | the same; every cell is tried with every variant |
//! | `[profile.NAME]` | tables that are laid over all others when the profile is asked for |
//! | `[sweep]` | fields with a list of values each: every cell and variant is tried with every combination |
//!
//! A table that names its `kind`, `response`, `preset`, `model` or `set` replaces the one it is laid over; any other changes
//! the fields it has. The file without a profile is the profile `full`.

use std::collections::BTreeSet;
use std::path::Path;

use residuum_nn::analog::Mapping;

use super::data::DataSpec;
use super::folders::Folders;
use super::grid::{Change, Grid, Point, is_plain};
use super::network::NetworkSpec;
use super::reader::{Fields, Node, SpecError};
use super::readout::ReadoutSpec;
use super::resolved::{Resolved, describe};
use super::tile_device::TileDevices;
use super::tile_rule::TileRuleSpec;
use super::training::{DigitalSpec, TrainingSpec, read_mapping};

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
    pub devices: Option<TileDevices>,
    /// How weights learn.
    pub rule: TileRuleSpec,
    /// How everything else learns.
    pub digital: DigitalSpec,
    /// Converters.
    pub readout: ReadoutSpec,
    /// How weights lie on tiles.
    pub mapping: Mapping,
    /// How long.
    pub training: TrainingSpec,
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
                let message = format!("variant.name must be different for each, got {:?} twice", double.name);
                Err(Fields::root(&document)?.error(message))
            }
            None => Ok(Self { title: grid.title, name: grid.name, trials }),
        }
    }
}

impl TrialSpec {
    /// Reads one point of a grid.
    pub(crate) fn read(point: &Point<'_>, folders: &Folders) -> Result<Self, SpecError> {
        let root = Fields::root(&point.node)?;
        let table = root.table("network")?;
        let network = NetworkSpec::read(&table, folders)?;
        table.finish()?;
        let table = root.table("data")?;
        let data = DataSpec::read(&table, folders)?;
        table.finish()?;
        let readout = ReadoutSpec::read(&root)?;
        let table = root.table("rule")?;
        let rule = TileRuleSpec::read(&table, &readout.transfer)?;
        table.finish()?;

        let devices = match root.optional_table("device")? {
            Some(table) => {
                let devices = TileDevices::read(&table, folders.base())?;
                table.finish()?;
                Some(devices)
            }
            None if rule.is_digital() => None,
            None => return Err(root.missing("device")),
        };
        let table = root.optional_table("digital")?;
        let digital = DigitalSpec::read(table.as_ref(), &rule)?;
        // A digital rule says here how it learns.
        let sgd = digital.sgd(residuum::Schedule::Constant);
        sgd.validate().map_err(|e| root.error(format!("rule.{e}")))?;
        if let Some(table) = table {
            table.finish()?;
        }
        let mapping = match root.optional_table("mapping")? {
            Some(table) => {
                let mapping = read_mapping(&table)?;
                table.finish()?;
                mapping
            }
            None => Mapping::default(),
        };
        let table = root.table("training")?;
        let training = TrainingSpec::read(&table, &network.model)?;
        table.finish()?;
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
        let resolved = root.resolved();
        root.finish()?;
        Ok(TrialSpec {
            name,
            title,
            cell,
            network,
            data,
            devices,
            rule,
            digital,
            readout,
            mapping,
            training,
            resolved,
        })
    }
}

/// Builds the rule once for a small tile: what cannot be is refused while the line is at hand.
fn check_rule(root: &Fields<'_>, rule: &TileRuleSpec, devices: Option<&TileDevices>) -> Result<(), SpecError> {
    let Some(devices) = devices else { return Ok(()) };
    let key = residuum::Key::new(0);
    match rule.build(devices, [2, 2], key) {
        Ok(_) => Ok(()),
        Err(error) => Err(root.table("rule")?.blame(&error)),
    }
}

impl TrialSpec {
    /// Everything that decides the numbers of a run of this seed, as text: one parameter in each line.
    pub fn description(&self, seed: u64) -> String {
        describe(&self.resolved, seed)
    }
}
