use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::bail;
use residuum_lab::execute::{short_id, words};
use residuum_lab::files::{csv_field, write_atomic};
use residuum_lab::store::{Row, Store, TrialManifest, TrialState};
use serde_json::{Value, json};

use super::Context;
use crate::args::{ExportRunsArgs, ListArgs, RemoveArgs, RunsAction, RunsArgs, ShowRunArgs};
use crate::terminal;

const SCHEMA: &str = "residuum.runs/1";

pub fn runs(context: &Context, options: &RunsArgs) -> anyhow::Result<bool> {
    match &options.action {
        RunsAction::List(options) => list(context, options),
        RunsAction::Show(options) => show(context, options),
        RunsAction::Rm(options) => remove(context, options),
        RunsAction::Export(options) => export(context, options),
    }
}

/// A finished or failed trial; unfinished trials have no manifest.
struct Known {
    manifest: TrialManifest,
    sentence: Option<String>,
}

fn known(store: &Store) -> anyhow::Result<Vec<Known>> {
    let done = store.trials()?.into_iter().map(|manifest| Known { manifest, sentence: None });
    let failed = store.failures()?.into_iter();
    Ok(done.chain(failed.map(|f| Known { manifest: f.manifest, sentence: Some(f.sentence) })).collect())
}

impl Known {
    /// Whether every `name=value` holds: a label, `experiment`, `seed`, or a field of the spec.
    fn fits(&self, filters: &[(String, String)]) -> bool {
        filters.iter().all(|(name, value)| self.value(name).is_some_and(|own| own.trim_matches('"') == value))
    }

    fn value(&self, name: &str) -> Option<String> {
        let TrialManifest { experiment, labels, seed, spec, .. } = &self.manifest;
        match name {
            "experiment" => Some(experiment.clone()),
            "name" => Some(self.manifest.name.clone()),
            "seed" => Some(seed.to_string()),
            _ => {
                let label = labels.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
                label.or_else(|| spec.iter().find(|p| p.field == name).map(|p| p.value.clone()))
            }
        }
    }
}

/// The trial selected by a folder `STORE/trials/ID`, or by a store and filters; it may be unfinished.
pub fn trial(path: &Path, filters: &[(String, String)]) -> anyhow::Result<(Store, String)> {
    if filters.is_empty() && !path.join("store.json").exists() {
        return Ok(Store::locate(path)?);
    }
    let store = Store::open(path)?;
    let mut fitting = Vec::new();
    for id in store.ids()? {
        // A trial that has just started has no manifest yet.
        if let Ok(manifest) = store.manifest(&id)
            && (Known { manifest, sentence: None }).fits(filters)
        {
            fitting.push(id);
        }
    }
    match fitting.pop() {
        Some(id) if fitting.is_empty() => Ok((store, id)),
        last => {
            let count = fitting.len() + usize::from(last.is_some());
            bail!(
                "NAME=VALUE must match exactly one trial of {}, got {count}; list them with `residuum runs list`",
                path.display()
            )
        }
    }
}

/// A trial's labels, as text.
pub fn title(manifest: &TrialManifest) -> String {
    manifest.labels.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(", ")
}

fn list(context: &Context, options: &ListArgs) -> anyhow::Result<bool> {
    let store = Store::open(&options.store)?;
    let mut trials = known(&store)?;
    let settled = trials.len();
    trials.retain(|trial| trial.fits(&options.filters));
    let begun = store.ids()?.iter().filter(|id| store.state(id) == TrialState::Begun).count();
    if context.json {
        let row = |t: &Known| {
            let m = &t.manifest;
            json!({
                "id": m.id, "experiment": m.experiment, "name": m.name, "kind": m.kind, "labels": m.labels, "seed": m.seed,
                "seconds": m.seconds, "failed": t.sentence,
            })
        };
        let rows: Vec<Value> = trials.iter().map(row).collect();
        Context::print_json(
            &json!({ "schema": SCHEMA, "store": options.store, "trials": rows, "begun": begun }),
        )?;
        return Ok(true);
    }
    let mut text = String::new();
    for Known { manifest: m, sentence } in &trials {
        let state = sentence.as_ref().map_or_else(|| format!("{:9.1} s", m.seconds), |_| "     failed".into());
        let _ = writeln!(text, "{}  {state}  {}: {}", short_id(&m.id), m.experiment, words(&m.labels, m.seed));
    }
    let of = if trials.len() < settled { format!(" of {settled}") } else { String::new() };
    let _ = writeln!(text, "{}{of} trials; {begun} unfinished", trials.len());
    terminal::print(&text)?;
    Ok(true)
}

fn show(context: &Context, options: &ShowRunArgs) -> anyhow::Result<bool> {
    let store = Store::open(&options.store)?;
    let id = store.find(&options.id)?;
    let Some(Known { manifest, sentence }) = known(&store)?.into_iter().find(|t| t.manifest.id == id) else {
        bail!("trial {id} must be finished, got one that is still unfinished");
    };
    let rows = if sentence.is_none() { store.records(&id)? } else { Vec::new() };
    let last = last(&rows);
    if context.json {
        let rows: Vec<Value> = last.iter().map(|r| row_json(r)).collect();
        Context::print_json(
            &json!({ "schema": SCHEMA, "manifest": manifest, "failed": sentence, "last": rows }),
        )?;
        return Ok(true);
    }
    let m = &manifest;
    let mut text = format!("{}\n{}: {}\n\n", m.id, m.experiment, words(&m.labels, m.seed));
    for p in &m.spec {
        let _ = writeln!(text, "  {:<32} {}{}", p.field, p.value, if p.given { "" } else { "  (default)" });
    }
    let commit = m.commit.as_ref().map_or_else(String::new, |c| format!(" ({c})"));
    let cpu = m.cpu.as_ref().map_or_else(String::new, |cpu| format!(", {cpu}"));
    let _ = writeln!(
        text,
        "\nresiduum {}{commit}, values {}, {} thread(s){cpu}, {:.2} s",
        m.version, m.value_version, m.threads, m.seconds
    );
    match sentence {
        Some(sentence) => drop(writeln!(text, "failed: {sentence}")),
        None => drop(writeln!(text, "in {}", store.folder(&id).display())),
    }
    for r in last {
        let part = if r.part.is_empty() { String::new() } else { format!(" {}", r.part) };
        let index = r.index.map_or_else(String::new, |i| format!(" [{i}]"));
        let _ = writeln!(text, "  {:<32} {}", format!("{}{part}{index}", r.metric), r.value);
    }
    terminal::print(&text)?;
    Ok(true)
}

/// The latest value of every metric, without histograms.
fn last(rows: &[Row]) -> Vec<&Row> {
    let mut newest = BTreeMap::new();
    for (n, row) in rows.iter().enumerate().filter(|(_, r)| r.metric != "weight_count") {
        newest.insert((&row.metric, &row.part, row.index), n);
    }
    let mut places: Vec<usize> = newest.into_values().collect();
    places.sort_unstable();
    places.into_iter().map(|n| &rows[n]).collect()
}

fn row_json(r: &Row) -> Value {
    let value = if r.value.is_finite() { json!(r.value) } else { Value::Null };
    json!({ "epoch": r.epoch, "step": r.step, "metric": r.metric, "part": r.part, "index": r.index, "value": value })
}

fn remove(context: &Context, options: &RemoveArgs) -> anyhow::Result<bool> {
    let store = Store::open(&options.store)?;
    let mut ids: Vec<String> = options.ids.iter().map(|prefix| store.find(prefix)).collect::<Result<_, _>>()?;
    if let Some(experiment) = &options.experiment {
        let own = known(&store)?.into_iter().filter(|t| t.manifest.experiment == *experiment);
        ids.extend(own.map(|t| t.manifest.id));
    }
    if ids.is_empty() {
        bail!("ID or --experiment must select a trial, got none");
    }
    ids.sort_unstable();
    ids.dedup();
    for id in &ids {
        store.remove(id)?;
    }
    if context.json {
        Context::print_json(&json!({ "schema": SCHEMA, "removed": ids }))?;
    } else {
        let lines: Vec<String> = ids.iter().map(|id| format!("removed {id}\n")).collect();
        terminal::print(&lines.concat())?;
    }
    Ok(true)
}

fn export(context: &Context, options: &ExportRunsArgs) -> anyhow::Result<bool> {
    let store = Store::open(&options.store)?;
    let mut trials = known(&store)?;
    trials.retain(|trial| trial.sentence.is_none() && trial.fits(&options.filters));
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in trials.iter().flat_map(|t| &t.manifest.labels) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut text = ["id", "experiment"]
        .into_iter()
        .chain(names.iter().copied())
        .map(csv_field)
        .collect::<Vec<_>>()
        .join(",");
    text += ",seed,epoch,step,metric,part,index,value\n";
    let mut count = 0;
    for Known { manifest: m, .. } in &trials {
        let label = |name: &&str| m.labels.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value);
        let cells = [m.id.as_str(), &m.experiment].into_iter().chain(names.iter().map(label)).map(csv_field);
        let before = cells.chain([m.seed.to_string()]).collect::<Vec<_>>().join(",");
        let rows = store.records(&m.id)?;
        count += rows.len();
        for line in residuum_lab::store::rows_to_csv(&rows).lines().skip(1) {
            let _ = writeln!(text, "{before},{line}");
        }
    }
    write_atomic(&options.to, text.as_bytes())?;
    let (trials, to) = (trials.len(), options.to.as_path());
    if context.json {
        Context::print_json(&json!({ "schema": SCHEMA, "file": to, "trials": trials, "rows": count }))?;
    } else {
        terminal::print(&exported(count, trials, to))?;
    }
    Ok(true)
}

fn exported(rows: usize, trials: usize, to: &Path) -> String {
    format!("{rows} rows of {trials} trials written to {}\n", to.display())
}
