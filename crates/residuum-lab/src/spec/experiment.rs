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
//!
//! A table that names its `kind`, `response`, `preset`, `model` or `set` replaces the one it is laid over; any other changes
//! the fields it has. The file without a profile is the profile `full`.

use std::collections::BTreeSet;
use std::path::Path;

use residuum_nn::analog::Mapping;

use super::data::DataSpec;
use super::network::NetworkSpec;
use super::reader::{Fields, Node, Resolved, SpecError, Value};
use super::readout::ReadoutSpec;
use super::tile_device::TileDevices;
use super::tile_rule::TileRuleSpec;
use super::training::{DigitalSpec, TrainingSpec, read_mapping};

/// The profile that a file is without one.
const FULL: &str = "full";

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
        let fields = Fields::root(&document)?;
        let word = |name| if fields.has(name) { fields.text(name).map(Some) } else { Ok(None) };
        let (title, name) = (word("title")?.map(String::from), word("name")?.map(String::from));
        if let Some(name) = &name {
            check_name(&fields, "name", name)?;
        }
        let profile = read_profile(&document, profile)?;
        let (cells, variants) = (read_list(&fields, "cell")?, read_list(&fields, "variant")?);
        let common = document.without(&["title", "name", "profile", "cell", "variant"]);
        let mut trials = Vec::new();
        for cell in &cells {
            for variant in &variants {
                let mut node = common.clone();
                for over in [cell.as_ref(), variant.as_ref()].into_iter().flatten() {
                    node = node.overlaid(&over.changes);
                }
                if let Some(profile) = profile {
                    node = node.overlaid(profile);
                }
                trials.push(read_trial(&node, [cell.as_ref(), variant.as_ref()], base)?);
            }
        }
        let mut seen = BTreeSet::new();
        match trials.iter().find(|trial| !seen.insert(trial.name.clone())) {
            Some(double) => {
                Err(fields
                    .error(format!("variant.name must be different for each, got {:?} twice", double.name)))
            }
            None => Ok(Self { title, name, trials }),
        }
    }
}

/// A named change of the file.
struct Change {
    name: String,
    title: Option<String>,
    changes: Node,
}

impl Change {
    /// Its words in tables and legends.
    fn words(&self) -> String {
        self.title.clone().unwrap_or_else(|| self.name.clone())
    }
}

/// The entries of `[[name]]`; one that changes nothing if there are none.
fn read_list(root: &Fields<'_>, name: &'static str) -> Result<Vec<Option<Change>>, SpecError> {
    let Some(node) = root.node(name) else { return Ok(vec![None]) };
    let Value::List(items) = &node.value else {
        return Err(node.error(format!("{name} must be a list, [[{name}]], got {}", node.show())));
    };
    items
        .iter()
        .map(|item| {
            let fields = root.nested(name, item)?;
            let own = fields.text("name")?;
            check_name(&fields, "name", own)?;
            let title = if fields.has("title") { Some(fields.text("title")?.to_string()) } else { None };
            Ok(Some(Change { name: own.into(), title, changes: item.without(&["name", "title"]) }))
        })
        .collect()
}

/// Names become folders.
fn check_name(fields: &Fields<'_>, field: &str, name: &str) -> Result<(), SpecError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !name.is_empty() && name.chars().all(plain) && !name.starts_with('.') {
        return Ok(());
    }
    let path = fields.path(field);
    Err(fields.error(format!("{path} must be letters, digits, '-', '_' and '.', got {name:?}")))
}

fn read_profile<'a>(document: &'a Node, wanted: Option<&str>) -> Result<Option<&'a Node>, SpecError> {
    let profiles = document.field("profile");
    let Some(wanted) = wanted else { return Ok(profiles.and_then(|p| p.field(FULL))) };
    let found = profiles.and_then(|p| p.field(wanted));
    if found.is_some() || wanted == FULL {
        return Ok(found);
    }
    let mut known = vec![FULL];
    if let Some(Value::Table(entries)) = profiles.map(|p| &p.value) {
        known.extend(entries.iter().map(|(name, _)| name.as_str()).filter(|name| *name != FULL));
    }
    let message = format!("profile must be one of {}, got {wanted:?}", known.join(", "));
    Err(SpecError { line: profiles.map(|p| p.line), message })
}

fn read_trial(node: &Node, changes: [Option<&Change>; 2], base: &Path) -> Result<TrialSpec, SpecError> {
    let root = Fields::root(node)?;
    let table = root.table("network")?;
    let network = NetworkSpec::read(&table, base)?;
    table.finish()?;
    let table = root.table("data")?;
    let data = DataSpec::read(&table, base)?;
    table.finish()?;
    let readout = ReadoutSpec::read(&root)?;
    let table = root.table("rule")?;
    let rule = TileRuleSpec::read(&table, &readout.transfer)?;
    table.finish()?;

    let devices = match root.optional_table("device")? {
        Some(table) => {
            let devices = TileDevices::read(&table, base)?;
            table.finish()?;
            Some(devices)
        }
        None if rule.is_digital() => None,
        None => return Err(root.missing("device")),
    };
    let table = root.optional_table("digital")?;
    let digital = DigitalSpec::read(table.as_ref(), &rule)?;
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

    let [cell, variant] = changes;
    let given: Vec<&str> = [cell, variant].into_iter().flatten().map(|c| c.name.as_str()).collect();
    let name = if given.is_empty() { rule.name.to_string() } else { given.join("-") };
    let title = variant.map_or_else(|| rule.name.to_string(), Change::words);
    let cell = cell.map(Change::words);
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

/// Builds the rule once for a small tile: what cannot be is refused while the line is at hand.
fn check_rule(root: &Fields<'_>, rule: &TileRuleSpec, devices: Option<&TileDevices>) -> Result<(), SpecError> {
    let Some(devices) = devices else { return Ok(()) };
    let key = residuum::Key::new(0);
    match rule.build(devices, [2, 2], residuum::Schedule::Constant, key) {
        Ok(_) => Ok(()),
        Err(error) => Err(root.table("rule")?.blame(&error)),
    }
}

impl TrialSpec {
    /// Everything that decides the numbers of a run of this seed, as text: one parameter in each line.
    pub fn description(&self, seed: u64) -> String {
        let mut lines: Vec<String> = self
            .resolved
            .iter()
            .filter(|r| r.path != "training.seeds")
            .map(|r| format!("{} = {}", r.path, r.value))
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines.push(format!("seed = {seed}\n"));
        lines.join("\n")
    }
}
