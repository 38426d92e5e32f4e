//! Commands for specs with grids, stores, reports and the paper.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use residuum_lab::tune::Setting;

use super::{Formats, SpecSettings};

/// Check a spec and its whole grid, and count its trials.
///
/// Every point of the grid is checked. If one cannot be run, names the line, the field and the point, and exits with 2. A
/// missing data set is only a warning.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum check my.toml
  residuum check mnist-table --profile quick")]
pub struct CheckArgs {
    /// A spec file, or the name of a built-in spec.
    #[arg(value_name = "NAME|SPEC.toml")]
    pub spec: String,
    #[command(flatten)]
    pub settings: SpecSettings,
}

/// Print every parameter of a spec with its unit, origin and meaning, the effective rates, and the cost of its trials.
///
/// To estimate the total time, runs a few steps of one trial of each kind (network or problem, rule, device): about two seconds in
/// all, unless a single step takes longer.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum explain experiments/toy.toml
  residuum explain mnist-fcn --profile quick --json")]
pub struct ExplainArgs {
    /// A spec file, or the name of a built-in spec.
    #[arg(value_name = "NAME|SPEC.toml")]
    pub spec: String,
    /// Number of trials to run at a time, as for `residuum run`.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    #[command(flatten)]
    pub settings: SpecSettings,
}

/// Print the JSON Schema of specs, which lets editors complete and explain fields.
///
/// It covers names, types and allowed words; `residuum check` also checks constraints between fields.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  residuum schema > residuum.schema.json

Start a spec with the line `#:schema residuum.schema.json` so that Taplo and VS Code find it.")]
pub struct SchemaArgs {}

/// Run every trial of a spec once, into a store, and summarise the outcome in a table, a sentence and a figure.
///
/// A spec has [problem] or [network], and describes one trial or a grid. The store is a folder (--out, runs/NAME by default), in
/// which each trial is identified by the content of its spec and its seed: finished trials are not run again, an edited spec runs
/// only what is new, and several processes may share a store. Ctrl-C or a kill loses only the steps since the last checkpoint; run
/// the same command to continue. Results do not depend on --jobs, --threads or shards. Networks write checkpoints and TensorBoard
/// files to the folder of their trial. Exits with 1 if a trial failed. `train` and `sweep` are aliases.
#[derive(Args, Debug)]
#[command(after_help = "\
Example spec:
  steps = 6000
  seeds = { first = 1, count = 20 }
  [problem]
  kind = \"quadratic\"
  curvature = 1.0
  minimizer = 0.5
  [noise]
  kind = \"gaussian\"
  deviation = 1.0
  [device]
  response = \"power\"
  shape = 1.0
  radius = 1.0
  [rule]
  kind = \"residual_learning\"
  learning_rate = 0.002
  transfer_rate = 0.004
  mixing = 1.0
  [initial]
  main = 0.8
  [record]
  metrics = [\"effective\", \"gap\"]
  every = 1000

  residuum run spec.toml
  residuum run spec.toml --seed 7 --stdout > records.csv

Examples:
  residuum run --list
  residuum run digits --jobs 2
  residuum run mnist-fcn --profile quick --data ~/data --variant residual
  residuum run my.toml --out results --shard 0/4   every fourth trial; 1/4, 2/4, 3/4 elsewhere
  residuum run my.toml --out results --slurm=50 | sbatch
  residuum eval runs/digits name=residual seed=0
  residuum report runs/digits --to report.html")]
pub struct RunArgs {
    /// A spec file, or the name of a built-in spec.
    #[arg(value_name = "NAME|SPEC.toml")]
    pub spec: Option<String>,
    /// Run only this point, or those matching a pattern such as "*-analog": cell, variant and swept values, joined by '-'; may
    /// be repeated.
    #[arg(long, value_name = "NAME")]
    pub variant: Vec<String>,
    /// Number of trials to run at a time, sharing --threads; one per thread by default.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Run only every N-th trial, starting with the I-th, counted from 0.
    #[arg(long, value_name = "I/N", value_parser = parse_shard)]
    pub shard: Option<(usize, usize)>,
    /// Print a script for `sbatch` that runs the trials as an array of TASKS jobs with --shard, instead of running them; one
    /// job for each trial, at most 100, by default. The jobs share the store.
    #[arg(long, value_name = "TASKS", num_args = 0..=1, require_equals = true, default_missing_value = "0", conflicts_with = "shard")]
    pub slurm: Option<usize>,
    /// Same as --out.
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Print the records of a single problem as CSV (columns seed,step,metric,index,value) and store nothing.
    #[arg(long)]
    pub stdout: bool,
    /// Has no effect: a run always resumes from what is in the store.
    #[arg(long)]
    pub resume: bool,
    /// List the built-in specs.
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub settings: SpecSettings,
    #[command(flatten)]
    pub formats: Formats,
}

fn parse_shard(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((i, n)) if i < n => Ok((i, n)),
        _ => Err(format!("must be I/N with I < N, counted from 0, like 0/2, got {text:?}")),
    }
}

/// Search settings for the rule of a network, judged on held-out training samples, never on the test samples.
///
/// Searches every point of the spec (or those of --variant) for the fields that its rule has: rates and mixing, and how often and
/// by how many columns W is written. Most trials are short: first what is known, the setting of the spec and the preset of the rule
/// on the device, then a quasi-random sequence around what the stationary laws and the steps of the device suggest; some look
/// around the best of these; the best are trained with all epochs, and the best of those with further seeds. A new setting replaces
/// the best known one only if it is better by more than luck, on seeds that did not pick it. Trials go to the same store as those
/// of `residuum run`: a search that was killed continues with the same command and ends with the same bits. Writes the spec to run
/// and a picture of how much each field matters.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum tune digits --variant residual
  residuum tune my.toml --trials 30 --jobs 2
  residuum tune my.toml --minutes 20
  residuum tune my.toml --search 'rule.every=[1]' --search 'rule.order=[\"cyclic\", \"random\"]'")]
pub struct TuneArgs {
    /// A spec file with [network], or the name of a built-in spec.
    #[arg(value_name = "NAME|SPEC.toml")]
    pub spec: String,
    /// Search only this point, or those matching a pattern; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub variant: Vec<String>,
    /// Most trials for each point.
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub trials: usize,
    /// Most minutes for each point, beside --trials. The number of trials that fit is decided from the first of them and kept.
    #[arg(long, value_name = "MINUTES")]
    pub minutes: Option<f64>,
    /// Search a field over these values, in TOML notation, instead of its own range or besides; one value holds it. A rule
    /// that does not have the field is searched without; may be repeated.
    #[arg(long, value_name = "FIELD=[VALUES]", value_parser = parse_choice)]
    pub search: Vec<(String, Vec<Setting>)>,
    /// Begin with the settings of a file that --presets wrote, besides those that come with the program; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub start: Vec<PathBuf>,
    /// Write the best settings as rule presets: trains them with nothing held out and measures them on the test samples. The spec
    /// must have one device.preset and one rule in each point.
    #[arg(long, value_name = "FILE")]
    pub presets: Option<PathBuf>,
    /// Seeds with which the best settings are tried, and measured by --presets. From 30 trials on, if it is at least 2, the best new setting and
    /// what is known get more, and the new one wins only by more than luck.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub seeds: usize,
    /// Number of trials to run at a time, sharing --threads; one per thread by default.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Same as --out.
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    #[command(flatten)]
    pub settings: SpecSettings,
    #[command(flatten)]
    pub formats: Formats,
}

fn parse_choice(text: &str) -> Result<(String, Vec<Setting>), String> {
    let wrong = || format!("must be FIELD=[VALUES], like 'rule.every=[1, 2]', got {text:?}");
    let (field, values) = text.split_once('=').ok_or_else(wrong)?;
    let values = Setting::read(values.trim()).map_err(|e| format!("{e} in {text:?}"))?;
    let values = values.items().filter(|values| !values.is_empty()).ok_or_else(wrong)?;
    Ok((field.trim().to_string(), values))
}

/// List, show, remove and export the trials of a store.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum runs list runs/digits variant='Analog SGD'
  residuum runs show runs/digits 3f9a
  residuum runs rm runs/digits 3f9a 77c0
  residuum runs export runs/digits --to records.csv")]
pub struct RunsArgs {
    #[command(subcommand)]
    pub action: RunsAction,
}

#[derive(Debug, Subcommand)]
pub enum RunsAction {
    List(ListArgs),
    Show(ShowRunArgs),
    Rm(RemoveArgs),
    Export(ExportRunsArgs),
}

/// List the trials of a store.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// The store.
    #[arg(value_name = "STORE")]
    pub store: PathBuf,
    /// Only trials with this label, `name`, `experiment`, `seed` or spec field.
    #[arg(value_name = "NAME=VALUE", value_parser = parse_filter)]
    pub filters: Vec<(String, String)>,
}

/// Show one trial: its spec, its cost, its latest numbers.
#[derive(Args, Debug)]
pub struct ShowRunArgs {
    /// The store.
    #[arg(value_name = "STORE")]
    pub store: PathBuf,
    /// The trial's id, or a prefix of it.
    #[arg(value_name = "ID")]
    pub id: String,
}

/// Remove trials and list them. Refuses to remove a running trial.
#[derive(Args, Debug)]
pub struct RemoveArgs {
    /// The store.
    #[arg(value_name = "STORE")]
    pub store: PathBuf,
    /// Ids of the trials, or prefixes of them.
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Remove all trials of this experiment.
    #[arg(long, value_name = "NAME")]
    pub experiment: Option<String>,
}

/// Write all records to one CSV file, with columns for the id, the experiment, each label and the seed, then the record's own.
#[derive(Args, Debug)]
pub struct ExportRunsArgs {
    /// The store.
    #[arg(value_name = "STORE")]
    pub store: PathBuf,
    /// Only trials with this label, `name`, `experiment`, `seed` or spec field.
    #[arg(value_name = "NAME=VALUE", value_parser = parse_filter)]
    pub filters: Vec<(String, String)>,
    /// File to write.
    #[arg(long, value_name = "FILE.csv")]
    pub to: PathBuf,
}

pub(super) fn parse_filter(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()));
    parts.ok_or_else(|| format!("must be NAME=VALUE, like seed=3, got {text:?}"))
}

fn reproduce_help() -> String {
    format!(
        "Figures and tables:\n{}\n\
         Examples:\n  \
         residuum reproduce fig-toy --out figures\n  \
         residuum reproduce all --profile quick --data ~/data --out results",
        residuum_lab::reproduce::overview()
    )
}

/// Reproduce figures and tables of the paper: its numbers beside ours, with a verdict on each.
///
/// Writes to --out DIR (residuum-out by default): figures (SVG and PNG unless --formats says otherwise), numbers as CSV, settings as TOML, and everything on one
/// page, reproduce.md and reproduce.json. Networks are kept in a store, so the same command continues after an interruption. Items
/// that cannot be run are listed with the reason.
#[derive(Args, Debug)]
#[command(after_help = reproduce_help())]
pub struct ReproduceArgs {
    /// Figures and tables to reproduce, or `all`.
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// The paper's samples, epochs and seeds (full), or fewer (quick).
    #[arg(long, value_name = "PROFILE", value_parser = ["quick", "full"], default_value = "full")]
    pub profile: String,
    /// Folder that holds the data sets, as for `residuum data --dir`.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Store for the trained networks; reproduce-store in --out by default.
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Number of networks to train at a time, one thread each; same as --threads by default.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    #[command(flatten)]
    pub formats: Formats,
}

/// Report on the trials of one or more stores: tables and figures on one page.
///
/// The page is self-contained. Tables give the mean ± standard error over seeds, and paired differences on common seeds; the best
/// is marked only if the seeds distinguish it from the runner-up.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum report runs/mnist-fcn --to report.html
  residuum report runs/a runs/b --to tables.tex
  residuum report runs/toy --metric gap --metric effective_mean --to toy.md --figures figures
  residuum report runs/digits --to tables.tex --figures figures --formats pdf,pgf")]
pub struct ReportArgs {
    /// Stores to report on, together.
    #[arg(value_name = "STORE", required = true)]
    pub stores: Vec<PathBuf>,
    /// File to write: .html, .md or .tex.
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
    /// Also write every figure into this folder, as SVG and PNG unless --formats says otherwise.
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
    /// Title of the page; the names of the experiments by default.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Label whose values are compared; the variant or the rule by default.
    #[arg(long, value_name = "LABEL")]
    pub by: Option<String>,
    /// Report only this metric; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub metric: Vec<String>,
    /// What bands around curves show: one standard error (se), or all seeds (range).
    #[arg(long, value_name = "BAND", value_parser = ["se", "range"], default_value = "se")]
    pub band: String,
    #[command(flatten)]
    pub formats: Formats,
}

/// Measure the effect of each difference between two specs.
///
/// Runs both specs, A with each single difference added, and B with each single difference removed, all with the seeds of A. The
/// table gives the effect of each difference on the final metric, and what remains for interactions. Trials go into a store (--out,
/// runs/compare by default) and are not run twice.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum compare ideal.toml real.toml
  residuum compare digits:analog digits:residual --to effects.html
  residuum compare a.toml b.toml --metric test_loss --jobs 2 --out runs/imperfections

To pick one trial of a spec with several, add a colon and its name: cell, variant and swept values, joined by '-'.")]
pub struct CompareArgs {
    /// A spec file, or the name of a built-in spec.
    #[arg(value_name = "A")]
    pub a: String,
    /// The other spec.
    #[arg(value_name = "B")]
    pub b: String,
    #[command(flatten)]
    pub settings: SpecSettings,
    /// Metric to compare; the experiment's main metric by default.
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Number of trials to run at a time, as for `residuum run`.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Also write the full report: .html, .md or .tex.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
}
