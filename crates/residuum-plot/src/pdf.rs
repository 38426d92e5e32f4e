//! A page as PDF: the same paths as in the picture, letters as outlines, so that it looks the same everywhere and needs no font.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use tiny_skia::{PathSegment, Point};

use super::color::Color;
use super::page::{Element, Fill, Page, Stroke};
use super::raster::{letters, outline};
use super::svg::num;
use super::text::{HALO_OPACITY, HALO_WIDTH};

/// Points of 1/72 inch for a pixel of 1/96.
const POINTS: f64 = 0.75;

/// The document; the same page always gives the same bytes.
pub(crate) fn pdf(page: &Page, (width, height): (f64, f64), title: &str) -> io::Result<Vec<u8>> {
    let mut content = Content::default();
    // Pages have y downwards, PDF has it upwards.
    let _ = writeln!(content.text, "{POINTS} 0 0 -{POINTS} 0 {} cm 1 1 1 rg", num(POINTS * height));
    let _ = writeln!(content.text, "0 0 {} {} re f", num(width), num(height));
    content.elements(&page.elements, false);
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    packed.write_all(content.text.as_bytes())?;
    let packed = packed.finish()?;
    let mut states = String::new();
    for (i, opacity) in content.opacities.iter().enumerate() {
        let _ = write!(states, "/A{i} << /ca {opacity:.3} /CA {opacity:.3} >> ");
    }
    let head = format!("<< /Length {} /Filter /FlateDecode >>\nstream\n", packed.len());
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {} {}] /Contents 4 0 R /Resources << /ExtGState << {states}>> >> >>",
            num(POINTS * width),
            num(POINTS * height)
        )
        .into_bytes(),
        [head.as_bytes(), &packed, b"\nendstream"].concat(),
        format!("<< /Title {} /Producer (Residuum) >>", text_string(title)).into_bytes(),
    ];
    // The second line tells programs that copy files that this one is not text.
    let mut file = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        places.push(file.len());
        writeln!(file, "{} 0 obj", number + 1)?;
        file.extend_from_slice(object);
        file.extend_from_slice(b"\nendobj\n");
    }
    let table = file.len();
    let count = objects.len() + 1;
    writeln!(file, "xref\n0 {count}\n0000000000 65535 f ")?;
    for place in places {
        writeln!(file, "{place:010} 00000 n ")?;
    }
    writeln!(file, "trailer\n<< /Size {count} /Root 1 0 R /Info 5 0 R >>\nstartxref\n{table}\n%%EOF")?;
    Ok(file)
}

/// Words in UTF-16, as PDF has them outside of Latin letters.
fn text_string(words: &str) -> String {
    let mut digits = String::from("<FEFF");
    for unit in words.encode_utf16() {
        let _ = write!(digits, "{unit:04X}");
    }
    digits + ">"
}

#[derive(Default)]
struct Content {
    text: String,
    /// Opacities that are in use, each a state with a name.
    opacities: Vec<f64>,
}

impl Content {
    fn elements(&mut self, elements: &[Element], clipped: bool) {
        // Inside a clipped plotting area lines turn corners smoothly, elsewhere they are sharp, as in the SVG.
        let join = u8::from(clipped);
        for element in elements {
            match element {
                Element::Path { path, fill, stroke } => {
                    let Some(path) = outline(path) else { continue };
                    if let Some(fill) = fill {
                        self.fill(&path, *fill);
                    }
                    if let Some(stroke) = stroke {
                        self.stroke(&path, stroke, join);
                    }
                }
                Element::Label(label) => {
                    let Some(path) = letters(label) else { continue };
                    if label.halo {
                        let rim = Stroke { opacity: HALO_OPACITY, ..Stroke::new(Color::WHITE, HALO_WIDTH) };
                        self.stroke(&path, &rim, 1);
                    }
                    self.fill(&path, Fill::solid(label.color));
                }
                Element::Clipped { rect, inside } => {
                    let (left, top) = (num(rect.left), num(rect.top));
                    let _ = writeln!(
                        self.text,
                        "q {left} {top} {} {} re W n",
                        num(rect.width()),
                        num(rect.height())
                    );
                    self.elements(inside, true);
                    self.text.push_str("Q\n");
                }
            }
        }
    }

    fn fill(&mut self, path: &tiny_skia::Path, fill: Fill) {
        self.opacity(fill.opacity);
        self.color(fill.color, "rg");
        self.path(path);
        self.text.push_str("f\n");
    }

    fn stroke(&mut self, path: &tiny_skia::Path, stroke: &Stroke, join: u8) {
        self.opacity(stroke.opacity);
        self.color(stroke.color, "RG");
        let lengths: Vec<String> = stroke.pattern().into_iter().map(num).collect();
        let cap = u8::from(stroke.round_ends());
        let _ = writeln!(self.text, "{} w {join} j {cap} J [{}] 0 d", num(stroke.width), lengths.join(" "));
        self.path(path);
        self.text.push_str("S\n");
    }

    fn opacity(&mut self, opacity: f64) {
        let known = self.opacities.iter().position(|o| *o == opacity);
        let index = known.unwrap_or_else(|| {
            self.opacities.push(opacity);
            self.opacities.len() - 1
        });
        let _ = write!(self.text, "/A{index} gs ");
    }

    fn color(&mut self, color: Color, operator: &str) {
        let (red, green, blue) = color.channels();
        let [red, green, blue] = [red, green, blue].map(|channel| format!("{:.4}", f64::from(channel) / 255.0));
        let _ = writeln!(self.text, "{red} {green} {blue} {operator}");
    }

    fn path(&mut self, path: &tiny_skia::Path) {
        let place = |p: Point| format!("{} {}", num(f64::from(p.x)), num(f64::from(p.y)));
        let mut last = Point::default();
        for segment in path.segments() {
            let _ = match segment {
                PathSegment::MoveTo(p) => writeln!(self.text, "{} m", place(p)),
                PathSegment::LineTo(p) => writeln!(self.text, "{} l", place(p)),
                PathSegment::QuadTo(control, p) => {
                    // PDF has cubics only: their handles lie two thirds of the way to the control point.
                    let toward = |from: Point| {
                        Point::from_xy(
                            from.x + 2.0 / 3.0 * (control.x - from.x),
                            from.y + 2.0 / 3.0 * (control.y - from.y),
                        )
                    };
                    writeln!(self.text, "{} {} {} c", place(toward(last)), place(toward(p)), place(p))
                }
                PathSegment::CubicTo(a, b, p) => {
                    writeln!(self.text, "{} {} {} c", place(a), place(b), place(p))
                }
                PathSegment::Close => writeln!(self.text, "h"),
            };
            if let PathSegment::MoveTo(p)
            | PathSegment::LineTo(p)
            | PathSegment::QuadTo(_, p)
            | PathSegment::CubicTo(_, _, p) = segment
            {
                last = p;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use crate::{Axis, Band, Figure, Line, Panel};

    #[test]
    fn a_document_has_its_objects_where_its_table_says() {
        let panel = Panel::new("q^{2} of (w)")
            .x_axis(Axis::linear("w"))
            .band(Band::new(vec![0.0, 1.0], vec![0.0, 0.5], vec![1.0, 2.0]).opacity(0.25))
            .line(Line::new(vec![0.0, 1.0], vec![1.0, 2.0]).label("line"));
        let figure = Figure::new(1).panel(panel);
        let file = figure.to_pdf().unwrap();
        assert_eq!(file, figure.to_pdf().unwrap());
        let lossy = String::from_utf8_lossy(&file).into_owned();
        assert!(lossy.starts_with("%PDF-1.4\n") && lossy.ends_with("%%EOF\n"));
        let find = |bytes: &[u8], from: usize| {
            from + file[from..].windows(bytes.len()).position(|w| w == bytes).unwrap()
        };
        let table = find(b"xref\n0 6\n", 0);
        let rows = std::str::from_utf8(&file[table..]).unwrap();
        for (number, row) in rows.lines().skip(3).take(5).enumerate() {
            let place: usize = row[..10].parse().unwrap();
            assert!(file[place..].starts_with(format!("{} 0 obj\n", number + 1).as_bytes()), "{row}");
        }
        assert!(rows.contains(&format!("startxref\n{table}\n")));
        // The page in points, and content that balances.
        assert!(lossy.contains("/MediaBox [0 0 315 240]") && lossy.contains("/ca 0.250"));
        let from = find(b"stream\n", 0) + 7;
        let mut content = String::new();
        flate2::read::ZlibDecoder::new(&file[from..]).read_to_string(&mut content).unwrap();
        let count = |word: &str| content.split_whitespace().filter(|w| *w == word).count();
        assert_eq!(count("q"), count("Q"));
        assert!(count("q") > 0 && count("S") > 3 && count("f") > 3 && !content.contains("NaN"));
    }
}
