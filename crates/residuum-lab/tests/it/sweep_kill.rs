//! Sweeps that are killed, or share their store with another process, end with the records of one left alone.

use super::sweep_common;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use residuum::Key;
use residuum_lab::plan::Plan;
use residuum_lab::store::Store;
use residuum_lab::sweep::{Listener, sweep};
use sweep_common::{PROBLEM, mixed, options, problems, records};
use tempfile::TempDir;

const STORE: &str = "RESIDUUM_TEST_STORE";
const GRID: &str = "RESIDUUM_TEST_GRID";

/// Writes every trial it begins into a file that processes share.
struct Log<'a>(&'a Path);

impl Listener for Log<'_> {
    fn trial_begins(&self, plan: &Plan) {
        let mut file = OpenOptions::new().create(true).append(true).open(self.0.with_extension("log")).unwrap();
        file.write_all(format!("{}\n", plan.id()).as_bytes()).unwrap();
    }
}

fn grid(name: &str) -> Vec<Plan> {
    match name {
        "many" => problems(&PROBLEM.replace("20000", "2000").replace("10000", "1000"), 0..60),
        _ => mixed(),
    }
}

/// The process that is killed.
#[test]
#[ignore = "run by the tests below, in a process of its own"]
fn child() {
    let path = env::var_os(STORE).unwrap();
    let plans = grid(&env::var(GRID).unwrap());
    let store = Store::create(&path).unwrap();
    let summary = sweep(&plans, &store, &options(2, 2), &Log(Path::new(&path))).unwrap();
    assert_eq!(summary.done + summary.already + summary.elsewhere, plans.len(), "{summary:?}");
}

/// The same where nothing can be written.
#[test]
#[ignore = "run by the tests below, in a process of its own"]
fn child_on_a_full_disk() {
    let path = env::var_os(STORE).unwrap();
    let error = Store::create(&path).unwrap_err().to_string();
    assert!(error.contains("must be writable: "), "{error}");
}

fn spawn(store: &Path, grid: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "sweep_kill::child", "--ignored"])
        .env(STORE, store)
        .env(GRID, grid)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn begun(store: &Path) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for id in fs::read_to_string(store.with_extension("log")).unwrap().lines() {
        *counts.entry(id.to_string()).or_default() += 1;
    }
    counts
}

#[test]
fn killed_at_random_moments_it_ends_as_if_left_alone() {
    let folder = TempDir::new().unwrap();
    let whole = folder.path().join("whole");
    let begin = Instant::now();
    assert!(spawn(&whole, "mixed").wait().unwrap().success());
    let undisturbed = begin.elapsed();
    let expected = records(&whole);
    assert_eq!(expected.len(), mixed().len());

    let key = Key::new(5);
    let (mut kills, mut draw) = (0, 0);
    for round in 0.. {
        let store = folder.path().join(format!("killed-{round}"));
        // One process, then two at once, in turn.
        let processes = 1 + round % 2;
        loop {
            let mut children: Vec<Child> = (0..processes).map(|_| spawn(&store, "mixed")).collect();
            thread::sleep(undisturbed.mul_f64(0.25 * key.uniform_at(draw)).max(Duration::from_millis(1)));
            draw += 1;
            let ended = children.iter_mut().all(|child| child.try_wait().unwrap().is_some());
            let mut succeeded = true;
            for child in &mut children {
                child.kill().unwrap();
                let success = child.wait().unwrap().success();
                kills += u32::from(!success);
                succeeded &= success;
            }
            if ended {
                assert!(succeeded);
                break;
            }
            assert!(draw < 1000, "the sweep never gets to its end");
        }
        assert_eq!(records(&store), expected, "after {kills} kills");
        if kills >= 20 && round >= 3 {
            break;
        }
    }
}

#[test]
fn two_processes_never_run_the_same_trial() {
    let folder = TempDir::new().unwrap();
    let store = folder.path().join("store");
    let mut children = [spawn(&store, "many"), spawn(&store, "many")];
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let counts = begun(&store);
    assert_eq!(counts.len(), 60);
    assert!(counts.values().all(|&n| n == 1), "{counts:?}");
    // Without a common store every trial is begun by both.
    let (one, two) = (folder.path().join("a.one"), folder.path().join("a.two"));
    let mut children = [spawn(&one, "many"), spawn(&two, "many")];
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    assert!(begun(&one).values().all(|&n| n == 2));
}

#[test]
fn a_trial_of_a_dead_process_is_taken_over() {
    let folder = TempDir::new().unwrap();
    let store = folder.path().join("store");
    let mut first = spawn(&store, "mixed");
    while !store.with_extension("log").exists() {
        thread::sleep(Duration::from_millis(1));
    }
    let mut second = spawn(&store, "mixed");
    thread::sleep(Duration::from_millis(30));
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(second.wait().unwrap().success());
    assert_eq!(records(&store).len(), mixed().len());
}

/// A limit on the size of files stands for a disk that is full: writes fail in the same place.
#[cfg(unix)]
#[test]
fn a_full_disk_is_told_before_any_work() {
    let folder = TempDir::new().unwrap();
    let output = Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 1; exec \"$0\" --exact sweep_kill::child_on_a_full_disk --ignored",
        ])
        .arg(env::current_exe().unwrap())
        .env(STORE, folder.path().join("store"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}
