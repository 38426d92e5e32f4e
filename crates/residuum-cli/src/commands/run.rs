//! Runs a spec's trials into a store and summarises them in a table, a sentence and a figure.

use std::path::Path;
use std::time::Instant;

use anyhow::bail;
use residuum_lab::execute::{default_store, execute as run_plans};
use residuum_lab::files::FIGURES;
use residuum_lab::plan::{Plan, Work, points, selected};
use residuum_lab::run::{run as run_spec, to_csv};
use residuum_lab::source::{SpecSource, data_root};
use residuum_lab::spec::Spec;
use residuum_lab::store::Row;
use residuum_lab::sweep::{SweepOptions, default_jobs};
use residuum_lab::train::CATALOGUE;
use serde_json::{Value, json};

use super::{Context, plans};
use crate::args::RunArgs;
use crate::exit::Interrupted;
use crate::live::Live;
use crate::terminal;

/// Default folder for the store of the main job.
const MAIN_JOB_OUT: &str = "residuum-out";

pub fn run(context: &Context, options: &RunArgs) -> anyhow::Result<bool> {
    if options.list {
        let names: Vec<&str> = CATALOGUE.iter().map(|s| s.name).collect();
        terminal::print(&format!("{}\n", names.join("\n")))?;
        return Ok(true);
    }
    let Some(spec) = &options.spec else {
        bail!("NAME|SPEC.toml must be given: a spec file, or a name from `residuum run --list`")
    };
    let plans = plans(context, &SpecSource::open(spec)?, &options.settings)?;
    let plans = selected(plans, &options.variant)?;
    options.formats.check(!options.stdout && options.slurm.is_none(), "a run into a store")?;
    if options.stdout {
        return stream(context, &plans);
    }
    let out = options.store.clone().or_else(|| context.out.clone());
    let store = out.unwrap_or_else(|| default_store(&plans));
    if let Some(tasks) = options.slurm {
        terminal::print(&super::slurm::script(context, options, &plans, &store, tasks))?;
        return Ok(true);
    }
    let settings = SweepOptions {
        jobs: options.jobs.unwrap_or_else(|| default_jobs(&plans, context.threads)),
        threads: context.threads,
        shard: options.shard,
        commit: crate::COMMIT.map(String::from),
        figures: options.formats.get(&FIGURES).to_vec(),
        ..SweepOptions::new(data_root(options.settings.data.as_deref()))
    };
    execute(context, &plans, &store, &settings)
}

/// Without a command: the embedded digits under three rules.
pub fn main_job(context: &Context) -> anyhow::Result<bool> {
    let settings = crate::args::SpecSettings { profile: None, data: None };
    let plans = plans(context, &SpecSource::open("digits")?, &settings)?;
    let out = context.out.clone().unwrap_or_else(|| MAIN_JOB_OUT.into());
    let options = SweepOptions { threads: context.threads, ..SweepOptions::new(".") };
    execute(context, &plans, &out.join("digits"), &options)
}

/// Runs the trials that are not in the store yet, and reports on all of them.
fn execute(context: &Context, plans: &[Plan], path: &Path, options: &SweepOptions) -> anyhow::Result<bool> {
    let live = Live::new(context.quiet);
    let execution = run_plans(plans, path, options, &live);
    live.finish();
    let execution = execution?;
    if context.json {
        Context::print_json(&execution.to_json())?;
    } else {
        terminal::print(&execution.to_text())?;
    }
    if execution.summary.interrupted {
        return Err(Interrupted(format!("finished work is kept; to continue, run\n  {}", again())).into());
    }
    Ok(execution.summary.failed.is_empty())
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
