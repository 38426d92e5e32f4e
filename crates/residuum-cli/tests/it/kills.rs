//! Runs that are killed again and again while others read their store: no byte differs in the end, no trial is lost, nothing is
//! left behind, and no reader panics.
//!
//! A few kills belong to the tests; `RESIDUUM_KILLS=1000 cargo test --release -p residuum-cli --test it kills -- --nocapture`
//! does as many as that and prints what it saw.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

const PROBLEM: &str = r#"
name = "problem"
steps = 60000
seeds = { count = 4 }
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
[rule]
kind = "residual_learning"
learning_rate = 0.01
transfer_rate = 0.02
mixing = 1.0
[record]
metrics = ["gap", "main"]
"#;

const NETWORK: &str = r#"
name = "network"
[network]
model = "mlp"
hidden = [8]
[data]
set = "digits"
train_per_class = 20
[device]
response = "power"
shape = 1.0
radius = 0.3
states = 1200
step_spread = 0.3
[rule]
kind = "residual_learning"
learning_rate = 0.1
transfer_rate = 0.1
mixing = 0.4
symmetric_point = "zero"
[training]
epochs = 6
batch_size = 10
seeds = [0, 1]
checkpoint_every = 5
"#;

fn residuum(arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_residuum"));
    command.args(arguments).current_dir(folder).stdout(Stdio::null());
    command
}

/// Draws that need no clock.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The records of all trials by name, and every file that should not be there.
fn held(store: &Path) -> (BTreeMap<String, Vec<u8>>, Vec<String>) {
    let mut litter = Vec::new();
    find_litter(store, &mut litter);
    let trials = fs::read_dir(store.join("trials")).unwrap().map(|trial| trial.unwrap().path());
    let records = trials.map(|trial| {
        let name = trial.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read(trial.join("records.csv")).unwrap_or_default())
    });
    (records.collect(), litter)
}

fn find_litter(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.contains("partial") || name == "removed" {
            found.push(entry.path().display().to_string());
        }
        if entry.path().is_dir() {
            find_litter(&entry.path(), found);
        }
    }
}

/// What readers of a store said, by exit code.
#[derive(Default, Debug)]
struct Readers {
    codes: BTreeMap<i32, u64>,
}

impl Readers {
    /// One look at a store that others write to.
    fn look(&mut self, arguments: &[&str], folder: &Path) {
        let output = residuum(arguments, folder).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
        // A store that is not there yet, or a trial without a checkpoint, is an error with a sentence.
        let code = output.status.code().unwrap_or(-1);
        let told = said.lines().any(|line| line.starts_with("error: "));
        assert!(code == 0 || (code == 2 && told), "{arguments:?}: {code} {said}");
        *self.codes.entry(code).or_default() += 1;
    }
}

fn ended(children: &mut [Child]) -> bool {
    children.iter_mut().all(|child| child.try_wait().unwrap().is_some())
}

#[test]
fn killed_runs_end_as_if_left_alone_while_others_read() {
    let wanted: u64 = env::var("RESIDUUM_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let kinds =
        [("problem", PROBLEM, 1), ("network", NETWORK, 1), ("network", NETWORK, 2), ("problem", PROBLEM, 2)];
    let mut expected = BTreeMap::new();
    for (name, spec) in [("problem", PROBLEM), ("network", NETWORK)] {
        let file = format!("{name}.toml");
        fs::write(at.join(&file), spec).unwrap();
        let start = Instant::now();
        assert!(residuum(&["run", &file, "--out", name], at).status().unwrap().success());
        expected.insert(name, (held(&at.join(name)).0, start.elapsed()));
    }
    let (mut kills, mut rounds, mut readers, mut draws) = (0, 0, Readers::default(), Draws(7));
    while kills < wanted || rounds < kinds.len() {
        let (name, _, processes) = kinds[rounds % kinds.len()];
        let (records, undisturbed) = &expected[name];
        let (file, out) = (format!("{name}.toml"), format!("round-{rounds}"));
        let mut attempts = 0;
        loop {
            let spawn = |_| {
                residuum(&["run", &file, "--out", &out, "--threads", "2"], at)
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap()
            };
            let mut children: Vec<Child> = (0..processes).map(spawn).collect();
            let until = Instant::now() + undisturbed.mul_f64(0.6 * draws.next()).max(Duration::from_millis(2));
            // Readers at work until the kill: which one is drawn.
            match (4.0 * draws.next()) as u32 {
                0 => readers.look(&["runs", "list", &out], at),
                1 => readers.look(&["report", &out, "--to", "page.html"], at),
                2 if name == "network" => readers.look(&["eval", &out], at),
                _ => {}
            }
            thread::sleep(until.saturating_duration_since(Instant::now()));
            let done = ended(&mut children);
            for child in &mut children {
                // A process that has ended cannot be killed any more.
                kills += u64::from(child.try_wait().unwrap().is_none() && child.kill().is_ok());
                child.wait().unwrap();
            }
            attempts += 1;
            if done || kills >= wanted + 50 {
                break;
            }
            assert!(attempts < 2000, "the run never gets to its end");
        }
        // The last one is left alone.
        assert!(
            residuum(&["run", &file, "--out", &out], at).status().unwrap().success(),
            "after {kills} kills"
        );
        let (found, litter) = held(&at.join(&out));
        assert!(found == *records, "{name} with {processes} process(es): records differ after {kills} kills");
        assert_eq!(litter, Vec::<String>::new());
        fs::remove_dir_all(at.join(&out)).unwrap();
        rounds += 1;
    }
    println!("{kills} kills in {rounds} rounds; readers by exit code: {:?}", readers.codes);
}
