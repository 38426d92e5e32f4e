//! Layer by layer: κ₂ and drift, pulses, and where the weights lie in the dynamic range.

use residuum::stats::Summary;

use super::curves::{CHARTED, Palette, charted, plot};
use super::ends::head;
use super::plot::{Across, Chart, Form, Plot, Series};
use super::study::{Arm, Study};
use super::table::{Column, Table, TableCell};
use crate::store::Row;

/// Bins of a histogram over all seeds.
pub const BINS: usize = 60;

/// The parts of an arm that have a metric, in the order of the records.
fn parts<'a>(arm: &Arm<'a>, metric: &str) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for row in arm.runs.iter().flat_map(|t| &t.rows).filter(|r| r.metric == metric) {
        if !names.contains(&row.part.as_str()) {
            names.push(&row.part);
        }
    }
    names
}

/// The last value of a metric among these records.
fn end(rows: &[Row], metric: &str, part: &str) -> Option<f64> {
    rows.iter().rfind(|r| r.metric == metric && r.part == part).map(|r| r.value)
}

/// The last value of a metric for each seed.
fn last(arm: &Arm<'_>, metric: &str, part: &str) -> Summary {
    Summary::of(arm.runs.iter().filter_map(|t| end(&t.rows, metric, part)))
}

/// The sum of the last values over all parts, for each seed that has them.
fn total(arm: &Arm<'_>, metric: &str) -> Summary {
    let parts = parts(arm, metric);
    let sum = |rows: &[Row]| parts.iter().map(|part| end(rows, metric, part)).sum::<Option<f64>>();
    Summary::of(arm.runs.iter().filter(|_| !parts.is_empty()).filter_map(|t| sum(&t.rows)))
}

fn table_of(
    study: &Study<'_>,
    part: &str,
    heads: &[String],
    rows: impl Fn(&Arm<'_>) -> Vec<(String, Vec<TableCell>)>,
) -> (Vec<Column>, Vec<Vec<TableCell>>) {
    let mut columns: Vec<Column> = study.others.iter().map(|label| Column::words(head(label))).collect();
    columns.extend(study.compared.iter().map(|label| Column::words(head(label))));
    columns.push(Column::words(part));
    columns.extend(heads.iter().map(Column::numbers));
    let mut all = Vec::new();
    for block in &study.blocks {
        for arm in &block.arms {
            for (part, numbers) in rows(arm) {
                let mut cells: Vec<TableCell> =
                    block.values.iter().map(|v| TableCell::Text(v.clone())).collect();
                cells.extend(study.compared.iter().map(|_| TableCell::Text(arm.name.clone())));
                cells.push(TableCell::Text(part));
                cells.extend(numbers);
                all.push(cells);
            }
        }
    }
    (columns, all)
}

/// κ₂ and drift of every layer after training.
pub(super) fn hardware(study: &Study<'_>) -> Option<Table> {
    let metrics = ["kappa2", "drift", "range_low", "range_high"];
    let heads = ["κ₂", "drift", "range, low", "range, high"].map(String::from);
    let (columns, rows) = table_of(study, "layer", &heads, |arm| {
        let of_part = |part: &&str| {
            let cells = metrics.iter().map(|m| TableCell::estimate(last(arm, m, part))).collect();
            ((*part).to_string(), cells)
        };
        let mut names = parts(arm, "kappa2");
        names.extend(parts(arm, "drift").into_iter().filter(|p| !names.contains(p)).collect::<Vec<_>>());
        names.iter().map(of_part).collect()
    });
    let notes = vec![
        "κ₂: largest over least response of the mean main device between the smallest and the largest weight before and after \
         training. Drift: mean distance of the main weights from the symmetric point before less that after; positive where they \
         were pulled towards it. Mean ± standard error over seeds."
            .to_string(),
    ];
    let caption = "Hardware condition and drift of every layer".to_string();
    (!rows.is_empty()).then(|| Table { name: "hardware".into(), caption, columns, rows, notes })
}

/// Pulses of every layer and in total, with their energy if the spec gives that of one pulse.
pub(super) fn pulses(study: &Study<'_>) -> Option<Table> {
    let arms = || study.blocks.iter().flat_map(|b| &b.arms);
    let mut metrics = vec!["pulses"];
    let mut heads = vec!["pulses".to_string()];
    if arms().any(|arm| !parts(arm, "energy").is_empty()) {
        metrics.push("energy");
        heads.push("energy (J)".into());
    }
    let (columns, rows) = table_of(study, "layer", &heads, |arm| {
        let names = parts(arm, "pulses");
        let row = |name: &str, end: &dyn Fn(&str) -> Summary| {
            (name.to_string(), metrics.iter().map(|metric| TableCell::estimate(end(metric))).collect())
        };
        let of_part = |part: &&str| {
            row(if part.is_empty() { "all" } else { part }, &|metric: &str| last(arm, metric, part))
        };
        let mut rows: Vec<(String, Vec<TableCell>)> = names.iter().map(of_part).collect();
        if names.len() > 1 {
            rows.push(row("all", &|metric: &str| total(arm, metric)));
        }
        rows
    });
    let notes = vec!["Since the devices were made; mean ± standard error over seeds.".to_string()];
    (!rows.is_empty()).then(|| Table {
        name: "pulses".into(),
        caption: "Pulse ledger".into(),
        columns,
        rows,
        notes,
    })
}

/// Histograms of weights with the dynamic range, a chart for each block and array.
pub(super) fn histograms(study: &Study<'_>) -> Option<Plot> {
    let palette = Palette::new(study);
    let mut charts = Vec::new();
    for block in study.blocks.iter().take(CHARTED) {
        let mut names: Vec<&str> = Vec::new();
        for name in block.arms.iter().flat_map(|arm| parts(arm, "weight_count")) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        for name in names {
            let arms: Vec<&Arm> =
                block.arms.iter().filter(|a| parts(a, "weight_count").contains(&name)).collect();
            let series: Vec<Series> = arms.iter().filter_map(|arm| histogram(arm, name, &palette)).collect();
            let bound = |metric| arms.iter().map(|arm| last(arm, metric, name).mean).find(|x| x.is_finite());
            let bounds = [("range_low", "lower bound"), ("range_high", "upper bound")]
                .into_iter()
                .filter_map(|(metric, words)| Some((bound(metric)?, words.to_string())))
                .collect();
            let words = block.words(&study.others);
            let title = if words.is_empty() { name.to_string() } else { format!("{name}; {words}") };
            charts.push(Chart {
                title,
                x: "weight".into(),
                across: Across::Evenly,
                y: "density".into(),
                log: false,
                series,
                bounds,
            });
        }
    }
    let caption =
        format!("Weights after training against the dynamic range, all seeds together.{}", charted(study));
    plot("weights", caption, charts)
}

/// One histogram with its ends.
pub struct Bins {
    /// Where the first bin begins.
    pub low: f64,
    /// Where the last bin ends.
    pub high: f64,
    /// One for each bin.
    pub counts: Vec<f64>,
}

/// The histograms of all seeds on common bins, as a staircase.
fn histogram(arm: &Arm<'_>, part: &str, palette: &Palette) -> Option<Series> {
    let own: Vec<Bins> = arm
        .runs
        .iter()
        .filter_map(|trial| {
            let of = |metric: &str| {
                let mut rows = trial.rows.iter().filter(|r| r.metric == metric && r.part == part);
                rows.next_back().map(|r| r.value)
            };
            let counts = trial.rows.iter().filter(|r| r.metric == "weight_count" && r.part == part);
            let counts: Vec<f64> = counts.map(|r| r.value).collect();
            Some(Bins { low: of("weight_low")?, high: of("weight_high")?, counts })
        })
        .filter(|bins| bins.high > bins.low && !bins.counts.is_empty())
        .collect();
    let low = own.iter().map(|b| b.low).reduce(f64::min)?;
    let high = own.iter().map(|b| b.high).reduce(f64::max)?;
    let heights = pooled(&own, low, high);
    let width = (high - low) / BINS as f64;
    let edge = |i: usize| low + width * i as f64;
    Some(Series {
        label: arm.name.clone(),
        style: palette.of(&arm.name),
        xs: (0..BINS).flat_map(|i| [edge(i), edge(i + 1)]).collect(),
        ys: heights.iter().flat_map(|h| [*h, *h]).collect(),
        band: None,
        form: Form::Filled,
    })
}

/// Density on common bins: the mass of each bin is spread evenly over what it covers.
pub fn pooled(own: &[Bins], low: f64, high: f64) -> Vec<f64> {
    let width = (high - low) / BINS as f64;
    let mut mass = vec![0.0; BINS];
    for bins in own {
        let step = (bins.high - bins.low) / bins.counts.len() as f64;
        for (i, count) in bins.counts.iter().enumerate() {
            let (from, to) = (bins.low + step * i as f64, bins.low + step * (i + 1) as f64);
            let first = (((from - low) / width) as usize).min(BINS - 1);
            for (bin, mass) in mass.iter_mut().enumerate().skip(first) {
                let (left, right) = (low + width * bin as f64, low + width * (bin + 1) as f64);
                let shared = (to.min(right) - from.max(left)).max(0.0);
                if shared == 0.0 && left > to {
                    break;
                }
                *mass += count * shared / step;
            }
        }
    }
    let total: f64 = mass.iter().sum();
    mass.iter().map(|m| m / (total * width)).collect()
}
