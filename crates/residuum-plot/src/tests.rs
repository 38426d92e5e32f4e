//! What holds for whole figures.

use tiny_skia::Pixmap;

use super::*;

fn picture(figure: &Figure, scale: f64) -> Pixmap {
    raster::paint(&figure.page(), figure.size(), scale).unwrap()
}

fn line(ys: &[f64]) -> Line {
    Line::new((0..ys.len()).map(|x| x as f64 + 1.0).collect::<Vec<_>>(), ys)
}

/// The drawn path of the only mark: the first path inside the clipped group.
fn marked_path(svg: &str) -> String {
    let inside = svg.split("<g clip-path").nth(1).unwrap().split("</g>").next().unwrap();
    inside.split("d=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

fn bare(panel: Panel) -> String {
    Figure::new(1).panel(panel).to_svg()
}

fn everything() -> Figure {
    let grid = || Grid::sample([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], |x, y| x * y);
    let panel = Panel::new("Σ of <all> & \"more\"")
        .x_axis(Axis::linear("W_{k}^{*}"))
        .y_axis(Axis::linear("⟨Σ, R_{c}⟩"))
        .field(Contours::new(grid()).color_bar("z"))
        .line(line(&[1.0, f64::NAN, 2.0]).dash(Dash::Dotted).label("a < b"))
        .points(Points::new([1.0], [1.0]).errors([0.5]).marker(Marker::Cross).label("points"))
        .band(Band::new([0.0, 1.0], [0.0, 0.0], [1.0, f64::INFINITY]).label("band"))
        .band(Band::area([0.0, 1.0], [1.0, 1.5]))
        .bars(Bars::new(&[0.0, 1.0, 2.0], [1.0, f64::NAN]).label("bars"))
        .bars(Bars::centered(&[1.0], 0.5, [1.0]).steps())
        .reference(ReferenceLine::vertical(1.0).label("W^{⋄}"))
        .reference(ReferenceLine::horizontal(0.5).label("h").other_side())
        .note(Note::point(1.0, 1.0, Marker::Star, "W\u{304}"))
        .arrow(Arrow::new((0.0, 0.0), (1.0, 1.0)).label("ΔZ"))
        .legend(Legend::Below);
    let scene = Scene::new("Scene").surface(Surface::new(grid()).label("f")).pin(Pin::new(1.0, 1.0, 1.0, "P"));
    Figure::new(2)
        .title("Everything")
        .description("All marks")
        .panel(panel)
        .panel(scene)
        .panel(Panel::untitled())
}

#[test]
fn every_mark_gives_well_formed_finite_svg() {
    let svg = everything().to_svg();
    let tree = roxmltree::Document::parse(&svg).unwrap();
    let side = |name: &str| tree.root_element().attribute(name).unwrap().parse::<f64>().unwrap();
    assert_eq!((side("width"), side("height")), (840.0, 640.0 + everything().header()));
    assert!(svg.contains("<title>Everything</title>") && svg.contains("<desc>All marks</desc>"));
    for forbidden in ["NaN", "inf"] {
        assert!(!svg.contains(forbidden), "{forbidden} in {svg}");
    }
}

#[test]
fn labels_are_escaped() {
    let svg = everything().to_svg();
    assert!(svg.contains("Σ of &lt;all&gt; &amp; &quot;more&quot;"), "{svg}");
    assert!(svg.contains("a &lt; b"));
}

#[test]
fn same_figure_same_bytes() {
    assert_eq!(everything().to_svg(), everything().to_svg());
    assert_eq!(everything().to_png(1.0).unwrap(), everything().to_png(1.0).unwrap());
}

#[test]
fn points_that_are_not_finite_leave_gaps() {
    let whole = marked_path(&bare(Panel::untitled().line(line(&[1.0, 2.0, 3.0, 4.0, 5.0]))));
    let broken = marked_path(&bare(Panel::untitled().line(line(&[1.0, 2.0, f64::NAN, 4.0, 5.0]))));
    assert_eq!((whole.matches('M').count(), whole.matches('L').count()), (1, 4));
    assert_eq!((broken.matches('M').count(), broken.matches('L').count()), (2, 2));
}

#[test]
fn decades_are_evenly_spaced_on_a_log_axis() {
    let panel = Panel::untitled().y_axis(Axis::log("y")).line(line(&[1e-2, 1.0, 1e2, -1.0, 1e-2]));
    let path = marked_path(&bare(panel));
    let heights: Vec<f64> = path
        .split(['M', 'L'])
        .filter_map(|point| point.split(' ').nth(1))
        .map(|y| y.parse().unwrap())
        .collect();
    assert_eq!(heights.len(), 4, "{path}");
    assert!((heights[0] - 2.0 * heights[1] + heights[2]).abs() < 0.02, "{heights:?}");
    assert!(heights[0] > heights[2] && heights[3] == heights[0]);
    assert_eq!(path.matches('M').count(), 2, "the negative value is a gap: {path}");
}

#[test]
fn frames_of_one_column_line_up() {
    let panel = |high: f64| Panel::untitled().y_axis(Axis::linear("y").range(0.0, high)).line(line(&[0.0]));
    let svg = Figure::new(1).panel(panel(1.0)).panel(panel(9000.0)).to_svg();
    let lefts: Vec<&str> = svg
        .split("<clipPath")
        .skip(1)
        .map(|clip| clip.split("x=\"").nth(1).unwrap().split('"').next().unwrap())
        .collect();
    assert_eq!(lefts.len(), 2);
    assert_eq!(lefts[0], lefts[1]);
}

#[test]
fn png_has_the_expected_size_and_shows_the_mark() {
    let band = Band::new([0.0, 1.0], [0.0, 0.0], [1.0, 1.0]).color(Color::hex(0xff0000)).opacity(1.0);
    let figure = Figure::new(1).panel_size(200.0, 150.0).panel(Panel::untitled().band(band));
    let picture = picture(&figure, 2.0);
    assert_eq!((picture.width(), picture.height()), (400, 300));
    let color = |x, y| picture.pixel(x, y).map(|p| (p.red(), p.green(), p.blue(), p.alpha()));
    assert_eq!(color(220, 120), Some((255, 0, 0, 255)));
    assert_eq!(color(1, 1), Some((255, 255, 255, 255)));
}

#[test]
fn letters_reach_the_png() {
    let dark = |title: &str| {
        picture(&Figure::new(1).panel(Panel::new(title)), 1.0)
            .pixels()
            .iter()
            .filter(|pixel| pixel.red() < 100)
            .count()
    };
    assert!(dark("Σ W\u{304} ⋄") > dark("") + 40);
}

#[test]
fn a_bad_scale_is_named() {
    for scale in [0.0, -1.0, f64::NAN, 1e9] {
        let error = everything().to_png(scale).unwrap_err();
        assert!(error.to_string().starts_with("scale must be positive"), "{error}");
    }
}
