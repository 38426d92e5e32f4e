//! A function z(x, y) on a grid, shown as filled contours.

use std::collections::{BTreeMap, BTreeSet};

use super::color::{Color, Ramp};
use super::draw::Frame;
use super::svg::{Fill, Path, Stroke, Svg};
use super::ticks::Ticks;

/// Values on a rectangular grid, row by row: `z[row][column]` belongs to `(xs[column], ys[row])`.
#[derive(Clone, Debug)]
pub struct Grid {
    pub(super) xs: Vec<f64>,
    pub(super) ys: Vec<f64>,
    pub(super) z: Vec<Vec<f64>>,
}

impl Grid {
    /// Evaluates `function` at every node.
    pub fn sample(xs: impl Into<Vec<f64>>, ys: impl Into<Vec<f64>>, function: impl Fn(f64, f64) -> f64) -> Self {
        let (xs, ys) = (xs.into(), ys.into());
        let z = ys.iter().map(|&y| xs.iter().map(|&x| function(x, y)).collect()).collect();
        Self { xs, ys, z }
    }

    /// Takes values computed elsewhere, row after row (all x for the first y come first).
    ///
    /// # Panics
    /// Unless there is one value per node.
    pub fn from_values(xs: impl Into<Vec<f64>>, ys: impl Into<Vec<f64>>, values: &[f64]) -> Self {
        let (xs, ys) = (xs.into(), ys.into());
        let nodes = xs.len() * ys.len();
        assert!(values.len() == nodes, "values must have one entry per node ({nodes}), got {}", values.len());
        let z = values.chunks(xs.len().max(1)).map(<[f64]>::to_vec).collect();
        Self { xs, ys, z }
    }

    /// Smallest and largest finite value.
    pub(super) fn bounds(&self) -> Option<(f64, f64)> {
        self.z.iter().flatten().copied().filter(|z| z.is_finite()).fold(None, |bounds, z| match bounds {
            None => Some((z, z)),
            Some((low, high)) => Some((z.min(low), z.max(high))),
        })
    }

    /// Corners of every cell whose values are all finite, in order around the cell.
    pub(super) fn cells(&self) -> impl Iterator<Item = [(f64, f64, f64); 4]> + '_ {
        let rows = 0..self.ys.len().saturating_sub(1);
        rows.flat_map(move |row| (0..self.xs.len().saturating_sub(1)).map(move |column| (row, column)))
            .map(|(row, column)| {
                let node = |r: usize, c: usize| (self.xs[c], self.ys[r], self.z[r][c]);
                [node(row, column), node(row, column + 1), node(row + 1, column + 1), node(row + 1, column)]
            })
            .filter(|corners| corners.iter().all(|corner| corner.2.is_finite()))
    }
}

/// Filled contours of a grid, with contour lines and a colour bar.
#[derive(Clone, Debug)]
pub struct Field {
    pub(super) grid: Grid,
    levels: Option<Vec<f64>>,
    ramp: Ramp,
    lines: bool,
    pub(super) bar: Option<String>,
}

impl Field {
    /// About twelve filled levels in the quiet blue ramp.
    pub fn new(grid: Grid) -> Self {
        Self { grid, levels: None, ramp: Ramp::MIST, lines: true, bar: None }
    }

    /// Puts the contours at these values.
    pub fn levels(mut self, levels: impl Into<Vec<f64>>) -> Self {
        let mut levels: Vec<f64> = levels.into();
        levels.retain(|level| level.is_finite());
        levels.sort_by(f64::total_cmp);
        self.levels = Some(levels);
        self
    }

    /// Colours the levels along this ramp.
    pub fn ramp(mut self, ramp: Ramp) -> Self {
        self.ramp = ramp;
        self
    }

    /// Leaves out the contour lines.
    pub fn without_lines(mut self) -> Self {
        self.lines = false;
        self
    }

    /// Adds a colour bar with this label at the right of the panel.
    pub fn color_bar(mut self, label: impl Into<String>) -> Self {
        self.bar = Some(label.into());
        self
    }

    pub(super) fn chosen_levels(&self) -> Vec<f64> {
        if let Some(levels) = &self.levels {
            return levels.clone();
        }
        match self.grid.bounds() {
            Some((low, high)) if low < high => Ticks::linear(low, high, 12).major.into_iter().map(|(z, _)| z).collect(),
            _ => Vec::new(),
        }
    }

    /// Colour above the `index`-th of `count` levels; index 0 lies below the first.
    pub(super) fn shade(&self, index: usize, count: usize) -> Color {
        self.ramp.at(index as f64 / count.max(1) as f64)
    }

    /// Paints {z ≥ level} for rising levels, each over the last.
    pub(super) fn draw(&self, svg: &mut Svg, frame: &Frame) {
        let levels = self.chosen_levels();
        let fill = |index| Some(Fill::solid(self.shade(index, levels.len())));
        let whole = outline(&self.grid, frame, f64::NEG_INFINITY);
        let mut border = BTreeSet::new();
        for ring in &whole {
            border.extend(sides(ring).map(|(a, b)| (a.min(b), a.max(b))));
        }
        svg.path(&rings_path(&whole), fill(0), None);
        for (index, &level) in levels.iter().enumerate() {
            let rings = outline(&self.grid, frame, level);
            svg.path(&rings_path(&rings), fill(index + 1), None);
            if self.lines {
                let ink = self.shade(index + 1, levels.len()).mix(Color::hex(0x1f4e79), 0.45);
                svg.path(&open_path(&rings, &border), None, Some(Stroke::new(ink, 0.6)));
            }
        }
    }
}

/// A point in hundredths of a pixel: whole numbers, so that neighbouring cells agree exactly on shared corners.
type Node = (i64, i64);
type Ring = Vec<Node>;

fn sides(ring: &Ring) -> impl Iterator<Item = (Node, Node)> + '_ {
    ring.iter().copied().zip(ring.iter().copied().cycle().skip(1)).take(ring.len())
}

fn pixel((x, y): Node) -> (f64, f64) {
    (x as f64 / 100.0, y as f64 / 100.0)
}

/// Boundary of {z ≥ level} as closed rings.
///
/// Each cell contributes the directed sides of its part of the region. A side between two cells occurs once in each
/// direction and cancels, so only the outer boundary is left to be chained into rings: no seams between cells.
fn outline(grid: &Grid, frame: &Frame, level: f64) -> Vec<Ring> {
    let mut from: BTreeMap<Node, Vec<Node>> = BTreeMap::new();
    for corners in grid.cells() {
        let part = above(&corners, level, frame);
        for (start, end) in sides(&part).filter(|(start, end)| start != end) {
            match from.get_mut(&end).and_then(|ends| ends.iter().position(|&back| back == start).map(|at| (ends, at))) {
                Some((ends, at)) => {
                    ends.swap_remove(at);
                }
                None => from.entry(start).or_default().push(end),
            }
        }
    }
    let mut rings = Vec::new();
    while let Some((&start, _)) = from.first_key_value() {
        let mut ring = Vec::new();
        let mut here = start;
        while let Some(next) = from.get_mut(&here).and_then(Vec::pop) {
            ring.push(here);
            here = next;
        }
        from.retain(|_, ends| !ends.is_empty());
        if ring.len() > 2 {
            rings.push(ring);
        }
    }
    rings
}

/// The part of one cell where z ≥ level, with z linear along the sides.
fn above(corners: &[(f64, f64, f64); 4], level: f64, frame: &Frame) -> Ring {
    let place = |(x, y): (f64, f64)| {
        frame.at(x, y).map(|(px, py)| ((px * 100.0).round() as i64, (py * 100.0).round() as i64))
    };
    let mut part = Ring::new();
    for (index, &corner) in corners.iter().enumerate() {
        let next = corners[(index + 1) % 4];
        if corner.2 >= level {
            part.extend(place((corner.0, corner.1)));
        }
        if (corner.2 >= level) != (next.2 >= level) {
            // Always from the same end, so that both cells sharing the side round alike.
            let (a, b) = if (corner.0, corner.1) < (next.0, next.1) { (corner, next) } else { (next, corner) };
            let t = (level - a.2) / (b.2 - a.2);
            part.extend(place((a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1))));
        }
    }
    part
}

fn rings_path(rings: &[Ring]) -> Path {
    let mut path = Path::default();
    for ring in rings {
        path.add_polyline(simplified(ring).into_iter().map(pixel));
        path.close();
    }
    path
}

/// Drops nodes in the middle of straight runs along the axes: most of the border.
fn simplified(ring: &Ring) -> Ring {
    let count = ring.len();
    let straight = |i: usize| {
        let (a, b, c) = (ring[(i + count - 1) % count], ring[i], ring[(i + 1) % count]);
        (a.0 == b.0 && b.0 == c.0) || (a.1 == b.1 && b.1 == c.1)
    };
    (0..count).filter(|&i| !straight(i)).map(|i| ring[i]).collect()
}

/// The contour line proper: the rings without those sides that lie on the edge of the grid.
fn open_path(rings: &[Ring], border: &BTreeSet<(Node, Node)>) -> Path {
    // A side on the edge of the grid may be a piece of a border side, so compare the line it lies on.
    let on_edge = |(a, b): (Node, Node)| {
        border.contains(&(a.min(b), a.max(b)))
            || border.iter().any(|&(c, d)| {
                let inside = |p: Node| p.0 >= c.0.min(d.0) && p.0 <= c.0.max(d.0) && p.1 >= c.1.min(d.1) && p.1 <= c.1.max(d.1);
                inside(a) && inside(b) && (c.0 == d.0 || c.1 == d.1)
            })
    };
    let mut path = Path::default();
    for ring in rings {
        let mut pen = None;
        for (a, b) in sides(ring) {
            if on_edge((a, b)) {
                continue;
            }
            if pen != Some(a) {
                path.move_to(pixel(a));
            }
            path.line_to(pixel(b));
            pen = Some(b);
        }
    }
    path
}
