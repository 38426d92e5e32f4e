//! A page as SVG, written with two decimals so that equal figures are equal bytes.

use std::fmt::Write as _;

use super::color::Color;
use super::page::{Dash, Element, Fill, Path, Rect, Step, Stroke};
use super::text::{Anchor, HALO_OPACITY, HALO_WIDTH, Label};

/// A coordinate rounded to two decimals without trailing zeros or a negative zero.
pub(crate) fn num(value: f64) -> String {
    debug_assert!(value.is_finite(), "only finite numbers reach the page, got {value}");
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text made safe for element content and for quoted attributes; characters XML 1.0 forbids are dropped.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => {}
            other if other < ' ' => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

fn stroke_attributes(stroke: &Stroke) -> String {
    let mut text = format!(" stroke=\"{}\" stroke-width=\"{}\"", stroke.color.css(), num(stroke.width));
    let lengths: Vec<String> = stroke.pattern().into_iter().map(num).collect();
    if !lengths.is_empty() {
        let _ = write!(text, " stroke-dasharray=\"{}\"", lengths.join(" "));
    }
    if stroke.round_ends() {
        text.push_str(" stroke-linecap=\"round\"");
    }
    if stroke.opacity < 1.0 {
        let _ = write!(text, " stroke-opacity=\"{}\"", num(stroke.opacity));
    }
    text
}

fn fill_attributes(fill: Option<Fill>) -> String {
    match fill {
        None => " fill=\"none\"".to_owned(),
        Some(fill) if fill.opacity < 1.0 => {
            format!(" fill=\"{}\" fill-opacity=\"{}\"", fill.color.css(), num(fill.opacity))
        }
        Some(fill) => format!(" fill=\"{}\"", fill.color.css()),
    }
}

fn path_data(path: &Path) -> String {
    let mut data = String::new();
    for &step in &path.steps {
        let _ = match step {
            Step::Move(x, y) => write!(data, "M{} {}", num(x), num(y)),
            Step::Line(x, y) => write!(data, "L{} {}", num(x), num(y)),
            Step::Circle(x, y, radius) => {
                let r = num(radius);
                let (left, right, y) = (num(x - radius), num(x + radius), num(y));
                write!(data, "M{left} {y}A{r} {r} 0 1 1 {right} {y}A{r} {r} 0 1 1 {left} {y}Z")
            }
            Step::Close => write!(data, "Z"),
        };
    }
    data
}

/// A short line as an SVG picture of its own, 28 by 10 pixels, for legends outside of a figure.
pub fn swatch(color: Color, dash: Dash) -> String {
    let stroke = stroke_attributes(&Stroke { dash, ..Stroke::new(color, 2.2) });
    format!("<svg width=\"28\" height=\"10\"><path d=\"M1 5H27\" fill=\"none\"{stroke}/></svg>")
}

/// The body of a document, one element per line.
#[derive(Default)]
pub(crate) struct Svg {
    body: String,
    clips: usize,
}

impl Svg {
    pub fn raw(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    pub fn elements(&mut self, elements: &[Element]) {
        for element in elements {
            match element {
                Element::Path { path, fill, stroke } => {
                    let stroke = stroke.as_ref().map(stroke_attributes).unwrap_or_default();
                    self.raw(&format!("<path d=\"{}\"{}{stroke}/>", path_data(path), fill_attributes(*fill)));
                }
                Element::Label(label) => self.raw(&text(label)),
                Element::Clipped { rect, inside } => self.clipped(rect, inside),
            }
        }
    }

    fn clipped(&mut self, rect: &Rect, inside: &[Element]) {
        let id = self.clips;
        self.clips += 1;
        self.raw(&format!(
            "<clipPath id=\"plot{id}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>",
            num(rect.left),
            num(rect.top),
            num(rect.width()),
            num(rect.height()),
        ));
        self.raw(&format!("<g clip-path=\"url(#plot{id})\" stroke-linejoin=\"round\">"));
        self.elements(inside);
        self.raw("</g>");
    }

    pub fn into_body(self) -> String {
        self.body
    }
}

fn text(label: &Label) -> String {
    let anchor = match label.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let bold = if label.bold { " font-weight=\"bold\"" } else { "" };
    let halo = if label.halo {
        format!(
            " stroke=\"#ffffff\" stroke-width=\"{}\" stroke-opacity=\"{}\" stroke-linejoin=\"round\" \
             paint-order=\"stroke\"",
            num(HALO_WIDTH),
            num(HALO_OPACITY)
        )
    } else {
        String::new()
    };
    let (x, y) = (num(label.x), num(label.y));
    let turn = if label.upward { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
    format!(
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" fill=\"{}\"{anchor}{bold}{halo}{turn}>{}</text>",
        num(label.size),
        label.color.css(),
        spans(label),
    )
}

/// Shifts are relative (`dy`), because viewers disagree about `baseline-shift`.
fn spans(label: &Label) -> String {
    let mut spans = String::new();
    let mut baseline = 0.0;
    for span in label.spans() {
        if span.drop == 0.0 && baseline == 0.0 {
            spans.push_str(&escape(span.text));
            continue;
        }
        let back = if span.back > 0.0 { format!(" dx=\"{}\"", num(-span.back)) } else { String::new() };
        let (down, size) = (num(span.drop - baseline), num(span.size));
        let _ = write!(spans, "<tspan{back} dy=\"{down}\" font-size=\"{size}\">{}</tspan>", escape(span.text));
        baseline = span.drop;
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([1.0, -0.001, 2.5, 3.456, -10.0, 100.0].map(num), ["1", "0", "2.5", "3.46", "-10", "100"]);
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("a<b & \"c\">\u{1}d\u{ffff}"), "a&lt;b &amp; &quot;c&quot;&gt; d");
    }

    #[test]
    fn dashes_scale_with_the_width() {
        let stroke = Stroke { dash: Dash::Dashed, ..Stroke::new(Color::BLACK, 2.0) };
        let text = stroke_attributes(&stroke);
        assert!(text.contains("stroke-dasharray=\"7.2 4.4\""), "{text}");
    }

    #[test]
    fn the_baseline_returns_after_a_script() {
        let text = text(&Label::new("a_{b}c", 1.0, 2.0));
        assert!(text.contains("dy=\"2.53\"") && text.contains("dy=\"-2.53\""), "{text}");
    }
}
