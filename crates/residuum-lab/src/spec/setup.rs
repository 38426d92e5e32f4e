//! A rule on its arrays, or an array alone, in the words of a spec but without its problem or network: what a program that
//! brings its own gradients needs.

use std::path::Path;
use std::sync::Arc;

use residuum::readout::Shape;
use residuum::rule::{AnyRule, Digital};
use residuum::tile::Scheme;
use residuum::{Array, Key, Noise, Noisy, Objective, RateSchedules, Rule, Schedule};

use super::build::{Builder, Number, RuleBuildError, Start};
use super::device::{DeviceField, DeviceSpec, Devices, DevicesRead};
use super::file::{SpecKind, read_devices};
use super::folders::Folders;
use super::node::{Node, SpecError, Value};
use super::problem::{NoiseTable, ProblemSpec, ProblemTable, noise};
use super::readout::{ReadoutField, ReadoutSpec};
use super::rule::{RATED, RuleField, RuleKind, RuleSpec, TRANSFERRING, TrainsTable, scheme};
use super::rule_preset::with_preset;
use super::section::{Optional, Or, Section as _, section};
use super::table::{Context, Table};
use super::types::{TakesExt as _, table};
use super::{Document, ResidualSpec};

section! {
    /// A rule on its arrays.
    pub(crate) struct SetupTable {
        /// the cells of arrays
        device: Option<DevicesRead> = DeviceField, "–", Optional("required by analog rules");
        /// the algorithm
        rule: Option<RuleSpec> = RuleField, "–", Optional("required");
        /// how tiles are read
        readout: ReadoutSpec = ReadoutField, "–", Or("\"ideal\"");
    }
}

section! {
    /// An array.
    pub(crate) struct ArrayTable {
        /// the cells
        device: Option<DevicesRead> = DeviceField, "–", Optional("required");
        /// how increments are written to tiles
        pulses: Scheme = table::<TrainsTable>().then(scheme), "–", Or("{}");
        /// how it is read
        readout: ReadoutSpec = ReadoutField, "–", Or("\"ideal\"");
    }
}

/// A rule with its devices and reads.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The algorithm.
    pub rule: RuleSpec,
    /// Devices of its arrays; a digital rule needs none.
    pub devices: Option<Devices>,
    /// How arrays are read.
    pub readout: ReadoutSpec,
    /// Whether a learning rate was given; if not, every step must bring one.
    pub has_learning_rate: bool,
    /// Whether transfer rates were given, where the rule has transfers.
    pub has_transfer_rate: bool,
}

/// The rates that a rule may leave to its steps.
fn with_rates(document: &Node) -> (Node, [bool; 2]) {
    let missing = |names: &[&str], kinds: &[&str]| {
        let rule = document.field("rule");
        let kind = rule.and_then(|rule| rule.field("kind")).and_then(Node::as_text);
        let given = |name: &&str| rule.is_some_and(|rule| rule.field(name).is_some());
        kind.is_some_and(|kind| kinds.contains(&kind)) && !names.iter().any(given)
    };
    let lacks = [
        missing(&["learning_rate", "rates"], RATED),
        missing(&["transfer_rate", "transfer_rates", "rates"], TRANSFERRING),
    ];
    let mut whole = document.clone();
    for (name, _) in ["learning_rate", "transfer_rate"].into_iter().zip(lacks).filter(|(_, lacks)| *lacks) {
        let path = ["rule".to_string(), name.to_string()];
        whole = whole.with(&path, Some(&Node { line: None, value: Value::Number(1.0) }));
    }
    (whole, lacks.map(|lacks| !lacks))
}

impl Setup {
    /// Reads `[rule]`, `[device]` and `[readout]`. Without `array`, cells are exact for [`SpecKind::Problem`] and tiles for
    /// [`SpecKind::Network`]; rates may be left to the steps. Relative paths are relative to `base`.
    ///
    /// # Errors
    /// The first fault.
    pub fn of(Document(document): &Document, kind: SpecKind, base: &Path) -> Result<Self, SpecError> {
        let expanded = match kind {
            SpecKind::Network => with_preset(document)?.map(|(node, _)| node),
            SpecKind::Problem => None,
        };
        let (document, [has_learning_rate, has_transfer_rate]) =
            with_rates(expanded.as_ref().unwrap_or(document));
        let folders = Folders::new(base);
        let root = Table::root(&document, Context::new(kind, &folders))?;
        let fields = SetupTable::read(&root)?;
        let mut rule = fields.rule.ok_or_else(|| root.missing("rule"))?;
        if let RuleKind::Residual(ResidualSpec { chosen_by: Some(_), .. }) = rule.kind {
            return Err(root.error("rule.rates must not be given without [problem]: the theory needs one"));
        }
        let readout = fields.readout;
        rule.read_through(&readout.transfer);
        let devices = read_devices(fields.device, &rule, &root)?;
        Ok(Self { rule, devices, readout, has_learning_rate, has_transfer_rate })
    }

    /// Whether weights must be in single precision.
    pub fn is_single(&self) -> bool {
        self.devices.as_ref().is_some_and(Devices::has_tiles) && !self.rule.is_digital()
    }

    /// The rates of the rule as functions of the step.
    pub fn rates(&self) -> RateSchedules {
        self.rule.rates(Schedule::Constant)
    }

    /// The rule in double precision, on exact arrays of `rows × cols` cells that start at `weights`.
    ///
    /// # Errors
    /// A sentence that names the field.
    pub fn rule_f64(
        &self,
        shape: [usize; 2],
        weights: &[f64],
        key: Key,
    ) -> Result<Box<dyn Rule<f64>>, RuleBuildError> {
        self.build(shape, weights, key)
    }

    /// The rule in single precision, on tiles or exact arrays of `rows × cols` cells that start at `weights`.
    ///
    /// # Errors
    /// A sentence that names the field.
    pub fn rule_f32(
        &self,
        shape: [usize; 2],
        weights: &[f64],
        key: Key,
    ) -> Result<Box<dyn Rule<f32>>, RuleBuildError> {
        self.build(shape, weights, key)
    }

    fn build<T: Number>(
        &self,
        [rows, cols]: [usize; 2],
        weights: &[f64],
        key: Key,
    ) -> Result<Box<dyn Rule<T>>, RuleBuildError> {
        let Some(devices) = self.devices.as_ref().filter(|_| !self.rule.is_digital()) else {
            let weights: Vec<T> = weights.iter().map(|w| T::from_f64(*w)).collect();
            return Ok(AnyRule::from(Digital::new(&weights, self.rule.source)?).boxed());
        };
        let start = Start { main: Some(weights), residual: None };
        let shape = Shape { rows, cols };
        Builder { rule: &self.rule, devices, shape, start, key }.build()
    }
}

/// An array with its reads.
#[derive(Clone, Debug)]
pub struct ArraySetup {
    /// The cells.
    pub device: DeviceSpec,
    /// How increments are written to tiles.
    pub pulses: Scheme,
    /// How it is read.
    pub readout: ReadoutSpec,
}

impl ArraySetup {
    /// Reads `[device]`, `[pulses]` and `[readout]`, as [`Setup::of`].
    ///
    /// # Errors
    /// The first fault.
    pub fn of(Document(document): &Document, kind: SpecKind, base: &Path) -> Result<Self, SpecError> {
        let folders = Folders::new(base);
        let root = Table::root(document, Context::new(kind, &folders))?;
        let ArrayTable { device, pulses, readout } = ArrayTable::read(&root)?;
        let device = device.ok_or_else(|| root.missing("device"))?.finish(false, &root)?.main;
        Ok(Self { device, pulses, readout })
    }

    /// The array in double precision, at `weights`.
    ///
    /// # Errors
    /// A sentence that names the field.
    pub fn array_f64(
        &self,
        shape: [usize; 2],
        weights: &[f64],
        key: Key,
    ) -> Result<Box<dyn Array<f64>>, RuleBuildError> {
        self.build(shape, weights, key)
    }

    /// The array in single precision, at `weights`.
    ///
    /// # Errors
    /// A sentence that names the field.
    pub fn array_f32(
        &self,
        shape: [usize; 2],
        weights: &[f64],
        key: Key,
    ) -> Result<Box<dyn Array<f32>>, RuleBuildError> {
        self.build(shape, weights, key)
    }

    fn build<T: Number>(
        &self,
        [rows, cols]: [usize; 2],
        weights: &[f64],
        key: Key,
    ) -> Result<Box<dyn Array<T>>, RuleBuildError> {
        let (device, shape) = (&self.device, Shape { rows, cols });
        super::build::array(device, shape, self.pulses, weights, key)
    }
}

section! {
    /// An objective and the noise of its gradients.
    pub(crate) struct NoisyTable {
        /// what is minimised
        problem: Option<ProblemTable> = table::<ProblemTable>(), "–", Optional("required");
        /// the gradient noise
        noise: Option<NoiseTable> = table::<NoiseTable>(), "–", Optional("none");
    }
}

/// Reads `[problem]` and `[noise]`; random parts of the problem are drawn from `key`. An objective of one's own takes the place
/// of `[problem]`.
///
/// # Errors
/// The first fault.
pub fn noisy_problem(
    Document(document): &Document,
    own: Option<Arc<dyn Objective>>,
    base: &Path,
    key: Key,
) -> Result<Noisy, SpecError> {
    let folders = Folders::new(base);
    let root = Table::root(document, Context::new(SpecKind::Problem, &folders))?;
    let fields = NoisyTable::read(&root)?;
    let objective = match (own, fields.problem) {
        (Some(_), Some(_)) => return Err(root.error("problem must not stand beside an objective of one's own")),
        (Some(own), None) => own,
        (None, problem) => {
            let problem = problem.ok_or_else(|| root.missing("problem"))?;
            let problem = ProblemSpec::new(problem, &root.child("problem"))?;
            problem.build(key.named("problem")).map_err(|e| root.error(format!("problem.{e}")))?
        }
    };
    let noise = match &fields.noise {
        None => Noise::None,
        Some(fields) => noise(fields, objective.dim(), &root.child("noise"))?,
    };
    Noisy::new(objective, noise).map_err(|e| root.child("noise").blame(&e))
}
