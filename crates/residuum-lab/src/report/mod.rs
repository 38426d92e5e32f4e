//! Reports: from the records of trials to publishable tables and figures.
//!
//! ```text
//! trials ─▶ study     experiments, their blocks, arms and seeds
//!             ▼
//!           ends      means with errors; paired differences, tested
//!           findings  the main finding in sentences
//!           swept     ends against a swept number
//!           curves    learning curves and densities
//!           cost      accuracy against energy and time
//!           layers    κ₂, drift, pulses, weights in their range
//!           settings  every parameter, and the time taken
//!             ▼
//!           Report ─▶ html, markdown, latex; figures in every format
//! ```
//!
//! A report only reads records and runs no trial; equal records give equal bytes.

mod cost;
mod curves;
mod ends;
mod findings;
mod html;
mod latex;
pub(crate) mod layers;
mod load;
mod markdown;
mod measure;
pub mod number;
mod outcome;
pub mod paired;
pub(crate) mod plot;
mod settings;
mod study;
mod swept;
pub mod table;

use std::path::{Path, PathBuf};

use crate::figure::FigureFormat;
use crate::files::{FigureError, save_figure};
use crate::store::{Row, StoredParameter, TrialManifest};
use ends::Contrasts;
pub(crate) use html::TABLES;
pub use load::load;
pub(crate) use measure::tail;
pub use measure::{UnknownMetric, check_metrics, end};
pub(crate) use measure::{head_of, main_metric};
pub use outcome::{RunOutcome, trials_of};
pub use plot::{Across, Chart, Form, Plot, Series};
use table::Table;

/// A trial with its records.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTrial {
    /// What it is, and how long it took.
    pub manifest: TrialManifest,
    /// Its numbers.
    pub rows: Vec<Row>,
}

/// What the bands around curves show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bands {
    /// The mean ± one standard error over seeds.
    #[default]
    StandardError,
    /// From the smallest to the largest seed.
    Range,
}

/// How a report is made.
#[derive(Clone, Debug, Default)]
pub struct ReportOptions {
    /// Title of the page; the names of the experiments by default.
    pub title: Option<String>,
    /// The label whose values are compared; `variant`, `rule.kind` or `rule` by default.
    pub compared: Option<String>,
    /// Metrics of tables and curves; those that are known by default.
    pub metrics: Vec<String>,
    /// What bands show.
    pub spread: Bands,
}

/// Tables and figures of one or more experiments.
#[derive(Clone, Debug)]
pub struct Report {
    /// Title of the page.
    pub title: String,
    /// One for each experiment.
    pub sections: Vec<Section>,
}

/// One experiment.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its name.
    pub heading: String,
    /// The main finding, in sentences with numbers.
    pub headline: Vec<String>,
    /// Its tables, the most important first.
    pub tables: Vec<Table>,
    /// Its figures.
    pub plots: Vec<Plot>,
    /// Every trial, for other programs; not shown.
    pub trials: Option<Table>,
    /// What was run, on what and for how long.
    pub provenance: Vec<(String, String)>,
    /// Every parameter.
    pub settings: SharedSettings,
}

/// The parameters of an experiment.
#[derive(Clone, Debug, Default)]
pub struct SharedSettings {
    /// Those that all trials share.
    pub shared: Vec<StoredParameter>,
    /// Those that differ: the field, and its values in words.
    pub varied: Vec<(String, String)>,
}

impl Report {
    /// A report on some trials.
    pub fn new(trials: &[StoredTrial], options: &ReportOptions) -> Self {
        let studies = study::studies(trials, options.compared.as_deref());
        let names: Vec<&str> = studies.iter().map(|s| s.name).collect();
        let title = options.title.clone().unwrap_or_else(|| names.join(", "));
        Self { title, sections: studies.iter().map(|s| section(s, options)).collect() }
    }

    /// Writes every figure in these formats into a folder and gives their paths.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save_figures(&self, dir: &Path, formats: &[FigureFormat]) -> Result<Vec<PathBuf>, FigureError> {
        let mut paths = Vec::new();
        for section in &self.sections {
            for plot in &section.plots {
                let name = format!("{}-{}", slug(&section.heading), plot.name);
                paths.extend(save_figure(&plot.figure(), dir, &name, formats)?);
            }
        }
        Ok(paths)
    }
}

fn section(study: &study::Study<'_>, options: &ReportOptions) -> Section {
    let measures = measure::measures(study, &options.metrics);
    let tested: Vec<_> = ends::tested(&measures, !options.metrics.is_empty())
        .into_iter()
        .map(|measure| (measure, Contrasts::new(study, measure)))
        .collect();
    let mut tables = vec![ends::table(study, &measures, &tested)];
    tables.extend(tested.iter().filter_map(|(measure, contrasts)| contrasts.table(study, measure)));
    tables.extend(layers::hardware(study));
    tables.extend(layers::pulses(study));
    let mut plots = swept::against(study, &tested.iter().map(|(measure, _)| *measure).collect::<Vec<_>>());
    plots.extend(curves::curves(study, options));
    plots.extend(cost::costs(study, options));
    plots.extend(curves::densities(study));
    plots.extend(layers::histograms(study));
    Section {
        heading: study.name.to_string(),
        tables,
        headline: findings::headline(study, tested.first().map(|(measure, contrasts)| (*measure, contrasts))),
        plots,
        trials: Some(settings::trials_table(study, &measures)),
        provenance: settings::provenance(study),
        settings: settings::settings(study),
    }
}

/// A name for files and anchors.
fn slug(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    text.chars().map(plain).collect()
}
