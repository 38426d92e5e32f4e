use anyhow::bail;
use residuum_lab::files::{FIGURES, save_figure};
use residuum_lab::source::data_root;
use residuum_lab::train::{Damage, Opened};
use serde_json::json;

use super::Context;
use super::runs::{title, trial};
use crate::args::EvalArgs;
use crate::terminal;

pub fn eval(context: &Context, options: &EvalArgs) -> anyhow::Result<bool> {
    options.formats.check(context.out.is_some() && !options.after.is_empty(), "--after and --out")?;
    let (store, id) = trial(&options.trial.run, &options.trial.filters)?;
    let root = data_root(options.data.as_deref());
    let damage = if options.trial.allow_older { Damage::AllowOlder } else { Damage::Refuse };
    let mut run = Opened::new(&store, &id, &root, &options.trial.base, damage)?;
    if !options.after.is_empty() {
        return after(context, options, &mut run);
    }
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

/// The network on new tiles, some time after it was programmed.
fn after(context: &Context, options: &EvalArgs, run: &mut Opened) -> anyhow::Result<bool> {
    if options.repeats == 0 {
        bail!("--repeats must be at least 1, got 0");
    }
    let aged = run.after(&options.after, options.repeats)?;
    let title = title(&run.manifest);
    let mut files = Vec::new();
    if let Some(out) = &context.out {
        let written = save_figure(&aged.figure(&title), out, "after", options.formats.get(&FIGURES))?;
        files.extend(written.iter().map(|path| path.display().to_string()));
    }
    if context.json {
        let mut json = aged.to_json();
        json["schema"] = json!("residuum.after/1");
        json["trial"] = json!(title);
        json["id"] = json!(run.manifest.id);
        json["repeats"] = json!(options.repeats);
        json["files"] = json!(files);
        Context::print_json(&json)?;
        return Ok(true);
    }
    let written = if files.is_empty() { String::new() } else { format!("written: {}\n", files.join(", ")) };
    let head = format!("{title}, seed {}, programmed {} times\n", run.manifest.seed, options.repeats);
    terminal::print(&format!("{head}{}{written}", aged.to_text()))?;
    Ok(true)
}
