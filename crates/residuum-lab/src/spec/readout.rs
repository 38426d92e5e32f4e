//! `[readout]`: the converters around tiles.

use residuum::Key;
use residuum::readout::{
    BoundManagement, Converter, IrDrop, NoiseManagement, Nonlinearity, OutputLine, Passes, Readout, Settings,
    WeightNoise,
};
use serde_json::{Value as Json, json};

use super::node::{Node, SpecError, Value};
use super::section::{Declaration, Optional, Or, Required, RequiredIf, Section as _, Takes, section};
use super::table::At;
use super::types::{TakesExt as _, choice, count, flag, number, table, word};

section! {
    /// The converters around tiles, by which networks read them and rules transfer. `readout = "ideal"` reads exactly,
    /// `readout = "aihwkit"` uses that library's defaults; a table starts from `preset` and changes the fields it names.
    pub(crate) struct ReadTable {
        /// what the table starts from
        preset: Option<fn() -> Settings> = preset(), "–", Optional("`ideal`, or the forward readout");
        /// converter of inputs
        input: Option<ConverterTable> = table::<ConverterTable>(), "–", Optional("that of the preset");
        /// converter of outputs
        output: Option<ConverterTable> = table::<ConverterTable>(), "–", Optional("that of the preset");
        /// deviation of the noise of every weight, per read
        weight_noise: Option<f64> = number().checked_later(" ≥ 0"), "weight", Optional("that of the preset");
        /// how it depends on the weight
        weight_noise_kind: Option<WeightNoise> = choice([
            ("constant", WeightNoise::Constant), ("phase_change", WeightNoise::PhaseChange)
        ]), "–", Optional("`constant`");
        /// how inputs are scaled into the range of their converter
        noise_management: Option<NoiseManagement> = choice([
            ("none", NoiseManagement::None),
            ("abs_max", NoiseManagement::AbsMax { ceiling: None }),
            ("max", NoiseManagement::Max { ceiling: None }),
        ]).or(table::<NoiseManagementTable>().then(noise_management)), "–", Optional("that of the preset");
        /// what happens when outputs are clipped
        bound_management: Option<BoundManagement> = choice([
            ("none", BoundManagement::None),
            ("iterative", BoundManagement::Iterative { max_factor: REDUCTION }),
        ]).or(table::<BoundManagementTable>().then(bound_management)), "–", Optional("that of the preset");
        /// voltage lost along the lines
        ir_drop: Option<IrDropTable> = table::<IrDropTable>(), "–", Optional("off");
        /// read positive and negative inputs separately
        passes: Option<Passes> = choice([
            ("one", Passes::One), ("signs_analog", Passes::SignsAnalog), ("signs_digital", Passes::SignsDigital)
        ]), "–", Optional("`one`");
        /// imperfections of the line to the output converter
        output_line: Option<OutputLineTable> = table::<OutputLineTable>(), "–", Optional("off");
        /// nonlinearity of the outputs
        nonlinearity: Option<NonlinearityTable> = table::<NonlinearityTable>(), "–", Optional("off");
        /// fraction of the output bound at which the mean characteristic is calibrated to slope 1; 0 for no calibration
        slope_calibration: Option<f64> = number(), "relative", Optional("0");
        /// spread between cells of the weight that negative inputs see, relative to positive ones
        read_asymmetry: Option<f64> = number(), "relative", Optional("0");
        /// spread of the output noise between lines
        output_noise_spread: Option<f64> = number().checked_later(" ≥ 0"), "relative", Optional("0");
    }
}

section! {
    /// Reads that differ from the forward one, written like it and starting from it: backward without bound management, transfer
    /// without bound and noise management.
    #[allow(dead_code)]
    pub(crate) struct OtherReads {
        /// reads of errors
        backward: Option<ReadTable> = table::<ReadTable>(), "–", Optional("the forward readout");
        /// reads of columns of P
        transfer: Option<ReadTable> = table::<ReadTable>(), "–", Optional("the forward readout");
    }
}

section! {
    /// A converter.
    pub(crate) struct ConverterTable {
        /// values are clipped to ± this
        bound: Option<f64> = number().checked_later(" > 0"), "signal", Optional("none, or that of the preset");
        /// levels between ±bound
        steps: Option<u32> = count().small(), "levels", Optional("exact, or that of the preset");
        /// whether rounding is stochastic
        stochastic: Option<bool> = flag(), "–", Optional("that of the preset");
        /// deviation of added noise
        noise: Option<f64> = number().checked_later(" ≥ 0"), "signal", Optional("that of the preset");
        /// share of negative values that is lost
        negative_loss: Option<f64> = number(), "relative", Optional("that of the preset");
    }
}

section! {
    /// How inputs are scaled into the range of their converter.
    pub(crate) struct NoiseManagementTable by kind {
        /// how the scale is chosen
        kind: &'static str = word(["abs_max", "max", "constant", "abs_max_sum", "average_abs_max"]), "–", Required;
        /// largest scale
        ceiling: Option<f64> = number().checked_later(" > 0"), "signal", Optional("none"), of kind ["abs_max" "max"];
        /// the scale
        scale: Option<f64> = number().checked_later(" > 0"), "signal", RequiredIf, of kind ["constant"];
        /// assumed size of the largest weight
        assumed_weight: Option<f64> = number().checked_later(" > 0"), "weight", RequiredIf, of kind ["abs_max_sum"];
        /// largest reduction
        max_factor: Option<f64> = number().checked_later(" > 0"), "–", RequiredIf, of kind ["abs_max_sum"];
        /// decay of the running mean
        decay: Option<f64> = number().checked_later(", 0 to 1"), "share per read", RequiredIf, of kind ["average_abs_max"];
    }
}

section! {
    /// What happens when outputs are clipped.
    pub(crate) struct BoundManagementTable by kind {
        /// how inputs are reduced until nothing is clipped
        kind: &'static str = word(["iterative", "worst_case"]), "–", Required;
        /// largest reduction of the inputs
        max_factor: u32 = count().small(), "–", Or("16");
        /// assumed size of the largest weight
        assumed_weight: Option<f64> = number().checked_later(" > 0"), "weight", RequiredIf, of kind ["worst_case"];
    }
}

section! {
    /// Voltage lost along the lines.
    pub(crate) struct IrDropTable {
        /// factor of the effect
        strength: f64 = number().checked_later(" ≥ 0"), "–", Required;
        /// conductance of lines relative to cells
        conductance_ratio: f64 = number().checked_later(" > 0"), "–", Required;
    }
}

section! {
    /// Imperfections of the line to the output converter.
    pub(crate) struct OutputLineTable {
        /// spread of offsets between lines
        offset_spread: f64 = number().checked_later(" ≥ 0"), "signal", Or("0.0");
        /// weight of every cell of the reference line; 0 for no reference
        reference_weight: f64 = number(), "weight", Or("0.0");
        /// series resistance of the line
        series_resistance: f64 = number().checked_later(" ≥ 0"), "relative", Or("0.0");
    }
}

section! {
    /// Nonlinearity of the outputs.
    pub(crate) struct NonlinearityTable {
        /// mean over the outputs
        strength: f64 = number(), "–", Required;
        /// spread between outputs
        spread: f64 = number().checked_later(" ≥ 0"), "–", Or("0.0");
    }
}

/// Largest reduction of iterative bound management; AIHWKIT's `max_bm_res = 0.25` allows as much.
const REDUCTION: u32 = 16;

fn preset() -> impl Takes<Value = fn() -> Settings> {
    choice([("ideal", Settings::default as fn() -> Settings), ("aihwkit", Settings::aihwkit)])
}

/// The three kinds of reads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadoutSpec {
    /// `W x`.
    pub forward: Readout,
    /// `Wᵀ δ`.
    pub backward: Readout,
    /// Columns of P on their way to W.
    pub transfer: Readout,
}

/// `readout`, a word or a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadoutField;

impl Takes for ReadoutField {
    type Value = ReadoutSpec;

    fn accepts(&self, node: &Node) -> bool {
        matches!(node.value, Value::Table(_) | Value::Text(_))
    }

    fn read(&self, at: &At<'_>) -> Result<ReadoutSpec, SpecError> {
        let own = at.node.without(&["backward", "transfer"]);
        let settings = read(&at.with(&own), Settings::default())?;
        let backward = Settings { bound_management: BoundManagement::None, ..settings };
        let transfer = Settings { noise_management: NoiseManagement::None, ..backward };
        let other = |name: &str, start: Settings| match at.node.field(name) {
            Some(node) => {
                let at = at.table()?.at(name, node, true);
                check(&at, read(&at, start)?)
            }
            None => check(at, start),
        };
        let forward = check(at, settings)?;
        Ok(ReadoutSpec {
            forward,
            backward: other("backward", backward)?,
            transfer: other("transfer", transfer)?,
        })
    }

    fn noun(&self) -> String {
        "\"ideal\", \"aihwkit\" or a table".into()
    }

    fn words(&self) -> String {
        "`ideal`, `aihwkit`, or table".into()
    }

    fn schema(&self) -> Json {
        let one = json!({ "anyOf": [preset().schema(), table::<ReadTable>().schema()] });
        let others = json!({ "backward": one, "transfer": one });
        let either = json!([{ "required": ["backward"] }, { "required": ["transfer"] }]);
        json!({ "anyOf": [
            preset().schema(), table::<ReadTable>().schema(),
            { "type": "object", "properties": others, "anyOf": either },
        ] })
    }

    fn tables(&self) -> Vec<fn() -> &'static Declaration> {
        vec![ReadTable::declaration, OtherReads::declaration]
    }
}

fn check(at: &At<'_>, settings: Settings) -> Result<Readout, SpecError> {
    // Every tile has lines of its own: the key is that of the tile once there is one.
    Readout::of_array(settings, Key::new(0))
        .map_err(|e| at.table().map_or_else(|_| at.error(format_args!(": {e}")), |table| table.blame(&e)))
}

/// The settings of a readout, a word or a table over `start`.
fn read(at: &At<'_>, start: Settings) -> Result<Settings, SpecError> {
    if let Value::Text(_) = at.node.value {
        return preset().read(at).map(|preset| preset());
    }
    let f = ReadTable::read(&at.table()?)?;
    let start = f.preset.map_or(start, |preset| preset());
    Ok(Settings {
        input: converter(f.input, start.input),
        output: converter(f.output, start.output),
        weight_noise: f.weight_noise.unwrap_or(start.weight_noise),
        weight_noise_kind: f.weight_noise_kind.unwrap_or(start.weight_noise_kind),
        read_asymmetry: f.read_asymmetry.unwrap_or(start.read_asymmetry),
        slope_calibration: f.slope_calibration.unwrap_or(start.slope_calibration),
        output_noise_spread: f.output_noise_spread.unwrap_or(start.output_noise_spread),
        noise_management: f.noise_management.unwrap_or(start.noise_management),
        bound_management: f.bound_management.unwrap_or(start.bound_management),
        passes: f.passes.unwrap_or(start.passes),
        ir_drop: f.ir_drop.map_or(start.ir_drop, |t| {
            Some(IrDrop { strength: t.strength, conductance_ratio: t.conductance_ratio })
        }),
        output_line: f.output_line.map_or(start.output_line, |t| {
            let OutputLineTable { offset_spread, reference_weight, series_resistance } = t;
            Some(OutputLine { offset_spread, reference_weight, series_resistance })
        }),
        nonlinearity: f
            .nonlinearity
            .map_or(start.nonlinearity, |t| Some(Nonlinearity { strength: t.strength, spread: t.spread })),
    })
}

fn converter(f: Option<ConverterTable>, start: Converter) -> Converter {
    let Some(f) = f else { return start };
    Converter {
        bound: f.bound.or(start.bound),
        steps: f.steps.or(start.steps),
        stochastic: f.stochastic.unwrap_or(start.stochastic),
        noise: f.noise.unwrap_or(start.noise),
        negative_loss: f.negative_loss.unwrap_or(start.negative_loss),
    }
}

fn noise_management(f: &NoiseManagementTable, at: &At<'_>) -> Result<NoiseManagement, SpecError> {
    let table = at.table()?;
    let needed = |value: Option<f64>, name: &str| value.ok_or_else(|| table.missing(name));
    Ok(match f.kind {
        "abs_max" => NoiseManagement::AbsMax { ceiling: f.ceiling },
        "max" => NoiseManagement::Max { ceiling: f.ceiling },
        "constant" => NoiseManagement::Constant { scale: needed(f.scale, "scale")? },
        "abs_max_sum" => NoiseManagement::AbsMaxSum {
            assumed_weight: needed(f.assumed_weight, "assumed_weight")?,
            max_factor: needed(f.max_factor, "max_factor")?,
        },
        _ => NoiseManagement::AverageAbsMax { decay: needed(f.decay, "decay")? },
    })
}

fn bound_management(f: &BoundManagementTable, at: &At<'_>) -> Result<BoundManagement, SpecError> {
    let max_factor = f.max_factor;
    match f.assumed_weight {
        Some(assumed_weight) => Ok(BoundManagement::IterativeWorstCase { max_factor, assumed_weight }),
        None if f.kind == "iterative" => Ok(BoundManagement::Iterative { max_factor }),
        None => Err(at.table()?.missing("assumed_weight")),
    }
}
