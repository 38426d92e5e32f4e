use residuum_lab::source::data_root;
use residuum_lab::train::{Damage, Opened};
use serde_json::json;

use super::Context;
use super::runs::{title, trial};
use crate::args::EvalArgs;
use crate::terminal;

pub fn eval(context: &Context, options: &EvalArgs) -> anyhow::Result<bool> {
    let (store, id) = trial(&options.trial.run, &options.trial.filters)?;
    let root = data_root(options.data.as_deref());
    let damage = if options.trial.allow_older { Damage::AllowOlder } else { Damage::Refuse };
    let mut run = Opened::new(&store, &id, &root, &options.trial.base, damage)?;
    let evaluation = run.evaluate()?;
    let (manifest, epochs, steps) = (&run.manifest, run.epochs(), run.steps);
    let title = title(manifest);
    if context.json {
        Context::print_json(&json!({
            "schema": "residuum.eval/1",
            "trial": title,
            "id": manifest.id,
            "seed": manifest.seed,
            "steps": steps,
            "epochs": epochs,
            "samples": evaluation.samples,
            "test_loss": evaluation.loss,
            "test_accuracy": evaluation.accuracy,
        }))?;
    } else {
        terminal::print(&format!(
            "{title}, seed {}, after {steps} steps ({epochs} whole epochs)\ntest accuracy {:.2} %, test loss {:.4}, {} images\n",
            manifest.seed,
            100.0 * evaluation.accuracy,
            evaluation.loss,
            evaluation.samples
        ))?;
    }
    Ok(true)
}
