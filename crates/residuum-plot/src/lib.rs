//! Figures for papers and reports: SVG and PGF written by hand, PNG and PDF (feature `png`) painted from the same shapes.
//!
//! A [`Figure`] is a grid of cells, each a [`Panel`] (two axes) or a [`Scene`] (surfaces in a box). Everything is
//! plain data with builder methods; equal data give equal bytes. Points that are not finite are gaps, never numbers
//! on the page.
//!
//! ```
//! use residuum_plot::{Axis, Color, Figure, Line, Panel};
//!
//! let xs: Vec<f64> = (0..50).map(|k| k as f64 / 49.0).collect();
//! let ys: Vec<f64> = xs.iter().map(|w| 1.0 - w).collect();
//! let panel = Panel::new("Response")
//!     .x_axis(Axis::linear("w"))
//!     .y_axis(Axis::linear("q_{+}(w)"))
//!     .line(Line::new(xs, ys).color(Color::BLUE).label("q_{+}"));
//! let svg = Figure::new(1).panel(panel).to_svg();
//! assert!(svg.starts_with("<svg"));
//! ```

mod axis;
mod color;
mod color_bar;
mod draw;
mod field;
mod font;
#[cfg(feature = "png")]
mod format;
mod latex;
mod legend;
mod marks;
mod notes;
mod page;
mod panel;
#[cfg(feature = "png")]
mod pdf;
mod pgf;
#[cfg(feature = "png")]
mod png;
#[cfg(feature = "png")]
mod raster;
mod scene;
mod svg;
mod text;
mod ticks;
#[cfg(feature = "png")]
mod typeset;

pub use axis::Axis;
pub use color::{Color, ColorRamp};
pub use field::{Contours, Grid};
#[cfg(feature = "png")]
pub use format::FigureFormat;
pub use latex::latex_escape;
pub use legend::Legend;
pub use marks::{Band, Bars, Line, Mark, Points};
pub use notes::{Arrow, Compass, Marker, Note, ReferenceLine};
pub use page::Dash;
pub use panel::Panel;
pub use scene::{Pin, Scene, Surface};
pub use svg::{escape, swatch};
pub use ticks::Ticks;

use page::{Page, Rect};
use panel::{Margins, Plan, TITLE_SIZE};
use svg::{Svg, num};
use text::{Label, plain, width};

/// Why a figure could not be rasterised.
#[cfg(feature = "png")]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// An invalid scale.
    #[error("scale must be positive and give at most {limit} pixels a side, got {scale}")]
    Scale {
        /// The scale as given.
        scale: f64,
        /// The largest side allowed.
        limit: u32,
    },
    /// The picture could not be compressed.
    #[error("the figure must be encodable: {0}")]
    Png(#[source] std::io::Error),
}

/// The content of one cell of a figure.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Cell {
    /// A plot with two axes.
    Panel(Panel),
    /// Surfaces in a box.
    Scene(Scene),
}

impl From<Panel> for Cell {
    fn from(panel: Panel) -> Self {
        Self::Panel(panel)
    }
}

impl From<Scene> for Cell {
    fn from(scene: Scene) -> Self {
        Self::Scene(scene)
    }
}

impl Cell {
    fn title(&self) -> Option<&str> {
        match self {
            Self::Panel(panel) => panel.title.as_deref(),
            Self::Scene(scene) => scene.title.as_deref(),
        }
    }

    fn plan(&self, size: (f64, f64)) -> Planned<'_> {
        match self {
            Self::Panel(panel) => Planned::Panel(panel, Box::new(panel.plan(size))),
            Self::Scene(scene) => Planned::Scene(scene),
        }
    }
}

/// A grid of panels under an optional title.
#[derive(Clone, Debug)]
pub struct Figure {
    title: Option<String>,
    description: Option<String>,
    columns: usize,
    size: (f64, f64),
    cells: Vec<Cell>,
}

/// A cell with everything that does not depend on its neighbours.
enum Planned<'a> {
    Panel(&'a Panel, Box<Plan>),
    Scene(&'a Scene),
}

impl Figure {
    /// An empty figure with this many columns (at least one); panels fill it row by row.
    pub fn new(columns: usize) -> Self {
        Self {
            title: None,
            description: None,
            columns: columns.max(1),
            size: (420.0, 320.0),
            cells: Vec::new(),
        }
    }

    /// Sets the title above all panels (markup allowed).
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Describes the figure in words, for readers who cannot see it.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the outer size of each panel in pixels, at least 120 by 100; 420 by 320 by default.
    pub fn panel_size(mut self, width: f64, height: f64) -> Self {
        self.size = (width.max(120.0), height.max(100.0));
        self
    }

    /// Adds a [`Panel`] or a [`Scene`].
    pub fn panel(mut self, cell: impl Into<Cell>) -> Self {
        self.cells.push(cell.into());
        self
    }

    fn header(&self) -> f64 {
        if self.title.is_some() { TITLE_SIZE + 18.0 } else { 0.0 }
    }

    /// Width and height of the whole figure in pixels.
    pub fn size(&self) -> (f64, f64) {
        let columns = self.columns.min(self.cells.len()).max(1);
        let rows = self.cells.len().div_ceil(self.columns).max(1);
        (columns as f64 * self.size.0, rows as f64 * self.size.1 + self.header())
    }

    /// The figure as a self-contained SVG document; the same figure always gives the same bytes.
    pub fn to_svg(&self) -> String {
        let size = self.size();
        let (wide, high) = (num(size.0), num(size.1));
        let mut svg = Svg::default();
        svg.raw(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" viewBox=\"0 0 {wide} {high}\" \
             role=\"img\" font-family=\"DejaVu Sans, sans-serif\">"
        ));
        svg.raw(&format!("<title>{}</title>", escape(&self.spoken_title())));
        if let Some(description) = &self.description {
            svg.raw(&format!("<desc>{}</desc>", escape(&plain(description))));
        }
        svg.raw(&format!("<rect width=\"{wide}\" height=\"{high}\" fill=\"#ffffff\"/>"));
        svg.elements(&self.page().elements);
        svg.raw("</svg>");
        svg.into_body()
    }

    /// Everything on the white page, as values.
    fn page(&self) -> Page {
        let mut page = Page::default();
        if let Some(title) = &self.title {
            let label = Label::new(title, self.size().0 / 2.0, TITLE_SIZE + 9.0);
            Label { size: TITLE_SIZE + 1.0, bold: true, ..label }.draw(&mut page);
        }
        self.draw_cells(&mut page);
        page
    }

    fn draw_cells(&self, page: &mut Page) {
        let planned: Vec<Planned> = self.cells.iter().map(|cell| cell.plan(self.size)).collect();
        let margins: Vec<Margins> = planned
            .iter()
            .map(|cell| match cell {
                Planned::Panel(_, plan) => plan.margins,
                Planned::Scene(scene) => scene.margins(self.size),
            })
            .collect();
        for (index, cell) in planned.iter().enumerate() {
            let (row, column) = (index / self.columns, index % self.columns);
            let left = column as f64 * self.size.0;
            let top = self.header() + row as f64 * self.size.1;
            let shared = self.shared_margins(&margins, &planned, index);
            let rect = Rect {
                left: left + shared.left,
                top: top + shared.top,
                right: left + self.size.0 - shared.right,
                bottom: top + self.size.1 - shared.bottom,
            };
            if let Some(title) = self.cells[index].title() {
                // Above its frame; a long one may lean over its ends, and gets smaller rather than leave the panel.
                let room = self.size.0 - 8.0;
                let size = TITLE_SIZE * (room / width(title, TITLE_SIZE, true)).min(1.0);
                let half = width(title, size, true) / 2.0;
                let middle = rect.middle().0.clamp(left + 4.0 + half, left + self.size.0 - 4.0 - half);
                let label = Label::new(title, middle, top + TITLE_SIZE + 5.0);
                Label { size, bold: true, ..label }.draw(page);
            }
            match cell {
                Planned::Panel(panel, plan) => panel.draw(page, plan, rect),
                Planned::Scene(scene) => scene.draw(page, rect),
            }
        }
    }

    /// Panels of one row share top and bottom, panels of one column left and right, so that their frames line up.
    fn shared_margins(&self, margins: &[Margins], planned: &[Planned], index: usize) -> Margins {
        if matches!(planned[index], Planned::Scene(_)) {
            return margins[index];
        }
        let mut shared = margins[index];
        for (other, margin) in margins.iter().enumerate() {
            if matches!(planned[other], Planned::Scene(_)) {
                continue;
            }
            if other / self.columns == index / self.columns {
                shared.top = shared.top.max(margin.top);
                shared.bottom = shared.bottom.max(margin.bottom);
            }
            if other % self.columns == index % self.columns {
                shared.left = shared.left.max(margin.left);
                shared.right = shared.right.max(margin.right);
            }
        }
        shared
    }

    fn spoken_title(&self) -> String {
        if let Some(title) = &self.title {
            return plain(title);
        }
        let titles: Vec<String> = self.cells.iter().filter_map(Cell::title).map(plain).collect();
        if titles.is_empty() { "Figure".to_owned() } else { titles.join("; ") }
    }

    /// The figure as a PGF picture, to be `\\input` by LaTeX with `\\usepackage{pgf,amsmath}`: labels are set in the fonts of the
    /// document. The same figure always gives the same bytes.
    pub fn to_pgf(&self) -> String {
        pgf::pgf(&self.page(), self.size(), &self.spoken_title())
    }

    /// The figure as a PNG, `scale` pixels for each pixel of the SVG.
    #[cfg(feature = "png")]
    pub fn to_png(&self, scale: f64) -> Result<Vec<u8>, PngError> {
        raster::png(&self.page(), self.size(), scale)
    }

    /// The figure as a PDF of one page, of the size it has in a browser; the same figure always gives the same bytes.
    #[cfg(feature = "png")]
    pub fn to_pdf(&self) -> Result<Vec<u8>, PngError> {
        pdf::pdf(&self.page(), self.size(), &self.spoken_title()).map_err(PngError::Png)
    }
}

#[cfg(test)]
#[cfg(feature = "png")]
mod tests;
