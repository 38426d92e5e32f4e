//! The command as a user meets it: exit codes, streams, files.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

fn residuum(arguments: &[&str], folder: &Path) -> Output {
    Command::cargo_bin("residuum").unwrap().args(arguments).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output.stdout)))
}

const SPEC: &str = r#"
steps = 200
seeds = { first = 1, count = 8 }
[problem]
kind = "quadratic"
curvature = 1.0
minimizer = 0.5
[noise]
kind = "gaussian"
deviation = 1.0
[device]
response = "power"
shape = 1.0
[device.pulses]
pulse_step = 0.001
[rule]
kind = "residual_learning"
learning_rate = 0.02
transfer_rate = 0.02
mixing = 1.0
[record]
metrics = ["effective", "gap", "pulses"]
every = 100
"#;

const POWER: &str = "response = \"power\"\nshape = 1.0";

fn with_spec(spec: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("spec.toml"), spec).unwrap();
    folder
}

#[test]
fn run_prints_tidy_records_that_do_not_depend_on_threads() {
    let folder = with_spec(SPEC);
    let one = residuum(&["run", "spec.toml", "--stdout", "--threads", "1"], folder.path());
    let two = residuum(&["run", "spec.toml", "--stdout", "--threads", "2"], folder.path());
    assert!(one.status.success(), "{}", text(&one.stderr));
    assert_eq!(one.stdout, two.stdout);
    let csv = text(&one.stdout);
    assert!(csv.starts_with("seed,step,metric,index,value\n1,0,effective,0,0\n"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 8 * 3 * 3);
}

#[test]
fn a_seed_on_the_command_line_is_that_seed_of_the_list() {
    let folder = with_spec(SPEC);
    let all = text(&residuum(&["run", "spec.toml", "--stdout"], folder.path()).stdout);
    let third = text(&residuum(&["run", "spec.toml", "--stdout", "--seed", "3"], folder.path()).stdout);
    let expected: Vec<&str> = all.lines().filter(|l| l.starts_with("3,") || l.starts_with("seed")).collect();
    assert_eq!(third.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn run_fills_a_store_with_the_same_numbers_and_ends_with_table_and_figure() {
    let folder = with_spec(SPEC);
    let output = residuum(&["run", "spec.toml", "--out", "results"], folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    for piece in
        ["gap f(W̄) − f*", "The gap f(W̄) − f* ends at ", "8 trials: 8 done, 0 already done; in results\n"]
    {
        assert!(said.contains(piece), "{piece}: {said}");
    }
    assert!(said.ends_with("written: results/spec.svg, results/spec.png\n"), "{said}");
    assert!(folder.path().join("results/spec.png").exists());
    residuum(&["runs", "export", "results", "--to", "all.csv"], folder.path());
    let all = fs::read_to_string(folder.path().join("all.csv")).unwrap();
    let of_store = all.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let [_, _, seed, _, step, metric, _, index, value] = cells[..] else { panic!("{line}") };
        [seed, step, metric, index, value].join(",")
    });
    let printed = text(&residuum(&["run", "spec.toml", "--stdout"], folder.path()).stdout);
    assert_eq!(of_store.collect::<Vec<_>>(), printed.lines().skip(1).collect::<Vec<_>>());

    // Again: nothing is left to do, and the end is told again.
    let document = json(&residuum(&["run", "spec.toml", "--out", "results", "--json"], folder.path()));
    assert_eq!(document["schema"], "residuum.run/2");
    assert_eq!((&document["total"], &document["already"]), (&8.into(), &8.into()));
    let point = &document["trials"][0];
    assert_eq!(point["ends"]["gap"]["n"], 8);
    assert_eq!(point["runs"][0]["records"].as_array().unwrap().len(), 9);
}

#[test]
fn records_of_one_problem_alone_are_printed() {
    let folder = with_spec(&format!("{SPEC}[sweep]\n\"device.shape\" = [1.0, 2.0]\n"));
    let refused = residuum(&["run", "spec.toml", "--stdout"], folder.path());
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("--stdout must be used with a spec of one point, got 2"));
    let one = residuum(&["run", "spec.toml", "--stdout", "--variant", "*-2.0"], folder.path());
    assert!(one.status.success(), "{}", text(&one.stderr));
    let network = residuum(&["run", "digits", "--stdout"], folder.path());
    assert_eq!(network.status.code(), Some(2));
    assert!(text(&network.stderr).contains("[problem] spec, got a [network] spec"));
}

/// The words of an error decide nothing: this one begins as an interruption does.
#[test]
fn a_spec_called_interrupted_is_a_failure() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("interrupted"), SPEC.replace("shape = 1.0", "shap = 1.0")).unwrap();
    let output = residuum(&["check", "interrupted"], folder.path());
    assert!(text(&output.stderr).starts_with("error: interrupted"), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn run_json_carries_its_schema_and_the_same_numbers() {
    let folder = with_spec(SPEC);
    let document = json(&residuum(&["run", "spec.toml", "--stdout", "--json"], folder.path()));
    assert_eq!(document["schema"], "residuum.run/1");
    let last = document["records"].as_array().unwrap().last().unwrap().clone();
    let csv = text(&residuum(&["run", "spec.toml", "--stdout"], folder.path()).stdout);
    let fields: Vec<&str> = csv.lines().last().unwrap().split(',').collect();
    assert_eq!(last[2], fields[2]);
    assert_eq!(last[4].as_f64().unwrap(), fields[4].parse::<f64>().unwrap());
}

#[test]
fn misuse_ends_with_2_and_names_the_field() {
    let unknown_name = "response = \"formula\"\nq_plus = \"1 - w/tau\"\nq_minus = \"1 + w\"\nrange = [-1, 1]";
    let negative = "response = \"formula\"\nq_plus = \"0.5 - w\"\nq_minus = \"2 + w\"\nrange = [-1, 1]";
    let rates = "learning_rate = 0.02\ntransfer_rate = 0.02\nmixing = 1.0";
    let cases = [
        ("shape = 1.0", "shape = 1.0\nradius = -0.5", "device.radius must be positive and finite, got -0.5"),
        ("mixing = 1.0", "mixin = 1.0", "rule.mixin is not a field; did you mean mixing?"),
        (POWER, unknown_name, "unknown name \"tau\""),
        (POWER, negative, "q_plus"),
        (POWER, "response = \"table\"\ncsv = \"nowhere.csv\"", "nowhere.csv"),
        ("deviation = 1.0", "deviation = nan", "noise.deviation must be zero or positive, and finite, got NaN"),
        (rates, "rates = \"lemma\"", "smallest K"),
    ];
    for (from, to, expected) in cases {
        let folder = with_spec(&SPEC.replace(from, to));
        let output = residuum(&["run", "spec.toml", "--out", "results"], folder.path());
        assert_eq!(output.status.code(), Some(2), "{to}");
        let message = text(&output.stderr);
        assert!(message.contains(expected) && message.contains("line "), "{to}: {message}");
        assert!(output.stdout.is_empty(), "{to}");
        let left: Vec<_> = fs::read_dir(folder.path().join("results")).unwrap().collect();
        assert!(left.is_empty(), "nothing half-written: {left:?}");
    }
}

#[test]
fn what_cannot_work_is_refused_before_the_work() {
    let folder = with_spec(SPEC);
    fs::write(folder.path().join("file"), "").unwrap();
    let output = residuum(&["run", "spec.toml", "--out", "file/inside"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--out: cannot create file/inside"), "{}", text(&output.stderr));
    assert_eq!(residuum(&["run", "nowhere.toml"], folder.path()).status.code(), Some(2));
    assert_eq!(residuum(&["run", "spec.toml", "--threads", "0"], folder.path()).status.code(), Some(2));
    assert_eq!(residuum(&["runn"], folder.path()).status.code(), Some(2));
}

#[test]
fn rates_prints_practical_rates_and_fails_where_the_lemma_does_not_apply() {
    let folder = with_spec(SPEC);
    let output = residuum(&["rates", "spec.toml"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stdout).contains("practical learning_rate"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("smallest K"), "{}", text(&output.stderr));
    let regular = SPEC
        .replace(POWER, "response = \"constant\"")
        .replace("deviation = 1.0", "deviation = 0.01")
        .replace("steps = 200", "steps = 20000");
    let folder = with_spec(&regular);
    let output = residuum(&["rates", "spec.toml", "--json"], folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(json(&output)["lemma"]["learning_rate"].as_f64().unwrap() > 0.0);
}

#[test]
fn device_show_reports_and_draws() {
    let folder = TempDir::new().unwrap();
    let output = residuum(&["device", "show", "power", "shape=1", "--out", "report"], folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    for name in ["device.svg", "device.png", "device.pdf", "device.csv"] {
        assert!(folder.path().join("report").join(name).exists(), "{name}");
    }
    let document = json(&residuum(&["device", "show", "power", "shape=1", "--json"], folder.path()));
    assert_eq!(document["schema"], "residuum.device/1");
    assert!((document["hardware_condition"].as_f64().unwrap() - 9.0).abs() < 1e-9);

    fs::write(folder.path().join("d.csv"), "w,q_plus,q_minus\n-1,2,0\n0,1,1\n1,0,2\n").unwrap();
    let document = json(&residuum(&["device", "show", "d.csv", "--json"], folder.path()));
    assert!(document["symmetric_point"].as_f64().unwrap().abs() < 1e-12);
    let output = residuum(&["device", "show", "powr"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("must be one of constant, linear, power"),
        "{}",
        text(&output.stderr)
    );
    assert!(text(&residuum(&["device", "list"], folder.path()).stdout).contains("soft_bounds"));
}

/// Ramps of a device whose steps fall towards ±1.2, with a little noise from a sequence that repeats.
fn pulses() -> String {
    let mut text = String::from("device,cycle,pulse,direction,conductance (uS)\n");
    let mut w: f64 = -0.8;
    for cycle in 0..6 {
        for (word, sign) in [("up", 1.0), ("down", -1.0)] {
            for pulse in 0..120 {
                let noise = f64::from((pulse * 37 + cycle * 53) % 101) / 50.0 - 1.0;
                let conductance = 20.0 + 5.0 * (w + 0.01 * noise);
                writeln!(text, "1,{cycle},{pulse},{word},{conductance}").unwrap();
                w += sign * 0.012 * (1.0 - sign * 0.5 * w);
            }
        }
    }
    text
}

#[test]
fn device_fit_writes_the_device_in_every_form() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("pulses.csv"), pulses()).unwrap();
    let arguments = ["device", "fit", "pulses.csv", "--draws", "40", "--to", "d.toml", "--report", "r.html"];
    let others = ["--aihwkit", "d.py", "--crosssim", "lut", "--out", "figures", "--json"];
    let output = residuum(&[&arguments[..], &others[..]].concat(), at);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document = json(&output);
    assert_eq!((&document["schema"], &document["format"]), (&"residuum.device-fit/1".into(), &"tidy".into()));
    assert_eq!(document["unit"], "uS");
    assert_eq!(document["symmetric_point"]["kind"], "attracting");
    for figure in ["fit", "fit-steps", "fit-ramps", "fit-residuals", "fit-drift"] {
        for kind in ["svg", "png", "pdf"] {
            assert!(at.join(format!("figures/{figure}.{kind}")).exists(), "{figure}.{kind}");
        }
    }
    assert!(
        at.join("r.html").exists() && at.join("d.py").exists() && at.join("lut/dG_increasing.txt").exists()
    );
    // The file is a device of its own, with what was found.
    let shown = json(&residuum(&["device", "show", "d.toml", "--json"], at));
    assert_eq!(shown["fit"]["symmetric_point"], "attracting");
    assert_eq!(shown["symmetric_point_kind"], "attracting");
    assert!(text(&residuum(&["device", "list"], at).stdout).contains("d.toml"));
    let named = residuum(&["device", "list", "pulses.csv"], at);
    assert!(text(&named.stderr).contains("has no [device]"), "{}", text(&named.stderr));
    // Devices of specs and presets are shown by name.
    for name in ["digits", "reram_es", "ecram"] {
        assert!(residuum(&["device", "show", name, "--json"], at).status.success(), "{name}");
    }
}

#[test]
fn device_fit_says_what_to_do_with_a_bad_file() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let rows = |row: &dyn Fn(f64, f64) -> String| -> String {
        (0..60).map(|i| row(f64::from(i) / 30.0 - 1.0, 1.0 - f64::from(i) / 30.0) + "\n").collect()
    };
    let counted = (0..60).fold(String::new(), |mut text, i| {
        writeln!(text, "{i},up,{}", f64::from(i) / 30.0 - 1.0).unwrap();
        text
    });
    let files = [
        (format!("name,up,down\n{}", rows(&|a, b| format!("x,{a},{b}"))), "take it out"),
        (
            rows(&|a, b| format!("{a},{}", if a == 0.0 { "NaN".into() } else { b.to_string() })),
            "leave the cell empty",
        ),
        (rows(&|a, _| format!("{a},")), "give the down pulses too"),
        ("1.1,5.1\n2.1,4.1\n3.1,3.1\n4.1,2.1\n5.1,1.1\n".into(), "give longer ramps"),
        (rows(&|a, _| format!("{0},{0}", a * a)), "cut it there"),
        (rows(&|a, b| format!("{},{}", 1e6 * (2.0 + a), 2.0 + b)), "give both in the same unit"),
        (format!("pulse,direction,conductance\n{counted}1000000000,up,1\n"), "claims 1000000001 pulses"),
    ];
    for (index, (file, words)) in files.iter().enumerate() {
        fs::write(at.join("bad.csv"), file).unwrap();
        let output = residuum(&["device", "fit", "bad.csv"], at);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{index}: {said}");
        assert!(said.contains(words), "{index}: {said}");
    }
}

#[test]
fn verify_runs_one_claim_and_refuses_unknown_ones() {
    let folder = TempDir::new().unwrap();
    let list = text(&residuum(&["verify", "--list"], folder.path()).stdout);
    let first = list.split_whitespace().next().unwrap();
    let document = json(&residuum(&["verify", first, "--quick", "--json"], folder.path()));
    assert_eq!(document["schema"], "residuum.verify/1");
    assert_eq!(document["claims"].as_array().unwrap().len(), 1);
    let output = residuum(&["verify", "thm-of-everything"], folder.path());
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn reproduce_writes_figure_numbers_and_settings() {
    let folder = TempDir::new().unwrap();
    let output = residuum(&["reproduce", "fig-bias", "--profile", "quick", "--out", "figures"], folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    for ending in ["svg", "png", "toml"] {
        assert!(folder.path().join(format!("figures/fig-bias.{ending}")).exists(), "{ending}");
    }
    let page = std::fs::read_to_string(folder.path().join("figures/reproduce.md")).unwrap();
    assert!(page.contains("| [fig-bias](#fig-bias) | `fig:hardware-challenge` |"), "{page}");
    let output = residuum(&["reproduce", "fig-nothing"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("fig-toy"), "{}", text(&output.stderr));
}

#[test]
fn reproduce_without_data_says_so_on_every_line() {
    let folder = TempDir::new().unwrap();
    let command =
        ["reproduce", "table-mnist", "--profile", "quick", "--data", "nowhere", "--jobs", "1", "--json"];
    let output = residuum(&command, folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document = json(&output);
    assert_eq!(document["schema"], "residuum.reproduce/2");
    let findings = document["items"][0]["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 38);
    for finding in findings {
        assert_eq!(finding["verdict"], "not run: data missing (mnist; residuum data fetch mnist)");
    }
    let out = folder.path().join("residuum-out");
    assert!(out.join("reproduce.md").exists() && out.join("reproduce.json").exists());
    assert!(!out.join("reproduce-store").exists(), "a store for nothing");
    let output = residuum(&["reproduce", "table-mnist", "--jobs", "0"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--jobs must be at least 1, got 0"), "{}", text(&output.stderr));
}

#[test]
fn every_command_has_help_with_an_example() {
    let folder = TempDir::new().unwrap();
    let commands: [&[&str]; 9] = [
        &["--help"],
        &["run", "--help"],
        &["train", "--help"],
        &["eval", "--help"],
        &["export", "--help"],
        &["rates", "--help"],
        &["device", "show", "--help"],
        &["verify", "--help"],
        &["reproduce", "--help"],
    ];
    for command in commands {
        let output = residuum(command, folder.path());
        assert!(output.status.success());
        assert!(text(&output.stdout).contains("xample"), "{command:?}");
    }
}
