//! Labels: a tiny markup, and how wide the letters are.
//!
//! `_{...}` lowers and `^{...}` raises; everything else is UTF-8 and stands for itself. A lowered part directly
//! followed by a raised one is stacked, as in `W_{k}^{*}`.

use std::fmt::Write as _;

use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

use super::color::Color;
use super::svg::{Svg, escape, num};

pub(crate) const REGULAR: &[u8] = include_bytes!("../assets/DejaVuSans-subset.ttf");
pub(crate) const BOLD: &[u8] = include_bytes!("../assets/DejaVuSans-Bold-subset.ttf");

/// Font size of ordinary labels, in pixels.
pub(crate) const BASE_SIZE: f64 = 11.5;
/// Font size of tick labels and legends, in pixels.
pub(crate) const SMALL_SIZE: f64 = 10.5;

const SCRIPT_SCALE: f64 = 0.75;
const LOWERED: f64 = 0.22;
const RAISED: f64 = -0.38;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
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

fn runs(markup: &str) -> Vec<(Level, &str)> {
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
    let Ok(font) = FontRef::new(if bold { BOLD } else { REGULAR }) else {
        // The fonts are compiled in and tested to parse; half an em is the average letter.
        return 0.5 * size * text.chars().count() as f64;
    };
    let letters = font.charmap();
    let metrics = font.glyph_metrics(Size::new(size as f32), LocationRef::default());
    text.chars()
        .map(|letter| f64::from(metrics.advance_width(letters.map(letter).unwrap_or_default()).unwrap_or(0.0)))
        .sum()
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
#[derive(Clone, Copy)]
pub(crate) struct Label<'a> {
    pub markup: &'a str,
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

impl<'a> Label<'a> {
    pub fn new(markup: &'a str, x: f64, y: f64) -> Self {
        Self {
            markup,
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

    pub fn draw(self, svg: &mut Svg) {
        let anchor = match self.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let bold = if self.bold { " font-weight=\"bold\"" } else { "" };
        let halo = if self.halo {
            " stroke=\"#ffffff\" stroke-width=\"2.4\" stroke-opacity=\"0.75\" stroke-linejoin=\"round\" paint-order=\"stroke\""
        } else {
            ""
        };
        let (x, y) = (num(self.x), num(self.y));
        let turn = if self.upward { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
        svg.raw(&format!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" fill=\"{}\"{anchor}{bold}{halo}{turn}>{}</text>",
            num(self.size),
            self.color.css(),
            self.spans(),
        ));
    }

    /// Shifts are relative (`dy`), because viewers disagree about `baseline-shift`.
    fn spans(&self) -> String {
        let mut spans = String::new();
        let mut baseline = 0.0;
        let mut lowered = None;
        for (level, text) in runs(self.markup) {
            let (shift, scale) = level.metrics();
            let below: Option<f64> = lowered.take();
            if level == Level::Base && baseline == 0.0 {
                spans.push_str(&escape(text));
                continue;
            }
            let back = match (level, below) {
                (Level::Raised, Some(below)) => format!(" dx=\"{}\"", num(-below)),
                _ => String::new(),
            };
            if level == Level::Lowered {
                lowered = Some(advance(text, self.size * scale, self.bold));
            }
            let (down, size) = (num((shift - baseline) * self.size), num(scale * self.size));
            let _ = write!(spans, "<tspan{back} dy=\"{down}\" font-size=\"{size}\">{}</tspan>", escape(text));
            baseline = shift;
        }
        spans
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

    #[test]
    fn the_embedded_faces_hold_every_letter_figures_need() {
        for face in [REGULAR, BOLD] {
            let font = FontRef::new(face).unwrap();
            for letter in "Aα σκτγβδξΣΔ∇√∞≤≥±×·−–—…→∂∝≈⟨⟩⋄◇★₀⁺₊₋²*\u{304}\u{305}éü".chars()
            {
                assert!(font.charmap().map(letter).is_some_and(|glyph| glyph.to_u32() != 0), "{letter}");
            }
        }
    }

    #[test]
    fn the_baseline_returns_after_a_script() {
        let mut svg = Svg::default();
        Label::new("a_{b}c", 1.0, 2.0).draw(&mut svg);
        let text = svg.into_body();
        assert!(text.contains("dy=\"2.53\"") && text.contains("dy=\"-2.53\""), "{text}");
    }
}
