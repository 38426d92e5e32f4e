//! `[device]`: the cells of arrays, and how increments reach them.

use std::path::PathBuf;
use std::sync::Arc;

use residuum::cells::Cells;
use residuum::population::{Distribution, PopulationError};
use residuum::tile::{
    CellParameters, CycleNoise, Decay, Device, Diffusion, Drift, Policy, Reference, Reset, Retention,
    Saturation, SlopeBounds, Spread, StepModel, Stuck, presets,
};
use residuum::{Key, Pulses, Range, ResponseFunction, Rounding, Update};
use serde_json::{Value as Json, json};

use super::aihwkit::{Parameters, ParametersField};
use super::device_file::with_file;
use super::node::{Node, SpecError, Value};
use super::response::{OfFamily, Parts, ResponseSpec, curves, parameter, ranged, responses};
use super::section::{Declaration, Optional, Or, Required, RequiredIf, Section as _, Takes, section};
use super::table::{At, Table};
use super::types::{TakesExt as _, choice, count, flag, interval, list, number, path, table, text, word};

/// The devices of the literature by name.
const PRESETS: [(&str, fn() -> Device); 10] = [
    ("reram_es", presets::reram_es),
    ("reram_sb", presets::reram_sb),
    ("reram_array_om", presets::reram_array_om),
    ("reram_array_hfo2", presets::reram_array_hfo2),
    ("capacitor", presets::capacitor),
    ("ecram", presets::ecram),
    ("ecram_mo", presets::ecram_mo),
    ("idealized", presets::idealized),
    ("gokmen_vlasov", presets::gokmen_vlasov),
    ("pcm", presets::pcm),
];

/// The devices of the literature by name, as specs have them in `preset`.
pub fn device_presets() -> impl Iterator<Item = (&'static str, Device)> {
    PRESETS.into_iter().map(|(name, device)| (name, device()))
}

/// The responses that a tile has step models for, with fields of their own; it computes an exponential too and holds any other as a table of its curve.
pub(super) const STEP_MODELS: &[&str] = &["power", "soft_bounds", "constant", "linear", "exp_step"];

section! {
    /// The cells of arrays: a `response`, a `preset` of the literature, or a file of parameters of AIHWKIT. One table for every
    /// array, or `[device.main]` and `[device.residual]` with the same fields. A digital rule needs none. Imperfections are off
    /// unless named; spreads are between cells, relative to the mean.
    pub(crate) struct DeviceTable by response or preset or aihwkit {
        /// `exact`: cells do what the formulas say, in f64 with `[problem]` and in f32 with `[network]`; `tile`: f32 cells at the
        /// cross points of lines, written by trains of pulses
        array: Option<&'static str> = word(["exact", "tile"]), "–", Optional("`exact` with `[problem]`, `tile` with `[network]`");
        /// the response functions q±; `residuum device list` shows the formulas
        response: Option<&'static str> = word(responses().map(|(name, _)| name)), "–", Optional("required without preset and file");
        /// a device of the literature; on a tile other fields change it
        preset: Option<fn() -> Device> = choice(PRESETS), "–", Optional("none");
        /// a JSON file with the class and the parameters of an AIHWKIT device, or a table of them
        aihwkit: Option<Parameters> = ParametersField, "–", Optional("none");
        /// a device file, as `residuum device fit --to` writes it: its fields hold unless they stand here too
        file: Option<PathBuf> = path(), "–", Optional("none");

        /// of the closed forms
        parameters: Vec<(&'static str, Distribution)> = parameter(""), "–", OfFamily;
        /// relative drop of the step at its bound; two are up and down
        slope: Option<[f64; 2]> = number().pair(), "–", RequiredIf, of response ["linear"], of array ["tile"];
        /// the exponent
        shape: Option<Distribution> = parameter(" > 0"), "–", RequiredIf, of response ["power"], of array ["tile"];
        /// τ: weights live in [−τ, τ]
        radius: Distribution = parameter(" > 0"), "weight", Or("1.0"), of response STEP_MODELS, of array ["tile"];
        /// `[min, max]` of a weight, instead of `radius`
        bounds: Option<Range> = interval(), "weight", Optional("by `radius`"),
            of response ["soft_bounds" "constant" "linear" "exp_step"], of array ["tile"];
        /// AIHWKIT's A; two are up and down
        amplitude: [f64; 2] = number().pair(), "–", Or("[0.00081, 0.36833]"), of response ["exp_step"];
        /// AIHWKIT's gamma; two are up and down
        rate: [f64; 2] = number().pair(), "–", Or("[12.44625, 12.78785]"), of response ["exp_step"];
        /// AIHWKIT's a
        stretch: f64 = number(), "–", Or("0.244"), of response ["exp_step"];
        /// AIHWKIT's b
        shift: f64 = number(), "–", Or("0.2425"), of response ["exp_step"];
        /// a file with the columns w,q_plus,q_minus
        csv: Option<PathBuf> = path(), "–", Optional("by `points`"), of response ["table"];
        /// rows of w, q₊ and q₋, instead of `csv`
        points: Option<Vec<Vec<f64>>> = list(list(number(), "a list of w, q_plus and q_minus", [3, 3]), "a list of rows", [2, usize::MAX]),
            "–", Optional("by `csv`"), of response ["table"];
        /// q₊
        q_plus: Option<String> = text("expression in w"), "–", RequiredIf, of response ["formula"];
        /// q₋
        q_minus: Option<String> = text("expression in w"), "–", RequiredIf, of response ["formula"];
        /// where a formula holds; confines a closed form further
        range: Option<Range> = interval(), "weight", Optional("that of the response; required for `formula`"),
            of response (ranged());
        /// a dynamic range for a response that has none, or a narrower one
        exact_range @ "range": Option<Range> = interval(), "weight", Optional("that of the response"),
            of response ["constant" "soft_bounds"], of array ["exact"];
        /// responses with fixed parameters and the fractions of cells that have them
        parts: Option<Vec<(f64, Arc<dyn ResponseFunction>)>> = Parts, "–", RequiredIf, of response ["mixture"], of array ["exact"];

        /// increments are sent as whole pulses
        pulses: Option<PulsesTable> = table::<PulsesTable>(), "–", Optional("none: the expected update"), of array ["exact"];

        /// mean change by one pulse where q = 1, that is at w = 0
        pulse_step: Option<f64> = number().positive(), "weight", Optional("by `states`, or the preset's"), of array ["tile"];
        /// (max − min)/pulse_step
        states: Option<f64> = number().positive(), "–", Optional("by `pulse_step`"), of array ["tile"];
        /// whether steps are those at w = 0, or AIHWKIT's dw_min, for `power` 2^shape times as large
        normalization: &'static str = word(["paper", "aihwkit"]), "–", Or("\"paper\""),
            of response STEP_MODELS, of array ["tile"];
        /// error of the tables that tiles hold of other responses, relative to the largest q
        tolerance: f64 = number().positive(), "relative", Or("2e-6"),
            of response (curves()), of array ["tile"];
        /// energy of one pulse: records and reports then tell the energy beside the pulses
        pulse_energy: Option<f64> = number().positive(), "J", Optional("none");
        /// how parameters of cells are kept: `f32` as numbers, `i16` as draws rounded to 2⁻¹² of their standard deviation, two bytes for each
        /// spread that is set
        cell_parameters: Option<CellParameters> = choice([("f32", CellParameters::F32), ("i16", CellParameters::I16)]), "–",
            Optional("`f32`"), of array ["tile"];
        /// several tiles that act as one array
        cell: Option<CellTable> = table::<CellTable>(), "–", Optional("one tile"), of array ["tile"];
        /// of the step
        step_spread: Option<Spread> = spread(), "relative", Optional("0"), of array ["tile"];
        /// of the bounds; two are of min and max
        bound_spread: Option<[Spread; 2]> = spreads(), "relative", Optional("0"), of array ["tile"];
        /// of the exponent
        shape_spread: Option<Spread> = spread(), "relative", Optional("0"), of response ["power" "preset" "aihwkit"], of array ["tile"];
        /// lowers the down exponent, or the up exponent if negative
        shape_imbalance: Option<f64> = number().relative(), "relative", Optional("0"),
            of response ["power" "preset" "aihwkit"], of array ["tile"];
        /// of up against down exponents, between cells
        shape_imbalance_spread: Option<f64> = number().relative(), "relative", Optional("0"),
            of response ["power" "preset" "aihwkit"], of array ["tile"];
        /// of the slopes, absolute; two are up and down
        slope_spread: Option<[Spread; 2]> = spreads(), "–", Optional("0"),
            of response ["linear" "soft_bounds" "preset" "aihwkit"], of array ["tile"];
        /// what else the slopes do
        slopes: Option<SlopesTable> = table::<SlopesTable>(), "–", Optional("none"),
            of response ["linear" "soft_bounds" "preset" "aihwkit"], of array ["tile"];
        /// mean of up against down steps
        imbalance: Option<f64> = number().relative(), "relative", Optional("0"), of array ["tile"];
        /// of up against down steps, between cells
        imbalance_spread: Option<f64> = number().relative(), "relative", Optional("0"), of array ["tile"];
        /// deviation from pulse to pulse, relative to the step, or a table
        cycle_noise: Option<CycleNoise> = number().checked_later(" ≥ 0").map(|d| CycleNoise::Multiplicative(d as f32))
            .or(table::<AdditiveTable>().map(|t| CycleNoise::Additive(t.additive as f32))), "relative to the step",
            Optional("0"), of array ["tile"];
        /// of reads against the hidden state
        write_noise: Option<f64> = number().checked_later(" ≥ 0"), "steps", Optional("0"), of array ["tile"];
        /// what every read subtracts
        reference: Option<ReferenceTable> = table::<ReferenceTable>(), "–", Optional("none"), of array ["tile"];
        /// cells that do not move
        stuck: Option<StuckTable> = table::<StuckTable>(), "–", Optional("none"), of array ["tile"];
        /// where decay leads
        reset: Option<ResetTable> = table::<ResetTable>(), "–", Optional("exactly 0"), of array ["tile"];
        /// leak, once a step
        decay: Option<DecayTable> = table::<DecayTable>(), "–", Optional("none"), of array ["tile"];
        /// random walk, once a step
        diffusion: Option<DiffusionTable> = table::<DiffusionTable>(), "–", Optional("none"), of array ["tile"];
        /// (t/onset_s)^−exponent, t the time since the last write
        drift: Option<DriftTable> = table::<DriftTable>(), "–", Optional("none"), of array ["tile"];
    }
}

section! {
    /// Whole pulses on an exact array.
    pub(crate) struct PulsesTable {
        /// Δw_min: change by one pulse where q = 1
        pulse_step: f64 = number().checked_later(" > 0"), "weight", Required;
        /// how an increment becomes a number of pulses; `nearest` has a dead zone
        rounding: Rounding = choice([("stochastic", Rounding::Stochastic), ("nearest", Rounding::Nearest)]), "–",
            Or("\"stochastic\"");
        /// deviation from pulse to pulse
        cycle_noise: f64 = number().checked_later(" ≥ 0"), "relative to the step", Or("0.0");
    }
}

/// Most tiles of a unit cell; more is taken for a mistake.
const MAX_TILES: u64 = 256;

section! {
    /// A unit cell: several tiles of the device that act as one array.
    pub(crate) struct CellTable by kind {
        /// `vector`: a weighted sum of tiles; `reference`: a tile minus one that is not written; `one_sided`: two tiles that are
        /// only pulsed upwards, for either sign
        kind: &'static str = word(["vector", "reference", "one_sided"]), "–", Required;
        /// how many
        tiles: usize = count().at_least(1).at_most(MAX_TILES).size(), "tiles", Or("2"), of kind ["vector"];
        /// the weights of the sum
        gains: Option<Vec<f64>> = list(number(), "a list of numbers", [1, usize::MAX]), "–", Optional("1/tiles each"), of kind ["vector"];
        /// which tiles a sample writes to: all, one after the other, or one drawn
        policy: Policy = choice([("all", Policy::All), ("sequential", Policy::Sequential), ("random", Policy::Random)])
            .or(table::<FixedTable>().map(|t| Policy::Fixed(t.fixed))), "–", Or("\"all\""), of kind ["vector"];
        /// rewriting pairs whose cells have both grown
        refresh: Option<RefreshTable> = table::<RefreshTable>(), "–", Optional("never"), of kind ["one_sided"];
    }
}

section! {
    /// One tile only.
    pub(crate) struct FixedTable {
        /// its number, from 0
        fixed: usize = count().size(), "–", Required;
    }
}

section! {
    /// Looking at all pairs now and then, and rewriting those that are nearly full.
    pub(crate) struct RefreshTable {
        /// between two looks
        every: u64 = count().at_least(1), "samples", Required;
        /// the larger of a pair must exceed this share of its bound
        upper: Option<f64> = number().share(), "share", Optional("AIHWKIT's");
        /// and the smaller one this share
        lower: Option<f64> = number().share(), "share", Optional("AIHWKIT's");
    }
}

section! {
    /// A number is the deviation of a normal spread.
    pub(crate) struct SpreadTable {
        /// deviation of the logarithm
        log_normal: f64 = number().relative(), "–", Required;
    }
}

section! {
    /// What the slopes of linear steps do besides falling to the bound.
    pub(crate) struct SlopesTable {
        /// whether a slope may be negative; if not its sign is changed
        increasing: bool = flag(), "–", Or("false");
        /// whether a cell's bounds lie where its steps vanish; for slopes of 1
        divide_bounds: bool = flag(), "–", Or("false");
        /// whether up steps grow from the lower bound on
        reverse_up: bool = flag(), "–", Or("false");
        /// whether down steps grow from the upper bound on
        reverse_down: bool = flag(), "–", Or("false");
        /// how far outside that bound a reversed step vanishes
        reverse_offset: f64 = number().checked_later(" ≥ 0"), "weight", Or("0.01");
    }
}

section! {
    /// Noise that does not grow with the step.
    pub(crate) struct AdditiveTable {
        /// the same, whatever the step has become
        additive: f64 = number().checked_later(" ≥ 0"), "steps", Required;
    }
}

section! {
    /// What every read subtracts.
    pub(crate) struct ReferenceTable {
        /// over the cells
        mean: f64 = number(), "weight", Or("0.0");
        /// between cells
        deviation: f64 = number().checked_later(" ≥ 0"), "weight", Or("0.0");
        /// whether it is added to each cell's symmetric point
        at_symmetric_point: bool = flag(), "–", Or("false");
    }
}

section! {
    /// Cells that do not move.
    pub(crate) struct StuckTable {
        /// of a cell to be one
        probability: f64 = number().share(), "probability", Required;
        /// they are stuck within ± this
        range: Option<f64> = number().checked_later(" ≥ 0"), "weight", Optional("the larger bound");
    }
}

section! {
    /// Where decay leads.
    pub(crate) struct ResetTable {
        /// its mean over the cells
        value: f64 = number(), "weight", Or("0.0");
        /// its deviation between cells
        spread: f64 = number().checked_later(" ≥ 0"), "weight", Or("0.0");
        /// its deviation from one reset to the next
        deviation: f64 = number().checked_later(" ≥ 0"), "weight", Or("0.0");
    }
}

section! {
    /// Leak, once a step.
    pub(crate) struct DecayTable {
        /// after which 1/e is left
        lifetime: f64 = number().checked_later(" > 0"), "steps", Required;
        /// of the lifetime, between cells
        spread: f64 = number().checked_later(" ≥ 0"), "relative to the mean", Or("0.0");
    }
}

section! {
    /// Random walk, once a step.
    pub(crate) struct DiffusionTable {
        /// of one step of the walk
        deviation: f64 = number().checked_later(" ≥ 0"), "weight", Required;
        /// of the deviation, between cells
        spread: f64 = number().checked_later(" ≥ 0"), "relative to the mean", Or("0.0");
    }
}

section! {
    /// (t/onset_s)^−exponent, t the time since the last write.
    pub(crate) struct DriftTable {
        /// of the power law
        exponent: f64 = number(), "–", Required;
        /// when it begins
        onset_s: f64 = number().checked_later(" > 0"), "seconds", Required;
        /// that a step lasts
        step_s: f64 = number().checked_later(" ≥ 0"), "seconds", Required;
        /// of the exponent between cells
        spread: f64 = number().checked_later(" ≥ 0"), "relative to the mean", Or("0.0");
        /// relative deviation of the exponent from step to step
        exponent_noise: f64 = number().checked_later(" ≥ 0"), "–", Or("0.0");
        /// added with each drift
        state_noise: f64 = number().checked_later(" ≥ 0"), "weight", Or("0.0");
    }
}

/// A number for a normal spread, `{ log_normal = … }` for the other.
fn spread() -> impl Takes<Value = Spread> {
    let normal = number().relative().map(|deviation| Spread::normal(deviation as f32));
    normal.or(table::<SpreadTable>().map(|t| Spread::log_normal(t.log_normal as f32)))
}

/// A spread for both of two things, or a normal one for each.
fn spreads() -> impl Takes<Value = [Spread; 2]> {
    let normal = number().relative().pair().map(|pair| pair.map(|deviation| Spread::normal(deviation as f32)));
    normal.or(table::<SpreadTable>().map(|t| [Spread::log_normal(t.log_normal as f32); 2]))
}

/// The devices of a spec.
#[derive(Clone, Debug)]
pub struct Devices {
    /// Of W.
    pub main: DeviceSpec,
    /// Of P; the same unless `[device.residual]` says otherwise.
    pub residual: DeviceSpec,
    /// Joules of a pulse.
    pub pulse_energy: Option<f64>,
}

/// The cells of an array and how they are written.
#[derive(Clone, Debug)]
pub enum DeviceSpec {
    /// Cells that do what the formulas say.
    Exact {
        /// What the cells do.
        response: ResponseSpec,
        /// Expected update or pulses.
        update: Update,
    },
    /// Cells at the cross points of lines.
    Tile {
        /// What they are made of.
        device: Box<Device>,
        /// Several tiles that act as one.
        cell: Option<CellSpec>,
        /// Whether pulses are counted for each cell.
        ledger: bool,
    },
}

/// Several tiles that act as one array.
#[derive(Clone, Debug, PartialEq)]
pub enum CellSpec {
    /// A weighted sum.
    Vector {
        /// Of each tile.
        gains: Vec<f32>,
        /// Which tiles a sample writes to.
        policy: Policy,
    },
    /// A tile minus one that holds still.
    Reference,
    /// Two tiles that are only pulsed upwards.
    OneSided {
        /// Samples between two looks, and the thresholds if they are not AIHWKIT's.
        refresh: Option<(u64, [Option<f32>; 2])>,
    },
}

impl DeviceSpec {
    /// Whether it is a tile.
    pub fn is_tile(&self) -> bool {
        matches!(self, Self::Tile { .. })
    }

    /// The device of a tile.
    pub fn tile(&self) -> Option<&Device> {
        if let Self::Tile { device, .. } = self { Some(device) } else { None }
    }

    /// The same cells, whose pulses are counted one by one.
    pub(super) fn count_pulses(&mut self) {
        if let Self::Tile { ledger, .. } = self {
            *ledger = true;
        }
    }

    /// The mean bounds of a weight, if it has some.
    pub fn range(&self) -> Option<[f64; 2]> {
        match self {
            Self::Tile { device, .. } => Some([device.min, device.max].map(f64::from)),
            Self::Exact { response, .. } => {
                let range = response.representative().ok()?.range();
                range.is_finite().then_some([range.lo, range.hi])
            }
        }
    }

    /// Pulses from one end of the range to the other, at the mean step; `None` where there are no pulses or no ends.
    pub fn states(&self) -> Option<f64> {
        let [lo, hi] = self.range()?;
        let step = match self {
            Self::Tile { device, .. } => f64::from(device.pulse_step),
            Self::Exact { update: Update::Pulsed(pulses), .. } => pulses.step(),
            Self::Exact { .. } => return None,
        };
        // What was divided in single precision comes back as the number it was.
        let states = (hi - lo) / step;
        Some(if (states - states.round()).abs() < 1e-5 * states { states.round() } else { states })
    }

    /// One response that stands for all cells.
    ///
    /// # Errors
    /// If there is none.
    pub fn representative(&self) -> Result<Arc<dyn ResponseFunction>, PopulationError> {
        match self {
            Self::Exact { response, .. } => response.representative(),
            Self::Tile { device, .. } => Ok(Arc::new(device.response()?)),
        }
    }

    /// The cells of an exact array of `n`, or of one whose cells are all like the mean cell of the tile; `key` decides
    /// device-to-device variation.
    ///
    /// # Errors
    /// If a parameter, given or drawn, makes no response.
    pub fn cells(&self, n: usize, key: Key) -> Result<Arc<dyn Cells>, PopulationError> {
        match self {
            Self::Exact { response, .. } => response.cells(n, key),
            Self::Tile { .. } => ResponseSpec::Shared(self.representative()?).cells(n, key),
        }
    }

    /// How increments reach the cells of an exact array.
    pub fn update(&self) -> Update {
        if let Self::Exact { update, .. } = self { *update } else { Update::Expected }
    }

    /// Whether the symmetric point of every cell is exactly 0.
    pub fn is_symmetric(&self) -> bool {
        let varies = match self {
            Self::Exact { response, .. } => !response.is_uniform(),
            Self::Tile { device, .. } => {
                let step = match &device.step {
                    StepModel::Linear(s) => s.spread.iter().any(|s| s.deviation != 0.0),
                    StepModel::Power(e) => e.spread.deviation != 0.0 || e.imbalance_spread != 0.0,
                    _ => false,
                };
                // A spread of the step scales up and down alike.
                let spreads = [device.min_spread, device.max_spread];
                step || device.imbalance_spread != 0.0
                    || spreads.iter().any(|s| s.deviation != 0.0)
                    || device.reference.is_some()
            }
        };
        !varies && self.representative().is_ok_and(|r| r.symmetric_point() == Some(0.0))
    }

    /// One device, and the energy of a pulse.
    pub(super) fn read(at: &At<'_>) -> Result<(Self, Option<f64>), SpecError> {
        // The fields of a device file are those of the table from here on.
        let merged = with_file(at)?;
        let at = &merged.as_ref().map_or_else(|| at.with(at.node), |node| at.with(node));
        let table = at.table()?;
        let fields = DeviceTable::read(&table)?;
        debug_assert!(fields.file.is_none() || merged.is_some(), "a file has been read");
        if ["response", "preset", "aihwkit"].iter().filter(|name| table.has(name)).count() > 1 {
            let path = table.path("response");
            return Err(table.error(format!("{path}, preset and aihwkit exclude each other: give one of them")));
        }
        let energy = fields.pulse_energy;
        if fields.array.unwrap_or(table.context.kind.array()) == "exact" {
            return Ok((exact(&fields, &table)?, energy));
        }
        let mut device = tile_device(&fields, &table)?;
        imperfections(&fields, &table, &mut device)?;
        device.validate().map_err(|e| table.blame(&e))?;
        let cell = fields.cell.as_ref().map(|cell| unit_cell(cell, &table)).transpose()?;
        Ok((Self::Tile { device: Box::new(device), cell, ledger: false }, energy))
    }
}

fn exact(f: &DeviceTable, at: &Table<'_>) -> Result<DeviceSpec, SpecError> {
    let update = match &f.pulses {
        None => Update::Expected,
        Some(p) => Pulses::new(p.pulse_step)
            .and_then(|pulses| pulses.cycle_noise(p.cycle_noise))
            .map(|pulses| Update::Pulsed(pulses.rounding(p.rounding)))
            .map_err(|e| match at.node("pulses") {
                Some(node) => at.at("pulses", node, true).table().map_or_else(|e| e, |table| table.blame(&e)),
                None => at.blame(&e),
            })?,
    };
    let response = match f.response {
        Some("exp_step") | None => {
            // What is known of the mean cell of a tile.
            let device = named_device(f, at, 1.0)?;
            ResponseSpec::Shared(Arc::new(device.response().map_err(|e| at.blame(&e))?))
        }
        Some(name) => ResponseSpec::new(name, f, at)?,
    };
    Ok(DeviceSpec::Exact { response, update })
}

/// A preset, a device of AIHWKIT, or its exponential step.
fn named_device(f: &DeviceTable, at: &Table<'_>, step: f32) -> Result<Device, SpecError> {
    match (f.preset, &f.aihwkit, f.response) {
        (Some(preset), ..) => Ok(preset()),
        (_, Some(parameters), _) => parameters.device(at),
        (_, _, Some(_)) => Ok(Device::ideal(exp_step(f), step, -1.0, 1.0)),
        _ => Err(at.missing("response")),
    }
}

fn exp_step(f: &DeviceTable) -> StepModel {
    StepModel::Exponential(Saturation::aihwkit(
        f.amplitude.map(|x| x as f32),
        f.rate.map(|x| x as f32),
        f.stretch as f32,
        f.shift as f32,
    ))
}

fn tile_device(f: &DeviceTable, at: &Table<'_>) -> Result<Device, SpecError> {
    let Some(response) = f.response else {
        let mut device = named_device(f, at, 1.0)?;
        if at.has("states") {
            let path = at.path("states");
            return Err(at.error(format!("{path} must not stand beside preset or aihwkit: give pulse_step")));
        }
        device.pulse_step = f.pulse_step.map_or(device.pulse_step, |step| step as f32);
        return Ok(device);
    };
    let fixed = |distribution: &Distribution, name: &str| {
        distribution.constant().ok_or_else(|| {
            let path = at.path(name);
            at.error(format!("{path} must be a number with array = \"tile\", whose cells differ by spreads"))
        })
    };
    let positive = |value: f64, name: &str| {
        if value > 0.0 && value.is_finite() {
            return Ok(value as f32);
        }
        Err(at.error(format!("{} must be positive and finite, got {value}", at.path(name))))
    };
    let step = match response {
        "power" => {
            let shape = f.shape.as_ref().ok_or_else(|| at.missing("shape"))?;
            StepModel::power(positive(fixed(shape, "shape")?, "shape")?)
        }
        "soft_bounds" => StepModel::soft_bounds(),
        "constant" => StepModel::Constant,
        "linear" => {
            let [up, down] = f.slope.ok_or_else(|| at.missing("slope"))?.map(|slope| slope as f32);
            StepModel::linear(up, down)
        }
        "exp_step" => exp_step(f),
        "mixture" => {
            let path = at.path("response");
            return Err(at.error(format!("{path} = \"mixture\" must have array = \"exact\"")));
        }
        _ => {
            let curve = ResponseSpec::new(response, f, at)?;
            for (name, value) in &f.parameters {
                fixed(value, name)?;
            }
            let q = curve.representative().map_err(|e| at.error(format!("{}: {e}", at.path("response"))))?;
            let range = q.range();
            let step = pulse_step(f, at, (range.hi - range.lo) as f32)?;
            if response == "exponential" {
                let center =
                    |name: &str| f.parameters.iter().find(|(own, _)| *own == name).map(|(_, d)| d.center());
                let parameters = ["shape", "radius"].map(|name| center(name).unwrap_or(1.0));
                let bounds = [range.lo, range.hi].map(|end| end as f32);
                return Device::exponential_within(parameters, bounds, step).map_err(|e| at.blame(&e));
            }
            return Device::from_response_within(&*q, step, f.tolerance).map_err(|e| at.blame(&e));
        }
    };
    let [min, max] = match f.bounds {
        Some(_) if at.has("radius") => {
            let path = at.path("bounds");
            return Err(at.error(format!("{path} must not stand beside radius")));
        }
        Some(bounds) => [bounds.lo as f32, bounds.hi as f32],
        None => {
            let radius = positive(fixed(&f.radius, "radius")?, "radius")?;
            [-radius, radius]
        }
    };
    let given = pulse_step(f, at, max - min)?;
    Ok(match (&step, f.normalization) {
        (StepModel::Power(exponents), "paper") => Device::paper_power(exponents.shape, max, given),
        _ => Device::ideal(step, given, min, max),
    })
}

/// The step, given itself or as a number of states within `span`.
fn pulse_step(f: &DeviceTable, at: &Table<'_>, span: f32) -> Result<f32, SpecError> {
    match (f.pulse_step, f.states) {
        (Some(step), None) => Ok(step as f32),
        (None, Some(states)) => Ok(span / states as f32),
        (both, _) => {
            let got = if both.is_some() { "both" } else { "neither" };
            let path = at.path("pulse_step");
            Err(at.error(format!("{path} or states must be given, got {got}")))
        }
    }
}

fn imperfections(f: &DeviceTable, at: &Table<'_>, device: &mut Device) -> Result<(), SpecError> {
    device.step_spread = f.step_spread.unwrap_or(device.step_spread);
    if let Some([min, max]) = f.bound_spread {
        (device.min_spread, device.max_spread) = (min, max);
    }
    device.cycle_noise = f.cycle_noise.unwrap_or(device.cycle_noise);
    device.imbalance = f.imbalance.map_or(device.imbalance, |x| x as f32);
    device.imbalance_spread = f.imbalance_spread.map_or(device.imbalance_spread, |x| x as f32);
    device.write_noise = f.write_noise.map_or(device.write_noise, |x| x as f32);
    device.cell_parameters = f.cell_parameters.unwrap_or(device.cell_parameters);
    step_variation(f, at, &mut device.step)?;
    if let Some(r) = &f.reference {
        device.reference = Some(Reference {
            mean: r.mean as f32,
            deviation: r.deviation as f32,
            at_symmetric_point: r.at_symmetric_point,
        });
    }
    if let Some(stuck) = &f.stuck {
        let range = stuck.range.unwrap_or(f64::from(device.max.max(-device.min)));
        device.stuck = Some(Stuck { probability: stuck.probability as f32, range: range as f32 });
    }
    retention(f, &mut device.retention);
    Ok(())
}

/// How cells differ in the way their steps depend on the state.
fn step_variation(f: &DeviceTable, at: &Table<'_>, step: &mut StepModel) -> Result<(), SpecError> {
    let linear = ["slope_spread", "slopes"];
    let power = ["shape_spread", "shape_imbalance", "shape_imbalance_spread"];
    let others: &[&str] = match step {
        StepModel::Linear(_) => &power,
        StepModel::Power(_) => &linear,
        _ => &[linear[0], linear[1], power[0], power[1], power[2]],
    };
    if let Some(name) = others.iter().find(|name| at.has(name)) {
        let path = at.path(name);
        let of = if linear.contains(name) { "linear steps" } else { "a power law" };
        return Err(at.error(format!("{path} has no effect on this device: it is of {of}")));
    }
    match step {
        StepModel::Linear(slopes) => {
            slopes.spread = f.slope_spread.unwrap_or(slopes.spread);
            if let Some(s) = &f.slopes {
                slopes.increasing = s.increasing;
                if s.divide_bounds {
                    slopes.bounds = SlopeBounds::Divided;
                }
                let reversed = [s.reverse_up, s.reverse_down];
                slopes.reversed = reversed.map(|reversed| reversed.then_some(s.reverse_offset as f32));
            }
        }
        StepModel::Power(exponents) => {
            exponents.spread = f.shape_spread.unwrap_or(exponents.spread);
            exponents.imbalance = f.shape_imbalance.map_or(exponents.imbalance, |x| x as f32);
            exponents.imbalance_spread =
                f.shape_imbalance_spread.map_or(exponents.imbalance_spread, |x| x as f32);
        }
        _ => {}
    }
    Ok(())
}

/// What happens between pulses.
fn retention(f: &DeviceTable, retention: &mut Retention) {
    if let Some(r) = &f.reset {
        let (value, spread, deviation) = (r.value as f32, r.spread as f32, r.deviation as f32);
        retention.reset = Reset { value, spread, deviation };
    }
    if let Some(d) = &f.decay {
        retention.decay = Some(Decay { lifetime: d.lifetime as f32, spread: d.spread as f32 });
    }
    if let Some(d) = &f.diffusion {
        retention.diffusion = Some(Diffusion { deviation: d.deviation as f32, spread: d.spread as f32 });
    }
    if let Some(d) = &f.drift {
        retention.drift = Some(Drift {
            exponent: d.exponent as f32,
            onset_s: d.onset_s as f32,
            step_s: d.step_s as f32,
            spread: d.spread as f32,
            exponent_noise: d.exponent_noise as f32,
            state_noise: d.state_noise as f32,
        });
    }
}

fn unit_cell(cell: &CellTable, at: &Table<'_>) -> Result<CellSpec, SpecError> {
    Ok(match cell.kind {
        "vector" => {
            let tiles = cell.tiles;
            let gains = match &cell.gains {
                None => vec![1.0 / tiles as f32; tiles],
                Some(gains) if gains.len() == tiles => gains.iter().map(|gain| *gain as f32).collect(),
                Some(gains) => {
                    let path = at.path("cell.gains");
                    return Err(at.error(format!(
                        "{path} must have an entry for each of the {tiles} tiles, got {}",
                        gains.len()
                    )));
                }
            };
            if let Policy::Fixed(n) = cell.policy
                && n >= tiles
            {
                let path = at.path("cell.policy");
                return Err(
                    at.error(format!("{path}.fixed must be below the number of tiles, {tiles}, got {n}"))
                );
            }
            CellSpec::Vector { gains, policy: cell.policy }
        }
        "reference" => CellSpec::Reference,
        _ => {
            let share = |x: Option<f64>| x.map(|x| x as f32);
            let refresh = cell.refresh.as_ref().map(|r| (r.every, [share(r.upper), share(r.lower)]));
            CellSpec::OneSided { refresh }
        }
    })
}

section! {
    /// Devices of W and of P, where they differ: what the fields beside these say holds for both.
    #[allow(dead_code)]
    pub(crate) struct TwoDevices {
        /// of W
        main: Option<DeviceTable> = table::<DeviceTable>(), "–", Optional("`[device]`");
        /// of P
        residual: Option<DeviceTable> = table::<DeviceTable>(), "–", Optional("`[device]`");
    }
}

/// `[device]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceField;

/// Devices as a spec has them; that of P may be missing.
#[derive(Clone, Debug)]
pub(crate) struct DevicesRead {
    main: DeviceSpec,
    residual: Option<DeviceSpec>,
    pulse_energy: Option<f64>,
}

impl Takes for DeviceField {
    type Value = DevicesRead;

    fn accepts(&self, node: &Node) -> bool {
        matches!(node.value, Value::Table(_))
    }

    fn read(&self, at: &At<'_>) -> Result<DevicesRead, SpecError> {
        let whole = at.table()?;
        let names = ["main", "residual"];
        if !names.iter().any(|name| whole.has(name)) {
            let (device, pulse_energy) = DeviceSpec::read(at)?;
            return Ok(DevicesRead { main: device.clone(), residual: Some(device), pulse_energy });
        }
        let both = at.node.without(&names);
        let read = |name: &str| {
            let node = match whole.node(name) {
                Some(own) => both.overlaid(own),
                None if both.entries().is_empty() => return Ok(None),
                None => both.clone(),
            };
            DeviceSpec::read(&whole.at(name, &node, true)).map(Some)
        };
        let (main, residual) = (read("main")?, read("residual")?);
        let (main, energy) = main.ok_or_else(|| whole.missing("main"))?;
        if residual.as_ref().is_some_and(|(_, other)| *other != energy) {
            let path = whole.path("pulse_energy");
            return Err(whole.error(format!("{path} must be the same for all arrays: give it once")));
        }
        Ok(DevicesRead { main, residual: residual.map(|(device, _)| device), pulse_energy: energy })
    }

    fn noun(&self) -> String {
        "a table".into()
    }

    fn words(&self) -> String {
        "table".into()
    }

    fn schema(&self) -> Json {
        let one = table::<DeviceTable>().schema();
        let two = json!({ "main": one, "residual": one });
        let either = json!([{ "required": ["main"] }, { "required": ["residual"] }]);
        json!({ "anyOf": [one, { "type": "object", "properties": two, "anyOf": either }] })
    }

    fn tables(&self) -> Vec<fn() -> &'static Declaration> {
        vec![DeviceTable::declaration, TwoDevices::declaration]
    }
}

impl DevicesRead {
    /// The devices of a rule, which may have no use for that of P.
    pub(super) fn finish(self, needs_residual: bool, root: &Table<'_>) -> Result<Devices, SpecError> {
        let residual = match self.residual {
            Some(residual) => residual,
            None if needs_residual => return Err(root.error("device.residual is missing")),
            None => self.main.clone(),
        };
        Ok(Devices { main: self.main, residual, pulse_energy: self.pulse_energy })
    }
}

impl Devices {
    /// Whether some array is a tile, so that weights are f32.
    pub fn has_tiles(&self) -> bool {
        self.main.is_tile() || self.residual.is_tile()
    }
}
