//! `rule = { preset = … }`: settings that were found by a search, with their evidence.

use residuum_lab::explain::Explanation;
use residuum_lab::plan::{Plan, Work, plans};
use residuum_lab::report::end;
use residuum_lab::spec::{Folders, RULE_PRESETS_VERSION, RulePresets, device_presets, rule_presets};
use residuum_lab::store::Store;
use residuum_lab::sweep::{Silent, SweepOptions, sweep};

/// The rules with devices.
const RULES: [&str; 10] = [
    "analog",
    "manhattan",
    "mixed_precision",
    "tiki_taka",
    "tiki_taka_2",
    "chopped_tiki_taka",
    "agad",
    "residual_learning",
    "residual_learning_2",
    "residual_cascade",
];

/// The network of the search, on a device and with a rule.
fn spec(device: &str, rule: &str) -> String {
    format!(
        "title = \"8×8 digits\"\n\
         network = {{ model = \"mlp\", hidden = [32], activation = \"tanh\" }}\n\
         data = {{ set = \"digits\" }}\n\
         readout = {{ preset = \"aihwkit\" }}\n\
         mapping = {{ output_scaling = \"tile\" }}\n\
         digital = {{ learning_rate = 0.05 }}\n\
         training = {{ epochs = 20, batch_size = 10, seeds = [0] }}\n\
         device = {{ {device} }}\n\
         rule = {{ {rule} }}\n"
    )
}

fn read(text: &str) -> Result<Vec<Plan>, String> {
    plans(text, &Folders::new("."), None, "presets").map_err(|e| e.to_string())
}

fn one(device: &str, rule: &str) -> Plan {
    read(&spec(device, rule)).unwrap().remove(0)
}

fn device(name: &str) -> String {
    let pair = if name == "pcm" { ", cell = { kind = \"one_sided\", refresh = { every = 100 } }" } else { "" };
    format!("preset = \"{name}\"{pair}")
}

#[test]
fn every_rule_has_settings_for_every_device() {
    let all = rule_presets();
    assert_eq!(all.version, RULE_PRESETS_VERSION);
    assert!(all.find("digital", None).is_some());
    for (name, _) in device_presets() {
        for rule in RULES {
            let preset = all.find(rule, Some(name)).unwrap_or_else(|| panic!("{rule} on {name}"));
            assert!((all.chance..=1.0).contains(&preset.accuracy), "{rule} on {name}: {}", preset.accuracy);
            let plan = one(&device(name), &format!("preset = {rule:?}"));
            assert_eq!(plan.work.rule(), rule);
        }
    }
}

#[test]
fn a_preset_is_its_settings_and_fields_beside_it_hold() {
    let preset = rule_presets().find("agad", Some("ecram")).unwrap();
    let fields = preset.settings();
    let fields = fields.trim_start_matches('{').trim_end_matches('}');
    let named = one(&device("ecram"), "preset = \"agad\"");
    assert_eq!(named.id(), one(&device("ecram"), &format!("kind = \"agad\", {fields}")).id());

    let changed = one(&device("ecram"), "preset = \"agad\", every = 7, chop = { rows = 0.5 }");
    let value =
        |plan: &Plan, path: &str| plan.resolved().iter().find(|r| r.path == path).unwrap().value.clone();
    assert_eq!((value(&changed, "rule.every"), value(&changed, "rule.chop.rows")), ("7".into(), "0.5".into()));
    for path in ["rule.learning_rate", "rule.transfer_rate", "rule.chop.columns"] {
        assert_eq!(value(&changed, path), value(&named, path), "{path}");
    }
    let text = Explanation::new(&[changed], std::path::Path::new("."), 1).to_text();
    let line = text.lines().find(|line| line.starts_with("preset  ")).unwrap();
    assert!(
        line.contains("agad on ecram, version") && line.ends_with("the spec has its own every, chop"),
        "{line}"
    );
}

#[test]
fn a_preset_that_does_not_exist_is_refused_with_those_that_do() {
    let refused = |device: &str, rule: &str| read(&spec(device, rule)).unwrap_err();
    let unknown = refused("preset = \"ecram\"", "preset = \"adam\"");
    assert!(unknown.starts_with("line 9: rule.preset must be one of the rules with settings"), "{unknown}");
    assert!(unknown.contains("manhattan") && unknown.ends_with("got \"adam\""), "{unknown}");
    let other = refused("response = \"soft_bounds\", states = 100", "preset = \"agad\"");
    assert!(other.contains("must have a device.preset") && other.contains("gokmen_vlasov"), "{other}");
    let mixed =
        refused("main = { preset = \"ecram\" }, residual = { preset = \"idealized\" }", "preset = \"agad\"");
    assert!(mixed.contains("one for all arrays"), "{mixed}");
    let twice = refused("preset = \"ecram\"", "preset = \"agad\", kind = \"agad\"");
    assert!(twice.contains("rule.kind must not stand beside preset"), "{twice}");
    let lacks = refused("preset = \"ecram\"", "preset = \"analog\", mixing = 0.4");
    assert!(lacks.contains("rule.mixing has no effect with kind = \"analog\""), "{lacks}");
    let problem = "steps = 10\nproblem = { kind = \"quadratic\", curvature = 1.0, minimizer = 0.5, dim = 2 }\n\
                   device = { preset = \"ecram\" }\nrule = { preset = \"agad\" }\n";
    let problem = read(problem).unwrap_err();
    assert!(problem.contains("rule.preset must stand in a spec with [network]"), "{problem}");
}

#[test]
fn presets_are_swept_like_rules_and_skip_fields_that_a_rule_lacks() {
    let grid = spec("preset = \"ecram\"", "preset = \"analog\"")
        + "[sweep]\n\"rule.preset\" = [\"analog\", \"residual_learning\"]\n\"rule.mixing\" = [0.1, 0.2]\n";
    let plans = read(&grid).unwrap();
    let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
    assert_eq!(
        names,
        ["analog-analog", "residual_learning-residual_learning-0.1", "residual_learning-residual_learning-0.2"]
    );
    for plan in &plans {
        let Work::Network(spec) = &plan.work else { panic!() };
        assert_eq!(spec.preset.as_ref().unwrap().preset.rule, spec.rule.name);
    }
}

/// Mean accuracy in the last epochs of a trial.
fn accuracy(plan: &Plan) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    sweep(std::slice::from_ref(plan), &store, &SweepOptions::new("."), &Silent).unwrap();
    let trial = residuum_lab::report::load(folder.path()).unwrap().remove(0);
    end(&trial, "test_accuracy").unwrap() / 100.0
}

#[test]
fn the_evidence_can_be_had_again() {
    let preset = rule_presets().find("mixed_precision", Some("reram_array_om")).unwrap();
    // One seed, up to the deviation between seeds and that of 355 samples.
    let samples = (preset.accuracy * (1.0 - preset.accuracy) / 355.0).sqrt();
    let tolerance = 4.9 * preset.deviation.hypot(samples);
    let again = accuracy(&one(&device("reram_array_om"), "preset = \"mixed_precision\""));
    assert!((again - preset.accuracy).abs() < tolerance, "{again} against {} ± {tolerance}", preset.accuracy);
    let twin = accuracy(&one(&device("reram_array_om"), "preset = \"mixed_precision\", learning_rate = 1e-4"));
    assert!((twin - preset.accuracy).abs() > tolerance, "{twin} against {} ± {tolerance}", preset.accuracy);
}

#[test]
fn a_file_of_presets_with_a_hole_is_refused() {
    let head = "version = 1\nevidence = \"x\"\ntrials = 5\nseeds = 3\nchance = 0.1\n";
    let row = "[ecram.agad]\nsettings = { learning_rate = 1.0 }\naccuracy = 0.5\ndeviation = 0.1\n";
    let whole = format!("{head}{row}");
    assert_eq!(RulePresets::parse(&whole).unwrap().presets.len(), 1);
    for line in whole.lines().filter(|line| !line.starts_with('[')) {
        let hole = whole.replace(&format!("{line}\n"), "");
        assert!(RulePresets::parse(&hole).is_err(), "without {line}");
    }
    // A row that was taken from another search, or measured with other seeds, says so.
    let words = |text: &str| {
        let all = RulePresets::parse(text).unwrap();
        all.words(&all.presets[0])
    };
    assert_eq!(words(&whole), "agad on ecram, version 1: 50.0 ± 10.0 % over 3 seeds on x; best of 5 trials");
    let own = words(&format!("{whole}trials = 24\nseeds = 10\n"));
    assert_eq!(own, "agad on ecram, version 1: 50.0 ± 10.0 % over 10 seeds on x; best of 24 trials");
    let wrong = RulePresets::parse(&format!("{whole}seeds = \"ten\"\n")).unwrap_err().to_string();
    assert!(wrong.contains("seeds must be a number"), "{wrong}");
}

/// What a cascade takes from the number of states learns digits by pulses of a tenth of the range. As printed, with γ = 1/states and
/// rates of transfers that no schedule scales, it does not.
#[test]
fn a_cascade_learns_with_what_it_takes_from_the_states() {
    let device = "response = \"soft_bounds\", radius = 0.6, states = 10, step_spread = 0.1, cycle_noise = 0.1";
    let cascade = |fields: &str| {
        let rule = format!("kind = \"residual_cascade\", symmetric_point = \"zero\", {fields}");
        let schedule = "batch_size = 10, schedule = { kind = \"cosine\", last = 0.02 }";
        read(&spec(device, &rule).replace("batch_size = 10", schedule)).unwrap().remove(0)
    };
    let printed = "learning_rate = 0.05, mixing = 0.1, transfer_rates = [{ constant = 1.44 }, { constant = 1.2 }, { constant = 1.0 }], \
                   periods = [50, 10, 2]";
    let own = accuracy(&cascade("residuals = 3, learning_rate = { constant = 1.0 }"));
    let printed = accuracy(&cascade(printed));
    assert!(own > 0.90 && printed < 0.80, "{own} {printed}");
}
