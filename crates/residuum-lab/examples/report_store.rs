//! Makes a run store with plausible numbers and a report on it in all formats, to look at without training anything:
//! `cargo run --release -p residuum-lab --example report_store -- FOLDER`.

use std::path::Path;

use residuum::Key;
use residuum_lab::figure::FigureFormat;
use residuum_lab::files::write_atomic;
use residuum_lab::report::{Report, ReportOptions, load};
use residuum_lab::store::{Row, SpecKind, Store, StoredParameter, TrialClaim, TrialManifest};

const EPOCHS: u64 = 30;
/// The order of a spec, in which reports show them.
const PLACES: [&str; 4] = ["Digital SGD", "Analog SGD", "Residual Learning", "Tiki-Taka, mixing 0.4"];
const LAYERS: [&str; 3] = ["1.weight", "3.weight", "5.weight"];

fn row(epoch: Option<u64>, step: u64, metric: &str, part: &str, index: Option<u64>, value: f64) -> Row {
    Row { epoch, step, metric: metric.into(), part: part.into(), index, value }
}

fn parameter(field: &str, value: &(impl ToString + ?Sized), given: bool) -> StoredParameter {
    StoredParameter { field: field.into(), value: value.to_string(), given }
}

fn manifest(
    experiment: &str,
    kind: SpecKind,
    labels: &[(&str, &str)],
    seed: u64,
    spec: Vec<StoredParameter>,
) -> TrialManifest {
    let labels: Vec<(String, String)> = labels.iter().map(|(l, v)| ((*l).into(), (*v).into())).collect();
    let id: String = labels.iter().map(|(_, v)| v.as_str()).chain([experiment]).collect::<Vec<_>>().join("-");
    TrialManifest {
        schema: "residuum.trial/1".into(),
        id: format!("{}-{seed}", id.replace(|c: char| !c.is_ascii_alphanumeric(), "_")),
        experiment: experiment.into(),
        name: String::new(),
        kind,
        place: PLACES.iter().position(|rule| labels.iter().any(|(_, v)| v == rule)).unwrap_or(0),
        labels,
        seed,
        spec,
        version: "0.1.0".into(),
        value_version: 1,
        commit: Some("56e660a".into()),
        threads: 2,
        cpu: Some("Example CPU at 2.5 GHz".into()),
        seconds: 61.5,
    }
}

fn kind(rule: &str) -> &'static str {
    match rule {
        "Digital SGD" => "digital",
        "Analog SGD" => "analog",
        "Residual Learning" => "residual_learning",
        _ => "tiki_taka",
    }
}

/// A network under one rule: how far it gets, how fast, and how much its seeds differ.
fn network(
    seed: u64,
    radius: &str,
    rule: &str,
    (end, pace, spread): (f64, f64, f64),
) -> (TrialManifest, Vec<Row>) {
    let mut chance = vec![0.0; 2 * EPOCHS as usize + 400];
    Key::new(seed).named("example").fill_normal(&mut chance);
    let mut rows = Vec::new();
    for epoch in 1..=EPOCHS {
        let noise = 0.004 * chance[epoch as usize] + spread * chance[0];
        let accuracy = (end - 0.8 * (-pace * epoch as f64).exp() + noise).clamp(0.1, 0.999);
        let step = 600 * epoch;
        for (metric, value) in [
            ("train_loss", 2.3 * (-pace * epoch as f64).exp() + (1.0 - end) * 1.5 + 0.02),
            ("train_accuracy", (accuracy + 0.01).min(1.0)),
            ("test_loss", 2.3 * (-pace * epoch as f64).exp() + (1.0 - accuracy) * 2.0),
            ("test_accuracy", accuracy),
            ("learning_rate", if epoch > 15 { 0.05 } else { 0.1 }),
        ] {
            rows.push(row(Some(epoch), step, metric, "", None, value));
        }
        if rule != "Digital SGD" {
            for (i, layer) in LAYERS.iter().enumerate() {
                let pulses = (1e6 * epoch as f64 / (1 + i) as f64 * (1.0 + 0.01 * chance[1])).round();
                rows.push(row(Some(epoch), step, "pulses", layer, None, pulses));
            }
        }
    }
    if rule != "Digital SGD" {
        let arrays: &[&str] = if rule == "Analog SGD" { &[""] } else { &[".main", ".residual"] };
        let radius_value: f64 = radius.parse().unwrap_or(0.6);
        for layer in LAYERS {
            for array in arrays {
                let part = format!("{layer}{array}");
                let end =
                    |metric: &str, value: f64| row(Some(EPOCHS), 600 * EPOCHS, metric, &part, None, value);
                rows.push(end("kappa2", 2.5 + 0.2 * chance[3].abs()));
                rows.push(end("drift", 0.01 + 0.002 * chance[4].abs()));
                rows.push(end("range_low", -radius_value));
                rows.push(end("range_high", radius_value));
                rows.push(end("weight_low", -0.5));
                rows.push(end("weight_high", 0.5));
                for bin in 0..50u64 {
                    let x = (bin as f64 - 24.5) / 8.0 + 0.3 * chance[5];
                    let count = (2000.0 * (-0.5 * x * x).exp()).round();
                    rows.push(row(Some(EPOCHS), 600 * EPOCHS, "weight_count", &part, Some(bin), count));
                }
            }
        }
    }
    let spec = vec![
        parameter("network.model", "\"fcn\"", true),
        parameter("device.response", "\"power\"", true),
        parameter("device.radius", radius, true),
        parameter("device.joules_per_pulse", &2e-15, false),
        parameter("rule.kind", &format!("{:?}", kind(rule)), true),
        parameter("training.epochs", &EPOCHS, true),
        parameter("training.batch_size", &10, false),
    ];
    let labels = [("device.radius", radius), ("variant", rule)];
    (manifest("mnist-fcn", SpecKind::Network, &labels, seed, spec), rows)
}

/// A problem under one rule: its gap over the steps, and its entries at the end.
fn problem(seed: u64, rule: &str, bias: f64) -> (TrialManifest, Vec<Row>) {
    let mut chance = vec![0.0; 300];
    Key::new(seed).named("example").fill_normal(&mut chance);
    let mut rows = Vec::new();
    for k in 0..=100u64 {
        let gap = 0.5 * (-0.08 * k as f64).exp() + bias * bias + 1e-5 * (1.0 + 0.2 * chance[k as usize]);
        rows.push(row(None, 100 * k, "gap", "", None, gap));
    }
    rows.push(row(None, 10_000, "pulses", "", None, 123_456.0));
    for i in 0..60u64 {
        let value = 0.5 - bias + 0.05 * chance[150 + i as usize];
        rows.push(row(None, 10_000, "effective", "", Some(i), value));
    }
    let spec =
        vec![parameter("rule.kind", &format!("{:?}", kind(rule)), true), parameter("steps", &10_000, true)];
    (manifest("toy", SpecKind::Problem, &[("variant", rule)], seed, spec), rows)
}

fn write(
    store: &Store,
    (manifest, rows): &(TrialManifest, Vec<Row>),
) -> Result<(), Box<dyn std::error::Error>> {
    if let TrialClaim::Ours(lease) = store.claim(&manifest.id)? {
        lease.finish(manifest, rows)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder =
        std::env::args().nth(1).ok_or("the folder to write into must be given as the only argument")?;
    let folder = Path::new(&folder);
    let store = &Store::create(folder.join("store"))?;
    let rules = [
        ("Digital SGD", (0.982, 0.5, 0.001)),
        ("Analog SGD", (0.862, 0.25, 0.01)),
        ("Residual Learning", (0.975, 0.35, 0.002)),
        ("Tiki-Taka, mixing 0.4", (0.971, 0.3, 0.003)),
    ];
    for seed in 0..5 {
        for (radius, loss) in [("0.6", 0.0), ("0.7", -0.004), ("0.8", -0.006)] {
            for (rule, (end, pace, spread)) in rules {
                write(store, &network(seed, radius, rule, (end + loss, pace, spread)))?;
            }
        }
        for (rule, bias) in [("Analog SGD", 0.2), ("Residual Learning", 0.0)] {
            write(store, &problem(seed, rule, bias))?;
        }
    }
    let report = Report::new(&load(store.path())?, &ReportOptions::default());
    let files = [("html", report.to_html()), ("md", report.to_markdown()), ("tex", report.to_latex())];
    for (ending, text) in files {
        write_atomic(folder.join(format!("report.{ending}")), text.as_bytes())?;
    }
    report.save_figures(&folder.join("figures"), &FigureFormat::ALL)?;
    Ok(())
}
