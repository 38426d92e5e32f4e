//! The paper's optimisation-level figures, run again: the figure, its numbers, its settings, and what they say of
//! the paper's claims.
//!
//! | name | paper | shows |
//! |---|---|---|
//! | `fig-toy` | `figure:toy-and-kappa`, left and middle | where Analog SGD and Residual Learning end under noise |
//! | `fig-kappa` | `figure:toy-and-kappa`, right | Residual Learning under growing κ₂ |
//! | `fig-response` | `fig:response-factor` | response functions, their asymmetry and its potential |
//! | `fig-bias` | `fig:hardware-challenge` | desired and realized steps in the plane |
//! | `fig-shift` | `fig:shift-problem` | the shifted problem and its penalty |
//!
//! Everything follows from the name and the [`Options`]: no clock, no thread count, no machine enters a number.

mod bias;
mod kappa;
mod response;
mod shift;
mod toy;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use residuum::theory::TheoryError;
use residuum::{Key, ParameterError};
use serde::Serialize;

use crate::figure::{Figure, FigureError};
use crate::files::write_atomic;
use crate::progress::{Cancelled, Progress};

/// Every figure that can be reproduced.
pub const NAMES: [&str; 5] = ["fig-toy", "fig-kappa", "fig-response", "fig-bias", "fig-shift"];

/// How much work to spend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Seconds: fewer replicas and instances, the same settings otherwise.
    Quick,
    /// The numbers to publish.
    #[default]
    Full,
}

/// What a reproduction may be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Seed of every random number.
    pub seed: u64,
    /// Replicas of `fig-toy`; the profile decides if not given.
    pub replicas: Option<usize>,
    /// How much work to spend.
    pub profile: Profile,
}

/// How a claim of the paper fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// The numbers support it.
    Agrees,
    /// The numbers contradict it.
    Differs,
    /// The paper does not speak of it.
    NotStated,
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
    pub verdict: Verdict,
    /// What a reader should know besides; may be empty.
    pub note: String,
}

/// A figure with everything that is behind it.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// One of [`NAMES`].
    pub name: &'static str,
    /// The figure.
    pub figure: Figure,
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

    /// Writes `NAME.svg`, `NAME.png`, the tables as `STEM.csv` and the settings as `NAME.toml`, each whole or not at
    /// all, and returns the paths in this order.
    ///
    /// # Errors
    /// If the picture cannot be rasterised (nothing is written then) or a file cannot be written.
    pub fn save(&self, dir: &Path) -> Result<Vec<PathBuf>, FigureError> {
        let (svg, png) = self.figure.save(dir, self.name)?;
        let mut paths = vec![svg, png];
        let texts = self.tables.iter().map(|(stem, bytes)| (format!("{stem}.csv"), bytes.as_slice()));
        for (file, bytes) in texts.chain([(format!("{}.toml", self.name), self.settings.as_bytes())]) {
            let path = dir.join(file);
            write_atomic(&path, bytes)?;
            paths.push(path);
        }
        Ok(paths)
    }
}

impl Verdict {
    /// The words of the table.
    pub fn words(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::NotStated => "not stated in the paper",
        }
    }
}

/// Why a figure could not be reproduced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// No figure has this name.
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
    /// The listener asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Refuses names that are not in [`NAMES`], before any work is done.
///
/// # Errors
/// The first unknown name.
pub fn check_names(names: &[&str]) -> Result<(), ReproduceError> {
    match names.iter().find(|name| !NAMES.contains(name)) {
        Some(name) => Err(ReproduceError::Unknown { name: (*name).to_owned() }),
        None => Ok(()),
    }
}

/// Runs one figure of [`NAMES`].
///
/// # Errors
/// If the name is unknown, an option is impossible, or `progress` asks to stop.
pub fn reproduce(
    name: &str,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Reproduction, ReproduceError> {
    match name {
        "fig-toy" => toy::run(options, progress),
        "fig-kappa" => kappa::run(options, progress),
        "fig-response" => response::run(options),
        "fig-bias" => bias::run(options),
        "fig-shift" => shift::run(options, progress),
        _ => Err(ReproduceError::Unknown { name: name.to_owned() }),
    }
}

/// The root of a figure's random numbers: figures do not share draws.
fn key(name: &str, options: &Options) -> Key {
    Key::new(options.seed).named(name)
}

/// The settings of one figure with the options they were run under.
fn settings<S: Serialize>(name: &str, options: &Options, settings: &S) -> Result<String, ReproduceError> {
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
