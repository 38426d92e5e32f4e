//! Figures, which notebooks show.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use residuum_lab::figure::Figure;
use residuum_lab::files::write_atomic;

use crate::error::{Failure, refuse};

/// A figure. Notebooks show it; `save` writes it.
#[pyclass(name = "Figure", frozen, module = "residuum")]
#[derive(Debug)]
pub struct PyFigure(pub Figure);

#[pymethods]
impl PyFigure {
    /// The figure as SVG.
    fn to_svg(&self) -> String {
        self.0.to_svg()
    }

    /// The figure as PNG; `scale` pixels for each unit of the page.
    #[pyo3(signature = (scale = 2.0))]
    fn to_png<'py>(&self, py: Python<'py>, scale: f64) -> Result<Bound<'py, PyBytes>, Failure> {
        let png = py.detach(|| self.0.to_png(scale))?;
        Ok(PyBytes::new(py, &png))
    }

    /// Writes the figure to a file that ends in .svg or .png.
    fn save(&self, py: Python<'_>, path: PathBuf) -> Result<(), Failure> {
        py.detach(|| {
            let bytes = match path.extension().and_then(|e| e.to_str()) {
                Some("svg") => self.0.to_svg().into_bytes(),
                Some("png") => self.0.to_png(2.0)?,
                _ => return Err(refuse(format!("path must end in .svg or .png, got {}", path.display()))),
            };
            Ok(write_atomic(&path, &bytes)?)
        })
    }

    fn _repr_svg_(&self) -> String {
        self.0.to_svg()
    }

    fn __repr__(&self) -> String {
        let (width, height) = self.0.size();
        format!("<residuum.Figure {width:.0} × {height:.0}>")
    }
}
