//! Reproduces the paper's figures and tables: our numbers, their settings, and how they compare with the paper's.
//!
//! Everything follows from the name and the [`ReproduceOptions`]: numbers do not depend on the clock, the thread count or the
//! machine. Networks are trained into a [`Store`](crate::store::Store), so interrupted work continues where it stopped.

pub(crate) mod ablation;
mod bias;
mod bounds;
pub(crate) mod calibration;
pub(crate) mod cifar;
mod curves;
mod kappa;
pub(crate) mod later;
pub(crate) mod mnist;
mod mnist_table;
pub(crate) mod networks;
mod page;
pub mod paper;
mod response;
mod shift;
mod toy;
mod tracking;
pub(crate) mod verdict;
pub(crate) mod weights;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use residuum::theory::TheoryError;
use residuum::{Key, ParameterError};
use serde::Serialize;

pub use networks::NetworkOptions;
pub use page::{Page, PageEntry};
pub use verdict::{ONE_RUN_TOLERANCE, PaperVerdict};

use crate::figure::{Figure, FigureFormat};
use crate::files::{FigureError, save_figure, write_atomic};
use crate::progress::{Cancelled, Progress};
use crate::spec::SpecError;
use crate::store::StoreError;
use crate::sweep::SweepError;
use crate::verify::{ClaimError, VerifyError};

/// How a figure or table is run.
type Run = fn(&ReproduceOptions, &dyn Progress) -> Result<Reproduction, ReproduceError>;

/// Every figure and table that can be reproduced, the quick ones first: name, label in the paper, what it shows, and how.
const FIGURES: [(&str, &str, &str, Run); 16] = [
    (
        "fig-toy",
        "figure:toy-and-kappa (left, middle)",
        "densities of Analog SGD and Residual Learning in the 1-D toy",
        toy::run,
    ),
    (
        "fig-kappa",
        "figure:toy-and-kappa (right)",
        "error against step for several hardware condition numbers",
        kappa::run,
    ),
    ("fig-response", "fig:response-factor", "examples of response functions", |options, _| {
        response::run(options)
    }),
    ("fig-bias", "fig:hardware-challenge", "desired and realized steps in the plane", |options, _| {
        bias::run(options)
    }),
    ("fig-shift", "fig:shift-problem", "objective and penalty before and after shifting", shift::run),
    (
        "fig-tracking",
        "arXiv:2602.21321",
        "bias with an unknown symmetric point: Residual Learning and E-RIDER beside their laws",
        tracking::run,
    ),
    (
        "fig-calibration",
        paper::REFERENCES_LABEL,
        "accuracy against the error of the symmetric point, and against the pulses of its calibration",
        calibration::run,
    ),
    (
        "table-coarse-states",
        paper::COARSE_LABEL,
        "ten states: multi-tile Residual Learning beside Tiki-Taka 1 and 2 and mixed precision, with its cost",
        later::coarse_states,
    ),
    (
        "table-wrong-references",
        paper::REFERENCES_LABEL,
        "references off by 0.4 ± 0.4, five states: E-RIDER beside Tiki-Taka 2 and AGAD, with its cost",
        later::wrong_references,
    ),
    ("table-bounds", paper::BOUNDS_LABEL, "upper and lower bounds beside measurements", bounds::run),
    ("fig-mnist", paper::MNIST_CURVES_LABEL, "accuracy curves of the FCN and the CNN on MNIST", mnist::run),
    ("fig-weights", paper::WEIGHTS_LABEL, "weights against their dynamic range", weights::run),
    ("table-mnist", paper::MNIST_LABEL, "FCN on MNIST: responses, shapes, radii", mnist_table::run),
    ("fig-ablation", paper::ABLATION_LABEL, "accuracy against the mixing coefficient", ablation::run),
    (
        "table-cifar-power",
        paper::CIFAR_POWER_LABEL,
        "fine-tuned ResNets on CIFAR, power response",
        cifar::power,
    ),
    ("table-cifar-exp", paper::CIFAR_EXPONENTIAL_LABEL, "the same, exponential response", cifar::exponential),
];

/// Their names.
pub const NAMES: [&str; FIGURES.len()] = {
    let mut names = [""; FIGURES.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = FIGURES[i].0;
        i += 1;
    }
    names
};

/// What every figure and table shows, a line each.
pub fn overview() -> String {
    let line = |(name, _, about, _): &(&str, &str, &str, Run)| format!("  {name:<22} {about}\n");
    FIGURES.iter().map(line).collect()
}

/// The label that a figure or table has in the paper.
pub fn paper_label(name: &str) -> &'static str {
    FIGURES.iter().find(|figure| figure.0 == name).map_or("", |figure| figure.1)
}

/// How much work to spend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Fewer replicas, instances, epochs and seeds, the same settings otherwise; under an hour for everything.
    Quick,
    /// The numbers to publish.
    #[default]
    Full,
}

/// Options of a reproduction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReproduceOptions {
    /// Seed of every random number; networks with several seeds count from it on.
    pub seed: u64,
    /// Replicas of `fig-toy`; the profile decides if not given.
    pub replicas: Option<usize>,
    /// How much work to spend.
    pub profile: Profile,
    /// Where networks find their data, and where they are kept.
    pub networks: NetworkOptions,
}

/// One claim beside our numbers. Plain text, fit for a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The claim, in one sentence.
    pub statement: String,
    /// What the paper says.
    pub paper: String,
    /// What we measured.
    pub ours: String,
    /// How the two compare; computed from the numbers, not written down beforehand.
    pub verdict: PaperVerdict,
    /// A further note; may be empty.
    pub note: String,
}

/// A figure or table with everything behind it.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// One of [`NAMES`].
    pub name: &'static str,
    /// The figure, where there is one to draw.
    pub figure: Option<Figure>,
    /// Time to train its networks, now or earlier.
    pub training_seconds: f64,
    /// CSV files: stem of the file name, and bytes.
    pub tables: Vec<(String, Vec<u8>)>,
    /// TOML text: every number that was chosen, the seed and the version.
    pub settings: String,
    /// A small table for a terminal; may be empty.
    pub summary: String,
    /// The paper's claims beside our numbers.
    pub findings: Vec<Finding>,
}

impl Reproduction {
    /// The findings for a terminal.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n{}", self.name, self.summary);
        for f in &self.findings {
            let _ = writeln!(text, "\n  {} [{}]", f.statement, f.verdict.words());
            for (label, words) in [("paper", &f.paper), ("ours", &f.ours), ("note", &f.note)] {
                if !words.is_empty() {
                    let _ = writeln!(text, "    {label:<6} {words}");
                }
            }
        }
        text
    }

    /// Name, settings and findings as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({ "name": self.name, "settings": self.settings, "findings": self.findings })
    }

    /// Writes the figure, if there is one, as `NAME.svg` and so on, the tables as `STEM.csv` and the settings as `NAME.toml`, each whole or not at
    /// all, and returns the paths in this order.
    ///
    /// # Errors
    /// If the picture cannot be rasterised (nothing is written then) or a file cannot be written.
    pub fn save(&self, dir: &Path, formats: &[FigureFormat]) -> Result<Vec<PathBuf>, FigureError> {
        let mut paths = Vec::new();
        if let Some(figure) = &self.figure {
            paths.extend(save_figure(figure, dir, self.name, formats)?);
        }
        let texts = self.tables.iter().map(|(stem, bytes)| (format!("{stem}.csv"), bytes.as_slice()));
        for (file, bytes) in texts.chain([(format!("{}.toml", self.name), self.settings.as_bytes())]) {
            let path = dir.join(file);
            write_atomic(&path, bytes)?;
            paths.push(path);
        }
        Ok(paths)
    }
}

/// Why a figure or table could not be reproduced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// Nothing has this name.
    #[error("name must be one of {}, got {name:?}", NAMES.join(", "))]
    Unknown {
        /// The name as given.
        name: String,
    },
    /// A device, rule or problem could not be built from the options.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// An array refused a step.
    #[error(transparent)]
    Step(#[from] residuum::StepError),
    /// A prediction could not be made.
    #[error(transparent)]
    Theory(#[from] TheoryError),
    /// A table could not be written as CSV.
    #[error("table must be writable as CSV: {0}")]
    Table(#[from] csv::Error),
    /// The settings could not be written as TOML.
    #[error("settings must be writable as TOML: {0}")]
    Settings(#[from] toml::ser::Error),
    /// A shipped experiment could not be read.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The store could not be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Networks could not be trained.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// The bounds could not be measured.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// A simulation could not be done.
    #[error(transparent)]
    Simulation(ClaimError),
    /// The listener asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// What both have is the same: a run that the user stopped is stopped, not failed.
impl From<ClaimError> for ReproduceError {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::Parameter(error) => error.into(),
            ClaimError::Step(error) => error.into(),
            ClaimError::Theory(error) => error.into(),
            ClaimError::Cancelled(cancelled) => cancelled.into(),
            error => Self::Simulation(error),
        }
    }
}

/// Rejects names that are not in [`NAMES`], before any work is done.
///
/// # Errors
/// The first unknown name.
pub fn check_names(names: &[&str]) -> Result<(), ReproduceError> {
    match names.iter().find(|name| !NAMES.contains(name)) {
        Some(name) => Err(ReproduceError::Unknown { name: (*name).to_owned() }),
        None => Ok(()),
    }
}

/// Runs one figure or table of [`NAMES`].
///
/// # Errors
/// If the name is unknown, an option is impossible, or `progress` asks to stop.
pub fn reproduce(
    name: &str,
    options: &ReproduceOptions,
    progress: &dyn Progress,
) -> Result<Reproduction, ReproduceError> {
    match FIGURES.iter().find(|figure| figure.0 == name) {
        Some((_, _, _, run)) => run(options, progress),
        None => Err(ReproduceError::Unknown { name: name.to_owned() }),
    }
}

/// The root of a figure's random numbers: figures do not share draws.
fn key(name: &str, options: &ReproduceOptions) -> Key {
    Key::new(options.seed).named(name)
}

/// The settings of one figure with the options they were run under.
fn settings<S: Serialize>(
    name: &str,
    options: &ReproduceOptions,
    settings: &S,
) -> Result<String, ReproduceError> {
    #[derive(Serialize)]
    struct Document<'a, S> {
        figure: &'a str,
        version: &'static str,
        seed: String,
        profile: Profile,
        settings: &'a S,
    }
    let document = Document {
        figure: name,
        version: env!("CARGO_PKG_VERSION"),
        // TOML integers end at i64::MAX, seeds do not.
        seed: options.seed.to_string(),
        profile: options.profile,
        settings,
    };
    Ok(toml::to_string(&document)?)
}

/// Rows with named fields as CSV, the names as its first line.
fn table<R: Serialize>(stem: &str, rows: &[R]) -> Result<(String, Vec<u8>), ReproduceError> {
    let mut bytes = Vec::new();
    let mut writer = csv::Writer::from_writer(&mut bytes);
    for row in rows {
        writer.serialize(row)?;
    }
    writer.flush().map_err(csv::Error::from)?;
    drop(writer);
    Ok((stem.to_owned(), bytes))
}
