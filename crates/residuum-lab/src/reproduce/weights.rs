//! `figure:verification-implicit-bias`: where weights lie in their dynamic range after training.
//!
//! The paper shows the heads of its ResNets. Here it is the fully connected network on MNIST, whose layers are all on tiles: the
//! sentence about Analog SGD and Digital SGD is looked at there, and so are the two arrays of Residual Learning.

use serde::Serialize;

use super::curves::{curve_table, trial_settings};
use super::networks::{NetworkPoint, NetworkPoints, Wanted, obtain};
use super::{Finding, PaperVerdict, ReproduceError, ReproduceOptions, Reproduction, table};
use crate::figure::{Axis, Color, Figure, Legend, Line, Panel, ReferenceLine};
use crate::progress::Progress;
use crate::store::Row;
use crate::style::{RuleStyle, rule_styles};

const NAME: &str = "fig-weights";
/// τ of the devices.
const RADIUS: f64 = 0.6;
const NETWORK: &str = "not the paper's network: FCN on MNIST, power response, τ = 0.6";

/// Counts of the weights of one layer or array, from the first seed.
pub struct WeightHistogram {
    /// The layer or array.
    pub part: String,
    /// Where the first bin begins.
    pub low: f64,
    /// Where the last bin ends.
    pub high: f64,
    /// One for each bin.
    pub counts: Vec<f64>,
    /// What the device can hold.
    pub range: Option<[f64; 2]>,
}

impl WeightHistogram {
    fn read(point: &NetworkPoint, part: &str) -> Option<Self> {
        let (_, rows) = point.runs.as_ref().ok()?.first()?;
        let last = |metric: &str| -> Option<f64> {
            rows.iter().rev().find(|row| row.metric == metric && row.part == part).map(|row| row.value)
        };
        let counted = |row: &&Row| row.metric == "weight_count" && row.part == part;
        let range = last("range_low").zip(last("range_high")).map(|(low, high)| [low, high]);
        Some(Self {
            part: part.to_string(),
            low: last("weight_low")?,
            high: last("weight_high")?,
            counts: rows.iter().filter(counted).map(|row| row.value).collect(),
            range,
        })
    }

    /// Middles of the bins.
    pub fn centres(&self) -> Vec<f64> {
        let width = (self.high - self.low) / self.counts.len() as f64;
        (0..self.counts.len()).map(|i| self.low + (i as f64 + 0.5) * width).collect()
    }

    /// Counts as a density.
    pub fn heights(&self) -> Vec<f64> {
        let area = self.counts.iter().sum::<f64>() * (self.high - self.low) / self.counts.len() as f64;
        self.counts.iter().map(|count| count / area).collect()
    }

    /// Mean distance from the symmetric point 0, with the number of weights.
    pub fn mean_distance(&self) -> (f64, f64) {
        let total: f64 = self.counts.iter().sum();
        let sum: f64 = self.centres().iter().zip(&self.counts).map(|(w, count)| w.abs() * count).sum();
        (sum / total, total)
    }
}

/// Layers on tiles, in the order of the records.
fn layers(point: &NetworkPoint) -> Vec<String> {
    let rows = point.runs.iter().flatten().next().map(|(_, rows)| rows.as_slice()).unwrap_or_default();
    let counted = rows.iter().filter(|row| row.metric == "weight_low");
    let ends_in_array = |part: &str| [".main", ".residual"].iter().any(|array| part.ends_with(array));
    counted.map(|row| row.part.clone()).filter(|part| !ends_in_array(part)).collect()
}

/// How the weights of a layer are read.
type Read = fn(&NetworkPoint, &str) -> Option<WeightHistogram>;

/// What lies on the cells of a layer; under a digital rule, its weights.
fn cells(point: &NetworkPoint, layer: &str) -> Option<WeightHistogram> {
    WeightHistogram::read(point, &format!("{layer}.main")).or_else(|| effective(point, layer))
}

/// What the network computes with: cells times output scales.
fn effective(point: &NetworkPoint, layer: &str) -> Option<WeightHistogram> {
    WeightHistogram::read(point, layer)
}

/// Mean distance from 0 over all layers.
fn distance(point: &NetworkPoint, of: Read) -> Option<f64> {
    let means: Vec<(f64, f64)> =
        layers(point).iter().filter_map(|layer| Some(of(point, layer)?.mean_distance())).collect();
    let total: f64 = means.iter().map(|(_, count)| count).sum();
    (total > 0.0).then(|| means.iter().map(|(mean, count)| mean * count).sum::<f64>() / total)
}

#[derive(Serialize)]
struct Bin<'a> {
    trial: &'a str,
    part: String,
    weight: f64,
    density: f64,
    range_low: Option<f64>,
    range_high: Option<f64>,
}

pub(super) fn run(options: &ReproduceOptions, progress: &dyn Progress) -> Result<Reproduction, ReproduceError> {
    let wanted = [
        Wanted::new("mnist-fcn", ["digital", "analog", "tiki-taka-mixed"]),
        Wanted::new("mnist-table", ["power-0.5-0.6-analog"]),
    ];
    let [fcn, mild] = obtain(&wanted, options, NAME, progress)?;
    let experiments = [("mnist-fcn", &fcn), ("mnist-table", &mild)];
    let all: Vec<&NetworkPoint> = fcn.iter().chain(mild.iter()).collect();
    Ok(Reproduction {
        name: NAME,
        figure: draw(&fcn, &mild),
        training_seconds: fcn.seconds() + mild.seconds(),
        tables: vec![table(NAME, &bins(&all))?, curve_table(&format!("{NAME}-curves"), &experiments)?],
        settings: trial_settings(NAME, options, &experiments)?,
        summary: String::new(),
        findings: findings(&fcn, &mild),
    })
}

fn bins<'a>(points: &[&'a NetworkPoint]) -> Vec<Bin<'a>> {
    let mut bins = Vec::new();
    for point in points {
        for layer in layers(point) {
            for part in [layer.clone(), format!("{layer}.main"), format!("{layer}.residual")] {
                let Some(histogram) = WeightHistogram::read(point, &part) else { continue };
                let [low, high] = [0, 1].map(|i| histogram.range.map(|range| range[i]));
                bins.extend(histogram.centres().into_iter().zip(histogram.heights()).map(
                    |(weight, density)| Bin {
                        trial: &point.name,
                        part: histogram.part.clone(),
                        weight,
                        density,
                        range_low: low,
                        range_high: high,
                    },
                ));
            }
        }
    }
    bins
}

/// A row of panels for effective weights, one for the arrays of Residual Learning.
fn draw(fcn: &NetworkPoints, mild: &NetworkPoints) -> Option<Figure> {
    let residual = fcn.get("tiki-taka-mixed")?;
    let layers = layers(residual);
    let mut figure = Figure::new(layers.len().max(1)).panel_size(400.0, 340.0).description(
        "Densities of weights after training, one panel for each layer. Above, the weights of Digital SGD and the cells of Analog \
         SGD; below, the cells of the main and the residual array of Residual Learning. Dashed lines are the \
         bounds of the dynamic range.",
    );
    for layer in &layers {
        let mut panel = axes(format!("Layer {layer}: Digital and Analog SGD"));
        let mut range = None;
        // The milder device is a shade of Analog SGD.
        let shown = [fcn.get("digital"), fcn.get("analog"), mild.get("power-0.5-0.6-analog")];
        let shown: Vec<&NetworkPoint> = shown.into_iter().flatten().collect();
        let rules: Vec<&str> = shown.iter().map(|point| point.rule.as_str()).collect();
        for (point, RuleStyle { color, dash }) in shown.into_iter().zip(rule_styles(&rules)) {
            let Some(histogram) = cells(point, layer) else { continue };
            let shape = if point.name.starts_with("power-0.5") { ", γ_{res} = 0.5" } else { "" };
            range = range.or(histogram.range);
            let label = format!("{}{shape}", point.title);
            panel = panel.line(density(&histogram, color).dash(dash).label(label));
        }
        figure = figure.panel(bounded(panel, range));
    }
    for layer in &layers {
        let mut panel = axes(format!("Layer {layer}: arrays of Residual Learning"));
        let mut range = None;
        for (array, color) in [("main", Color::RESIDUAL_LEARNING), ("residual", Color::ORANGE)] {
            let Some(histogram) = WeightHistogram::read(residual, &format!("{layer}.{array}")) else {
                continue;
            };
            range = histogram.range;
            panel = panel.line(density(&histogram, color).label(array));
        }
        figure = figure.panel(bounded(panel, range));
    }
    (!layers.is_empty()).then_some(figure)
}

fn axes(title: String) -> Panel {
    // A little more than the dynamic range; few digital weights lie outside.
    let axis = Axis::linear("weight on a cell").range(-1.15 * RADIUS, 1.15 * RADIUS);
    Panel::new(title).x_axis(axis).y_axis(Axis::linear("density")).legend(Legend::Below)
}

fn density(histogram: &WeightHistogram, color: Color) -> Line {
    Line::new(histogram.centres(), histogram.heights()).color(color).width(1.3)
}

fn bounded(panel: Panel, range: Option<[f64; 2]>) -> Panel {
    let Some([low, high]) = range else { return panel };
    let bound = |at: f64, label: &str| ReferenceLine::vertical(at).color(Color::GREY).label(label);
    panel.reference(bound(low, "−τ")).reference(bound(high, "τ").other_side())
}

fn findings(fcn: &NetworkPoints, mild: &NetworkPoints) -> Vec<Finding> {
    const CLAIM: &str =
        "Weights of Analog SGD are more concentrated around the symmetric point 0 than those of Digital SGD.";
    let digital = fcn.get("digital");
    let pair = |analog: Option<&NetworkPoint>, device: &str, (of, read): (&str, Read)| {
        let statement = format!("Analog SGD{device}: {of} are closer to 0 than under Digital SGD ({NETWORK}).");
        let (ours, verdict) = compared(digital, analog, read);
        Finding {
            statement,
            paper: format!("{CLAIM} Shown as densities of ResNet heads, without numbers."),
            ours,
            verdict,
            note: "Judged by the mean of |w| over all layers, first seed. The paper does not say whether its weights include the \
                   learned output scales, so both are shown."
                .into(),
        }
    };
    let readings: [(&str, Read); 2] =
        [("weights on the cells", cells), ("effective weights, output scales included,", effective)];
    let mut findings = Vec::new();
    for reading in readings {
        findings.push(pair(fcn.get("analog"), "", reading));
        findings.push(pair(mild.get("power-0.5-0.6-analog"), " with γ_res = 0.5", reading));
    }
    if let Some(point) = fcn.get("tiki-taka-mixed")
        && point.runs.is_ok()
    {
        let within: Vec<String> = layers(point).iter().filter_map(|layer| array_words(point, layer)).collect();
        findings.push(Finding {
            statement: format!("Where the arrays of Residual Learning lie ({NETWORK})."),
            paper: "Not shown.".into(),
            ours: format!("{} ({}).", within.join("; "), point.words),
            verdict: PaperVerdict::NotStated,
            note: "Mean of |w|/τ of the main and of the residual array.".into(),
        });
    }
    findings
}

fn array_words(point: &NetworkPoint, layer: &str) -> Option<String> {
    let share = |array: &str| {
        let histogram = WeightHistogram::read(point, &format!("{layer}.{array}"))?;
        Some(histogram.mean_distance().0 / histogram.range?[1])
    };
    Some(format!("{layer}: main {:.2}, residual {:.2}", share("main")?, share("residual")?))
}

fn compared(
    digital: Option<&NetworkPoint>,
    analog: Option<&NetworkPoint>,
    read: Read,
) -> (String, PaperVerdict) {
    if let Some(reason) = [digital, analog].into_iter().flatten().find_map(|point| point.runs.as_ref().err()) {
        return ("–".into(), PaperVerdict::NotRun(reason.clone()));
    }
    let Some((digital, analog)) = digital.zip(analog) else {
        return ("–".into(), PaperVerdict::NotRun("not part of this profile".into()));
    };
    let Some((d, a)) = distance(digital, read).zip(distance(analog, read)) else {
        return ("–".into(), PaperVerdict::NotRun("the records hold no weights".into()));
    };
    let ours = format!("Mean |w| {a:.4} against {d:.4} under Digital SGD ({}).", analog.words);
    (ours, if a < d { PaperVerdict::SameOrdering(String::new()) } else { PaperVerdict::Differs })
}
