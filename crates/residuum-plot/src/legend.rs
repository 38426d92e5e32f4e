//! Legends: which mark is which.

use super::color::Color;
use super::draw::draw_marker;
use super::marks::Mark;
use super::notes::Marker;
use super::page::{Dash, Fill, Page, Rect, Stroke};
use super::text::{Anchor, Label, SMALL_SIZE, width};

/// Position of the legend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Legend {
    /// Inside the plot, upper left.
    TopLeft,
    /// Inside the plot, upper right.
    TopRight,
    /// Inside the plot, lower left.
    BottomLeft,
    /// Inside the plot, lower right.
    BottomRight,
    /// Under the horizontal axis, in rows, where it covers nothing.
    #[default]
    Below,
    /// No legend.
    Hidden,
}

const SWATCH: f64 = 20.0;
const GAP: f64 = 6.0;
const ROW: f64 = 15.5;
const BETWEEN: f64 = 14.0;
const INSET: f64 = 7.0;

/// The symbol in front of the name.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Swatch {
    Stroke(Color, f64, Dash),
    Marker(Color, Marker, bool),
    Patch(Color, f64),
}

/// One line of a legend.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    swatch: Swatch,
    label: String,
}

impl Entry {
    pub fn patch(color: Color, opacity: f64, label: &str) -> Self {
        Self { swatch: Swatch::Patch(color, opacity), label: label.to_owned() }
    }

    /// The entry of a mark that has a name.
    pub fn of(mark: &Mark) -> Option<Self> {
        let (swatch, label) = match mark {
            Mark::Line(line) => (Swatch::Stroke(line.color, line.width, line.dash), line.label.as_ref()),
            Mark::Points(points) => {
                (Swatch::Marker(points.color, points.marker, points.hollow), points.label.as_ref())
            }
            Mark::Band(band) if band.dash != Dash::Solid => {
                (Swatch::Stroke(band.color, 1.4, band.dash), band.label.as_ref())
            }
            Mark::Band(band) => (Swatch::Patch(band.color, band.opacity), band.label.as_ref()),
            Mark::Bars(bars) if bars.steps => {
                (Swatch::Stroke(bars.color, 1.4, Dash::Solid), bars.label.as_ref())
            }
            Mark::Bars(bars) => (Swatch::Patch(bars.color, bars.opacity), bars.label.as_ref()),
            Mark::ReferenceLine(_) | Mark::Note(_) | Mark::Arrow(_) | Mark::Field(_) => return None,
        };
        label.map(|label| Self { swatch, label: label.clone() })
    }

    fn width(&self) -> f64 {
        SWATCH + GAP + width(&self.label, SMALL_SIZE, false)
    }

    /// Draws the entry with its left end at `x` and its middle at height `y`.
    fn draw(&self, page: &mut Page, x: f64, y: f64) {
        match self.swatch {
            Swatch::Stroke(color, width, dash) => {
                let stroke = Stroke { dash, ..Stroke::new(color, width.max(1.2)) };
                page.segment((x, y), (x + SWATCH, y), stroke);
            }
            Swatch::Marker(color, marker, hollow) => {
                draw_marker(page, (x + SWATCH / 2.0, y), marker, 3.4, color, 1.0, hollow);
            }
            Swatch::Patch(color, opacity) => {
                let rect = Rect { left: x + 2.0, right: x + SWATCH - 2.0, top: y - 4.0, bottom: y + 4.0 };
                page.rect(rect, Some(Fill { color, opacity }), Some(Stroke::new(color, 0.9)));
            }
        }
        let text = Label::new(&self.label, x + SWATCH + GAP, y + 0.36 * SMALL_SIZE);
        Label { size: SMALL_SIZE, anchor: Anchor::Start, ..text }.draw(page);
    }
}

/// Breaks entries into rows no wider than `available`.
fn rows(entries: &[Entry], available: f64) -> Vec<&[Entry]> {
    let mut rows = Vec::new();
    let mut start = 0;
    let mut used = 0.0;
    for (index, entry) in entries.iter().enumerate() {
        let needed = entry.width() + if index > start { BETWEEN } else { 0.0 };
        if index > start && used + needed > available {
            rows.push(&entries[start..index]);
            start = index;
            used = entry.width();
        } else {
            used += needed;
        }
    }
    if start < entries.len() {
        rows.push(&entries[start..]);
    }
    rows
}

/// Height that a legend in rows takes.
pub(crate) fn height_below(entries: &[Entry], available: f64) -> f64 {
    rows(entries, available).len() as f64 * ROW
}

/// Centred rows under `top`, between `left` and `right`.
pub(crate) fn draw_below(entries: &[Entry], page: &mut Page, (left, right): (f64, f64), top: f64) {
    for (index, row) in rows(entries, right - left).into_iter().enumerate() {
        let total = row.iter().map(Entry::width).sum::<f64>() + BETWEEN * (row.len() - 1) as f64;
        let mut x = (left + right - total) / 2.0;
        for entry in row {
            entry.draw(page, x, top + (index as f64 + 0.5) * ROW);
            x += entry.width() + BETWEEN;
        }
    }
}

/// A box in one corner of the plotting area.
pub(crate) fn draw_inside(entries: &[Entry], page: &mut Page, rect: Rect, place: Legend) {
    if entries.is_empty() {
        return;
    }
    let widest = entries.iter().map(Entry::width).fold(0.0, f64::max);
    let (wide, high) = (widest + 2.0 * INSET, entries.len() as f64 * ROW + INSET);
    let left = match place {
        Legend::TopLeft | Legend::BottomLeft => rect.left + INSET,
        _ => rect.right - INSET - wide,
    };
    let top = match place {
        Legend::BottomLeft | Legend::BottomRight => rect.bottom - INSET - high,
        _ => rect.top + INSET,
    };
    let outer = Rect { left, top, right: left + wide, bottom: top + high };
    let veil = Fill { color: Color::WHITE, opacity: 0.86 };
    page.rect(outer, Some(veil), Some(Stroke::new(Color::hex(0xd0d0d0), 0.7)));
    for (index, entry) in entries.iter().enumerate() {
        entry.draw(page, left + INSET, top + INSET / 2.0 + (index as f64 + 0.5) * ROW);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_wrap_and_keep_every_entry() {
        let entries: Vec<Entry> =
            (0..7).map(|i| Entry::patch(Color::BLUE, 1.0, &format!("series {i}"))).collect();
        let one = entries[0].width();
        let wrapped = rows(&entries, 2.0 * one + BETWEEN + 0.1);
        assert_eq!(wrapped.iter().map(|row| row.len()).collect::<Vec<_>>(), [2, 2, 2, 1]);
        assert_eq!(rows(&entries, 1.0).len(), 7);
        assert_eq!(height_below(&entries, 1e9), ROW);
        assert_eq!(height_below(&[], 100.0), 0.0);
    }
}
