//! One plot: axes, marks, legend.

use super::axis::{Axis, Extent, Fitted};
use super::color::Color;
use super::color_bar;
use super::draw::Frame;
use super::field::Contours;
use super::legend::{self, Entry, Legend};
use super::marks::{Band, Bars, Line, Mark, Points};
use super::notes::{Arrow, Note, ReferenceLine};
use super::page::{Page, Rect, Stroke};
use super::text::{Anchor, BASE_SIZE, Label, SMALL_SIZE, width};
use super::ticks::{Ticks, number};

pub(crate) const TITLE_SIZE: f64 = 12.5;
const TICK: f64 = 4.0;

/// Space around a plotting area that labels need.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Margins {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

/// One plot with two axes; marks are drawn in the order they are added.
#[derive(Clone, Debug)]
pub struct Panel {
    pub(crate) title: Option<String>,
    x: Axis,
    y: Axis,
    legend: Legend,
    grid: bool,
    marks: Vec<Mark>,
}

impl Panel {
    /// An empty plot with a title (markup allowed).
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..Self::untitled() }
    }

    /// An empty plot without a title.
    pub fn untitled() -> Self {
        Self {
            title: None,
            x: Axis::linear(""),
            y: Axis::linear(""),
            legend: Legend::default(),
            grid: true,
            marks: Vec::new(),
        }
    }

    /// Sets the horizontal axis.
    pub fn x_axis(mut self, axis: Axis) -> Self {
        self.x = axis;
        self
    }

    /// Sets the vertical axis.
    pub fn y_axis(mut self, axis: Axis) -> Self {
        self.y = axis;
        self
    }

    /// Places the legend, which lists every mark that has a label.
    pub fn legend(mut self, place: Legend) -> Self {
        self.legend = place;
        self
    }

    /// Leaves out the light grid lines.
    pub fn without_grid(mut self) -> Self {
        self.grid = false;
        self
    }

    /// Adds any mark.
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }

    /// Adds a curve.
    pub fn line(self, line: Line) -> Self {
        self.mark(Mark::Line(line))
    }

    /// Adds points.
    pub fn points(self, points: Points) -> Self {
        self.mark(Mark::Points(points))
    }

    /// Adds a band or a density.
    pub fn band(self, band: Band) -> Self {
        self.mark(Mark::Band(band))
    }

    /// Adds bars or a step histogram.
    pub fn bars(self, bars: Bars) -> Self {
        self.mark(Mark::Bars(bars))
    }

    /// Adds a line across the panel.
    pub fn reference(self, reference: ReferenceLine) -> Self {
        self.mark(Mark::ReferenceLine(reference))
    }

    /// Adds text, or a named point.
    pub fn note(self, note: Note) -> Self {
        self.mark(Mark::Note(note))
    }

    /// Adds an arrow.
    pub fn arrow(self, arrow: Arrow) -> Self {
        self.mark(Mark::Arrow(arrow))
    }

    /// Adds filled contours; they belong first, as they cover what lies below.
    pub fn field(self, field: Contours) -> Self {
        self.mark(Mark::Field(field))
    }

    fn extents(&self) -> (Extent, Extent) {
        let (mut x, mut y) = (Extent::default(), Extent::default());
        for mark in &self.marks {
            mark.extend(&mut x, &mut y);
        }
        (x, y)
    }

    fn entries(&self) -> Vec<Entry> {
        self.marks.iter().filter_map(Entry::of).collect()
    }

    fn color_bar(&self) -> Option<(&Contours, &str)> {
        self.marks.iter().find_map(|mark| match mark {
            Mark::Field(field) => field.bar.as_deref().map(|label| (field, label)),
            _ => None,
        })
    }

    /// Fits axes, ticks and margins for a panel of this outer size.
    pub(crate) fn plan(&self, size: (f64, f64)) -> Plan {
        let (x_extent, y_extent) = self.extents();
        let has_field = self.marks.iter().any(|mark| matches!(mark, Mark::Field(_)));
        // A field fills its frame; curves get some padding.
        let (x_pad, y_pad) = if has_field { (0.0, 0.0) } else { (0.025, 0.06) };
        let (x, y) = (self.x.fit(&x_extent, x_pad), self.y.fit(&y_extent, y_pad));
        let x_ticks = self.x.ticks_for(&x, size.0 - 80.0, 62.0);
        let y_ticks = self.y.ticks_for(&y, size.1 - 80.0, 44.0);
        let entries = self.entries();
        let widest = |ticks: &Ticks| {
            ticks.major.iter().map(|(_, label)| width(label, SMALL_SIZE, false)).fold(0.0, f64::max)
        };
        let label_space = |axis: &Axis| {
            if axis.label.is_empty() { 0.0 } else { BASE_SIZE + 6.0 }
        };
        let left = 8.0 + label_space(&self.y) + widest(&y_ticks) + TICK + 4.0;
        let bar = self.color_bar().map_or(0.0, |(field, label)| color_bar::space(field, label));
        // Half of the last tick label hangs over the end of the axis.
        let overhang = x_ticks.major.last().map_or(0.0, |(_, label)| width(label, SMALL_SIZE, false) / 2.0);
        let right = (8.0 + overhang).max(12.0) + bar;
        let exponent = if y_ticks.exponent.is_some() { SMALL_SIZE + 4.0 } else { 0.0 };
        let top = if self.title.is_some() { TITLE_SIZE + 14.0 } else { 10.0 } + exponent;
        let axis_bottom = TICK + SMALL_SIZE + 6.0 + label_space(&self.x) + 6.0;
        let below = match self.legend {
            Legend::Below => legend::height_below(&entries, size.0 - left - right) + 8.0,
            _ => 0.0,
        };
        let margins = Margins { left, right, top, bottom: axis_bottom + below };
        Plan { x, y, x_ticks, y_ticks, entries, margins, axis_bottom }
    }

    pub(crate) fn draw(&self, page: &mut Page, plan: &Plan, rect: Rect) {
        let frame = Frame { x: plan.x, y: plan.y, rect };
        if self.grid {
            draw_grid(page, plan, &frame);
        }
        page.clipped(rect, |page| {
            for mark in &self.marks {
                mark.draw(page, &frame);
            }
        });
        self.draw_axes(page, plan, &frame);
        if let Some((field, label)) = self.color_bar() {
            color_bar::draw(field, label, page, rect);
        }
        self.marks.iter().for_each(|mark| mark.draw_text(page, &frame));
        match self.legend {
            Legend::Hidden => {}
            Legend::Below => {
                legend::draw_below(
                    &plan.entries,
                    page,
                    (rect.left, rect.right),
                    rect.bottom + plan.axis_bottom,
                );
            }
            corner => legend::draw_inside(&plan.entries, page, rect, corner),
        }
    }

    fn draw_axes(&self, page: &mut Page, plan: &Plan, frame: &Frame) {
        let rect = frame.rect;
        let ink = Stroke::new(Color::hex(0x444444), 0.8);
        page.rect(rect, None, Some(ink));
        let mut taken = f64::NEG_INFINITY;
        for (at, label) in &plan.x_ticks.major {
            let Some(x) = frame.horizontal(*at) else {
                continue;
            };
            page.segment((x, rect.bottom), (x, rect.bottom + TICK), ink);
            // Chosen marks may stand close together: one whose text has no room keeps its tick alone.
            let half = width(label, SMALL_SIZE, false) / 2.0;
            if x - half < taken + 4.0 {
                continue;
            }
            taken = x + half;
            small(label, x, rect.bottom + TICK + SMALL_SIZE + 1.5, Anchor::Middle).draw(page);
        }
        for (at, label) in &plan.y_ticks.major {
            let Some(y) = frame.vertical(*at) else {
                continue;
            };
            page.segment((rect.left - TICK, y), (rect.left, y), ink);
            small(label, rect.left - TICK - 3.0, y + 0.36 * SMALL_SIZE, Anchor::End).draw(page);
        }
        for x in plan.x_ticks.minor.iter().filter_map(|&at| frame.horizontal(at)) {
            page.segment((x, rect.bottom), (x, rect.bottom + TICK / 2.0), ink);
        }
        for y in plan.y_ticks.minor.iter().filter_map(|&at| frame.vertical(at)) {
            page.segment((rect.left - TICK / 2.0, y), (rect.left, y), ink);
        }
        let factor = |exponent: i32| format!("×10^{{{}}}", number(f64::from(exponent), 0));
        let label_line = rect.bottom + TICK + SMALL_SIZE + 6.0 + BASE_SIZE;
        if let Some(exponent) = plan.x_ticks.exponent {
            small(&factor(exponent), rect.right, label_line, Anchor::End).draw(page);
        }
        if let Some(exponent) = plan.y_ticks.exponent {
            small(&factor(exponent), rect.left - TICK, rect.top - 6.0, Anchor::Start).draw(page);
        }
        if !self.x.label.is_empty() {
            Label::new(&self.x.label, rect.middle().0, label_line).draw(page);
        }
        if !self.y.label.is_empty() {
            let x = rect.left - plan.margins.left + 8.0 + 0.8 * BASE_SIZE;
            let middle = rect.middle().1;
            Label { upward: true, ..Label::new(&self.y.label, x, middle) }.draw(page);
        }
    }
}

pub(crate) fn small(markup: &str, x: f64, y: f64, anchor: Anchor) -> Label {
    Label { size: SMALL_SIZE, anchor, ..Label::new(markup, x, y) }
}

/// A panel's axes with definite ranges, and the space its labels need.
pub(crate) struct Plan {
    x: Fitted,
    y: Fitted,
    x_ticks: Ticks,
    y_ticks: Ticks,
    entries: Vec<Entry>,
    pub margins: Margins,
    /// Distance from the plotting area to the end of the axis labels.
    axis_bottom: f64,
}

fn draw_grid(page: &mut Page, plan: &Plan, frame: &Frame) {
    let rect = frame.rect;
    let light = Stroke::new(Color::GRID, 0.7);
    for x in plan.x_ticks.major.iter().filter_map(|(at, _)| frame.horizontal(*at)) {
        page.segment((x, rect.top), (x, rect.bottom), light);
    }
    for y in plan.y_ticks.major.iter().filter_map(|(at, _)| frame.vertical(*at)) {
        page.segment((rect.left, y), (rect.right, y), light);
    }
}

impl Mark {
    /// Widens the axes to show the mark.
    fn extend(&self, x: &mut Extent, y: &mut Extent) {
        match self {
            Self::Line(line) => {
                x.extend(&line.xs);
                y.extend(&line.ys);
            }
            Self::Points(points) => {
                x.extend(&points.xs);
                y.extend(&points.ys);
                for (y_value, error) in points.ys.iter().zip(points.errors.iter().flatten()) {
                    y.extend(&[y_value - error, y_value + error]);
                }
            }
            Self::Band(band) => {
                x.extend(&band.xs);
                y.extend(band.upper.iter().chain(&band.lower));
                if band.stands {
                    y.baseline = Some(0.0);
                }
            }
            Self::Bars(bars) => {
                bars.spans.iter().for_each(|(low, high)| x.extend([low, high]));
                y.extend(&bars.heights);
                y.add(0.0);
                y.baseline = Some(0.0);
            }
            Self::ReferenceLine(reference) => if reference.vertical { x } else { y }.add(reference.at),
            Self::Note(note) => {
                x.add(note.at.0);
                y.add(note.at.1);
            }
            Self::Arrow(arrow) => {
                x.extend([&arrow.from.0, &arrow.to.0]);
                y.extend([&arrow.from.1, &arrow.to.1]);
            }
            Self::Field(field) => {
                x.extend(&field.grid.xs);
                y.extend(&field.grid.ys);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_tick_labels_and_legends_below_make_room() {
        let panel = |high: f64| {
            Panel::untitled().y_axis(Axis::linear("y").range(0.0, high)).line(Line::new([0.0], [0.0]))
        };
        let margins = |panel: &Panel| panel.plan((420.0, 320.0)).margins;
        assert!(margins(&panel(5000.0)).left > margins(&panel(5.0)).left + 10.0);
        let named = panel(1.0).line(Line::new([0.0], [0.0]).label("name"));
        let inside = named.clone().legend(Legend::TopRight);
        assert!(margins(&named).bottom > margins(&inside).bottom + 10.0);
    }
}
