//! Every command with little memory: it does its work, or ends with 2 and a sentence. It never panics and is never killed.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const PROBLEM: &str = r#"
name = "problem"
steps = 400
[problem]
kind = "quadratic"
curvature = 1.0
minimizer = 0.5
[noise]
kind = "gaussian"
deviation = 0.1
[device]
response = "power"
shape = 1.0
[rule]
kind = "analog"
learning_rate = 0.01
[record]
metrics = ["gap"]
"#;

const NETWORK: &str = r#"
name = "network"
[network]
model = "mlp"
hidden = [8]
[data]
set = "digits"
[device]
response = "power"
shape = 1.0
radius = 0.4
states = 1200
[rule]
kind = "analog"
learning_rate = 0.1
[training]
epochs = 1
batch_size = 10
"#;

/// Runs a command with so many kilobytes of virtual memory.
fn within(kilobytes: u64, arguments: &[&str], folder: &Path) -> Output {
    let limit = format!("ulimit -v {kilobytes}; exec \"$0\" \"$@\"");
    Command::new("sh")
        .args(["-c", &limit, env!("CARGO_BIN_EXE_residuum")])
        .args(arguments)
        .args(["--threads", "2"])
        .current_dir(folder)
        .output()
        .unwrap()
}

#[test]
fn every_command_survives_with_little_memory() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("problem.toml"), PROBLEM).unwrap();
    fs::write(at.join("other.toml"), PROBLEM.replace("0.01", "0.02")).unwrap();
    fs::write(at.join("network.toml"), NETWORK).unwrap();
    fs::write(at.join("table.csv"), "w,q_plus,q_minus\n-1,1.5,0.2\n0,1,1\n1,0.2,1.5\n").unwrap();
    let pulse = |i: i32| format!("{},{}", 1.0 + 0.1 * f64::from(i), 4.0 - 0.1 * f64::from(i));
    let pulses: Vec<String> = (0..30).map(pulse).collect();
    fs::write(
        at.join("pulses.csv"),
        pulses.join(
            "
",
        ),
    )
    .unwrap();
    let model = r#"{"weightsManifest": [{"paths": ["shard.bin"], "weights": [
        {"name": "fc1000/kernel", "shape": [2, 1], "dtype": "float32"}]}]}"#;
    fs::write(at.join("model.json"), model).unwrap();
    fs::write(at.join("shard.bin"), [0; 8]).unwrap();
    for name in ["problem", "network"] {
        let done = within(8_000_000, &["run", &format!("{name}.toml"), "--out", name], at);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let commands: [&[&str]; 13] = [
        &["check", "network.toml"],
        &["explain", "problem.toml"],
        &["rates", "problem.toml"],
        &["run", "problem.toml", "--out", "new"],
        &["run", "network.toml", "--out", "new-network"],
        &["eval", "network"],
        &["export", "network", "--to", "w.safetensors"],
        &["report", "problem", "--to", "page.html"],
        &["runs", "list", "network"],
        &["compare", "problem.toml", "other.toml", "--out", "compared"],
        &["device", "show", "table.csv"],
        &["device", "fit", "pulses.csv"],
        &["convert", "model.json", "--to", "out.safetensors"],
    ];
    // The least in which the program starts at all.
    let mut least = 10_000;
    while !within(least, &["completions", "bash"], at).status.success() {
        least += least / 8;
    }
    for arguments in commands {
        let (mut survived, mut refused) = (0, 0);
        // From twice that, where threads can be had, to what holds every small task.
        for kilobytes in [2 * least, 4 * least, 1_000_000] {
            let output = within(kilobytes, arguments, at);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            match output.status.code() {
                Some(0 | 1) => survived += 1,
                Some(2) => {
                    assert!(said.lines().any(|line| line.starts_with("error: ")), "{arguments:?}: {said}");
                    refused += 1;
                }
                code => panic!("{arguments:?} within {kilobytes} kB ends with {code:?}: {said}"),
            }
            assert!(!said.contains("panicked"), "{arguments:?} within {kilobytes} kB: {said}");
        }
        // The rates of a rule without a transfer are refused with any memory.
        assert!(survived > 0 || arguments[0] == "rates", "{arguments:?}: refused {refused} times");
    }
}

/// The exit code and the sentence of each way to fail.
#[test]
fn every_failure_has_its_exit_code_and_sentence() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let digital = "[rule]\nkind = \"digital\"\nlearning_rate = ";
    let cut = |text: &str| {
        let (before, after) = text.split_once("[device]").unwrap();
        let rest = after.split_once("learning_rate = ").unwrap().1.split_once('\n').unwrap().1;
        (before.to_string(), rest.to_string())
    };
    for (name, text, rate) in [("problem", PROBLEM, "2.5"), ("network", NETWORK, "1e12")] {
        let (before, rest) = cut(text);
        let before = before.replace("hidden = [8]", "hidden = [8]\nactivation = \"relu\"");
        fs::write(at.join(format!("{name}.toml")), format!("{before}{digital}{rate}\n{rest}")).unwrap();
    }
    let bomb = r#"{"weightsManifest": [{"paths": ["shard.bin"], "weights": [
        {"name": "fc1000/kernel", "shape": [2305843009213693952, 4], "dtype": "float32"}]}]}"#;
    fs::write(at.join("model.json"), bomb).unwrap();
    // As many bytes as 2^61 · 4 · 4 is once it has wrapped.
    fs::write(at.join("shard.bin"), []).unwrap();
    // A trial that fails is told among the outcomes; the others are run.
    for (arguments, expected) in [
        (["run", "problem.toml", "--out", "a"], "the iteration diverges, try a smaller rule.learning_rate"),
        (["run", "network.toml", "--out", "b"], "the loss must stay below 1e9"),
    ] {
        let output = within(8_000_000, &arguments, at);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
        assert!(told.contains("failed: ") && told.contains(expected), "{arguments:?}: {told}");
    }
    let cases: [(&[&str], &str); 5] = [
        (&["convert", "model.json", "--to", "o.safetensors"], "model.json must fit into memory"),
        (&["report", "nowhere", "--to", "page.html"], "nowhere"),
        (&["eval", "nowhere"], "nowhere must be the folder of a trial in a run store"),
        (&["report", "a", "--to", "page.html"], "STORE must hold finished trials, got none"),
        (&["runs", "list", "nowhere"], "nowhere"),
    ];
    for (arguments, expected) in cases {
        let output = within(8_000_000, arguments, at);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(expected) && !said.contains("panicked"), "{arguments:?}: {said}");
    }
    assert!(!at.join("page.html").exists() && !at.join("o.safetensors").exists());
}
