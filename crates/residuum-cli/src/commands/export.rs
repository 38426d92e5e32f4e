use residuum_lab::train::{self, Damage};
use serde_json::json;

use super::Context;
use super::runs::{title, trial};
use crate::args::ExportArgs;
use crate::terminal;

pub fn export(context: &Context, options: &ExportArgs) -> anyhow::Result<bool> {
    let (store, id) = trial(&options.trial.run, &options.trial.filters)?;
    let damage = if options.trial.allow_older { Damage::AllowOlder } else { Damage::Refuse };
    let exported = train::export(&store, &id, &options.to, &options.trial.base, damage)?;
    if context.json {
        Context::print_json(&json!({
            "schema": "residuum.export/1",
            "trial": title(&exported.manifest),
            "id": exported.manifest.id,
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
