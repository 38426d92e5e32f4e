//! Labels: a tiny markup, and how wide the letters are.
//!
//! `_{...}` lowers and `^{...}` raises; everything else is UTF-8 and stands for itself. A lowered part directly
//! followed by a raised one is stacked, as in `W_{k}^{*}`.

use super::color::Color;
use super::font::Font;
use super::page::Page;

/// Font size of ordinary labels, in pixels.
pub(crate) const BASE_SIZE: f64 = 11.5;
/// Font size of tick labels and legends, in pixels.
pub(crate) const SMALL_SIZE: f64 = 10.5;

/// Width and opacity of the white rim around text on top of lines.
pub(crate) const HALO_WIDTH: f64 = 2.4;
pub(crate) const HALO_OPACITY: f64 = 0.75;

const SCRIPT_SCALE: f64 = 0.75;
const LOWERED: f64 = 0.22;
const RAISED: f64 = -0.38;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Base,
    Lowered,
    Raised,
}

impl Level {
    /// Baseline offset and size, both in units of the font size.
    fn metrics(self) -> (f64, f64) {
        match self {
            Self::Base => (0.0, 1.0),
            Self::Lowered => (LOWERED, SCRIPT_SCALE),
            Self::Raised => (RAISED, SCRIPT_SCALE),
        }
    }
}

/// The parts of a marked-up text, each with its level.
pub(crate) fn runs(markup: &str) -> Vec<(Level, &str)> {
    let mut runs = Vec::new();
    let mut rest = markup;
    while !rest.is_empty() {
        let opening = [("_{", Level::Lowered), ("^{", Level::Raised)]
            .into_iter()
            .filter_map(|(mark, level)| rest.find(mark).map(|at| (at, level)))
            // An opening brace that is never closed stands for itself.
            .filter_map(|(at, level)| rest[at + 2..].find('}').map(|length| (at, length, level)))
            .min_by_key(|&(at, ..)| at);
        let Some((at, length, level)) = opening else {
            runs.push((Level::Base, rest));
            break;
        };
        if at > 0 {
            runs.push((Level::Base, &rest[..at]));
        }
        if length > 0 {
            runs.push((level, &rest[at + 2..at + 2 + length]));
        }
        rest = &rest[at + 3 + length..];
    }
    runs
}

/// The text without its markup, for titles that machines read.
pub(crate) fn plain(markup: &str) -> String {
    runs(markup).into_iter().map(|(_, text)| text).collect()
}

fn advance(text: &str, size: f64, bold: bool) -> f64 {
    let Some(font) = Font::of(bold) else {
        return 0.5 * size * text.chars().count() as f64;
    };
    text.chars().map(|letter| font.advance(font.glyph(letter)) * font.scale(size)).sum()
}

/// Horizontal space the marked-up text takes at this size, in pixels.
pub(crate) fn width(markup: &str, size: f64, bold: bool) -> f64 {
    let mut right = 0.0;
    let mut lowered: Option<f64> = None;
    for (level, text) in runs(markup) {
        let extent = advance(text, size * level.metrics().1, bold);
        match (level, lowered.take()) {
            (Level::Raised, Some(below)) => right += (extent - below).max(0.0),
            _ => right += extent,
        }
        if level == Level::Lowered {
            lowered = Some(extent);
        }
    }
    right
}

/// Which end of the text its position names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// One piece of text on the page; `y` is its baseline.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub markup: String,
    pub x: f64,
    pub y: f64,
    pub size: f64,
    pub anchor: Anchor,
    pub color: Color,
    pub bold: bool,
    /// White rim that keeps text legible on top of lines.
    pub halo: bool,
    /// Turned to read upwards, as the label of a vertical axis does.
    pub upward: bool,
}

/// A part of a label that stands at one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span<'a> {
    pub text: &'a str,
    /// How far below the label's baseline it stands, in pixels.
    pub drop: f64,
    pub size: f64,
    /// How far it starts to the left of where the part before it ended, in pixels.
    pub back: f64,
}

impl Label {
    pub fn new(markup: impl Into<String>, x: f64, y: f64) -> Self {
        Self {
            markup: markup.into(),
            x,
            y,
            size: BASE_SIZE,
            anchor: Anchor::Middle,
            color: Color::INK,
            bold: false,
            halo: false,
            upward: false,
        }
    }

    pub fn draw(self, page: &mut Page) {
        page.label(self);
    }

    /// The parts of the text, left to right.
    pub fn spans(&self) -> Vec<Span<'_>> {
        let mut lowered = None;
        let span = |(level, text): (Level, _)| {
            let (shift, scale) = level.metrics();
            let size = scale * self.size;
            let below: Option<f64> = lowered.take();
            if level == Level::Lowered {
                lowered = Some(advance(text, size, self.bold));
            }
            let back = below.filter(|_| level == Level::Raised).unwrap_or(0.0);
            Span { text, drop: shift * self.size, size, back }
        };
        runs(&self.markup).into_iter().map(span).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_splits_into_levels() {
        use Level::{Base, Lowered, Raised};
        assert_eq!(runs("W_{k}^{*} − 1"), [(Base, "W"), (Lowered, "k"), (Raised, "*"), (Base, " − 1")]);
        assert_eq!(runs("a_b^c"), [(Base, "a_b^c")]);
        assert_eq!(runs("open_{brace"), [(Base, "open_{brace")]);
        assert_eq!(runs("x_{}y"), [(Base, "x"), (Base, "y")]);
        assert_eq!(plain("10^{−3} W_{⋄}"), "10−3 W⋄");
    }

    #[test]
    fn widths_come_from_the_font() {
        // DejaVu Sans: 'W' advances 2025 and 'i' 569 of 2048 units.
        assert!((width("W", 20.48, false) - 20.25).abs() < 0.02, "{}", width("W", 20.48, false));
        assert!((width("i", 20.48, false) - 5.69).abs() < 0.02);
        assert!(width("W", 12.0, true) > width("W", 12.0, false));
        assert_eq!(width("W\u{304}", 12.0, false), width("W", 12.0, false));
        let stacked = width("W_{k}^{k}", 12.0, false);
        assert!((stacked - width("W_{k}", 12.0, false)).abs() < 1e-9);
    }
}
