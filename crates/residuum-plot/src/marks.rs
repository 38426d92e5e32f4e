//! Series of data that a panel can show: plain data with builder methods.

use super::color::Color;
use super::field::Contours;
use super::notes::{Arrow, Marker, Note, ReferenceLine};
use super::page::Dash;

pub(crate) const LINE_WIDTH: f64 = 1.6;

fn same_length(what: &str, expected: usize, given: usize) {
    assert!(expected == given, "{what} must have as many values as xs ({expected}), got {given}");
}

/// The setters that several marks share, written once.
macro_rules! setters {
    ($mark:ident: $($setter:ident),+) => {
        impl $mark { $(setters!(@$setter);)+ }
    };
    (@color) => {
        /// Sets the colour.
        pub fn color(mut self, color: Color) -> Self {
            self.color = color;
            self
        }
    };
    (@label) => {
        /// Names the mark in the legend (markup allowed).
        pub fn label(mut self, label: impl Into<String>) -> Self {
            self.label = Some(label.into());
            self
        }
    };
    (@opacity) => {
        /// Sets the opacity, 0 (invisible) to 1.
        pub fn opacity(mut self, opacity: f64) -> Self {
            self.opacity = opacity.clamp(0.0, 1.0);
            self
        }
    };
    (@width) => {
        /// Sets the line width in pixels.
        pub fn width(mut self, width: f64) -> Self {
            self.width = width;
            self
        }
    };
    (@dash) => {
        /// Sets how the line is broken.
        pub fn dash(mut self, dash: Dash) -> Self {
            self.dash = dash;
            self
        }
    };
    (@marker) => {
        /// Sets the shape of the points.
        pub fn marker(mut self, marker: Marker) -> Self {
            self.marker = marker;
            self
        }
    };
}
pub(crate) use setters;

/// A curve through points in order; a point that is not finite leaves a gap.
#[derive(Clone, Debug)]
pub struct Line {
    pub(crate) xs: Vec<f64>,
    pub(crate) ys: Vec<f64>,
    pub(crate) color: Color,
    pub(crate) width: f64,
    pub(crate) dash: Dash,
    pub(crate) opacity: f64,
    pub(crate) label: Option<String>,
}

impl Line {
    /// A curve through `(xs[i], ys[i])`.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn new(xs: impl Into<Vec<f64>>, ys: impl Into<Vec<f64>>) -> Self {
        let (xs, ys) = (xs.into(), ys.into());
        same_length("ys", xs.len(), ys.len());
        Self { xs, ys, color: Color::BLUE, width: LINE_WIDTH, dash: Dash::Solid, opacity: 1.0, label: None }
    }
}
setters!(Line: color, label, width, dash, opacity);

/// Separate points, with optional error bars.
#[derive(Clone, Debug)]
pub struct Points {
    pub(crate) xs: Vec<f64>,
    pub(crate) ys: Vec<f64>,
    pub(crate) errors: Option<Vec<f64>>,
    pub(crate) color: Color,
    pub(crate) marker: Marker,
    pub(crate) size: f64,
    pub(crate) hollow: bool,
    pub(crate) opacity: f64,
    pub(crate) label: Option<String>,
}

impl Points {
    /// One marker at each `(xs[i], ys[i])`.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn new(xs: impl Into<Vec<f64>>, ys: impl Into<Vec<f64>>) -> Self {
        let (xs, ys) = (xs.into(), ys.into());
        same_length("ys", xs.len(), ys.len());
        Self {
            xs,
            ys,
            errors: None,
            color: Color::BLUE,
            marker: Marker::Circle,
            size: 3.0,
            hollow: false,
            opacity: 1.0,
            label: None,
        }
    }

    /// Adds a vertical bar from `y - error` to `y + error` to each point.
    ///
    /// # Panics
    /// If the length differs from that of the points.
    pub fn errors(mut self, errors: impl Into<Vec<f64>>) -> Self {
        let errors = errors.into();
        same_length("errors", self.xs.len(), errors.len());
        self.errors = Some(errors);
        self
    }

    /// Sets the radius of the markers in pixels.
    pub fn size(mut self, size: f64) -> Self {
        self.size = size;
        self
    }

    /// Draws outlines filled with white.
    pub fn hollow(mut self) -> Self {
        self.hollow = true;
        self
    }
}
setters!(Points: color, label, marker, opacity);

/// The region between two curves: a confidence band, or a density standing on zero.
#[derive(Clone, Debug)]
pub struct Band {
    pub(crate) xs: Vec<f64>,
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
    pub(crate) stands: bool,
    pub(crate) color: Color,
    pub(crate) dash: Dash,
    pub(crate) opacity: f64,
    pub(crate) label: Option<String>,
}

impl Band {
    /// The region between `lower` and `upper`, faint and without outline.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn new(xs: impl Into<Vec<f64>>, lower: impl Into<Vec<f64>>, upper: impl Into<Vec<f64>>) -> Self {
        let (xs, lower, upper) = (xs.into(), lower.into(), upper.into());
        same_length("lower", xs.len(), lower.len());
        same_length("upper", xs.len(), upper.len());
        Self {
            xs,
            lower,
            upper,
            stands: false,
            color: Color::BLUE,
            dash: Dash::Solid,
            opacity: 0.18,
            label: None,
        }
    }

    /// The region between zero and `ys` with the curve on top: a probability density.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn area(xs: impl Into<Vec<f64>>, ys: impl Into<Vec<f64>>) -> Self {
        let (xs, ys) = (xs.into(), ys.into());
        let floor = vec![0.0; xs.len()];
        Self { stands: true, opacity: 0.25, ..Self::new(xs, floor, ys) }
    }
}
setters!(Band: color, label, dash, opacity);

/// Rectangles standing on zero, or only their outline as a step histogram.
#[derive(Clone, Debug)]
pub struct Bars {
    pub(crate) spans: Vec<(f64, f64)>,
    pub(crate) heights: Vec<f64>,
    pub(crate) steps: bool,
    pub(crate) color: Color,
    pub(crate) opacity: f64,
    pub(crate) label: Option<String>,
}

impl Bars {
    /// Adjacent bars: bar `i` reaches from `edges[i]` to `edges[i + 1]`.
    ///
    /// # Panics
    /// Unless there is exactly one more edge than heights.
    pub fn new(edges: &[f64], heights: impl Into<Vec<f64>>) -> Self {
        let heights = heights.into();
        assert!(
            edges.len() == heights.len() + 1,
            "edges must be one more than heights ({}), got {}",
            heights.len(),
            edges.len()
        );
        Self::over(edges.windows(2).map(|pair| (pair[0], pair[1])).collect(), heights)
    }

    /// Separate bars of one width, each centred on its position.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn centered(xs: &[f64], width: f64, heights: impl Into<Vec<f64>>) -> Self {
        let heights = heights.into();
        same_length("heights", xs.len(), heights.len());
        Self::over(xs.iter().map(|x| (x - width / 2.0, x + width / 2.0)).collect(), heights)
    }

    fn over(spans: Vec<(f64, f64)>, heights: Vec<f64>) -> Self {
        Self { spans, heights, steps: false, color: Color::BLUE, opacity: 0.75, label: None }
    }

    /// Draws the upper outline only.
    pub fn steps(mut self) -> Self {
        self.steps = true;
        self
    }
}
setters!(Bars: color, label, opacity);

/// Anything a panel can hold.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Mark {
    /// A curve.
    Line(Line),
    /// Separate points.
    Points(Points),
    /// A region between two curves.
    Band(Band),
    /// Bars or a step histogram.
    Bars(Bars),
    /// A line across the panel.
    ReferenceLine(ReferenceLine),
    /// Text or a named point.
    Note(Note),
    /// An arrow.
    Arrow(Arrow),
    /// Filled contours.
    Field(Contours),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "ys must have as many values as xs (2), got 1")]
    fn lengths_must_agree() {
        let _ = Line::new([0.0, 1.0], [0.0]);
    }

    #[test]
    #[should_panic(expected = "edges must be one more than heights (2), got 2")]
    fn bars_need_one_more_edge() {
        let _ = Bars::new(&[0.0, 1.0], [1.0, 2.0]);
    }

    #[test]
    fn centered_bars_straddle_their_position() {
        assert_eq!(Bars::centered(&[1.0], 0.5, [3.0]).spans, [(0.75, 1.25)]);
    }
}
