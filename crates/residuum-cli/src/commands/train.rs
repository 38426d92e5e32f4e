use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use residuum_lab::files::{save_figure, write_atomic};
use residuum_lab::spec::{Experiment, TrialSpec};
use residuum_lab::train::{CATALOGUE, Comparison, Curve, Source, train as train_trial};
use residuum_nn::data::catalogue::default_root;
use residuum_nn::model::Select;
use residuum_nn::train::{Outcome, Summary};

use super::Context;
use super::spec_file::SpecFile;
use crate::args::TrainOptions;
use crate::terminal;
use crate::training_bar::TrainingBar;

/// Where runs go unless the user says otherwise.
pub const RUNS: &str = "runs";
/// Where the main job's figure goes.
const MAIN_JOB_OUT: &str = "residuum-out";

/// An experiment with its text.
struct Loaded {
    name: String,
    text: String,
    experiment: Experiment,
}

impl Loaded {
    fn new(spec: &str, profile: Option<&str>) -> anyhow::Result<Self> {
        let SpecFile { stem, text, base, .. } = SpecFile::open(spec)?;
        let experiment = Experiment::parse(&text, &base, profile).with_context(|| spec.to_string())?;
        Ok(Self { name: experiment.name.clone().unwrap_or(stem), text, experiment })
    }
}

pub fn train(context: &Context, options: &TrainOptions) -> anyhow::Result<bool> {
    if options.list {
        let names: Vec<&str> = CATALOGUE.iter().map(|s| s.name).collect();
        terminal::print(&format!("{}\n", names.join("\n")))?;
        return Ok(true);
    }
    let Some(spec) = &options.spec else { bail!("name a spec: SPEC.toml, or one of `residuum train --list`") };
    let loaded = Loaded::new(spec, options.settings.profile.as_deref())?;
    let trials = select(&loaded.experiment.trials, &options.variant)?;
    let out = context.out.clone().unwrap_or_else(|| Path::new(RUNS).join(&loaded.name));
    let root = data_root(options.settings.data.as_deref());
    let source = Source { text: &loaded.text, profile: options.settings.profile.as_deref() };
    let folders = Folders { out: &out, source, resume: options.resume };
    let comparison = compare(context, &loaded, &trials, &root, Some(folders))?;
    report(context, &comparison, &out, &loaded.name)
}

/// Without a command: the embedded digits under three rules. Leaves a figure and its numbers, no runs.
pub fn main_job(context: &Context) -> anyhow::Result<bool> {
    let loaded = Loaded::new("digits", None)?;
    let trials: Vec<&TrialSpec> = loaded.experiment.trials.iter().collect();
    let comparison = compare(context, &loaded, &trials, Path::new("."), None)?;
    let out = context.out.clone().unwrap_or_else(|| MAIN_JOB_OUT.into());
    report(context, &comparison, &out, &loaded.name)
}

/// Where runs are kept.
#[derive(Clone, Copy)]
struct Folders<'a> {
    out: &'a Path,
    source: Source<'a>,
    resume: bool,
}

/// Trains every trial with every seed, one after the other.
fn compare(
    context: &Context,
    loaded: &Loaded,
    trials: &[&TrialSpec],
    root: &Path,
    folders: Option<Folders<'_>>,
) -> anyhow::Result<Comparison> {
    let title = loaded.experiment.title.clone().unwrap_or_else(|| loaded.name.clone());
    let mut comparison = Comparison { title, curves: Vec::new() };
    for trial in trials {
        let mut runs = Vec::new();
        for seed in seeds(context, trial) {
            let cell = trial.cell.as_ref().map_or_else(String::new, |cell| format!("{cell}, "));
            let label = format!("{cell}{}, seed {seed}", trial.title);
            let folder = folders.map(|f| f.out.join(format!("{}-{seed}", trial.name)));
            let files = folder.as_deref().zip(folders.map(|f| f.source));
            let resume = folders.is_some_and(|f| f.resume);
            // The main job is too short for a line of each epoch.
            let mut bar = TrainingBar::new(&label, trial.training.epochs, context.quiet, folders.is_some());
            let summary = train_trial(trial, seed, root, files, resume, &mut bar);
            bar.finish();
            let Summary { outcome, records, .. } = summary.context(label)?;
            match (outcome, folder) {
                (Outcome::Cancelled { k, .. }, Some(folder)) => {
                    let folder = folder.display();
                    bail!("interrupted after {k} steps; checkpoint in {folder}; go on with\n  {}", again())
                }
                (Outcome::Cancelled { .. }, None) => bail!("interrupted; nothing was written"),
                _ => runs.push((seed, records)),
            }
        }
        let (name, title, cell) = (trial.name.clone(), trial.title.clone(), trial.cell.clone());
        let digital = trial.rule.is_digital();
        comparison.curves.push(Curve { name, title, cell, digital, runs });
    }
    Ok(comparison)
}

/// Table, figure, numbers.
fn report(context: &Context, comparison: &Comparison, out: &Path, name: &str) -> anyhow::Result<bool> {
    let (svg, png) = save_figure(&comparison.figure(), out, name)?;
    let csv = out.join(format!("{name}.csv"));
    write_atomic(&csv, comparison.to_csv().as_bytes())?;
    if context.json {
        Context::print_json(&comparison.to_json())?;
    } else {
        let files = [svg, png, csv].map(|f| f.display().to_string()).join(", ");
        terminal::print(&format!("{}\n\n{}\nwritten: {files}\n", comparison.title, comparison.to_text()))?;
    }
    Ok(true)
}

fn select<'a>(trials: &'a [TrialSpec], wanted: &[String]) -> anyhow::Result<Vec<&'a TrialSpec>> {
    let patterns: Vec<Select> = wanted.iter().map(|name| Select::Names(vec![name.clone()])).collect();
    for (name, pattern) in wanted.iter().zip(&patterns) {
        if !trials.iter().any(|t| pattern.includes(&t.name)) {
            let names: Vec<&str> = trials.iter().map(|t| t.name.as_str()).collect();
            bail!(
                "--variant must be one of {}, or a pattern such as \"*-analog\", got {name:?}",
                names.join(", ")
            );
        }
    }
    let included = |t: &&TrialSpec| patterns.is_empty() || patterns.iter().any(|p| p.includes(&t.name));
    Ok(trials.iter().filter(included).collect())
}

fn seeds(context: &Context, trial: &TrialSpec) -> Vec<u64> {
    context.seed.map_or_else(|| trial.training.seeds.clone(), |seed| vec![seed])
}

/// The folder of all data sets: as asked, or where `residuum data` puts them. Embedded sets need none.
pub fn data_root(asked: Option<&Path>) -> PathBuf {
    asked.map(PathBuf::from).or_else(default_root).unwrap_or_else(|| "data".into())
}

/// The command as it was typed, with `--resume`.
fn again() -> String {
    let mut words: Vec<String> = std::env::args().collect();
    words[0] = "residuum".into();
    if !words.iter().any(|word| word == "--resume") {
        words.push("--resume".into());
    }
    words.join(" ")
}
