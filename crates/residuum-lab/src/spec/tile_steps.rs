//! How cells differ in the way their steps depend on the state: the slopes of `linear` and `soft_bounds`, the exponents of
//! `power`.

use residuum::tile::{Exponents, SlopeBounds, Slopes, Spread, StepModel};

use super::reader::{Fields, SpecError};
use super::tile_device::{Named, one_or_named, read_pair, read_spread, relative};

/// Reads what changes the steps of a device whose mean is known.
pub(super) fn read_step_variation(fields: &Fields<'_>, step: &mut StepModel) -> Result<(), SpecError> {
    match step {
        StepModel::Linear(slopes) => read_slopes(fields, slopes),
        StepModel::Power(exponents) => read_exponents(fields, exponents),
        _ => Ok(()),
    }
}

/// A spread for both directions, or a normal one for each of two.
pub(super) fn read_spreads(fields: &Fields<'_>, name: &'static str) -> Result<Option<[Spread; 2]>, SpecError> {
    if matches!(one_or_named(fields, name, "log_normal"), Ok(Some(Named::Other(_)))) {
        return Ok(read_spread(fields, name)?.map(|spread| [spread; 2]));
    }
    let Some(pair) = read_pair(fields, name)? else { return Ok(None) };
    for deviation in pair {
        relative(fields, name, deviation)?;
    }
    Ok(Some(pair.map(Spread::normal)))
}

fn read_slopes(fields: &Fields<'_>, slopes: &mut Slopes) -> Result<(), SpecError> {
    slopes.spread = read_spreads(fields, "slope_spread")?.unwrap_or(slopes.spread);
    let Some(table) = fields.optional_table("slopes")? else { return Ok(()) };
    slopes.increasing = table.boolean_or("increasing", false)?;
    if table.boolean_or("divide_bounds", false)? {
        slopes.bounds = SlopeBounds::Divided;
    }
    let reversed = [table.boolean_or("reverse_up", false)?, table.boolean_or("reverse_down", false)?];
    let offset = table.number_or("reverse_offset", 0.01)? as f32;
    slopes.reversed = reversed.map(|reversed| reversed.then_some(offset));
    table.finish()
}

fn read_exponents(fields: &Fields<'_>, exponents: &mut Exponents) -> Result<(), SpecError> {
    exponents.spread = read_spread(fields, "shape_spread")?.unwrap_or(exponents.spread);
    let numbers: [(&'static str, &mut f32); 2] = [
        ("shape_imbalance", &mut exponents.imbalance),
        ("shape_imbalance_spread", &mut exponents.imbalance_spread),
    ];
    for (name, value) in numbers {
        if let Some(given) = fields.optional_number(name)? {
            *value = relative(fields, name, given as f32)?;
        }
    }
    Ok(())
}
