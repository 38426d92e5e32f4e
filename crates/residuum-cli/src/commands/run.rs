use std::fmt::Write as _;
use std::time::Instant;

use residuum::stats::Summary;
use residuum_lab::files::write_atomic;
use residuum_lab::run::{Record, run as run_spec, to_csv};
use residuum_lab::spec::Spec;
use serde_json::{Value, json};

use super::{Context, read_spec};
use crate::args::RunOptions;
use crate::terminal;

pub fn run(context: &Context, options: &RunOptions) -> anyhow::Result<bool> {
    let (spec, text) = read_spec(&options.spec, context.seed)?;
    let start = Instant::now();
    let records = run_spec(&spec, &context.bar)?;
    let seconds = start.elapsed().as_secs_f64();
    if let Some(dir) = &context.out {
        write_atomic(dir.join("records.csv"), to_csv(&records).as_bytes())?;
        write_atomic(dir.join("spec.toml"), text.as_bytes())?;
        let manifest = serde_json::to_string_pretty(&manifest(context, &spec, seconds))?;
        write_atomic(dir.join("manifest.json"), format!("{manifest}\n").as_bytes())?;
    }
    if context.json {
        let mut document = manifest(context, &spec, seconds);
        document["columns"] = json!(["seed", "step", "metric", "index", "value"]);
        document["records"] = records.iter().map(row).collect();
        Context::print_json(&document)?;
    } else if let Some(dir) = &context.out {
        terminal::print(&summary(&spec, &records))?;
        terminal::print(&format!("\n{} records in {}\n", records.len(), dir.join("records.csv").display()))?;
    } else {
        terminal::print(&to_csv(&records))?;
    }
    Ok(true)
}

fn row(r: &Record) -> Value {
    let value = if r.value.is_finite() { json!(r.value) } else { Value::Null };
    json!([r.seed, r.step, r.metric.to_string(), r.index, value])
}

fn manifest(context: &Context, spec: &Spec, seconds: f64) -> Value {
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

/// Mean ± standard error over seeds of each recorded number at the last recorded step.
fn summary(spec: &Spec, records: &[Record]) -> String {
    let last = records.iter().map(|r| r.step).max().unwrap_or(0);
    let mut text = String::new();
    if let Some(title) = &spec.title {
        let _ = writeln!(text, "{title}");
    }
    let _ = writeln!(text, "after {last} steps, {} seed(s)\n", spec.seeds.len());
    let _ = writeln!(text, "{:<18} {:>6} {:>16} {:>12}", "metric", "index", "mean", "± SE");
    let finals: Vec<&Record> = records.iter().filter(|r| r.step == last).collect();
    let first_seed = finals.first().map(|r| r.seed);
    let names: Vec<_> = finals.iter().filter(|r| Some(r.seed) == first_seed).collect();
    for r in names.iter().take(24) {
        let s =
            Summary::of(finals.iter().filter(|x| x.metric == r.metric && x.index == r.index).map(|x| x.value));
        let index = r.index.map_or_else(String::new, |i| i.to_string());
        let se = if s.se.is_finite() { format!("{:.2e}", s.se) } else { "–".into() };
        let _ = writeln!(text, "{:<18} {index:>6} {:>16.9} {se:>12}", r.metric.to_string(), s.mean);
    }
    if names.len() > 24 {
        let _ = writeln!(text, "… {} more in the records", names.len() - 24);
    }
    text
}
