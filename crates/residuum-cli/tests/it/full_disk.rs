//! A disk that fills up in the middle of the work: finished work stays, nothing is half written, and the same command continues.
//!
//! A limit on the size of files stands for the disk: writes beyond it are refused as they are on a full one.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// Blocks of 512 bytes that a file may have; `store.json`, manifests and small records fit.
const BLOCKS: u32 = 40;

/// The first trial writes little, the second more than the limit.
const PROBLEM: &str = r#"
name = "problem"
steps = 4000
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
[sweep]
"record.every" = [1000, 1]
"#;

/// The same for checkpoints.
const NETWORK: &str = r#"
name = "network"
[network]
model = "mlp"
[data]
set = "digits"
train_per_class = 10
[device]
response = "power"
shape = 1.0
radius = 0.3
states = 1200
[rule]
kind = "analog"
learning_rate = 0.1
[training]
epochs = 1
batch_size = 10
[sweep]
"network.hidden" = [[2], [200]]
"#;

fn residuum(arguments: &[&str], folder: &Path, limited: bool) -> Output {
    let program = env!("CARGO_BIN_EXE_residuum");
    // Without the trap the first refused write would kill the process.
    let limit = format!("trap '' XFSZ; ulimit -f {BLOCKS}; exec \"$0\" \"$@\"");
    let mut command = if limited { Command::new("sh") } else { Command::new(program) };
    if limited {
        command.args(["-c", &limit, program]);
    }
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn message(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn fine(arguments: &[&str], folder: &Path) -> String {
    let output = residuum(arguments, folder, false);
    assert!(output.status.success(), "{}", message(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Done trials with the bytes of their records, and how many were begun and are not done.
fn held(store: &str, folder: &Path) -> (BTreeMap<String, Vec<u8>>, u64) {
    let list: Value = serde_json::from_str(&fine(&["runs", "list", store, "--json"], folder)).unwrap();
    let records = |trial: &Value| {
        let id = trial["id"].as_str().unwrap().to_string();
        assert_eq!(trial["failed"], Value::Null);
        let bytes = fs::read(folder.join(store).join("trials").join(&id).join("records.csv")).unwrap();
        (id, bytes)
    };
    (list["trials"].as_array().unwrap().iter().map(records).collect(), list["begun"].as_u64().unwrap())
}

/// Half-written files anywhere below.
fn litter(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if name.contains("partial") {
            found.push(name);
        } else if entry.path().is_dir() {
            found.extend(litter(&entry.path()));
        }
    }
    found
}

fn fills_up(spec: &str, file: &str) {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("spec.toml"), spec).unwrap();
    fine(&["run", "spec.toml", "--out", "whole"], at);
    let (whole, _) = held("whole", at);
    assert_eq!(whole.len(), 2);

    for _ in 0..2 {
        // One after the other, so that the small one is done when the large one fails.
        let output = residuum(&["run", "spec.toml", "--out", "store", "--jobs", "1"], at, true);
        let message = message(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.lines().last().unwrap().starts_with("error: "), "{message}");
        assert!(message.contains(file) && message.contains("File too large"), "{message}");
        let (done, begun) = held("store", at);
        assert_eq!((done.len(), begun), (1, 1), "{message}");
        assert!(done.iter().all(|(id, records)| whole[id] == *records));
        assert_eq!(litter(at), Vec::<String>::new());
    }
    assert!(
        fine(&["run", "spec.toml", "--out", "store"], at)
            .contains("2 trials: 1 done, 1 already done; in store\n")
    );
    assert_eq!(held("store", at), (whole, 0));
}

#[test]
fn records_that_do_not_fit_cost_their_trial_alone() {
    fills_up(PROBLEM, "records.csv");
}

#[test]
fn checkpoints_that_do_not_fit_cost_their_trial_alone() {
    fills_up(NETWORK, "state.safetensors");
}

#[test]
fn a_report_that_does_not_fit_leaves_the_old_one() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("spec.toml"), PROBLEM).unwrap();
    fine(&["run", "spec.toml", "--out", "store"], at);
    fs::write(at.join("page.html"), "old").unwrap();
    let output = residuum(&["report", "store", "--to", "page.html"], at, true);
    assert_eq!(output.status.code(), Some(2));
    let told = message(&output);
    assert!(told.contains("page.html must be writable") && told.contains("File too large"), "{told}");
    assert_eq!(fs::read_to_string(at.join("page.html")).unwrap(), "old");
    assert_eq!(litter(at), Vec::<String>::new());
    // Where there is room it is replaced.
    fine(&["report", "store", "--to", "page.html"], at);
    assert!(fs::read_to_string(at.join("page.html")).unwrap().len() > 512 * BLOCKS as usize);
}

#[test]
fn figures_that_do_not_fit_leave_the_old_ones() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fine(&["reproduce", "fig-response", "--out", "whole"], at);
    fs::create_dir(at.join("out")).unwrap();
    fs::write(at.join("out/fig-response.svg"), "old").unwrap();
    let output = residuum(&["reproduce", "fig-response", "--out", "out"], at, true);
    assert_eq!(output.status.code(), Some(2));
    let told = message(&output);
    assert!(told.contains("fig-response.") && told.contains("File too large"), "{told}");
    assert_eq!(litter(at), Vec::<String>::new());
    // Every file is the old one or the whole new one.
    let mut kept = 0;
    for entry in fs::read_dir(at.join("out")).unwrap().map(Result::unwrap) {
        let bytes = fs::read(entry.path()).unwrap();
        let new = fs::read(at.join("whole").join(entry.file_name())).unwrap();
        kept += usize::from(bytes == b"old");
        assert!(bytes == b"old" || bytes == new, "{}", entry.path().display());
    }
    assert_eq!(kept, 1);
}
