//! Figures, which notebooks show.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use residuum_lab::figure::{Figure, FigureFormat};
use residuum_lab::files::write_atomic;

use crate::error::{PyFailure, refuse};

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
    fn to_png<'py>(&self, py: Python<'py>, scale: f64) -> Result<Bound<'py, PyBytes>, PyFailure> {
        let png = py.detach(|| self.0.to_png(scale))?;
        Ok(PyBytes::new(py, &png))
    }

    /// Writes the figure to a file that ends in .svg, .png, .pdf or .pgf (for LaTeX).
    fn save(&self, py: Python<'_>, path: PathBuf) -> Result<(), PyFailure> {
        py.detach(|| {
            let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
            let Some(format) = FigureFormat::of_extension(extension) else {
                return Err(refuse(format!(
                    "path must end in .svg, .png, .pdf or .pgf, got {}",
                    path.display()
                )));
            };
            Ok(write_atomic(&path, &self.0.render(format)?)?)
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
