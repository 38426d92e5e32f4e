//! Data that are replaced under a run or between two of them: what a trial is known by is what it was run with.
#![cfg(unix)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

const NETWORK: &str = r#"
name = "network"
[network]
model = "mlp"
hidden = [4]
[data]
csv = "table.csv"
label = "y"
[device]
response = "power"
shape = 1.0
radius = 0.9
states = 1200
[rule]
kind = "analog"
learning_rate = 0.1
[training]
epochs = 400
batch_size = 10
seeds = [1, 2]
checkpoint_every = 20
"#;

fn command(arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_residuum"));
    command.args(arguments).current_dir(folder);
    command
}

fn residuum(arguments: &[&str], folder: &Path) -> Output {
    command(arguments, folder).output().unwrap()
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Exit code 2 and a sentence with this piece.
fn told(output: &Output, piece: &str) {
    let said = message(output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(piece) && !said.contains("panicked"), "{said}");
}

/// A table of two classes that differ by `shift`.
fn table(shift: f64) -> String {
    (0..60).fold("a,b,y\n".into(), |mut text, i| {
        let x = f64::from(i % 7) / 7.0;
        let (a, class) = if i % 2 == 0 { (x, "left") } else { (x + shift, "right") };
        writeln!(text, "{a},{},{class}", 1.0 - x).unwrap();
        text
    })
}

fn begun(spec: &str, folder: &Path) -> Child {
    fs::write(folder.join("spec.toml"), spec).unwrap();
    let mut child = command(&["run", "spec.toml", "--out", "store", "--jobs", "1"], folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let has_checkpoint = || {
        fs::read_dir(folder.join("store/trials")).into_iter().flatten().flatten().any(|trial| {
            let checkpoints = fs::read_dir(trial.path().join("run/checkpoints"));
            checkpoints.is_ok_and(|all| all.flatten().any(|c| c.file_name() != "partial"))
        })
    };
    while !has_checkpoint() {
        assert!(child.try_wait().unwrap().is_none(), "it ended too early");
        assert!(start.elapsed() < Duration::from_mins(2), "it never began");
        thread::sleep(Duration::from_millis(1));
    }
    child
}

/// Puts a file in the place of another, whole.
fn replace(folder: &Path, name: &str, contents: &[u8]) {
    fs::write(folder.join("new"), contents).unwrap();
    fs::rename(folder.join("new"), folder.join(name)).unwrap();
}

/// The records of finished trials, in order.
fn records(store: &Path) -> Vec<Vec<u8>> {
    let mut trials: Vec<_> = fs::read_dir(store.join("trials")).unwrap().map(|t| t.unwrap().path()).collect();
    trials.sort();
    trials.iter().filter_map(|trial| fs::read(trial.join("records.csv")).ok()).collect()
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", message(output));
}

/// A table is read once, so all trials of a command see the one that the spec was read with.
#[test]
fn a_table_replaced_during_a_run_is_not_seen() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("table.csv"), table(0.5)).unwrap();
    let child = begun(NETWORK, at);
    replace(at, "table.csv", b"rubbish");
    succeeded(&child.wait_with_output().unwrap());
    replace(at, "table.csv", table(0.5).as_bytes());
    succeeded(&residuum(&["run", "spec.toml", "--out", "whole"], at));
    let (disturbed, whole) = (records(&at.join("store")), records(&at.join("whole")));
    assert_eq!(whole.len(), 2);
    assert!(disturbed == whole);
}

/// Between two runs it makes another trial: what was begun with other data is not continued.
#[test]
fn a_table_replaced_between_runs_makes_another_trial() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::write(at.join("table.csv"), table(0.5)).unwrap();
    let child = begun(&NETWORK.replace("[1, 2]", "[1]"), at);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let stopped = child.wait_with_output().unwrap();
    assert!(matches!(stopped.status.code(), Some(0 | 130)), "{}", message(&stopped));
    replace(at, "table.csv", table(0.7).as_bytes());
    for out in ["store", "whole"] {
        succeeded(&residuum(&["run", "spec.toml", "--out", out], at));
    }
    let whole = records(&at.join("whole"));
    assert!(whole.len() == 1 && records(&at.join("store")).contains(&whole[0]));
    assert_eq!(fs::read_dir(at.join("store/trials")).unwrap().count(), 2);
    succeeded(&residuum(&["eval", "whole"], at));
    replace(at, "table.csv", table(0.5).as_bytes());
    told(
        &residuum(&["eval", "whole"], at),
        "data.csv: the file must be the one that the trial was run with, but its contents have changed",
    );
}

/// Files in the format of MNIST with two images of each class.
fn images(folder: &Path, part: &str, brightness: u8) {
    let mut pixels: Vec<u8> = [0x803_u32, 20, 28, 28].iter().flat_map(|n| n.to_be_bytes()).collect();
    pixels.extend((0..20 * 784_u32).map(|i| brightness.wrapping_add((i % 251) as u8)));
    let mut labels: Vec<u8> = [0x801_u32, 20].iter().flat_map(|n| n.to_be_bytes()).collect();
    labels.extend((0..20).map(|i| i % 10));
    replace(folder, &format!("{part}-images-idx3-ubyte"), &pixels);
    replace(folder, &format!("{part}-labels-idx1-ubyte"), &labels);
}

/// A published set is read by every trial; one that changed in between would pass for the other.
#[test]
fn a_data_set_replaced_during_a_run_is_refused() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    fs::create_dir(at.join("own")).unwrap();
    images(&at.join("own"), "train", 3);
    images(&at.join("own"), "t10k", 5);
    let spec = NETWORK
        .replace("csv = \"table.csv\"\nlabel = \"y\"", "set = \"mnist\"\ndirectory = \"own\"")
        .replace("radius = 0.9", "radius = 0.3");
    let child = begun(&spec, at);
    images(&at.join("own"), "t10k", 90);
    let refused = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    let expected = "t10k-images-idx3-ubyte must stay as it was when the spec was read, but it has changed; run the command again";
    assert!(said.contains("failed: ") && said.contains(expected), "{said}");
    assert_eq!(records(&at.join("store")).len(), 1, "what was finished stays");
    // Again, the files are what they are: two trials of the new set.
    succeeded(&residuum(&["run", "spec.toml", "--out", "store"], at));
    assert_eq!(records(&at.join("store")).len(), 3);
}
