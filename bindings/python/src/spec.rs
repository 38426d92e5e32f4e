//! Specs: read, explained and run.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use residuum_lab::execute::{Execution, default_store, execute};
use residuum_lab::explain::{Explanation, missing_data};
use residuum_lab::plan::{Plan, points, selected};
use residuum_lab::progress::Cancelled;
use residuum_lab::report::RunOutcome;
use residuum_lab::source::{SpecSource, data_root};
use residuum_lab::sweep::{SweepOptions, default_jobs};

use crate::display::{Display, Listening};
use crate::error::{PyFailure, refuse};
use crate::figure::PyFigure;
use crate::records::PyRecords;
use crate::store::PyStore;
use crate::threads::{compute, threads, watched};
use crate::value::{from_python, to_python};

/// A dict is a spec; text or a path names a file or a built-in experiment.
pub fn source(spec: &Bound<'_, PyAny>) -> Result<SpecSource, PyFailure> {
    if spec.cast::<PyDict>().is_ok() {
        return Ok(SpecSource::of_values(&from_python(spec, "")?)?);
    }
    let path: PathBuf = spec
        .extract()
        .map_err(|_| refuse("spec must be a dict, the path of a file or the name of a built-in experiment"))?;
    let Some(name) = path.to_str() else { return Err(refuse("spec must be a path in Unicode")) };
    Ok(SpecSource::open(name)?)
}

/// How a spec is read.
pub struct Reading {
    pub profile: Option<String>,
    pub seed: Option<u64>,
    pub variant: Vec<String>,
    pub data: Option<PathBuf>,
    /// Ids of the trials to take; all if there are none.
    pub only: Vec<String>,
}

impl Reading {
    pub fn plans(&self, source: &SpecSource) -> Result<Vec<Plan>, PyFailure> {
        let root = data_root(self.data.as_deref());
        let plans = source.plans(&root, self.profile.as_deref(), self.seed)?;
        let mut plans = selected(plans, &self.variant)?;
        if !self.only.is_empty() {
            plans.retain(|plan| self.only.contains(&plan.id()));
            if plans.len() != self.only.len() {
                let (found, asked) = (plans.len(), self.only.len());
                return Err(refuse(format!(
                    "only must name trials of the spec by their ids, got {asked} of which it has {found}"
                )));
            }
        }
        Ok(plans)
    }
}

/// Runs the trials of a spec that are not in the store yet. `show` is called with lines of progress if it is given.
#[pyfunction]
#[pyo3(signature = (spec, *, out = None, jobs = None, seed = None, profile = None, variant = Vec::new(), shard = None, only = Vec::new(), data = None, quiet = false, show = None))]
#[allow(clippy::too_many_arguments)]
pub fn run(
    py: Python<'_>,
    spec: &Bound<'_, PyAny>,
    out: Option<PathBuf>,
    jobs: Option<usize>,
    seed: Option<u64>,
    profile: Option<String>,
    variant: Vec<String>,
    shard: Option<(usize, usize)>,
    only: Vec<String>,
    data: Option<PathBuf>,
    quiet: bool,
    show: Option<Py<PyAny>>,
) -> Result<PyRun, PyFailure> {
    let source = source(spec)?;
    let reading = Reading { profile, seed, variant, data, only };
    let display = Display::new(quiet, show);
    let threads = threads();
    let done = watched(
        py,
        |watch| {
            let plans = reading.plans(&source)?;
            let store = out.unwrap_or_else(|| default_store(&plans));
            let options = SweepOptions {
                jobs: jobs.unwrap_or_else(|| default_jobs(&plans, threads)),
                threads,
                shard,
                commit: residuum_cli::COMMIT.map(String::from),
                ..SweepOptions::new(data_root(reading.data.as_deref()))
            };
            Ok::<_, PyFailure>(execute(&plans, &store, &options, &Listening { display: &display, watch })?)
        },
        |py| display.tick(py),
    );
    display.finish(py)?;
    let execution = done??;
    if execution.summary.interrupted {
        return Err(Cancelled.into());
    }
    Ok(PyRun { execution })
}

/// The trials of a spec in their order: id, name of the point, seed.
#[pyfunction]
#[pyo3(signature = (spec, *, seed = None, profile = None, variant = Vec::new(), data = None))]
pub fn trials(
    py: Python<'_>,
    spec: &Bound<'_, PyAny>,
    seed: Option<u64>,
    profile: Option<String>,
    variant: Vec<String>,
    data: Option<PathBuf>,
) -> Result<Vec<(String, String, u64)>, PyFailure> {
    let source = source(spec)?;
    let reading = Reading { profile, seed, variant, data, only: Vec::new() };
    let plans = compute(py, || reading.plans(&source))??;
    Ok(plans.into_iter().map(|plan| (plan.id(), plan.name, plan.seed)).collect())
}

/// A spec as a dict that needs no file; files that it names stay where they are.
#[pyfunction]
pub fn spec_values<'py>(py: Python<'py>, spec: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, PyFailure> {
    let source = source(spec)?;
    let mut values = source.document.to_value();
    if let Some(fields) = values.as_object_mut() {
        fields.entry("name").or_insert_with(|| source.stem.into());
    }
    Ok(to_python(py, &values)?)
}

/// Reads the whole grid of a spec and says what is in it; a fault is an exception.
#[pyfunction]
#[pyo3(signature = (spec, *, seed = None, profile = None, data = None))]
pub fn check<'py>(
    py: Python<'py>,
    spec: &Bound<'py, PyAny>,
    seed: Option<u64>,
    profile: Option<String>,
    data: Option<PathBuf>,
) -> Result<Bound<'py, PyDict>, PyFailure> {
    let source = source(spec)?;
    let reading = Reading { profile, seed, variant: Vec::new(), data, only: Vec::new() };
    let (plans, missing) = compute(py, || {
        let plans = reading.plans(&source)?;
        let missing = missing_data(&plans, &data_root(reading.data.as_deref()));
        Ok::<_, PyFailure>((plans, missing))
    })??;
    let found = PyDict::new(py);
    found.set_item("experiment", &plans[0].experiment)?;
    found.set_item("points", points(&plans).count())?;
    found.set_item("trials", plans.len())?;
    found.set_item("missing_data", missing.iter().map(|m| m.set.clone()).collect::<Vec<_>>())?;
    Ok(found)
}

/// Says what a spec will do: every parameter in use, effective rates, trials, time and memory.
#[pyfunction]
#[pyo3(signature = (spec, *, seed = None, profile = None, jobs = None, data = None))]
pub fn explain(
    py: Python<'_>,
    spec: &Bound<'_, PyAny>,
    seed: Option<u64>,
    profile: Option<String>,
    jobs: Option<usize>,
    data: Option<PathBuf>,
) -> Result<PyExplanation, PyFailure> {
    let source = source(spec)?;
    let reading = Reading { profile, seed, variant: Vec::new(), data, only: Vec::new() };
    let threads = threads();
    let explanation = watched(
        py,
        |_| {
            let plans = reading.plans(&source)?;
            let jobs = jobs.unwrap_or_else(|| default_jobs(&plans, threads));
            Ok::<_, PyFailure>(Explanation::new(&plans, &data_root(reading.data.as_deref()), jobs))
        },
        |_| Ok(()),
    )??;
    Ok(PyExplanation { explanation })
}

/// What a spec will do.
#[pyclass(name = "Explanation", frozen, module = "residuum")]
#[derive(Debug)]
pub struct PyExplanation {
    explanation: Explanation,
}

#[pymethods]
impl PyExplanation {
    /// Everything as dicts and lists.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.explanation.to_json())
    }

    fn __str__(&self) -> String {
        self.explanation.to_text()
    }

    fn __repr__(&self) -> String {
        self.explanation.to_text()
    }
}

/// A run: what was done, its table, records and figure.
#[pyclass(name = "Run", frozen, module = "residuum")]
#[derive(Debug)]
pub struct PyRun {
    execution: Execution,
}

#[pymethods]
impl PyRun {
    /// Where the trials are.
    #[getter]
    fn store(&self) -> PyStore {
        PyStore::new(self.execution.store.clone())
    }

    /// Name of the experiment.
    #[getter]
    fn experiment(&self) -> &str {
        &self.execution.experiment
    }

    /// The experiment in words.
    #[getter]
    fn title(&self) -> &str {
        &self.execution.title
    }

    /// Counts of trials: `total`, `done` now, `already` done, run `elsewhere`.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (counts, summary) = (PyDict::new(py), &self.execution.summary);
        counts.set_item("total", summary.total)?;
        counts.set_item("done", summary.done)?;
        counts.set_item("already", summary.already)?;
        counts.set_item("elsewhere", summary.elsewhere)?;
        Ok(counts)
    }

    /// Trials without a result, each with `id`, `labels`, `seed`, `sentence` and whether the store keeps it as failed.
    #[getter]
    fn failed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.execution.to_json()["failed"])
    }

    /// The table at the end of the run, as text.
    #[getter]
    fn table(&self) -> String {
        self.execution.outcome().map_or_else(String::new, |outcome| outcome.table().to_text())
    }

    /// What was seen, in sentences.
    #[getter]
    fn findings(&self) -> Vec<String> {
        self.execution.outcome().map_or_else(Vec::new, |outcome| outcome.findings())
    }

    /// Everything as dicts and lists, as `residuum run --json` prints it.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.execution.to_json())
    }

    /// Curves of the trials, if there is something to draw.
    #[getter]
    fn figure(&self) -> Option<PyFigure> {
        self.execution.outcome().as_ref().and_then(RunOutcome::figure).map(PyFigure)
    }

    /// The records of this run's trials.
    #[getter]
    fn records(&self, py: Python<'_>) -> PyRecords {
        py.detach(|| PyRecords::new(&self.execution.trials))
    }

    /// The records as a polars.DataFrame; needs polars.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Bound::new(py, self.records(py))?.call_method0("to_polars")
    }

    /// The records as a pandas.DataFrame; needs pandas and pyarrow.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Bound::new(py, self.records(py))?.call_method0("to_pandas")
    }

    fn _repr_html_(&self) -> String {
        let text = self.execution.to_text().replace('&', "&amp;").replace('<', "&lt;");
        let figure = self.figure().map_or_else(String::new, |figure| figure.0.to_svg());
        format!("<pre>{text}</pre>{figure}")
    }

    fn __str__(&self) -> String {
        self.execution.to_text()
    }

    fn __repr__(&self) -> String {
        let (summary, store) = (&self.execution.summary, self.execution.store.path());
        format!(
            "<residuum.Run {:?}: {} trials in {}>",
            self.execution.experiment,
            summary.total,
            store.display()
        )
    }
}
