use residuum_lab::train::Opened;
use serde_json::json;

use super::Context;
use super::train::data_root;
use crate::args::EvalOptions;
use crate::terminal;

pub fn eval(context: &Context, options: &EvalOptions) -> anyhow::Result<bool> {
    let mut run = Opened::new(&options.run, &data_root(options.data.as_deref()), &options.base)?;
    let evaluation = run.evaluate()?;
    let (manifest, epochs, steps) = (&run.manifest, run.epochs(), run.steps);
    if context.json {
        Context::print_json(&json!({
            "schema": "residuum.eval/1",
            "trial": manifest.trial,
            "seed": manifest.seed,
            "steps": steps,
            "epochs": epochs,
            "samples": evaluation.samples,
            "test_loss": evaluation.loss,
            "test_accuracy": evaluation.accuracy,
        }))?;
    } else {
        terminal::print(&format!(
            "{}, seed {}, after {steps} steps ({epochs} whole epochs)\ntest accuracy {:.2} %, test loss {:.4}, {} images\n",
            run.spec.title,
            manifest.seed,
            100.0 * evaluation.accuracy,
            evaluation.loss,
            evaluation.samples
        ))?;
    }
    Ok(true)
}
