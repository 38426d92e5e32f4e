use residuum_lab::train::Opened;
use serde_json::json;

use super::Context;
use super::train::data_root;
use crate::args::ExportOptions;
use crate::terminal;

pub fn export(context: &Context, options: &ExportOptions) -> anyhow::Result<bool> {
    let mut run = Opened::new(&options.run, &data_root(options.data.as_deref()))?;
    let tensors = run.export(&options.to)?;
    if context.json {
        Context::print_json(&json!({
            "schema": "residuum.export/1",
            "trial": run.manifest.trial,
            "seed": run.manifest.seed,
            "steps": run.summary.steps,
            "tensors": tensors,
            "file": options.to,
        }))?;
    } else {
        terminal::print(&format!("written: {} ({tensors} tensors)\n", options.to.display()))?;
    }
    Ok(true)
}
