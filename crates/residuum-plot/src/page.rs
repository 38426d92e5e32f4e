//! The page as values: the few elements figures are made of, to be written as SVG or painted as pixels.

use super::color::Color;
use super::text::Label;

/// How a line is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dash {
    /// Unbroken.
    #[default]
    Solid,
    /// Long strokes.
    Dashed,
    /// Round dots.
    Dotted,
    /// Strokes and dots in turn.
    DashDotted,
}

/// Colour and shape of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stroke {
    pub color: Color,
    pub width: f64,
    pub dash: Dash,
    pub opacity: f64,
}

impl Stroke {
    pub fn new(color: Color, width: f64) -> Self {
        Self { color, width, dash: Dash::Solid, opacity: 1.0 }
    }

    /// Lengths drawn and left out in turn; they scale with the width, so that thin and bold lines look alike.
    pub fn pattern(&self) -> Vec<f64> {
        let factors: &[f64] = match self.dash {
            Dash::Solid => &[],
            Dash::Dashed => &[3.6, 2.2],
            Dash::Dotted => &[0.1, 2.0],
            Dash::DashDotted => &[4.0, 1.8, 1.0, 1.8],
        };
        factors.iter().map(|factor| factor * self.width).collect()
    }

    /// Whether strokes end in half circles, which is what makes a dot of a very short one.
    pub fn round_ends(&self) -> bool {
        self.dash == Dash::Dotted
    }
}

/// A filled interior.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fill {
    pub color: Color,
    pub opacity: f64,
}

impl Fill {
    pub fn solid(color: Color) -> Self {
        Self { color, opacity: 1.0 }
    }
}

/// One step of a pen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    Move(f64, f64),
    Line(f64, f64),
    /// A whole circle by its centre and radius.
    Circle(f64, f64, f64),
    Close,
}

/// A path under construction.
#[derive(Debug, Default)]
pub(crate) struct Path {
    pub steps: Vec<Step>,
}

impl Path {
    pub fn move_to(&mut self, (x, y): (f64, f64)) {
        self.steps.push(Step::Move(x, y));
    }

    pub fn line_to(&mut self, (x, y): (f64, f64)) {
        self.steps.push(Step::Line(x, y));
    }

    pub fn close(&mut self) {
        self.steps.push(Step::Close);
    }

    pub fn polyline(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut path = Self::default();
        path.add_polyline(points);
        path
    }

    pub fn add_polyline(&mut self, points: impl IntoIterator<Item = (f64, f64)>) {
        let mut points = points.into_iter();
        if let Some(first) = points.next() {
            self.move_to(first);
            points.for_each(|point| self.line_to(point));
        }
    }

    pub fn polygon(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut path = Self::polyline(points);
        path.close();
        path
    }

    pub fn circle((x, y): (f64, f64), radius: f64) -> Self {
        Self { steps: vec![Step::Circle(x, y, radius)] }
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// One thing on the page.
#[derive(Debug)]
pub(crate) enum Element {
    Path {
        path: Path,
        fill: Option<Fill>,
        stroke: Option<Stroke>,
    },
    Label(Label),
    /// What is inside is cut off at the edges of the rectangle; its lines turn corners smoothly.
    Clipped {
        rect: Rect,
        inside: Vec<Element>,
    },
}

/// What a figure draws, in order: later elements lie on top.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub elements: Vec<Element>,
}

impl Page {
    pub fn path(&mut self, path: Path, fill: Option<Fill>, stroke: Option<Stroke>) {
        if !path.is_empty() {
            self.elements.push(Element::Path { path, fill, stroke });
        }
    }

    pub fn segment(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke) {
        self.path(Path::polyline([from, to]), None, Some(stroke));
    }

    pub fn rect(&mut self, rect: Rect, fill: Option<Fill>, stroke: Option<Stroke>) {
        self.path(Path::polygon(rect.corners()), fill, stroke);
    }

    pub fn label(&mut self, label: Label) {
        self.elements.push(Element::Label(label));
    }

    /// Draws what `inside` adds, cut off at the edges of `rect`.
    pub fn clipped(&mut self, rect: Rect, inside: impl FnOnce(&mut Self)) {
        let mut part = Self::default();
        inside(&mut part);
        self.elements.push(Element::Clipped { rect, inside: part.elements });
    }
}

/// A rectangle on the page, in pixels; `top` is smaller than `bottom`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Rect {
    pub fn width(&self) -> f64 {
        self.right - self.left
    }

    pub fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub fn middle(&self) -> (f64, f64) {
        (f64::midpoint(self.left, self.right), f64::midpoint(self.top, self.bottom))
    }

    pub fn corners(&self) -> [(f64, f64); 4] {
        [(self.left, self.top), (self.right, self.top), (self.right, self.bottom), (self.left, self.bottom)]
    }
}
