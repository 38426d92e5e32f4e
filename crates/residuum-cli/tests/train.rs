//! Training as a user meets it: the main job, runs in folders, interruption, evaluation, export.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use tempfile::TempDir;

fn command(arguments: &[&str], folder: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(cargo_bin("residuum"));
    command.args(arguments).current_dir(folder);
    command
}

fn residuum(arguments: &[&str], folder: &Path) -> Output {
    command(arguments, folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The records of a run without their times.
fn records(run: &Path) -> Vec<Value> {
    let lines = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    lines
        .lines()
        .map(|line| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            for time in ["seconds", "samples_per_second"] {
                record.as_object_mut().unwrap().remove(time).unwrap();
            }
            record
        })
        .collect()
}

const SPEC: &str = r#"
[network]
model = "mlp"
hidden = [16]
[data]
set = "digits"
[device]
response = "power"
shape = 1.0
radius = 0.3
states = 1200
[readout]
preset = "aihwkit"
[digital]
learning_rate = 0.05
[training]
epochs = 12
batch_size = 10
checkpoint_every = 40
[[variant]]
name = "rl"
rule = { kind = "residual_learning", learning_rate = 0.1, transfer_rate = 0.1, mixing = 0.4 }
[[variant]]
name = "sgd"
rule = { kind = "digital", learning_rate = 0.3 }
[profile.quick]
training = { epochs = 2 }
"#;

fn with_spec() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("own.toml"), SPEC).unwrap();
    folder
}

#[test]
fn without_a_command_three_rules_learn_the_digits() {
    let folder = TempDir::new().unwrap();
    let output = residuum(&["--seed", "0"], folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let told = text(&output.stdout);
    for rule in ["Digital SGD", "Analog SGD", "Residual Learning"] {
        assert!(told.contains(rule), "{told}");
    }
    let seen = told.lines().find(|line| line.contains("fails where")).unwrap_or_else(|| panic!("{told}"));
    assert!(seen.starts_with("Analog SGD (1") && seen.contains("Residual Learning (9"), "{seen}");
    let names: Vec<String> = fs::read_dir(folder.path().join("residuum-out"))
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 3, "{names:?}");
    let csv = fs::read_to_string(folder.path().join("residuum-out/digits.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 3 * 30);
    // Again, on one thread: the same numbers, written over the old ones.
    let again = residuum(&["--seed", "0", "--threads", "1", "--json"], folder.path());
    let document: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(document["schema"], "residuum.comparison/1");
    assert_eq!(fs::read_to_string(folder.path().join("residuum-out/digits.csv")).unwrap(), csv);
}

#[test]
fn runs_lie_in_folders_that_can_be_tested_and_exported() {
    let folder = with_spec();
    let output = residuum(&["train", "own.toml", "--profile", "quick"], folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("rl, seed 0: epoch 2/2"), "{}", text(&output.stderr));
    let run = folder.path().join("runs/own/rl-0");
    assert_eq!(records(&run).len(), 2);
    assert_eq!(records(&folder.path().join("runs/own/sgd-0")).len(), 2);
    assert!(folder.path().join("runs/own/own.png").exists());

    let output = residuum(&["eval", "runs/own/sgd-0", "--json"], folder.path());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    // A digital network is tested exactly, so the number is that of its last record.
    let last = records(&folder.path().join("runs/own/sgd-0")).pop().unwrap();
    assert_eq!(document["test_accuracy"], last["test_accuracy"]);
    assert_eq!(document["samples"], 355);

    let output = residuum(&["export", "runs/own/rl-0", "--to", "rl.safetensors"], folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let state = residuum_nn::state::read_safetensors(&folder.path().join("rl.safetensors")).unwrap();
    let mut names: Vec<&str> = state.names().collect();
    names.sort_unstable();
    assert_eq!(names, ["1.bias", "1.weight", "3.bias", "3.weight"]);
    // What was exported starts another network.
    let fine = SPEC.replace("hidden = [16]", "hidden = [16]\nweights = \"rl.safetensors\"");
    fs::write(folder.path().join("fine.toml"), &fine).unwrap();
    let output =
        residuum(&["train", "fine.toml", "--profile", "quick", "--variant", "sgd", "-q"], folder.path());
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    let first = |run: &str| records(&folder.path().join(run))[0]["train_loss"].as_f64().unwrap();
    assert!(first("runs/fine/sgd-0") < first("runs/own/sgd-0"));
    fs::write(folder.path().join("fine.toml"), fine.replace("[16]", "[17]")).unwrap();
    let output = residuum(&["train", "fine.toml", "--out", "else"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr)
            .contains("rl.safetensors: tensor 1.weight must have shape [17, 64], got [16, 64]\n"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_run_names_no_folder_of_the_machine() {
    let folder = with_spec();
    let output = residuum(&["train", "own.toml", "--profile", "quick"], folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let manifest = fs::read_to_string(folder.path().join("runs/own/rl-0/run.json")).unwrap();
    let document: Value = serde_json::from_str(&manifest).unwrap();
    let names: Vec<&String> = document.as_object().unwrap().keys().collect();
    assert_eq!(names, ["schema", "version", "trial", "seed", "profile"]);

    let output = residuum(&["export", "runs/own/sgd-0", "--to", "sgd.safetensors"], folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    fs::create_dir(folder.path().join("specs")).unwrap();
    for (name, frozen) in [("free", "none"), ("cold", "backbone")] {
        let fields = format!("hidden = [16]\nweights = \"../sgd.safetensors\"\nfrozen = \"{frozen}\"");
        // Nothing on tiles, so that a frozen backbone is one.
        let spec = SPEC.replace("hidden = [16]", &fields).replace("[data]", "analog = \"head\"\n[data]");
        fs::write(folder.path().join(format!("specs/{name}.toml")), spec).unwrap();
        let train = ["train", &format!("specs/{name}.toml"), "--profile", "quick", "--variant", "sgd"];
        let output = residuum(&train, folder.path());
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    // A checkpoint holds all that has learned; the weights below a head that learned alone are where the spec says.
    let eval = |run: &str, more: &[&str]| residuum(&[&["eval", run][..], more].concat(), folder.path());
    let output = eval("runs/free/sgd-0", &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = eval("runs/cold/sgd-0", &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("sgd.safetensors"), "{}", text(&output.stderr));
    let output = eval("runs/cold/sgd-0", &["--base", "specs"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// Two tiny files of images and labels with MNIST's names.
fn made_mnist(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for part in ["train", "t10k"] {
        let images = [&[0, 0, 8, 3, 0, 0, 0, 20, 0, 0, 0, 28, 0, 0, 0, 28][..], &[7; 20 * 784]].concat();
        let labels: Vec<u8> = [0, 0, 8, 1, 0, 0, 0, 20].into_iter().chain((0..20).map(|i| i % 10)).collect();
        fs::write(folder.join(format!("{part}-images-idx3-ubyte")), images).unwrap();
        fs::write(folder.join(format!("{part}-labels-idx1-ubyte")), labels).unwrap();
    }
}

#[test]
fn export_needs_no_data() {
    let folder = TempDir::new().unwrap();
    made_mnist(&folder.path().join("data/mnist"));
    fs::write(folder.path().join("own.toml"), SPEC.replace("digits", "mnist")).unwrap();
    let output = residuum(&["train", "own.toml", "--profile", "quick", "--data", "data"], folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    fs::remove_dir_all(folder.path().join("data")).unwrap();
    let output = residuum(&["eval", "runs/own/rl-0", "--data", "data"], folder.path());
    assert_eq!(output.status.code(), Some(2), "the data are gone");
    let output = residuum(&["export", "runs/own/rl-0", "--to", "rl.safetensors", "--json"], folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&document["tensors"], &document["steps"]), (&4.into(), &4.into()));
    let state = residuum_nn::state::read_safetensors(&folder.path().join("rl.safetensors")).unwrap();
    assert_eq!(state["1.weight"].shape, [16, 784]);
}

#[test]
fn keras_weights_become_safetensors() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let model = r#"{"weightsManifest": [{"paths": ["shard.bin"], "weights": [
        {"name": "bn5c_branch2b/beta", "shape": [2], "dtype": "float32"},
        {"name": "fc1000/kernel", "shape": [2, 1], "dtype": "float32"}]}]}"#;
    let bytes: Vec<u8> = [1.0_f32, 2.0, 3.0, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    fs::write(path("shard.bin"), &bytes).unwrap();
    fs::write(path("model.json"), model).unwrap();
    let arguments = ["convert", "model.json", "--to", "out.safetensors"];
    let output = residuum(&arguments, folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let state = residuum_nn::state::read_safetensors(&path("out.safetensors")).unwrap();
    let mut names: Vec<&str> = state.names().collect();
    names.sort_unstable();
    assert_eq!(names, ["fc.weight", "layer4.2.bn2.bias"]);
    assert_eq!(state["fc.weight"].shape, [1, 2]);
    fs::remove_file(path("out.safetensors")).unwrap();

    let refused = |expected: &str| {
        let output = residuum(&arguments, folder.path());
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
        assert!(!path("out.safetensors").exists());
    };
    fs::write(path("model.json"), model.replace("fc1000", "dense")).unwrap();
    refused("model.json must hold a ResNet of Keras, but none has a tensor dense/kernel ([2, 1])");
    fs::write(path("model.json"), model).unwrap();
    fs::write(path("shard.bin"), &bytes[1..]).unwrap();
    refused("the shards of model.json must hold 16 bytes, got 15");
    fs::remove_file(path("shard.bin")).unwrap();
    refused("shard.bin");
}

fn wait_for(file: &Path, child: &mut Child) {
    let start = Instant::now();
    while !file.exists() || fs::read_to_string(file).unwrap().lines().count() < 2 {
        assert!(
            child.try_wait().unwrap().is_none() && start.elapsed() < Duration::from_mins(2),
            "no epoch in time"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_go_on_and_ends_the_same() {
    let folder = with_spec();
    let arguments = ["train", "own.toml", "--variant", "rl", "--out", "cut"];
    let mut child = command(&arguments, folder.path()).stderr(Stdio::piped()).spawn().unwrap();
    let run = folder.path().join("cut/rl-0");
    wait_for(&run.join("metrics.jsonl"), &mut child);
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("residuum train own.toml --variant rl --out cut --resume"));
    assert!(records(&run).len() < 12);

    // Without --resume nothing is touched; with another spec neither.
    let refused = residuum(&arguments, folder.path());
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("must not hold a run already"), "{}", text(&refused.stderr));
    fs::write(folder.path().join("own.toml"), SPEC.replace("mixing = 0.4", "mixing = 0.5")).unwrap();
    let refused = residuum(&[&arguments[..], &["--resume"]].concat(), folder.path());
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("mixing"), "{}", text(&refused.stderr));
    fs::write(folder.path().join("own.toml"), SPEC).unwrap();

    let resumed = residuum(&[&arguments[..], &["--resume"]].concat(), folder.path());
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    residuum(&["train", "own.toml", "--variant", "rl", "--out", "whole"], folder.path());
    let whole = records(&folder.path().join("whole/rl-0"));
    assert_eq!(whole.len(), 12);
    assert_eq!(records(&run), whole);
    // A seed of its own ends elsewhere: the comparison above can fail.
    residuum(&["train", "own.toml", "--variant", "rl", "--out", "other", "--seed", "1"], folder.path());
    assert_ne!(records(&folder.path().join("other/rl-1")), whole);
}

#[test]
fn misuse_ends_with_2_and_says_why() {
    let folder = with_spec();
    let cases: [(&[&str], &str); 7] = [
        (&["train"], "name a spec"),
        (&["train", "mnist"], "must be a spec file or one of digits, mnist-fcn"),
        (&["train", "own.toml", "--variant", "x*"], "got \"x*\""),
        (&["train", "own.toml", "--variant", "x"], "--variant must be one of rl, sgd, or a pattern"),
        (&["train", "own.toml", "--profile", "x"], "profile must be one of full, quick"),
        (&["train", "mnist-fcn", "--data", "nowhere"], "nowhere"),
        (&["eval", "own.toml"], "must be the folder of a run"),
    ];
    for (arguments, expected) in cases {
        let output = residuum(arguments, folder.path());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(expected), "{arguments:?}: {}", text(&output.stderr));
    }
    let list = text(&residuum(&["train", "--list"], folder.path()).stdout);
    assert!(list.lines().any(|line| line == "mnist-fcn"), "{list}");
    assert!(!folder.path().join("runs/mnist-fcn").exists(), "nothing is begun without data");
}
