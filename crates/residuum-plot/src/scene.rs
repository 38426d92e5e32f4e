//! Surfaces z(x, y) in a box, seen from above and to the side.
//!
//! The projection is orthographic. Faces of all surfaces are sorted by distance and painted from the farthest to the
//! nearest, so two see-through surfaces may cross each other.

use super::axis::{Axis, Extent, Fitted};
use super::color::Color;
use super::draw::{beside, draw_marker};
use super::field::Grid;
use super::legend::{self, Entry};
use super::marks::setters;
use super::notes::{Compass, Marker};
use super::page::{Dash, Fill, Page, Path, Rect, Stroke};
use super::panel::{Margins, TITLE_SIZE};
use super::text::{Anchor, BASE_SIZE, Label, SMALL_SIZE};
use super::ticks::Ticks;

/// Height of the box relative to its sides.
const HEIGHT: f64 = 0.62;

/// One surface of a scene.
#[derive(Clone, Debug)]
pub struct Surface {
    grid: Grid,
    color: Color,
    opacity: f64,
    label: Option<String>,
}

impl Surface {
    /// A see-through surface over the grid.
    pub fn new(grid: Grid) -> Self {
        Self { grid, color: Color::BLUE, opacity: 0.6, label: None }
    }
}
setters!(Surface: color, label, opacity);

/// A named point of a scene, with a thin line down to the floor.
#[derive(Clone, Debug)]
pub struct Pin {
    at: [f64; 3],
    text: String,
    side: Compass,
    color: Color,
    marker: Marker,
}

impl Pin {
    /// A pin at `(x, y, z)`; the text (markup allowed) stands beside its head.
    pub fn new(x: f64, y: f64, z: f64, text: impl Into<String>) -> Self {
        Self {
            at: [x, y, z],
            text: text.into(),
            side: Compass::NorthEast,
            color: Color::INK,
            marker: Marker::Circle,
        }
    }

    /// Puts the text on this side of the head.
    pub fn side(mut self, side: Compass) -> Self {
        self.side = side;
        self
    }
}
setters!(Pin: color, marker);

/// One three-dimensional panel.
#[derive(Clone, Debug)]
pub struct Scene {
    pub(crate) title: Option<String>,
    axes: [Axis; 3],
    azimuth: f64,
    elevation: f64,
    surfaces: Vec<Surface>,
    pins: Vec<Pin>,
}

impl Scene {
    /// An empty box with a title (markup allowed).
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..Self::untitled() }
    }

    /// An empty box without a title.
    pub fn untitled() -> Self {
        Self {
            title: None,
            axes: [Axis::linear("x"), Axis::linear("y"), Axis::linear("")],
            azimuth: 38.0,
            elevation: 24.0,
            surfaces: Vec::new(),
            pins: Vec::new(),
        }
    }

    /// Sets the three axes.
    pub fn axes(mut self, x: Axis, y: Axis, z: Axis) -> Self {
        self.axes = [x, y, z];
        self
    }

    /// Sets the viewing direction: azimuth and elevation, in degrees.
    pub fn view(mut self, azimuth: f64, elevation: f64) -> Self {
        self.azimuth = azimuth;
        self.elevation = elevation.clamp(5.0, 85.0);
        self
    }

    /// Adds a surface.
    pub fn surface(mut self, surface: Surface) -> Self {
        self.surfaces.push(surface);
        self
    }

    /// Adds a named point.
    pub fn pin(mut self, pin: Pin) -> Self {
        self.pins.push(pin);
        self
    }

    fn entries(&self) -> Vec<Entry> {
        let named = |surface: &Surface| {
            surface.label.as_ref().map(|label| Entry::patch(surface.color, surface.opacity, label))
        };
        self.surfaces.iter().filter_map(named).collect()
    }

    pub(crate) fn margins(&self, size: (f64, f64)) -> Margins {
        let top = if self.title.is_some() { TITLE_SIZE + 14.0 } else { 10.0 };
        let bottom = 6.0 + legend::height_below(&self.entries(), size.0 - 20.0);
        Margins { left: 10.0, right: 10.0, top, bottom }
    }

    pub(crate) fn draw(&self, page: &mut Page, rect: Rect) {
        let camera = self.camera(rect);
        self.draw_box(page, &camera);
        self.draw_faces(page, &camera);
        for pin in &self.pins {
            let Some(head) = camera.place(pin.at) else {
                continue;
            };
            if let Some(foot) = camera.place([pin.at[0], pin.at[1], camera.fitted[2].low]) {
                page.segment(head, foot, Stroke { dash: Dash::Dashed, ..Stroke::new(pin.color, 0.9) });
                draw_marker(page, foot, Marker::Circle, 1.8, pin.color, 1.0, false);
            }
            draw_marker(page, head, pin.marker, 3.8, pin.color, 1.0, false);
            beside(&pin.text, head, Some(pin.side), 6.5, pin.color, page);
        }
        legend::draw_below(&self.entries(), page, (rect.left, rect.right), rect.bottom + 2.0);
    }

    fn camera(&self, rect: Rect) -> Camera {
        let mut extents = [Extent::default(); 3];
        for grid in self.surfaces.iter().map(|surface| &surface.grid) {
            extents[0].extend(&grid.xs);
            extents[1].extend(&grid.ys);
            grid.z.iter().for_each(|row| extents[2].extend(row));
        }
        for pin in &self.pins {
            (0..3).for_each(|axis| extents[axis].add(pin.at[axis]));
        }
        let fitted = [0, 1, 2].map(|axis| self.axes[axis].fit(&extents[axis], 0.0));
        Camera::new(fitted, self.azimuth, self.elevation, rect)
    }

    fn draw_faces(&self, page: &mut Page, camera: &Camera) {
        let mut faces = Vec::new();
        for surface in &self.surfaces {
            for corners in surface.grid.cells() {
                let placed = corners.map(|(x, y, z)| camera.unit([x, y, z]));
                let [Some(a), Some(b), Some(c), Some(d)] = placed else {
                    continue;
                };
                let corners = [a, b, c, d];
                let depth = corners.iter().map(|&corner| camera.depth(corner)).sum::<f64>() / 4.0;
                faces.push((depth, surface, corners));
            }
        }
        // Farthest first; the sort is stable, so equal distances keep the order of the data.
        faces.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, surface, corners) in faces {
            let color = surface.color.mix(Color::WHITE, 0.55 * brightness(&corners));
            let path = Path::polygon(corners.iter().map(|&corner| camera.project(corner)));
            let edge = Stroke { opacity: 0.55, ..Stroke::new(surface.color.mix(Color::BLACK, 0.25), 0.35) };
            page.path(path, Some(Fill { color, opacity: surface.opacity }), Some(edge));
        }
    }

    /// Floor and the two back walls with light grid lines, then the three labelled edges.
    fn draw_box(&self, page: &mut Page, camera: &Camera) {
        let (fx, fy) = camera.far_corner();
        let ticks = [0, 1, 2].map(|axis| self.axes[axis].ticks_for(&camera.fitted[axis], 160.0, 40.0));
        let floor = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
        let wall_x = [[fx, 0.0, 0.0], [fx, 1.0, 0.0], [fx, 1.0, 1.0], [fx, 0.0, 1.0]];
        let wall_y = [[0.0, fy, 0.0], [1.0, fy, 0.0], [1.0, fy, 1.0], [0.0, fy, 1.0]];
        let pane = Some(Fill::solid(Color::hex(0xfafafa)));
        let rim = Some(Stroke::new(Color::hex(0xbdbdbd), 0.7));
        for face in [floor, wall_x, wall_y] {
            page.path(Path::polygon(face.map(|corner| camera.project(corner))), pane, rim);
        }
        let light = Stroke::new(Color::GRID, 0.6);
        let mut rule =
            |from: [f64; 3], to: [f64; 3]| page.segment(camera.project(from), camera.project(to), light);
        let at = |axis: usize| fractions(&ticks[axis], &camera.fitted[axis]);
        for (t, _) in at(0) {
            rule([t, 0.0, 0.0], [t, 1.0, 0.0]);
            rule([t, fy, 0.0], [t, fy, 1.0]);
        }
        for (t, _) in at(1) {
            rule([0.0, t, 0.0], [1.0, t, 0.0]);
            rule([fx, t, 0.0], [fx, t, 1.0]);
        }
        for (t, _) in at(2) {
            rule([fx, 0.0, t], [fx, 1.0, t]);
            rule([0.0, fy, t], [1.0, fy, t]);
        }
        let (nx, ny) = (1.0 - fx, 1.0 - fy);
        let (lx, ly) = camera.left_corner();
        self.draw_edge(page, camera, 0, &at(0), |t| [t, ny, 0.0]);
        self.draw_edge(page, camera, 1, &at(1), |t| [nx, t, 0.0]);
        self.draw_edge(page, camera, 2, &at(2), |t| [lx, ly, t]);
    }

    fn draw_edge(
        &self,
        page: &mut Page,
        camera: &Camera,
        axis: usize,
        ticks: &[(f64, &str)],
        edge: impl Fn(f64) -> [f64; 3],
    ) {
        let ink = Stroke::new(Color::hex(0x444444), 0.8);
        let (from, to) = (camera.project(edge(0.0)), camera.project(edge(1.0)));
        page.segment(from, to, ink);
        // Labels stand on the side of the edge that faces away from the middle of the box.
        let middle = (f64::midpoint(from.0, to.0), f64::midpoint(from.1, to.1));
        let center = camera.project([0.5, 0.5, if axis == 2 { 0.5 } else { 0.0 }]);
        let length = (to.0 - from.0).hypot(to.1 - from.1).max(1e-9);
        let normal = ((to.1 - from.1) / length, (from.0 - to.0) / length);
        let outward = normal.0 * (middle.0 - center.0) + normal.1 * (middle.1 - center.1);
        let (nx, ny) = if outward < 0.0 { (-normal.0, -normal.1) } else { normal };
        let anchor = match nx {
            nx if nx < -0.25 => Anchor::End,
            nx if nx > 0.25 => Anchor::Start,
            _ => Anchor::Middle,
        };
        let drop = |size: f64| (0.36 + 0.4 * ny) * size;
        for &(t, text) in ticks {
            let (x, y) = camera.project(edge(t));
            page.segment((x, y), (x + 3.5 * nx, y + 3.5 * ny), ink);
            let label = Label::new(text, x + 6.0 * nx, y + 6.0 * ny + drop(SMALL_SIZE));
            Label { size: SMALL_SIZE - 1.0, anchor, ..label }.draw(page);
        }
        let name = &self.axes[axis].label;
        if name.is_empty() {
            return;
        }
        if axis == 2 {
            // Over the top of the edge, where no tick label can be in the way.
            let (x, y) = if from.1 < to.1 { from } else { to };
            Label { anchor: Anchor::Middle, ..Label::new(name, x, y - 8.0) }.draw(page);
        } else {
            let away = 28.0;
            Label { anchor, ..Label::new(name, middle.0 + away * nx, middle.1 + away * ny + drop(BASE_SIZE)) }
                .draw(page);
        }
    }
}

fn fractions<'a>(ticks: &'a Ticks, fitted: &Fitted) -> Vec<(f64, &'a str)> {
    ticks.major.iter().filter_map(|(at, text)| fitted.fraction(*at).map(|t| (t, text.as_str()))).collect()
}

/// How much a face turns towards a light in the upper left, 0 to 1.
fn brightness(corners: &[[f64; 3]; 4]) -> f64 {
    let along = |from: usize, to: usize| [0, 1, 2].map(|axis| corners[to][axis] - corners[from][axis]);
    let (u, v) = (along(0, 2), along(1, 3));
    let normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    let length = normal.iter().map(|n| n * n).sum::<f64>().sqrt().max(1e-12);
    let light = [-0.45, 0.25, 0.86];
    let cosine = normal.iter().zip(light).map(|(n, l)| n * l).sum::<f64>() / length;
    cosine.abs().min(1.0)
}

/// From the unit box to the page.
struct Camera {
    fitted: [Fitted; 3],
    turn: (f64, f64),
    tilt: (f64, f64),
    scale: f64,
    shift: (f64, f64),
}

impl Camera {
    fn new(fitted: [Fitted; 3], azimuth: f64, elevation: f64, rect: Rect) -> Self {
        let mut camera = Self {
            fitted,
            turn: azimuth.to_radians().sin_cos(),
            tilt: elevation.to_radians().sin_cos(),
            scale: 1.0,
            shift: (0.0, 0.0),
        };
        let corners: Vec<(f64, f64)> =
            (0..8_u8).map(|bits| camera.project([0, 1, 2].map(|axis| f64::from(bits >> axis & 1)))).collect();
        let span = |part: fn(&(f64, f64)) -> f64| {
            corners
                .iter()
                .map(part)
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p), high.max(p)))
        };
        let (across, down) = (span(|corner| corner.0), span(|corner| corner.1));
        // Room for tick labels and names outside the box.
        let inner = Rect {
            left: rect.left + 34.0,
            right: rect.right - 34.0,
            top: rect.top + 12.0,
            bottom: rect.bottom - 26.0,
        };
        camera.scale = (inner.width() / (across.1 - across.0)).min(inner.height() / (down.1 - down.0));
        camera.shift = (
            inner.middle().0 - camera.scale * f64::midpoint(across.0, across.1),
            inner.middle().1 - camera.scale * f64::midpoint(down.0, down.1),
        );
        camera
    }

    /// Position in the unit box; points outside the shown range are clamped to its walls.
    fn unit(&self, at: [f64; 3]) -> Option<[f64; 3]> {
        let fraction = |axis: usize| self.fitted[axis].fraction(at[axis]).map(|t| t.clamp(0.0, 1.0));
        Some([fraction(0)?, fraction(1)?, fraction(2)?])
    }

    fn place(&self, at: [f64; 3]) -> Option<(f64, f64)> {
        self.unit(at).map(|unit| self.project(unit))
    }

    fn rotated(&self, unit: [f64; 3]) -> (f64, f64, f64) {
        let (u, v, w) = (unit[0] - 0.5, unit[1] - 0.5, HEIGHT * (unit[2] - 0.5));
        (u * self.turn.1 + v * self.turn.0, v * self.turn.1 - u * self.turn.0, w)
    }

    fn project(&self, unit: [f64; 3]) -> (f64, f64) {
        let (across, away, up) = self.rotated(unit);
        let (x, y) = (across, -(up * self.tilt.1 + away * self.tilt.0));
        (self.shift.0 + self.scale * x, self.shift.1 + self.scale * y)
    }

    /// Distance from the viewer; larger is farther.
    fn depth(&self, unit: [f64; 3]) -> f64 {
        let (_, away, up) = self.rotated(unit);
        away * self.tilt.1 - up * self.tilt.0
    }

    fn far_corner(&self) -> (f64, f64) {
        floor_corner(|corner| self.depth(corner))
    }

    fn left_corner(&self) -> (f64, f64) {
        floor_corner(|corner| -self.project(corner).0)
    }
}

/// The corner of the floor with the largest key.
fn floor_corner(key: impl Fn([f64; 3]) -> f64) -> (f64, f64) {
    let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let best = corners.into_iter().max_by(|&a, &b| key(a).total_cmp(&key(b))).unwrap_or_default();
    (best[0], best[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn camera(azimuth: f64) -> Camera {
        let fitted = [(); 3].map(|()| Axis::linear("").range(0.0, 1.0).fit(&Extent::default(), 0.0));
        Camera::new(fitted, azimuth, 25.0, Rect { left: 0.0, top: 0.0, right: 400.0, bottom: 300.0 })
    }

    #[test]
    fn the_box_fits_the_panel_from_every_side() {
        for azimuth in [0.0, 38.0, 95.0, 200.0, -60.0] {
            let camera = camera(azimuth);
            for bits in 0..8_u8 {
                let (x, y) = camera.project([0, 1, 2].map(|axis| f64::from(bits >> axis & 1)));
                assert!((0.0..=400.0).contains(&x) && (0.0..=300.0).contains(&y), "{azimuth}: {x} {y}");
            }
        }
    }

    #[test]
    fn higher_is_higher_on_the_page_and_the_far_corner_is_behind() {
        let camera = camera(38.0);
        assert!(camera.project([0.5, 0.5, 1.0]).1 < camera.project([0.5, 0.5, 0.0]).1);
        let (fx, fy) = camera.far_corner();
        assert!(camera.depth([fx, fy, 0.0]) > camera.depth([1.0 - fx, 1.0 - fy, 0.0]));
        assert!(camera.project([fx, fy, 0.0]).1 < camera.project([1.0 - fx, 1.0 - fy, 0.0]).1);
    }
}
