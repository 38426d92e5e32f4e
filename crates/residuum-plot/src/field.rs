//! A function z(x, y) on a grid, shown as filled contours.

use std::collections::BTreeMap;

use super::color::{Color, ColorRamp};
use super::draw::Frame;
use super::page::{Fill, Page, Path, Stroke};
use super::ticks::Ticks;

/// Values on a rectangular grid, row by row: `z[row][column]` belongs to `(xs[column], ys[row])`.
#[derive(Clone, Debug)]
pub struct Grid {
    pub(crate) xs: Vec<f64>,
    pub(crate) ys: Vec<f64>,
    pub(crate) z: Vec<Vec<f64>>,
}

impl Grid {
    /// Evaluates `function` at every node.
    pub fn sample(
        xs: impl Into<Vec<f64>>,
        ys: impl Into<Vec<f64>>,
        function: impl Fn(f64, f64) -> f64,
    ) -> Self {
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
    pub(crate) fn bounds(&self) -> Option<(f64, f64)> {
        self.z.iter().flatten().copied().filter(|z| z.is_finite()).fold(None, |bounds, z| match bounds {
            None => Some((z, z)),
            Some((low, high)) => Some((z.min(low), z.max(high))),
        })
    }

    /// Corners of every cell whose values are all finite, in order around the cell.
    pub(crate) fn cells(&self) -> impl Iterator<Item = [(f64, f64, f64); 4]> + '_ {
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
pub struct Contours {
    pub(crate) grid: Grid,
    levels: Option<Vec<f64>>,
    ramp: ColorRamp,
    lines: bool,
    pub(crate) bar: Option<String>,
}

impl Contours {
    /// About twelve filled levels in the quiet blue ramp.
    pub fn new(grid: Grid) -> Self {
        Self { grid, levels: None, ramp: ColorRamp::MIST, lines: true, bar: None }
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
    pub fn ramp(mut self, ramp: ColorRamp) -> Self {
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

    pub(crate) fn chosen_levels(&self) -> Vec<f64> {
        if let Some(levels) = &self.levels {
            return levels.clone();
        }
        match self.grid.bounds() {
            Some((low, high)) if low < high => {
                Ticks::linear(low, high, 12).major.into_iter().map(|(z, _)| z).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Colour above the `index`-th of `count` levels; index 0 lies below the first.
    pub(crate) fn shade(&self, index: usize, count: usize) -> Color {
        self.ramp.at(index as f64 / count.max(1) as f64)
    }

    /// Paints {z ≥ level} for rising levels, each over the last.
    pub(crate) fn draw(&self, page: &mut Page, frame: &Frame) {
        let levels = self.chosen_levels();
        let fill = |index| Some(Fill::solid(self.shade(index, levels.len())));
        let whole = outline(&self.grid, frame, f64::NEG_INFINITY);
        let border: Vec<(Node, Node)> = whole.iter().flat_map(sides).collect();
        page.path(rings_path(&whole), fill(0), None);
        for (index, &level) in levels.iter().enumerate() {
            let rings = outline(&self.grid, frame, level);
            page.path(rings_path(&rings), fill(index + 1), None);
            if self.lines {
                let ink = self.shade(index + 1, levels.len()).mix(Color::BLACK, 0.3);
                page.path(open_path(&rings, &border), None, Some(Stroke::new(ink, 0.6)));
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
            match from
                .get_mut(&end)
                .and_then(|ends| ends.iter().position(|&back| back == start).map(|at| (ends, at)))
            {
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
fn open_path(rings: &[Ring], border: &[(Node, Node)]) -> Path {
    // Cells are upright rectangles, so a side lies on a border side exactly if both ends do.
    let within = |p: i64, a: i64, b: i64| a.min(b) <= p && p <= a.max(b);
    let on = |p: Node, &(a, b): &(Node, Node)| within(p.0, a.0, b.0) && within(p.1, a.1, b.1);
    let on_edge = |a: Node, b: Node| border.iter().any(|side| on(a, side) && on(b, side));
    let mut path = Path::default();
    for ring in rings {
        let mut pen = None;
        for (a, b) in sides(ring) {
            if on_edge(a, b) {
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

#[cfg(test)]
mod tests {
    use super::super::axis::{Axis, Extent};
    use super::super::page::Rect;
    use super::*;

    /// One data unit is one pixel, so areas can be compared with geometry.
    fn frame(side: f64) -> Frame {
        let axis = Axis::linear("").range(0.0, side).fit(&Extent::default(), 0.0);
        Frame { x: axis, y: axis, rect: Rect { left: 0.0, top: 0.0, right: side, bottom: side } }
    }

    fn nodes(side: u32) -> Vec<f64> {
        (0..=side).map(f64::from).collect()
    }

    /// Signed areas add up even where rings run around holes.
    fn area(rings: &[Ring]) -> f64 {
        let doubled: i64 = rings.iter().flat_map(sides).map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum();
        (doubled as f64 / 2.0 / 1e4).abs()
    }

    #[test]
    fn a_plane_is_cut_where_it_should_be() {
        let grid = Grid::sample(nodes(10), nodes(10), |x, _| x);
        let rings = outline(&grid, &frame(10.0), 2.5);
        assert_eq!(rings.len(), 1);
        assert!((area(&rings) - 75.0).abs() < 1e-9, "{}", area(&rings));
        assert_eq!(simplified(&rings[0]).len(), 4);
    }

    #[test]
    fn a_bowl_leaves_a_round_hole() {
        let grid = Grid::sample(nodes(100), nodes(100), |x, y| (x - 50.0).hypot(y - 50.0));
        let rings = outline(&grid, &frame(100.0), 30.0);
        assert_eq!(rings.len(), 2);
        let expected = 1e4 - std::f64::consts::PI * 900.0;
        assert!((area(&rings) - expected).abs() < 2.0, "{} vs {expected}", area(&rings));
    }

    #[test]
    fn cells_that_are_not_finite_are_left_out() {
        let grid = Grid::sample(nodes(4), nodes(4), |x, y| if x == 2.0 && y == 2.0 { f64::NAN } else { 1.0 });
        let rings = outline(&grid, &frame(4.0), f64::NEG_INFINITY);
        assert!((area(&rings) - 12.0).abs() < 1e-9, "{}", area(&rings));
        assert_eq!(grid.bounds(), Some((1.0, 1.0)));
        assert!(Contours::new(grid).chosen_levels().is_empty());
    }

    #[test]
    #[should_panic(expected = "values must have one entry per node (4), got 3")]
    fn values_must_fill_the_grid() {
        let _ = Grid::from_values([0.0, 1.0], [0.0, 1.0], &[1.0, 2.0, 3.0]);
    }
}
