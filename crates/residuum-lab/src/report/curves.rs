//! Learning curves over seeds, and densities of vectors at their end.

use std::collections::BTreeMap;

use residuum::stats::{Summary, density};

use super::measure::Measure;
use super::plot::{Across, Chart, Form, Plot, Series};
use super::study::{Arm, Block, Study};
use super::{Bands, ReportOptions, slug};
use crate::store::SpecKind;
use crate::style::{RuleStyle, rule_styles};

/// Most points of a curve; more could not be seen.
const POINTS: usize = 160;
/// Blocks that get charts of their own; the tables have them all.
pub(super) const CHARTED: usize = 12;
/// Charts of one plot.
const CHARTS: usize = 24;
/// A positive curve over more than this ratio is drawn on a logarithmic axis.
pub(super) const LOG_RATIO: f64 = 30.0;
/// Fewest entries for a density.
const ENTRIES: usize = 20;

/// Metrics with a curve, in this order.
const NETWORK: [&str; 7] = [
    "test_accuracy",
    "test_r2",
    "validation_accuracy",
    "validation_r2",
    "train_loss",
    "test_loss",
    "validation_loss",
];
const PROBLEM: [&str; 6] = ["gap", "distance", "objective", "effective_mean", "effective_std", "main_mean"];

/// The learning curves of a study: a plot for each metric, with a chart for each block.
pub(super) fn curves(study: &Study<'_>, options: &ReportOptions) -> Vec<Plot> {
    let metrics: Vec<&str> = match study.kind {
        _ if !options.metrics.is_empty() => options.metrics.iter().map(String::as_str).collect(),
        SpecKind::Network => NETWORK.to_vec(),
        SpecKind::Problem => PROBLEM.to_vec(),
    };
    let palette = Palette::new(study);
    let band = match options.spread {
        Bands::StandardError => "bands: ± one standard error",
        Bands::Range => "bands: from the smallest to the largest seed",
    };
    let several = study.blocks.iter().flat_map(|b| &b.arms).any(|a| a.runs.len() > 1);
    let band = if several { format!("mean over seeds; {band}") } else { "one seed".into() };
    let of = |metric: &str| {
        let measure = Measure::new(metric);
        let blocks = study.blocks.iter().take(CHARTED);
        let charts = blocks.filter_map(|block| chart(study, block, &measure, options.spread, &palette));
        let caption = format!("{} ({band}).{}", capital(&measure.head), charted(study));
        plot(&format!("curves-{}", slug(metric)), caption, charts.collect())
    };
    metrics.into_iter().filter_map(of).collect()
}

/// With a capital letter.
pub(super) fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Charts as a plot, limited to what fits a page.
pub(super) fn plot(name: &str, mut caption: String, mut charts: Vec<Chart>) -> Option<Plot> {
    if charts.len() > CHARTS {
        caption = format!("{caption} The first {CHARTS} of {} charts.", charts.len());
        charts.truncate(CHARTS);
    }
    (!charts.is_empty()).then(|| Plot { name: name.into(), caption, charts })
}

/// The note shown if not every block has charts.
pub(super) fn charted(study: &Study<'_>) -> String {
    match study.blocks.len() {
        n if n > CHARTED => format!(" The first {CHARTED} of {n} settings; the tables have all."),
        _ => String::new(),
    }
}

/// One look for an arm in all charts of a study: that of its rule.
pub(super) struct Palette {
    names: Vec<String>,
    styles: Vec<RuleStyle>,
}

impl Palette {
    pub fn new(study: &Study<'_>) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut rules: Vec<&str> = Vec::new();
        for arm in study.blocks.iter().flat_map(|b| &b.arms) {
            if !names.contains(&arm.name) {
                names.push(arm.name.clone());
                rules.push(arm.drawn_as().unwrap_or(&arm.name));
            }
        }
        Self { names, styles: rule_styles(&rules) }
    }

    pub fn of(&self, arm: &str) -> RuleStyle {
        let place = self.names.iter().position(|name| name == arm).unwrap_or(0);
        self.styles[place]
    }
}

fn chart(
    study: &Study<'_>,
    block: &Block<'_>,
    measure: &Measure,
    spread: Bands,
    palette: &Palette,
) -> Option<Chart> {
    let curves: Vec<(&Arm, Vec<Point>)> =
        block.arms.iter().map(|arm| (arm, points(arm, study.kind, measure))).collect();
    if curves.iter().all(|(_, points)| points.len() < 2) {
        return None;
    }
    let values = || curves.iter().flat_map(|(_, points)| points).map(|p| p.mean.mean);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let log = low > 0.0 && high > LOG_RATIO * low;
    let series = curves
        .into_iter()
        .map(|(arm, points)| {
            let points = thinned(points);
            let of = |f: &dyn Fn(&Point) -> f64| points.iter().map(f).collect::<Vec<f64>>();
            let band = match spread {
                Bands::StandardError => [of(&|p| p.mean.mean - p.mean.se), of(&|p| p.mean.mean + p.mean.se)],
                Bands::Range => [of(&|p| p.low), of(&|p| p.high)],
            };
            let several = points.iter().any(|p| p.mean.n > 1);
            let finite = band.iter().flatten().all(|x| x.is_finite());
            Series {
                label: arm.name.clone(),
                style: palette.of(&arm.name),
                xs: of(&|p| p.at),
                ys: of(&|p| p.mean.mean),
                band: (several && finite).then_some(band),
                form: Form::Curve,
            }
            .kept(log)
        })
        .collect();
    let (x, across) = match study.kind {
        SpecKind::Network => ("epoch", Across::Whole),
        SpecKind::Problem => ("step", Across::Evenly),
    };
    let title = chart_title(study, block, measure);
    Some(Chart { title, x: x.into(), across, y: measure.head.clone(), log, series, bounds: Vec::new() })
}

/// The labels of a block, or the metric where it has none.
pub(super) fn chart_title(study: &Study<'_>, block: &Block<'_>, measure: &Measure) -> String {
    let words = block.words(&study.others);
    if words.is_empty() { measure.head.clone() } else { words }
}

/// A metric at every time, summarised over the seeds of an arm.
pub(super) fn over_seeds(arm: &Arm<'_>, kind: SpecKind, measure: &Measure) -> Vec<(f64, Summary)> {
    points(arm, kind, measure).into_iter().map(|point| (point.at, point.mean)).collect()
}

/// A metric over the seeds of an arm at one time.
struct Point {
    at: f64,
    mean: Summary,
    low: f64,
    high: f64,
}

fn points(arm: &Arm<'_>, kind: SpecKind, measure: &Measure) -> Vec<Point> {
    let mut samples: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for trial in &arm.runs {
        // The entries of a vector are averaged first, so that seeds are what the band is over.
        let mut own: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for row in trial.rows.iter().filter(|r| r.metric == measure.metric && r.part.is_empty()) {
            let at = if kind == SpecKind::Network { row.epoch } else { Some(row.step) };
            own.entry(at.unwrap_or(row.step)).or_default().push(measure.scale * row.value);
        }
        for (at, values) in own {
            samples.entry(at).or_default().push(Summary::of(values).mean);
        }
    }
    samples
        .into_iter()
        .map(|(at, values)| Point {
            at: at as f64,
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            mean: Summary::of(values),
        })
        .collect()
}

/// Evenly spread points with both ends.
fn thinned<T>(points: Vec<T>) -> Vec<T> {
    let n = points.len();
    if n <= POINTS {
        return points;
    }
    let kept: Vec<usize> = (0..POINTS).map(|i| i * (n - 1) / (POINTS - 1)).collect();
    points.into_iter().enumerate().filter(|(i, _)| kept.binary_search(i).is_ok()).map(|(_, p)| p).collect()
}

/// Densities of the entries of vectors after the last step, over all seeds.
pub(super) fn densities(study: &Study<'_>) -> Option<Plot> {
    let palette = Palette::new(study);
    let mut charts = Vec::new();
    for block in study.blocks.iter().take(CHARTED) {
        for metric in vectors(block) {
            let samples: Vec<(&Arm, Vec<f64>)> = block
                .arms
                .iter()
                .map(|arm| (arm, entries(arm, &metric)))
                .filter(|(_, s)| s.len() >= ENTRIES)
                .collect();
            charts.extend(density_chart(&metric, &block.words(&study.others), &samples, &palette));
        }
    }
    let caption = format!(
        "Entries after the last step, all seeds together (Gaussian kernels, Silverman's width).{}",
        charted(study)
    );
    plot("densities", caption, charts)
}

fn density_chart(
    metric: &str,
    title: &str,
    samples: &[(&Arm<'_>, Vec<f64>)],
    palette: &Palette,
) -> Option<Chart> {
    let all = || samples.iter().flat_map(|(_, s)| s.iter().copied());
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let pad = 0.08 * (high - low);
    if !(pad > 0.0 && pad.is_finite()) {
        return None;
    }
    let grid: Vec<f64> =
        (0..POINTS).map(|i| low - pad + (high - low + 2.0 * pad) * i as f64 / (POINTS - 1) as f64).collect();
    // Entries that are all equal have no density.
    let spread = |s: &[f64]| s.iter().any(|x| *x != s[0]);
    let series = samples
        .iter()
        .filter(|(_, s)| spread(s))
        .map(|(arm, sample)| Series {
            label: arm.name.clone(),
            style: palette.of(&arm.name),
            ys: density(sample, &grid),
            xs: grid.clone(),
            band: None,
            form: Form::Filled,
        })
        .collect();
    let x = metric.replace('_', " ");
    let title = if title.is_empty() { &x } else { title };
    Some(Chart {
        title: title.to_string(),
        x: x.clone(),
        across: Across::Evenly,
        y: "density".into(),
        log: false,
        series,
        bounds: Vec::new(),
    })
}

/// Metrics with many entries.
fn vectors(block: &Block<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in block.arms.iter().filter_map(|a| a.runs.first()).flat_map(|t| &t.rows) {
        if row.index.is_some() && row.metric != "weight_count" && !names.contains(&row.metric) {
            names.push(row.metric.clone());
        }
    }
    names
}

fn entries(arm: &Arm<'_>, metric: &str) -> Vec<f64> {
    let mut all = Vec::new();
    for trial in &arm.runs {
        let rows = || trial.rows.iter().filter(|r| r.metric == metric && r.index.is_some());
        let Some(last) = rows().map(|r| r.step).max() else { continue };
        all.extend(rows().filter(|r| r.step == last && r.value.is_finite()).map(|r| r.value));
    }
    all
}
