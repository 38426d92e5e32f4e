//! Nothing silently wrong: what a spec says and the program could not do is refused while the spec is read, and a run that no
//! longer means anything ends with a sentence.

use std::path::Path;
use std::time::{Duration, Instant};

use residuum_lab::plan::plans;
use residuum_lab::progress::Silent;
use residuum_lab::run::run;
use residuum_lab::spec::{Experiment, Folders, Spec};
use residuum_lab::store::{Row, Store};
use residuum_lab::sweep::sweep;

use super::sweep_common::{Spy, options};

const NETWORK: &str = r#"
[network]
model = "mlp"
hidden = [12]
[data]
set = "digits"
[device]
response = "power"
shape = 1.0
radius = 0.6
states = 1200
[rule]
kind = "analog"
learning_rate = 0.1
[training]
epochs = 1
batch_size = 10
"#;

const PROBLEM: &str = r#"
steps = 200
[problem]
kind = "quadratic"
curvature = 1.0
minimizer = 0.5
[device]
response = "power"
shape = 1.0
[rule]
kind = "analog"
learning_rate = 0.1
"#;

/// A spec with pieces replaced.
fn with(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text.to_string(), |text, (piece, by)| {
        assert!(text.contains(piece), "{piece:?}");
        text.replacen(piece, by, 1)
    })
}

/// What the reader says, and that it says it at once.
fn said(text: &str) -> String {
    let start = Instant::now();
    let message = match plans(text, &Folders::new("."), None, "spec") {
        Ok(_) => "accepted".to_string(),
        Err(error) => error.to_string(),
    };
    assert!(start.elapsed() < Duration::from_secs(20), "{message} after {:?}", start.elapsed());
    message
}

fn refused(text: &str, changes: &[(&str, &str)], expected: &str) {
    assert_eq!(said(text), "accepted");
    let message = said(&with(text, changes));
    assert!(message.contains(expected), "{changes:?}\n  expected {expected}\n  got      {message}");
}

#[test]
fn names_of_layers_that_the_model_does_not_have_are_refused() {
    for analog in ["fc9", "1, fc9", "layer4.*"] {
        refused(
            NETWORK,
            &[("hidden = [12]", &format!("hidden = [12]\nanalog = {analog:?}"))],
            &format!(
                "network.analog must name layers of this model, got {:?}: the layers are 1, 3",
                analog.trim_start_matches("1, ")
            ),
        );
    }
    refused(
        NETWORK,
        &[("hidden = [12]", "frozen = \"fc9\"")],
        "network.frozen must name layers of this model, got \"fc9\": the layers are 1, 3",
    );
    // Many layers are not all listed.
    let resnet =
        with(NETWORK, &[("model = \"mlp\"\nhidden = [12]", "model = \"resnet18\""), ("digits", "cifar10")]);
    refused(
        &resnet,
        &[("\"resnet18\"", "\"resnet18\"\nanalog = \"layer1.0.conv3\"")],
        "…, fc; the nearest name is layer1.0.conv",
    );
    // What exists is taken, and normalisations can be frozen though they are not on tiles.
    assert_eq!(said(&with(NETWORK, &[("hidden = [12]", "analog = \"1\"\nfrozen = \"3\"")])), "accepted");
    assert_eq!(
        said(&with(&resnet, &[("\"resnet18\"", "\"resnet18\"\nfrozen = \"bn1, layer*.bn2\"")])),
        "accepted"
    );
    // A rule name without layers, whatever it is called.
    refused(&resnet, &[("\"resnet18\"", "\"resnet18\"\nanalog = \"bn1\"")], "network.analog must name layers");
}

/// 1e308 J for a byte made the energy of an epoch infinite, and 40 for 40 ns made a figure of hours.
#[test]
fn costs_of_an_operation_in_the_wrong_unit_are_refused() {
    for (field, value) in [("byte_energy", "1e308"), ("read_time", "40.0")] {
        refused(
            NETWORK,
            &[("[device]", &format!("[hardware]\n{field} = {value}\n[device]"))],
            &format!("hardware.{field} must be between 0 and 1, in seconds or joules (40 ns are 40e-9), got "),
        );
    }
}

#[test]
fn an_analog_rule_without_a_layer_is_refused() {
    refused(
        NETWORK,
        &[("hidden = [12]", "analog = \"none\"")],
        "network.analog = \"none\" leaves an analog rule nothing",
    );
    assert_eq!(
        said(&with(
            NETWORK,
            &[("hidden = [12]", "analog = \"none\""), ("\"analog\"\nlearning", "\"digital\"\nlearning")]
        )),
        "accepted"
    );
}

#[test]
fn cells_of_one_sign_are_refused_where_weights_have_both() {
    let device = "response = \"power\"\nshape = 1.0\nradius = 0.6\nstates = 1200";
    let cure = "pair its cells: cell = { kind = \"one_sided\" }";
    refused(
        NETWORK,
        &[(device, "preset = \"pcm\"")],
        "device holds weights from 0 to 2, but those of a network have both signs",
    );
    refused(NETWORK, &[(device, "preset = \"pcm\"")], cure);
    refused(
        NETWORK,
        &[(device, "response = \"soft_bounds\"\nbounds = [0.0, 1.0]\nstates = 100")],
        "device holds weights from 0 to 1",
    );
    refused(NETWORK, &[(device, "preset = \"pcm\"\ncell = { kind = \"vector\" }")], cure);
    for paired in [
        "preset = \"pcm\"\ncell = { kind = \"one_sided\" }",
        "preset = \"pcm\"\ncell = { kind = \"vector\", tiles = 2, gains = [1.0, -1.0] }",
        "preset = \"pcm\"\nreference = { mean = 1.0 }",
    ] {
        assert_eq!(said(&with(NETWORK, &[(device, paired)])), "accepted", "{paired}");
    }
    // A problem may stay on one side.
    let pcm = with(PROBLEM, &[("response = \"power\"\nshape = 1.0", "array = \"tile\"\npreset = \"pcm\"")]);
    refused(
        &pcm,
        &[("minimizer = 0.5", "minimizer = -0.5")],
        "device holds weights from 0 to 2, but the minimizer has -0.5",
    );
    let two = "residual_learning\"\ntransfer_rate = 0.1\nmixing = 1.0\nsymmetric_point = ";
    refused(
        &pcm,
        &[("analog\"", &format!("{two}\"zero\""))],
        "those of a residual array around 0 have both signs",
    );
    assert_eq!(said(&with(&pcm, &[("analog\"", &format!("{two}0.7"))])), "accepted");
}

#[test]
fn a_step_of_more_images_than_there_are_is_refused() {
    refused(
        NETWORK,
        &[("batch_size = 10", "batch_size = 2000")],
        "training.batch_size must be at most the 1442 training images, got 2000",
    );
    refused(
        NETWORK,
        &[("batch_size = 10", "batch_size = 31"), ("\"digits\"", "\"digits\"\ntrain_per_class = 3")],
        "training.batch_size must be at most the 30 training images, got 31",
    );
    refused(
        NETWORK,
        &[("batch_size = 10", "batch_size = 800"), ("\"digits\"", "\"digits\"\nhalf = \"first\"")],
        "training.batch_size must be at most the 7",
    );
    refused(NETWORK, &[("\"digits\"", "\"digits\"\ntrain_per_class = 5000")], "data: ");
    let mnist = with(NETWORK, &[("\"digits\"", "\"mnist\"")]);
    refused(
        &mnist,
        &[("batch_size = 10", "batch_size = 60001")],
        "at most the 60000 training images, got 60001",
    );
    assert_eq!(said(&with(NETWORK, &[("batch_size = 10", "batch_size = 1442")])), "accepted");
}

#[test]
fn images_that_a_model_cannot_take_are_refused() {
    refused(
        NETWORK,
        &[("model = \"mlp\"\nhidden = [12]", "model = \"fcn\"")],
        "network.model must fit data.set: it takes images of 28×28×1 and 10 classes, got 8×8×1 and 10",
    );
}

#[test]
fn what_would_fill_the_memory_or_take_for_ever_is_refused_at_once() {
    refused(
        NETWORK,
        &[("[12]", "[1000000000000]")],
        "network: layer 1: 1000000000000 × 64 weights: a network must have at most 1000000000",
    );
    refused(NETWORK, &[("[12]", "[30000, 40000, 30000]")], "a network must have at most 1000000000");
    refused(
        NETWORK,
        &[("\"digits\"", "\"digits\"\nresize = 1000000")],
        "data.resize must be between 1 and 4096",
    );
    refused(
        NETWORK,
        &[("states = 1200", "states = 1200\ncell = { kind = \"vector\", tiles = 1000000000 }")],
        "device.cell.tiles must be between 1 and 256",
    );
    let layers = |list: &str| format!("layers = [{list}, \"flatten\", \"linear\"]");
    let mlp = "model = \"mlp\"\nhidden = [12]";
    // Sizes that would wrap to small ones, and images that fit no memory though their weights do.
    for conv in
        ["kernel = 3, padding = 4294967292", "kernel = 3, padding = 1000000000", "kernel = 3, padding = 20000"]
    {
        refused(
            NETWORK,
            &[(mlp, &layers(&format!("{{ kind = \"conv2d\", outputs = 6, {conv} }}, \"global_avg_pool\"")))],
            "layer 0: its output must have at most 100000000 values for a sample, got ",
        );
    }
    refused(
        NETWORK,
        &[(mlp, &layers("{ kind = \"conv2d\", outputs = 6, kernel = 3, dilation = 9223372036854775807 }"))],
        "a convolution must be given at least 18446744073709551615×18446744073709551615 positions",
    );
    refused(
        NETWORK,
        &[(mlp, &layers("\"relu\", ".repeat(2000).trim_end_matches(", ")))],
        "must have 1 to 2000 entries",
    );
    refused(
        PROBLEM,
        &[("minimizer = 0.5", "minimizer = 0.5\ndim = 99999999")],
        "problem.dim must be between 1 and 10000000",
    );
    refused(PROBLEM, &[("minimizer = 0.5", "minimizer = 0.5\ndim = 9999999")], "record would write");
    let residual = |point: &str| {
        format!("residual_learning\"\ntransfer_rate = 0.1\nmixing = 1.0\nsymmetric_point = {point}")
    };
    let shift = |pairs: u64| residual(&format!("{{ zero_shift = {{ pairs = {pairs}, pulse_step = 0.01 }} }}"));
    refused(PROBLEM, &[("analog\"", &shift(1 << 32))], "pairs must be between 1 and 100000000, got 4294967296");
    refused(
        NETWORK,
        &[("analog\"", &residual("{ pairs = 4294967296 }"))],
        "pairs must be between 1 and 100000000",
    );
    // A check does not measure.
    assert_eq!(said(&with(PROBLEM, &[("analog\"", &shift(100_000_000))])), "accepted");
    assert_eq!(said(&with(NETWORK, &[("analog\"", &residual("{ pairs = 100000000 }"))])), "accepted");
}

#[test]
fn rates_of_an_extreme_problem_are_refused_at_once() {
    let chosen = |choice: &str| format!("residual_learning\"\nrates = {choice:?}");
    for curvature in ["1e300", "1e-300", "1.7e308"] {
        for choice in ["practical", "lemma"] {
            let text = with(
                PROBLEM,
                &[
                    ("analog\"\nlearning_rate = 0.1", &chosen(choice)),
                    ("curvature = 1.0", &format!("curvature = {curvature}")),
                    ("[device]", "[noise]\nkind = \"gaussian\"\ndeviation = 0.1\n[device]"),
                ],
            );
            // Whatever it says, it says it.
            said(&text);
        }
    }
}

#[test]
fn a_problem_that_explodes_ends_with_a_sentence() {
    // 1 − 2.5 = −1.5: a factor of 1.5 per step, 1e35 after 200, and no infinity.
    let text = with(
        PROBLEM,
        &[
            ("[device]\nresponse = \"power\"\nshape = 1.0\n", ""),
            ("\"analog\"\nlearning_rate = 0.1", "\"digital\"\nlearning_rate = 2.5"),
        ],
    );
    let spec = Spec::parse(&text, Path::new(".")).unwrap();
    let message = run(&spec, &Silent).unwrap_err().to_string();
    assert!(message.contains("the iteration diverges, try a smaller rule.learning_rate"), "{message}");
    // Where it is recorded makes no difference.
    let seldom = format!("{text}[record]\nsteps = [0]\nmetrics = [\"gap\"]\n");
    let spec = Spec::parse(&seldom, Path::new(".")).unwrap();
    assert!(run(&spec, &Silent).unwrap_err().to_string().contains("diverges"));
    // Broken twin: what only swings stays.
    let spec = Spec::parse(&text.replace("2.5", "1.9"), Path::new(".")).unwrap();
    run(&spec, &Silent).unwrap();
}

fn losses(text: &str) -> Vec<f64> {
    let folder = tempfile::tempdir().unwrap();
    let plans = plans(text, &Folders::new("."), None, "spec").unwrap();
    let store = Store::create(folder.path().join("store")).unwrap();
    let summary = sweep(&plans, &store, &options(1, 2), &Spy::default()).unwrap();
    assert_eq!(summary.done, plans.len(), "{summary:?}");
    let mut rows: Vec<Row> = store.records(&plans[0].id()).unwrap();
    rows.retain(|row| row.metric == "test_loss");
    rows.into_iter().map(|row| row.value).collect()
}

/// An inference study: weights that were programmed once, drift, and are never written again.
#[test]
fn frozen_layers_age() {
    let text = with(
        NETWORK,
        &[
            ("hidden = [12]", "hidden = [12]\nfrozen = \"all\""),
            ("epochs = 1", "epochs = 3\nseeds = [4]"),
            (
                "states = 1200",
                "states = 1200\ndrift = { exponent = 0.4, onset_s = 1.0, step_s = 50.0, spread = 0.8 }",
            ),
        ],
    );
    let aged = losses(&text);
    assert!(aged.windows(2).any(|pair| pair[0] != pair[1]), "{aged:?}");
    // Broken twin: without drift nothing moves.
    let text = text.lines().filter(|line| !line.starts_with("drift")).collect::<Vec<_>>().join("\n");
    let still = losses(&text);
    assert!(still.windows(2).all(|pair| pair[0] == pair[1]), "{still:?}");
}

#[test]
fn a_network_that_explodes_is_a_failed_trial() {
    let text = with(
        NETWORK,
        &[
            ("[device]\nresponse = \"power\"\nshape = 1.0\nradius = 0.6\nstates = 1200\n", ""),
            ("\"analog\"\nlearning_rate = 0.1", "\"digital\"\nlearning_rate = 1e12"),
            ("hidden = [12]", "hidden = [12]\nactivation = \"relu\""),
        ],
    );
    let folder = tempfile::tempdir().unwrap();
    let plans = plans(&text, &Folders::new("."), None, "spec").unwrap();
    let store = Store::create(folder.path().join("store")).unwrap();
    let summary = sweep(&plans, &store, &options(1, 2), &Spy::default()).unwrap();
    assert_eq!((summary.done, summary.failed.len()), (0, 1), "{summary:?}");
    let sentence = store.failures().unwrap()[0].sentence.clone();
    assert!(sentence.contains("loss must stay below 1e9"), "{sentence}");
}

/// The catalogue and the shipped experiments name layers that exist; an experiment is read with the same checks.
#[test]
fn shipped_experiments_pass_the_checks() {
    for shipped in residuum_lab::train::CATALOGUE {
        Experiment::parse(shipped.text, Path::new("../../experiments"), None)
            .unwrap_or_else(|e| panic!("{}: {e}", shipped.name));
    }
}

const DEVICE: &str = "response = \"power\"\nshape = 1.0\nradius = 0.6\nstates = 1200";
/// Up steps grow where down steps shrink: pulses drive a cell away from where they are equal.
const REPELLING: &str =
    "response = \"formula\"\nq_plus = \"1 + w\"\nq_minus = \"1 - w\"\nrange = [-0.6, 0.6]\npulse_step = 0.001";
const NEVER: &str =
    "response = \"formula\"\nq_plus = \"1.2 - w\"\nq_minus = \"0.5\"\nrange = [-0.6, 0.6]\npulse_step = 0.001";

fn residual(rest: &str) -> String {
    format!("residual_learning\"\ntransfer_rate = 0.1\nmixing = 1.0\n{rest}")
}

/// A cell whose true symmetric point is asked for and does not exist would be taken to have it at 0.
#[test]
fn a_true_symmetric_point_that_does_not_exist_is_refused() {
    let problem =
        with(PROBLEM, &[("response = \"power\"\nshape = 1.0", &format!("array = \"tile\"\n{DEVICE}"))]);
    for text in [NETWORK, &problem] {
        for (device, why) in
            [(REPELLING, "pulses drive it away from there"), (NEVER, "are equal nowhere in its range")]
        {
            for (rule, field) in [
                (
                    "symmetric_point = \"known\"",
                    "rule.symmetric_point = \"known\" needs that of every cell, but ",
                ),
                (
                    "symmetric_point = { error = 0.1 }",
                    "rule.symmetric_point.error is added to that of every cell, but ",
                ),
                (
                    "symmetric_point = { error = 0.1, track = { rate = 0.1 } }",
                    "rule.symmetric_point.error is added to that of every cell",
                ),
                ("symmetric_point = 0.1\ncell_gain = \"known\"", "rule.cell_gain = \"known\" is the mean step"),
            ] {
                let rule = residual(rule);
                for expected in [field, why] {
                    refused(text, &[(DEVICE, device), ("analog\"", &rule)], expected);
                }
                assert_eq!(said(&with(text, &[("analog\"", &rule)])), "accepted", "the twin has a point");
            }
            for needs_none in ["\"zero\"", "0.1", "{ pairs = 5 }", "{ track = { rate = 0.1 } }"] {
                let rule = residual(&format!("symmetric_point = {needs_none}"));
                assert_eq!(
                    said(&with(text, &[(DEVICE, device), ("analog\"", &rule)])),
                    "accepted",
                    "{needs_none}"
                );
            }
        }
        refused(
            text,
            &[(DEVICE, &format!("{NEVER}\ncell = {{ kind = \"reference\" }}"))],
            "device.cell: a reference tile",
        );
    }
}

/// The mean cell is symmetric everywhere; those that differ from it have no point at all.
#[test]
fn cells_without_the_point_of_the_mean_are_counted() {
    let rule = residual("symmetric_point = \"known\"");
    let even = "response = \"constant\"\nbounds = [-0.6, 0.6]\nstates = 1200";
    let text = with(NETWORK, &[("analog\"", &rule), (DEVICE, even)]);
    refused(
        &text,
        &[(even, &format!("{even}\nimbalance_spread = 0.1"))],
        "4 of 4 cells have no symmetric point: of cell 0, its up and down steps are equal nowhere in its range",
    );
}

#[test]
fn weights_that_a_cell_cannot_hold_are_told() {
    let warnings = |radius: &str| {
        let folder = tempfile::tempdir().unwrap();
        let text = with(NETWORK, &[("radius = 0.6", &format!("radius = {radius}"))]);
        let plans = plans(&text, &Folders::new("."), None, "spec").unwrap();
        let store = Store::create(folder.path().join("store")).unwrap();
        let spy = Spy::default();
        sweep(&plans, &store, &options(1, 2), &spy).unwrap();
        spy.warnings.into_inner().unwrap()
    };
    // First weights are uniform on ±1/√64 = ±0.125 and ±1/√12 = ±0.289.
    assert_eq!(warnings("0.6"), Vec::<String>::new());
    let told = warnings("0.2");
    assert_eq!(told.len(), 1, "{told:?}");
    let cells: usize = told[0].trim_start_matches("layer 3: ").split(' ').next().unwrap().parse().unwrap();
    // A share of 1 − 0.2/0.289 of 120 cells, ± 4.9 deviations.
    assert!((37.0 - cells as f64).abs() < 4.9 * (120.0_f64 * 0.31 * 0.69).sqrt(), "{told:?}");
    assert!(
        told[0].contains("of 120 cells cannot hold their first weight and begin at the end of their range"),
        "{told:?}"
    );
    let largest = told[0].split("the largest such weight is ").nth(1).unwrap().split(' ').next().unwrap();
    assert!((0.2..0.289).contains(&largest.parse::<f64>().unwrap().abs()), "{told:?}");
    // A problem says where it starts, and is refused.
    let problem =
        with(PROBLEM, &[("response = \"power\"\nshape = 1.0", &format!("array = \"tile\"\n{DEVICE}"))]);
    let message = said(&format!("{problem}[initial]\nmain = 0.7\n"));
    assert!(message.contains("initial.main must be inside the range of every cell"), "{message}");
    assert_eq!(said(&format!("{problem}[initial]\nmain = 0.5\n")), "accepted");
}
