//! The kinds of files that a figure can be.

use super::{Figure, PngError};

/// Pixels of a PNG for each pixel of the SVG.
const SCALE: f64 = 2.0;

/// A kind of file for a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureFormat {
    /// For browsers.
    Svg,
    /// For everything else, at twice the size.
    Png,
    /// For papers, with letters as outlines.
    Pdf,
    /// For LaTeX, with labels in the fonts of the document.
    Pgf,
}

impl FigureFormat {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Svg, Self::Png, Self::Pdf, Self::Pgf];

    /// How the names of such files end.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Pdf => "pdf",
            Self::Pgf => "pgf",
        }
    }

    /// The kind of files whose names end like this.
    pub fn of_extension(extension: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.extension() == extension)
    }
}

impl Figure {
    /// The bytes of a file of this kind; the same figure always gives the same bytes.
    ///
    /// # Errors
    /// If the figure is too large for pixels, or cannot be compressed.
    pub fn render(&self, format: FigureFormat) -> Result<Vec<u8>, PngError> {
        Ok(match format {
            FigureFormat::Svg => self.to_svg().into_bytes(),
            FigureFormat::Png => self.to_png(SCALE)?,
            FigureFormat::Pdf => self.to_pdf()?,
            FigureFormat::Pgf => self.to_pgf().into_bytes(),
        })
    }
}
