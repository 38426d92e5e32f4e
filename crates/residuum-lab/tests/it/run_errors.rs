//! Bad specs: each must be refused with the line, the field, what must hold and what was given.

use std::path::Path;

use residuum_lab::progress::Silent;
use residuum_lab::run::{ProblemRunError, run};
use residuum_lab::spec::Spec;

/// A spec that runs; each case replaces one piece of it.
const GOOD: &str = r#"steps = 10
seeds = [1, 2]
[problem]
kind = "quadratic"
curvature = 1.0
minimizer = [0.5, 0.2]
[noise]
kind = "gaussian"
deviation = 0.1
[device]
response = "power"
shape = 1.0
radius = 1.0
[rule]
kind = "residual_learning"
learning_rate = 0.01
transfer_rate = 0.02
mixing = 1.0
[initial]
main = 0.8
[record]
metrics = ["main", "gap"]
every = 5
"#;

fn parse(text: &str) -> Result<Spec, String> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/run");
    Spec::parse(text, &fixtures).map_err(|e| e.to_string())
}

/// A piece of `GOOD`, what replaces it, and the start of the message; `…` stands for a folder.
type Case = (&'static str, &'static str, &'static str);

fn refused(cases: &[Case]) {
    parse(GOOD).unwrap();
    let mut wrong = Vec::new();
    for (piece, by, expected) in cases {
        assert_eq!(GOOD.matches(piece).count(), 1, "{piece:?} must occur once");
        let message = match parse(&GOOD.replace(piece, by)) {
            Ok(_) => "accepted".to_string(),
            Err(message) => message,
        };
        let (before, after) = expected.split_once('…').unwrap_or((expected, ""));
        if !(message.starts_with(before) && message.contains(after)) {
            wrong.push(format!("{by:?}\n  expected {expected}\n  got      {message}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn steps_and_seeds() {
    refused(&[
        ("steps = 10", "steps = -10", "line 1: steps must be a whole number, zero or positive, got -10"),
        ("steps = 10\n", "", "line 1: steps is missing"),
        ("steps = 10", "stepz = 10", "line 1: stepz is not a field; did you mean steps?"),
        (
            "steps = 10",
            "steps = 10\nfoo = 1",
            "line 2: foo is not a field; fields here: device, initial, name, noise, operating_range, problem, readout, record, rule, seeds, steps, title",
        ),
        (
            "seeds = [1, 2]",
            "seeds = []",
            "line 2: seeds must be a whole number, a list of them, or { first = …, count = … }, got []",
        ),
        ("seeds = [1, 2]", "seeds = [1, -2]", "line 2: seeds must be whole numbers, zero or positive, got -2"),
        ("seeds = [1, 2]", "seeds = [1, 1]", "line 2: seeds must be different, got 1 twice"),
        (
            "seeds = [1, 2]",
            "seeds = { first = 1, count = 0 }",
            "line 2: seeds.count must be between 1 and 1000000, got 0",
        ),
        (
            "seeds = [1, 2]",
            "seeds = { first = 1, cuont = 3 }",
            "line 2: seeds.cuont is not a field; did you mean count?",
        ),
    ]);
}

#[test]
fn problems() {
    refused(&[
        (
            r#"kind = "quadratic""#,
            r#"kind = "cubic""#,
            r#"line 4: problem.kind must be one of quadratic, least_squares, logistic, got "cubic""#,
        ),
        (
            r#"kind = "quadratic"
"#,
            "",
            "line 3: problem.kind is missing",
        ),
        ("curvature = 1.0", "curvature = nan", "line 5: problem.curvature must be finite, got NaN"),
        ("curvature = 1.0", "curvature = [1.0, inf]", "line 5: problem.curvature must be finite, got inf"),
        (
            "curvature = 1.0",
            "curvature = -1.0",
            "line 5: problem.curvature must be positive and finite, got -1",
        ),
        (
            "curvature = 1.0",
            "curvature = [1.0, 2.0, 3.0]",
            "line 6: problem.minimizer must have 3 entries, got 2",
        ),
        (
            "curvature = 1.0",
            r#"curvature = "1 + j""#,
            r#"line 5: problem.curvature = "1 + j": unknown name "j" at column 5 (known: "#,
        ),
        (
            "curvature = 1.0",
            r#"curvature = "1/(i-1)""#,
            "line 5: problem.curvature must be finite, but 1 / (i - 1) is inf at i = 1",
        ),
        (
            "curvature = 1.0",
            r#"curvature = "1 + (i""#,
            r#"line 5: problem.curvature = "1 + (i": parenthesis at column 5 is never closed"#,
        ),
        (
            "curvature = 1.0",
            r#"curvature = { csv = "missing.csv" }"#,
            "line 5: problem.curvature: cannot read …missing.csv",
        ),
        (
            "curvature = 1.0",
            r#"curvature = { csv = "vectors.csv" }"#,
            "line 5: problem.curvature: …vectors.csv: has 2 columns; choose one with column = …",
        ),
        (
            "curvature = 1.0",
            r#"curvature = { csv = "vectors.csv", column = "speed" }"#,
            r#"line 5: problem.curvature: …vectors.csv: has no column "speed" (columns: start, minimizer)"#,
        ),
        (
            "curvature = 1.0",
            r#"curvature = { csv = "targets.csv" }"#,
            "line 6: problem.minimizer must have 8 entries, got 2",
        ),
        (
            "curvature = 1.0",
            "curvature = { uniform = [2.0, 1.0] }",
            "line 5: problem.curvature.uniform must be [lo, hi] with lo < hi, got [2, 1]",
        ),
        (
            "curvature = 1.0",
            "curvature = { normal = [0.0, -1.0] }",
            "line 5: problem.curvature.normal: deviation must be zero or positive, got -1",
        ),
        (
            "curvature = 1.0",
            "curvatur = 1.0",
            "line 5: problem.curvatur is not a field; did you mean curvature?",
        ),
        (
            "curvature = 1.0",
            "hessian = [[1.0, 2.0], [2.0, 1.0]]",
            "line 5: problem.hessian must be positive definite",
        ),
        ("curvature = 1.0", "hessian = [[1.0, 0.5], [0.4, 1.0]]", "line 5: problem.hessian must be symmetric"),
        (
            "curvature = 1.0",
            "hessian = [[1.0, 0.5], [0.4]]",
            "line 5: problem.hessian: rows must have one length, got [0.4]",
        ),
        ("minimizer = [0.5, 0.2]\n", "", "line 3: problem.minimizer is missing"),
        (
            "minimizer = [0.5, 0.2]",
            r#"minimizer = [0.5, "x"]"#,
            r#"line 6: problem.minimizer must hold numbers, got "x""#,
        ),
    ]);
}

#[test]
fn noise() {
    refused(&[
        (
            r#"kind = "gaussian"
deviation = 0.1"#,
            r#"kind = "gaussian""#,
            "line 7: noise.deviation is missing",
        ),
        (
            "deviation = 0.1",
            "deviation = -0.1",
            "line 9: noise.deviation must be zero or positive, and finite, got -0.1",
        ),
        (
            "deviation = 0.1",
            "deviation = 0.1\ntotal_deviation = 0.2",
            "line 7: noise must have deviation (per coordinate) or total_deviation (of the whole vector), not both",
        ),
        ("deviation = 0.1", "devation = 0.1", "line 9: noise.devation is not a field; did you mean deviation?"),
        (
            r#"kind = "gaussian""#,
            r#"kind = "two_point"
probability = 1.5"#,
            "line 9: noise.probability must be between 0 and 1, ends excluded, got 1.5",
        ),
        (
            r#"kind = "gaussian"
deviation = 0.1"#,
            r#"kind = "mini_batch"
batch = 2"#,
            "line 7: noise: mini-batch noise needs an objective that is a finite sum over samples; diagonal quadratic, D = 2 is not",
        ),
        (
            r#"kind = "gaussian"
deviation = 0.1"#,
            r#"kind = "recorded"
csv = "noise_3.csv""#,
            "line 9: noise.csv must have 1 column or one for each of the 2 weights, got 3",
        ),
        (
            r#"kind = "gaussian"
deviation = 0.1"#,
            r#"kind = "recorded"
csv = "none.csv""#,
            "line 9: noise.csv: cannot read …none.csv",
        ),
    ]);
}

#[test]
fn devices() {
    refused(&[
        ("radius = 1.0", "radius = 0.0", "line 13: device.radius must be positive and finite, got 0"),
        (
            "radius = 1.0",
            r#"radius = "one""#,
            r#"line 13: device.radius must be a number or a distribution, got "one""#,
        ),
        ("radius = 1.0", "radios = 1.0", "line 13: device.radios is not a field; did you mean radius?"),
        (
            "radius = 1.0",
            "radius = 1.0\nrange = [0.5, -0.5]",
            "line 14: device.range must be [lo, hi] with lo < hi, got [0.5, -0.5]",
        ),
        (
            "radius = 1.0",
            r#"radius = { kind = "normal", mean = 1.0, deviaton = 0.1 }"#,
            "line 13: device.radius.deviaton is not a field; did you mean deviation?",
        ),
        (
            "radius = 1.0",
            r#"radius = { kind = "normal", mean = 1.0, deviation = -0.1 }"#,
            "line 13: device.radius.deviation must be zero or positive, and finite, got -0.1",
        ),
        ("shape = 1.0\n", "", "line 10: device.shape is missing"),
        (
            r#"response = "power"
shape = 1.0"#,
            r#"response = "sigmoid""#,
            r#"line 11: device.response must be one of constant, …, mixture, got "sigmoid""#,
        ),
        (
            r#"response = "power"
shape = 1.0"#,
            r#"response = "linear"
slope = 1.2"#,
            "line 12: device.slope must be between 0 and 1, got 1.2",
        ),
        (
            r#"response = "power"
shape = 1.0"#,
            r#"response = "linear"
hardware_condition = 0.5"#,
            "line 12: device.hardware_condition must be at least 1 and finite, got 0.5",
        ),
        (
            r#"response = "power"
shape = 1.0"#,
            r#"response = "linear"
hardware_condition = 2.0
slope = 0.1"#,
            "line 13: device.slope or hardware_condition must be given, got both",
        ),
        (
            r#"response = "power"
shape = 1.0"#,
            r#"response = "linear""#,
            "line 10: device.slope or hardware_condition must be given, got neither",
        ),
        (
            r#"response = "power"
shape = 1.0
radius = 1.0"#,
            r#"response = "formula"
q_plus = "0.5 - w"
q_minus = "1 + w"
range = [-1.0, 1.0]"#,
            "line 12: device.q_plus must be positive inside [-1, 1] (0 is allowed at its very ends), but q_plus(1) = -0.5",
        ),
        (
            r#"response = "power"
shape = 1.0
radius = 1.0"#,
            r#"response = "formula"
q_plus = "1 - v"
q_minus = "1 + w"
range = [-1.0, 1.0]"#,
            r#"line 12: device.q_plus: unknown name "v" at column 5 (known: "#,
        ),
        (
            r#"response = "power"
shape = 1.0
radius = 1.0"#,
            r#"response = "formula"
q_plus = "1 - w"
q_minus = "1 + w""#,
            "line 10: device.range is missing: give [lo, hi]",
        ),
        (
            r#"response = "power"
shape = 1.0
radius = 1.0"#,
            r#"response = "table"
csv = "vectors.csv""#,
            r#"line 12: device.csv: …vectors.csv: line 2: the header must name w, q_plus and q_minus once each, in any order, got "start,minimizer""#,
        ),
        (
            r#"response = "power"
shape = 1.0
radius = 1.0"#,
            r#"response = "mixture"
parts = [{ fraction = 0.5, response = "constant" }, { fraction = 0.2, response = "constant" }]"#,
            "line 11: device.response: the fractions of a mixture must add up to 1, got 0.7",
        ),
        (
            "radius = 1.0",
            "radius = 1.0\n[device.pulses]\npulse_step = 0.0",
            "line 15: device.pulses.pulse_step must be positive and finite, got 0",
        ),
        (
            "radius = 1.0",
            r#"radius = 1.0
[device.pulses]
pulse_step = 0.1
rounding = "up""#,
            r#"line 16: device.pulses.rounding must be one of stochastic, nearest, got "up""#,
        ),
        (
            r#"[device]
response = "power"
shape = 1.0
radius = 1.0
"#,
            "",
            "line 1: device is missing",
        ),
    ]);
}

#[test]
fn rules() {
    refused(&[
        (
            "learning_rate = 0.01",
            "learning_rate = -0.01",
            "line 16: rule.learning_rate must be zero or positive, and finite, got -0.01",
        ),
        ("learning_rate = 0.01\n", "", "line 14: rule.learning_rate is missing"),
        (
            "learning_rate = 0.01",
            r#"learning_rate = { kind = "inverse", initial = 0.1, half_live = 3 }"#,
            "line 16: rule.learning_rate.half_live is not a field; did you mean half_life?",
        ),
        (
            "learning_rate = 0.01",
            r#"learning_rate = { kind = "inverse", initial = 0.1, half_life = 0 }"#,
            "line 16: rule.learning_rate.half_life must be positive and finite, got 0",
        ),
        ("mixing = 1.0", "mixing = 0.0", "line 18: rule.mixing must be positive and finite, got 0"),
        (
            "mixing = 1.0",
            r#"mixing = 1.0
rates = "lemma""#,
            "line 16: rule.learning_rate must not stand beside rule.rates, which chooses it",
        ),
        (
            "mixing = 1.0",
            r#"mixing = 1.0
source = "adan""#,
            "line 19: rule.source must be one of sgd, momentum, adam, adamw, got \"adan\"",
        ),
        (
            "mixing = 1.0",
            "mixing = 1.0\nsymmetric_point = [0.0, 0.0, 0.0]",
            "line 19: rule.symmetric_point must have 2 entries, got 3",
        ),
        (
            "mixing = 1.0",
            "mixing = 1.0\nsymmetric_point = { zero_shift = { pulse_step = 0.1, pairs = 0 } }",
            "line 19: rule.symmetric_point.zero_shift.pairs must be between 1 and 100000000, got 0",
        ),
        (
            "mixing = 1.0",
            r#"mixing = 1.0
transfer = "fast""#,
            r#"line 19: rule.transfer must be one of plain, compensated, got "fast""#,
        ),
        (
            "mixing = 1.0",
            r#"mixing = 1.0
transfer = "compensated"
transfer_floor = 0.0"#,
            "line 20: rule.transfer_floor must be positive and finite, got 0",
        ),
        (
            "mixing = 1.0",
            r#"mixing = 1.0
cell_gain = "on""#,
            r#"line 19: rule.cell_gain must be "off", "known" or { pairs = … }, got "on""#,
        ),
        (
            "learning_rate = 0.01\ntransfer_rate = 0.02\nmixing = 1.0",
            r#"rates = "lemma""#,
            r#"line 16: rule.rates = "lemma": the theorem needs 1 < X (left side 1.0000e0, right side 1.6745e-5), at K = 10; smallest K: 597197 (and every K from 1623350 on)"#,
        ),
        (
            r#"kind = "residual_learning"
learning_rate = 0.01
transfer_rate = 0.02
mixing = 1.0"#,
            r#"kind = "residual_cascade"
learning_rate = 0.01
transfer_rates = []
mixing = 1.0"#,
            "line 17: rule.transfer_rates must have 1 to 8 entries, got 0",
        ),
        (
            r#"kind = "residual_learning"
learning_rate = 0.01
transfer_rate = 0.02
mixing = 1.0"#,
            r#"kind = "analog"
learning_rate = 0.01
source = "momentum"
momentum = 1.5"#,
            "line 18: rule.momentum must be at least 0 and below 1, got 1.5",
        ),
    ]);
}

#[test]
fn initial_states() {
    refused(&[
        (
            "main = 0.8",
            "main = 1.8",
            "line 20: initial.main must be inside the dynamic range [-1, 1] of cell 0, got 1.8",
        ),
        ("main = 0.8", "main = [0.1, 0.2, 0.3]", "line 20: initial.main must have 2 entries, got 3"),
        (
            "main = 0.8",
            "main = 0.8\nresidual = -1.5",
            "line 21: initial.residual must be inside the dynamic range [-1, 1] of cell 0, got -1.5",
        ),
        ("main = 0.8", "mian = 0.8", "line 20: initial.mian is not a field; did you mean main?"),
    ]);
}

#[test]
fn records() {
    refused(&[
        (
            r#"metrics = ["main", "gap"]"#,
            r#"metrics = ["main", "loss"]"#,
            r#"line 22: record.metrics: no metric "loss"; there are main, main_mean, main_std, residual, "#,
        ),
        (
            r#"metrics = ["main", "gap"]"#,
            "metrics = []",
            "line 22: record.metrics must name at least one metric",
        ),
        (
            r#"metrics = ["main", "gap"]"#,
            r#"metrics = "main""#,
            r#"line 22: record.metrics must be a list of names, got "main""#,
        ),
        ("every = 5", "every = 0", "line 23: record.every must be at least 1, got 0"),
        (
            "every = 5",
            "steps = [11]",
            "line 23: record.steps must be whole numbers at most the number of steps, got 11",
        ),
        (
            "every = 5",
            "every = 5\nindices = [2]",
            "line 24: record.indices must be whole numbers below the number of weights, got 2",
        ),
        (
            "every = 5",
            "every = 5\ntail_from = 11",
            "line 24: record.tail_from must be at most steps = 10, got 11",
        ),
        ("every = 5", "evry = 5", "line 23: record.evry is not a field; did you mean every?"),
    ]);
}

#[test]
fn what_would_fill_the_memory_is_refused_first() {
    refused(&[
        (
            "steps = 10",
            "steps = 1_000_000_000_000",
            "line 23: record.every must be at least 20001 to stay within 50000000 rows, got 5",
        ),
        (
            "minimizer = [0.5, 0.2]",
            "minimizer = 0.5\ndim = 1_000_000_000_000",
            "line 7: problem.dim must be between 1 and ",
        ),
        (
            "seeds = [1, 2]",
            "seeds = { first = 1, count = 1_000_000_000_000 }",
            "line 2: seeds.count must be between 1 and 1000000, got 1000000000000",
        ),
    ]);
    let wide = GOOD
        .replace("minimizer = [0.5, 0.2]", "minimizer = 0.5\ndim = 20_000")
        .replace("every = 5", "every = 1");
    let message = parse(&wide.replace("steps = 10", "steps = 5_000")).unwrap_err();
    assert_eq!(
        message,
        "line 22: record would write 200050002 rows, more than 50000000: record fewer steps, indices or seeds"
    );
}

#[test]
fn a_metric_the_rule_does_not_have() {
    let text = GOOD
        .replace("residual_learning", "analog")
        .replace("transfer_rate = 0.02\nmixing = 1.0\n", "")
        .replace("\"gap\"", "\"residual_mean\"");
    let message = parse(&text).unwrap_err();
    assert!(
        message.starts_with("line 20: record.metrics: residual_mean needs a rule with a residual array, not "),
        "{message}"
    );
}

#[test]
fn tables_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let message = |field: &str, content: &str| {
        std::fs::write(folder.path().join("x.csv"), content).unwrap();
        let text = match field {
            "curvature" => GOOD.replace("curvature = 1.0", "curvature = { csv = \"x.csv\" }"),
            "hessian" => GOOD.replace("curvature = 1.0", "hessian = { csv = \"x.csv\" }"),
            _ => GOOD.replace("\"gaussian\"\ndeviation = 0.1", "\"recorded\"\ncsv = \"x.csv\""),
        };
        Spec::parse(&text, folder.path()).map_or_else(|e| e.to_string(), |_| "accepted".into())
    };
    for (field, content, expected) in [
        ("curvature", "1.0\nabc\n", "abc"),
        ("curvature", "1.0\n\ninf\n", "inf"),
        ("curvature", "1.0\n2.0\n3.0\n", "minimizer must have 3 entries, got 2"),
        ("curvature", "", "x.csv"),
        ("hessian", "1,2\n3,x\n", "\"x\""),
        ("hessian", "1,0,0\n0,1,0\n", "hessian"),
        ("noise", "0.1\n0.2,0.3\n", "x.csv"),
        ("noise", "h\n", "x.csv"),
    ] {
        let message = message(field, content);
        assert!(message.contains(expected), "{field} {content:?}: {message}");
    }
}

#[test]
fn a_diverging_run_names_seed_step_weight_and_cure() {
    let text = "steps = 2000\nseeds = [4]\n[problem]\nkind = \"quadratic\"\ncurvature = [1.0, 3.0]\nminimizer = 0.5\n\
                [rule]\nkind = \"digital\"\nlearning_rate = 1.0\n";
    let error = run(&parse(text).unwrap(), &Silent).unwrap_err();
    // |1 − αh| = 2 doubles the distance of the second weight: 10⁹ is passed after 31 steps, and seen at the next record.
    let ProblemRunError::Diverged { seed: 4, step, variable: "main", index: 1, .. } = error else {
        panic!("{error}")
    };
    assert!((31..=40).contains(&step), "{step}");
    assert!(error.to_string().ends_with("the iteration diverges, try a smaller rule.learning_rate"), "{error}");
}
