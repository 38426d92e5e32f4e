//! What a machine can do to a run: each fault ends with the promised exit code and a sentence, and what was finished stays.
//! A full disk has a file of its own, `full_disk`; kills are in `kills`.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;

use super::levels::levels;

const PROBLEM: &str = r#"
name = "problem"
steps = 4000
seeds = { count = 4 }
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
radius = 0.3
states = 1200
[rule]
kind = "analog"
learning_rate = 0.1
[training]
epochs = 400
batch_size = 10
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

/// Exit code 2, one sentence that begins with `error: ` and contains these pieces, and no panic.
fn told(output: &Output, pieces: &[&str]) {
    let said = message(output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.lines().last().is_some_and(|line| line.starts_with("error: ")), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    for piece in pieces {
        assert!(said.contains(piece), "{piece:?}: {said}");
    }
}

fn with(spec: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("spec.toml"), spec).unwrap();
    folder
}

/// Waits for something on the disk while a process runs.
fn wait(child: &mut Child, what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(child.try_wait().unwrap().is_none(), "it ended too early");
        assert!(start.elapsed() < Duration::from_mins(2), "it never began");
        thread::sleep(Duration::from_millis(2));
    }
}

fn has_checkpoint(store: &Path) -> bool {
    let mut trials = fs::read_dir(store.join("trials")).into_iter().flatten();
    trials.any(|trial| {
        let checkpoints = trial.unwrap().path().join("run/checkpoints");
        fs::read_dir(checkpoints).is_ok_and(|all| all.flatten().any(|c| c.file_name() != "partial"))
    })
}

fn ended(mut child: Child) -> Output {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_mins(2), "it never ended");
        thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn a_place_that_cannot_be_written_is_told_before_any_work() {
    let folder = with(PROBLEM);
    // Nobody, not even the superuser, writes here.
    told(&residuum(&["run", "spec.toml", "--out", "/proc/residuum"], folder.path()), &["/proc/residuum"]);
    let made = residuum(&["run", "spec.toml", "--out", "store"], folder.path());
    assert!(made.status.success(), "{}", message(&made));
    told(
        &residuum(&["report", "store", "--to", "/proc/page.html"], folder.path()),
        &["/proc/page.html must be writable"],
    );
    // A file where a folder must be.
    fs::write(folder.path().join("file"), "").unwrap();
    told(&residuum(&["run", "spec.toml", "--out", "file"], folder.path()), &["file"]);
    told(&residuum(&["run", "spec.toml", "--out", "file/store"], folder.path()), &["file/store"]);
}

#[test]
fn a_folder_removed_during_a_run_is_told() {
    let folder = with(NETWORK);
    let store = folder.path().join("store");
    let mut child = command(&["run", "spec.toml", "--out", "store"], folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait(&mut child, || has_checkpoint(&store));
    // The run may be writing: what it has just made is removed too.
    while store.exists() {
        let _ = fs::remove_dir_all(&store);
    }
    told(&ended(child), &["store"]);
}

/// Weights that were replaced between the reading of the spec and the trial would pass for those that its id names.
#[test]
fn weights_replaced_during_a_run_are_not_taken() {
    let folder = with(&NETWORK.replace("epochs = 400", "epochs = 1"));
    let at = folder.path();
    assert!(residuum(&["run", "spec.toml", "--out", "first"], at).status.success());
    for (name, seed) in [("a", "1"), ("b", "2")] {
        let run = residuum(&["run", "spec.toml", "--out", name, "--seed", seed], at);
        assert!(run.status.success(), "{}", message(&run));
        let to = format!("{name}.safetensors");
        assert!(residuum(&["export", name, "--to", &to], at).status.success());
    }
    // A long first trial, then one that needs the weights.
    let text = NETWORK
        .replace("hidden = [8]", "hidden = [8]\nweights = \"w.safetensors\"")
        .replace("batch_size = 10", "batch_size = 10\nseeds = [1, 2]");
    fs::write(at.join("spec.toml"), &text).unwrap();
    fs::copy(at.join("a.safetensors"), at.join("w.safetensors")).unwrap();
    let mut child = command(&["run", "spec.toml", "--out", "store", "--jobs", "1"], at)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait(&mut child, || has_checkpoint(&at.join("store")));
    fs::copy(at.join("b.safetensors"), at.join("new.safetensors")).unwrap();
    fs::rename(at.join("new.safetensors"), at.join("w.safetensors")).unwrap();
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    assert_eq!(ended(child).status.code(), Some(130));
    // The same command now means other trials; the one that was begun is not continued with other weights.
    let short = text.replace("epochs = 400", "epochs = 1");
    fs::write(at.join("spec.toml"), &short).unwrap();
    fs::copy(at.join("a.safetensors"), at.join("w.safetensors")).unwrap();
    let run = residuum(&["run", "spec.toml", "--out", "done", "--seed", "1"], at);
    assert!(run.status.success(), "{}", message(&run));
    fs::copy(at.join("b.safetensors"), at.join("w.safetensors")).unwrap();
    told(
        &residuum(&["eval", "done"], at),
        &["network.weights: the file must be the one that the trial was run with"],
    );
    fs::copy(at.join("a.safetensors"), at.join("w.safetensors")).unwrap();
    let tested = residuum(&["eval", "done"], at);
    assert!(tested.status.success(), "{}", message(&tested));
}

/// Nothing but the times of event files comes from the clock: a run that is resumed after it moved ends with the same bytes.
#[test]
fn a_clock_that_moved_changes_nothing() {
    let folder = with(&NETWORK.replace("epochs = 400", "epochs = 12"));
    let (at, store) = (folder.path(), folder.path().join("store"));
    let mut child = command(&["run", "spec.toml", "--out", "store"], at).stdout(Stdio::null()).spawn().unwrap();
    wait(&mut child, || has_checkpoint(&store));
    child.kill().unwrap();
    child.wait().unwrap();
    let mut next = [0, 4_102_444_800].into_iter().cycle();
    date(&store, &mut next);
    for out in ["store", "whole"] {
        let run = residuum(&["run", "spec.toml", "--out", out], at);
        assert!(run.status.success(), "{}", message(&run));
    }
    let records = |store: &str| {
        let trial = fs::read_dir(at.join(store).join("trials")).unwrap().next().unwrap().unwrap().path();
        fs::read(trial.join("records.csv")).unwrap()
    };
    assert!(records("store") == records("whole"));
}

/// Dates every file below, in turn at the beginning of 1970 and of 2100.
fn date(folder: &Path, seconds: &mut impl Iterator<Item = u64>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            date(&entry.path(), seconds);
        } else {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.next().unwrap());
            File::options().write(true).open(entry.path()).unwrap().set_modified(time).unwrap();
        }
    }
}

#[test]
fn memory_that_is_refused_is_told() {
    let large = PROBLEM
        .replace("minimizer = 0.5", "minimizer = 0.5\ndim = 9000000")
        .replace("seeds = { count = 4 }\n", "");
    let folder = with(&large);
    // Virtual memory in kilobytes: the program starts, and its arrays do not fit.
    let limit = "ulimit -v 400000; exec \"$0\" \"$@\"";
    for verb in ["check", "run"] {
        let output = Command::new("sh")
            .args(["-c", limit, env!("CARGO_BIN_EXE_residuum"), verb, "spec.toml", "--threads", "2"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        told(&output, &["error: out of memory: ", "more bytes were refused"]);
    }
    // Broken twin: without the limit the same spec is fine.
    let free = residuum(&["check", "spec.toml"], folder.path());
    assert!(free.status.success(), "{}", message(&free));
}

/// A check does nothing worth saving, so the first Ctrl-C ends it.
#[test]
fn a_check_is_interrupted_at_once() {
    let formula = "\"0.5 + 0.1*sin(i)*exp(cos(i/n))\"";
    let long = PROBLEM
        .replace("minimizer = 0.5", &format!("minimizer = {formula}\ndim = 9999999"))
        .replace("curvature = 1.0", &format!("curvature = {formula}"));
    let folder = with(&long);
    let child = command(&["check", "spec.toml"], folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(150));
    let sent = Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = ended(child);
    assert_eq!(output.status.code(), Some(130), "{}", message(&output));
    assert!(sent.elapsed() < Duration::from_secs(3), "{:?}", sent.elapsed());
    assert_eq!(message(&output), "error: interrupted\n");
}

#[test]
fn an_instruction_set_that_is_not_there_is_refused() {
    let folder = with(PROBLEM);
    let output = command(&["check", "spec.toml"], folder.path()).env("RESIDUUM_SIMD", "avx9").output().unwrap();
    told(&output, &["RESIDUUM_SIMD must be one of scalar", "got \"avx9\""]);
}

/// The same records by every instruction set of this CPU: problems, networks on tiles, digital networks.
#[test]
fn the_instruction_set_changes_no_byte_of_a_record() {
    let digital = NETWORK
        .replace("kind = \"analog\"", "kind = \"digital\"")
        .replace("[device]\nresponse = \"power\"\nshape = 1.0\nradius = 0.3\nstates = 1200\n", "");
    for spec in [PROBLEM, NETWORK, &digital] {
        let folder = with(&spec.replace("epochs = 400", "epochs = 1").replace("[8]", "[33]"));
        let at = folder.path();
        let mut seen: Vec<(String, Vec<u8>)> = Vec::new();
        for (_, level) in levels("the_instruction_set_changes_no_byte_of_a_record") {
            let output = command(&["run", "spec.toml", "--out", level], at)
                .env("RESIDUUM_SIMD", level)
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", message(&output));
            let mut trials: Vec<_> =
                fs::read_dir(at.join(level).join("trials")).unwrap().map(|t| t.unwrap().path()).collect();
            trials.sort();
            let records =
                trials.iter().flat_map(|trial| fs::read(trial.join("records.csv")).unwrap()).collect();
            seen.push((level.into(), records));
        }
        assert!(seen.iter().all(|(_, records)| !records.is_empty() && *records == seen[0].1), "{spec}");
    }
}
