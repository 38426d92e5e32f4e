//! The command line: commands, options and their help.

mod lab;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use clap_complete::Shell;
pub use lab::*;
use residuum_lab::figure::FigureFormat;

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
  residuum                                       train the digits under three rules
  residuum run mnist-fcn --profile quick         the paper's networks on tiles, into a store
  residuum run my.toml --jobs 2                  any spec: a problem or networks, one trial or a grid
  residuum report runs/digits --to report.html   tables and figures of a store, as one page
  residuum explain experiments/toy.toml          parameters, units, rates and cost of a spec
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
    /// Seed for all randomness, instead of the spec's own seeds. The same seed gives the same bits on any number of
    /// threads.
    #[arg(long, global = true, value_name = "N")]
    pub seed: Option<u64>,
    /// Worker threads; all cores by default. Does not affect results.
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<usize>,
    /// Print one JSON document, with its schema version, instead of text.
    #[arg(long, global = true)]
    pub json: bool,
    /// Folder to write files to; created if missing.
    #[arg(long, global = true, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Show no progress on stderr.
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// What figures are written as.
#[derive(Args, Debug)]
pub struct Formats {
    /// Write figures as these, separated by commas: svg, png, pdf, and pgf for LaTeX.
    #[arg(long, value_name = "FORMATS", value_delimiter = ',', value_parser = parse_format)]
    formats: Vec<FigureFormat>,
}

/// What figures of devices are written as by default.
pub const FOR_PAPERS: [FigureFormat; 3] = [FigureFormat::Svg, FigureFormat::Png, FigureFormat::Pdf];

impl Formats {
    /// Those that were asked for, or the usual ones of the command.
    pub fn get<'a>(&'a self, usual: &'a [FigureFormat]) -> &'a [FigureFormat] {
        if self.formats.is_empty() { usual } else { &self.formats }
    }

    /// Refuses formats where no figure is written.
    pub fn check(&self, written: bool, option: &str) -> anyhow::Result<()> {
        if !written && !self.formats.is_empty() {
            anyhow::bail!("--formats must be used with {option}, without which no figure is written");
        }
        Ok(())
    }
}

fn parse_format(text: &str) -> Result<FigureFormat, String> {
    let names = || FigureFormat::ALL.map(FigureFormat::extension).join(", ");
    FigureFormat::of_extension(text).ok_or_else(|| format!("must be one of {}, got {text:?}", names()))
}

/// How a spec is read.
#[derive(Args, Debug)]
pub struct SpecSettings {
    /// Apply this [profile.…] of the spec; `full` is the spec as written.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Folder that holds the data sets, as for `residuum data --dir`.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(visible_aliases = ["train", "sweep"])]
    Run(RunArgs),
    Check(CheckArgs),
    Explain(ExplainArgs),
    Schema(SchemaArgs),
    Runs(RunsArgs),
    Eval(EvalArgs),
    Export(ExportArgs),
    Convert(ConvertArgs),
    Rates(RatesArgs),
    Tune(TuneArgs),
    Device(DeviceArgs),
    Verify(VerifyArgs),
    Reproduce(ReproduceArgs),
    Report(ReportArgs),
    Compare(CompareArgs),
    Data(DataArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Selects one trial of a store.
#[derive(Args, Debug)]
pub struct TrialSettings {
    /// A store, or the folder of a trial, STORE/trials/ID; a prefix of the id is enough.
    #[arg(value_name = "STORE|TRIAL")]
    pub run: PathBuf,
    /// Pick the trial of the store with this label, `name`, `seed` or spec field.
    #[arg(value_name = "NAME=VALUE", value_parser = parse_filter)]
    pub filters: Vec<(String, String)>,
    /// Folder that paths in the spec are relative to; needed for a frozen backbone and for devices from tables.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub base: PathBuf,
    /// If the newest checkpoint is damaged, use the one before it instead of failing.
    #[arg(long)]
    pub allow_older: bool,
}

/// Test a trial's network from its newest checkpoint, even while it is still training.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum eval runs/digits name=residual seed=0
  residuum eval runs/digits/trials/3f9a          a prefix of its id, as shown by `residuum runs list`")]
pub struct EvalArgs {
    #[command(flatten)]
    pub formats: Formats,
    #[command(flatten)]
    pub trial: TrialSettings,
    /// Program the trained weights onto new tiles (with write noise), let these times pass and test, with and without a global
    /// drift compensation: `1s,1h,1d`. With --out, also draws accuracy against time.
    #[arg(long, value_name = "TIMES", value_delimiter = ',', value_parser = residuum_lab::train::parse_time)]
    pub after: Vec<f64>,
    /// How often the weights are programmed for each time of --after.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub repeats: usize,
    /// Folder that holds the data sets, as for `residuum data --dir`.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

/// Write a trial's network as safetensors: effective weights of tiles, biases, normalisations.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum export runs/digits name=residual seed=0 --to residual.safetensors
  residuum export runs/digits/trials/3f9a --to trial.safetensors")]
pub struct ExportArgs {
    #[command(flatten)]
    pub trial: TrialSettings,
    /// File to write.
    #[arg(long, value_name = "FILE.safetensors")]
    pub to: PathBuf,
}

/// Convert Keras's ResNet-50 weights from tfjs to safetensors with torchvision's names.
///
/// The result is for `model = "keras_resnet50"` with `normalize = "keras"`: the channels of the first kernel are
/// reversed so that it takes red, green, blue.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  residuum convert package/model.json --to weights/keras-resnet50.safetensors")]
pub struct ConvertArgs {
    /// The tfjs model, with its shards in the same folder.
    #[arg(value_name = "MODEL.json")]
    pub model: PathBuf,
    /// File to write.
    #[arg(long, value_name = "FILE.safetensors")]
    pub to: PathBuf,
}

/// Compute rates for every point of a spec: those the convergence theorem prescribes (or which condition fails, and the
/// smallest K that would do), and practical ones from the stationary laws, with the bias and variance they predict.
///
/// If the theorem's lemma does not apply to a problem, prints the practical rates and exits with 2. To use either in a spec, set
/// `rates = "lemma"` or `rates = "practical"` under [rule]. No theorem applies to a network: its rates are those of the stationary
/// laws at an assumed curvature, for its device and steps, where `residuum tune` begins to search.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum rates experiments/toy.toml
  residuum rates digits")]
pub struct RatesArgs {
    /// A spec file, or the name of a built-in spec; the rule of a problem may omit the rates by setting rates = "practical".
    #[arg(value_name = "NAME|SPEC.toml")]
    pub spec: String,
    #[command(flatten)]
    pub settings: SpecSettings,
}

/// Fit a device to measured pulses, list what can be a device, or report on one.
#[derive(Args, Debug)]
pub struct DeviceArgs {
    #[command(subcommand)]
    pub action: DeviceAction,
}

#[derive(Debug, Subcommand)]
pub enum DeviceAction {
    List(ListDevicesArgs),
    Show(ShowArgs),
    Fit(Box<FitArgs>),
}

/// List what can be a device: responses with their formulas and parameters, devices of the literature, built-in specs, and device
/// files and specs in a folder.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum device list
  residuum device list experiments/devices experiments/digits.toml")]
pub struct ListDevicesArgs {
    /// Device files, specs, or folders of them; the current folder by default.
    #[arg(value_name = "FILE|FOLDER")]
    pub paths: Vec<PathBuf>,
}

/// Fit a device to measured pulses: model, symmetric point and its kind, noises, spreads, each with a 95 % interval.
///
/// Reads two columns up/down; one ramp per column in a file for each direction (--up, --down); one sequential column
/// (--ramp-length); pairs of pulse number and conductance; or a table with the columns
/// device,cycle,pulse,direction,conductance. Several files are several devices. The format is recognised and said.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum device fit experiments/devices/gong-reram.csv --range -1,1
  residuum device fit --up experiments/devices/crosssim-set.csv --down experiments/devices/crosssim-reset.csv --read-voltage 0.1
  residuum device fit wafer.csv --to device.toml --report fit.html --out figures
  residuum device fit trace.txt --ramp-length 400 --json")]
pub struct FitArgs {
    #[command(flatten)]
    pub formats: Formats,
    /// Measured pulses, both directions in each file.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// A file of up (SET) ramps, one per column; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub up: Vec<PathBuf>,
    /// A file of down (RESET) ramps, one per column; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub down: Vec<PathBuf>,
    /// The format, instead of the one that is recognised.
    #[arg(long, value_name = "FORMAT", value_parser = ["two-columns", "ramps", "sequence", "pairs", "tidy"])]
    pub format: Option<String>,
    /// Reads of each ramp in a sequential column.
    #[arg(long, value_name = "N")]
    pub ramp_length: Option<usize>,
    /// Reads are currents in amperes, taken at this voltage.
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    pub read_voltage: Option<f64>,
    /// Unit of the conductances, for reports; the header's by default.
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<String>,
    /// Conductances that become the weights -1 and 1; the ends of the smoothed reads by default.
    #[arg(long, value_name = "LO,HI", value_parser = parse_range, allow_hyphen_values = true)]
    pub range: Option<(f64, f64)>,
    /// Use this model instead of the recommended one.
    #[arg(long, value_name = "MODEL", value_parser = ["constant", "linear", "soft_bounds", "power", "exponential", "tanh", "piecewise", "table"])]
    pub model: Option<String>,
    /// Bootstrap draws behind the intervals.
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub draws: usize,
    /// Write a device file, which every spec takes: device = { file = "device.toml" }.
    #[arg(long, value_name = "FILE.toml")]
    pub to: Option<PathBuf>,
    /// Write a page with everything.
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write Python that makes the nearest device of AIHWKIT.
    #[arg(long, value_name = "FILE.py")]
    pub aihwkit: Option<PathBuf>,
    /// Write CrossSim's look-up tables, dG_increasing.txt and dG_decreasing.txt, into this folder.
    #[arg(long, value_name = "DIR")]
    pub crosssim: Option<PathBuf>,
}

/// Report on anything that can be a device: q±, symmetric point, κ₂ on a range, asymmetry, penalty, predicted drift.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum device show power shape=2 radius=0.6
  residuum device show reram_es                            a device of the literature, with its parameters
  residuum device show measured.csv                        columns w,q_plus,q_minus
  residuum device show device.toml                         as `residuum device fit --to` writes it
  residuum device show experiments/digits.toml             the [device] of a spec
  residuum device show digits                              the same, of a built-in spec
  residuum device show my_device.toml --range -0.4,0.4
  residuum device show formula q_plus='(1-w/0.6)^2' q_minus='(1+w/0.6)^2' range=[-0.6,0.6] --out report")]
pub struct ShowArgs {
    #[command(flatten)]
    pub formats: Formats,
    /// A built-in response, a preset, a TOML file with a [device] table (a device file or a spec), the name of a built-in spec, or
    /// a CSV file with the columns w,q_plus,q_minus.
    #[arg(value_name = "RESPONSE|PRESET|SPEC|FILE")]
    pub device: String,
    /// Parameters of a built-in response, as name=value.
    #[arg(value_name = "NAME=VALUE")]
    pub parameters: Vec<String>,
    /// Range for κ₂ and the tables; 0.8 of the dynamic range by default.
    #[arg(long, value_name = "LO,HI", value_parser = parse_range, allow_hyphen_values = true)]
    pub range: Option<(f64, f64)>,
    /// Minimiser w* of the problem used to predict drift; half the upper bound by default.
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
        .map_err(|_| format!("must be two numbers LO,HI, like -0.4,0.4, got {text:?}"))?;
    match parts.as_slice() {
        [lo, hi] if lo < hi => Ok((*lo, *hi)),
        _ => Err(format!("must be LO,HI with LO < HI, got {text:?}")),
    }
}

/// Check every definition, lemma and theorem of the paper by numerical experiment.
///
/// Prints each measurement next to the prediction or bound. The paper's numerical mistakes are shown as printed and
/// as corrected. Exits with 1 if a corrected claim fails.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum verify                      all claims, under 3 minutes on 2 cores
  residuum verify --quick              all claims with fewer samples, under 20 s
  residuum verify --list               names of the claims
  residuum verify thm-implicit-penalty --json")]
pub struct VerifyArgs {
    /// Claims to check; all by default.
    #[arg(value_name = "CLAIM")]
    pub claims: Vec<String>,
    /// Use fewer samples.
    #[arg(long)]
    pub quick: bool,
    /// List the claims and exit.
    #[arg(long)]
    pub list: bool,
}

/// List, download, import and check the public data sets.
///
/// Each is a folder of that name in --dir DIR, else in $RESIDUUM_DATA, else in the user's data folder:
/// ~/.local/share/residuum (or $XDG_DATA_HOME/residuum), on macOS ~/Library/Application Support/residuum, on Windows
/// %LOCALAPPDATA%\residuum.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum data list
  residuum data fetch mnist cifar10
  residuum data fetch mnist --from ~/torch-data       files you already have: plain, gzipped or archived
  residuum data verify")]
pub struct DataArgs {
    /// Folder that holds the data sets.
    #[arg(long, global = true, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    #[command(subcommand)]
    pub action: DataAction,
}

#[derive(Debug, Subcommand)]
pub enum DataAction {
    /// List the data sets, and which of them are on disk.
    List,
    Fetch(FetchArgs),
    /// Check every file; exits with 1 if one is missing or damaged.
    Verify {
        /// Data sets to check; by default those on disk.
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
}

/// Download data sets, or import them with --from.
///
/// Complete files already on disk are kept, and interrupted downloads are resumed. Contents are checked before files
/// are put in place.
#[derive(Args, Debug)]
pub struct FetchArgs {
    /// Data sets to get, or `all`.
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// Copy from this folder or archive instead of downloading.
    #[arg(long, value_name = "PATH")]
    pub from: Option<PathBuf>,
    /// URL to try first, which serves the files under their own names; may be repeated.
    #[arg(long, value_name = "URL", conflicts_with = "from")]
    pub mirror: Vec<String>,
}

/// Print shell completions.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum completions bash > ~/.local/share/bash-completion/completions/residuum
  residuum completions zsh > ~/.zfunc/_residuum
  residuum completions fish > ~/.config/fish/completions/residuum.fish")]
pub struct CompletionsArgs {
    /// Shell to print them for.
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Print the manual page, followed by those of all commands.
///
/// With --out DIR, writes each page to a file: residuum.1, residuum-run.1 and so on.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  residuum man | man -l -
  residuum man --out ~/.local/share/man/man1")]
pub struct ManArgs {}
