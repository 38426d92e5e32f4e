//! `[rule]` of an experiment with networks: how weights on tiles learn.
//!
//! | field | meaning | default |
//! |---|---|---|
//! | `kind` | `digital`, `analog` (Analog SGD), `tiki_taka`, `tiki_taka_2`, `chopped_tiki_taka`, `agad`, `mixed_precision`, `residual_learning`, `residual_learning_2`, `residual_cascade` | required |
//! | `learning_rate` | α per step and unit of gradient: a number, which follows the schedule of `[training]`, or `{ constant = … }`, which does not | required |
//! | `momentum`, `weight_decay` | of `digital`, as PyTorch defines them | 0 |
//! | `transfer_rate` | of W per transfer: λ of the Tiki-Taka rules (absolute), β of the residual ones (multiplied by γ); written as `learning_rate` | required with two arrays |
//! | `mixing` | γ | 0 for Tiki-Taka, required for the residual rules |
//! | `columns` | columns moved by one transfer, or `"all"` | 1 for Tiki-Taka, `"all"` for the residual rules |
//! | `order` | `cyclic` or `random` | `cyclic` |
//! | `every` | steps (mini-batches) between transfers, or `{ samples = … }` | 1 |
//! | `symmetric_point` | W⋄ that residual rules subtract: `zero`, `known` (the true point of every cell), or `{ pairs, averaged }` of a zero-shift at the start | `zero` |
//! | `residuals` | residual arrays of `residual_cascade` | 2 |
//! | `pulses`, `transfer_pulses` | how increments are written: `{ scheme, length, management }`, with scheme `stochastic`, `deterministic`, `mean_count` or `expected`; length of a train in slots, 1 to 31; management `length`, `scale` or `fixed` | stochastic, 31, length |
//! | `buffer` | of the `_2` and chopped rules: `{ threshold, momentum, forget, max_pulses }`, the threshold in weight units | mean step, 0, false, 1 |
//! | `chop` | of the chopped rules: `{ columns, rows, regular }`, probabilities of a flip per read and per sweep | 0.1, 0, true for `agad` |
//! | `auto_scale` | of the chopped rules: `{ momentum, length }` | off |
//! | `tail_weight` | of `agad` | 5 |
//! | `granularity`, `quantize_errors`, `quantize_inputs` | of `mixed_precision`: what a pulse stands for, and `{ levels, stochastic }` | mean step, off |

use residuum::array::{Array, ZeroShift};
use residuum::readout::Readout;
use residuum::rule::{
    self, Analog, AutoScale, Buffer, Carrier, Chop, ChoppedConfig, ChoppedTikiTaka, Columns, Every,
    MixedConfig, MixedPrecision, Order, Quantize, RateSchedules, ResidualConfig, ResidualLearning, Rule,
    TikiTaka, TikiTakaConfig, Transfer,
};
use residuum::tile::{Management, Scheme, Tile, Trains};
use residuum::{Key, ParameterError, Schedule};

use super::reader::{Fields, SpecError, Value};
use super::tile_device::TileDevices;

/// A rate that follows the schedule of the training, or keeps its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Its value, at the start.
    pub value: f64,
    /// Whether the schedule scales it.
    pub scheduled: bool,
}

impl Rate {
    /// The rate as a function of the step, given what the schedule makes of a value.
    pub fn schedule(self, shape: impl Fn(f64) -> Schedule) -> Schedule {
        if self.scheduled { shape(self.value) } else { Schedule::Constant(self.value) }
    }

    pub(crate) fn read(fields: &Fields<'_>, name: &'static str) -> Result<Self, SpecError> {
        let node = fields.required(name)?;
        let rate = match (node.as_number(), &node.value) {
            (Some(value), _) => Self { value, scheduled: true },
            (None, Value::Table(_)) => {
                let table = fields.nested(name, node)?;
                let value = table.number("constant")?;
                table.finish()?;
                Self { value, scheduled: false }
            }
            _ => {
                let path = fields.path(name);
                return Err(
                    node.error(format!("{path} must be a number or {{ constant = … }}, got {}", node.show()))
                );
            }
        };
        if rate.value >= 0.0 && rate.value.is_finite() {
            return Ok(rate);
        }
        let path = fields.path(name);
        Err(node.error(format!("{path} must be zero or positive, and finite, got {}", rate.value)))
    }
}

/// The rule of a tile, without its devices and the shape of its rates.
#[derive(Clone, Debug, PartialEq)]
pub struct TileRuleSpec {
    /// Which rule, as the spec has it.
    pub name: &'static str,
    /// What it needs.
    pub kind: TileRuleKind,
    /// α.
    pub learning_rate: Rate,
    /// How gradients are written.
    pub pulses: Scheme,
    /// How transfers are written.
    pub transfer_pulses: Scheme,
}

/// The rules with what each of them needs.
#[derive(Clone, Debug, PartialEq)]
pub enum TileRuleKind {
    /// No tile at all.
    Digital {
        /// Share of the velocity that survives a step.
        momentum: f32,
        /// Pull towards zero.
        weight_decay: f32,
    },
    /// Analog SGD.
    Analog,
    /// Version 1, or 2 if the transfer has a buffer.
    TikiTaka {
        /// λ.
        transfer_rate: Rate,
        /// γ.
        mixing: f64,
        /// The way to W.
        transfer: Transfer,
    },
    /// Version 3, or AGAD if it has a tail weight.
    Chopped {
        /// λ.
        transfer_rate: Rate,
        /// When signs flip.
        chop: Chop,
        /// Whether α follows the signals.
        auto_scale: Option<AutoScale>,
        /// AGAD's weight of the newest reads.
        tail_weight: Option<f64>,
        /// The way to W.
        transfer: Transfer,
    },
    /// Gradients summed in digital memory.
    MixedPrecision {
        /// How often pulses are sent.
        every: Every,
        /// What a pulse stands for.
        granularity: Option<f64>,
        /// Levels of errors and inputs.
        quantize: [Option<Quantize>; 2],
    },
    /// Residual Learning; with several residual arrays, the cascade.
    Residual {
        /// β.
        transfer_rate: Rate,
        /// γ.
        mixing: f64,
        /// W⋄.
        symmetric_point: SymmetricPoint,
        /// Number of residual arrays of a cascade.
        cascade: Option<usize>,
        /// The way to W.
        transfer: Transfer,
    },
}

/// Where the rule takes W⋄ to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SymmetricPoint {
    /// At 0.
    Zero,
    /// Where it is.
    Known,
    /// Where alternate pulses end.
    Measured(ZeroShift),
}

const KINDS: [&str; 10] = [
    "digital",
    "analog",
    "tiki_taka",
    "tiki_taka_2",
    "chopped_tiki_taka",
    "agad",
    "mixed_precision",
    "residual_learning",
    "residual_learning_2",
    "residual_cascade",
];

impl TileRuleSpec {
    /// Reads `[rule]`; transfers read through `readout`.
    pub(crate) fn read(fields: &Fields<'_>, readout: &Readout) -> Result<Self, SpecError> {
        let name = fields.choice("kind", &KINDS)?;
        let learning_rate = Rate::read(fields, "learning_rate")?;
        if name == "digital" {
            let momentum = fields.number_or("momentum", 0.0)? as f32;
            let weight_decay = fields.number_or("weight_decay", 0.0)? as f32;
            let kind = TileRuleKind::Digital { momentum, weight_decay };
            let (pulses, transfer_pulses) = (Scheme::default(), Scheme::default());
            return Ok(Self { name, kind, learning_rate, pulses, transfer_pulses });
        }
        let pulses = read_pulses(fields, "pulses")?;
        let mut transfer_pulses = Scheme::default();
        let kind = match name {
            "analog" => TileRuleKind::Analog,
            "tiki_taka" | "tiki_taka_2" => TileRuleKind::TikiTaka {
                transfer_rate: Rate::read(fields, "transfer_rate")?,
                mixing: fields.number_or("mixing", 0.0)?,
                transfer: read_transfer(
                    fields,
                    readout,
                    Columns::Some(1),
                    name == "tiki_taka_2",
                    &mut transfer_pulses,
                )?,
            },
            "chopped_tiki_taka" | "agad" => read_chopped(fields, readout, name == "agad")?,
            "mixed_precision" => TileRuleKind::MixedPrecision {
                every: read_every(fields)?,
                granularity: fields.optional_number("granularity")?,
                quantize: [
                    read_quantize(fields, "quantize_errors")?,
                    read_quantize(fields, "quantize_inputs")?,
                ],
            },
            _ => TileRuleKind::Residual {
                transfer_rate: Rate::read(fields, "transfer_rate")?,
                mixing: fields.number("mixing")?,
                symmetric_point: read_symmetric_point(fields)?,
                cascade: if name == "residual_cascade" {
                    Some(fields.count_or("residuals", 2)? as usize)
                } else {
                    None
                },
                transfer: read_transfer(
                    fields,
                    readout,
                    Columns::All,
                    name == "residual_learning_2",
                    &mut transfer_pulses,
                )?,
            },
        };
        Ok(Self { name, kind, learning_rate, pulses, transfer_pulses })
    }

    /// Whether weights stay in digital memory.
    pub fn is_digital(&self) -> bool {
        matches!(self.kind, TileRuleKind::Digital { .. })
    }

    /// The rates of the rule; `shape` makes schedules of those that follow the training.
    pub fn rates(&self, shape: impl Fn(f64) -> Schedule) -> RateSchedules {
        let learning = self.learning_rate.schedule(&shape);
        let transfer = match &self.kind {
            TileRuleKind::TikiTaka { transfer_rate, .. }
            | TileRuleKind::Chopped { transfer_rate, .. }
            | TileRuleKind::Residual { transfer_rate, .. } => vec![transfer_rate.schedule(shape)],
            _ => Vec::new(),
        };
        RateSchedules { learning, transfer }
    }

    /// The rule on tiles of `rows × cols` cells of these devices, with `None` for a digital one.
    ///
    /// # Errors
    /// If a number is impossible.
    pub fn build(
        &self,
        devices: &TileDevices,
        [rows, cols]: [usize; 2],
        key: Key,
    ) -> Result<Option<Box<dyn Rule<f32>>>, ParameterError> {
        let tile = |device: &residuum::tile::Device, name: &str, scheme: Scheme| {
            Tile::new(rows, cols, device.clone(), key.named(name))?.with_scheme(scheme)
        };
        let main = |scheme| tile(&devices.main, "main", scheme);
        let residual = |name: &str, scheme| tile(&devices.residual, name, scheme);
        let (pulses, transfer_pulses) = (self.pulses, self.transfer_pulses);
        Ok(Some(match &self.kind {
            TileRuleKind::Digital { .. } => return Ok(None),
            TileRuleKind::Analog => Box::new(Analog::sgd(main(pulses)?)),
            TileRuleKind::TikiTaka { mixing, transfer, .. } => {
                let (w, p) = (main(transfer_pulses)?, residual("residual", pulses)?);
                let (mixing, transfer) = (*mixing, own(transfer, cols, key));
                Box::new(TikiTaka::new(w, p, TikiTakaConfig { mixing, transfer, ..TikiTakaConfig::default() })?)
            }
            TileRuleKind::Chopped { chop, auto_scale, tail_weight, transfer, .. } => {
                let (w, p) = (main(transfer_pulses)?, residual("residual", pulses)?);
                let transfer = own(transfer, cols, key);
                let (chop, auto_scale, tail_weight) = (*chop, *auto_scale, *tail_weight);
                Box::new(ChoppedTikiTaka::new(w, p, ChoppedConfig { chop, transfer, auto_scale, tail_weight })?)
            }
            TileRuleKind::MixedPrecision { every, granularity, quantize: [errors, inputs] } => {
                let (every, granularity) = (*every, *granularity);
                let (quantize_errors, quantize_inputs) = (*errors, *inputs);
                let config = MixedConfig { every, granularity, quantize_errors, quantize_inputs };
                Box::new(MixedPrecision::new(main(pulses)?, config)?)
            }
            TileRuleKind::Residual { mixing, symmetric_point, cascade, transfer, .. } => {
                let count = cascade.unwrap_or(1);
                let mut points = Vec::new();
                let mut residuals: Vec<Box<dyn Array<f32>>> = Vec::new();
                for n in 1..=count {
                    let name = if cascade.is_some() { format!("residual {n}") } else { "residual".into() };
                    // The last one meets the gradient, the others transfers.
                    let scheme = if n == count { pulses } else { transfer_pulses };
                    let (p, point) = symmetric_point.prepare(residual(&name, scheme)?, key.named(&name))?;
                    residuals.push(Box::new(p));
                    points.push(point);
                }
                let config = ResidualConfig {
                    mixing: *mixing,
                    symmetric_point: rule::SymmetricPoint::Zero,
                    transfer: own(transfer, cols, key),
                    ..ResidualConfig::default()
                };
                let mut rule = ResidualLearning::cascade(main(transfer_pulses)?, residuals, config)?;
                for (n, point) in points.into_iter().enumerate() {
                    if let Some(point) = point {
                        rule = rule.symmetric_point(n, &rule::SymmetricPoint::Given(point))?;
                    }
                }
                Box::new(rule)
            }
        }))
    }
}

/// A transfer as one tile has it: one of more columns than the tile has moves all, and its lines are the tile's.
fn own(transfer: &Transfer, cols: usize, key: Key) -> Transfer {
    let columns = match transfer.columns {
        Columns::Some(n) if n > cols => Columns::All,
        columns => columns,
    };
    Transfer { columns, readout: transfer.readout.around(key.named("transfer lines")), ..*transfer }
}

impl SymmetricPoint {
    /// The residual tile at its symmetric point, with that point unless it is 0.
    fn prepare(self, mut tile: Tile, key: Key) -> Result<(Tile, Option<Vec<f32>>), ParameterError> {
        let point = match self {
            Self::Zero => return Ok((tile, None)),
            // A cell without one stays where it is.
            Self::Known => tile.symmetric_point().into_iter().map(|p| p.unwrap_or(0.0)).collect(),
            Self::Measured(settings) => tile.zero_shift(&settings, key.named("zero shift"))?.symmetric_point,
        };
        tile.program(&point, key.named("symmetric point"))?;
        Ok((tile, Some(point)))
    }
}

fn read_symmetric_point(fields: &Fields<'_>) -> Result<SymmetricPoint, SpecError> {
    if let Some(node) = fields.node("symmetric_point")
        && let Value::Table(_) = node.value
    {
        let table = fields.nested("symmetric_point", node)?;
        let pairs = table.count("pairs")?;
        let averaged = table.count_or("averaged", 1)?;
        let settings = ZeroShift { averaged, ..ZeroShift::pairs(pairs) };
        settings.validate().map_err(|e| table.blame(&e))?;
        table.finish()?;
        return Ok(SymmetricPoint::Measured(settings));
    }
    Ok(match fields.choice_or("symmetric_point", &["zero", "known"], "zero")? {
        "known" => SymmetricPoint::Known,
        _ => SymmetricPoint::Zero,
    })
}

fn read_chopped(fields: &Fields<'_>, readout: &Readout, agad: bool) -> Result<TileRuleKind, SpecError> {
    let mut chop = Chop { columns: 0.1, regular: agad, rows: 0.0 };
    if let Some(table) = fields.optional_table("chop")? {
        chop = Chop {
            columns: table.number_or("columns", chop.columns)?,
            regular: table.boolean_or("regular", chop.regular)?,
            rows: table.number_or("rows", chop.rows)?,
        };
        table.finish()?;
    }
    let auto_scale = match fields.optional_table("auto_scale")? {
        Some(table) => {
            let momentum = table.number_or("momentum", 0.99)?;
            let length = small(&table, "length", 31)?;
            table.finish()?;
            Some(AutoScale { momentum, length })
        }
        None => None,
    };
    Ok(TileRuleKind::Chopped {
        transfer_rate: Rate::read(fields, "transfer_rate")?,
        chop,
        auto_scale,
        tail_weight: if agad { Some(fields.number_or("tail_weight", 5.0)?) } else { None },
        transfer: read_transfer(fields, readout, Columns::Some(1), true, &mut Scheme::default())?,
    })
}

fn read_transfer(
    fields: &Fields<'_>,
    readout: &Readout,
    columns: Columns,
    buffered: bool,
    pulses: &mut Scheme,
) -> Result<Transfer, SpecError> {
    let columns = match fields.given("columns") {
        Some(node) => match &node.value {
            Value::Integer(n) if *n > 0 => Columns::Some(*n as usize),
            Value::Text(word) if word == "all" => Columns::All,
            _ => {
                let path = fields.path("columns");
                return Err(node.error(format!("{path} must be at least 1, or \"all\", got {}", node.show())));
            }
        },
        None => {
            fields.defaulted("columns", if columns == Columns::All { "\"all\"" } else { "1" });
            columns
        }
    };
    let order = match fields.choice_or("order", &["cyclic", "random"], "cyclic")? {
        "cyclic" => Order::Cyclic,
        _ => Order::Random,
    };
    let carrier = if buffered { Carrier::Buffered(read_buffer(fields)?) } else { Carrier::Direct };
    if !buffered {
        *pulses = read_pulses(fields, "transfer_pulses")?;
    }
    let every = read_every(fields)?;
    Ok(Transfer { columns, order, every, readout: *readout, carrier, ..Transfer::default() })
}

fn read_buffer(fields: &Fields<'_>) -> Result<Buffer, SpecError> {
    let Some(table) = fields.optional_table("buffer")? else { return Ok(Buffer::default()) };
    let buffer = Buffer {
        threshold: table.optional_number("threshold")?,
        momentum: table.number_or("momentum", 0.0)?,
        forget: table.boolean_or("forget", false)?,
        max_pulses: small(&table, "max_pulses", 1)?,
    };
    table.finish()?;
    Ok(buffer)
}

fn read_every(fields: &Fields<'_>) -> Result<Every, SpecError> {
    if let Some(node) = fields.node("every")
        && let Value::Table(_) = node.value
    {
        let table = fields.nested("every", node)?;
        let samples = table.count("samples")?;
        table.finish()?;
        return Ok(Every::Samples(samples));
    }
    fields.count_or("every", 1).map(Every::Steps)
}

fn read_quantize(fields: &Fields<'_>, name: &'static str) -> Result<Option<Quantize>, SpecError> {
    let Some(table) = fields.optional_table(name)? else { return Ok(None) };
    let levels = small(&table, "levels", 2)?;
    let stochastic = table.boolean_or("stochastic", false)?;
    table.finish()?;
    Ok(Some(Quantize { levels, stochastic }))
}

fn read_pulses(fields: &Fields<'_>, name: &'static str) -> Result<Scheme, SpecError> {
    let Some(table) = fields.optional_table(name)? else {
        fields.defaulted(name, "{ scheme = \"stochastic\", length = 31, management = \"length\" }");
        return Ok(Scheme::default());
    };
    let schemes = ["stochastic", "deterministic", "mean_count", "expected"];
    let scheme = table.choice_or("scheme", &schemes, "stochastic")?;
    let scheme = if scheme == "expected" {
        Scheme::Expected
    } else {
        let length = small(&table, "length", 31)?;
        let management = match table.choice_or("management", &["length", "scale", "fixed"], "length")? {
            "length" => Management::Length,
            "scale" => Management::Scale,
            _ => Management::Fixed,
        };
        let trains = Trains { length, management };
        match scheme {
            "stochastic" => Scheme::Stochastic(trains),
            "deterministic" => Scheme::Deterministic(trains),
            _ => Scheme::MeanCount(trains),
        }
    };
    let path = table.path("length");
    scheme.validate().map_err(|e| table.error(e.to_string().replace("train_length", &path)))?;
    table.finish()?;
    Ok(scheme)
}

fn small(fields: &Fields<'_>, name: &'static str, default: u64) -> Result<u32, SpecError> {
    let count = fields.count_or(name, default)?;
    u32::try_from(count)
        .map_err(|_| fields.error(format!("{} must be below 2^32, got {count}", fields.path(name))))
}
