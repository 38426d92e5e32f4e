//! A page as PGF, for LaTeX: the same paths as in the picture, labels set in the fonts of the document.

use std::fmt::Write as _;

use super::color::Color;
use super::latex::{latex_escape, latex_markup};
use super::page::{Element, Fill, Page, Path, Rect, Step, Stroke};
use super::svg::num;
use super::text::{Anchor, Label};

/// Points of 1/72 inch for a pixel of 1/96.
const POINTS: f64 = 0.75;

/// The picture, to be `\\input`; the same page always gives the same bytes. White rims around text are left out.
pub(crate) fn pgf(page: &Page, size: (f64, f64), title: &str) -> String {
    let mut picture = Picture { text: String::new(), height: size.1 };
    let title = latex_escape(title);
    let _ = writeln!(picture.text, "% {title}\n% Needs \\usepackage{{pgf,amsmath}}.\n\\begin{{pgfpicture}}");
    picture.rectangle(Rect { left: 0.0, top: 0.0, right: size.0, bottom: size.1 });
    picture.text.push_str("\\pgfusepath{use as bounding box}\n\\pgfsetmiterjoin\n");
    picture.elements(&page.elements);
    picture.text + "\\end{pgfpicture}\n"
}

struct Picture {
    text: String,
    /// Pages have y downwards, PGF has it upwards.
    height: f64,
}

impl Picture {
    fn point(&self, x: f64, y: f64) -> String {
        format!("\\pgfqpoint{{{}bp}}{{{}bp}}", num(POINTS * x), num(POINTS * (self.height - y)))
    }

    fn elements(&mut self, elements: &[Element]) {
        for element in elements {
            match element {
                Element::Path { path, fill, stroke } => self.path(path, *fill, stroke.as_ref()),
                Element::Label(label) => self.label(label),
                Element::Clipped { rect, inside } => {
                    self.text.push_str("\\begin{pgfscope}\n");
                    self.rectangle(*rect);
                    self.text.push_str("\\pgfusepath{clip}\n\\pgfsetroundjoin\n");
                    self.elements(inside);
                    self.text.push_str("\\end{pgfscope}\n");
                }
            }
        }
    }

    fn rectangle(&mut self, rect: Rect) {
        let corner = self.point(rect.left, rect.bottom);
        let (wide, high) = (num(POINTS * rect.width()), num(POINTS * rect.height()));
        let _ = writeln!(self.text, "\\pgfpathrectangle{{{corner}}}{{\\pgfqpoint{{{wide}bp}}{{{high}bp}}}}");
    }

    fn path(&mut self, path: &Path, fill: Option<Fill>, stroke: Option<&Stroke>) {
        if fill.is_none() && stroke.is_none() {
            return;
        }
        self.text.push_str("\\begin{pgfscope}\n");
        let mut uses = Vec::new();
        if let Some(fill) = fill {
            self.color(fill.color);
            let _ = writeln!(
                self.text,
                "\\pgfsetfillcolor{{residuum}}\\pgfsetfillopacity{{{}}}",
                num(fill.opacity)
            );
            uses.push("fill");
        }
        if let Some(stroke) = stroke {
            self.color(stroke.color);
            let lengths = |l: f64| format!("{{{}bp}}", num(POINTS * l));
            let lengths = stroke.pattern().into_iter().map(lengths).collect::<Vec<_>>().concat();
            let cap = if stroke.round_ends() { "\\pgfsetroundcap" } else { "" };
            let _ = writeln!(
                self.text,
                "\\pgfsetstrokecolor{{residuum}}\\pgfsetstrokeopacity{{{}}}\\pgfsetlinewidth{{{}bp}}\\pgfsetdash{{{lengths}}}{{0bp}}{cap}",
                num(stroke.opacity),
                num(POINTS * stroke.width)
            );
            uses.push("stroke");
        }
        for &step in &path.steps {
            let _ = match step {
                Step::Move(x, y) => writeln!(self.text, "\\pgfpathmoveto{{{}}}", self.point(x, y)),
                Step::Line(x, y) => writeln!(self.text, "\\pgfpathlineto{{{}}}", self.point(x, y)),
                Step::Circle(x, y, radius) => {
                    let center = self.point(x, y);
                    writeln!(self.text, "\\pgfpathcircle{{{center}}}{{{}bp}}", num(POINTS * radius))
                }
                Step::Close => writeln!(self.text, "\\pgfpathclose"),
            };
        }
        let _ = writeln!(self.text, "\\pgfusepath{{{}}}\n\\end{{pgfscope}}", uses.join(","));
    }

    fn label(&mut self, label: &Label) {
        let anchor = match label.anchor {
            Anchor::Start => "left,",
            Anchor::Middle => "",
            Anchor::End => "right,",
        };
        let turn = if label.upward { ",rotate=90" } else { "" };
        let bold = if label.bold { "\\bfseries " } else { "" };
        let size = POINTS * label.size;
        self.text.push_str("\\begin{pgfscope}\n");
        self.color(label.color);
        let _ = writeln!(
            self.text,
            "\\pgftext[{anchor}base,x={}bp,y={}bp{turn}]{{\\color{{residuum}}\\fontsize{{{}}}{{{}}}\\selectfont {bold}{}}}\n\\end{{pgfscope}}",
            num(POINTS * label.x),
            num(POINTS * (self.height - label.y)),
            num(size),
            num(1.2 * size),
            latex_markup(&label.markup)
        );
    }

    /// Defines the colour that the next command uses.
    fn color(&mut self, color: Color) {
        let code = color.css()[1..].to_uppercase();
        let _ = writeln!(self.text, "\\definecolor{{residuum}}{{HTML}}{{{code}}}");
    }
}

#[cfg(test)]
mod tests {
    use crate::{Axis, Band, Dash, Figure, Line, Panel};

    #[test]
    fn a_picture_balances_and_holds_its_words() {
        let panel = Panel::new("q^{2} of (w), 5 %")
            .x_axis(Axis::linear("W_{k}"))
            .y_axis(Axis::linear("κ"))
            .band(Band::new([0.0, 1.0], [0.0, 0.5], [1.0, 2.0]).opacity(0.25))
            .line(Line::new([0.0, 1.0], [1.0, 2.0]).dash(Dash::Dashed).label("line"));
        let figure = Figure::new(1).panel(panel);
        let text = figure.to_pgf();
        assert_eq!(text, figure.to_pgf());
        let count = |words: &str| text.matches(words).count();
        assert_eq!(count("\\begin{pgfscope}"), count("\\end{pgfscope}"));
        assert_eq!((count("\\begin{pgfpicture}"), count("\\end{pgfpicture}"), count("{clip}")), (1, 1, 1));
        assert_eq!(count("{"), count("}"));
        // 420 by 320 pixels in points of 1/72 inch.
        assert!(text.contains("\\pgfqpoint{315bp}{240bp}"), "{text}");
        assert!(text.contains("W${}_{\\text{k}}$") && text.contains("5 \\%") && text.contains("$\\kappa$"));
        assert!(text.contains("\\pgfsetfillopacity{0.25}") && text.contains("\\pgfsetdash{{4.32bp}{2.64bp}}"));
        assert!(text.contains("rotate=90") && !text.contains("NaN"));
    }
}
