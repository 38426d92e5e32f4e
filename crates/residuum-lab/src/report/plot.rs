//! Plots before they are pictures: series with names and colours, from which figures are drawn and hover values are read.

use serde_json::{Value, json};

use crate::figure::{Axis, Band, Color, Figure, Legend, Line, Panel, Points, ReferenceLine};
use crate::files::csv_field;
use crate::style::RuleStyle;

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
    /// How the horizontal axis is divided.
    pub across: Across,
    /// Along the vertical axis.
    pub y: String,
    /// Whether the vertical axis is logarithmic.
    pub log: bool,
    /// What is drawn, each in a colour of its own.
    pub series: Vec<Series>,
    /// Vertical lines with a name: the bounds of a range.
    pub bounds: Vec<(f64, String)>,
}

/// How a horizontal axis is divided.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Across {
    /// Evenly.
    #[default]
    Evenly,
    /// Evenly, with marks at whole numbers alone.
    Whole,
    /// By decades; all positions must be positive.
    Decades,
    /// Marked at these values of a swept field, evenly or by decades.
    Swept {
        /// Value, and how the spec writes it.
        values: Vec<(f64, String)>,
        /// By decades.
        log: bool,
    },
}

impl Across {
    fn axis(&self, label: &str) -> Axis {
        match self {
            Self::Evenly => Axis::linear(label),
            Self::Whole => Axis::linear(label).whole(),
            Self::Decades => Axis::log(label),
            Self::Swept { values, log } => {
                let axis = if *log { Axis::log(label) } else { Axis::linear(label) };
                axis.ticks(values.iter().cloned())
            }
        }
    }
}

/// A curve with a name.
#[derive(Clone, Debug)]
pub struct Series {
    /// In the legend.
    pub label: String,
    /// Its colour, which no other series of the chart has, and its dash.
    pub style: RuleStyle,
    /// Positions.
    pub xs: Vec<f64>,
    /// Values.
    pub ys: Vec<f64>,
    /// Lower and upper ends of a band.
    pub band: Option<[Vec<f64>; 2]>,
    /// What it is drawn as.
    pub form: Form,
}

/// What a series is drawn as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A line, with its band around it.
    #[default]
    Curve,
    /// A density: the space below is filled.
    Filled,
    /// Points joined by a line, each with its band as an error bar.
    Marked,
}

/// Outer size of a chart: legible in half a page and on a telephone.
const SIZE: (f64, f64) = (430.0, 300.0);

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
        let RuleStyle { color, dash } = self.style;
        let line = Line::new(&*self.xs, &*self.ys).color(color).dash(dash).label(&self.label);
        match (self.form, &self.band) {
            (Form::Filled, _) => {
                let area = Band::area(&*self.xs, &*self.ys).color(color).dash(dash);
                panel.band(area.opacity(0.14).label(&self.label))
            }
            (Form::Curve, band) => {
                if let Some([low, high]) = band {
                    panel = panel.band(Band::new(&*self.xs, &**low, &**high).color(color).opacity(0.18));
                }
                panel.line(line)
            }
            (Form::Marked, band) => {
                let points = Points::new(&*self.xs, &*self.ys).color(color);
                let points = match band {
                    Some([low, high]) => {
                        let half = |(low, high): (&f64, &f64)| 0.5 * (high - low);
                        points.errors(low.iter().zip(high).map(half).collect::<Vec<_>>())
                    }
                    None => points,
                };
                panel.line(line).points(points)
            }
        }
    }

    fn hover(&self) -> Value {
        let short = |values: &[f64]| values.iter().map(|x| rounded(*x)).collect::<Vec<f64>>();
        let mut value = json!({
            "label": self.label, "color": self.style.color.css(), "x": short(&self.xs), "y": short(&self.ys)
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
        let y = if self.log { Axis::log(&self.y) } else { Axis::linear(&self.y) };
        let mut panel = Panel::new(&self.title).x_axis(self.across.axis(&self.x)).y_axis(y).legend(legend);
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
