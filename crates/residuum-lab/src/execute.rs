//! A run from its plans to its table: the trials that are not in the store yet, and what all of them show.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use thiserror::Error;

use crate::explain::{MissingData, missing_data};
use crate::figure::FigureFormat;
use crate::files::{FigureError, save_figure};
use crate::plan::{Plan, points};
use crate::report::{RunOutcome, StoredTrial, trials_of};
use crate::store::{Store, StoreError, TrialState};
use crate::sweep::{FailedTrial, Listener, SweepError, SweepOptions, SweepSummary, sweep};

/// Default folder for stores.
const RUNS: &str = "runs";
/// Most points for which a table is made; for more, use `residuum report`.
const MOST_POINTS: usize = 400;

/// A run that cannot start or end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// A data set is missing.
    #[error("{0}")]
    Data(MissingData),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The trials cannot be run.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// The figure cannot be written.
    #[error(transparent)]
    Figure(#[from] FigureError),
}

/// What a run did, and the trials of its spec that are done.
#[derive(Debug)]
pub struct Execution {
    /// For tables and figures.
    pub title: String,
    /// Name of the experiment.
    pub experiment: String,
    /// Where the trials are.
    pub store: Store,
    /// What was done now and before.
    pub summary: SweepSummary,
    /// The finished trials, in the order of the plans; none where there are too many points for a table.
    pub trials: Vec<StoredTrial>,
    /// The figure, in each format that was asked for.
    pub files: Vec<PathBuf>,
}

/// The store of plans for which none is given.
pub fn default_store(plans: &[Plan]) -> PathBuf {
    Path::new(RUNS).join(plans.first().map_or("run", |plan| &plan.experiment))
}

/// Runs the trials that are not in the store at `path` yet, and looks at all of them.
///
/// # Errors
/// If data are missing, or the store cannot be used. A failed trial is no error.
pub fn execute(
    plans: &[Plan],
    path: &Path,
    options: &SweepOptions,
    listener: &dyn Listener,
) -> Result<Execution, ExecuteError> {
    refuse_missing_data(plans, path, &options.data_root)?;
    let store = Store::create(path)?;
    let summary = sweep(plans, &store, options, listener)?;
    look(plans, store, summary, &options.figures)
}

/// Looks at the trials of a store after `summary` was done to it, and draws the figure.
///
/// # Errors
/// If a trial cannot be read or the figure cannot be written.
pub fn look(
    plans: &[Plan],
    store: Store,
    summary: SweepSummary,
    formats: &[FigureFormat],
) -> Result<Execution, ExecuteError> {
    let experiment = plans.first().map_or_else(String::new, |plan| plan.experiment.clone());
    let title = plans.first().and_then(|plan| plan.title.clone()).unwrap_or_else(|| experiment.clone());
    // A longer table would fill pages, and reading all records for it would take long.
    let trials = if points(plans).count() <= MOST_POINTS { trials_of(plans, &store)? } else { Vec::new() };
    let mut execution = Execution { title, experiment, store, summary, trials, files: Vec::new() };
    if let Some(figure) = execution.outcome().as_ref().and_then(RunOutcome::figure) {
        execution.files = save_figure(&figure, execution.store.path(), &execution.experiment, formats)?;
    }
    Ok(execution)
}

/// Refuses to start without the data.
fn refuse_missing_data(plans: &[Plan], path: &Path, root: &Path) -> Result<(), ExecuteError> {
    let store = Store::open(path).ok();
    let is_open = |plan: &&Plan| store.as_ref().is_none_or(|s| s.state(&plan.id()) != TrialState::Done);
    let open: Vec<Plan> = plans.iter().filter(is_open).cloned().collect();
    match missing_data(&open, root).into_iter().next() {
        Some(missing) => Err(ExecuteError::Data(missing)),
        None => Ok(()),
    }
}

impl Execution {
    /// The trials side by side; none if there are none, or the run was interrupted.
    pub fn outcome(&self) -> Option<RunOutcome<'_>> {
        RunOutcome::new(&self.title, &self.trials).filter(|_| !self.summary.interrupted)
    }

    /// Table, sentences, failures and counts, for a terminal.
    pub fn to_text(&self) -> String {
        let SweepSummary { total, done, already, elsewhere, failed, .. } = &self.summary;
        let mut text = self.outcome().map_or_else(String::new, |outcome| outcome.to_text() + "\n");
        for FailedTrial { id, labels, seed, sentence, kept } in failed {
            let again = if *kept { "" } else { "; run the same command to retry" };
            let _ = writeln!(text, "failed: {} ({}): {sentence}{again}", words(labels, *seed), short_id(id));
        }
        let missing = total - done - already - elsewhere - failed.len();
        let mut parts = vec![format!("{done} done"), format!("{already} already done")];
        if *elsewhere > 0 {
            parts.push(format!("{elsewhere} run by another process"));
        }
        if !failed.is_empty() {
            parts.push(format!("{} failed", failed.len()));
        }
        if missing > 0 {
            parts.push(format!("{missing} left"));
        }
        let trials = if *total == 1 { "trial" } else { "trials" };
        let store = self.store.path().display();
        let _ = writeln!(text, "{total} {trials}: {}; in {store}", parts.join(", "));
        if !self.files.is_empty() {
            let files: Vec<String> = self.files.iter().map(|f| f.display().to_string()).collect();
            let _ = writeln!(text, "written: {}", files.join(", "));
        }
        text
    }

    /// The same for other programs.
    pub fn to_json(&self) -> Value {
        let summary = &self.summary;
        let failed = |f: &FailedTrial| json!({ "id": f.id, "labels": f.labels, "seed": f.seed, "sentence": f.sentence, "kept": f.kept });
        let outcome = self.outcome();
        json!({
            "schema": "residuum.run/2",
            "version": env!("CARGO_PKG_VERSION"),
            "experiment": self.experiment,
            "title": self.title,
            "store": self.store.path(),
            "total": summary.total,
            "done": summary.done,
            "already": summary.already,
            "elsewhere": summary.elsewhere,
            "failed": summary.failed.iter().map(failed).collect::<Vec<_>>(),
            "interrupted": summary.interrupted,
            "findings": outcome.as_ref().map(RunOutcome::findings).unwrap_or_default(),
            "trials": outcome.as_ref().map(RunOutcome::to_json).unwrap_or_default(),
            "files": self.files,
        })
    }
}

/// A trial's labels and seed, as text.
pub fn words(labels: &[(String, String)], seed: u64) -> String {
    let labels = labels.iter().map(|(name, value)| format!("{name}={value}"));
    labels.chain([format!("seed={seed}")]).collect::<Vec<_>>().join(" ")
}

/// The start of an id: enough to tell the trials of one store apart.
pub fn short_id(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}
