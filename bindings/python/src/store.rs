//! Run stores, and reports on them.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use residuum_lab::report::{Bands, Report, ReportOptions, StoredTrial, check_metrics, load};
use residuum_lab::store::{Store, TrialState};

use crate::error::{PyFailure, refuse};
use crate::figure::PyFigure;
use crate::records::PyRecords;
use crate::threads::compute;
use crate::value::to_python;

/// A run store: a folder of trials. Opening one changes nothing in it.
#[pyclass(name = "Store", frozen, module = "residuum")]
#[derive(Debug)]
pub struct PyStore {
    store: Store,
}

impl PyStore {
    pub fn new(store: Store) -> Self {
        Self { store }
    }
}

#[pymethods]
impl PyStore {
    /// Opens the store at `path`.
    #[new]
    fn open(path: PathBuf) -> Result<Self, PyFailure> {
        Ok(Self { store: Store::open(path)? })
    }

    /// The store at `path`, for writing; made if the folder is new or empty.
    #[staticmethod]
    fn create(path: PathBuf) -> Result<Self, PyFailure> {
        Ok(Self { store: Store::create(path)? })
    }

    /// The files of a trial by their paths in its folder.
    fn files<'py>(&self, py: Python<'py>, id: &str) -> Result<Bound<'py, PyDict>, PyFailure> {
        let files = PyDict::new(py);
        for (place, bytes) in py.detach(|| self.store.files(id))? {
            files.set_item(place, PyBytes::new(py, &bytes))?;
        }
        Ok(files)
    }

    /// Takes over a trial that was run elsewhere, by its files; records are written last. Gives the state it then has.
    fn adopt(&self, py: Python<'_>, id: &str, files: &Bound<'_, PyDict>) -> Result<&'static str, PyFailure> {
        let mut all = Vec::new();
        for (place, bytes) in files {
            all.push((place.extract::<String>()?, bytes.extract::<Vec<u8>>()?));
        }
        py.detach(|| self.store.adopt(id, &all))?;
        Ok(self.state(id))
    }

    /// Its folder.
    #[getter]
    fn path(&self) -> PathBuf {
        self.store.path().into()
    }

    /// Ids of all trials in it, finished or not.
    #[getter]
    fn ids(&self) -> Result<Vec<String>, PyFailure> {
        Ok(self.store.ids()?)
    }

    /// How far a trial is: "absent", "begun", "failed" or "done".
    fn state(&self, id: &str) -> &'static str {
        match self.store.state(id) {
            TrialState::Absent => "absent",
            TrialState::Begun => "begun",
            TrialState::Failed => "failed",
            TrialState::Done => "done",
        }
    }

    /// The manifests of finished trials: what each is, every parameter, time and machine.
    #[getter]
    fn trials<'py>(&self, py: Python<'py>) -> Result<Vec<Bound<'py, PyAny>>, PyFailure> {
        let trials = py.detach(|| self.store.trials())?;
        let trial = |manifest| -> Result<_, PyFailure> { Ok(to_python(py, &serde_json::to_value(manifest)?)?) };
        trials.iter().map(trial).collect()
    }

    /// Why trials failed.
    #[getter]
    fn failures<'py>(&self, py: Python<'py>) -> Result<Vec<Bound<'py, PyAny>>, PyFailure> {
        let failures = py.detach(|| self.store.failures())?;
        let failure = |failure| -> Result<_, PyFailure> { Ok(to_python(py, &serde_json::to_value(failure)?)?) };
        failures.iter().map(failure).collect()
    }

    /// The records of all finished trials.
    #[getter]
    fn records(&self, py: Python<'_>) -> Result<PyRecords, PyFailure> {
        py.detach(|| Ok(PyRecords::new(&load(self.store.path())?)))
    }

    /// Removes a trial.
    fn remove(&self, id: &str) -> Result<(), PyFailure> {
        Ok(self.store.remove(id)?)
    }

    fn __repr__(&self) -> String {
        format!("residuum.Store({:?})", self.store.path().display().to_string())
    }
}

/// Tables with paired tests, curves and weights of stores.
#[pyfunction]
#[pyo3(signature = (*stores, title = None, by = None, metrics = Vec::new(), band = "standard error"))]
pub fn report(
    py: Python<'_>,
    stores: Vec<PathBuf>,
    title: Option<String>,
    by: Option<String>,
    metrics: Vec<String>,
    band: &str,
) -> Result<PyReport, PyFailure> {
    let spread = match band {
        "standard error" => Bands::StandardError,
        "range" => Bands::Range,
        other => return Err(refuse(format!("band must be \"standard error\" or \"range\", got {other:?}"))),
    };
    if stores.is_empty() {
        return Err(refuse("stores must name at least one store"));
    }
    compute(py, || {
        let mut trials: Vec<StoredTrial> = Vec::new();
        for store in &stores {
            trials.extend(load(store)?);
        }
        if trials.is_empty() {
            return Err(refuse("stores must hold finished trials, got none"));
        }
        check_metrics(&trials, &metrics)?;
        let options = ReportOptions { title, compared: by, metrics, spread };
        Ok(PyReport(Report::new(&trials, &options)))
    })?
}

/// Tables and figures of one or more experiments. Notebooks show it.
#[pyclass(name = "Report", frozen, module = "residuum")]
#[derive(Debug)]
pub struct PyReport(pub Report);

#[pymethods]
impl PyReport {
    /// One page with everything in it.
    fn to_html(&self) -> String {
        self.0.to_html()
    }

    /// Tables in Markdown.
    fn to_markdown(&self) -> String {
        self.0.to_markdown()
    }

    /// Tables in LaTeX.
    fn to_latex(&self) -> String {
        self.0.to_latex()
    }

    /// Writes a file that ends in .html, .md or .tex.
    fn save(&self, py: Python<'_>, path: PathBuf) -> Result<(), PyFailure> {
        let text = match path.extension().and_then(|e| e.to_str()) {
            Some("html" | "htm") => self.to_html(),
            Some("md") => self.to_markdown(),
            Some("tex") => self.to_latex(),
            _ => return Err(refuse(format!("path must end in .html, .md or .tex, got {}", path.display()))),
        };
        Ok(py.detach(|| residuum_lab::files::write_atomic(&path, text.as_bytes()))?)
    }

    /// Its figures by name.
    #[getter]
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let figures = PyDict::new(py);
        for section in &self.0.sections {
            for plot in &section.plots {
                let name = format!("{}: {}", section.heading, plot.name);
                figures.set_item(name, Bound::new(py, PyFigure(plot.figure()))?)?;
            }
        }
        Ok(figures)
    }

    /// Its tables by name, as CSV.
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = PyDict::new(py);
        for section in &self.0.sections {
            for table in &section.tables {
                tables.set_item(format!("{}: {}", section.heading, table.name), table.to_csv())?;
            }
        }
        Ok(tables)
    }

    fn _repr_markdown_(&self) -> String {
        self.to_markdown()
    }

    fn __str__(&self) -> String {
        let tables = self.0.sections.iter().flat_map(|section| &section.tables);
        tables.map(|table| table.to_text()).collect::<Vec<_>>().join("\n")
    }

    fn __repr__(&self) -> String {
        format!("<residuum.Report {:?}>", self.0.title)
    }
}
