//! What the user can type about specs with grids, stores, reports and the paper.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::SpecSettings;

/// Read a spec with its whole grid, and say how many trials it makes.
///
/// Every point of the grid is read and checked. Exits with 2, with the line, the field and the point, if one of them cannot be
/// run. A data set that is not there is a warning.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum check my.toml
  residuum check mnist-table --profile quick")]
pub struct CheckArgs {
    /// A spec, or the name of one that ships with the program.
    #[arg(value_name = "NAME|SPEC.toml")]
    pub spec: String,
    #[command(flatten)]
    pub settings: SpecSettings,
}

/// Print every parameter of a spec with its unit, origin and meaning, effective rates, and what the trials cost.
///
/// A few steps of one trial of each kind (network or problem, rule, device) are taken to estimate the time of all, for about two
/// seconds in all where steps are shorter than that.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum explain experiments/toy.toml
  residuum explain mnist-fcn --profile quick --json")]
pub struct ExplainArgs {
    /// A spec, or the name of one that ships with the program.
    #[arg(value_name = "NAME|SPEC.toml")]
    pub spec: String,
    /// Trials at a time, as `residuum run` has it.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    #[command(flatten)]
    pub settings: SpecSettings,
}

/// Print the JSON Schema of a spec, with which editors complete and explain its fields.
///
/// It knows names, types and words; `residuum check` also knows what must hold between fields.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  residuum schema > residuum.schema.json

In a spec, the first line `#:schema residuum.schema.json` tells Taplo and VS Code where it is.")]
pub struct SchemaArgs {}

/// Run every trial of a spec into a store, each once; then a table, a sentence and a figure of how they ended.
///
/// A spec has [problem] or [network], one trial or a grid. The store is a folder (--out, runs/NAME by default). A trial lies in it
/// under the content of its spec and its seed: what is there already is not run again, an edited spec runs only what is new, and
/// several processes may share a store. Ctrl-C or a kill costs the steps since the last checkpoint; the same command goes on. The
/// numbers depend neither on --jobs and --threads nor on shards. Networks leave checkpoints and files for TensorBoard in the run
/// folder of their trial. Exits with 1 if a trial failed. `train` and `sweep` are other names of this command.
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
  residuum eval runs/digits name=residual seed=0
  residuum report runs/digits --to report.html")]
pub struct RunArgs {
    /// A spec, or the name of one that ships with the program.
    #[arg(value_name = "NAME|SPEC.toml")]
    pub spec: Option<String>,
    /// Only this point, or those that fit a pattern such as "*-analog": cell, variant and swept values, joined by '-'; may be
    /// repeated.
    #[arg(long, value_name = "NAME")]
    pub variant: Vec<String>,
    /// Trials at a time, which share --threads; by default all threads take problems, one each, and one network after the other
    /// has them all.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Only every n-th trial, from the i-th on, counted from 0.
    #[arg(long, value_name = "I/N", value_parser = parse_shard)]
    pub shard: Option<(usize, usize)>,
    /// The same as --out.
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Of one problem, print the records as CSV with the columns seed,step,metric,index,value instead, and keep nothing.
    #[arg(long)]
    pub stdout: bool,
    /// Changes nothing: a run always goes on with what is there.
    #[arg(long)]
    pub resume: bool,
    /// List the specs that ship with the program.
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub settings: SpecSettings,
}

fn parse_shard(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((i, n)) if i < n => Ok((i, n)),
        _ => Err(format!("give I/N with I < N, counted from 0, like 0/2, not {text:?}")),
    }
}

/// What a store holds: list, show, remove, export.
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

/// The trials of a store.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// The store.
    #[arg(value_name = "STORE")]
    pub store: PathBuf,
    /// Only trials with this label, `name`, `experiment`, `seed` or field of the spec.
    #[arg(value_name = "NAME=VALUE", value_parser = parse_filter)]
    pub filters: Vec<(String, String)>,
}

/// One trial: its spec, what it took, its last numbers.
#[derive(Args, Debug)]
pub struct ShowRunArgs {
    /// The store.
    #[arg(value_name = "STORE")]
    pub store: PathBuf,
    /// The beginning of its id.
    #[arg(value_name = "ID")]
    pub id: String,
}

/// Remove trials and say which. One that is being run is refused.
#[derive(Args, Debug)]
pub struct RemoveArgs {
    /// The store.
    #[arg(value_name = "STORE")]
    pub store: PathBuf,
    /// The beginnings of their ids.
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// All trials of this experiment.
    #[arg(long, value_name = "NAME")]
    pub experiment: Option<String>,
}

/// All records in one CSV file: a column for the id, the experiment, each label and the seed, then those of the records.
#[derive(Args, Debug)]
pub struct ExportRunsArgs {
    /// The store.
    #[arg(value_name = "STORE")]
    pub store: PathBuf,
    /// Only trials with this label, `name`, `experiment`, `seed` or field of the spec.
    #[arg(value_name = "NAME=VALUE", value_parser = parse_filter)]
    pub filters: Vec<(String, String)>,
    /// The file.
    #[arg(long, value_name = "FILE.csv")]
    pub to: PathBuf,
}

pub(super) fn parse_filter(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()));
    parts.ok_or_else(|| format!("give NAME=VALUE, like seed=3, not {text:?}"))
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

/// Figures and tables of the paper, run again: the paper's numbers beside ours, with a verdict for each.
///
/// Files go to --out DIR (residuum-out by default): figures as SVG and PNG, numbers as CSV, settings as TOML, and one page with
/// everything, reproduce.md and reproduce.json. Networks are kept in a store: the same command goes on where it was
/// interrupted. What cannot be run says so and why.
#[derive(Args, Debug)]
#[command(after_help = reproduce_help())]
pub struct ReproduceArgs {
    /// Names of figures and tables, or `all`.
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// Fewer samples, epochs and seeds (quick) or the paper's own (full).
    #[arg(long, value_name = "PROFILE", value_parser = ["quick", "full"], default_value = "full")]
    pub profile: String,
    /// Folder of all data sets, as `residuum data --dir` has it.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Store of the trained networks; reproduce-store in --out by default.
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Networks trained at a time, one thread each; as many as --threads by default.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
}

/// Tables and figures of the trials in run stores, as one page.
///
/// The page needs no network. Tables have the mean ± standard error over seeds and paired differences on common seeds; the best is
/// marked only where the seeds tell it from the runner-up.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum report runs/mnist-fcn --to report.html
  residuum report runs/a runs/b --to tables.tex
  residuum report runs/toy --metric gap --metric effective_mean --to toy.md --figures figures")]
pub struct ReportArgs {
    /// Run stores; their trials are reported together.
    #[arg(value_name = "STORE", required = true)]
    pub stores: Vec<PathBuf>,
    /// The file: .html, .md or .tex.
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
    /// Also write every figure as SVG and PNG into this folder.
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
    /// Above the page; the names of the experiments by default.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// The label whose values are compared; the variant or the rule by default.
    #[arg(long, value_name = "LABEL")]
    pub by: Option<String>,
    /// Only this metric; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub metric: Vec<String>,
    /// What bands around curves show: one standard error (se), or all seeds (range).
    #[arg(long, value_name = "BAND", value_parser = ["se", "range"], default_value = "se")]
    pub band: String,
}

/// What each difference between two specs is worth.
///
/// Both specs are run, and between them every spec in which one difference is switched on in A or taken out of B, all with the seeds
/// of A. The table has the effect of each on the end metric, and what is left for interactions. Trials go into a run store
/// (--out, runs/compare by default) and are not run twice.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum compare ideal.toml real.toml
  residuum compare digits:analog digits:residual --to effects.html
  residuum compare a.toml b.toml --metric test_loss --jobs 2 --out runs/imperfections

A trial of a spec with several is named after a colon: cell, variant and swept values, joined by '-'.")]
pub struct CompareArgs {
    /// A spec, or the name of one that ships with the program.
    #[arg(value_name = "A")]
    pub a: String,
    /// The other.
    #[arg(value_name = "B")]
    pub b: String,
    #[command(flatten)]
    pub settings: SpecSettings,
    /// The metric that is judged; the main one of the experiment by default.
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Trials at a time, as `residuum run` has it.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Also write the whole report: .html, .md or .tex.
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
}
