//! Annotations: reference lines, named points, arrows.

use super::color::Color;
use super::marks::{LINE_WIDTH, setters};
use super::page::Dash;

/// Shape of a data point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A disc.
    Circle,
    /// A square.
    Square,
    /// A triangle standing on its base.
    Triangle,
    /// A square standing on its corner, as in W⋄.
    Diamond,
    /// A five-pointed star, for minimizers.
    Star,
    /// Two crossed strokes.
    Cross,
}

/// Where text stands relative to the point it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compass {
    /// Above.
    North,
    /// Above and to the right.
    NorthEast,
    /// To the right.
    East,
    /// Below and to the right.
    SouthEast,
    /// Below.
    South,
    /// Below and to the left.
    SouthWest,
    /// To the left.
    West,
    /// Above and to the left.
    NorthWest,
}

/// A straight line across the whole panel, named where it stands.
#[derive(Clone, Debug)]
pub struct ReferenceLine {
    pub(crate) at: f64,
    pub(crate) vertical: bool,
    pub(crate) along: f64,
    pub(crate) side: Compass,
    pub(crate) color: Color,
    pub(crate) width: f64,
    pub(crate) dash: Dash,
    pub(crate) label: Option<String>,
}

impl ReferenceLine {
    /// The line x = `at`.
    pub fn vertical(at: f64) -> Self {
        Self::new(at, true, Compass::East, 0.95)
    }

    /// The line y = `at`.
    pub fn horizontal(at: f64) -> Self {
        Self::new(at, false, Compass::North, 0.97)
    }

    fn new(at: f64, vertical: bool, side: Compass, along: f64) -> Self {
        Self { at, vertical, along, side, color: Color::GREY, width: 1.1, dash: Dash::Dashed, label: None }
    }

    /// Moves the label along the line: 0 is the bottom or left end, 1 the top or right end.
    pub fn along(mut self, fraction: f64) -> Self {
        self.along = fraction.clamp(0.0, 1.0);
        self
    }

    /// Puts the label on the other side of the line: left of a vertical one, below a horizontal one.
    pub fn other_side(mut self) -> Self {
        self.side = if self.vertical { Compass::West } else { Compass::South };
        self
    }

    /// Writes this text (markup allowed) beside the line; it does not enter the legend.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }
}
setters!(ReferenceLine: color, width, dash);

/// Text at a point of the data, with or without a marker on the point.
#[derive(Clone, Debug)]
pub struct Note {
    pub(crate) at: (f64, f64),
    pub(crate) text: String,
    pub(crate) marker: Option<Marker>,
    pub(crate) side: Option<Compass>,
    pub(crate) color: Color,
}

impl Note {
    /// Text centred on `(x, y)`.
    pub fn new(x: f64, y: f64, text: impl Into<String>) -> Self {
        Self { at: (x, y), text: text.into(), marker: None, side: None, color: Color::INK }
    }

    /// A marked point with its name to the upper right.
    pub fn point(x: f64, y: f64, marker: Marker, text: impl Into<String>) -> Self {
        Self { marker: Some(marker), side: Some(Compass::NorthEast), ..Self::new(x, y, text) }
    }

    /// Puts the text on this side of the point.
    pub fn side(mut self, side: Compass) -> Self {
        self.side = Some(side);
        self
    }
}
setters!(Note: color);

/// A straight arrow between two points of the data.
#[derive(Clone, Debug)]
pub struct Arrow {
    pub(crate) from: (f64, f64),
    pub(crate) to: (f64, f64),
    pub(crate) side: Compass,
    pub(crate) color: Color,
    pub(crate) width: f64,
    pub(crate) dash: Dash,
    pub(crate) label: Option<String>,
}

impl Arrow {
    /// An arrow whose tip is at `to`.
    pub fn new(from: (f64, f64), to: (f64, f64)) -> Self {
        Self {
            from,
            to,
            side: Compass::East,
            color: Color::INK,
            width: LINE_WIDTH,
            dash: Dash::Solid,
            label: None,
        }
    }

    /// Writes this text (markup allowed) beside the tip; it does not enter the legend.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Puts the text on this side of the tip.
    pub fn side(mut self, side: Compass) -> Self {
        self.side = side;
        self
    }
}
setters!(Arrow: color, width, dash);
