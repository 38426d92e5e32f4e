//! `[rule]` and `[initial]`: the algorithm, its rates, and where it starts.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use residuum::array::{Array, Calibration, ExactArray};
use residuum::cells::symmetric_points;
use residuum::rule::{
    Analog, Digital, RateSchedules, ResidualConfig, ResidualLearning, Rule, Source, SymmetricPoint, Transfer,
};
use residuum::{Cells, Key, ParameterError, Pulses, Schedule};

use super::device::DeviceSpec;
use super::reader::{Fields, Node, SpecError, Value};
use super::vector::VectorSpec;

/// The algorithm of a spec.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one per spec")]
pub enum RuleSpec {
    /// In digital memory.
    Digital(Source, Schedule),
    /// One analog array.
    Analog(Source, Schedule),
    /// Residual Learning or a cascade of it.
    Residual(ResidualSpec),
}

/// Residual Learning with its options.
#[derive(Clone, Debug)]
pub struct ResidualSpec {
    /// α.
    pub learning_rate: Schedule,
    /// β of each stage; one for plain Residual Learning.
    pub transfer_rates: Vec<Schedule>,
    /// γ.
    pub mixing: f64,
    /// Where the rule believes W⋄ to be.
    pub symmetric_point: SymmetricPointSpec,
    /// How W is moved.
    pub transfer: Transfer,
    /// Whether steps are divided by each cell's gain.
    pub cell_gain: CellGain,
    /// Whether it was asked for as a cascade.
    pub cascade: bool,
    /// Who chose the rates, if the spec left it to the theory.
    pub chosen_by: Option<RateChoice>,
}

/// A theory that can choose α, β and γ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateChoice {
    /// The coefficient lemma of the convergence theorem, with all its conditions.
    Lemma,
    /// The stationary laws.
    Practical,
}

impl fmt::Display for RateChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lemma => "lemma",
            Self::Practical => "practical",
        })
    }
}

/// Where the rule believes W⋄ to be.
#[derive(Clone, Debug, PartialEq)]
pub enum SymmetricPointSpec {
    /// The device's own.
    Known,
    /// Given numbers.
    Given(VectorSpec),
    /// The device's own plus an error.
    Error(VectorSpec),
    /// Measured by zero-shifting before the run.
    Estimated {
        /// How.
        procedure: ZeroShift,
    },
}

/// Zero-shifting as a spec asks for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZeroShift {
    /// The pulses.
    pub pulses: Pulses,
    /// Their cycle-to-cycle noise.
    pub noise: f64,
    /// Up–down pairs.
    pub pairs: u64,
    /// Pairs at the end over which the cycle is averaged.
    pub averaged: u64,
}

impl ZeroShift {
    fn read(table: &Fields<'_>) -> Result<Self, SpecError> {
        let noise = table.number_or("cycle_noise", 0.0)?;
        let pulses = Pulses::new(table.number("pulse_step")?)
            .and_then(|p| p.cycle_noise(noise))
            .map_err(|e| table.blame(&e))?;
        let pairs = table.count("pairs")?;
        if pairs == 0 {
            return Err(table.error(format!("{} must be at least 1, got 0", table.path("pairs"))));
        }
        // A cycle without noise repeats itself; a noisy one is averaged over the half that has settled.
        let default = if noise > 0.0 { pairs.div_ceil(2) } else { 1 };
        let averaged = table.optional_count("averaged")?.unwrap_or(default);
        if !(1..=pairs).contains(&averaged) {
            let path = table.path("averaged");
            return Err(table.error(format!("{path} must be between 1 and pairs = {pairs}, got {averaged}")));
        }
        Ok(Self { pulses, noise, pairs, averaged })
    }

    fn run(&self, array: &mut ExactArray, key: Key) -> Result<Calibration, String> {
        let settings = residuum::array::ZeroShift {
            averaged: self.averaged,
            pulse_step: Some(self.pulses.step()),
            cycle_noise: self.noise,
            ..residuum::array::ZeroShift::pairs(self.pairs)
        };
        array.zero_shift(&settings, key).map_err(|e| e.to_string())
    }
}

/// How per-cell step sizes are had.
#[derive(Clone, Debug, PartialEq)]
pub enum CellGain {
    /// One scalar step for all cells.
    Off,
    /// The true gain of each cell at its symmetric point.
    Known,
    /// The gain from the swing of zero-shifting.
    Measured {
        /// How.
        procedure: ZeroShift,
    },
}

/// Where the arrays start.
#[derive(Clone, Debug, PartialEq)]
pub struct InitialSpec {
    /// W₀.
    pub main: VectorSpec,
    /// P₀; the symmetric point the rule believes in if `None`.
    pub residual: Option<VectorSpec>,
}

impl InitialSpec {
    pub(crate) fn read(fields: Option<&Fields<'_>>, base: &Path) -> Result<Self, SpecError> {
        let Some(fields) = fields else {
            return Ok(Self { main: VectorSpec::Constant(0.0), residual: None });
        };
        let main = match fields.given("main") {
            Some(node) => VectorSpec::of(fields, "main", node, base)?,
            None => {
                fields.defaulted("main", "0");
                VectorSpec::Constant(0.0)
            }
        };
        let residual = match fields.given("residual") {
            Some(node) => Some(VectorSpec::of(fields, "residual", node, base)?),
            None => {
                fields.defaulted("residual", "the symmetric point");
                None
            }
        };
        Ok(Self { main, residual })
    }
}

impl RuleSpec {
    pub(crate) fn read(fields: &Fields<'_>, base: &Path) -> Result<Self, SpecError> {
        let kinds = ["digital", "analog", "residual_learning", "residual_cascade"];
        Ok(match fields.choice("kind", &kinds)? {
            "digital" => {
                let (source, rate) = read_source(fields)?;
                Self::Digital(source, rate)
            }
            "analog" => {
                let (source, rate) = read_source(fields)?;
                Self::Analog(source, rate)
            }
            kind => Self::Residual(ResidualSpec::read(fields, kind == "residual_cascade", base)?),
        })
    }

    /// Whether the rule uses analog arrays.
    pub fn needs_device(&self) -> bool {
        !matches!(self, Self::Digital(..))
    }

    /// The rates of the rule.
    pub fn rates(&self) -> RateSchedules {
        match self {
            Self::Digital(_, rate) | Self::Analog(_, rate) => RateSchedules::learning(*rate),
            Self::Residual(spec) => {
                RateSchedules { learning: spec.learning_rate, transfer: spec.transfer_rates.clone() }
            }
        }
    }

    /// The rule of one seed. `main` and `residual` are the devices of W and P.
    ///
    /// # Errors
    /// A sentence that names the field.
    pub fn build(
        &self,
        initial: &InitialSpec,
        devices: Option<(&DeviceSpec, &DeviceSpec)>,
        n: usize,
        key: Key,
    ) -> Result<Box<dyn Rule>, String> {
        let start = initial.main.build(n, key.named("main")).map_err(|e| format!("initial.main {e}"))?;
        match (self, devices) {
            (Self::Digital(source, _), _) => {
                Ok(Box::new(Digital::new(&start, *source).map_err(|e| e.to_string())?))
            }
            (_, None) => Err("device is missing: this rule writes to analog memory".into()),
            (Self::Analog(source, _), Some((main, _))) => {
                let main = array(main, &start, "main", "initial.main", key)?;
                Ok(Box::new(Analog::new(main, *source).map_err(|e| e.to_string())?))
            }
            (Self::Residual(spec), Some((main, residual))) => {
                let main = array(main, &start, "main", "initial.main", key)?;
                spec.build(main, residual, initial.residual.as_ref(), key)
            }
        }
    }
}

/// The array `name`, whose first state comes from `field`.
fn array(device: &DeviceSpec, start: &[f64], name: &str, field: &str, key: Key) -> Result<ExactArray, String> {
    let cells = cells(device, start.len(), name, key)?;
    let outside = start.iter().enumerate().find(|&(i, &w)| !cells.response(i).range().contains(w));
    if let Some((i, w)) = outside {
        let range = cells.response(i).range();
        return Err(format!("{field} must be inside the dynamic range {range} of cell {i}, got {w}"));
    }
    ExactArray::new(start, cells, device.update).map_err(|e| format!("{name} array: {e}"))
}

fn cells(device: &DeviceSpec, n: usize, name: &str, key: Key) -> Result<Arc<dyn Cells>, String> {
    device.cells(n, key.named(name).named("device")).map_err(|e| format!("{name} array: {e}"))
}

impl ResidualSpec {
    fn read(fields: &Fields<'_>, cascade: bool, base: &Path) -> Result<Self, SpecError> {
        let options = |learning_rate, transfer_rates, mixing, chosen_by| -> Result<Self, SpecError> {
            Ok(Self {
                learning_rate,
                transfer_rates,
                mixing,
                symmetric_point: if cascade {
                    SymmetricPointSpec::Known
                } else {
                    read_symmetric_point(fields, base)?
                },
                transfer: if cascade { Transfer::default() } else { read_transfer(fields)? },
                cell_gain: if cascade { CellGain::Off } else { read_cell_gain(fields)? },
                cascade,
                chosen_by,
            })
        };
        if !cascade && fields.has("rates") {
            let choice = match fields.choice("rates", &["lemma", "practical"])? {
                "lemma" => RateChoice::Lemma,
                _ => RateChoice::Practical,
            };
            if let Some(name) = ["learning_rate", "transfer_rate", "mixing"].into_iter().find(|n| fields.has(n))
            {
                return Err(
                    fields.error(format!("rule.{name} must not stand beside rule.rates, which chooses it"))
                );
            }
            return options(1.0.into(), vec![1.0.into()], 1.0, Some(choice));
        }
        let mixing = fields.number("mixing")?;
        if !(mixing > 0.0 && mixing.is_finite()) {
            return Err(fields.error(format!("rule.mixing must be positive and finite, got {mixing}")));
        }
        let transfer_rates = if cascade {
            let node = fields.required("transfer_rates")?;
            let Value::List(items) = &node.value else {
                return Err(node.error(format!(
                    "rule.transfer_rates must be a list, main array first, got {}",
                    node.show()
                )));
            };
            if items.is_empty() || items.len() > 8 {
                return Err(
                    node.error(format!("rule.transfer_rates must have 1 to 8 rates, got {}", items.len()))
                );
            }
            items.iter().map(|item| schedule_of(fields, "transfer_rates", item)).collect::<Result<_, _>>()?
        } else {
            vec![read_schedule(fields, "transfer_rate")?]
        };
        options(read_schedule(fields, "learning_rate")?, transfer_rates, mixing, None)
    }

    fn build(
        &self,
        main: ExactArray,
        residual: &DeviceSpec,
        start: Option<&VectorSpec>,
        key: Key,
    ) -> Result<Box<dyn Rule>, String> {
        let n = main.len();
        let text = |e: ParameterError| e.to_string();
        let residual_array = |name: &str, point: &[f64]| -> Result<ExactArray, String> {
            let Some(spec) = start else {
                return array(residual, point, name, "rule.symmetric_point", key);
            };
            let start = spec.build(n, key.named(name)).map_err(|e| format!("initial.residual {e}"))?;
            array(residual, &start, name, "initial.residual", key)
        };
        if self.cascade {
            let names = (0..self.transfer_rates.len()).map(|i| format!("residual {i}"));
            let arrays = names
                .map(|name| {
                    let cells = cells(residual, n, &name, key)?;
                    let points = symmetric_points(&*cells, n, "the residual cascade").map_err(text)?;
                    Ok(Box::new(residual_array(&name, &points)?) as Box<dyn Array<f64>>)
                })
                .collect::<Result<Vec<_>, String>>()?;
            let rule = ResidualLearning::cascade(main, arrays, ResidualConfig::mixing(self.mixing));
            return Ok(Box::new(rule.map_err(text)?));
        }
        let cells = cells(residual, n, "residual", key)?;
        let point = self.point(&cells, residual, n, key)?;
        let p = residual_array("residual", &point)?;
        let gains = self.gains(&main, &p, key)?;
        let config = ResidualConfig {
            mixing: self.mixing,
            symmetric_point: SymmetricPoint::Given(point),
            transfer: self.transfer,
            cell_gain: gains.map(|(main, residual)| [main, residual]),
            ..ResidualConfig::default()
        };
        Ok(Box::new(ResidualLearning::new(main, p, config).map_err(text)?))
    }

    fn point(
        &self,
        cells: &Arc<dyn Cells>,
        device: &DeviceSpec,
        n: usize,
        key: Key,
    ) -> Result<Vec<f64>, String> {
        let known = || symmetric_points(&**cells, n, "residual_learning").map_err(|e| e.to_string());
        let vector = |spec: &VectorSpec| {
            spec.build(n, key.named("symmetric_point")).map_err(|e| format!("rule.symmetric_point {e}"))
        };
        match &self.symmetric_point {
            SymmetricPointSpec::Known => known(),
            SymmetricPointSpec::Given(spec) => vector(spec),
            SymmetricPointSpec::Error(spec) => {
                Ok(known()?.iter().zip(vector(spec)?).map(|(point, error)| point + error).collect())
            }
            SymmetricPointSpec::Estimated { procedure } => {
                let start: Vec<f64> = (0..n).map(|i| cells.response(i).range().clip(0.0)).collect();
                let mut array =
                    ExactArray::new(&start, Arc::clone(cells), device.update).map_err(|e| e.to_string())?;
                Ok(procedure.run(&mut array, key.named("zero_shift"))?.symmetric_point)
            }
        }
    }

    fn gains(
        &self,
        main: &ExactArray,
        residual: &ExactArray,
        key: Key,
    ) -> Result<Option<(Vec<f64>, Vec<f64>)>, String> {
        let each = |array: &ExactArray, name: &str| -> Result<Vec<f64>, String> {
            match &self.cell_gain {
                CellGain::Measured { procedure } => {
                    Ok(procedure.run(&mut array.clone(), key.named("cell_gain").named(name))?.gain)
                }
                _ => {
                    let points =
                        symmetric_points(array.cells(), array.len(), "cell_gain").map_err(|e| e.to_string())?;
                    Ok(points.iter().enumerate().map(|(i, &w)| array.cells().response(i).gain(w)).collect())
                }
            }
        };
        match self.cell_gain {
            CellGain::Off => Ok(None),
            _ => Ok(Some((each(main, "main")?, each(residual, "residual")?))),
        }
    }
}

fn read_source(fields: &Fields<'_>) -> Result<(Source, Schedule), SpecError> {
    let learning_rate = read_schedule(fields, "learning_rate")?;
    let source = match fields.choice_or("source", &["sgd", "momentum", "adam"], "sgd")? {
        "sgd" => Source::Sgd,
        "momentum" => Source::Momentum { momentum: fields.number_or("momentum", 0.9)? },
        _ => Source::Adam {
            decay_first: fields.number_or("decay_first", 0.9)?,
            decay_second: fields.number_or("decay_second", 0.999)?,
            epsilon: fields.number_or("epsilon", 1e-8)?,
        },
    };
    Ok((source.validate().map_err(|e| fields.blame(&e))?, learning_rate))
}

pub(crate) fn read_schedule(fields: &Fields<'_>, name: &'static str) -> Result<Schedule, SpecError> {
    schedule_of(fields, name, fields.required(name)?)
}

fn schedule_of(fields: &Fields<'_>, name: &'static str, node: &Node) -> Result<Schedule, SpecError> {
    if let Some(rate) = node.as_number() {
        return Schedule::Constant(rate).validate().map_err(|_| {
            node.error(format!("{} must be zero or positive, and finite, got {rate}", fields.path(name)))
        });
    }
    let Value::Table(_) = node.value else {
        let path = fields.path(name);
        return Err(node.error(format!("{path} must be a number or a schedule, got {}", node.show())));
    };
    let table = fields.nested(name, node)?;
    let schedule = match table.choice("kind", &["constant", "inverse", "step", "cosine", "warm_up"])? {
        "constant" => Schedule::Constant(table.number("rate")?),
        "inverse" => {
            Schedule::Inverse { initial: table.number("initial")?, half_life: table.number("half_life")? }
        }
        "step" => Schedule::Step {
            initial: table.number("initial")?,
            every: table.count("every")?,
            factor: table.number("factor")?,
            warm_up: 0,
        },
        "cosine" => Schedule::Cosine {
            initial: table.number("initial")?,
            last: table.number_or("last", 0.0)?,
            steps: table.count("steps")?,
            warm_up: 0,
        },
        _ => Schedule::WarmUp { rate: table.number("rate")?, steps: table.count("steps")? },
    };
    let checked = schedule.validate().map_err(|e| table.blame(&e))?;
    table.finish()?;
    Ok(checked)
}

fn read_symmetric_point(fields: &Fields<'_>, base: &Path) -> Result<SymmetricPointSpec, SpecError> {
    let Some(node) = fields.given("symmetric_point") else {
        fields.defaulted("symmetric_point", "\"known\"");
        return Ok(SymmetricPointSpec::Known);
    };
    if node.value == Value::Text("known".into()) {
        return Ok(SymmetricPointSpec::Known);
    }
    if let Value::Table(entries) = &node.value {
        let table = fields.nested("symmetric_point", node)?;
        if entries.iter().any(|(k, _)| k == "error") {
            let error = VectorSpec::read(&table, "error", base)?;
            table.finish()?;
            return Ok(SymmetricPointSpec::Error(error));
        }
        if let Some(zero_shift) = table.optional_table("zero_shift")? {
            let procedure = ZeroShift::read(&zero_shift)?;
            zero_shift.finish()?;
            table.finish()?;
            return Ok(SymmetricPointSpec::Estimated { procedure });
        }
    }
    VectorSpec::of(fields, "symmetric_point", node, base).map(SymmetricPointSpec::Given).map_err(|e| {
        SpecError {
            message: format!(
                "{} (or \"known\", {{ error = … }}, {{ zero_shift = {{ pulse_step, pairs }} }})",
                e.message
            ),
            ..e
        }
    })
}

fn read_transfer(fields: &Fields<'_>) -> Result<Transfer, SpecError> {
    let transfer = match fields.choice_or("transfer", &["plain", "compensated"], "plain")? {
        "plain" => Transfer::default(),
        _ => {
            let compensated = Some(fields.number_or("transfer_floor", 1e-3)?);
            Transfer { compensated, ..Transfer::default() }
        }
    };
    if let Some(floor) = transfer.compensated
        && !(floor > 0.0 && floor.is_finite())
    {
        return Err(fields.error(format!("rule.transfer_floor must be positive and finite, got {floor}")));
    }
    Ok(transfer)
}

fn read_cell_gain(fields: &Fields<'_>) -> Result<CellGain, SpecError> {
    let Some(node) = fields.given("cell_gain") else {
        fields.defaulted("cell_gain", "\"off\"");
        return Ok(CellGain::Off);
    };
    match &node.value {
        Value::Text(s) if s == "off" => Ok(CellGain::Off),
        Value::Text(s) if s == "known" => Ok(CellGain::Known),
        Value::Table(_) => {
            let table = fields.nested("cell_gain", node)?;
            let procedure = ZeroShift::read(&table)?;
            table.finish()?;
            Ok(CellGain::Measured { procedure })
        }
        _ => Err(node.error(format!(
            "rule.cell_gain must be \"off\", \"known\" or {{ pulse_step = …, pairs = … }}, got {}",
            node.show()
        ))),
    }
}
