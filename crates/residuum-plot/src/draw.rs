//! Draws marks: data coordinates to pixels, gaps where a point is not finite.

use super::axis::Fitted;
use super::color::Color;
use super::marks::{Band, Bars, Line, Mark, Points};
use super::notes::{Arrow, Compass, Marker, Note, ReferenceLine};
use super::page::{Fill, Page, Path, Rect, Stroke};
use super::text::{Anchor, BASE_SIZE, Label};

/// The plotting area and the two axes that span it.
pub(crate) struct Frame {
    pub x: Fitted,
    pub y: Fitted,
    pub rect: Rect,
}

impl Frame {
    pub fn horizontal(&self, x: f64) -> Option<f64> {
        self.x.fraction(x).map(|fraction| bounded(self.rect.left + fraction * self.rect.width()))
    }

    pub fn vertical(&self, y: f64) -> Option<f64> {
        self.y.fraction(y).map(|fraction| bounded(self.rect.bottom - fraction * self.rect.height()))
    }

    /// Pixel of a data point; `None` if it has none on these scales.
    pub fn at(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.horizontal(x)?, self.vertical(y)?))
    }

    /// Zero, or the bottom of a logarithmic axis, on which bars and densities stand.
    fn floor(&self) -> f64 {
        self.vertical(0.0).unwrap_or(self.rect.bottom)
    }
}

/// Far outside the page the exact position does not matter, and viewers lose precision on huge coordinates.
fn bounded(pixel: f64) -> f64 {
    pixel.clamp(-1e5, 1e5)
}

/// Splits a series of pixels at its gaps.
fn segments<T: Copy>(points: impl Iterator<Item = Option<T>>) -> Vec<Vec<T>> {
    let mut segments = vec![Vec::new()];
    for point in points {
        match (point, segments.last_mut()) {
            (Some(point), Some(current)) => current.push(point),
            _ => segments.push(Vec::new()),
        }
    }
    segments.retain(|segment| !segment.is_empty());
    segments
}

impl Mark {
    /// The part of a mark that the plotting area cuts off.
    pub(crate) fn draw(&self, page: &mut Page, frame: &Frame) {
        match self {
            Self::Line(line) => draw_line(line, page, frame),
            Self::Points(points) => draw_points(points, page, frame),
            Self::Band(band) => draw_band(band, page, frame),
            Self::Bars(bars) => draw_bars(bars, page, frame),
            Self::ReferenceLine(reference) => draw_reference(reference, page, frame),
            Self::Arrow(arrow) => draw_arrow(arrow, page, frame),
            Self::Field(field) => field.draw(page, frame),
            Self::Note(_) => {}
        }
    }

    /// The part of a mark that lies on top of everything and may overhang.
    pub(crate) fn draw_text(&self, page: &mut Page, frame: &Frame) {
        match self {
            Self::ReferenceLine(reference) => draw_reference_label(reference, page, frame),
            Self::Note(note) => draw_note(note, page, frame),
            Self::Arrow(arrow) => {
                if let (Some(text), Some(tip)) = (&arrow.label, frame.at(arrow.to.0, arrow.to.1)) {
                    beside(text, tip, Some(arrow.side), 5.0, arrow.color, page);
                }
            }
            _ => {}
        }
    }
}

fn draw_line(line: &Line, page: &mut Page, frame: &Frame) {
    let pixels = line.xs.iter().zip(&line.ys).map(|(&x, &y)| frame.at(x, y));
    let mut path = Path::default();
    for segment in segments(pixels) {
        path.add_polyline(segment);
    }
    let stroke = Stroke { color: line.color, width: line.width, dash: line.dash, opacity: line.opacity };
    page.path(path, None, Some(stroke));
}

fn draw_points(points: &Points, page: &mut Page, frame: &Frame) {
    let stroke = Stroke { opacity: points.opacity, ..Stroke::new(points.color, 1.0) };
    for (index, (&x, &y)) in points.xs.iter().zip(&points.ys).enumerate() {
        let Some(center) = frame.at(x, y) else {
            continue;
        };
        if let Some(error) =
            points.errors.as_ref().map(|errors| errors[index]).filter(|error| error.is_finite())
        {
            let top = frame.vertical(y + error).unwrap_or(frame.rect.top);
            // On a logarithmic axis a bar may reach below zero: it then runs to the bottom of the panel.
            let bottom = frame.vertical(y - error).unwrap_or(frame.rect.bottom);
            page.segment((center.0, top), (center.0, bottom), stroke);
            for end in [top, bottom] {
                page.segment((center.0 - 2.5, end), (center.0 + 2.5, end), stroke);
            }
        }
        draw_marker(page, center, points.marker, points.size, points.color, points.opacity, points.hollow);
    }
}

pub(crate) fn draw_marker(
    page: &mut Page,
    center: (f64, f64),
    marker: Marker,
    size: f64,
    color: Color,
    opacity: f64,
    hollow: bool,
) {
    let around = |corners: usize, first: f64, radius: &dyn Fn(usize) -> f64| {
        Path::polygon((0..corners).map(|corner| {
            let angle = (first + 360.0 * corner as f64 / corners as f64).to_radians();
            (center.0 + radius(corner) * angle.cos(), center.1 + radius(corner) * angle.sin())
        }))
    };
    let path = match marker {
        Marker::Circle => Path::circle(center, size),
        Marker::Square => around(4, 45.0, &|_| 1.25 * size),
        Marker::Triangle => around(3, -90.0, &|_| 1.35 * size),
        Marker::Diamond => around(4, 0.0, &|_| 1.35 * size),
        Marker::Star => around(10, -90.0, &|corner| {
            if corner % 2 == 0 { 1.8 * size } else { 0.75 * size }
        }),
        Marker::Cross => {
            let arm = 0.95 * size;
            let mut path = Path::polyline([(center.0 - arm, center.1 - arm), (center.0 + arm, center.1 + arm)]);
            path.add_polyline([(center.0 - arm, center.1 + arm), (center.0 + arm, center.1 - arm)]);
            let stroke = Stroke { opacity, ..Stroke::new(color, 1.4) };
            return page.path(path, None, Some(stroke));
        }
    };
    if hollow {
        let stroke = Stroke { opacity, ..Stroke::new(color, 1.2) };
        page.path(path, Some(Fill::solid(Color::WHITE)), Some(stroke));
    } else {
        // A white rim keeps overlapping points apart.
        let rim = (opacity >= 1.0).then(|| Stroke::new(Color::WHITE, 0.6));
        page.path(path, Some(Fill { color, opacity }), rim);
    }
}

fn draw_band(band: &Band, page: &mut Page, frame: &Frame) {
    let floor = frame.floor();
    let pixels = (0..band.xs.len()).map(|i| {
        let (x, upper) = frame.at(band.xs[i], band.upper[i])?;
        let lower = if band.stands { floor } else { frame.vertical(band.lower[i])? };
        Some((x, upper, lower))
    });
    for segment in segments(pixels) {
        let upper = segment.iter().map(|&(x, upper, _)| (x, upper));
        let back = segment.iter().rev().map(|&(x, _, lower)| (x, lower));
        let fill = Fill { color: band.color, opacity: band.opacity };
        page.path(Path::polygon(upper.clone().chain(back)), Some(fill), None);
        if band.stands {
            let stroke = Stroke { dash: band.dash, ..Stroke::new(band.color, 1.4) };
            page.path(Path::polyline(upper), None, Some(stroke));
        }
    }
}

fn draw_bars(bars: &Bars, page: &mut Page, frame: &Frame) {
    let floor = frame.floor();
    let boxes = bars.spans.iter().zip(&bars.heights).map(|(&(low, high), &height)| {
        let top = if height == 0.0 { floor } else { frame.vertical(height)? };
        Some((frame.horizontal(low)?, frame.horizontal(high)?, top))
    });
    for segment in segments(boxes) {
        if bars.steps {
            let steps = segment.iter().flat_map(|&(left, right, top)| [(left, top), (right, top)]);
            let ends = (segment[0].0, segment[segment.len() - 1].1);
            let closed = std::iter::once((ends.0, floor)).chain(steps).chain(std::iter::once((ends.1, floor)));
            let stroke = Stroke { opacity: bars.opacity.max(0.9), ..Stroke::new(bars.color, 1.4) };
            page.path(Path::polyline(closed), None, Some(stroke));
            continue;
        }
        for (left, right, top) in segment {
            let rect = Rect { left, right, top, bottom: floor };
            let fill = Fill { color: bars.color, opacity: bars.opacity };
            page.rect(rect, Some(fill), Some(Stroke::new(Color::WHITE, 0.6)));
        }
    }
}

fn draw_reference(reference: &ReferenceLine, page: &mut Page, frame: &Frame) {
    let rect = frame.rect;
    let ends = if reference.vertical {
        frame.horizontal(reference.at).map(|x| ((x, rect.bottom), (x, rect.top)))
    } else {
        frame.vertical(reference.at).map(|y| ((rect.left, y), (rect.right, y)))
    };
    if let Some((from, to)) = ends {
        let stroke = Stroke { dash: reference.dash, ..Stroke::new(reference.color, reference.width) };
        page.segment(from, to, stroke);
    }
}

fn draw_reference_label(reference: &ReferenceLine, page: &mut Page, frame: &Frame) {
    let Some(text) = &reference.label else { return };
    let rect = frame.rect;
    if reference.vertical {
        if !frame.x.contains(reference.at) {
            return;
        }
        if let Some(x) = frame.horizontal(reference.at) {
            let y = rect.bottom - reference.along * rect.height();
            beside(text, (x, y), Some(reference.side), 4.0, reference.color, page);
        }
    } else if let Some(y) = frame.vertical(reference.at).filter(|_| frame.y.contains(reference.at)) {
        let x = rect.left + reference.along * rect.width();
        let baseline = if reference.side == Compass::South { y + 0.95 * BASE_SIZE } else { y - 4.0 };
        // The label grows away from the nearer end of the line.
        let anchor = if reference.along > 0.5 { Anchor::End } else { Anchor::Start };
        let label = Label::new(text, x, baseline);
        Label { anchor, color: reference.color, halo: true, ..label }.draw(page);
    }
}

fn draw_note(note: &Note, page: &mut Page, frame: &Frame) {
    let Some(center) = frame.at(note.at.0, note.at.1) else {
        return;
    };
    if let Some(marker) = note.marker {
        draw_marker(page, center, marker, 4.0, note.color, 1.0, false);
    }
    let distance = if note.marker.is_some() { 6.5 } else { 4.0 };
    beside(&note.text, center, note.side, distance, note.color, page);
}

/// Text on one side of a point, or centred on it.
pub(crate) fn beside(
    text: &str,
    (x, y): (f64, f64),
    side: Option<Compass>,
    distance: f64,
    color: Color,
    page: &mut Page,
) {
    use Compass::{East, North, NorthEast, NorthWest, South, SouthEast, SouthWest, West};
    let (dx, dy) = match side {
        None => (0.0, 0.0),
        Some(North) => (0.0, -1.0),
        Some(NorthEast) => (0.75, -0.75),
        Some(East) => (1.0, 0.0),
        Some(SouthEast) => (0.75, 0.75),
        Some(South) => (0.0, 1.0),
        Some(SouthWest) => (-0.75, 0.75),
        Some(West) => (-1.0, 0.0),
        Some(NorthWest) => (-0.75, -0.75),
    };
    let anchor = match dx {
        dx if dx > 0.0 => Anchor::Start,
        dx if dx < 0.0 => Anchor::End,
        _ => Anchor::Middle,
    };
    // Letters reach about 0.73 em above their baseline: text above a point stands on the offset, text beside it is
    // centred, text below hangs from it.
    let drop = match dy {
        dy if dy < 0.0 => 0.0,
        dy if dy > 0.0 => 0.73,
        _ => 0.36,
    };
    let baseline = y + dy * distance + drop * BASE_SIZE;
    Label { anchor, color, halo: true, ..Label::new(text, x + dx * distance, baseline) }.draw(page);
}

fn draw_arrow(arrow: &Arrow, page: &mut Page, frame: &Frame) {
    let (Some(from), Some(to)) = (frame.at(arrow.from.0, arrow.from.1), frame.at(arrow.to.0, arrow.to.1))
    else {
        return;
    };
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy);
    if length < 0.5 {
        return;
    }
    let (ux, uy) = (dx / length, dy / length);
    // The head shrinks with very short arrows, so that their direction stays readable.
    let head = (3.0 + 3.0 * arrow.width).min(0.8 * length);
    let half = 0.38 * head;
    let base = (to.0 - head * ux, to.1 - head * uy);
    let stroke = Stroke { dash: arrow.dash, ..Stroke::new(arrow.color, arrow.width) };
    page.segment(from, (base.0 + 0.5 * ux, base.1 + 0.5 * uy), stroke);
    let tip = [to, (base.0 - half * uy, base.1 + half * ux), (base.0 + half * uy, base.1 - half * ux)];
    page.path(Path::polygon(tip), Some(Fill::solid(arrow.color)), None);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_split_at_gaps() {
        let points = [None, Some(1), Some(2), None, None, Some(3)];
        assert_eq!(segments(points.into_iter()), [vec![1, 2], vec![3]]);
        assert!(segments([None::<u8>].into_iter()).is_empty());
    }
}
