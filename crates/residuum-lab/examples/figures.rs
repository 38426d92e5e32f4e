//! Draws the figures of the pages whose numbers are in the repository: `cargo run --release -p residuum-lab --example figures`.
//!
//! The front page: densities from `docs/results/reproduce` (`residuum reproduce fig-toy`), accuracies and times from
//! `docs/results/beside-aihwkit.csv` (`tools/aihwkit/beside.py`). The long runs: `docs/results/NAME.csv`, which is what
//! `residuum run NAME` measured after every epoch.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use residuum_lab::figure::{
    Axis, Band, Bars, Color, Figure, FigureFormat, Line, Note, Panel, Points, ReferenceLine,
};
use residuum_lab::files::{FIGURES, save_figure};
use residuum_lab::style::{RuleStyle, error_axis, rule_style, rule_styles};

type Row = BTreeMap<String, String>;

fn read(path: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut reader = csv::Reader::from_path(path)?;
    Ok(reader.deserialize().collect::<Result<Vec<Row>, _>>()?)
}

fn number(row: &Row, column: &str) -> f64 {
    row.get(column).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// Where 2000 weights end under both rules, gradients with noise of deviation one.
fn drift(rows: &[Row]) -> Panel {
    let mut panel = Panel::new("Drift and its cure: where weights end")
        .x_axis(Axis::linear("weight").range(-0.05, 0.75))
        .y_axis(Axis::linear("density").range(0.0, 21.0));
    for (rule, variable, title) in
        [("analog_sgd", "main", "Analog SGD"), ("residual_learning", "effective_weights", "Residual Learning")]
    {
        let own = || {
            rows.iter().filter(|r| r["rule"] == rule && r["variable"] == variable && number(r, "sigma") == 1.0)
        };
        let (xs, ys): (Vec<f64>, Vec<f64>) = own().map(|r| (number(r, "w"), number(r, "density"))).unzip();
        if let Some(style) = rule_style(title) {
            panel = panel.band(Band::area(xs, ys).color(style.color).dash(style.dash).label(title));
        }
    }
    let mark = |at: f64, words: &str| ReferenceLine::vertical(at).color(Color::GREY).label(words).along(0.95);
    panel.reference(mark(0.0, "symmetric point")).reference(mark(0.5, "minimiser"))
}

fn programs(rows: &[Row]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        if !names.contains(&row["program"]) {
            names.push(row["program"].clone());
        }
    }
    names
}

/// Test accuracy after each epoch: ours with lines, theirs with points.
fn accuracy(rows: &[Row]) -> Panel {
    let mut panel = Panel::new("MNIST, 784-256-128-10 on tiles")
        .x_axis(Axis::linear("epoch").whole())
        .y_axis(Axis::linear("test accuracy (%)").range(0.0, 104.0));
    for rule in ["Analog SGD", "Tiki-Taka, mixing 0.4"] {
        let Some(style) = rule_style(rule) else { continue };
        for program in programs(rows) {
            let own = || rows.iter().filter(|r| r["rule"] == rule && r["program"] == program);
            let (xs, ys): (Vec<f64>, Vec<f64>) =
                own().map(|r| (number(r, "epoch"), 100.0 * number(r, "test_accuracy"))).unzip();
            let label = format!("{rule}: {program}");
            panel = if program == "Residuum" {
                panel.line(Line::new(xs, ys).color(style.color).dash(style.dash).label(label))
            } else {
                panel.points(Points::new(xs, ys).color(style.color).size(4.0).hollow().label(label))
            };
        }
    }
    panel
}

/// CPU seconds of an epoch, with the ratio.
fn speed(rows: &[Row]) -> Panel {
    let rules = ["Analog SGD", "Tiki-Taka, mixing 0.4"];
    let seconds = |rule: &str, ours: bool| {
        let own = rows.iter().filter(|r| r["rule"] == rule && (r["program"] == "Residuum") == ours);
        own.map(|r| number(r, "cpu_seconds") / number(r, "epoch")).next_back().unwrap_or(f64::NAN)
    };
    let top = 1.25 * rules.iter().map(|rule| seconds(rule, false)).fold(0.0, f64::max);
    let mut panel = Panel::new("CPU time of an epoch, one core")
        .x_axis(Axis::linear("").range(0.4, 2.6).ticks([(1.0, rules[0]), (2.0, rules[1])]))
        .y_axis(Axis::linear("CPU seconds").range(0.0, top));
    for (ours, color, label, shift) in
        [(true, Color::BLUE, "Residuum", -0.17), (false, Color::GREY, "AIHWKIT", 0.17)]
    {
        let xs: Vec<f64> = (1..=2).map(|i| f64::from(i) + shift).collect();
        let heights: Vec<f64> = rules.iter().map(|rule| seconds(rule, ours)).collect();
        panel = panel.bars(Bars::centered(&xs, 0.32, heights).color(color).label(label));
    }
    for (i, rule) in rules.iter().enumerate() {
        let (fast, slow) = (seconds(rule, true), seconds(rule, false));
        let words = format!("{:.1} s, {fast:.1} s: {:.1}×", slow, slow / fast);
        panel = panel.note(Note::new(i as f64 + 1.0, slow + 0.05 * top, words));
    }
    panel
}

/// A long run: its file and title, and its trials in the words of the page.
type LongRun = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const LONG_RUNS: [LongRun; 2] = [
    (
        "mnist-fcn",
        "MNIST, FCN, power response, shape 1, radius 0.6",
        &[
            ("digital", "Digital SGD"),
            ("analog", "Analog SGD"),
            ("tiki-taka-mixed", "Tiki-Taka, mixing 0.4"),
            ("tiki-taka", "Tiki-Taka, mixing 0"),
        ],
    ),
    (
        "cifar10-features",
        "CIFAR-10, frozen ResNet-50, head on tiles",
        &[
            ("digital", "Digital SGD"),
            ("analog", "Analog SGD"),
            ("residual", "Residual Learning"),
            ("analog-ideal", "Analog SGD, ideal reads"),
            ("residual-ideal", "Residual Learning, ideal reads"),
        ],
    ),
];

/// Test errors after each epoch: means over seeds, with their range as a band.
fn errors(rows: &[Row], (_, title, trials): LongRun) -> Result<Figure, Box<dyn Error>> {
    let all = rows.iter().map(|row| 100.0 * (1.0 - number(row, "test_accuracy")));
    let mut panel =
        Panel::new(title).x_axis(Axis::linear("epoch").whole()).y_axis(error_axis("test error (%)", all));
    let titles: Vec<&str> = trials.iter().map(|(_, title)| *title).collect();
    for ((trial, title), RuleStyle { color, dash }) in trials.iter().zip(rule_styles(&titles)) {
        let mut epochs: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row["trial"] == *trial) {
            let error = 100.0 * (1.0 - number(row, "test_accuracy"));
            epochs.entry(row["epoch"].parse()?).or_default().push(error);
        }
        if epochs.is_empty() {
            return Err(format!("{trial} must be a trial of the file").into());
        }
        let xs: Vec<f64> = epochs.keys().map(|epoch| *epoch as f64).collect();
        let of = |f: fn(&Vec<f64>) -> f64| -> Vec<f64> { epochs.values().map(f).collect() };
        let (least, most) = (
            |e: &Vec<f64>| e.iter().copied().fold(f64::INFINITY, f64::min),
            |e: &Vec<f64>| e.iter().copied().fold(0.0, f64::max),
        );
        panel = panel.band(Band::new(xs.clone(), of(least), of(most)).color(color).opacity(0.2)).line(
            Line::new(xs, of(|e| e.iter().sum::<f64>() / e.len() as f64)).color(color).dash(dash).label(*title),
        );
    }
    let words = "Test error after each epoch, a curve for each rule with the range over seeds as a band.";
    Ok(Figure::new(1).panel_size(520.0, 400.0).description(words).panel(panel))
}

fn main() -> Result<(), Box<dyn Error>> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let toy = read(&docs.join("results/reproduce/fig-toy-densities.csv"))?;
    let beside = read(&docs.join("results/beside-aihwkit.csv"))?;
    let figure = Figure::new(3)
        .panel_size(400.0, 350.0)
        .description(
            "Left: where a weight ends under Analog SGD, far from the minimiser, and under Residual Learning, at it. Middle: test \
             accuracy of a network on tiles under both rules, in Residuum and in AIHWKIT. Right: CPU time of an epoch in both.",
        )
        .panel(drift(&toy))
        .panel(accuracy(&beside))
        .panel(speed(&beside));
    save_figure(&figure, docs.join("figures"), "front-page", &FIGURES)?;
    for run in LONG_RUNS {
        let rows = read(&docs.join(format!("results/{}.csv", run.0)))?;
        save_figure(&errors(&rows, run)?, docs.join("results"), run.0, &[FigureFormat::Png])?;
    }
    Ok(())
}
