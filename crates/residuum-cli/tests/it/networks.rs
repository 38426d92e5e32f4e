//! Networks as a user meets them: the main job, trials in a store, interruption, evaluation, export.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
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

fn json(arguments: &[&str], folder: &Path) -> Value {
    let output = residuum(arguments, folder);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output.stderr)))
}

/// The folders of the trials of a store by name and seed.
fn trials(store: &str, folder: &Path) -> BTreeMap<String, PathBuf> {
    let list = json(&["runs", "list", store, "--json"], folder);
    let entry = |t: &Value| {
        let path = folder.join(store).join("trials").join(t["id"].as_str().unwrap());
        (format!("{}-{}", t["name"].as_str().unwrap(), t["seed"]), path)
    };
    list["trials"].as_array().unwrap().iter().map(entry).collect()
}

fn records(trial: &Path) -> String {
    fs::read_to_string(trial.join("records.csv")).unwrap()
}

/// The numbers of a metric, in their order.
fn values(trial: &Path, metric: &str) -> Vec<f64> {
    let of = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[2] == metric).then(|| cells[5].parse().unwrap())
    };
    records(trial).lines().filter_map(of).collect()
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
    let store = "residuum-out/digits";
    assert!(told.ends_with(&format!("written: {store}/digits.svg, {store}/digits.png\n")), "{told}");
    let of_two: Vec<String> = trials(store, folder.path()).values().map(|t| records(t)).collect();
    assert_eq!(of_two.len(), 3);
    // Again: what is there is told again. Elsewhere, on one thread: the same numbers.
    let again = json(&["--seed", "0", "--json"], folder.path());
    assert_eq!((&again["schema"], &again["already"]), (&"residuum.run/2".into(), &3.into()));
    assert_eq!(again["trials"][0]["runs"][0]["epochs"].as_array().unwrap().len(), 30);
    let one = json(&["--seed", "0", "--threads", "1", "--out", "one", "--json"], folder.path());
    assert_eq!(one["findings"], again["findings"]);
    let of_one: Vec<String> = trials("one/digits", folder.path()).values().map(|t| records(t)).collect();
    assert_eq!(of_one, of_two);
}

#[test]
fn trials_lie_in_a_store_and_can_be_tested_and_exported() {
    let folder = with_spec();
    let at = folder.path();
    let output = residuum(&["run", "own.toml", "--profile", "quick"], at);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(at.join("runs/own/own.png").exists());
    let own = trials("runs/own", at);
    for trial in own.values() {
        assert_eq!(values(trial, "test_accuracy").len(), 2);
        for file in ["metrics.jsonl", "events.out.tfevents.residuum"] {
            assert!(trial.join("run").join(file).exists(), "{file}");
        }
    }
    let document = json(&["eval", "runs/own", "name=sgd", "--json"], at);
    // A digital network is tested exactly, so the number is that of its last record.
    assert_eq!(document["test_accuracy"].as_f64(), values(&own["sgd-0"], "test_accuracy").last().copied());
    assert_eq!(document["samples"], 355);

    let output = residuum(&["export", "runs/own", "name=rl", "--to", "rl.safetensors"], at);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let state = residuum_nn::state::read_safetensors(&at.join("rl.safetensors")).unwrap();
    let mut names: Vec<&str> = state.names().collect();
    names.sort_unstable();
    assert_eq!(names, ["1.bias", "1.weight", "3.bias", "3.weight"]);
    // What was exported starts another network.
    let fine = SPEC.replace("hidden = [16]", "hidden = [16]\nweights = \"rl.safetensors\"");
    fs::write(at.join("fine.toml"), &fine).unwrap();
    let output = residuum(&["run", "fine.toml", "--profile", "quick", "--variant", "sgd", "-q"], at);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    let fined = trials("runs/fine", at);
    assert_eq!(fined.len(), 1);
    assert!(values(&fined["sgd-0"], "train_loss")[0] < values(&own["sgd-0"], "train_loss")[0]);
    fs::write(at.join("fine.toml"), fine.replace("[16]", "[17]")).unwrap();
    let output = residuum(&["run", "fine.toml", "--out", "else"], at);
    assert_eq!(output.status.code(), Some(1));
    let expected =
        "rl.safetensors: tensor 1.weight must have shape [17, 64], got [16, 64]; run the same command to retry";
    assert!(text(&output.stdout).contains(expected), "{}", text(&output.stdout));
}

#[test]
fn a_trial_names_no_folder_of_the_machine() {
    let folder = with_spec();
    let at = folder.path();
    assert!(residuum(&["run", "own.toml", "--profile", "quick"], at).status.success());
    let output = residuum(&["export", "runs/own", "name=sgd", "--to", "sgd.safetensors"], at);
    assert!(output.status.success(), "{}", text(&output.stderr));
    fs::create_dir(at.join("specs")).unwrap();
    for (name, frozen) in [("free", "none"), ("cold", "backbone")] {
        let fields = format!("hidden = [16]\nweights = \"../sgd.safetensors\"\nfrozen = \"{frozen}\"");
        // Nothing on tiles, so that a frozen backbone is one.
        let spec = SPEC.replace("hidden = [16]", &fields).replace("[data]", "analog = \"head\"\n[data]");
        fs::write(at.join(format!("specs/{name}.toml")), spec).unwrap();
        let run = ["run", &format!("specs/{name}.toml"), "--profile", "quick", "--variant", "sgd"];
        let output = residuum(&run, at);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let manifest =
            fs::read_to_string(trials(&format!("runs/{name}"), at)["sgd-0"].join("manifest.json")).unwrap();
        assert!(!manifest.contains(at.to_str().unwrap()), "{manifest}");
    }
    // A checkpoint holds all that has learned; the weights below a head that learned alone are where the spec says.
    let eval = |store: &str, more: &[&str]| residuum(&[&["eval", store][..], more].concat(), at);
    let output = eval("runs/cold", &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("sgd.safetensors"), "{}", text(&output.stderr));
    for store in ["runs/free", "runs/cold"] {
        let output = eval(store, &["--base", "specs"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
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
    let output = residuum(&["run", "own.toml", "--profile", "quick", "--data", "data"], folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    fs::remove_dir_all(folder.path().join("data")).unwrap();
    let output = residuum(&["eval", "runs/own", "name=rl", "--data", "data"], folder.path());
    assert_eq!(output.status.code(), Some(2), "the data are gone");
    let document = json(&["export", "runs/own", "name=rl", "--to", "rl.safetensors", "--json"], folder.path());
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
    refused("model.json must be a Keras ResNet, got an unknown tensor dense/kernel ([2, 1])");
    fs::write(path("model.json"), model).unwrap();
    fs::write(path("shard.bin"), &bytes[1..]).unwrap();
    refused("the shards of model.json must hold 16 bytes, got 15");
    fs::remove_file(path("shard.bin")).unwrap();
    refused("shard.bin");
}

/// Waits until a trial of the store has so many epochs in its metrics, and gives its folder.
fn wait_for(store: &Path, epochs: usize, child: &mut Child) -> PathBuf {
    let start = Instant::now();
    loop {
        let folders = fs::read_dir(store.join("trials")).into_iter().flatten();
        for folder in folders.map(|f| f.unwrap().path()) {
            let metrics = fs::read_to_string(folder.join("run/metrics.jsonl")).unwrap_or_default();
            if metrics.lines().count() >= epochs {
                return folder;
            }
        }
        let is_running = child.try_wait().unwrap().is_none();
        assert!(is_running && start.elapsed() < Duration::from_mins(2), "no epoch in time");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn an_interrupted_run_goes_on_to_the_same_bits() {
    let folder = with_spec();
    let at = folder.path();
    let arguments = ["run", "own.toml", "--variant", "rl", "--out", "cut"];
    let mut child = command(&arguments, at).stderr(Stdio::piped()).spawn().unwrap();
    let trial = wait_for(&at.join("cut"), 2, &mut child);
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("residuum run own.toml --variant rl --out cut"));
    assert!(!trial.join("records.csv").exists());
    // What was begun can be tested, and the test leaves it as it is.
    let tested = json(&["eval", trial.to_str().unwrap(), "--json"], at);
    assert!((1..12).contains(&tested["epochs"].as_u64().unwrap()), "{tested}");

    // An edited spec is another trial; this one stays.
    fs::write(at.join("own.toml"), SPEC.replace("mixing = 0.4", "mixing = 0.5")).unwrap();
    assert!(residuum(&arguments, at).status.success());
    assert!(!trial.join("records.csv").exists());
    fs::write(at.join("own.toml"), SPEC).unwrap();

    // The old word for it is taken.
    let resumed = residuum(&[&["train"], &arguments[1..], &["--resume"]].concat(), at);
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    residuum(&["run", "own.toml", "--variant", "rl", "--out", "whole"], at);
    let whole = &trials("whole", at)["rl-0"];
    assert_eq!(values(whole, "test_accuracy").len(), 12);
    assert_eq!(records(&trial), records(whole));
    // A seed of its own ends elsewhere: the comparison above can fail.
    residuum(&["run", "own.toml", "--variant", "rl", "--out", "whole", "--seed", "1"], at);
    assert_ne!(records(&trials("whole", at)["rl-1"]), records(whole));
}

/// Readers never tidy: a partial checkpoint belongs to the process that writes it.
#[test]
fn a_test_during_training_takes_nothing_away() {
    let folder = with_spec();
    let at = folder.path();
    assert!(residuum(&["run", "own.toml", "--profile", "quick", "--variant", "sgd"], at).status.success());
    let trial = &trials("runs/own", at)["sgd-0"];
    let partial = trial.join("run/checkpoints/partial");
    fs::create_dir_all(&partial).unwrap();
    fs::write(partial.join("state.safetensors"), "half of it").unwrap();
    assert!(residuum(&["eval", "runs/own"], at).status.success());
    assert!(residuum(&["export", "runs/own", "--to", "a.safetensors"], at).status.success());
    assert!(partial.join("state.safetensors").exists());
}

#[test]
fn a_damaged_checkpoint_is_not_passed_over_in_silence() {
    let folder = with_spec();
    let at = folder.path();
    assert!(residuum(&["run", "own.toml", "--variant", "sgd"], at).status.success());
    let checkpoints = trials("runs/own", at)["sgd-0"].join("run/checkpoints");
    let mut names: Vec<PathBuf> = fs::read_dir(checkpoints).unwrap().map(|f| f.unwrap().path()).collect();
    names.sort();
    let newest = names.pop().unwrap().join("state.safetensors");
    let mut bytes = fs::read(&newest).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&newest, bytes).unwrap();
    for command in [&["eval", "runs/own"][..], &["export", "runs/own", "--to", "a.safetensors"]] {
        let refused = residuum(command, at);
        assert_eq!(refused.status.code(), Some(2));
        let message = text(&refused.stderr);
        assert!(message.contains("is damaged") && message.contains("--allow-older"), "{message}");
        let allowed = residuum(&[command, &["--allow-older"]].concat(), at);
        assert!(allowed.status.success(), "{}", text(&allowed.stderr));
    }
}

#[test]
fn misuse_ends_with_2_and_says_why() {
    let folder = with_spec();
    let cases: [(&[&str], &str); 21] = [
        (&["run", "own.toml", "--threads", "0"], "--threads must be between 1 and 1024, got 0"),
        (&["run", "own.toml", "--threads", "99999999"], "--threads must be between 1 and 1024, got 99999999"),
        (&["tune", "own.toml", "--trials", "0"], "tune needs a budget of 5 to 1000000 trials, got 0"),
        (&["tune", "own.toml", "--trials", "99999999999"], "tune needs a budget of 5 to 1000000 trials"),
        (&["tune", "own.toml", "--minutes", "nan"], "tune needs minutes above 0, got NaN"),
        (&["tune", "own.toml", "--minutes", "0"], "tune needs minutes above 0, got 0"),
        (&["tune", "own.toml", "--jobs", "0"], "jobs must be at least 1, got 0"),
        (&["tune", "own.toml", "--seeds", "0"], "--seeds must be between 1 and the "),
        (&["tune", "own.toml", "--seeds", "99999999999"], "--seeds must be between 1 and the "),
        (&["tune", "own.toml", "--seed", "18446744073709551615"], "--seed must be at most 92233720368547757"),
        (&["run", "own.toml", "--slurm", "--json"], "--json has no effect on --slurm"),
        (&["eval", "runs/own", "--after", "1h,1e300y"], "a time must be at most 1e30 s, got \"1e300y\""),
        (&["run", "/dev/zero"], "it must have at most 67108864 bytes, got more"),
        (&["run"], "NAME|SPEC.toml must be given"),
        (&["run", "mnist"], "must be a spec file or one of digits, "),
        (&["run", "own.toml", "--variant", "x*"], "got \"x*\""),
        (&["run", "own.toml", "--variant", "x"], "variant must be one of rl, sgd, or a pattern"),
        (&["run", "own.toml", "--profile", "x"], "profile must be one of full, quick"),
        (&["run", "own.toml", "--jobs", "0"], "jobs must be at least 1, got 0"),
        (&["run", "mnist-fcn", "--data", "nowhere"], "data set mnist is not in nowhere/mnist"),
        (&["eval", "own.toml"], "own.toml must be the folder of a trial in a run store"),
    ];
    for (arguments, expected) in cases {
        let output = residuum(arguments, folder.path());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(expected), "{arguments:?}: {}", text(&output.stderr));
    }
    for name in ["run", "train", "sweep"] {
        let list = text(&residuum(&[name, "--list"], folder.path()).stdout);
        assert!(list.lines().any(|line| line == "mnist-fcn"), "{list}");
    }
    assert!(!folder.path().join("runs/mnist-fcn").exists(), "nothing is begun without data");
}
