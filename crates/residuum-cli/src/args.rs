//! What the user can type.

mod lab;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use clap_complete::Shell;
pub use lab::*;

/// Optimisation on analog in-memory hardware, where every write is scaled by state-dependent response functions.
///
/// Without a command, `residuum` trains a small network on the embedded digits under Digital SGD, Analog SGD and Residual
/// Learning, on tiles of asymmetric devices. It prints a table and writes a figure.
#[derive(Debug, Parser)]
#[command(
    name = "residuum",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  residuum                                       the digits under three rules
  residuum run mnist-fcn --profile quick         networks of the paper on tiles, into a store
  residuum run my.toml --jobs 2                  any spec: a problem or networks, one trial or a grid
  residuum report runs/digits --to report.html   its tables and figures as one page
  residuum explain experiments/toy.toml          its parameters, units, rates and cost
  residuum device show power shape=2 radius=0.6  what a response does to training
  residuum verify --quick                        the paper's claims, measured
  residuum reproduce all --profile quick         the paper's figures and tables beside ours"
)]
pub struct Arguments {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Options of every command.
#[derive(Args, Debug)]
pub struct Common {
    /// Seed of all randomness; the same seed gives the same bits on any number of threads. A spec's own seeds are
    /// replaced by it.
    #[arg(long, global = true, value_name = "N")]
    pub seed: Option<u64>,
    /// Worker threads; all cores by default. Results do not depend on it.
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<usize>,
    /// Print one JSON document (it carries its schema's version) instead of text.
    #[arg(long, global = true)]
    pub json: bool,
    /// Folder for files; it is created if it does not exist.
    #[arg(long, global = true, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// No progress on stderr.
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// How a spec is read.
#[derive(Args, Debug)]
pub struct SpecSettings {
    /// Settings of this [profile.…] of the spec; `full` is the spec itself.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Folder of all data sets, as `residuum data --dir` has it.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(visible_aliases = ["train", "sweep"])]
    Run(RunOptions),
    Check(CheckOptions),
    Explain(ExplainOptions),
    Schema(SchemaOptions),
    Runs(RunsOptions),
    Eval(EvalOptions),
    Export(ExportOptions),
    Convert(ConvertOptions),
    Rates(RatesOptions),
    Device(DeviceOptions),
    Verify(VerifyOptions),
    Reproduce(ReproduceOptions),
    Report(ReportOptions),
    Compare(CompareOptions),
    Data(DataOptions),
    Completions(CompletionsOptions),
    Man(ManOptions),
}

/// Which trial of a store is meant.
#[derive(Args, Debug)]
pub struct TrialSettings {
    /// A store, or the folder of a trial, STORE/trials/ID; the beginning of the id will do.
    #[arg(value_name = "STORE|TRIAL")]
    pub run: PathBuf,
    /// Of a store, the trial with this label, `name`, `seed` or field of the spec.
    #[arg(value_name = "NAME=VALUE", value_parser = parse_filter)]
    pub filters: Vec<(String, String)>,
    /// Folder that paths in the spec are relative to; needed for a frozen backbone and for devices from tables.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub base: PathBuf,
    /// Where the newest checkpoint is damaged, take the one before; without this, the command fails.
    #[arg(long)]
    pub allow_older: bool,
}

/// Test the network of a trial as its newest checkpoint has it, also while it is being trained.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum eval runs/digits name=residual seed=0
  residuum eval runs/digits/trials/3f9a          the beginning of its id, as `residuum runs list` shows it")]
pub struct EvalOptions {
    #[command(flatten)]
    pub trial: TrialSettings,
    /// Folder of all data sets, as `residuum data --dir` has it.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

/// Write the network of a trial as safetensors: the effective weights of tiles, biases, normalisations.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum export runs/digits name=residual seed=0 --to residual.safetensors
  residuum export runs/digits/trials/3f9a --to trial.safetensors")]
pub struct ExportOptions {
    #[command(flatten)]
    pub trial: TrialSettings,
    /// The file.
    #[arg(long, value_name = "FILE.safetensors")]
    pub to: PathBuf,
}

/// Convert the weights of Keras's ResNet-50 from tfjs to safetensors with torchvision's names.
///
/// The result is for `model = "keras_resnet50"` with `normalize = "keras"`: the first kernel is turned around, so that it takes
/// red, green, blue.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  residuum convert package/model.json --to weights/keras-resnet50.safetensors")]
pub struct ConvertOptions {
    /// The tfjs model; its shards lie beside it.
    #[arg(value_name = "MODEL.json")]
    pub model: PathBuf,
    /// The file.
    #[arg(long, value_name = "FILE.safetensors")]
    pub to: PathBuf,
}

/// Rates for a spec: what the convergence theorem prescribes, or which condition fails and the smallest K that would
/// do; and practical rates from the stationary laws, with the bias and variance they predict.
///
/// Exits with 2 when the theorem's lemma does not apply, after printing the practical rates. In a spec,
/// `rates = "lemma"` or `rates = "practical"` under [rule] uses them.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  residuum rates experiments/toy.toml")]
pub struct RatesOptions {
    /// The spec; its rule may leave the rates out with rates = "practical".
    #[arg(value_name = "SPEC.toml")]
    pub spec: PathBuf,
}

/// List the built-in responses, or report on one response.
#[derive(Args, Debug)]
pub struct DeviceOptions {
    #[command(subcommand)]
    pub action: DeviceAction,
}

#[derive(Debug, Subcommand)]
pub enum DeviceAction {
    /// The built-in responses with their formulas and parameters.
    List,
    Show(ShowOptions),
}

/// Report on a response: q±, symmetric point, κ₂ on a range, asymmetry, penalty, predicted drift.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum device show power shape=2 radius=0.6
  residuum device show measured.csv                        columns w,q_plus,q_minus
  residuum device show my_device.toml --range -0.4,0.4
  residuum device show formula q_plus='(1-w/0.6)^2' q_minus='(1+w/0.6)^2' range=[-0.6,0.6] --out report")]
pub struct ShowOptions {
    /// A built-in response, a TOML file with a [device] table, or a CSV file with the columns w,q_plus,q_minus.
    #[arg(value_name = "RESPONSE|FILE")]
    pub device: String,
    /// Parameters of a built-in response, as name=value.
    #[arg(value_name = "NAME=VALUE")]
    pub parameters: Vec<String>,
    /// Range for κ₂ and the tables; 0.8 of the dynamic range by default.
    #[arg(long, value_name = "LO,HI", value_parser = parse_range, allow_hyphen_values = true)]
    pub range: Option<(f64, f64)>,
    /// Minimiser w* of the problem whose drift is predicted; half the upper bound by default.
    #[arg(long, value_name = "W", allow_hyphen_values = true)]
    pub minimizer: Option<f64>,
    /// Curvature h of that problem.
    #[arg(long, value_name = "H", default_value_t = 1.0)]
    pub curvature: f64,
}

fn parse_range(text: &str) -> Result<(f64, f64), String> {
    let parts: Vec<f64> = text
        .split(',')
        .map(|p| p.trim().parse())
        .collect::<Result<_, _>>()
        .map_err(|_| format!("give two numbers with a comma, like -0.4,0.4, not {text:?}"))?;
    match parts.as_slice() {
        [lo, hi] if lo < hi => Ok((*lo, *hi)),
        _ => Err(format!("give LO,HI with LO < HI, not {text:?}")),
    }
}

/// Every definition, lemma and theorem of the paper as a numerical experiment.
///
/// Prints what was measured beside what was predicted or bounded. The paper's numerical mistakes are shown as
/// printed and as corrected. Exits with 1 if a corrected claim fails.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum verify                      all claims, under 3 minutes on 2 cores
  residuum verify --quick              all claims with fewer samples, under 20 s
  residuum verify --list               the names
  residuum verify thm-implicit-penalty --json")]
pub struct VerifyOptions {
    /// Names of claims; all by default.
    #[arg(value_name = "CLAIM")]
    pub claims: Vec<String>,
    /// Fewer samples.
    #[arg(long)]
    pub quick: bool,
    /// List the claims and do nothing.
    #[arg(long)]
    pub list: bool,
}

/// List, download, import and check the public data sets.
///
/// They lie in folders of their names in --dir DIR, else in $RESIDUUM_DATA, else in the user's data folder:
/// ~/.local/share/residuum (or $XDG_DATA_HOME/residuum), on macOS ~/Library/Application Support/residuum, on Windows
/// %LOCALAPPDATA%\residuum.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum data list
  residuum data fetch mnist cifar10
  residuum data fetch mnist --from ~/torch-data       files you have, plain, gzipped or in their archive
  residuum data verify")]
pub struct DataOptions {
    /// Folder of all data sets.
    #[arg(long, global = true, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    #[command(subcommand)]
    pub action: DataAction,
}

#[derive(Debug, Subcommand)]
pub enum DataAction {
    /// What there is, and what of it is here.
    List,
    Fetch(FetchOptions),
    /// Check every file; exits with 1 if one is missing or damaged.
    Verify {
        /// Names of data sets; by default those that are here.
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
}

/// Download data sets, or import them with --from.
///
/// Files that are here and whole are kept. A download that was broken off is continued. Contents are checked before
/// files take their place.
#[derive(Args, Debug)]
pub struct FetchOptions {
    /// Names of data sets, or `all`.
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// Copy from this folder or archive instead of downloading.
    #[arg(long, value_name = "PATH")]
    pub from: Option<PathBuf>,
    /// An address that holds the files under their names, asked first; may be repeated.
    #[arg(long, value_name = "URL", conflicts_with = "from")]
    pub mirror: Vec<String>,
}

/// Print the completions of a shell.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum completions bash > ~/.local/share/bash-completion/completions/residuum
  residuum completions zsh > ~/.zfunc/_residuum
  residuum completions fish > ~/.config/fish/completions/residuum.fish")]
pub struct CompletionsOptions {
    /// The shell.
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Print the manual page, with those of all commands after it.
///
/// With --out DIR each page is a file: residuum.1, residuum-run.1 and so on.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum man | man -l -
  residuum man --out ~/.local/share/man/man1")]
pub struct ManOptions {}
