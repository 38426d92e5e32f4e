//! The table, the sentence and the figure that end a run.

use residuum_lab::report::{RunOutcome, StoredTrial};
use residuum_lab::spec::SpecKind;
use residuum_lab::store::{Row, StoredParameter, TrialManifest};
use serde_json::json;

const ACCURACY: &str = "test_accuracy";

fn trial(
    cell: Option<&str>,
    variant: &str,
    seed: u64,
    kind: SpecKind,
    values: &[(u64, &str, f64)],
) -> StoredTrial {
    let label = |name: &str, value: &str| (name.to_string(), value.to_string());
    let cell = cell.map(|cell| label("cell", cell));
    let rule = if variant == "D" { "\"digital\"" } else { "\"analog\"" };
    let manifest = TrialManifest {
        schema: String::new(),
        id: format!("{cell:?}{variant}{seed}"),
        experiment: "e".into(),
        name: variant.into(),
        kind,
        labels: cell.into_iter().chain([label("variant", variant)]).collect(),
        place: 0,
        seed,
        spec: vec![StoredParameter { field: "rule.kind".into(), value: rule.into(), given: true }],
        version: String::new(),
        value_version: 1,
        commit: None,
        threads: 1,
        cpu: None,
        seconds: 1.0,
    };
    let row = |&(at, metric, value): &(u64, &str, f64)| Row {
        epoch: (kind == SpecKind::Network).then_some(at),
        step: at,
        metric: metric.into(),
        part: String::new(),
        index: None,
        value,
    };
    StoredTrial { manifest, rows: values.iter().map(row).collect() }
}

/// Twelve epochs, the last two of which are averaged.
fn network(cell: Option<&str>, variant: &str, seed: u64, end: f64) -> StoredTrial {
    let at = |epoch: u64| (epoch, ACCURACY, if epoch > 10 { end } else { 0.0 });
    trial(cell, variant, seed, SpecKind::Network, &(1..=12).map(at).collect::<Vec<_>>())
}

fn said(ends: &[(&str, f64)]) -> String {
    let trials: Vec<StoredTrial> = ends.iter().map(|(name, end)| network(None, name, 0, *end)).collect();
    RunOutcome::new("t", &trials).unwrap().findings().join(" ")
}

#[test]
fn the_sentence_follows_the_numbers() {
    assert_eq!(
        said(&[("D", 0.97), ("A", 0.1), ("R", 0.965)]),
        "A (10.0 %) fails where R (96.5 %) matches D (97.0 %)."
    );
    assert_eq!(
        said(&[("D", 0.97), ("A", 0.1), ("R", 0.9)]),
        "A (10.0 %) fails; D (97.0 %) is ahead of the others."
    );
    assert_eq!(said(&[("D", 0.97), ("A", 0.965), ("R", 0.98)]), "A (96.5 %), R (98.0 %) match D (97.0 %).");
    assert_eq!(said(&[("D", 0.97), ("A", 0.7)]), "D (97.0 %) is ahead of the others.");
    assert_eq!(said(&[("D", 0.97)]), "D reaches 97.0 %.");
    assert_eq!(
        said(&[("A", 0.1), ("D", 0.95), ("R", 0.98)]),
        "A (10.0 %) fails where R (98.0 %) is ahead of D (95.0 %)."
    );
    assert_eq!(said(&[("D", 0.1), ("R", 0.9)]), "D (10.0 %) fails; the best of them is R (90.0 %).");
    assert_eq!(
        said(&[("D", 0.1), ("R", 0.2)]),
        "D (10.0 %) fails, and so do all others; the best of them is R (20.0 %)."
    );
}

/// The first trial is not the reference just because it is first.
#[test]
fn without_a_digital_trial_the_best_is_the_measure() {
    assert_eq!(said(&[("A", 0.93), ("R", 0.98)]), "R (98.0 %) is ahead of the others.");
    assert_eq!(said(&[("A", 0.975), ("R", 0.98)]), "A (97.5 %) matches R (98.0 %), the best.");
    assert_eq!(said(&[("A", 0.1), ("R", 0.9)]), "A (10.0 %) fails; R (90.0 %) is the best.");
    assert_eq!(
        said(&[("A", 0.1), ("B", 0.9), ("R", 0.9)]),
        "A (10.0 %) fails where B (90.0 %) matches R (90.0 %), the best."
    );
    assert_eq!(said(&[("A", 0.1), ("R", 0.2)]), "All fail; the best of them is R (20.0 %).");
}

#[test]
fn the_table_averages_the_end_over_seeds() {
    let trials = [network(None, "D", 0, 0.9), network(None, "D", 1, 0.8)];
    let outcome = RunOutcome::new("t", &trials).unwrap();
    // The deviation of 90 and 80 is 7.07.
    let text = outcome.to_text();
    assert!(text.contains("85.0 ± 7.1 %") && text.contains("mean of the last 2 epochs"), "{text}");
    assert!(outcome.figure().unwrap().to_svg().contains("test accuracy"));
    let json = outcome.to_json();
    assert_eq!(json[0]["runs"][1]["epochs"].as_array().unwrap().len(), 12);
    assert!((json[0]["test_accuracy"].as_f64().unwrap() - 0.85).abs() < 1e-12);
}

#[test]
fn cells_are_judged_apart() {
    let of = |cell, name, end| network(Some(cell), name, 0, end);
    let trials = [of("a", "D", 0.9), of("b", "D", 0.95), of("a", "R", 0.9), of("b", "R", 0.1)];
    let outcome = RunOutcome::new("t", &trials).unwrap();
    assert_eq!(
        outcome.findings(),
        ["a: R (90.0 %) matches D (90.0 %).", "b: R (10.0 %) fails; D (95.0 %) is ahead of the others."]
    );
    assert!(outcome.to_text().contains("b, R"));
}

#[test]
fn problems_end_with_their_metrics_and_the_smallest_gap() {
    let of = |rule, seed, gap| {
        trial(
            None,
            rule,
            seed,
            SpecKind::Problem,
            &[(0, "gap", 1.0), (0, "pulses", 0.0), (9, "gap", gap), (9, "pulses", 7.0)],
        )
    };
    let trials = [of("A", 1, 0.3), of("A", 2, 0.5), of("R", 1, 0.1), of("R", 2, 0.1)];
    let outcome = RunOutcome::new("t", &trials).unwrap();
    let text = outcome.to_text();
    assert!(text.contains("gap f(W̄) − f*") && text.contains("0.40 ± 0.14"), "{text}");
    assert!(text.ends_with("R ends with the smallest gap f(W̄) − f*, 0.1000 ± 0.\n"), "{text}");
    assert!(outcome.figure().is_some());
    assert_eq!(outcome.to_json()[0]["runs"][0]["records"][2], json!([9, "gap", null, 0.3]));
}
