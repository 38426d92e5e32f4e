use residuum_lab::train;
use serde_json::json;

use super::Context;
use crate::args::ExportOptions;
use crate::terminal;

pub fn export(context: &Context, options: &ExportOptions) -> anyhow::Result<bool> {
    let exported = train::export(&options.run, &options.to, &options.base)?;
    if context.json {
        Context::print_json(&json!({
            "schema": "residuum.export/1",
            "trial": exported.manifest.trial,
            "seed": exported.manifest.seed,
            "steps": exported.steps,
            "tensors": exported.tensors,
            "file": options.to,
        }))?;
    } else {
        terminal::print(&format!("written: {} ({} tensors)\n", options.to.display(), exported.tensors))?;
    }
    Ok(true)
}
