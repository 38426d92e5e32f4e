//! Damage, other runs and full disks: errors that say what is wrong, and nothing lost.

use super::train_common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use residuum::Key;
use residuum_nn::data::{Batches, Pipeline, embedded};
use residuum_nn::train::{CheckpointPolicy, Outcome, TrainError, Training, Unwatched, Warning};
use tempfile::TempDir;
use train_common::{Done, Setup, Spy, checkpoints, events, metrics, timeless};

fn setup() -> Setup {
    let checkpoint =
        CheckpointPolicy { every_steps: Some(20), epoch_ends: true, ..CheckpointPolicy::default() };
    Setup { training: Training { checkpoint, ..Setup::new(2).training }, ..Setup::new(2) }
}

/// A run of two epochs of which one and a half are done, and what it would have come to.
fn half_done() -> (TempDir, Setup, Done) {
    let folder = tempfile::tempdir().unwrap();
    let setup = setup();
    let expected = setup.start(None, &mut Unwatched).unwrap();
    let cancelled = setup.start(Some(folder.path()), &mut Spy::cancelling_at(76)).unwrap();
    assert!(matches!(cancelled.summary.outcome, Outcome::Cancelled { k: 71, .. }));
    assert_eq!(checkpoints(folder.path()).len(), 2);
    (folder, setup, expected)
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_checkpoint_is_told_of_and_the_one_before_is_used() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 7] = [
        ("state.safetensors", |c| change(&c.join("state.safetensors"), |b| b[3000] ^= 1)),
        ("state.safetensors", |c| change(&c.join("state.safetensors"), |b| b.truncate(100))),
        ("state.safetensors", |c| fs::remove_file(c.join("state.safetensors")).unwrap()),
        ("manifest.json", |c| fs::remove_file(c.join("manifest.json")).unwrap()),
        ("manifest.json", |c| change(&c.join("manifest.json"), |b| b.truncate(200))),
        ("manifest.json", |c| fs::write(c.join("manifest.json"), [0; 500]).unwrap()),
        ("manifest.json", |c| {
            // A number changes, and the text is still a manifest.
            let text = fs::read_to_string(c.join("manifest.json")).unwrap();
            let other = text.replace("\"k\": 71", "\"k\": 70");
            assert_ne!(text, other);
            fs::write(c.join("manifest.json"), other).unwrap();
        }),
    ];
    for (file, damage) in damages {
        let (folder, setup, expected) = half_done();
        let newest = checkpoints(folder.path()).pop().unwrap();
        damage(&newest);
        let mut spy = Spy::default();
        let resumed = setup.resume(folder.path(), &mut spy).unwrap();
        assert_eq!(resumed.bits(), expected.bits());
        assert_eq!(spy.resumed, Some((2, 14)), "back at step 60");
        let [Warning::DamagedCheckpoint { path, reason }] = spy.warnings.as_slice() else { panic!() };
        assert!(path == &newest && reason.starts_with(file), "{reason}");
        assert_eq!(checkpoints(folder.path()).len(), 2, "the damaged one is gone");
    }
}

#[test]
fn a_damaged_checkpoint_is_replaced_when_the_run_comes_by_again() {
    let (folder, setup, expected) = half_done();
    let newest = checkpoints(folder.path()).pop().unwrap();
    change(&newest.join("manifest.json"), Vec::clear);
    // Cancelled at the very step the damaged checkpoint is named after.
    let again = setup.resume(folder.path(), &mut Spy::cancelling_at(12)).unwrap();
    let Outcome::Cancelled { k: 71, resume_from: Some(from) } = again.summary.outcome else { panic!() };
    assert_eq!(from, newest);
    let mut spy = Spy::default();
    assert_eq!(setup.resume(folder.path(), &mut spy).unwrap().bits(), expected.bits());
    assert!(spy.warnings.is_empty());
}

/// Leaves what a process killed while it writes or tidies can leave behind.
fn litter(directory: &Path) {
    let inside = directory.join("checkpoints");
    let all = checkpoints(directory);
    for (name, from) in [("partial", &all[1]), ("removed", &all[0]), ("epoch-000000-step-000000040", &all[0])] {
        fs::create_dir(inside.join(name)).unwrap();
        fs::copy(from.join("manifest.json"), inside.join(name).join("manifest.json")).unwrap();
    }
}

#[test]
fn leftovers_of_a_kill_are_no_obstacle() {
    let (folder, setup, expected) = half_done();
    litter(folder.path());
    let mut spy = Spy::default();
    assert_eq!(setup.resume(folder.path(), &mut spy).unwrap().bits(), expected.bits());
    assert!(spy.warnings.is_empty() && spy.resumed == Some((2, 25)));
    assert_eq!(checkpoints(folder.path()).len(), 2, "and they are gone");
}

/// A run that has ended writes no further checkpoint, and the kill may have come between its last and the tidying.
#[test]
fn leftovers_of_a_kill_at_the_end_are_removed_too() {
    let (folder, setup, expected) = half_done();
    assert_eq!(setup.resume(folder.path(), &mut Spy::default()).unwrap().bits(), expected.bits());
    let whole = checkpoints(folder.path());
    litter(folder.path());
    let mut spy = Spy::default();
    assert_eq!(setup.resume(folder.path(), &mut spy).unwrap().bits(), expected.bits());
    assert!(spy.warnings.is_empty());
    assert_eq!(checkpoints(folder.path()), whole);
}

#[test]
fn nothing_whole_and_nothing_at_all_are_different_errors() {
    let (folder, setup, _) = half_done();
    for checkpoint in checkpoints(folder.path()) {
        change(&checkpoint.join("manifest.json"), |b| b.truncate(10));
    }
    let mut spy = Spy::default();
    let error = setup.resume(folder.path(), &mut spy).unwrap_err();
    assert!(matches!(error, TrainError::AllDamaged { .. }), "{error}");
    assert_eq!(spy.warnings.len(), 2);
    assert_eq!(checkpoints(folder.path()).len(), 2, "nobody removes what someone may want to look at");

    let error = setup.resume(&folder.path().join("elsewhere"), &mut Unwatched).unwrap_err();
    assert!(
        error.to_string().ends_with("holds no checkpoint to resume from; start the run instead"),
        "{error}"
    );
    assert!(!folder.path().join("elsewhere").exists());
    let mut network = setup.network();
    let error = setup.run(&mut network, None).resume(&mut Unwatched).unwrap_err();
    assert!(matches!(error, TrainError::NoDirectory));
}

#[test]
fn another_run_is_not_resumed_and_the_error_says_what_differs() {
    let (folder, setup, expected) = half_done();
    let refuse = |setup: Setup, text: &str| {
        let error = setup.resume(folder.path(), &mut Unwatched).unwrap_err().to_string();
        assert!(error.starts_with("checkpoint ") && error.ends_with(text), "{error}");
    };
    let training = setup.training;
    let other = || Setup { training, ..Setup::new(2) };
    refuse(
        Setup { description: "model = \"mlp\"\nrate = 0.1\n".into(), ..other() },
        r#"line 2 of its description is "rate = 0.05", here it is "rate = 0.1""#,
    );
    refuse(
        Setup { description: "model = \"mlp\"\nrate = 0.05\nmore".into(), ..other() },
        r#"line 3 of its description is "", here it is "more""#,
    );
    refuse(
        Setup { description: "model = \"mlp\"\nrate = 0.05".into(), ..other() },
        r#"line 3 of its description is "", here it is """#,
    );
    refuse(
        Setup { sizes: vec![64, 17, 10], ..other() },
        "belongs to another network: tensor 1.weight must have shape [17, 64], got [16, 64]",
    );
    refuse(
        Setup { sizes: vec![64, 16, 12, 10], ..other() },
        "belongs to another network: tensor 3.weight must have shape [12, 16], got [10, 16]",
    );
    let error = Setup { seed: 4, ..other() }.resume(folder.path(), &mut Unwatched).unwrap_err();
    assert!(matches!(error, TrainError::OtherRun { what: "key (the seed)", .. }), "{error}");
    let digits = embedded::digits().unwrap().train;
    let pipeline = Pipeline::new(&digits, &[]).unwrap();
    let train = Batches::new(digits, pipeline, 10, Key::new(1)).unwrap();
    refuse(Setup { train, ..other() }, "its number of steps in an epoch is 46, here it is 145");

    let newest = checkpoints(folder.path()).pop().unwrap();
    let manifest = fs::read_to_string(newest.join("manifest.json")).unwrap();
    fs::write(newest.join("manifest.json"), manifest.replace("\"version\": 2", "\"version\": 7")).unwrap();
    refuse(other(), "must have format version 2, got 7");
    fs::write(newest.join("manifest.json"), manifest).unwrap();

    // None of this has changed anything.
    assert_eq!(setup.resume(folder.path(), &mut Unwatched).unwrap().bits(), expected.bits());
}

#[test]
fn a_directory_belongs_to_one_run() {
    struct Intruder<'a>(&'a Setup, &'a Path, Vec<String>);
    impl residuum_nn::train::TrainingListener for Intruder<'_> {
        fn epoch_begins(&mut self, _: u64, _: u64) {
            self.2.push(self.0.start(Some(self.1), &mut Unwatched).unwrap_err().to_string());
            self.2.push(self.0.resume(self.1, &mut Unwatched).unwrap_err().to_string());
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(1);
    let mut intruder = Intruder(&setup, folder.path(), Vec::new());
    let done = setup.start(Some(folder.path()), &mut intruder).unwrap();
    assert_eq!(intruder.2.len(), 2);
    assert!(intruder.2.iter().all(|error| error.ends_with("is in use by another run")), "{:?}", intruder.2);

    let error = setup.start(Some(folder.path()), &mut Unwatched).unwrap_err();
    assert!(matches!(error, TrainError::AlreadyStarted { .. }), "{error}");
    assert_eq!(setup.resume(folder.path(), &mut Unwatched).unwrap().bits(), done.bits());
    // Records without checkpoints are somebody's too.
    fs::remove_dir_all(folder.path().join("checkpoints")).unwrap();
    let error = setup.start(Some(folder.path()), &mut Unwatched).unwrap_err();
    assert!(matches!(error, TrainError::AlreadyStarted { .. }), "{error}");
}

#[test]
fn metrics_that_lack_lines_are_set_aside_and_torn_lines_beyond_the_checkpoint_are_cut() {
    let (folder, setup, expected) = half_done();
    let path = folder.path().join("metrics.jsonl");
    change(&path, |b| b.extend(b"{\"epoch\":2,\"ste"));
    change(&folder.path().join("events.out.tfevents.residuum"), |b| b.extend([7; 30]));
    let mut spy = Spy::default();
    assert_eq!(setup.resume(folder.path(), &mut spy).unwrap().bits(), expected.bits());
    assert!(spy.warnings.is_empty());
    assert_eq!(metrics(folder.path()), expected.bits().0);
    assert_eq!(timeless(events(folder.path())).len(), 3);

    let (folder, setup, expected) = half_done();
    let path = folder.path().join("metrics.jsonl");
    change(&path, |b| b.truncate(50));
    let mut spy = Spy::default();
    let done = setup.resume(folder.path(), &mut spy).unwrap();
    let kept = folder.path().join("metrics.jsonl.damaged-1");
    assert_eq!(spy.warnings, [Warning::DamagedLog { path, kept: kept.clone() }]);
    assert_eq!((done.state, fs::read(kept).unwrap().len()), (expected.state, 50));
    assert_eq!(metrics(folder.path()).len(), 1, "epoch 2 alone");
}

#[test]
fn a_place_that_cannot_be_written_to_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    fs::write(&plain, b"a file").unwrap();
    let error = Setup::new(1).start(Some(&plain.join("run")), &mut Unwatched).unwrap_err();
    assert!(matches!(&error, TrainError::Io { path, .. } if path == &plain.join("run")), "{error}");

    // A file where the checkpoints should be.
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    fs::write(run.join("checkpoints"), b"a file").unwrap();
    let error = Setup::new(1).start(Some(&run), &mut Unwatched).unwrap_err();
    assert!(error.to_string().contains("checkpoints"), "{error}");
    assert_eq!(fs::read(run.join("checkpoints")).unwrap(), b"a file");
}

#[test]
fn weights_that_refuse_a_step_end_the_run_where_it_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = setup();
    let mut network = train_common::weights::network(&setup, Some(63));
    let error = setup.run(&mut network, Some(folder.path())).start(&mut Unwatched).unwrap_err();
    assert!(matches!(error, TrainError::Step { epoch: 2, .. }));
    assert_eq!(error.to_string(), "epoch 2: gradient[7] must be finite, got NaN");
    let mut spy = Spy::default();
    let mut network = train_common::weights::network(&setup, None);
    let summary = setup.run(&mut network, Some(folder.path())).resume(&mut spy).unwrap();
    assert_eq!((spy.resumed, summary.outcome), (Some((2, 14)), Outcome::Finished));
}

const DIRECTORY: &str = "RESIDUUM_TEST_FULL_DISK";

/// Resumes where files beyond a limit cannot be written.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn child() {
    let directory = PathBuf::from(env::var_os(DIRECTORY).unwrap());
    let setup = setup();
    let before = checkpoints(&directory);
    let error = setup.resume(&directory, &mut Unwatched).unwrap_err();
    let TrainError::Checkpoint { k: 80, kept: Some(kept), .. } = &error else { panic!("{error}") };
    assert_eq!(Some(kept), before.last());
    assert!(error.to_string().contains("(resume from "), "{error}");
    assert_eq!(checkpoints(&directory), before, "nothing lost, and nothing half-written left");
}

/// A limit on the size of files stands for a disk that is full: writes fail in the same place.
#[cfg(unix)]
#[test]
fn on_a_full_disk_the_last_checkpoint_stays() {
    let (folder, setup, expected) = half_done();
    let exe = env::current_exe().unwrap();
    let status = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" --exact train_failures::child --ignored"])
        .arg(&exe)
        .env(DIRECTORY, folder.path())
        .output()
        .unwrap();
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stdout));
    // With space again, it goes on.
    let mut spy = Spy::default();
    assert_eq!(setup.resume(folder.path(), &mut spy).unwrap().bits(), expected.bits());
    assert!(spy.warnings.is_empty());
}
