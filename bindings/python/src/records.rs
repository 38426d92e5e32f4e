//! Records of trials as Arrow columns.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use residuum_lab::report::StoredTrial;

use crate::arrow::{RecordBatch, RecordColumn, array_capsules, schema_capsule, stream_capsule};
use crate::error::PyFailure;

/// Records: one number per row, with the trial it belongs to.
///
/// polars, pandas, pyarrow and DuckDB take it as it is (`polars.DataFrame(records)`), by the Arrow PyCapsule interface and
/// without a copy. Columns: `experiment`, `trial` (its id), `name`, a column for each label (`variant`, swept fields), `seed`,
/// `epoch`, `step`, `metric`, `part`, `index`, `value`.
#[pyclass(name = "Records", frozen, module = "residuum")]
#[derive(Debug)]
pub struct PyRecords {
    batch: Arc<RecordBatch>,
}

impl PyRecords {
    pub fn new(trials: &[StoredTrial]) -> Self {
        let each = || trials.iter().flat_map(|trial| trial.rows.iter().map(move |row| (&trial.manifest, row)));
        let mut labels: Vec<&str> = Vec::new();
        for (label, _) in trials.iter().flat_map(|trial| &trial.manifest.labels) {
            if !labels.contains(&label.as_str()) {
                labels.push(label);
            }
        }
        let mut columns = vec![
            ("experiment".to_string(), RecordColumn::text(each().map(|(m, _)| m.experiment.as_str()))),
            ("trial".to_string(), RecordColumn::text(each().map(|(m, _)| m.id.as_str()))),
            ("name".to_string(), RecordColumn::text(each().map(|(m, _)| m.name.as_str()))),
        ];
        for label in labels {
            let value = |own: &'_ [(String, String)]| own.iter().position(|(name, _)| name == label);
            let words = each().map(|(m, _)| value(&m.labels).map_or("", |n| m.labels[n].1.as_str()));
            columns.push((label.to_string(), RecordColumn::text(words)));
        }
        columns.extend([
            ("seed".to_string(), RecordColumn::counts(each().map(|(m, _)| m.seed))),
            ("epoch".to_string(), RecordColumn::optional(each().map(|(_, row)| row.epoch))),
            ("step".to_string(), RecordColumn::counts(each().map(|(_, row)| row.step))),
            ("metric".to_string(), RecordColumn::text(each().map(|(_, row)| row.metric.as_str()))),
            ("part".to_string(), RecordColumn::text(each().map(|(_, row)| row.part.as_str()))),
            ("index".to_string(), RecordColumn::optional(each().map(|(_, row)| row.index))),
            ("value".to_string(), RecordColumn::F64(each().map(|(_, row)| row.value).collect())),
        ]);
        Self { batch: Arc::new(RecordBatch { columns }) }
    }
}

#[pymethods]
impl PyRecords {
    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.columns.iter().map(|(name, _)| name.clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.rows()
    }

    /// The records as a polars.DataFrame; needs polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>, PyFailure> {
        let polars = extra(slf.py(), "polars", "polars")?;
        Ok(polars.call_method1("DataFrame", (slf,))?)
    }

    /// The records as a pandas.DataFrame; needs pandas and pyarrow.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>, PyFailure> {
        let py = slf.py();
        extra(py, "pandas", "pandas")?;
        let table = extra(py, "pyarrow", "pandas")?.call_method1("table", (slf,))?;
        Ok(table.call_method0("to_pandas")?)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.batch)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The protocol lets a producer ignore what it is asked for.
        let _ = requested_schema;
        array_capsules(py, &self.batch)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        stream_capsule(py, &self.batch)
    }

    fn __repr__(&self) -> String {
        format!("<residuum.Records: {} rows of {}>", self.batch.rows(), self.columns().join(", "))
    }
}

/// A package that is not always there.
pub fn extra<'py>(py: Python<'py>, package: &str, extra: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(package).map_err(|error| {
        let sentence = format!("{package} must be installed: pip install 'residuum-analog[{extra}]'");
        let missing = pyo3::exceptions::PyImportError::new_err(sentence);
        missing.set_cause(py, Some(error));
        missing
    })
}
