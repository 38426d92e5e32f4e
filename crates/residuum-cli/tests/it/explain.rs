//! `residuum check` and `residuum explain` as a user meets them.

use std::fs;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

const SPEC: &str = r#"
steps = 200
seeds = { first = 1, count = 3 }
[problem]
kind = "quadratic"
curvature = 1.0
minimizer = 0.5
dim = 10
[device]
response = "power"
shape = 1.0
[rule]
kind = "residual_learning"
learning_rate = 0.02
transfer_rate = 0.01
mixing = 0.5
[sweep]
"device.radius" = [0.6, 0.8]
"#;

fn residuum(spec: &str, arguments: &[&str]) -> Output {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("spec.toml"), spec).unwrap();
    Command::cargo_bin("residuum").unwrap().args(arguments).current_dir(folder.path()).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", out(output)))
}

#[test]
fn check_counts_trials_and_refuses_with_2() {
    let fine = residuum(SPEC, &["check", "spec.toml"]);
    assert_eq!(out(&fine), "spec.toml: 2 point(s), 6 trial(s), all valid\n");
    assert_eq!(fine.status.code(), Some(0));
    assert_eq!(json(&residuum(SPEC, &["check", "spec.toml", "--json"]))["trials"], 6);

    let cases = [
        (
            ("[0.6, 0.8]", "[0.6, -0.8]"),
            "line 18: device.radius must be positive and finite, got -0.8 (at device.radius = -0.8)",
        ),
        (("shape = 1.0", "shap = 1.0"), "line 11: device.shap is not a field; did you mean shape?"),
        (("\"power\"", "\"powr\""), "line 10: device.response must be one of constant, linear, power"),
        (
            ("mixing = 0.5", "mixing = 0.5\ncell_gain = 3"),
            "line 17: rule.cell_gain must be \"off\", \"known\" or",
        ),
    ];
    for ((from, to), expected) in cases {
        let output = residuum(&SPEC.replace(from, to), &["check", "spec.toml"]);
        let message = String::from_utf8(output.stderr.clone()).unwrap();
        assert!(message.contains(expected), "{message}");
        assert_eq!((output.status.code(), out(&output)), (Some(2), String::new()));
    }
}

#[test]
fn missing_data_is_a_warning_with_the_command_that_gets_it() {
    let output = residuum("", &["check", "mnist-fcn", "--profile", "quick", "--data", "nowhere"]);
    assert_eq!(output.status.code(), Some(0));
    let text = out(&output);
    assert!(
        text.contains(
            "warning: data set mnist is not in nowhere/mnist; get it with `residuum data fetch mnist`"
        ),
        "{text}"
    );
    let embedded = out(&residuum("", &["check", "digits", "--data", "nowhere"]));
    assert!(embedded.starts_with("digits: 3 point(s), 9 trial(s), all valid\n"), "{embedded}");
    assert!(!embedded.contains("warning"), "{embedded}");
}

#[test]
fn explain_tells_units_origins_rates_and_cost() {
    let text = out(&residuum(SPEC, &["explain", "spec.toml"]));
    let row =
        |path: &str| text.lines().find(|l| l.starts_with(path)).unwrap_or_else(|| panic!("{path}\n{text}"));
    for (path, words) in [
        ("device.radius", ["0.6 | 0.8", "weight", "swept"]),
        ("rule.transfer ", ["\"plain\"", "–", "default"]),
        ("rule.mixing", ["0.5", "–", "given"]),
        ("problem.minimizer", ["0.5", "weight", "given"]),
        ("steps", ["200", "steps", "given"]),
    ] {
        assert!(words.iter().all(|word| row(path).contains(word)), "{}", row(path));
    }
    // β·γ per step, every step.
    assert!(text.contains("device.radius = 0.6  learning 0.02 per step, transfer 0.005 per step"), "{text}");
    assert!(text.contains("theory: for K = 200"), "{text}");

    let document = json(&residuum(SPEC, &["explain", "spec.toml", "--json"]));
    assert_eq!(document["schema"], "residuum.explain/1");
    assert_eq!((&document["points"], &document["trials"]), (&Value::from(2), &Value::from(6)));
    let parameters = document["parameters"].as_array().unwrap();
    assert!(parameters.iter().all(|p| !p["meaning"].as_str().unwrap().is_empty()), "{parameters:?}");
    let cost = &document["cost"];
    let number = |name: &str| cost[name].as_f64().unwrap();
    assert!(number("step_seconds") >= 0.0 && number("trial_seconds") > 0.0, "{cost}");
    assert!((number("total_seconds") - 6.0 * number("trial_seconds")).abs() < 1e-9, "{cost}");
    // Two arrays of ten f64.
    assert_eq!(cost["bytes"]["state"], 160);
}

#[test]
fn explain_measures_a_network() {
    let document = json(&residuum("", &["explain", "digits", "--profile", "quick", "--json"]));
    let rates = document["effective_rates"].as_array().unwrap();
    // The digital variant has no tiles.
    assert_eq!(rates.len(), 2);
    assert_eq!(rates[1]["point"], "variant = Residual Learning");
    assert!((rates[1]["transfer"].as_f64().unwrap() - 0.04).abs() < 1e-12, "{rates:?}");
    assert!(document["cost"]["step_seconds"].as_f64().unwrap() > 0.0, "{}", document["cost"]);
    // 8·8·32 + 32·10 weights and 42 biases at least.
    assert!(document["cost"]["bytes"]["state"].as_u64().unwrap() >= 4 * (64 * 32 + 320 + 42));
    assert_eq!(document["missing_data"].as_array().unwrap().len(), 0);
}

/// A seed on the command line stands for those of the spec, here as in a sweep.
#[test]
fn a_seed_is_honoured() {
    assert_eq!(
        out(&residuum(SPEC, &["check", "spec.toml", "--seed", "9"])),
        "spec.toml: 2 point(s), 2 trial(s), all valid\n"
    );
    let document = json(&residuum(SPEC, &["explain", "spec.toml", "--seed", "9", "--json"]));
    assert_eq!((&document["points"], &document["trials"]), (&Value::from(2), &Value::from(2)));
    let seeds: Vec<&Value> = document["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|p| p["field"].as_str().unwrap().starts_with("seeds"))
        .collect();
    assert_eq!(seeds.len(), 1);
    assert_eq!(seeds[0]["values"], serde_json::json!(["[9]"]));
}

/// Editors are given what the reader knows.
#[test]
fn the_schema_is_one_and_names_the_fields() {
    let schema = json(&residuum("", &["schema"]));
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let text = schema.to_string();
    for field in ["\"symmetric_point\"", "\"learning_rate\"", "\"minimizer\"", "\"variant\""] {
        assert!(text.contains(field), "{field}");
    }
}
