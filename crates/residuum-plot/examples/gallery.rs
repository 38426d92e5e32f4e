//! Draws every kind of mark into a folder: `cargo run -p residuum-plot --example gallery -- FOLDER`.

use std::fs;
use std::path::Path;

use residuum_plot::{
    Arrow, Axis, Band, Bars, Color, ColorRamp, Compass, Contours, Dash, Figure, FigureFormat, Grid, Legend,
    Line, Marker, Note, Panel, Pin, Points, ReferenceLine, Scene, Surface,
};

fn linspace(low: f64, high: f64, count: usize) -> Vec<f64> {
    (0..count).map(|i| low + (high - low) * i as f64 / (count - 1) as f64).collect()
}

fn bell(x: f64, mean: f64, spread: f64) -> f64 {
    (-0.5 * ((x - mean) / spread).powi(2)).exp() / (spread * (2.0 * std::f64::consts::PI).sqrt())
}

fn densities() -> Figure {
    let xs = linspace(-0.1, 0.7, 241);
    let sigmas = [0.25, 0.5, 1.0];
    let panel = |title: &str, drift: f64| {
        let mut panel = Panel::new(title)
            .x_axis(Axis::linear("weight W_{K}"))
            .y_axis(Axis::linear("probability density"))
            .legend(Legend::TopLeft);
        for (&sigma, color) in sigmas.iter().zip(ColorRamp::SIGMA.levels(3)) {
            let ys: Vec<f64> = xs.iter().map(|&x| bell(x, 0.4 - drift * sigma, 0.03 + 0.05 * sigma)).collect();
            panel = panel.band(Band::area(xs.clone(), ys).color(color).label(format!("σ = {sigma}")));
        }
        panel
            .reference(ReferenceLine::vertical(0.4).label("W^{*}").color(Color::BLACK))
            .reference(ReferenceLine::vertical(0.0).label("W^{⋄}").along(0.06))
    };
    Figure::new(2).panel(panel("Analog SGD", 0.3)).panel(panel("Residual Learning", 0.0))
}

fn convergence() -> Figure {
    let ks = linspace(0.0, 6.0, 60).into_iter().map(|p| 10_f64.powf(p)).collect::<Vec<_>>();
    let curve = |floor: f64, rate: f64| ks.iter().map(|k| 2.0 / (1.0 + rate * k) + floor).collect::<Vec<f64>>();
    let methods = [
        ("Digital SGD", Color::DIGITAL_SGD, Dash::Dashed, curve(0.0, 0.02)),
        ("Analog SGD", Color::ANALOG_SGD, Dash::Solid, curve(0.03, 0.03)),
        ("Residual Learning", Color::RESIDUAL_LEARNING, Dash::Solid, curve(0.0, 0.008)),
    ];
    let mut log = Panel::new("Log axes, lines and bands")
        .x_axis(Axis::log("iteration k"))
        .y_axis(Axis::log("f(W\u{304}_{k}) − f^{*}"))
        .legend(Legend::BottomLeft);
    for (name, color, dash, ys) in methods {
        let (low, high): (Vec<f64>, Vec<f64>) = ys.iter().map(|y| (0.7 * y, 1.4 * y)).unzip();
        log = log.band(Band::new(ks.clone(), low, high).color(color));
        log = log.line(Line::new(ks.clone(), ys).color(color).dash(dash).label(name));
    }
    let kappas = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
    let mut errors = Panel::new("Points with error bars")
        .x_axis(Axis::log("hardware condition number κ_{2}").ticks(kappas.map(|k| (k, format!("{k}")))))
        .y_axis(Axis::linear("mean bias").range(0.0, 4.4e-5))
        .legend(Legend::Below);
    for (index, (marker, color)) in [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond]
        .into_iter()
        .zip(ColorRamp::KAPPA.levels(4))
        .enumerate()
    {
        let ys = kappas.map(|k| 1e-5 * (0.5 * index as f64 + k.log2() * 0.4 + 0.2));
        errors = errors.line(Line::new(kappas, ys).color(color).width(1.0).opacity(0.6)).points(
            Points::new(kappas, ys)
                .errors(ys.map(|y| 0.12 * y))
                .color(color)
                .marker(marker)
                .label(format!("α = 10^{{−{}}}", index + 1)),
        );
    }
    Figure::new(2).title("Convergence under state-dependent responses").panel(log).panel(errors)
}

fn small_marks() -> Figure {
    let edges = linspace(-3.0, 3.0, 25);
    let middles: Vec<f64> = edges.windows(2).map(|pair| f64::midpoint(pair[0], pair[1])).collect();
    let heights = |mean: f64| middles.iter().map(|&x| bell(x, mean, 0.8)).collect::<Vec<f64>>();
    let histogram = Panel::new("Histogram, filled and stepped")
        .x_axis(Axis::linear("weight"))
        .y_axis(Axis::linear("density"))
        .bars(Bars::new(&edges, heights(0.0)).color(Color::SKY_BLUE).label("Digital SGD"))
        .bars(Bars::new(&edges, heights(-0.8)).steps().color(Color::ANALOG_SGD).label("Analog SGD"));
    let accuracy = Panel::new("Grouped bars")
        .x_axis(Axis::linear("").ticks([(1.0, "FCN"), (2.0, "CNN"), (3.0, "ResNet")]).range(0.4, 3.6))
        .y_axis(Axis::linear("test accuracy (%)").range(0.0, 105.0).ticks([
            (0.0, "0"),
            (25.0, "25"),
            (50.0, "50"),
            (75.0, "75"),
            (100.0, "100"),
        ]))
        .legend(Legend::Below)
        .bars(
            Bars::centered(&[0.83, 1.83, 2.83], 0.3, [97.0, 91.0, 62.0])
                .color(Color::ANALOG_SGD)
                .label("Analog SGD"),
        )
        .bars(
            Bars::centered(&[1.17, 2.17, 3.17], 0.3, [98.5, 98.0, 94.0])
                .color(Color::RESIDUAL_LEARNING)
                .label("Residual Learning"),
        );
    let xs = linspace(0.0, 10.0, 200);
    let wave: Vec<f64> = xs.iter().map(|&x| if (4.0..4.8).contains(&x) { f64::NAN } else { x.sin() }).collect();
    let cloud: Vec<f64> = linspace(0.0, 10.0, 40).iter().map(|x| x.sin() + 0.3 * (7.3 * x).cos()).collect();
    let gaps = Panel::new("Gap, points, references, escaping a < b & c")
        .x_axis(Axis::linear("x"))
        .y_axis(Axis::linear("⟨Σ, R_{c}(W)⟩"))
        .legend(Legend::BottomLeft)
        .line(Line::new(xs, wave).color(Color::GREEN).label("sin x"))
        .points(Points::new(linspace(0.0, 10.0, 40), cloud).hollow().color(Color::PURPLE).label("samples"))
        .reference(ReferenceLine::horizontal(0.5).label("±√2·ε").along(0.62))
        .note(Note::new(4.4, -0.1, "gap").color(Color::GREY));
    let origin = (0.2, 0.25);
    let bias = Panel::new("Update bias: ΔZ and A(ΔZ; Z)")
        .x_axis(Axis::linear("Z_{1}").range(-1.0, 1.0))
        .y_axis(Axis::linear("Z_{2}").range(-1.0, 1.0))
        .arrow(Arrow::new(origin, (0.75, 0.8)).color(Color::DIGITAL_SGD).label("ΔZ").side(Compass::North))
        .arrow(
            Arrow::new(origin, (0.4, 0.75)).color(Color::ANALOG_SGD).label("A(ΔZ; Z)").side(Compass::NorthWest),
        )
        .arrow(Arrow::new((0.4, 0.75), (0.75, 0.8)).color(Color::GREY).width(1.0).dash(Dash::Dashed))
        .arrow(Arrow::new((-0.6, -0.6), (-0.2, -0.9)).color(Color::RESIDUAL_LEARNING).label("P_{k} − P^{⋄}"))
        .note(Note::point(0.2, 0.25, Marker::Circle, "Z_{k}").side(Compass::SouthEast))
        .note(Note::point(-0.5, 0.3, Marker::Star, "W^{*}").color(Color::VERMILLION))
        .note(Note::point(0.0, -0.3, Marker::Diamond, "W\u{304}^{⋄}, Z\u{304}, W_{k}^{*}").color(Color::BLUE));
    Figure::new(2).panel(histogram).panel(accuracy).panel(gaps).panel(bias)
}

fn landscape() -> Figure {
    let axis = |name| Axis::linear(name);
    let f = |x: f64, y: f64| (x - 0.4).powi(2) + 2.0 * (y + 0.2).powi(2) + 0.6 * x * y;
    let grid = Grid::sample(linspace(-1.0, 1.0, 61), linspace(-1.0, 1.0, 61), f);
    let path: Vec<f64> = linspace(0.0, 1.0, 30);
    let contour = Panel::new("Landscape f(W) with a path")
        .x_axis(axis("W_{1}"))
        .y_axis(axis("W_{2}"))
        .field(Contours::new(grid).color_bar("f(W)"))
        .line(
            Line::new(
                path.iter().map(|t| -0.8 + 1.3 * t).collect::<Vec<_>>(),
                path.iter().map(|t| 0.8 - 1.05 * t.powf(0.6)).collect::<Vec<_>>(),
            )
            .color(Color::ANALOG_SGD)
            .label("Analog SGD"),
        )
        .note(Note::point(0.48, -0.27, Marker::Star, "W^{*}").color(Color::VERMILLION));
    let saddle = Grid::sample(linspace(-2.0, 2.0, 40), linspace(-2.0, 2.0, 40), |x, y| {
        if x.hypot(y) > 1.9 { f64::NAN } else { x * y + 0.2 * (5.0 * x).sin() }
    });
    let masked = Panel::new("Saddle on a disc")
        .x_axis(axis("x"))
        .y_axis(axis("y"))
        .field(Contours::new(saddle).ramp(ColorRamp::SIGMA).color_bar(""));
    Figure::new(2).panel(contour).panel(masked)
}

fn shifted() -> Figure {
    let nodes = || linspace(-1.0, 1.0, 25);
    let scene = |title: &str, name: &str, shift: f64| {
        Scene::new(title)
            .axes(
                Axis::linear(format!("{name}_{{1}}")),
                Axis::linear(format!("{name}_{{2}}")),
                Axis::linear("value"),
            )
            .surface(
                Surface::new(Grid::sample(nodes(), nodes(), move |x, y| {
                    0.5 * ((x - shift).powi(2) + (y - shift).powi(2))
                }))
                .color(Color::BLUE)
                .label("f"),
            )
            .surface(
                Surface::new(Grid::sample(nodes(), nodes(), |x, y| 0.9 * (x * x + y * y) + 0.35))
                    .color(Color::VERMILLION)
                    .label("⟨Σ, R_{c}⟩"),
            )
            .pin(Pin::new(shift, shift, 0.0, "W^{*}").color(Color::BLUE).side(Compass::East))
            .pin(Pin::new(0.0, 0.0, 0.35, "W^{⋄}").color(Color::VERMILLION).side(Compass::West))
    };
    Figure::new(2).panel(scene("Before shifting", "W", 0.6)).panel(scene("After shifting", "P", 0.0))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder =
        std::env::args().nth(1).ok_or("the folder to write into must be given as the only argument")?;
    let figures = [
        ("densities", densities()),
        ("convergence", convergence()),
        ("small_marks", small_marks()),
        ("landscape", landscape()),
        ("shifted", shifted()),
    ];
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    for (name, figure) in figures {
        for format in FigureFormat::ALL {
            fs::write(folder.join(format!("{name}.{}", format.extension())), figure.render(format)?)?;
        }
    }
    Ok(())
}
