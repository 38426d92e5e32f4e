//! `[device]` of an experiment with networks: the cells of tiles.
//!
//! | field | meaning | default |
//! |---|---|---|
//! | `preset` | a device of the literature, `reram_es` to `pcm`; fields below change it | – |
//! | `response` | `power`, `exponential`, `soft_bounds`, `constant`, `linear`, `exp_step`, `table`, `formula`, instead of a preset | – |
//! | `radius` | τ: weights live in [−τ, τ], in weight units | 1 |
//! | `bounds` | `[min, max]` in weight units, instead of `radius` (not for `power` and `exponential`) | – |
//! | `shape` | γ_res of `power` and `exponential` | required there |
//! | `slope` | relative drop of a linear step at its bound, or `[up, down]` | required there |
//! | `pulse_step` | mean change by one pulse where q = 1, that is at w = 0, in weight units | – |
//! | `states` | instead of `pulse_step`: (max − min)/pulse_step | – |
//! | `normalization` | `paper`: steps are those at w = 0; `aihwkit`: they are its `dw_min`, which for `power` is the step at the far bound, 2^shape times the paper's | `paper` |
//! | `amplitude`, `rate` | `[up, down]` of `exp_step`, with `stretch` and `shift` | AIHWKIT's |
//! | `csv` | file of `table` with the columns w,q_plus,q_minus | required there |
//! | `q_plus`, `q_minus`, `range` | two expressions in w and where they hold, for `formula` | required there |
//! | `tolerance` | error of the tables that tiles hold of `exponential`, `table` and `formula`, relative to the largest q | 2e-6 |
//! | `pulse_energy` | energy of one pulse in joules, of all tiles: records and reports then tell the energy beside the pulses | – |
//!
//! Imperfections, each off unless named (spreads are between cells, relative to the mean):
//!
//! | field | meaning |
//! |---|---|
//! | `step_spread` | of the step: a number (normal) or `{ log_normal = … }` |
//! | `imbalance`, `imbalance_spread` | of up against down steps: mean and spread |
//! | `bound_spread` | of both bounds: a number (normal), `[min, max]`, or `{ log_normal = … }` |
//! | `shape_spread` | of the exponent (power): a number, or `{ log_normal = … }` |
//! | `shape_imbalance`, `shape_imbalance_spread` | of up against down exponents: mean and spread |
//! | `slope_spread` | of the slopes (linear and soft bounds, absolute): a number, `[up, down]`, or `{ log_normal = … }` |
//! | `slopes` | `{ increasing, divide_bounds, reverse_up, reverse_down, reverse_offset }`: slopes of either sign, bounds where steps vanish, steps that grow from the other bound |
//! | `cycle_noise` | from pulse to pulse, relative to the step: a number, or `{ additive = … }` |
//! | `write_noise` | of reads against the hidden state, in steps |
//! | `reference` | `{ mean, deviation, at_symmetric_point }` subtracted by every read |
//! | `stuck` | `{ probability, range }` of cells that do not move |
//! | `decay` | leak once a step: `{ lifetime, spread }`, steps after which 1/e is left |
//! | `diffusion` | random walk once a step: `{ deviation, spread }`, in weight units |
//! | `drift` | (t/`onset_s`)^−`exponent` in the time since a write: `{ exponent, onset_s, step_s, spread, exponent_noise, state_noise }`; a step lasts `step_s` seconds |
//! | `reset` | where decay leads: `{ value, spread, deviation }`, in weight units |

use std::path::Path;

use residuum::ResponseFunction;
use residuum::response::{Exponential, Formula, Tabulated};
use residuum::tile::{
    CycleNoise, Decay, Device, Diffusion, Drift, Reference, Reset, Retention, Saturation, Spread, StepModel,
    Stuck, presets,
};

use super::device::read_range;
use super::folders::digest;
use super::reader::{Fields, SpecError, Value};
use super::tile_steps::{read_spreads, read_step_variation};

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

const RESPONSES: [&str; 8] =
    ["power", "exponential", "soft_bounds", "constant", "linear", "exp_step", "table", "formula"];

/// The devices of the main and of the residual tiles.
#[derive(Clone, Debug, PartialEq)]
pub struct TileDevices {
    /// Of W.
    pub main: Device,
    /// Of P; the same unless `[device.residual]` says otherwise.
    pub residual: Device,
    /// Energy of a pulse in joules, for ledgers.
    pub pulse_energy: Option<f64>,
}

impl TileDevices {
    /// Reads `[device]`, or `[device.main]` and `[device.residual]`.
    pub(crate) fn read(fields: &Fields<'_>, base: &Path) -> Result<Self, SpecError> {
        let pulse_energy = match fields.optional_number("pulse_energy")? {
            Some(energy) if !(energy > 0.0 && energy.is_finite()) => {
                let path = fields.path("pulse_energy");
                return Err(
                    fields.error(format!("{path} must be positive and finite, in joules, got {energy}"))
                );
            }
            energy => energy,
        };
        if !fields.has("main") && !fields.has("residual") {
            let device = read_device(fields, base)?;
            return Ok(Self { main: device.clone(), residual: device, pulse_energy });
        }
        let part = |name| -> Result<Device, SpecError> {
            let table = fields.table(name)?;
            let device = read_device(&table, base)?;
            table.finish()?;
            Ok(device)
        };
        Ok(Self { main: part("main")?, residual: part("residual")?, pulse_energy })
    }
}

fn read_device(fields: &Fields<'_>, base: &Path) -> Result<Device, SpecError> {
    let mut device = if fields.has("preset") {
        let names = PRESETS.map(|(name, _)| name);
        let preset = fields.choice("preset", &names)?;
        let mut device =
            PRESETS.iter().find(|(name, _)| *name == preset).map_or_else(presets::idealized, |p| p.1());
        if let Some(step) = fields.optional_number("pulse_step")? {
            device.pulse_step = step as f32;
        }
        device
    } else {
        read_response(fields, base)?
    };
    read_imperfections(fields, &mut device)?;
    device.validate().map_err(|e| fields.blame(&e))?;
    Ok(device)
}

fn read_response(fields: &Fields<'_>, base: &Path) -> Result<Device, SpecError> {
    let response = fields.choice("response", &RESPONSES)?;
    let step = match response {
        "power" => StepModel::power(positive(fields, "shape")?),
        "soft_bounds" => StepModel::soft_bounds(),
        "constant" => StepModel::Constant,
        "linear" => {
            let [slope_up, slope_down] = read_pair(fields, "slope")?.ok_or_else(|| fields.missing("slope"))?;
            StepModel::linear(slope_up, slope_down)
        }
        "exp_step" => read_exp_step(fields)?,
        _ => {
            let q = read_curve(fields, response, base)?;
            let range = q.range();
            let step = read_step(fields, (range.hi - range.lo) as f32)?;
            let tolerance = fields.number_or("tolerance", 2e-6)?;
            return Device::from_response_within(&*q, step, tolerance).map_err(|e| fields.blame(&e));
        }
    };
    let bounds = match (fields.has("bounds"), fields.has("radius"), response) {
        (true, false, "soft_bounds" | "constant" | "linear" | "exp_step") => {
            let range = read_range(fields, "bounds")?.ok_or_else(|| fields.missing("bounds"))?;
            [range.lo as f32, range.hi as f32]
        }
        (true, ..) => {
            let path = fields.path("bounds");
            return Err(
                fields.error(format!("{path} must not stand beside radius or with response = {response:?}"))
            );
        }
        _ => {
            let radius = positive_or(fields, "radius", 1.0)?;
            [-radius, radius]
        }
    };
    ideal(fields, step, bounds)
}

/// The ideal device with the step that the spec asks for.
fn ideal(fields: &Fields<'_>, step: StepModel, [min, max]: [f32; 2]) -> Result<Device, SpecError> {
    let given = read_step(fields, max - min)?;
    match (&step, fields.choice_or("normalization", &["paper", "aihwkit"], "paper")?) {
        (StepModel::Power(exponents), "paper") => Ok(Device::paper_power(exponents.shape, max, given)),
        _ => Ok(Device::ideal(step, given, min, max)),
    }
}

/// The step, given itself or as a number of states within `span`.
fn read_step(fields: &Fields<'_>, span: f32) -> Result<f32, SpecError> {
    match (fields.has("pulse_step"), fields.has("states")) {
        (true, false) => positive(fields, "pulse_step"),
        (false, true) => Ok(span / positive(fields, "states")?),
        (both, _) => {
            let got = if both { "both" } else { "neither" };
            let path = fields.path("pulse_step");
            Err(fields.error(format!("{path} or states must be given, got {got}")))
        }
    }
}

/// AIHWKIT's exponential step, by default with its parameters.
fn read_exp_step(fields: &Fields<'_>) -> Result<StepModel, SpecError> {
    Ok(StepModel::Exponential(Saturation {
        amplitude: read_pair(fields, "amplitude")?.unwrap_or([0.00081, 0.36833]),
        rate: read_pair(fields, "rate")?.unwrap_or([12.44625, 12.78785]),
        stretch: fields.number_or("stretch", 0.244)? as f32,
        shift: fields.number_or("shift", 0.2425)? as f32,
    }))
}

/// A response that tiles know by a table.
fn read_curve(
    fields: &Fields<'_>,
    response: &str,
    base: &Path,
) -> Result<Box<dyn ResponseFunction>, SpecError> {
    Ok(match response {
        "exponential" => {
            let (shape, radius) = (fields.number("shape")?, fields.number_or("radius", 1.0)?);
            Box::new(Exponential::new(shape, radius).map_err(|e| fields.blame(&e))?)
        }
        "table" => {
            let path = base.join(fields.text("csv")?);
            let wrong = |e: &dyn std::fmt::Display| {
                fields.error(format!("{}: {}: {e}", fields.path("csv"), path.display()))
            };
            let text = std::fs::read_to_string(&path).map_err(|e| wrong(&e))?;
            fields.contents("csv", digest(text.as_bytes()));
            Box::new(Tabulated::from_csv(&text).map_err(|e| wrong(&e))?)
        }
        _ => {
            let range = read_range(fields, "range")?.ok_or_else(|| fields.missing("range"))?;
            let formula = Formula::parse(fields.text("q_plus")?, fields.text("q_minus")?, range)
                .map_err(|e| fields.error(fields.path(&e.to_string())))?;
            Box::new(formula)
        }
    })
}

/// Spreads are relative to the mean; more than this is a slip from per cent.
const MOST_SPREAD: f32 = 3.0;

/// A number for a normal spread, `{ log_normal = … }` for the other.
pub(super) fn read_spread(fields: &Fields<'_>, name: &'static str) -> Result<Option<Spread>, SpecError> {
    Ok(match one_or_named(fields, name, "log_normal")? {
        None => None,
        Some(Named::Plain(deviation)) => Some(Spread::normal(relative(fields, name, deviation)?)),
        Some(Named::Other(deviation)) => Some(Spread::log_normal(relative(fields, name, deviation)?)),
    })
}

pub(super) fn relative(fields: &Fields<'_>, name: &str, value: f32) -> Result<f32, SpecError> {
    if value.abs() <= MOST_SPREAD {
        return Ok(value);
    }
    let path = fields.path(name);
    Err(fields.error(format!(
        "{path} must be relative to the mean, at most {MOST_SPREAD} (30 % is 0.3), got {value}"
    )))
}

fn read_imperfections(fields: &Fields<'_>, device: &mut Device) -> Result<(), SpecError> {
    if let Some(spread) = read_spread(fields, "step_spread")? {
        device.step_spread = spread;
    }
    if let Some([min, max]) = read_spreads(fields, "bound_spread")? {
        (device.min_spread, device.max_spread) = (min, max);
    }
    if let Some(noise) = one_or_named(fields, "cycle_noise", "additive")? {
        device.cycle_noise = match noise {
            Named::Plain(deviation) => CycleNoise::Multiplicative(deviation),
            Named::Other(deviation) => CycleNoise::Additive(deviation),
        };
    }
    let numbers: [(&'static str, &mut f32); 3] = [
        ("imbalance", &mut device.imbalance),
        ("imbalance_spread", &mut device.imbalance_spread),
        ("write_noise", &mut device.write_noise),
    ];
    for (name, value) in numbers {
        if let Some(given) = fields.optional_number(name)? {
            // Write noise is in steps.
            *value = if name == "write_noise" { given as f32 } else { relative(fields, name, given as f32)? };
        }
    }
    read_step_variation(fields, &mut device.step)?;
    if let Some(table) = fields.optional_table("reference")? {
        device.reference = Some(Reference {
            mean: table.number_or("mean", 0.0)? as f32,
            deviation: table.number_or("deviation", 0.0)? as f32,
            at_symmetric_point: table.boolean_or("at_symmetric_point", false)?,
        });
        table.finish()?;
    }
    if let Some(table) = fields.optional_table("stuck")? {
        let probability = table.number("probability")?;
        if !(0.0..=1.0).contains(&probability) {
            let path = table.path("probability");
            return Err(table.error(format!("{path} must be between 0 and 1, got {probability}")));
        }
        device.stuck = Some(Stuck {
            probability: probability as f32,
            range: table.number_or("range", f64::from(device.max.max(-device.min)))? as f32,
        });
        table.finish()?;
    }
    read_retention(fields, &mut device.retention)
}

/// What happens between pulses.
fn read_retention(fields: &Fields<'_>, retention: &mut Retention) -> Result<(), SpecError> {
    if let Some(table) = fields.optional_table("reset")? {
        retention.reset = Reset {
            value: table.number_or("value", 0.0)? as f32,
            spread: table.number_or("spread", 0.0)? as f32,
            deviation: table.number_or("deviation", 0.0)? as f32,
        };
        table.finish()?;
    }
    if let Some(table) = fields.optional_table("decay")? {
        let (lifetime, spread) = (table.number("lifetime")? as f32, table.number_or("spread", 0.0)? as f32);
        retention.decay = Some(Decay { lifetime, spread });
        table.finish()?;
    }
    if let Some(table) = fields.optional_table("diffusion")? {
        let (deviation, spread) = (table.number("deviation")? as f32, table.number_or("spread", 0.0)? as f32);
        retention.diffusion = Some(Diffusion { deviation, spread });
        table.finish()?;
    }
    if let Some(table) = fields.optional_table("drift")? {
        retention.drift = Some(Drift {
            exponent: table.number("exponent")? as f32,
            onset_s: table.number("onset_s")? as f32,
            step_s: table.number("step_s")? as f32,
            spread: table.number_or("spread", 0.0)? as f32,
            exponent_noise: table.number_or("exponent_noise", 0.0)? as f32,
            state_noise: table.number_or("state_noise", 0.0)? as f32,
        });
        table.finish()?;
    }
    Ok(())
}

/// A number, or a number under another name.
pub(super) enum Named {
    Plain(f32),
    Other(f32),
}

/// `name = 0.3`, or `name = { other = 0.3 }`.
pub(super) fn one_or_named(
    fields: &Fields<'_>,
    name: &'static str,
    other: &'static str,
) -> Result<Option<Named>, SpecError> {
    let Some(node) = fields.given(name) else { return Ok(None) };
    if let Some(value) = node.as_number() {
        return Ok(Some(Named::Plain(value as f32)));
    }
    let table = fields.nested(name, node)?;
    let value = table.number(other)? as f32;
    table.finish()?;
    Ok(Some(Named::Other(value)))
}

/// A number for both, or a list of two.
pub(super) fn read_pair(fields: &Fields<'_>, name: &'static str) -> Result<Option<[f32; 2]>, SpecError> {
    let Some(node) = fields.given(name) else { return Ok(None) };
    let wrong =
        || node.error(format!("{} must be a number or two of them, got {}", fields.path(name), node.show()));
    if let Some(value) = node.as_number() {
        return Ok(Some([value as f32; 2]));
    }
    let Value::List(items) = &node.value else { return Err(wrong()) };
    match items.iter().map(|item| item.as_number()).collect::<Vec<_>>().as_slice() {
        [Some(first), Some(second)] => Ok(Some([*first as f32, *second as f32])),
        _ => Err(wrong()),
    }
}

fn positive(fields: &Fields<'_>, name: &'static str) -> Result<f32, SpecError> {
    require_positive(fields, name, fields.number(name)?)
}

fn positive_or(fields: &Fields<'_>, name: &'static str, default: f64) -> Result<f32, SpecError> {
    require_positive(fields, name, fields.number_or(name, default)?)
}

fn require_positive(fields: &Fields<'_>, name: &'static str, value: f64) -> Result<f32, SpecError> {
    if value > 0.0 && value.is_finite() {
        return Ok(value as f32);
    }
    Err(fields.error(format!("{} must be positive and finite, got {value}", fields.path(name))))
}
