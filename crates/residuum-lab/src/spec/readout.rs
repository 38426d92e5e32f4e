//! `[readout]`: the converters around tiles.
//!
//! `readout = "ideal"` reads exactly, `readout = "aihwkit"` has that library's defaults; a table starts from `preset` and
//! changes what it names. `[readout.backward]` and `[readout.transfer]` are written the same way and start from the forward
//! readout: backward without bound management, transfer without bound and noise management, as AIHWKIT has it. What spreads
//! between lines or cells is drawn for every tile.
//!
//! | field | meaning | default |
//! |---|---|---|
//! | `preset` | `ideal` or `aihwkit` | `ideal`, or the forward readout |
//! | `input`, `output` | converters: `{ bound, steps, stochastic, noise, negative_loss }`; bound and noise in signal units, `steps` between ±bound | off |
//! | `weight_noise` | deviation of the noise of every weight, per read, in weight units | 0 |
//! | `weight_noise_kind` | `constant` or `phase_change` | `constant` |
//! | `noise_management` | `none`, `abs_max`, `max`, or a table with `kind` = these (`ceiling`), `constant` (`scale`), `abs_max_sum` (`assumed_weight`, `max_factor`), `average_abs_max` (`decay`) | `none` |
//! | `bound_management` | `none`, `iterative`, or a table with `kind` = `iterative` (`max_factor`), `worst_case` (`max_factor`, `assumed_weight`) | `none` |
//! | `ir_drop` | `{ strength, conductance_ratio }` | off |
//! | `passes` | `one`, `signs_analog`, `signs_digital` | `one` |
//! | `output_line` | `{ offset_spread, reference_weight, series_resistance }` | off |
//! | `nonlinearity` | `{ strength, spread }` | off |
//! | `slope_calibration`, `read_asymmetry`, `output_noise_spread` | as in the library | 0 |

use residuum::readout::{
    BoundManagement, Converter, IrDrop, NoiseManagement, Nonlinearity, OutputLine, Passes, Readout, Settings,
    WeightNoise,
};

use residuum::Key;

use super::reader::{Fields, SpecError, Value};

/// Largest reduction of iterative bound management; AIHWKIT's `max_bm_res = 0.25` allows as much.
const REDUCTION: u64 = 16;

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

impl ReadoutSpec {
    /// Reads `readout` of the document.
    pub(crate) fn read(root: &Fields<'_>) -> Result<Self, SpecError> {
        let Some(node) = root.node("readout") else {
            root.defaulted("readout", "\"ideal\"");
            return Ok(Self::default());
        };
        let (forward, settings) = read_one(root, "readout", Settings::default())?;
        let mut backward = Settings { bound_management: BoundManagement::None, ..settings };
        let mut transfer = Settings { noise_management: NoiseManagement::None, ..backward };
        let [mut backward_readout, mut transfer_readout] = [check(root, backward)?, check(root, transfer)?];
        if let Value::Table(_) = node.value {
            let table = root.nested("readout", node)?;
            for (name, settings, readout) in [
                ("backward", &mut backward, &mut backward_readout),
                ("transfer", &mut transfer, &mut transfer_readout),
            ] {
                if table.has(name) {
                    (*readout, *settings) = read_one(&table, name, *settings)?;
                }
            }
        }
        Ok(Self { forward, backward: backward_readout, transfer: transfer_readout })
    }
}

fn check(fields: &Fields<'_>, settings: Settings) -> Result<Readout, SpecError> {
    // Every tile has lines of its own: the key is that of the tile once there is one.
    Readout::of_array(settings, Key::new(0)).map_err(|e| fields.blame(&e))
}

fn preset(word: &str) -> Settings {
    if word == "aihwkit" { Settings::aihwkit() } else { Settings::default() }
}

/// The readout of the field `name`, a word or a table over `start`.
fn read_one(
    parent: &Fields<'_>,
    name: &'static str,
    start: Settings,
) -> Result<(Readout, Settings), SpecError> {
    const PRESETS: [&str; 2] = ["ideal", "aihwkit"];
    let Some(node) = parent.node(name) else { return Ok((check(parent, start)?, start)) };
    if let Value::Text(_) = node.value {
        let settings = preset(parent.choice(name, &PRESETS)?);
        return Ok((check(parent, settings)?, settings));
    }
    let fields = parent.nested(name, node)?;
    let start = if fields.has("preset") { preset(fields.choice("preset", &PRESETS)?) } else { start };
    fields.node("preset");
    // Read by the caller, after this one.
    if name == "readout" {
        fields.node("backward");
        fields.node("transfer");
    }
    let settings = read_settings(&fields, start)?;
    let readout = check(&fields, settings)?;
    fields.finish()?;
    Ok((readout, settings))
}

fn read_settings(fields: &Fields<'_>, start: Settings) -> Result<Settings, SpecError> {
    let number = |name, value: f64| Ok(fields.optional_number(name)?.unwrap_or(value));
    let mut s = Settings {
        input: read_converter(fields, "input", start.input)?,
        output: read_converter(fields, "output", start.output)?,
        weight_noise: number("weight_noise", start.weight_noise)?,
        read_asymmetry: number("read_asymmetry", start.read_asymmetry)?,
        slope_calibration: number("slope_calibration", start.slope_calibration)?,
        output_noise_spread: number("output_noise_spread", start.output_noise_spread)?,
        noise_management: read_noise_management(fields, start.noise_management)?,
        bound_management: read_bound_management(fields, start.bound_management)?,
        ..start
    };
    if fields.has("weight_noise_kind") {
        let kind = fields.choice("weight_noise_kind", &["constant", "phase_change"])?;
        s.weight_noise_kind = if kind == "constant" { WeightNoise::Constant } else { WeightNoise::PhaseChange };
    }
    if fields.has("passes") {
        s.passes = match fields.choice("passes", &["one", "signs_analog", "signs_digital"])? {
            "one" => Passes::One,
            "signs_analog" => Passes::SignsAnalog,
            _ => Passes::SignsDigital,
        };
    }
    if let Some(table) = fields.optional_table("ir_drop")? {
        let (strength, conductance_ratio) = (table.number("strength")?, table.number("conductance_ratio")?);
        s.ir_drop = Some(IrDrop { strength, conductance_ratio });
        table.finish()?;
    }
    if let Some(table) = fields.optional_table("output_line")? {
        s.output_line = Some(OutputLine {
            offset_spread: table.number_or("offset_spread", 0.0)?,
            reference_weight: table.number_or("reference_weight", 0.0)?,
            series_resistance: table.number_or("series_resistance", 0.0)?,
        });
        table.finish()?;
    }
    if let Some(table) = fields.optional_table("nonlinearity")? {
        let (strength, spread) = (table.number("strength")?, table.number_or("spread", 0.0)?);
        s.nonlinearity = Some(Nonlinearity { strength, spread });
        table.finish()?;
    }
    // Known in any case, so that a slip is told from a wish.
    for name in ["weight_noise_kind", "passes"] {
        fields.node(name);
    }
    Ok(s)
}

fn read_converter(fields: &Fields<'_>, name: &'static str, start: Converter) -> Result<Converter, SpecError> {
    let Some(table) = fields.optional_table(name)? else { return Ok(start) };
    let steps = table.optional_count("steps")?;
    let too_many = |_| table.error(format!("{} must be below 2^32", table.path("steps")));
    let converter = Converter {
        bound: table.optional_number("bound")?.or(start.bound),
        steps: steps.map(u32::try_from).transpose().map_err(too_many)?.or(start.steps),
        stochastic: table.boolean_or("stochastic", start.stochastic)?,
        noise: table.number_or("noise", start.noise)?,
        negative_loss: table.number_or("negative_loss", start.negative_loss)?,
    };
    table.finish()?;
    Ok(converter)
}

fn read_noise_management(fields: &Fields<'_>, start: NoiseManagement) -> Result<NoiseManagement, SpecError> {
    let Some(node) = fields.node("noise_management") else { return Ok(start) };
    if let Value::Text(_) = node.value {
        return Ok(match fields.choice("noise_management", &["none", "abs_max", "max"])? {
            "none" => NoiseManagement::None,
            "abs_max" => NoiseManagement::AbsMax { ceiling: None },
            _ => NoiseManagement::Max { ceiling: None },
        });
    }
    let table = fields.nested("noise_management", node)?;
    let kinds = ["abs_max", "max", "constant", "abs_max_sum", "average_abs_max"];
    let management = match table.choice("kind", &kinds)? {
        "abs_max" => NoiseManagement::AbsMax { ceiling: table.optional_number("ceiling")? },
        "max" => NoiseManagement::Max { ceiling: table.optional_number("ceiling")? },
        "constant" => NoiseManagement::Constant { scale: table.number("scale")? },
        "abs_max_sum" => NoiseManagement::AbsMaxSum {
            assumed_weight: table.number("assumed_weight")?,
            max_factor: table.number("max_factor")?,
        },
        _ => NoiseManagement::AverageAbsMax { decay: table.number("decay")? },
    };
    table.finish()?;
    Ok(management)
}

fn read_bound_management(fields: &Fields<'_>, start: BoundManagement) -> Result<BoundManagement, SpecError> {
    let Some(node) = fields.node("bound_management") else { return Ok(start) };
    if let Value::Text(_) = node.value {
        return Ok(match fields.choice("bound_management", &["none", "iterative"])? {
            "none" => BoundManagement::None,
            _ => BoundManagement::Iterative { max_factor: REDUCTION as u32 },
        });
    }
    let table = fields.nested("bound_management", node)?;
    let kind = table.choice("kind", &["iterative", "worst_case"])?;
    let factor = table.count_or("max_factor", REDUCTION)?;
    let max_factor = u32::try_from(factor)
        .map_err(|_| table.error(format!("{} must be below 2^32, got {factor}", table.path("max_factor"))))?;
    let management = if kind == "iterative" {
        BoundManagement::Iterative { max_factor }
    } else {
        BoundManagement::IterativeWorstCase { max_factor, assumed_weight: table.number("assumed_weight")? }
    };
    table.finish()?;
    Ok(management)
}
