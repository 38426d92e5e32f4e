use residuum_lab::explain::{DataShapes, MissingData, NetworkShapes, missing_data, shapes, shapes_text};
use residuum_lab::plan::points;
use residuum_lab::source::{SpecSource, data_root};
use serde_json::json;

use super::{Context, plans};
use crate::args::CheckArgs;
use crate::terminal;

/// Reads the whole grid. A fault in it is an error, missing data only a warning.
pub fn check(context: &Context, options: &CheckArgs) -> anyhow::Result<bool> {
    let plans = plans(context, &SpecSource::open(&options.spec)?, &options.settings)?;
    let points = points(&plans).count();
    let missing = missing_data(&plans, &data_root(options.settings.data.as_deref()));
    let (networks, data) = shapes(&plans);
    if context.json {
        let missing: Vec<&str> = missing.iter().map(|m| m.set.as_str()).collect();
        Context::print_json(&json!({
            "schema": "residuum.check/1", "version": env!("CARGO_PKG_VERSION"),
            "experiment": plans[0].experiment, "points": points, "trials": plans.len(), "missing_data": missing,
            "networks": networks.iter().map(NetworkShapes::to_json).collect::<Vec<_>>(),
            "data": data.iter().map(DataShapes::to_json).collect::<Vec<_>>(),
        }))?;
        return Ok(true);
    }
    let warnings: String = missing.iter().map(warning).collect();
    let mut text =
        format!("{}: {points} point(s), {} trial(s), all valid\n{warnings}", options.spec, plans.len());
    text += &shapes_text(&networks, &data);
    terminal::print(&text)?;
    Ok(true)
}

fn warning(missing: &MissingData) -> String {
    format!("warning: {missing}\n")
}
