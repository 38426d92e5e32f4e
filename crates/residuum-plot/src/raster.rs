//! A page as pixels, with the embedded fonts only, so that the picture does not depend on the machine.

use tiny_skia::{FillRule, LineCap, LineJoin, Mask, Paint, PathBuilder, Pixmap, Shader, StrokeDash, Transform};
use ttf_parser::OutlineBuilder;

use super::PngError;
use super::color::Color;
use super::font::Font;
use super::page::{Element, Fill, Page, Path, Rect, Step, Stroke};
use super::png;
use super::text::{Anchor, HALO_OPACITY, HALO_WIDTH, Label};

const LARGEST_SIDE: u32 = 20_000;

/// The picture as a PNG file.
pub(crate) fn png(page: &Page, size: (f64, f64), scale: f64) -> Result<Vec<u8>, PngError> {
    let canvas = paint(page, size, scale)?;
    // The page is opaque, so no pixel needs its alpha.
    let colors: Vec<u8> =
        canvas.pixels().iter().flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect();
    png::encode(&colors, canvas.width(), canvas.height()).map_err(PngError::Png)
}

pub(crate) fn paint(page: &Page, size: (f64, f64), scale: f64) -> Result<Pixmap, PngError> {
    let refused = || PngError::Scale { scale, limit: LARGEST_SIDE };
    let side = |length: f64| {
        let side = (length * scale).round();
        (1.0..=f64::from(LARGEST_SIDE)).contains(&side).then_some(side as u32).ok_or_else(refused)
    };
    let mut canvas = Pixmap::new(side(size.0)?, side(size.1)?).ok_or_else(refused)?;
    canvas.fill(tiny_skia::Color::WHITE);
    let mut painter = Painter { canvas, zoom: Transform::from_scale(scale as f32, scale as f32) };
    painter.elements(&page.elements, None);
    Ok(painter.canvas)
}

struct Painter {
    canvas: Pixmap,
    zoom: Transform,
}

impl Painter {
    fn elements(&mut self, elements: &[Element], clip: Option<&Mask>) {
        // Inside a clipped plotting area lines turn corners smoothly, elsewhere they are sharp, as in the SVG.
        let join = if clip.is_some() { LineJoin::Round } else { LineJoin::Miter };
        for element in elements {
            match element {
                Element::Path { path, fill, stroke } => {
                    let Some(path) = outline(path) else { continue };
                    if let Some(fill) = fill {
                        self.fill(&path, *fill, clip);
                    }
                    if let Some(stroke) = stroke {
                        self.stroke(&path, stroke, join, clip);
                    }
                }
                Element::Label(label) => self.label(label, clip),
                Element::Clipped { rect, inside } => {
                    let mask = self.mask(*rect);
                    self.elements(inside, mask.as_ref());
                }
            }
        }
    }

    fn fill(&mut self, path: &tiny_skia::Path, fill: Fill, clip: Option<&Mask>) {
        let paint = paint_of(fill.color, fill.opacity);
        self.canvas.fill_path(path, &paint, FillRule::Winding, self.zoom, clip);
    }

    fn stroke(&mut self, path: &tiny_skia::Path, stroke: &Stroke, join: LineJoin, clip: Option<&Mask>) {
        let pattern = stroke.pattern().into_iter().map(|length| length as f32).collect();
        let shape = tiny_skia::Stroke {
            width: stroke.width as f32,
            line_cap: if stroke.round_ends() { LineCap::Round } else { LineCap::Butt },
            line_join: join,
            dash: StrokeDash::new(pattern, 0.0),
            ..tiny_skia::Stroke::default()
        };
        self.canvas.stroke_path(path, &paint_of(stroke.color, stroke.opacity), &shape, self.zoom, clip);
    }

    fn label(&mut self, label: &Label, clip: Option<&Mask>) {
        let Some(path) = letters(label) else { return };
        if label.halo {
            let rim = Stroke { opacity: HALO_OPACITY, ..Stroke::new(Color::WHITE, HALO_WIDTH) };
            self.stroke(&path, &rim, LineJoin::Round, clip);
        }
        self.fill(&path, Fill::solid(label.color), clip);
    }

    fn mask(&self, rect: Rect) -> Option<Mask> {
        let mut mask = Mask::new(self.canvas.width(), self.canvas.height())?;
        mask.fill_path(&outline(&Path::polygon(rect.corners()))?, FillRule::Winding, true, self.zoom);
        Some(mask)
    }
}

fn paint_of(color: Color, opacity: f64) -> Paint<'static> {
    let (red, green, blue) = color.channels();
    let alpha = (255.0 * opacity).round() as u8;
    let shader = Shader::SolidColor(tiny_skia::Color::from_rgba8(red, green, blue, alpha));
    Paint { shader, anti_alias: true, ..Paint::default() }
}

pub(crate) fn outline(path: &Path) -> Option<tiny_skia::Path> {
    let mut pen = PathBuilder::new();
    for &step in &path.steps {
        match step {
            Step::Move(x, y) => pen.move_to(x as f32, y as f32),
            Step::Line(x, y) => pen.line_to(x as f32, y as f32),
            Step::Circle(x, y, radius) => pen.push_circle(x as f32, y as f32, radius as f32),
            Step::Close => pen.close(),
        }
    }
    pen.finish()
}

/// The outlines of a label's letters, in their place on the page.
pub(crate) fn letters(label: &Label) -> Option<tiny_skia::Path> {
    let font = Font::of(label.bold)?;
    let mut pen = Pen { path: PathBuilder::new(), x: 0.0, y: 0.0, scale: 1.0 };
    let mut end = 0.0;
    for span in label.spans() {
        let scale = font.scale(span.size);
        let (placed, width) = font.set(span.text);
        end -= span.back;
        for letter in placed {
            pen = Pen { x: end + scale * letter.x, y: span.drop - scale * letter.y, scale, ..pen };
            font.outline(letter.glyph, &mut pen);
        }
        end += scale * width;
    }
    let before = match label.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => end / 2.0,
        Anchor::End => end,
    };
    let (x, y) = (label.x as f32, label.y as f32);
    let place = if label.upward {
        Transform::from_row(0.0, -1.0, 1.0, 0.0, x, y + before as f32)
    } else {
        Transform::from_translate(x - before as f32, y)
    };
    pen.path.finish()?.transform(place)
}

/// Draws glyphs, which have their own units and y upwards, onto a line of text.
struct Pen {
    path: PathBuilder,
    x: f64,
    y: f64,
    scale: f64,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        ((self.x + self.scale * f64::from(x)) as f32, (self.y - self.scale * f64::from(y)) as f32)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
