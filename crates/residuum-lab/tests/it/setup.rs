//! Rules and arrays from the words of a spec alone, and trials that come from another machine.

use std::path::Path;

use residuum::{Gradient, Key, Rates};
use residuum_lab::plan::plans;
use residuum_lab::spec::{ArraySetup, Document, Folders, Setup, Spec, SpecKind};
use residuum_lab::store::{Store, TrialState};
use residuum_lab::sweep::{Silent, SweepOptions, sweep};
use serde_json::{Value, json};

fn setup(value: &Value, kind: SpecKind) -> Result<Setup, String> {
    let document = Document::from_value(value).map_err(|e| e.to_string())?;
    Setup::of(&document, kind, Path::new(".")).map_err(|e| e.to_string())
}

/// The rule of a problem is that of the same words without it, to the bit.
#[test]
fn a_rule_without_a_problem_is_that_of_a_problem() {
    let rule =
        json!({ "kind": "residual_learning", "learning_rate": 0.02, "transfer_rate": 0.1, "mixing": 0.3 });
    let device = json!({ "response": "power", "shape": { "kind": "normal", "mean": 1.0, "deviation": 0.1 }, "radius": 1.0 });
    let spec = json!({
        "steps": 1, "problem": { "kind": "quadratic", "curvature": 1.0, "minimizer": [0.1, 0.2, 0.3] },
        "rule": rule, "device": device, "initial": { "main": [0.5, -0.25, 0.125] },
    });
    let rule = {
        let mut rule = rule;
        rule["symmetric_point"] = "known".into();
        rule
    };
    let spec = {
        let mut spec = spec;
        spec["rule"] = rule.clone();
        spec
    };
    let spec = Spec::of(&Document::from_value(&spec).unwrap(), Path::new(".")).unwrap();
    let mut theirs = spec.build_rule(7).unwrap();
    let alone = setup(&json!({ "rule": rule, "device": device }), SpecKind::Problem).unwrap();
    let weights = [0.5, -0.25, 0.125];
    let mut ours = alone.rule_f64([3, 1], &weights, Key::new(7).named("rule")).unwrap();
    assert!(!alone.is_single() && alone.has_learning_rate && alone.has_transfer_rate);
    for k in 0..20u32 {
        let gradient = [0.3, -0.2, f64::from(k) * 0.01];
        let rates = Rates::new(0.02, 0.1);
        for rule in [&mut theirs, &mut ours] {
            rule.step(Gradient::Dense(&gradient), &rates, Key::new(k.into())).unwrap();
        }
        assert_eq!(theirs.effective_weights(), ours.effective_weights());
    }
}

#[test]
fn rates_may_be_left_to_the_steps_and_faults_name_their_field() {
    let device = json!({ "preset": "reram_sb" });
    let tiki = setup(&json!({ "rule": { "kind": "tiki_taka" }, "device": device }), SpecKind::Network).unwrap();
    assert!(tiki.is_single() && !tiki.has_learning_rate && !tiki.has_transfer_rate);
    assert!(tiki.rule_f32([2, 3], &[0.0; 6], Key::new(1)).is_ok());
    assert!(tiki.rule_f64([2, 3], &[0.0; 6], Key::new(1)).is_err());
    for (value, sentence) in [
        (json!({ "rule": { "kind": "analgo" }, "device": device }), "analog"),
        (json!({ "rule": { "kind": "analog" } }), "device is missing"),
        (json!({ "device": device }), "rule is missing"),
        (
            json!({ "rule": { "kind": "analog" }, "device": { "preset": "reram_bs" } }),
            "device.preset must be one of",
        ),
        (json!({ "rule": { "kind": "analog" }, "device": device, "problem": {} }), "problem"),
        (json!({ "rule": { "kind": "residual_learning", "rates": "lemma" }, "device": device }), "rule.rates"),
    ] {
        let said = setup(&value, SpecKind::Network).unwrap_err();
        assert!(said.contains(sentence) && !said.contains("line"), "{said}");
    }
}

#[test]
fn measured_points_stand_in_the_spec_itself() {
    let array = |value: &Value| {
        let document = Document::from_value(value).map_err(|e| e.to_string())?;
        ArraySetup::of(&document, SpecKind::Problem, Path::new(".")).map_err(|e| e.to_string())
    };
    let points = json!([[-1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 2.0]]);
    let table = array(&json!({ "device": { "response": "table", "points": points } })).unwrap();
    let response = table.device.representative().unwrap();
    assert_eq!((response.q_plus(0.0), response.q_minus(0.0)), (1.0, 1.0));
    assert_eq!(table.array_f64([3, 1], &[0.1, 0.0, -0.5], Key::new(0)).unwrap().weights(), [0.1, 0.0, -0.5]);
    let outside = table.array_f64([1, 1], &[1.5], Key::new(0)).unwrap_err().to_string();
    assert!(outside.contains("weights must be inside the dynamic range"), "{outside}");
    for (device, sentence) in [
        (json!({ "response": "table" }), "device.csv is missing"),
        (
            json!({ "response": "table", "csv": "x", "points": points }),
            "device.points must not stand beside csv",
        ),
        (json!({ "response": "table", "points": [[0.0, 1.0], [1.0, 1.0]] }), "device.points"),
        (json!({ "response": "table", "points": [[1.0, 1.0, 1.0], [0.0, 1.0, 1.0]] }), "device.points: "),
    ] {
        let said = array(&json!({ "device": device })).unwrap_err();
        assert!(said.contains(sentence), "{said}");
    }
    // The numbers decide the id of a trial.
    let id = |last: f64| {
        let text = format!(
            "steps = 1\nproblem = {{ kind = \"quadratic\", curvature = 1.0, minimizer = 0.5 }}\n\
             rule = {{ kind = \"analog\", learning_rate = 0.1 }}\n\
             device = {{ response = \"table\", points = [[-1, 2, 0], [1, 0, {last}]] }}"
        );
        plans(&text, &Folders::new("."), None, "x").unwrap()[0].id()
    };
    assert_ne!(id(2.0), id(2.5));
    assert_eq!(id(2.0), id(2.0));
}

const SPEC: &str = r#"
steps = 400
seeds = [1, 2]
problem = { kind = "quadratic", curvature = 1.0, minimizer = 0.5 }
noise = { kind = "gaussian", deviation = 0.5 }
device = { response = "power", shape = 1.0, radius = 1.0 }
rule = { kind = "analog", learning_rate = 0.02 }
record = { metrics = ["gap"], every = 100 }
"#;

#[test]
fn a_trial_of_another_store_is_adopted_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (there, here) = (folder.path().join("there"), folder.path().join("here"));
    let (there, here) = (Store::create(there).unwrap(), Store::create(here).unwrap());
    let plans = plans(SPEC, &Folders::new("."), None, "far").unwrap();
    sweep(&plans, &there, &SweepOptions::new("."), &Silent).unwrap();
    let ids: Vec<String> = plans.iter().map(|plan| plan.id()).collect();
    let files = there.files(&ids[0]).unwrap();
    // Part of a trial is a trial that was begun.
    let part: Vec<_> = files.iter().filter(|(place, _)| place != "records.csv").cloned().collect();
    assert_eq!(here.adopt(&ids[0], &part).unwrap(), TrialState::Begun);
    assert_eq!(here.adopt(&ids[0], &files).unwrap(), TrialState::Done);
    assert_eq!(here.files(&ids[0]).unwrap(), files);
    assert_eq!(here.adopt(&ids[0], &[]).unwrap(), TrialState::Done);
    // Nothing is written outside, and the other trial is still to be run.
    for place in ["../x", "a/../../x", ".lock", "/x", ""] {
        assert!(here.adopt(&ids[1], &[(place.into(), Vec::new())]).is_err(), "{place}");
    }
    let summary = sweep(&plans, &here, &SweepOptions::new("."), &Silent).unwrap();
    assert_eq!((summary.already, summary.done), (1, 1));
    assert_eq!(here.records(&ids[1]).unwrap(), there.records(&ids[1]).unwrap());
}
