//! Plots before they are pictures: series with names and colours, from which figures are drawn and hover values are read.

use serde_json::{Value, json};

use crate::figure::{Axis, Band, Color, Figure, Legend, Line, Panel, ReferenceLine};
use crate::files::csv_field;

/// Charts that belong together.
#[derive(Clone, Debug)]
pub struct Plot {
    /// For files: letters, digits and `-`.
    pub name: String,
    /// What it shows, with what its bands mean.
    pub caption: String,
    /// Its charts.
    pub charts: Vec<Chart>,
}

/// One pair of axes.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Above it.
    pub title: String,
    /// Along the horizontal axis.
    pub x: String,
    /// Along the vertical axis.
    pub y: String,
    /// Whether the horizontal axis is logarithmic; all positions must then be positive.
    pub log_x: bool,
    /// Whether the vertical axis is logarithmic.
    pub log: bool,
    /// What is drawn, each in a colour of its own.
    pub series: Vec<Series>,
    /// Vertical lines with a name: the bounds of a range.
    pub bounds: Vec<(f64, String)>,
}

/// A curve with a name.
#[derive(Clone, Debug)]
pub struct Series {
    /// In the legend.
    pub label: String,
    /// Its colour, which no other series of the chart has.
    pub color: Color,
    /// Positions.
    pub xs: Vec<f64>,
    /// Values.
    pub ys: Vec<f64>,
    /// Lower and upper ends of a band.
    pub band: Option<[Vec<f64>; 2]>,
    /// Whether the space below is filled, as for a density.
    pub filled: bool,
}

/// Outer size of a chart: legible in half a page and on a telephone.
const SIZE: (f64, f64) = (430.0, 300.0);

/// A colour for each name: fixed ones for the paper's rules, others from the palette and lighter copies of it.
pub fn colors(names: &[&str]) -> Vec<Color> {
    let own = |name: &str| match name.to_lowercase() {
        n if n.contains("digital") => Some(Color::DIGITAL_SGD),
        n if n.contains("residual") => Some(Color::RESIDUAL_LEARNING),
        n if n.contains("analog") => Some(Color::ANALOG_SGD),
        _ => None,
    };
    let mut colors: Vec<Option<Color>> = Vec::new();
    for name in names {
        let color = own(name).filter(|c| !colors.contains(&Some(*c)));
        colors.push(color);
    }
    let palette = [Color::GREEN, Color::ORANGE, Color::PURPLE, Color::SKY_BLUE, Color::BLUE, Color::VERMILLION];
    let shades = (0..).flat_map(|round| {
        palette.map(|color| color.mix(Color::hex(0x8a8a8a), f64::from(round) / f64::from(round + 2)))
    });
    let mut free: Vec<Color> = shades.filter(|c| !colors.contains(&Some(*c))).take(names.len()).collect();
    free.reverse();
    colors.iter().map(|c| c.or_else(|| free.pop()).unwrap_or(Color::GREY)).collect()
}

impl Series {
    /// Drops points that have no place on the axes, so that each point drawn has its number.
    pub fn kept(mut self, log: bool) -> Self {
        let fits = |x: f64| x.is_finite() && (!log || x > 0.0);
        let keep: Vec<bool> = self.xs.iter().zip(&self.ys).map(|(x, y)| x.is_finite() && fits(*y)).collect();
        let kept = |values: &[f64]| values.iter().zip(&keep).filter(|(_, k)| **k).map(|(v, _)| *v).collect();
        if let Some([low, high]) = &mut self.band {
            // A band that leaves a logarithmic axis is cut off far below the curve.
            for (low, y) in low.iter_mut().zip(&self.ys) {
                *low = if fits(*low) { *low } else { y * 1e-3 };
            }
            (*low, *high) = (kept(low), kept(high));
        }
        (self.xs, self.ys) = (kept(&self.xs), kept(&self.ys));
        self
    }

    fn draw(&self, mut panel: Panel) -> Panel {
        if self.filled {
            return panel
                .band(Band::area(&*self.xs, &*self.ys).color(self.color).opacity(0.14).label(&self.label));
        }
        if let Some([low, high]) = &self.band {
            panel = panel.band(Band::new(&*self.xs, &**low, &**high).color(self.color).opacity(0.18));
        }
        panel.line(Line::new(&*self.xs, &*self.ys).color(self.color).label(&self.label))
    }

    fn hover(&self) -> Value {
        let short = |values: &[f64]| values.iter().map(|x| rounded(*x)).collect::<Vec<f64>>();
        let mut value = json!({
            "label": self.label, "color": self.color.css(), "x": short(&self.xs), "y": short(&self.ys)
        });
        if let Some([low, high]) = &self.band {
            value["low"] = json!(short(low));
            value["high"] = json!(short(high));
        }
        value
    }
}

/// Six digits: more cannot be read off a curve, and pages should stay small.
fn rounded(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

impl Chart {
    fn panel(&self, legend: Legend) -> Panel {
        let axis = |log: bool, title: &str| if log { Axis::log(title) } else { Axis::linear(title) };
        let (x, y) = (axis(self.log_x, &self.x), axis(self.log, &self.y));
        let mut panel = Panel::new(&self.title).x_axis(x).y_axis(y).legend(legend);
        for series in &self.series {
            panel = series.draw(panel);
        }
        for (at, name) in &self.bounds {
            let line = ReferenceLine::vertical(*at).color(Color::GREY).along(0.94).label(name);
            panel = panel.reference(if *at > 0.0 { line.other_side() } else { line });
        }
        panel
    }

    /// The chart alone, without its legend.
    pub(super) fn svg(&self, description: &str) -> String {
        let figure = Figure::new(1).panel_size(SIZE.0, SIZE.1).panel(self.panel(Legend::Hidden));
        figure.description(description).to_svg()
    }

    /// The numbers behind the curves.
    pub(super) fn hover(&self) -> Value {
        json!({ "x": self.x, "series": self.series.iter().map(Series::hover).collect::<Vec<_>>() })
    }
}

impl Plot {
    /// All charts on one page, each with its legend where its series have names.
    pub fn figure(&self) -> Figure {
        let mut figure = Figure::new(self.charts.len().min(2)).panel_size(SIZE.0, SIZE.1 + 40.0);
        for chart in &self.charts {
            let named = chart.series.iter().any(|series| !series.label.is_empty());
            figure = figure.panel(chart.panel(if named { Legend::Below } else { Legend::Hidden }));
        }
        figure.description(&self.caption)
    }

    /// The numbers as drawn, one point a row.
    pub fn to_csv(&self) -> String {
        use std::fmt::Write as _;
        let mut text = String::from("chart,series,x,y,low,high\n");
        for chart in &self.charts {
            for series in &chart.series {
                let names = format!("{},{}", csv_field(&chart.title), csv_field(&series.label));
                for (i, (x, y)) in series.xs.iter().zip(&series.ys).enumerate() {
                    let (low, high) = match &series.band {
                        Some([low, high]) => (low[i].to_string(), high[i].to_string()),
                        None => (String::new(), String::new()),
                    };
                    let _ = writeln!(text, "{names},{x},{y},{low},{high}");
                }
            }
        }
        text
    }
}
