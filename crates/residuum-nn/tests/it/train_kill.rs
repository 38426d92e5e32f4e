//! A run killed at any moment and resumed is the run that was left alone, bit for bit.

use super::train_common;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use residuum::Key;
use residuum_nn::train::{CheckpointPolicy, Outcome, TrainError, Training};
use train_common::tiles::Tiles;
use train_common::{Setup, Spy, checkpoints, events, metrics, timeless};

const DIRECTORY: &str = "RESIDUUM_TEST_RUN";
const LAYERS: &str = "RESIDUUM_TEST_LAYERS";

/// Where the weights of the run lie, by a word that reaches the other process.
fn setup(layers: &str) -> Setup {
    let tiles = match layers {
        "residual" => Some(Tiles::Residual),
        "tiki-taka" => Some(Tiles::TikiTaka),
        _ => None,
    };
    let checkpoint =
        CheckpointPolicy { every_steps: Some(10), epoch_ends: true, ..CheckpointPolicy::default() };
    let training =
        Training { checkpoint, histograms: true, batch_loss_every: Some(5), ..Setup::new(5).training };
    Setup { training, tiles, ..Setup::new(5) }
}

/// The process that is killed: starts the run, or resumes it.
#[test]
#[ignore = "run by the tests below, in a process of its own"]
fn child() {
    let directory = env::var_os(DIRECTORY).unwrap();
    let (setup, mut spy) = (setup(&env::var(LAYERS).unwrap()), Spy::default());
    let done = match setup.resume(Path::new(&directory), &mut spy) {
        Err(TrainError::NoCheckpoint { .. }) => setup.start(Some(Path::new(&directory)), &mut spy),
        resumed => resumed,
    };
    assert_eq!(done.unwrap().summary.outcome, Outcome::Finished);
    assert_eq!(spy.warnings, [], "a kill damages nothing");
}

fn spawn(directory: &Path, layers: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "train_kill::child", "--ignored"])
        .env(DIRECTORY, directory)
        .env(LAYERS, layers)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn killed_at_random_moments_it_ends_as_if_left_alone() {
    kill("digital", 20);
}

#[test]
fn residual_learning_on_tiles_survives_kills() {
    kill("residual", 10);
}

#[test]
fn tiki_taka_on_tiles_survives_kills() {
    kill("tiki-taka", 10);
}

fn kill(layers: &str, wanted: u32) {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    let begin = Instant::now();
    assert!(spawn(&whole, layers).wait().unwrap().success());
    let undisturbed = begin.elapsed();
    let state =
        |directory: &Path| fs::read(checkpoints(directory).last().unwrap().join("state.safetensors")).unwrap();

    let key = Key::new(11);
    let (mut kills, mut draw) = (0, 0);
    for round in 0.. {
        let directory = folder.path().join(format!("killed-{round}"));
        // At most a quarter of the run at a time, so that a round takes several kills; longer with every try, so that it ends also where the
        // machine has become slower since.
        for tries in 0.. {
            let mut child = spawn(&directory, layers);
            let longest = undisturbed.mul_f64(0.25 + f64::from(tries) / 200.0);
            thread::sleep(longest.mul_f64(key.uniform_at(draw)).max(Duration::from_millis(1)));
            draw += 1;
            let ended = child.try_wait().unwrap();
            child.kill().unwrap();
            let status = child.wait().unwrap();
            match ended {
                Some(_) => {
                    assert!(status.success());
                    break;
                }
                None => kills += u32::from(!status.success()),
            }
            assert!(draw < 1000, "the run never gets to its end");
        }
        assert_eq!(metrics(&directory), metrics(&whole), "after {kills} kills");
        assert!(state(&directory) == state(&whole), "weights after {kills} kills");
        assert_eq!(timeless(events(&directory)), timeless(events(&whole)), "after {kills} kills");
        assert_eq!(checkpoints(&directory).len(), 2, "nothing is left behind");
        if kills >= wanted {
            break;
        }
    }
    assert_eq!(metrics(&whole).len(), 5);
}
