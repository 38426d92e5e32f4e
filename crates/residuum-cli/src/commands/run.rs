//! Runs a spec's trials into a store and summarises them in a table, a sentence and a figure.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::bail;
use residuum_lab::explain::missing_data;
use residuum_lab::files::save_figure;
use residuum_lab::plan::{Plan, Work, points, selected};
use residuum_lab::report::{RunOutcome, trials_of};
use residuum_lab::run::{run as run_spec, to_csv};
use residuum_lab::spec::Spec;
use residuum_lab::store::{Row, Store, TrialState};
use residuum_lab::sweep::{FailedTrial, SweepOptions, SweepSummary, default_jobs, sweep};
use residuum_lab::train::CATALOGUE;
use serde_json::{Value, json};

use super::spec_file::SpecFile;
use super::{Context, data_root, short_id, words};
use crate::args::RunArgs;
use crate::exit::Interrupted;
use crate::live::Live;
use crate::terminal;

/// Default folder for stores.
const RUNS: &str = "runs";
/// Default folder for the store of the main job.
const MAIN_JOB_OUT: &str = "residuum-out";
/// Most points for which a table is printed; for more, use `residuum report`.
const MOST_POINTS: usize = 400;

pub fn run(context: &Context, options: &RunArgs) -> anyhow::Result<bool> {
    if options.list {
        let names: Vec<&str> = CATALOGUE.iter().map(|s| s.name).collect();
        terminal::print(&format!("{}\n", names.join("\n")))?;
        return Ok(true);
    }
    let Some(spec) = &options.spec else {
        bail!("NAME|SPEC.toml must be given: a spec file, or a name from `residuum run --list`")
    };
    let plans = SpecFile::open(spec)?.plans(context, &options.settings)?;
    let plans = selected(plans, &options.variant)?;
    if options.stdout {
        return stream(context, &plans);
    }
    let out = options.store.clone().or_else(|| context.out.clone());
    let store = out.unwrap_or_else(|| Path::new(RUNS).join(&plans[0].experiment));
    let settings = SweepOptions {
        jobs: options.jobs.unwrap_or_else(|| default_jobs(&plans, context.threads)),
        threads: context.threads,
        shard: options.shard,
        commit: option_env!("RESIDUUM_COMMIT").map(String::from),
        ..SweepOptions::new(data_root(options.settings.data.as_deref()))
    };
    execute(context, &plans, &store, &settings)
}

/// Without a command: the embedded digits under three rules.
pub fn main_job(context: &Context) -> anyhow::Result<bool> {
    let settings = crate::args::SpecSettings { profile: None, data: None };
    let plans = SpecFile::open("digits")?.plans(context, &settings)?;
    let out = context.out.clone().unwrap_or_else(|| MAIN_JOB_OUT.into());
    let options = SweepOptions { threads: context.threads, ..SweepOptions::new(".") };
    execute(context, &plans, &out.join("digits"), &options)
}

/// Runs the trials that are not in the store yet, and reports on all of them.
fn execute(context: &Context, plans: &[Plan], path: &Path, options: &SweepOptions) -> anyhow::Result<bool> {
    refuse_missing_data(plans, path, &options.data_root)?;
    let store = Store::create(path)?;
    let live = Live::new(context.quiet);
    let summary = sweep(plans, &store, options, &live);
    live.finish();
    let summary = summary?;
    let title = plans[0].title.clone().unwrap_or_else(|| plans[0].experiment.clone());
    // A longer table would fill pages, and reading all records for it would take long.
    let trials = if points(plans).count() <= MOST_POINTS { trials_of(plans, &store)? } else { Vec::new() };
    let outcome = RunOutcome::new(&title, &trials).filter(|_| !summary.interrupted);
    let mut files = Vec::new();
    if let Some(figure) = outcome.as_ref().and_then(RunOutcome::figure) {
        let (svg, png) = save_figure(&figure, path, &plans[0].experiment)?;
        files.extend([svg, png]);
    }
    if context.json {
        Context::print_json(&document(&title, plans, &summary, outcome.as_ref(), path, &files))?;
    } else {
        terminal::print(&ending(&summary, outcome.as_ref(), path, &files))?;
    }
    if summary.interrupted {
        return Err(Interrupted(format!("finished work is kept; to continue, run\n  {}", again())).into());
    }
    Ok(summary.failed.is_empty())
}

/// Refuses to start without the data.
fn refuse_missing_data(plans: &[Plan], path: &Path, root: &Path) -> anyhow::Result<()> {
    let store = Store::open(path).ok();
    let is_open = |plan: &&Plan| store.as_ref().is_none_or(|s| s.state(&plan.id()) != TrialState::Done);
    let open: Vec<Plan> = plans.iter().filter(is_open).cloned().collect();
    match missing_data(&open, root).first() {
        Some(missing) => bail!("{missing}"),
        None => Ok(()),
    }
}

fn ending(summary: &SweepSummary, outcome: Option<&RunOutcome<'_>>, store: &Path, files: &[PathBuf]) -> String {
    let SweepSummary { total, done, already, elsewhere, failed, .. } = summary;
    let mut text = outcome.map_or_else(String::new, |outcome| outcome.to_text() + "\n");
    for FailedTrial { id, labels, seed, sentence, kept } in failed {
        let again = if *kept { "" } else { "; run the same command to retry" };
        let _ = writeln!(text, "failed: {} ({}): {sentence}{again}", words(labels, *seed), short_id(id));
    }
    let missing = total - done - already - elsewhere - failed.len();
    let mut parts = vec![format!("{done} done"), format!("{already} already done")];
    if *elsewhere > 0 {
        parts.push(format!("{elsewhere} run by another process"));
    }
    if !failed.is_empty() {
        parts.push(format!("{} failed", failed.len()));
    }
    if missing > 0 {
        parts.push(format!("{missing} left"));
    }
    let _ = writeln!(
        text,
        "{total} {}: {}; in {}",
        if *total == 1 { "trial" } else { "trials" },
        parts.join(", "),
        store.display()
    );
    if !files.is_empty() {
        let files: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
        let _ = writeln!(text, "written: {}", files.join(", "));
    }
    text
}

fn document(
    title: &str,
    plans: &[Plan],
    summary: &SweepSummary,
    outcome: Option<&RunOutcome<'_>>,
    store: &Path,
    files: &[PathBuf],
) -> Value {
    let failed = |f: &FailedTrial| json!({ "id": f.id, "labels": f.labels, "seed": f.seed, "sentence": f.sentence, "kept": f.kept });
    json!({
        "schema": "residuum.run/2",
        "version": env!("CARGO_PKG_VERSION"),
        "experiment": plans[0].experiment,
        "title": title,
        "store": store,
        "total": summary.total,
        "done": summary.done,
        "already": summary.already,
        "elsewhere": summary.elsewhere,
        "failed": summary.failed.iter().map(failed).collect::<Vec<_>>(),
        "interrupted": summary.interrupted,
        "findings": outcome.map(RunOutcome::findings).unwrap_or_default(),
        "trials": outcome.map(RunOutcome::to_json).unwrap_or_default(),
        "files": files,
    })
}

/// Prints the records of one problem, without a store.
fn stream(context: &Context, plans: &[Plan]) -> anyhow::Result<bool> {
    let Work::Problem(spec) = &plans[0].work else {
        bail!(
            "--stdout must be used with a [problem] spec, got a [network] spec; run it into a store and use `residuum runs export`"
        );
    };
    let count = points(plans).count();
    if count != 1 {
        bail!(
            "--stdout must be used with a spec of one point, got {count}; choose one with --variant, or run them into a store"
        );
    }
    let start = Instant::now();
    let records = run_spec(spec, &context.bar)?;
    if context.json {
        let rows = records.iter().flat_map(|(seed, rows)| rows.iter().map(move |row| record(*seed, row)));
        let mut document = settings(context, spec, start.elapsed().as_secs_f64());
        document["columns"] = json!(["seed", "step", "metric", "index", "value"]);
        document["records"] = rows.collect();
        Context::print_json(&document)?;
    } else {
        terminal::print(&to_csv(&records))?;
    }
    Ok(true)
}

fn record(seed: u64, r: &Row) -> Value {
    let value = if r.value.is_finite() { json!(r.value) } else { Value::Null };
    json!([seed, r.step, r.metric, r.index, value])
}

fn settings(context: &Context, spec: &Spec, seconds: f64) -> Value {
    let resolved: Vec<Value> =
        spec.resolved.iter().map(|r| json!({ "field": r.path, "value": r.value, "given": r.given })).collect();
    json!({
        "schema": "residuum.run/1",
        "version": env!("CARGO_PKG_VERSION"),
        "title": spec.title,
        "seeds": spec.seeds,
        "steps": spec.steps,
        "threads": context.threads,
        "seconds": (seconds * 1e3).round() / 1e3,
        "spec": resolved,
    })
}

/// The command as it was typed.
fn again() -> String {
    let words = std::env::args().skip(1);
    ["residuum".to_string()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}
