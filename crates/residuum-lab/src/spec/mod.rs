//! A TOML file that says everything about an experiment: an objective to be minimised, or networks to be trained.
//!
//! `docs/spec.md` explains how to write specs, `docs/reference.md` lists every field. Reading is strict: an unknown field, an
//! impossible value or a missing field is an error that names the line and the field, and nothing runs before the whole spec has been
//! read. A field is declared once, see `section`: to add one, edit the file of its table.

pub(crate) mod aihwkit;
mod build;
mod data;
mod device;
mod device_file;
pub(crate) mod difference;
mod experiment;
mod file;
mod folders;
mod grid;
mod hardware;
mod layer;
mod layers;
mod multi_tile;
mod network;
pub(crate) mod node;
mod overlay;
mod own_data;
mod points;
mod problem;
mod rate;
mod readout;
pub(crate) mod record;
pub mod reference;
mod resolved;
mod response;
mod rule;
mod rule_preset;
mod schema;
mod section;
mod seeds;
mod setup;
mod signs;
mod stamps;
mod symmetric_point;
mod table;
mod training;
mod types;
mod vector;

pub use build::RuleBuildError;
pub(crate) use data::batch_sentence;
pub use data::{Augment, DataSpec, DataSpecError, Half, HeldOut, Normalize};
pub use device::{CellSpec, DeviceSpec, Devices, device_presets};
pub use device_file::{fitted, has_device};
pub(crate) use difference::{Difference, joined};
pub use experiment::{Experiment, TrialSpec};
pub use file::SpecKind;
pub use folders::Folders;
pub(crate) use folders::digest as digest_of;
pub(crate) use grid::{Grid, MAX_TRIALS, Point};
pub use hardware::HardwareSpec;
pub use layer::LayerSpec;
pub use layers::ListedLayers;
pub use multi_tile::{ByStates, WarmStartSpec};
pub(crate) use network::shape_sentence;
pub use network::{Frozen, Model, NetworkSpec};
pub use node::SpecError;
pub(crate) use node::{Node, Value};
pub use own_data::OwnData;
pub use problem::{ProblemError, ProblemSpec, noisy};
pub use rate::Rate;
pub use readout::ReadoutSpec;
pub use record::{InitialSpec, Metric, RecordSpec, Variable};
pub use resolved::Resolved;
pub(crate) use resolved::describe;
pub use response::{CatalogueEntry, ResponseSpec, catalogue};
pub(crate) use rule::rule_has;
pub use rule::{CellGain, RateChoice, ResidualSpec, RuleKind, RuleSpec};
pub(crate) use rule_preset::device_preset;
pub use rule_preset::{RULE_PRESETS_VERSION, RulePreset, RulePresets, UsedPreset, rule_presets};
pub use schema::schema;
pub use section::{Declaration, Default, Field, FieldCondition};
pub use setup::{ArraySetup, Setup, noisy_problem};
pub use symmetric_point::SymmetricPointSpec;
pub use training::{DigitalSpec, EarlyStopSpec, ScheduleSpec, TrainingSpec};
pub use vector::{MatrixSpec, VectorSpec};

use std::path::Path;

use residuum::{Noise, Range, RateSchedules, Schedule};

use crate::rates::RatesReport;
use file::{FileTable, read_devices};
use section::Section as _;
use table::{Context, Table};

/// Most rows of a run's records; more would make a table nobody can open.
const MAX_ROWS: u64 = 50_000_000;

/// A spec as it was written, or made by a program.
#[derive(Clone, Debug)]
pub struct Document(pub(crate) Node);

impl Document {
    /// Reads TOML.
    ///
    /// # Errors
    /// If it is not TOML, with the line.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        Node::parse(text).map(Self)
    }

    /// Takes a tree of values, such as a JSON document or a Python dict; its errors have no lines.
    ///
    /// # Errors
    /// If a value has no counterpart in a spec.
    pub fn from_value(value: &serde_json::Value) -> Result<Self, SpecError> {
        Node::from_json(value).map(Self)
    }

    /// The tree of values, without lines.
    pub fn to_value(&self) -> serde_json::Value {
        self.0.to_json()
    }
}

impl Document {
    /// The document of every point of the grid, with the name of the point where the grid gives it one.
    pub(crate) fn points(&self, profile: Option<&str>) -> Result<Vec<(Option<String>, Node)>, SpecError> {
        let grid = Grid::read(&self.0, profile)?;
        let mut points = Vec::new();
        for place in grid.places()? {
            let point = grid.point(&place)?;
            let changes = [point.cell, point.variant].into_iter().flatten().map(|change| change.name.as_str());
            let swept = point.swept.iter().map(|(_, label)| label.replace(|c| !grid::is_plain(c), "_"));
            let words: Vec<String> = changes.map(String::from).chain(swept).collect();
            points.push(((!words.is_empty()).then(|| words.join("-")), point.node));
        }
        Ok(points)
    }
}

/// One optimisation problem, ready to be built for each seed.
#[derive(Clone, Debug)]
pub struct Spec {
    /// For the folders of runs.
    pub name: Option<String>,
    /// For tables and figures.
    pub title: Option<String>,
    /// K.
    pub steps: u64,
    /// One run per seed.
    pub seeds: Vec<u64>,
    /// The objective.
    pub problem: ProblemSpec,
    /// The gradient noise.
    pub noise: Noise,
    /// Devices of the main and the residual arrays.
    pub devices: Option<Devices>,
    /// The algorithm.
    pub rule: RuleSpec,
    /// Where it starts.
    pub initial: InitialSpec,
    /// What is recorded.
    pub record: RecordSpec,
    /// The range weights are expected to visit, over which theory bounds the responses.
    pub operating_range: Option<Range>,
    /// Every parameter as it will be used.
    pub resolved: Vec<Resolved>,
}

impl Spec {
    /// Reads a spec; relative paths in it are relative to `base`.
    ///
    /// # Errors
    /// The first fault, with its line.
    pub fn parse(text: &str, base: &Path) -> Result<Self, SpecError> {
        Self::of(&Document::parse(text)?, base)
    }

    /// Reads a document of one trial; relative paths in it are relative to `base`.
    ///
    /// # Errors
    /// The first fault, with its line if it has one.
    pub fn of(Document(document): &Document, base: &Path) -> Result<Self, SpecError> {
        for name in ["sweep", "variant", "cell", "profile"] {
            if let Some(node) = document.field(name) {
                let message = format!(
                    "{name} must not be given in a spec of one trial; read the spec as a grid, or remove it"
                );
                return Err(node.error(message));
            }
        }
        Self::read(document, &Folders::new(base))
    }

    /// Reads the spec of one trial.
    pub(crate) fn read(document: &Node, folders: &Folders) -> Result<Self, SpecError> {
        let context = Context::new(SpecKind::Problem, folders);
        let root = Table::root(document, context.clone())?;
        let file = FileTable::read(&root)?;
        let (steps, seeds) = (file.steps.ok_or_else(|| root.missing("steps"))?, file.seeds);
        let problem = file.problem.ok_or_else(|| root.missing("problem"))?;
        let problem = ProblemSpec::new(problem, &root.child("problem"))?;
        let dim = problem.dim();
        // Building once finds what only the numbers together reveal.
        let objective = problem
            .build(residuum::Key::new(seeds[0]).named("problem"))
            .map_err(|e| root.error(format!("problem.{e}")))?;
        let noise = match &file.noise {
            None => Noise::None,
            Some(noise) => problem::noise(noise, dim, &root.child("noise"))?,
        };
        if let Noise::Recorded { columns, .. } = &noise
            && ![1, dim].contains(columns)
        {
            return Err(root.error(format!(
                "noise.csv must have 1 column or one for each of the {dim} weights, got {columns}"
            )));
        }
        noise.validate(&*objective).map_err(|e| root.child("noise").blame(&e))?;
        let mut rule = file.rule.ok_or_else(|| root.missing("rule"))?;
        rule.read_through(&file.readout.transfer);
        let devices = read_devices(file.device, &rule, &root)?;
        rule.follow_states(devices.as_ref(), &root)?;
        if let RuleKind::Residual(ResidualSpec {
            warm_start: Some(WarmStartSpec { epoch: None, .. }), ..
        }) = &rule.kind
        {
            return Err(root.error("rule.warm_start.epoch is missing: a problem has no epochs of its own"));
        }
        let record = RecordSpec::new(file.record, steps, dim, &root.child("record"))?;
        let mut spec = Self {
            name: file.name,
            title: file.title,
            steps,
            seeds,
            problem,
            noise,
            devices,
            rule,
            initial: file.initial,
            record,
            operating_range: file.operating_range,
            resolved: Vec::new(),
        };
        spec.check_rows().map_err(|message| root.error(message))?;
        if let Some(devices) = spec.devices.as_ref().filter(|_| !spec.rule.is_digital()) {
            devices.check_signs(&spec.rule, Some(objective.minimizer().unwrap_or_default()), &root)?;
        }
        spec.choose_rates(&root)?;
        spec.resolved = context.resolved();
        spec.check(&*objective).map_err(|message| root.error(message))?;
        Ok(spec)
    }

    /// Fills in the rates of a rule that takes them from theory.
    fn choose_rates(&mut self, root: &Table<'_>) -> Result<(), SpecError> {
        let RuleKind::Residual(ResidualSpec { chosen_by: Some(choice), .. }) = &self.rule.kind else {
            return Ok(());
        };
        let choice = *choice;
        let report = RatesReport::new(self).map_err(|e| root.error(e))?;
        let wrong = |e: &dyn std::fmt::Display| root.error(format!("rule.rates = \"{choice}\": {e}"));
        let rates = match choice {
            RateChoice::Lemma => report.lemma.as_ref().map_err(|e| wrong(e))?.rates,
            RateChoice::Practical => report.practical.as_ref().map_err(|e| wrong(e))?.rates,
        };
        for (name, value) in [
            ("rule.learning_rate", rates.learning_rate),
            ("rule.transfer_rate", rates.transfer_rate),
            ("rule.mixing", rates.mixing),
        ] {
            root.defaulted(name, format!("{value:?}"));
        }
        self.rule.learning_rate = Some(rates.learning_rate.into());
        self.rule.transfer_rates = vec![rates.transfer_rate.into()];
        if let RuleKind::Residual(rule) = &mut self.rule.kind {
            rule.mixing = rates.mixing;
        }
        Ok(())
    }

    /// The rates of the rule as functions of the step.
    pub fn rates(&self) -> RateSchedules {
        self.rule.rates(Schedule::Constant)
    }

    /// Steps after which the rule is told f(W̄), if it wants to know.
    pub fn epoch(&self) -> Option<u64> {
        match &self.rule.kind {
            RuleKind::Residual(residual) => residual.warm_start.and_then(|warm_start| warm_start.epoch),
            _ => None,
        }
    }

    /// Checks that involve several parts.
    fn check(&self, objective: &dyn residuum::Objective) -> Result<(), String> {
        let rule = self.build_with(&self.rule.for_check(), self.seeds[0])?;
        for &metric in &self.record.metrics {
            if metric.needs_minimizer() && objective.minimizer().is_none() {
                return Err(format!("record.metrics: {metric} needs a known minimizer"));
            }
            if metric.variable() == Some(Variable::Residual) && rule.states().len() < 2 {
                return Err(format!(
                    "record.metrics: {metric} needs a rule with a residual array, not {}",
                    rule.label()
                ));
            }
        }
        Ok(())
    }

    /// Refuses records that would fill the memory, before anything of the size of the problem is built.
    fn check_rows(&self) -> Result<(), String> {
        let rows = self.record.rows(self.problem.dim()).saturating_mul(self.seeds.len() as u64);
        if rows > MAX_ROWS {
            return Err(format!(
                "record would write {rows} rows, more than {MAX_ROWS}: record fewer steps, indices or seeds"
            ));
        }
        Ok(())
    }
}

/// Reads a device alone: the content of a `[device]` table, a device file, or the main device of a spec.
///
/// # Errors
/// The first fault, with its line.
pub fn parse_device(text: &str, base: &Path) -> Result<DeviceSpec, SpecError> {
    let (document, folders) = (Node::parse(text)?, Folders::new(base));
    let kind = if document.field("network").is_some() { SpecKind::Network } else { SpecKind::Problem };
    let root = Table::root(&document, Context::new(kind, &folders))?;
    let wrong = |message: String| SpecError { line: None, message };
    let found = device_file::alone(&document).map_err(wrong)?;
    let named = root.has("device");
    let node = found.as_ref().or(document.field("device")).unwrap_or(&document);
    let at = root.at(if named { "device" } else { "" }, node, true);
    DeviceSpec::read(&at).map(|(device, _)| device)
}
