use std::collections::BTreeSet;
use std::path::Path;

use anyhow::bail;
use residuum_lab::compare::{Attribution, Side};
use residuum_lab::files::write_atomic;
use residuum_lab::plan::seeded;
use residuum_lab::report::{check_metrics, table::Table, trials_of};
use residuum_lab::source::{SpecSource, data_root};
use residuum_lab::store::Store;
use residuum_lab::sweep::{SweepOptions, default_jobs, sweep};

use super::Context;
use super::report::renderer;
use crate::args::CompareArgs;
use crate::exit::Interrupted;
use crate::live::Live;
use crate::terminal;

/// Default folder for trials.
const OUT: &str = "runs/compare";

/// A spec and one of its trials: `SPEC` or `SPEC:TRIAL`.
struct Named {
    spec: SpecSource,
    trial: Option<String>,
}

impl Named {
    fn new(given: &str) -> anyhow::Result<Self> {
        let (spec, trial) = match given.rsplit_once(':') {
            Some((spec, trial)) if !Path::new(given).exists() => (spec, Some(trial.to_string())),
            _ => (given, None),
        };
        Ok(Self { spec: SpecSource::open(spec)?, trial })
    }

    fn side(&self) -> Side<'_> {
        Side { document: &self.spec.document, base: &self.spec.base, trial: self.trial.as_deref() }
    }
}

pub fn compare(context: &Context, options: &CompareArgs) -> anyhow::Result<bool> {
    let render = options.to.as_deref().map(renderer).transpose()?;
    let (a, b) = (Named::new(&options.a)?, Named::new(&options.b)?);
    let data = data_root(options.settings.data.as_deref());
    let profile = options.settings.profile.as_deref();
    let mut attribution = Attribution::new(a.side(), b.side(), &data, profile, "compare")?;
    if let Some(seed) = context.seed {
        for point in &mut attribution.points {
            point.plans = seeded(&point.plans, seed);
        }
    }
    let store = Store::create(context.out.as_deref().unwrap_or(Path::new(OUT)))?;
    let plans = attribution.plans();
    let settings = SweepOptions {
        jobs: options.jobs.unwrap_or_else(|| default_jobs(&plans, context.threads)),
        threads: context.threads,
        ..SweepOptions::new(data)
    };
    let live = Live::new(context.quiet);
    let summary = sweep(&plans, &store, &settings, &live);
    live.finish();
    let summary = summary?;
    if summary.interrupted {
        return Err(Interrupted("run the same command to continue".into()).into());
    }
    let trials = trials_of(&plans, &store)?;
    check_metrics(&trials, options.metric.as_slice())?;
    let title = format!("{} and {}", options.a, options.b);
    let report = attribution.report(&trials, options.metric.as_deref(), &title);
    if let (Some(render), Some(path)) = (render, &options.to) {
        write_atomic(path, render(&report).as_bytes())?;
    }
    let effects = report.sections.first().and_then(|s| s.tables.first());
    let Some(effects) = effects.filter(|t| t.name == "effects") else {
        let recorded: BTreeSet<&str> = trials.iter().flat_map(|t| &t.rows).map(|r| r.metric.as_str()).collect();
        let given = options.metric.as_deref().map_or_else(
            || "got none, and the trials do not record a main one".into(),
            |m| format!("got {m:?}"),
        );
        let recorded = recorded.into_iter().collect::<Vec<_>>().join(", ");
        bail!("--metric must be one that every trial records ({recorded}); {given}");
    };
    terminal::print(&if context.json { json(effects)? } else { effects.to_text() })?;
    for failed in &summary.failed {
        context.bar.note(&format!("seed {}: {}", failed.seed, failed.sentence));
    }
    Ok(summary.failed.is_empty())
}

fn json(table: &Table) -> anyhow::Result<String> {
    let value =
        serde_json::json!({ "schema": "residuum.effects/1", "caption": table.caption, "csv": table.to_csv() });
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}
