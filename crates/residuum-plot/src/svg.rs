//! The few SVG elements figures are made of, written with two decimals so that equal figures are equal bytes.

use std::fmt::Write as _;

use super::color::Color;

/// A coordinate rounded to two decimals without trailing zeros or a negative zero.
pub(crate) fn num(value: f64) -> String {
    debug_assert!(value.is_finite(), "only finite numbers reach the page, got {value}");
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text made safe for element content and for quoted attributes; characters XML 1.0 forbids are dropped.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => {}
            other if other < ' ' => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

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

    fn attributes(&self) -> String {
        // Patterns scale with the width, so that thin and bold lines look alike.
        let pattern = |factors: &[f64]| {
            let lengths: Vec<String> = factors.iter().map(|factor| num(factor * self.width)).collect();
            format!(" stroke-dasharray=\"{}\"", lengths.join(" "))
        };
        let dash = match self.dash {
            Dash::Solid => String::new(),
            Dash::Dashed => pattern(&[3.6, 2.2]),
            Dash::Dotted => pattern(&[0.1, 2.0]) + " stroke-linecap=\"round\"",
            Dash::DashDotted => pattern(&[4.0, 1.8, 1.0, 1.8]),
        };
        let opacity = match self.opacity {
            opacity if opacity < 1.0 => format!(" stroke-opacity=\"{}\"", num(opacity)),
            _ => String::new(),
        };
        format!(" stroke=\"{}\" stroke-width=\"{}\"{dash}{opacity}", self.color.css(), num(self.width))
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

    fn attributes(fill: Option<Self>) -> String {
        match fill {
            None => " fill=\"none\"".to_owned(),
            Some(fill) if fill.opacity < 1.0 => {
                format!(" fill=\"{}\" fill-opacity=\"{}\"", fill.color.css(), num(fill.opacity))
            }
            Some(fill) => format!(" fill=\"{}\"", fill.color.css()),
        }
    }
}

/// Path data under construction.
#[derive(Default)]
pub(crate) struct Path {
    data: String,
}

impl Path {
    pub fn move_to(&mut self, (x, y): (f64, f64)) {
        let _ = write!(self.data, "M{} {}", num(x), num(y));
    }

    pub fn line_to(&mut self, (x, y): (f64, f64)) {
        let _ = write!(self.data, "L{} {}", num(x), num(y));
    }

    pub fn close(&mut self) {
        self.data.push('Z');
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
        let r = num(radius);
        let (left, right, y) = (num(x - radius), num(x + radius), num(y));
        Self { data: format!("M{left} {y}A{r} {r} 0 1 1 {right} {y}A{r} {r} 0 1 1 {left} {y}Z") }
    }

    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }
}

/// The body of a document, one element per line.
#[derive(Default)]
pub(crate) struct Svg {
    body: String,
    clips: usize,
}

impl Svg {
    pub fn raw(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    pub fn path(&mut self, path: &Path, fill: Option<Fill>, stroke: Option<Stroke>) {
        if path.is_empty() {
            return;
        }
        let stroke = stroke.map(|stroke| stroke.attributes()).unwrap_or_default();
        self.raw(&format!("<path d=\"{}\"{}{stroke}/>", path.data, Fill::attributes(fill)));
    }

    pub fn segment(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke) {
        self.path(&Path::polyline([from, to]), None, Some(stroke));
    }

    pub fn rect(&mut self, rect: Rect, fill: Option<Fill>, stroke: Option<Stroke>) {
        self.path(&Path::polygon(rect.corners()), fill, stroke);
    }

    /// Draws what `inside` adds, cut off at the edges of `rect`.
    pub fn clipped(&mut self, rect: Rect, inside: impl FnOnce(&mut Self)) {
        let id = self.clips;
        self.clips += 1;
        self.raw(&format!(
            "<clipPath id=\"plot{id}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>",
            num(rect.left),
            num(rect.top),
            num(rect.width()),
            num(rect.height()),
        ));
        self.raw(&format!("<g clip-path=\"url(#plot{id})\" stroke-linejoin=\"round\">"));
        inside(self);
        self.raw("</g>");
    }

    pub fn into_body(self) -> String {
        self.body
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([1.0, -0.001, 2.5, 3.456, -10.0, 100.0].map(num), ["1", "0", "2.5", "3.46", "-10", "100"]);
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("a<b & \"c\">\u{1}d\u{ffff}"), "a&lt;b &amp; &quot;c&quot;&gt; d");
    }

    #[test]
    fn dashes_scale_with_the_width() {
        let stroke = Stroke { dash: Dash::Dashed, ..Stroke::new(Color::BLACK, 2.0) };
        assert!(stroke.attributes().contains("stroke-dasharray=\"7.2 4.4\""), "{}", stroke.attributes());
    }
}
