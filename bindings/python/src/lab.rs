//! Comparisons, the paper's claims, and its figures and tables.

use std::path::PathBuf;

use pyo3::prelude::*;
use residuum_lab::compare::{Attribution, Side};
use residuum_lab::files::FIGURES;
use residuum_lab::plan::seeded;
use residuum_lab::progress::Cancelled;
use residuum_lab::report::{check_metrics, trials_of};
use residuum_lab::reproduce::{
    NetworkOptions, Profile, ReproduceOptions, Reproduction, check_names, reproduce as reproduce_item,
};
use residuum_lab::source::data_root;
use residuum_lab::store::Store;
use residuum_lab::sweep::{SweepOptions, default_jobs, sweep};
use residuum_lab::verify::{VerifyOptions, VerifyReport, verify as verify_claims};

use crate::display::{Display, Listening};
use crate::error::{PyFailure, refuse};
use crate::figure::PyFigure;
use crate::spec::source;
use crate::store::PyReport;
use crate::threads::{threads, watched};
use crate::value::to_python;

/// Width of tables as text.
const WIDTH: usize = 120;

/// The effect of each difference between two specs on a metric, on the same seeds, as a report whose first table has the effects.
/// Trials are kept in the store `out`.
#[pyfunction]
#[pyo3(signature = (a, b, *, out, trial_a = None, trial_b = None, metric = None, jobs = None, seed = None, profile = None, data = None, quiet = false, show = None))]
#[allow(clippy::too_many_arguments)]
pub fn compare(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    out: PathBuf,
    trial_a: Option<String>,
    trial_b: Option<String>,
    metric: Option<String>,
    jobs: Option<usize>,
    seed: Option<u64>,
    profile: Option<String>,
    data: Option<PathBuf>,
    quiet: bool,
    show: Option<Py<PyAny>>,
) -> Result<PyReport, PyFailure> {
    let (first, second) = (source(a)?, source(b)?);
    let display = Display::new(quiet, show);
    let threads = threads();
    let done = watched(
        py,
        |watch| {
            let data = data_root(data.as_deref());
            let side_a = Side { document: &first.document, base: &first.base, trial: trial_a.as_deref() };
            let side_b = Side { document: &second.document, base: &second.base, trial: trial_b.as_deref() };
            let mut attribution = Attribution::new(side_a, side_b, &data, profile.as_deref(), "compare")?;
            if let Some(seed) = seed {
                for point in &mut attribution.points {
                    point.plans = seeded(&point.plans, seed);
                }
            }
            let store = Store::create(&out)?;
            let plans = attribution.plans();
            let options = SweepOptions {
                jobs: jobs.unwrap_or_else(|| default_jobs(&plans, threads)),
                threads,
                ..SweepOptions::new(data)
            };
            let summary = sweep(&plans, &store, &options, &Listening { display: &display, watch })?;
            if summary.interrupted {
                return Err(Cancelled.into());
            }
            if let Some(failed) = summary.failed.first() {
                return Err(refuse(format!("seed {}: {}", failed.seed, failed.sentence)));
            }
            let trials = trials_of(&plans, &store)?;
            check_metrics(&trials, metric.as_slice())?;
            Ok::<_, PyFailure>(attribution.report(&trials, metric.as_deref(), "A and B"))
        },
        |py| display.tick(py),
    );
    display.finish(py)?;
    Ok(PyReport(done??))
}

/// Measures the paper's definitions, lemmas and theorems, all or some by name.
#[pyfunction]
#[pyo3(signature = (*claims, quick = false, seed = 0, quiet = false, show = None))]
pub fn verify(
    py: Python<'_>,
    claims: Vec<String>,
    quick: bool,
    seed: u64,
    quiet: bool,
    show: Option<Py<PyAny>>,
) -> Result<PyVerification, PyFailure> {
    let display = Display::new(quiet, show);
    let options = VerifyOptions { seed, quick };
    let done = watched(
        py,
        |watch| verify_claims(&claims, &options, &Listening { display: &display, watch }),
        |py| display.tick(py),
    );
    display.finish(py)?;
    Ok(PyVerification(done??))
}

/// The claims of the paper, each with its checks.
#[pyclass(name = "Verification", frozen, module = "residuum")]
#[derive(Debug)]
pub struct PyVerification(VerifyReport);

#[pymethods]
impl PyVerification {
    /// Whether every check passed.
    #[getter]
    fn passed(&self) -> bool {
        self.0.passed()
    }

    /// Every check as dicts and lists.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.0.to_json())
    }

    fn __str__(&self) -> String {
        self.0.to_text(WIDTH)
    }

    fn __repr__(&self) -> String {
        self.0.to_text(WIDTH)
    }
}

/// Makes one figure or table of the paper, its numbers beside ours. With `out`, its files are written there.
#[pyfunction]
#[pyo3(signature = (name, *, profile = "full", seed = 0, out = None, store = None, jobs = None, data = None, quiet = false, show = None))]
#[allow(clippy::too_many_arguments)]
pub fn reproduce(
    py: Python<'_>,
    name: String,
    profile: &str,
    seed: u64,
    out: Option<PathBuf>,
    store: Option<PathBuf>,
    jobs: Option<usize>,
    data: Option<PathBuf>,
    quiet: bool,
    show: Option<Py<PyAny>>,
) -> Result<PyReproduction, PyFailure> {
    check_names(&[&name])?;
    let profile = match profile {
        "quick" => Profile::Quick,
        "full" => Profile::Full,
        other => return Err(refuse(format!("profile must be \"quick\" or \"full\", got {other:?}"))),
    };
    if jobs == Some(0) {
        return Err(refuse("jobs must be at least 1, got 0"));
    }
    let folder = out.clone().unwrap_or_else(|| "residuum-out".into());
    let networks = NetworkOptions {
        data_root: data_root(data.as_deref()),
        base: PathBuf::from("."),
        store: store.unwrap_or_else(|| folder.join("reproduce-store")),
        jobs: jobs.unwrap_or_else(threads),
        commit: residuum_cli::COMMIT.map(String::from),
    };
    let options = ReproduceOptions { seed, replicas: None, profile, networks };
    let display = Display::new(quiet, show);
    let done = watched(
        py,
        |watch| {
            let item = reproduce_item(&name, &options, &Listening { display: &display, watch })?;
            let files = out.map(|out| item.save(&out, &FIGURES)).transpose()?.unwrap_or_default();
            Ok::<_, PyFailure>(PyReproduction { item, files })
        },
        |py| display.tick(py),
    );
    display.finish(py)?;
    done?
}

/// A figure or table of the paper.
#[pyclass(name = "Reproduction", frozen, module = "residuum")]
#[derive(Debug)]
pub struct PyReproduction {
    item: Reproduction,
    files: Vec<PathBuf>,
}

#[pymethods]
impl PyReproduction {
    /// The figure, where there is one to draw.
    #[getter]
    fn figure(&self) -> Option<PyFigure> {
        self.item.figure.clone().map(PyFigure)
    }

    /// The paper's claims beside our numbers, with a verdict on each.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.item.to_json()["findings"])
    }

    /// The files that were written.
    #[getter]
    fn files(&self) -> Vec<PathBuf> {
        self.files.clone()
    }

    fn _repr_html_(&self) -> String {
        let text = self.item.to_text().replace('&', "&amp;").replace('<', "&lt;");
        let figure = self.item.figure.as_ref().map_or_else(String::new, |figure| figure.to_svg());
        format!("{figure}<pre>{text}</pre>")
    }

    fn __str__(&self) -> String {
        self.item.to_text()
    }

    fn __repr__(&self) -> String {
        format!("<residuum.Reproduction {:?}>", self.item.name)
    }
}
