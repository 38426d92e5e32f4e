//! A TOML file that says everything about one optimisation problem: `residuum run SPEC.toml`.
//!
//! The schema is `docs/spec.md`. Reading is strict: an unknown field, an impossible value or a missing field is an
//! error that names the line and the field, and nothing runs before the whole spec has been read.

#[cfg(test)]
mod asked;
mod data;
mod device;
mod difference;
mod experiment;
mod folders;
mod grid;
mod network;
mod overlay;
mod problem;
mod reader;
mod readout;
mod record;
pub mod reference;
mod resolved;
mod rule;
mod tile_device;
mod tile_rule;
mod tile_steps;
mod training;
mod vector;

pub use data::{Augment, DataSpec, DataSpecError, Half, Normalize};
pub use experiment::{Experiment, TrialSpec};
pub use folders::Folders;
pub use network::{Frozen, Model, NetworkSpec};
pub use readout::ReadoutSpec;
pub use tile_device::TileDevices;
pub use tile_rule::{Rate, SymmetricPoint, TileRuleKind, TileRuleSpec};
pub use training::{DigitalSpec, EarlyStopSpec, ScheduleSpec, TrainingSpec};

pub use device::{CatalogueEntry, DeviceSpec, Family, ResponseSpec, catalogue};
pub(crate) use difference::{Difference, joined};
pub use problem::{ProblemError, ProblemSpec, noisy};
pub use reader::SpecError;
pub use record::{Metric, RecordSpec, Variable};
pub use resolved::Resolved;
pub(crate) use resolved::describe;
pub use rule::{CellGain, InitialSpec, RateChoice, ResidualSpec, RuleSpec, SymmetricPointSpec, ZeroShift};
pub use vector::{MatrixSpec, VectorSpec};

use std::path::Path;

use residuum::{Noise, Range};

use crate::rates::RatesReport;
pub(crate) use grid::{Grid, MAX_TRIALS, Point};
pub(crate) use reader::Node;
use reader::{Fields, Value};

/// More rows than this are refused: a table nobody can open.
const MAX_ROWS: u64 = 50_000_000;

/// More seeds than this are a slip of the pen, refused before their list fills the memory.
const MAX_SEEDS: u64 = 1_000_000;

/// One optimisation problem, ready to be built for each seed.
#[derive(Clone, Debug)]
pub struct Spec {
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
    pub devices: Option<(DeviceSpec, DeviceSpec)>,
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
    /// The first thing that is wrong, with its line.
    pub fn parse(text: &str, base: &Path) -> Result<Self, SpecError> {
        let document = Node::parse(text)?;
        for name in ["sweep", "variant", "cell", "profile"] {
            if let Some(node) = document.field(name) {
                let message =
                    format!("{name} must not stand in a spec of one trial: sweep it, or take it away");
                return Err(node.error(message));
            }
        }
        Self::read(&document, base)
    }

    /// Reads the spec of one trial.
    pub(crate) fn read(document: &Node, base: &Path) -> Result<Self, SpecError> {
        let fields = Fields::root(document)?;
        fields.node("name");
        let title = if fields.has("title") { Some(fields.text("title")?.to_string()) } else { None };
        fields.node("title");
        // `seeds` is near enough to `steps` to be taken for a misspelling of it unless it is known by then.
        fields.node("seeds");
        let steps = fields.count("steps")?;
        let seeds = read_seeds(&fields)?;

        let table = fields.table("problem")?;
        let problem = ProblemSpec::read(&table, base)?;
        table.finish()?;
        let dim = problem.dim();
        // Building once finds what only the numbers together reveal.
        let objective = problem
            .build(residuum::Key::new(seeds[0]).named("problem"))
            .map_err(|e| fields.error(format!("problem.{e}")))?;

        let table = fields.optional_table("noise")?;
        let noise = problem::read_noise(table.as_ref(), dim, base)?;
        if table.is_none() {
            fields.defaulted("noise", "none");
        }
        if let Some(table) = table {
            if let Noise::Recorded { columns, .. } = &noise
                && ![1, dim].contains(columns)
            {
                return Err(table.error(format!(
                    "noise.csv must have 1 column or one for each of the {dim} weights, got {columns}"
                )));
            }
            noise.validate(&*objective).map_err(|e| table.blame(&e))?;
            table.finish()?;
        }

        let table = fields.table("rule")?;
        let rule = RuleSpec::read(&table, base)?;
        table.finish()?;
        let devices = read_devices(&fields, &rule, base)?;

        let table = fields.optional_table("initial")?;
        let initial = InitialSpec::read(table.as_ref(), base)?;
        match table {
            Some(table) => table.finish()?,
            None => {
                fields.defaulted("initial.main", "0");
                fields.defaulted("initial.residual", "the symmetric point");
            }
        }
        let table = fields.optional_table("record")?;
        let record = RecordSpec::read(table.as_ref(), steps, dim)?;
        match table {
            Some(table) => table.finish()?,
            None => RecordSpec::list_defaults(&fields, steps),
        }
        let operating_range = device::read_range(&fields, "operating_range")?;
        let mut spec = Self {
            title,
            steps,
            seeds,
            problem,
            noise,
            devices,
            rule,
            initial,
            record,
            operating_range,
            resolved: Vec::new(),
        };
        spec.choose_rates(&fields)?;
        spec.resolved = fields.resolved();
        spec.check(&*objective).map_err(|message| fields.error(message))?;
        fields.finish()?;
        Ok(spec)
    }

    /// Fills in the rates of a rule that leaves them to the theory.
    fn choose_rates(&mut self, fields: &Fields<'_>) -> Result<(), SpecError> {
        let RuleSpec::Residual(ResidualSpec { chosen_by: Some(choice), .. }) = &self.rule else {
            return Ok(());
        };
        let choice = *choice;
        let report = RatesReport::new(self).map_err(|e| fields.error(e))?;
        let wrong = |e: &dyn std::fmt::Display| fields.error(format!("rule.rates = \"{choice}\": {e}"));
        let rates = match choice {
            RateChoice::Lemma => report.lemma.as_ref().map_err(|e| wrong(e))?.rates,
            RateChoice::Practical => report.practical.as_ref().map_err(|e| wrong(e))?.rates,
        };
        for (name, value) in [
            ("rule.learning_rate", rates.learning_rate),
            ("rule.transfer_rate", rates.transfer_rate),
            ("rule.mixing", rates.mixing),
        ] {
            fields.defaulted(name, format!("{value:?}"));
        }
        if let RuleSpec::Residual(rule) = &mut self.rule {
            rule.learning_rate = rates.learning_rate.into();
            rule.transfer_rates = vec![rates.transfer_rate.into()];
            rule.mixing = rates.mixing;
        }
        Ok(())
    }

    /// What only the parts together reveal.
    fn check(&self, objective: &dyn residuum::Objective) -> Result<(), String> {
        let devices = self.devices.as_ref().map(|(main, residual)| (main, residual));
        let key = residuum::Key::new(self.seeds[0]).named("rule");
        let rule = self.rule.build(&self.initial, devices, self.problem.dim(), key)?;
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
        let rows = self.record.rows(self.problem.dim()).saturating_mul(self.seeds.len() as u64);
        if rows > MAX_ROWS {
            return Err(format!(
                "record would write {rows} rows, more than {MAX_ROWS}: record fewer steps, indices or seeds"
            ));
        }
        Ok(())
    }
}

fn read_seeds(fields: &Fields<'_>) -> Result<Vec<u64>, SpecError> {
    let Some(node) = fields.given("seeds") else {
        fields.defaulted("seeds", "[0]");
        return Ok(vec![0]);
    };
    match &node.value {
        Value::Integer(_) => Ok(vec![fields.count("seeds")?]),
        Value::Table(_) => {
            let table = fields.nested("seeds", node)?;
            let (first, count) = (table.optional_count("first")?.unwrap_or(0), table.count("count")?);
            table.finish()?;
            match first.checked_add(count) {
                Some(end) if (1..=MAX_SEEDS).contains(&count) => Ok((first..end).collect()),
                _ => Err(node.error(format!("seeds.count must be between 1 and {MAX_SEEDS}, got {count}"))),
            }
        }
        Value::List(items) if !items.is_empty() => {
            let seeds: Vec<u64> = items
                .iter()
                .map(|item| match item.value {
                    Value::Integer(i) if i >= 0 => Ok(i as u64),
                    _ => Err(item
                        .error(format!("seeds must be whole numbers, zero or positive, got {}", item.show()))),
                })
                .collect::<Result<_, _>>()?;
            // The rows of a seed could not be told from those of its double.
            match seeds.iter().enumerate().find(|(i, seed)| seeds[..*i].contains(seed)) {
                Some((_, seed)) => Err(node.error(format!("seeds must be different, got {seed} twice"))),
                None => Ok(seeds),
            }
        }
        _ => Err(node.error(format!(
            "seeds must be a whole number, a list of them, or {{ first = …, count = … }}, got {}",
            node.show()
        ))),
    }
}

fn read_devices(
    fields: &Fields<'_>,
    rule: &RuleSpec,
    base: &Path,
) -> Result<Option<(DeviceSpec, DeviceSpec)>, SpecError> {
    let Some(table) = fields.optional_table("device")? else {
        return if rule.needs_device() { Err(fields.missing("device")) } else { Ok(None) };
    };
    let both = if table.has("main") || table.has("residual") {
        let read = |name| -> Result<DeviceSpec, SpecError> {
            let part = table.table(name)?;
            let device = DeviceSpec::read(&part, base)?;
            part.finish()?;
            Ok(device)
        };
        let main = read("main")?;
        // A rule with one array has no use for a second device, but may share a spec with one that has.
        let single = !matches!(rule, RuleSpec::Residual(_)) && !table.has("residual");
        let residual = if single { main.clone() } else { read("residual")? };
        (main, residual)
    } else {
        let device = DeviceSpec::read(&table, base)?;
        (device.clone(), device)
    };
    table.finish()?;
    Ok(Some(both))
}

/// Reads a device alone: the content of a `[device]` table.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn parse_device(text: &str, base: &Path) -> Result<DeviceSpec, SpecError> {
    let document = Node::parse(text)?;
    let fields = Fields::root(&document)?;
    let device = match fields.optional_table("device")? {
        Some(table) => {
            let device = DeviceSpec::read(&table, base)?;
            table.finish()?;
            device
        }
        None => DeviceSpec::read(&fields, base)?,
    };
    fields.finish()?;
    Ok(device)
}
