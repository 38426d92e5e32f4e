//! `[rule]`: the algorithm and its rates.

use residuum::array::ZeroShift;
use residuum::readout::Readout;
use residuum::rule::{
    Analog, AnyRule, AutoScale, Buffer, Carrier, Chop, ChoppedConfig, ChoppedTikiTaka, Columns, Digital, Every,
    Manhattan, MixedConfig, MixedPrecision, Order, Quantize, Source, TikiTaka, TikiTakaConfig, Transfer,
};
use residuum::tile::{Management, Scheme, Trains};
use residuum::{RateSchedules, Rule, Schedule};
use serde_json::Value as Json;

use super::build::{Builder, Number, RuleBuildError};
use super::multi_tile::{ByStates, WarmStartSpec, WarmStartTable, warm_start};
use super::node::{Node, SpecError, Value};
use super::rate::{Rate, rate};
use super::section::{Declaration, Field, Optional, Or, Required, Section as _, Takes, section};
use super::symmetric_point::{SymmetricPointField, SymmetricPointSpec, ZeroShiftTable, zero_shift};
use super::table::{At, Table};
use super::types::{TakesExt as _, choice, count, flag, list, number, table, word};

section! {
    /// How weights learn. Residual Learning is W̄ = W + γ(P − W⋄); P ← P + A(−α ∇f(W̄; ξ); P); W ← W + A(βγ(P − W⋄); W), with
    /// the gradient at W̄.
    pub(crate) struct RuleTable by kind or preset {
        /// `digital` and `analog` SGD, Tiki-Taka 1 and 2, chopped Tiki-Taka (version 3) and AGAD, mixed precision, Residual
        /// Learning, the same through a digital buffer, the cascade, and the
        /// Manhattan rule, which sends one pulse against the sign of each gradient and has no learning rate; `preset` may stand in its
        /// place
        kind: &'static str = word(RATED.iter().copied().chain(["manhattan"])), "–", Required;
        /// a kind with the settings that `residuum tune` found for it on the `device.preset` of the spec; other fields change them
        preset: Option<&'static str> = word(RATED.iter().copied().chain(["manhattan"])), "–", Optional("none");
        /// α
        learning_rate: Option<Rate> = rate(), "weight²/objective per step", Optional("required unless `rates` chooses it"), of kind RATED;
        /// of a gradient, at and below which a cell gets no pulse
        threshold: f64 = number().not_negative(), "objective/weight", Or("0.0"), of kind ["manhattan"];
        /// what becomes of a gradient
        source: &'static str = word(SOURCES.iter().copied()), "–", Or("\"sgd\""), of kind SOURCED;
        /// what becomes of a gradient before it is summed
        mixed_source @ "source": Option<&'static str> = word(SOURCES.iter().copied()), "–", Optional("`sgd`"), of kind ["mixed_precision"];
        /// share of the velocity that survives a step
        momentum: Option<f64> = number().memory(), "share per step", Optional("0.9 of `momentum`, 0 of `sgd`"),
            of kind OPTIMIZED, of source ["sgd" "momentum"];
        /// β₁
        decay_first: f64 = number().memory(), "share per step", Or("0.9"), of kind OPTIMIZED, of source ["adam" "adamw"];
        /// β₂
        decay_second: f64 = number().memory(), "share per step", Or("0.999"), of kind OPTIMIZED, of source ["adam" "adamw"];
        /// ε
        epsilon: f64 = number().positive(), "objective/weight", Or("1e-8"), of kind OPTIMIZED, of source ["adam" "adamw"];
        /// pull towards zero, as PyTorch defines it; with `[network]`
        weight_decay: f64 = number().not_negative(), "objective/weight²", Or("0.0"), of kind ["digital"], of source ["sgd" "momentum"];
        /// pull of the effective weights towards zero, apart from the gradient
        decoupled_decay @ "weight_decay": f64 = number().not_negative(), "1/step", Or("0.01"), of kind OPTIMIZED, of source ["adamw"];
        /// who chooses α, β and γ, instead of the three fields; with `[problem]`
        rates: Option<RateChoice> = choice([("lemma", RateChoice::Lemma), ("practical", RateChoice::Practical)]), "–",
            Optional("none"), of kind ["residual_learning"];
        /// of W per transfer: λ of the Tiki-Taka rules, β of the residual ones, which multiply it by γ
        transfer_rate: Option<Rate> = rate(), "per transfer",
            Optional("required unless `rates` or `transfer_rates` is given; min(states/50, 0.35)·1.2ᵐ for link m of a cascade, from the fastest on"),
            of kind TRANSFERRING;
        /// βₙ, that of W first; one residual array each
        transfer_rates: Option<Vec<Rate>> = list(rate(), "a list of rates, that of W first", [1, 8]), "per transfer",
            Optional("by `transfer_rate`"), of kind ["residual_cascade"];
        /// residual arrays that share one `transfer_rate`
        residuals: usize = count().at_least(1).at_most(8).size(), "arrays", Or("2"), of kind ["residual_cascade"];
        /// γ
        tiki_taka_mixing @ "mixing": f64 = number().not_negative(), "–", Or("0.0"), of kind ["tiki_taka" "tiki_taka_2"];
        /// γ
        mixing: Option<f64> = number().positive(), "–", Optional("required unless `rates` chooses it; 0.408 for a cascade, 1/√6"),
            of kind RESIDUAL;
        /// W⋄ that the rule subtracts: `zero`; `known`, the true point of every cell; given numbers; or a table
        symmetric_point: Option<SymmetricPointSpec> = SymmetricPointField, "weight",
            Optional("none, unless the point of every cell is exactly 0"),
            of kind RESIDUAL;
        /// whether the desired step of W is divided by the response it will meet
        transfer: &'static str = word(["plain", "compensated"]), "–", Or("\"plain\""), of kind DIRECT;
        /// smallest divisor
        transfer_floor: f64 = number().positive(), "–", Or("0.001"), of kind DIRECT, of transfer ["compensated"];
        /// whether each cell's steps are divided by its own gain at W⋄, true or measured
        cell_gain: CellGain = choice([("off", CellGain::Off), ("known", CellGain::Known)])
            .or(table::<ZeroShiftTable>().then(zero_shift).map(|procedure| CellGain::Measured { procedure })), "–",
            Or("\"off\""), of kind ["residual_learning" "residual_learning_2"];
        /// columns that one transfer moves, or `all`
        columns: Option<Columns> = count().at_least(1).size().map(Columns::Some).or(choice([("all", Columns::All)])), "columns",
            Optional("1 for Tiki-Taka, `all` for the residual rules"),
            of kind TRANSFERRING;
        /// which columns come next
        order: Order = choice([("cyclic", Order::Cyclic), ("random", Order::Random)]), "–", Or("\"cyclic\""),
            of kind TRANSFERRING;
        /// between transfers
        every: Every = every(), "steps (mini-batches)", Or("1"), of kind PACED;
        /// between transfers of every link
        cascade_every @ "every": Option<Every> = every(), "steps (mini-batches)",
            Optional("1, or `periods` by the number of states where the rates are by it too"), of kind ["residual_cascade"];
        /// between transfers of each link, that to W first
        periods: Option<Vec<Every>> = list(every(), "a list of periods, that to W first", [1, 8]), "steps (mini-batches)",
            Optional("by `every`, or 2·⌊states/2⌋ᵐ for link m, from the fastest on"), of kind ["residual_cascade"];
        /// fills the arrays one by one, the main one first, before the plain schedule of transfers
        warm_start: Option<WarmStartSpec> = table::<WarmStartTable>().then(warm_start), "–", Optional("off"),
            of kind ["residual_cascade"];
        /// how gradients are written to tiles
        pulses: Scheme = table::<TrainsTable>().then(scheme), "–", Or("{}"),
            of kind PULSED;
        /// how transfers are written to tiles
        transfer_pulses: Scheme = table::<TrainsTable>().then(scheme), "–", Or("{}"),
            of kind DIRECT;
        /// the digital buffer
        buffer: BufferTable = table::<BufferTable>(), "–", Or("{}"),
            of kind BUFFERED;
        /// when signs flip
        chop: ChopTable = table::<ChopTable>(), "–", Or("{}"), of kind CHOPPED;
        /// α follows the signals
        auto_scale: Option<AutoScale> = table::<AutoScaleTable>().map(|t| AutoScale { momentum: t.momentum, length: t.length }),
            "–", Optional("off"), of kind CHOPPED;
        /// weight of the newest reads in the reference
        tail_weight: f64 = number().checked_later(" ≥ 0"), "–", Or("5.0"), of kind ["agad"];
        /// what a pulse stands for
        granularity: Option<f64> = number().checked_later(" > 0"), "weight", Optional("the mean step"), of kind ["mixed_precision"];
        /// levels of errors
        quantize_errors: Option<Quantize> = table::<LevelsTable>().map(LevelsTable::quantize), "–", Optional("off"), of kind ["mixed_precision"];
        /// levels of inputs
        quantize_inputs: Option<Quantize> = table::<LevelsTable>().map(LevelsTable::quantize), "–", Optional("off"), of kind ["mixed_precision"];
    }
}

/// Whether rules of this kind have a field.
pub(crate) fn rule_has(kind: &str, field: &str) -> bool {
    let of_kind = |field: &Field| {
        let kinds = field.conditions.iter().filter(|condition| condition.field == "kind");
        kinds.into_iter().all(|condition| condition.values.contains(&kind))
    };
    RuleTable::declaration().fields.iter().any(|own| own.name == field && of_kind(own))
}

/// Rules with a learning rate.
pub(super) const RATED: &[&str] = &[
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

/// The words for a [`Source`].
const SOURCES: &[&str] = &["sgd", "momentum", "adam", "adamw"];

/// Rules that have the numbers of a [`Source`].
const OPTIMIZED: &[&str] = &[
    "digital",
    "analog",
    "tiki_taka",
    "tiki_taka_2",
    "mixed_precision",
    "residual_learning",
    "residual_learning_2",
    "residual_cascade",
];

/// Rules whose steps come from a [`Source`] unless it is said.
const SOURCED: &[&str] = &[
    "digital",
    "analog",
    "tiki_taka",
    "tiki_taka_2",
    "residual_learning",
    "residual_learning_2",
    "residual_cascade",
];
/// Rules with arrays besides W.
pub(super) const TRANSFERRING: &[&str] = &[
    "tiki_taka",
    "tiki_taka_2",
    "chopped_tiki_taka",
    "agad",
    "residual_learning",
    "residual_learning_2",
    "residual_cascade",
];
/// Rules that write to W now and then.
const PACED: &[&str] = &[
    "tiki_taka",
    "tiki_taka_2",
    "chopped_tiki_taka",
    "agad",
    "mixed_precision",
    "residual_learning",
    "residual_learning_2",
];
/// Rules that write gradients to arrays.
const PULSED: &[&str] = &[
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
/// Rules whose transfers need no buffer.
const DIRECT: &[&str] = &["tiki_taka", "residual_learning", "residual_cascade"];
/// Residual Learning.
const RESIDUAL: &[&str] = &["residual_learning", "residual_learning_2", "residual_cascade"];
/// Rules with a digital buffer.
const BUFFERED: &[&str] = &["tiki_taka_2", "chopped_tiki_taka", "agad", "residual_learning_2"];
/// Rules with signs that flip.
const CHOPPED: &[&str] = &["chopped_tiki_taka", "agad"];

fn every() -> impl Takes<Value = Every> {
    count().at_least(1).map(Every::Steps).or(table::<EveryTable>().map(|t| Every::Samples(t.samples)))
}

section! {
    /// Counted in samples instead of steps.
    pub(crate) struct EveryTable {
        /// between transfers
        samples: u64 = count().at_least(1), "samples", Required;
    }
}

section! {
    /// Trains of pulses on the lines of a tile.
    pub(crate) struct TrainsTable by scheme {
        /// how an increment becomes pulses; `expected` writes it without
        scheme: &'static str = word(["stochastic", "deterministic", "mean_count", "expected"]), "–", Or("\"stochastic\"");
        /// longest train
        length: u32 = count().at_least(1).at_most(31).map(|n| n as u32), "slots", Or("31"),
            of scheme ["stochastic" "deterministic" "mean_count"];
        /// what follows the size of the increment
        management: Management = choice([
            ("length", Management::Length), ("scale", Management::Scale), ("fixed", Management::Fixed)
        ]), "–", Or("\"length\""), of scheme ["stochastic" "deterministic" "mean_count"];
    }
}

section! {
    /// What is collected in digital memory before a pulse is sent.
    pub(crate) struct BufferTable {
        /// at which a pulse is sent
        threshold: Option<f64> = number().checked_later(" > 0"), "weight", Optional("the mean step");
        /// of what stays in the buffer
        momentum: f64 = number().checked_later(", 0 ≤ m < 1"), "share", Or("0.0");
        /// whether it is emptied when a pulse is sent
        forget: bool = flag(), "–", Or("false");
        /// of a cell per transfer
        max_pulses: u32 = count().small(), "pulses", Or("1");
    }
}

section! {
    /// When the chopped rules change signs.
    pub(crate) struct ChopTable {
        /// of a column, per read
        columns: f64 = number().checked_later(", 0 to 1"), "probability", Or("0.1");
        /// of a row, per sweep
        rows: f64 = number().checked_later(", 0 to 1"), "probability", Or("0.0");
        /// whether at fixed intervals instead
        regular: Option<bool> = flag(), "–", Optional("true for `agad`");
    }
}

section! {
    /// A learning rate that follows the size of the signals.
    pub(crate) struct AutoScaleTable {
        /// of the running mean
        momentum: f64 = number().checked_later(", 0 ≤ m < 1"), "share per step", Or("0.99");
        /// the train that the largest increment should fill
        length: u32 = count().small(), "slots", Or("31");
    }
}

section! {
    /// Values on a grid.
    pub(crate) struct LevelsTable {
        /// how many
        levels: u32 = count().small(), "levels", Or("2");
        /// whether rounding is stochastic
        stochastic: bool = flag(), "–", Or("false");
    }
}

impl LevelsTable {
    fn quantize(self) -> Quantize {
        Quantize { levels: self.levels, stochastic: self.stochastic }
    }
}

/// Pairs of a zero-shift while a spec is checked: what cannot be measured shows at the first.
const CHECKED_PAIRS: u64 = 4;

pub(super) fn scheme(fields: &TrainsTable, _: &At<'_>) -> Result<Scheme, SpecError> {
    let trains = Trains { length: fields.length, management: fields.management };
    Ok(match fields.scheme {
        "stochastic" => Scheme::Stochastic(trains),
        "deterministic" => Scheme::Deterministic(trains),
        "mean_count" => Scheme::MeanCount(trains),
        _ => Scheme::Expected,
    })
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

/// A theory that can choose α, β and γ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateChoice {
    /// The coefficient lemma of the convergence theorem, with all its conditions.
    Lemma,
    /// The stationary laws.
    Practical,
}

impl std::fmt::Display for RateChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Lemma => "lemma",
            Self::Practical => "practical",
        })
    }
}

/// The algorithm of a spec, without its devices.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleSpec {
    /// Which rule, as the spec has it.
    pub name: &'static str,
    /// What it needs.
    pub kind: RuleKind,
    /// α; `None` of a rule without.
    pub learning_rate: Option<Rate>,
    /// β of each link, that of W first; none without transfers.
    pub transfer_rates: Vec<Rate>,
    /// What becomes of a gradient.
    pub source: Source,
    /// Pull towards zero of a digital rule, as PyTorch defines it.
    pub weight_decay: f64,
    /// How gradients are written to tiles.
    pub pulses: Scheme,
    /// How transfers are written to tiles.
    pub transfer_pulses: Scheme,
}

/// The rules with what each of them needs.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleKind {
    /// No analog memory at all.
    Digital,
    /// Analog SGD.
    Analog,
    /// Version 1, or 2 if the transfer has a buffer.
    TikiTaka {
        /// γ.
        mixing: f64,
        /// From P to W.
        transfer: Transfer,
    },
    /// Version 3, or AGAD if it has a tail weight.
    Chopped {
        /// When signs flip.
        chop: Chop,
        /// Whether α follows the signals.
        auto_scale: Option<AutoScale>,
        /// AGAD's weight of the newest reads.
        tail_weight: Option<f64>,
        /// From P to W.
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
    /// A pulse against the sign of the gradient.
    Manhattan {
        /// Smallest gradient that counts, exclusive.
        threshold: f64,
    },
    /// Residual Learning, or its cascade.
    Residual(ResidualSpec),
}

/// Residual Learning with its options.
#[derive(Clone, Debug, PartialEq)]
pub struct ResidualSpec {
    /// γ.
    pub mixing: f64,
    /// Where the rule believes W⋄ to be; `None` where it makes no difference.
    pub symmetric_point: Option<SymmetricPointSpec>,
    /// Whether steps are divided by each cell's gain.
    pub cell_gain: CellGain,
    /// Whether it was asked for as a cascade.
    pub cascade: bool,
    /// Who chose the rates, if the spec left it to the theory.
    pub chosen_by: Option<RateChoice>,
    /// From P to W.
    pub transfer: Transfer,
    /// Between transfers of each link, that to W first; by `transfer` if there are none.
    pub periods: Option<Vec<Every>>,
    /// Whether arrays are filled one by one at first.
    pub warm_start: Option<WarmStartSpec>,
    /// What is left to the number of states.
    pub by_states: ByStates,
}

/// `[rule]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleField;

impl Takes for RuleField {
    type Value = RuleSpec;

    fn accepts(&self, node: &Node) -> bool {
        matches!(node.value, Value::Table(_))
    }

    fn read(&self, at: &At<'_>) -> Result<RuleSpec, SpecError> {
        let table = at.table()?;
        // With a network it has become the settings it stands for.
        if let Some(preset) = table.node("preset") {
            let message = "rule.preset must stand in a spec with [network]: its settings were found by training networks on tiles";
            return Err(preset.error(message));
        }
        RuleTable::read(&table)?.rule(&table)
    }

    fn noun(&self) -> String {
        "a table".into()
    }

    fn words(&self) -> String {
        "table".into()
    }

    fn schema(&self) -> Json {
        table::<RuleTable>().schema()
    }

    fn tables(&self) -> Vec<fn() -> &'static Declaration> {
        vec![RuleTable::declaration]
    }
}

impl RuleTable {
    fn rule(self, at: &Table<'_>) -> Result<RuleSpec, SpecError> {
        let name = self.kind;
        debug_assert!(self.preset.is_none(), "a preset has become its settings");
        let chosen = self.rates.filter(|_| self.rates.is_some());
        if chosen.is_some()
            && let Some(name) =
                ["learning_rate", "transfer_rate", "mixing"].into_iter().find(|name| at.has(name))
        {
            return Err(at.error(format!("rule.{name} must not stand beside rule.rates, which chooses it")));
        }
        // What the theory chooses is 1 until the problem is known.
        let needed = |value: Option<Rate>, name: &str| match (value, chosen) {
            (Some(rate), _) => Ok(rate),
            (None, Some(_)) => Ok(Rate::Scheduled(1.0)),
            (None, None) => Err(at.missing(name)),
        };
        let rated = RATED.contains(&name);
        let learning_rate = rated.then(|| needed(self.learning_rate, "learning_rate")).transpose()?;
        let cascade = name == "residual_cascade";
        let transfer_rates = match &self.transfer_rates {
            Some(_) if self.transfer_rate.is_some() || at.has("residuals") => {
                return Err(at.error("rule.transfer_rates must not stand beside transfer_rate or residuals"));
            }
            Some(rates) => rates.clone(),
            None if !TRANSFERRING.contains(&name) => Vec::new(),
            // By the number of states, once the device is known.
            None if cascade && self.transfer_rate.is_none() => vec![Rate::Scheduled(1.0); self.residuals],
            None => {
                vec![needed(self.transfer_rate, "transfer_rate")?; if cascade { self.residuals } else { 1 }]
            }
        };
        let by_states = self.by_states(at, transfer_rates.len())?;
        let kind = match name {
            "digital" => RuleKind::Digital,
            "analog" => RuleKind::Analog,
            "tiki_taka" | "tiki_taka_2" => RuleKind::TikiTaka {
                mixing: self.tiki_taka_mixing,
                transfer: self.transfer(Columns::Some(1), name == "tiki_taka_2", at),
            },
            "chopped_tiki_taka" | "agad" if !matches!(self.columns, None | Some(Columns::Some(1))) => {
                let got = match self.columns {
                    Some(Columns::Some(n)) => n.to_string(),
                    _ => "\"all\"".into(),
                };
                let message = "must be 1 with choppers of columns, which flip after their own read";
                return Err(at.error(format!("rule.columns {message}: kind = {name:?}, got {got}")));
            }
            "chopped_tiki_taka" | "agad" => RuleKind::Chopped {
                chop: Chop {
                    columns: self.chop.columns,
                    rows: self.chop.rows,
                    regular: self.chop.regular.unwrap_or(name == "agad"),
                },
                auto_scale: self.auto_scale,
                tail_weight: (name == "agad").then_some(self.tail_weight),
                transfer: self.transfer(Columns::Some(1), true, at),
            },
            "manhattan" => RuleKind::Manhattan { threshold: self.threshold },
            "mixed_precision" => RuleKind::MixedPrecision {
                every: self.every,
                granularity: self.granularity,
                quantize: [self.quantize_errors, self.quantize_inputs],
            },
            _ => RuleKind::Residual(ResidualSpec {
                mixing: match (self.mixing, chosen) {
                    (None, None) if !cascade => return Err(at.missing("mixing")),
                    (mixing, _) => mixing.unwrap_or(1.0),
                },
                symmetric_point: self.symmetric_point.clone(),
                cell_gain: self.cell_gain.clone(),
                cascade,
                chosen_by: chosen,
                transfer: self.transfer(Columns::All, name == "residual_learning_2", at),
                periods: self.periods.clone(),
                warm_start: self.warm_start,
                by_states,
            }),
        };
        let (source, weight_decay) = (self.source(), self.weight_decay);
        let (pulses, transfer_pulses) = (self.pulses, self.transfer_pulses);
        Ok(RuleSpec {
            name,
            kind,
            learning_rate,
            transfer_rates,
            source,
            weight_decay,
            pulses,
            transfer_pulses,
        })
    }

    /// What a cascade leaves to the number of states.
    fn by_states(&self, at: &Table<'_>, links: usize) -> Result<ByStates, SpecError> {
        if self.kind != "residual_cascade" {
            return Ok(ByStates::default());
        }
        if let Some(periods) = &self.periods {
            if self.cascade_every.is_some() {
                return Err(at.error("rule.periods must not stand beside every"));
            }
            if periods.len() != links {
                let given = periods.len();
                return Err(at.error(format!(
                    "rule.periods must have one entry for each of the {links} residual arrays, got {given}"
                )));
            }
        }
        let rates = self.transfer_rate.is_none() && self.transfer_rates.is_none();
        let paced = self.periods.is_some() || self.cascade_every.is_some();
        if !rates && !paced {
            at.defaulted("every", "1");
        }
        Ok(ByStates { mixing: self.mixing.is_none(), rates, periods: rates && !paced })
    }

    fn source(&self) -> Source {
        let (decay_first, decay_second, epsilon) = (self.decay_first, self.decay_second, self.epsilon);
        match (self.mixed_source.unwrap_or(self.source), self.momentum) {
            ("sgd", None | Some(0.0)) => Source::Sgd,
            ("sgd" | "momentum", momentum) => Source::momentum(momentum.unwrap_or(0.9)),
            ("adam", _) => Source::Adam { decay_first, decay_second, epsilon },
            _ => Source::AdamW { decay_first, decay_second, epsilon, weight_decay: self.decoupled_decay },
        }
    }

    /// What the table says of transfers; they are read as [`RuleSpec::read_through`] says.
    fn transfer(&self, columns: Columns, buffered: bool, at: &Table<'_>) -> Transfer {
        if self.columns.is_none() {
            at.defaulted("columns", if columns == Columns::All { "\"all\"" } else { "1" });
        }
        let BufferTable { threshold, momentum, forget, max_pulses } = self.buffer;
        let buffer = Buffer { threshold, momentum, forget, max_pulses };
        Transfer {
            columns: self.columns.unwrap_or(columns),
            order: self.order,
            every: self.cascade_every.unwrap_or(self.every),
            readout: Readout::default(),
            carrier: if buffered { Carrier::Buffered(buffer) } else { Carrier::Direct },
            compensated: (self.transfer == "compensated").then_some(self.transfer_floor),
        }
    }
}

impl RuleSpec {
    /// The rule on its arrays.
    pub(super) fn on<T: Number>(&self, on: &Builder<'_>) -> Result<Box<dyn Rule<T>>, RuleBuildError> {
        let RuleSpec { pulses, transfer_pulses, source, .. } = *self;
        let rule: AnyRule<T> = match &self.kind {
            RuleKind::Digital => Digital::new(&on.first_weights::<T>(), source)?.into(),
            RuleKind::Analog => Analog::new(on.main::<T>(pulses)?, source)?.into(),
            RuleKind::TikiTaka { mixing, transfer } => {
                let (w, p) = (on.main(transfer_pulses)?, on.plain_residual(pulses)?);
                let (mixing, transfer) = (*mixing, on.own(transfer));
                TikiTaka::new(w, p, TikiTakaConfig { mixing, transfer, source })?.into()
            }
            RuleKind::Chopped { chop, auto_scale, tail_weight, transfer } => {
                let (w, p) = (on.main(transfer_pulses)?, on.plain_residual(pulses)?);
                let (chop, auto_scale, tail_weight) = (*chop, *auto_scale, *tail_weight);
                let config = ChoppedConfig { chop, transfer: on.own(transfer), auto_scale, tail_weight };
                ChoppedTikiTaka::new(w, p, config)?.into()
            }
            RuleKind::MixedPrecision { every, granularity, quantize: [errors, inputs] } => {
                let (every, granularity) = (*every, *granularity);
                let (quantize_errors, quantize_inputs) = (*errors, *inputs);
                let config = MixedConfig { every, granularity, quantize_errors, quantize_inputs, source };
                MixedPrecision::new(on.main::<T>(pulses)?, config)?.into()
            }
            RuleKind::Manhattan { threshold } => Manhattan::new(on.main::<T>(pulses)?, *threshold)?.into(),
            RuleKind::Residual(spec) => on.residual_learning(spec)?.into(),
        };
        Ok(rule.boxed())
    }

    /// The same rule for a check, which measures only as long as it takes to see that it can.
    pub(super) fn for_check(&self) -> Self {
        let mut short = self.clone();
        let shorten = |settings: &mut ZeroShift| {
            settings.pairs = settings.pairs.min(CHECKED_PAIRS);
            settings.averaged = settings.averaged.min(settings.pairs);
        };
        if let RuleKind::Residual(residual) = &mut short.kind {
            if let Some(SymmetricPointSpec::Measured(settings)) = &mut residual.symmetric_point {
                shorten(settings);
            }
            if let CellGain::Measured { procedure } = &mut residual.cell_gain {
                shorten(procedure);
            }
        }
        short
    }

    /// Whether P has to lie on both sides of 0: that of a rule which subtracts a symmetric point lies around that.
    pub(super) fn needs_signed_residual(&self) -> bool {
        let around_zero = match &self.kind {
            RuleKind::Residual(residual) => {
                matches!(residual.symmetric_point, None | Some(SymmetricPointSpec::Zero))
            }
            _ => true,
        };
        self.has_residual() && around_zero
    }

    /// Whether weights stay in digital memory.
    pub fn is_digital(&self) -> bool {
        matches!(self.kind, RuleKind::Digital)
    }

    /// Whether the rule has arrays besides W.
    pub fn has_residual(&self) -> bool {
        TRANSFERRING.contains(&self.name)
    }

    /// The rates as functions of the step, given what the schedule of the training makes of a number.
    pub fn rates(&self, shape: impl Fn(f64) -> Schedule) -> RateSchedules {
        let transfer = self.transfer_rates.iter().map(|rate| rate.schedule(&shape)).collect();
        let learning = self.learning_rate.map_or(Schedule::Constant(0.0), |rate| rate.schedule(&shape));
        RateSchedules { learning, transfer }
    }

    /// How transfers read P.
    pub(crate) fn read_through(&mut self, readout: &Readout) {
        match &mut self.kind {
            RuleKind::TikiTaka { transfer, .. } | RuleKind::Chopped { transfer, .. } => {
                transfer.readout = *readout;
            }
            RuleKind::Residual(residual) => residual.transfer.readout = *readout,
            _ => {}
        }
    }
}
