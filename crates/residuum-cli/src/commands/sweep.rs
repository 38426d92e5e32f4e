use std::fmt::Write as _;
use std::path::Path;

use anyhow::bail;
use residuum_lab::store::Store;
use residuum_lab::sweep::{FailedTrial, SweepOptions as Settings, SweepSummary, sweep as run_sweep};
use serde_json::{Value, json};

use super::Context;
use super::spec_file::SpecFile;
use super::train::{RUNS, data_root};
use crate::args::SweepOptions;
use crate::sweep_bar::SweepBar;
use crate::terminal;

pub fn sweep(context: &Context, options: &SweepOptions) -> anyhow::Result<bool> {
    let spec = SpecFile::open(&options.spec)?;
    let plans = spec.plans(context, &options.settings)?;
    let name = plans.first().map_or(spec.stem, |plan| plan.experiment.clone());
    let path = options.store.clone().unwrap_or_else(|| Path::new(RUNS).join(name));
    let store = Store::create(&path)?;
    let settings = Settings {
        jobs: options.jobs,
        threads: context.threads,
        shard: options.shard,
        commit: option_env!("RESIDUUM_COMMIT").map(String::from),
        ..Settings::new(data_root(options.settings.data.as_deref()))
    };
    let bar = SweepBar::new(context.quiet);
    let summary = run_sweep(&plans, &store, &settings, &bar);
    bar.finish();
    let summary = summary?;
    if context.json {
        Context::print_json(&document(&summary, &path))?;
    } else {
        terminal::print(&told(&summary, &path))?;
    }
    if summary.interrupted {
        bail!("interrupted; what was done is kept; go on with\n  {}", again());
    }
    Ok(summary.failed.is_empty())
}

fn told(summary: &SweepSummary, store: &Path) -> String {
    let SweepSummary { total, done, already, elsewhere, failed, .. } = summary;
    let mut text = String::new();
    for FailedTrial { id, labels, seed, sentence, kept } in failed {
        let again = if *kept { "" } else { "; the next sweep tries again" };
        let _ = writeln!(text, "failed: {} ({}): {sentence}{again}", words(labels, *seed), &id[..8]);
    }
    let missing = total - done - already - elsewhere - failed.len();
    let mut parts = vec![format!("{done} done"), format!("{already} were there")];
    if *elsewhere > 0 {
        parts.push(format!("{elsewhere} run by another process"));
    }
    if !failed.is_empty() {
        parts.push(format!("{} failed", failed.len()));
    }
    if missing > 0 {
        parts.push(format!("{missing} left"));
    }
    let _ = writeln!(text, "{total} trials: {}; in {}", parts.join(", "), store.display());
    text
}

/// What tells a trial from the others, as text.
pub fn words(labels: &[(String, String)], seed: u64) -> String {
    let labels = labels.iter().map(|(name, value)| format!("{name}={value}"));
    labels.chain([format!("seed={seed}")]).collect::<Vec<_>>().join(" ")
}

fn document(summary: &SweepSummary, store: &Path) -> Value {
    let failed = |f: &FailedTrial| json!({ "id": f.id, "labels": f.labels, "seed": f.seed, "sentence": f.sentence, "kept": f.kept });
    json!({
        "schema": "residuum.sweep/1",
        "store": store,
        "trials": summary.total,
        "done": summary.done,
        "already": summary.already,
        "elsewhere": summary.elsewhere,
        "failed": summary.failed.iter().map(failed).collect::<Vec<_>>(),
        "interrupted": summary.interrupted,
    })
}

/// The command as it was typed.
fn again() -> String {
    let words = std::env::args().skip(1);
    ["residuum".to_string()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}
