//! One `[device]` and one `[rule]`: every rule on exact arrays and on tiles, for a problem and for a network; what has no effect is
//! an error with a sentence.

use std::path::Path;

use residuum_lab::explain::Explanation;
use residuum_lab::plan::plans;
use residuum_lab::progress::Silent;
use residuum_lab::run::run;
use residuum_lab::spec::{Document, Experiment, Folders, Spec};
use residuum_lab::train::{NetworkTrial, WeightsFrom};
use residuum_nn::{Loss, Tensor};

const EXACT: &str = "device = { array = \"exact\", response = \"soft_bounds\", radius_plus = 1.0, radius_minus = 0.8, gain_plus = 1.1 }";
const PULSED: &str =
    "device = { array = \"exact\", response = \"power\", shape = 1.0, pulses = { pulse_step = 1e-3 } }";
const TILE: &str =
    "device = { array = \"tile\", response = \"power\", shape = 1.0, states = 1200, imbalance_spread = 0.01 }";

/// Devices that both kinds of specs can name.
const DEVICES: [&str; 12] = [
    EXACT,
    PULSED,
    TILE,
    "device = { array = \"tile\", preset = \"reram_es\" }",
    "device = { array = \"exact\", preset = \"ecram\" }",
    "device = { array = \"exact\", response = \"s_curve\", skew = { kind = \"uniform\", lo = 0.1, hi = 0.3 } }",
    "device = { array = \"exact\", response = \"mixture\", parts = [{ fraction = 0.5, response = \"power\", shape = 1.0 }, { fraction = 0.5, response = \"power\", shape = 2.0 }] }",
    "device = { array = \"tile\", response = \"s_curve\", states = 1200 }",
    "device = { array = \"tile\", response = \"tanh\", slope = 0.5, range = [-1, 1], states = 1200 }",
    "device = { array = \"tile\", response = \"soft_bounds\", states = 1200, cell = { kind = \"vector\", tiles = 3, policy = \"sequential\" } }",
    "device = { array = \"tile\", response = \"soft_bounds\", states = 1200, cell = { kind = \"reference\" } }",
    "device = { array = \"tile\", response = \"soft_bounds\", bounds = [0, 1], states = 600, cell = { kind = \"one_sided\", refresh = { every = 50 } } }",
];

/// Every rule, and what every rule can be told.
const RULES: [&str; 27] = [
    "kind = \"analog\"",
    "kind = \"analog\", source = \"momentum\"",
    "kind = \"analog\", source = \"adam\"",
    "kind = \"analog\", source = \"adamw\", weight_decay = 0.1",
    "kind = \"tiki_taka\", transfer_rate = 0.1",
    "kind = \"tiki_taka\", transfer_rate = 0.1, mixing = 0.2, transfer = \"compensated\"",
    "kind = \"tiki_taka_2\", transfer_rate = 0.1, buffer = { max_pulses = 5 }",
    "kind = \"chopped_tiki_taka\", transfer_rate = 0.1",
    "kind = \"agad\", transfer_rate = 0.1",
    "kind = \"mixed_precision\"",
    "kind = \"residual_learning\", transfer_rate = 0.1, mixing = 0.4, symmetric_point = \"zero\"",
    "kind = \"residual_learning\", transfer_rate = 0.1, mixing = 0.4, symmetric_point = \"known\", source = \"adam\"",
    "kind = \"residual_learning\", transfer_rate = 0.1, mixing = 0.4, symmetric_point = 0.05, transfer = \"compensated\"",
    "kind = \"residual_learning\", transfer_rate = 0.1, mixing = 0.4, symmetric_point = { error = 0.01 }, cell_gain = \"known\"",
    "kind = \"residual_learning\", transfer_rate = 0.1, mixing = 0.4, symmetric_point = { zero_shift = { pairs = 20 } }",
    "kind = \"residual_learning_2\", transfer_rate = 0.1, mixing = 0.4, symmetric_point = \"zero\"",
    "kind = \"residual_cascade\", transfer_rate = 0.1, mixing = 0.4, symmetric_point = \"known\"",
    "kind = \"residual_cascade\", transfer_rates = [0.1, 0.05, 0.02], mixing = 0.4, symmetric_point = \"zero\"",
    "kind = \"manhattan\"",
    "kind = \"manhattan\", threshold = 0.01",
    "kind = \"mixed_precision\", source = \"adamw\", weight_decay = 0.1",
    "kind = \"mixed_precision\", source = \"momentum\", momentum = 0.5",
    "kind = \"residual_learning\", transfer_rate = 0.1, mixing = 0.4, symmetric_point = { track = { rate = 0.1 } }",
    "kind = \"residual_learning\", transfer_rate = 0.1, mixing = 0.4, columns = 2, symmetric_point = { track = { rate = 0.1, chopper = 0.2 }, start = 0.02 }",
    "kind = \"residual_learning_2\", transfer_rate = 0.1, mixing = 0.4, symmetric_point = { track = { rate = 0.1, chopper = 0.0 }, error = 0.01 }",
    "kind = \"residual_learning\", transfer_rate = 0.1, mixing = 0.4, symmetric_point = { track = { rate = 0.1 }, pairs = 20 }",
    "kind = \"residual_cascade\", transfer_rates = [0.1, 0.05], periods = [4, 2], mixing = 0.4, symmetric_point = \"zero\", warm_start = { epoch = 10 }",
];

/// The Manhattan rule has no learning rate.
fn rated(rule: &str) -> String {
    if rule.contains("manhattan") { rule.into() } else { format!("learning_rate = 0.02, {rule}") }
}

fn problem(device: &str, rule: &str) -> String {
    format!(
        "steps = 30\n{device}\nrule = {{ {} }}\n\
         problem = {{ kind = \"quadratic\", curvature = 1.0, minimizer = 0.3, dim = 7 }}\n\
         noise = {{ kind = \"gaussian\", deviation = 0.2 }}\nrecord = {{ metrics = [\"gap\", \"main\"] }}\n",
        rated(rule)
    )
}

fn network(device: &str, rule: &str) -> String {
    // A network has its own epochs.
    let rule = &rule.replace("{ epoch = 10 }", "{}");
    format!(
        "{device}\nrule = {{ {} }}\nnetwork = {{ model = \"mlp\", hidden = [4] }}\n\
         data = {{ set = \"digits\", train_per_class = 2, test_per_class = 1 }}\ntraining = {{ epochs = 1, batch_size = 5 }}\n\
         digital = {{ learning_rate = 0.02 }}\n",
        rated(rule)
    )
}

/// What the unit cells cannot say of themselves, and what some cells of a varied preset do not have.
fn is_possible(device: &str, rule: &str) -> bool {
    if device.contains("reram_es") && (rule.contains("known") || rule.contains("error")) {
        return false;
    }
    let cell = device.contains("cell =");
    !(cell
        && (rule.contains("known")
            || rule.contains("error")
            || rule.contains("zero_shift")
            || rule.contains("pairs")
            || rule.contains("compensated")))
}

#[test]
fn every_rule_minimises_on_every_array() {
    let mut wrong = Vec::new();
    for device in DEVICES {
        for rule in RULES.into_iter().filter(|rule| is_possible(device, rule)) {
            let outcome = Spec::parse(&problem(device, rule), Path::new("."))
                .map_err(|e| e.to_string())
                .and_then(|spec| run(&spec, &Silent).map_err(|e| e.to_string()));
            match outcome {
                Ok(trials)
                    if trials.iter().flat_map(|(_, rows)| rows).any(|r| r.step == 30 && r.value != 0.0) => {}
                Ok(_) => wrong.push(format!("{device} {rule}: nothing moved")),
                Err(e) => wrong.push(format!("{device} {rule}: {e}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_trains_on_every_array() {
    let mut wrong = Vec::new();
    for device in DEVICES {
        for rule in RULES.into_iter().filter(|rule| is_possible(device, rule)) {
            let spec = match Experiment::parse(&network(device, rule), Path::new("."), None) {
                Ok(mut experiment) => experiment.trials.remove(0),
                Err(e) => {
                    wrong.push(format!("{device} {rule}: {e}"));
                    continue;
                }
            };
            let mut trial = NetworkTrial::prepare(&spec, 1, Path::new("."), WeightsFrom::Spec).unwrap();
            let shape = trial.parts.network.input_shape();
            let pixels = (0..5 * shape.len()).map(|i| (i % 7) as f32 / 7.0).collect();
            let (images, labels) = (Tensor::from_values(shape, pixels), [0, 1, 2, 3, 4]);
            let loss = Loss::CrossEntropy { smoothing: 0.0 };
            for k in 0..3 {
                let step = trial.parts.network.train_step(&images, &labels, loss, k, trial.key);
                if let Err(e) = step {
                    wrong.push(format!("{device} {rule}: {e}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_manhattan_rule_learns_digits() {
    let rule = RULES[18];
    for device in [EXACT, TILE] {
        let spec = Experiment::parse(&network(device, rule), Path::new("."), None).unwrap().trials.remove(0);
        let mut trial = NetworkTrial::prepare(&spec, 1, Path::new("."), WeightsFrom::Spec).unwrap();
        let shape = trial.parts.network.input_shape();
        let pixels = (0..5 * shape.len()).map(|i| ((i * i) % 11) as f32 / 11.0).collect();
        let (images, labels) = (Tensor::from_values(shape, pixels), [0, 1, 2, 3, 4]);
        let loss = Loss::CrossEntropy { smoothing: 0.0 };
        let mut losses = Vec::new();
        for k in 0..150 {
            let outcome = trial.parts.network.train_step(&images, &labels, loss, k, trial.key).unwrap();
            losses.push(outcome.loss);
        }
        assert!(losses[149] < 0.8 * losses[0], "{device}: {} to {}", losses[0], losses[149]);
    }
    let message = |text: String| Experiment::parse(&text, Path::new("."), None).unwrap_err().to_string();
    let without = network(TILE, rule).replace("digital = { learning_rate = 0.02 }\n", "");
    assert!(
        message(without).contains("digital.learning_rate is missing: kind = \"manhattan\" has none to share")
    );
    let with = network(TILE, "kind = \"manhattan\", learning_rate = 0.1");
    assert!(message(with).contains("rule.learning_rate has no effect with kind = \"manhattan\": it is of"));
    let spec = Spec::parse(&problem(PULSED, rule), Path::new(".")).unwrap();
    assert_eq!(spec.build_rule(1).unwrap().effective_rates(&spec.rates().at(0), 1).learning, 1e-3);
}

#[test]
fn what_has_no_effect_is_an_error_with_a_sentence() {
    let message = |text: String| Spec::parse(&text, Path::new(".")).unwrap_err().to_string();
    for (device, rule, expected) in [
        (
            "device = { response = \"power\", shape = 1.0, step_spread = 0.3 }",
            RULES[0],
            "device.step_spread has no effect with array = \"exact\": say array = \"tile\", or vary a parameter by a distribution",
        ),
        (
            "device = { array = \"tile\", response = \"power\", shape = 1.0, states = 100, pulses = { pulse_step = 1 } }",
            RULES[0],
            "device.pulses has no effect with array = \"tile\": say array = \"exact\"",
        ),
        (
            "device = { array = \"tile\", response = \"power\", shape = 1.0, states = 100, radius = { kind = \"normal\", mean = 1, deviation = 0.1 } }",
            RULES[0],
            "device.radius must be a number with array = \"tile\", whose cells differ by spreads",
        ),
        (TILE, "kind = \"analog\", mixing = 0.4", "rule.mixing has no effect with kind = \"analog\""),
        (
            TILE,
            "kind = \"analog\", epsilon = 1e-8",
            "rule.epsilon has no effect with source = \"sgd\": it is of adam, adamw",
        ),
        (
            EXACT,
            "kind = \"residual_learning\", transfer_rate = 0.1, mixing = 0.4",
            "rule.symmetric_point must be given, since not every cell",
        ),
        (
            TILE,
            "kind = \"residual_learning\", transfer_rate = 0.1, mixing = 0.4, symmetric_point = { zero_shift = { pairs = 9, pulse_step = 0.1 } }",
            "rule.symmetric_point: pulse_step must be left out for tiles, whose devices have their own, got 0.1",
        ),
        (
            "device = { response = \"power\", shape = 1.0, preset = \"ecram\" }",
            RULES[0],
            "device.response, preset and aihwkit exclude each other: give one of them",
        ),
    ] {
        let message = message(problem(device, rule));
        assert!(message.contains(expected) && message.starts_with("line "), "{message}");
    }
}

const CASCADE: &str = "kind = \"residual_cascade\", residuals = 3, symmetric_point = \"zero\"";

/// Rates and periods of a cascade follow the number of states where nothing else is said.
#[test]
fn a_cascade_follows_the_number_of_states() {
    let resolved = |device: &str| {
        let spec = Spec::parse(&problem(device, CASCADE), Path::new(".")).unwrap();
        let value = |path: &str| {
            let found = spec.resolved.iter().find(|r| r.path == path);
            found.unwrap_or_else(|| panic!("{path}")).value.clone()
        };
        ["rule.mixing", "rule.periods", "rule.transfer_rates"].map(value)
    };
    let tile = |states: &str| format!("device = {{ array = \"tile\", response = \"soft_bounds\", {states} }}");
    let ten = ["0.408", "[50, 10, 2]", "[0.288, 0.24, 0.2]"];
    assert_eq!(resolved(&tile("states = 10")), ten);
    assert_eq!(resolved(&tile("pulse_step = 0.2")), ten, "a range of 2 in steps of 0.2");
    assert_eq!(resolved(&tile("states = 4"))[1..], ["[8, 4, 2]", "[0.1152, 0.096, 0.08]"]);
    assert!(resolved(&tile("states = 40"))[2].ends_with(" 0.35]"), "a largest rate");
    let pulsed =
        "device = { array = \"exact\", response = \"power\", shape = 1.0, pulses = { pulse_step = 0.2 } }";
    assert_eq!(resolved(pulsed), ten);
}

/// What cannot be is told in the words of the spec.
#[test]
fn impossible_settings_of_the_later_rules_are_named() {
    let of =
        |device: &str, rule: &str| Spec::parse(&problem(device, rule), Path::new(".")).unwrap_err().to_string();
    let tile = |states: &str| {
        format!("device = {{ array = \"tile\", response = \"soft_bounds\", states = {states} }}")
    };
    let residual = |point: &str| {
        format!("kind = \"residual_learning\", transfer_rate = 0.1, mixing = 0.4, symmetric_point = {point}")
    };
    for (message, expected) in [
        (of(&tile("0"), CASCADE), "device.states must be positive and finite, got 0"),
        (of(&tile("1"), CASCADE), "device.states must be at least 2 for a cascade"),
        (of(EXACT, CASCADE), "rule.transfer_rate is missing, and this device has no states to choose it by"),
        (
            of(TILE, &residual("{ track = { rate = 1.5 } }")),
            "rule.symmetric_point.track.rate must be between 0 and 1, got 1.5",
        ),
        (of(TILE, &residual("{ track = { chopper = 0.5 } }")), "rule.symmetric_point.track.rate is missing"),
        (of(TILE, &residual("{ start = 0.5 }")), "rule.symmetric_point must be"),
        (
            of(
                TILE,
                "kind = \"residual_cascade\", transfer_rate = 0.1, mixing = 0.4, symmetric_point = { track = { rate = 0.1 } }",
            ),
            "residual arrays must be 1 where the symmetric point is tracked",
        ),
        (
            of(
                TILE,
                "kind = \"residual_cascade\", transfer_rate = 0.1, mixing = 0.4, symmetric_point = \"zero\", periods = [3]",
            ),
            "rule.periods must have one entry for each of the 2 residual arrays, got 1",
        ),
        (
            of(
                TILE,
                "kind = \"residual_cascade\", transfer_rate = 0.1, mixing = 0.4, symmetric_point = \"zero\", warm_start = {}",
            ),
            "rule.warm_start.epoch is missing: a problem has no epochs of its own",
        ),
        (
            of(
                TILE,
                "kind = \"residual_cascade\", transfer_rate = 0.1, mixing = 0.4, symmetric_point = \"zero\", warm_start = { epoch = 5, slow = 9 }",
            ),
            "slow must be between 1 and window, got 9",
        ),
        (
            of(TILE, "kind = \"agad\", transfer_rate = 0.1, source = \"adam\""),
            "rule.source has no effect with kind = \"agad\"",
        ),
    ] {
        assert!(message.contains(expected), "{message}\nexpected {expected}");
    }
    let message = |text: String| Experiment::parse(&text, Path::new("."), None).unwrap_err().to_string();
    for rule in ["agad", "chopped_tiki_taka"] {
        let rule = format!("kind = \"{rule}\", transfer_rate = 0.1, columns = 2");
        let found = message(network(TILE, &rule));
        assert!(
            found.contains("rule.columns must be 1 with choppers of columns") && found.ends_with("got 2"),
            "{found}"
        );
        let found = message(network(TILE, &rule.replace("columns = 2", "columns = \"all\"")));
        assert!(found.ends_with("got \"all\""), "{found}");
    }
    let mapped = |mapping: &str| message(network(TILE, RULES[0]) + mapping);
    assert!(
        mapped("mapping = { by_width = true }\n").contains("mapping.omega is missing: by_width scales by it")
    );
    let columnwise = mapped("mapping = { by_width = true, omega = 1, columnwise = true }\n");
    assert!(columnwise.contains("mapping.columnwise must not stand beside by_width"), "{columnwise}");
}

#[test]
fn rates_are_numbers_or_schedules_in_both() {
    let rates = [
        "learning_rate = { constant = 0.02 }",
        "learning_rate = { kind = \"cosine\", initial = 0.1, steps = 10 }",
        "learning_rate = { kind = \"inverse\", initial = 0.1, half_life = 10 }",
    ];
    for rate in rates {
        let change = |text: String| text.replace("learning_rate = 0.02", rate);
        Spec::parse(&change(problem(TILE, RULES[4])), Path::new(".")).unwrap();
        Experiment::parse(&change(network(EXACT, RULES[4])), Path::new("."), None).unwrap();
    }
}

#[test]
fn a_value_tree_is_a_spec() {
    let text = problem(TILE, RULES[10]);
    let tree: serde_json::Value = toml::from_str(&text).unwrap();
    let (from_text, from_tree) = (
        Spec::parse(&text, Path::new(".")).unwrap(),
        Spec::of(&Document::from_value(&tree).unwrap(), Path::new(".")).unwrap(),
    );
    let sorted = |spec: &Spec| {
        let mut list: Vec<String> = spec.resolved.iter().map(|r| format!("{} {}", r.path, r.value)).collect();
        list.sort();
        list
    };
    assert_eq!(sorted(&from_text), sorted(&from_tree));
    let mut wrong = tree;
    wrong["rule"]["mixng"] = serde_json::json!(1);
    let message = Spec::of(&Document::from_value(&wrong).unwrap(), Path::new(".")).unwrap_err().to_string();
    assert_eq!(message, "rule.mixng is not a field; did you mean mixing?");
}

/// Rates of a network know the mini-batch and how wide its tiles are.
#[test]
fn effective_rates_count_samples_and_columns() {
    let rule = "kind = \"tiki_taka\", transfer_rate = 0.1, every = { samples = 1 }";
    let explained = |text: &str| {
        let plans = plans(text, &Folders::new("."), None, "x").unwrap();
        Explanation::new(&plans, Path::new("."), 1).rates
    };
    // 64 pixels and 4 hidden units, 5 samples a step, one column a sample.
    let rates = explained(&network(TILE, rule));
    let found: Vec<_> =
        rates.iter().map(|r| (r.columns.unwrap(), r.rates.transfer.unwrap(), r.rates.sweep)).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].0 < found[1].0 && (4..=5).contains(&found[0].0) && (64..=65).contains(&found[1].0),
        "{found:?}"
    );
    for (columns, transfer, sweep) in found {
        assert!((transfer - 0.1 * 5.0 / columns as f64).abs() < 1e-12, "{columns}: {transfer}");
        assert_eq!(sweep, (columns as u64).div_ceil(5));
    }
    let narrow = network(TILE, rule) + "mapping = { max_cols = 16 }\n";
    assert!(explained(&narrow).iter().all(|r| r.columns.unwrap() <= 17));
}

#[test]
fn weights_that_are_not_numbers_are_refused_when_the_spec_is_read() {
    use residuum::state::{SavedTensor, Tensors};
    let folder = tempfile::tempdir().unwrap();
    let text = network(TILE, RULES[0]).replace("hidden = [4] }", "hidden = [4], weights = \"w.safetensors\" }");
    let read = || plans(&text, &Folders::new(folder.path()), None, "x").map(|_| ()).map_err(|e| e.to_string());
    assert_eq!(read(), Ok(()), "a file that is not there yet is told when it is needed");
    let file = Tensors::from([("1.weight".to_owned(), SavedTensor::f32(&[2], vec![0.5, f32::NAN]))]);
    residuum_nn::state::write_safetensors(&folder.path().join("w.safetensors"), &file).unwrap();
    let message = read().unwrap_err();
    assert!(
        message.starts_with("line 3: network.weights: ")
            && message.ends_with("1.weight[1] must be finite, got NaN"),
        "{message}"
    );
}
