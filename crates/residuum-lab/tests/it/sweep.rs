//! Sweeps into a store: the same records however they were run, each trial once.

mod estimate;
mod network;

use super::sweep_common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use residuum_lab::plan::{Plan, plans};
use residuum_lab::spec::Folders;
use residuum_lab::store::{Row, Store, StoreError, TrialClaim, TrialState};
use residuum_lab::sweep::{End, Listener, Silent, SweepError, SweepOptions, sweep};
use sweep_common::{NETWORK, PROBLEM, Spy, mixed, networks, options, problems, records};
use tempfile::TempDir;

fn swept(plans: &[Plan], folder: &Path, options: &SweepOptions) -> BTreeMap<String, String> {
    let store = Store::create(folder).unwrap();
    let summary = sweep(plans, &store, options, &Silent).unwrap();
    assert_eq!((summary.failed.len(), summary.interrupted), (0, false), "{summary:?}");
    records(folder)
}

#[test]
fn jobs_threads_and_shards_change_no_byte() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let plans = mixed();
    let alone = swept(&plans, &at("alone"), &options(1, 1));
    assert_eq!(alone.len(), plans.len());
    assert_eq!(swept(&plans, &at("jobs"), &options(3, 5)), alone);

    // Two shards in one store, and each in its own.
    let shard = |i| SweepOptions { shard: Some((i, 2)), ..options(2, 2) };
    let half = swept(&plans, &at("shared"), &shard(0));
    assert_eq!(half.len(), plans.len().div_ceil(2));
    assert_eq!(swept(&plans, &at("shared"), &shard(1)), alone);
    let other = swept(&plans, &at("own"), &shard(1));
    assert_eq!(half.into_iter().chain(other).collect::<BTreeMap<_, _>>(), alone);

    // What is compared can differ: another seed is another trial with other numbers.
    let moved = swept(&problems(PROBLEM, [99]), &at("moved"), &options(1, 1));
    assert!(alone.values().all(|text| moved.values().all(|other| text != other)));
}

#[test]
fn a_second_sweep_does_nothing_and_an_edited_one_only_what_is_new() {
    let folder = TempDir::new().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let plans = problems(PROBLEM, 0..3);
    let first = sweep(&plans, &store, &options(1, 1), &Silent).unwrap();
    assert_eq!((first.total, first.done, first.already), (3, 3, 0));
    let spy = Spy::default();
    let second = sweep(&plans, &store, &options(1, 1), &spy).unwrap();
    assert_eq!((second.total, second.done, second.already), (3, 0, 3));
    assert!(spy.begun.lock().unwrap().is_empty());
    let wider = sweep(&problems(PROBLEM, 1..5), &store, &options(1, 1), &spy).unwrap();
    assert_eq!((wider.total, wider.done, wider.already), (4, 2, 2));
    assert_eq!(spy.begun.lock().unwrap().len(), 2);
    // The same point twice in a grid is one trial.
    let twice: Vec<Plan> = plans.iter().chain(&plans).cloned().collect();
    assert_eq!(sweep(&twice, &store, &options(1, 1), &spy).unwrap().total, 3);
    // A trial that was removed is run again.
    store.remove(&plans[0].id()).unwrap();
    assert_eq!(store.state(&plans[0].id()), TrialState::Absent);
    assert_eq!(sweep(&plans, &store, &options(1, 1), &spy).unwrap().done, 1);
}

#[test]
fn more_seeds_leave_the_others_as_they_are() {
    let ids = |seeds: &str| -> Vec<String> {
        let text = NETWORK.replace("seeds = [0, 1]", &format!("seeds = {seeds}"));
        plans(&text, &Folders::new("."), None, "nets").unwrap().iter().map(Plan::id).collect()
    };
    let two = ids("[0, 1]");
    let four = ids("{ first = 0, count = 4 }");
    assert_eq!(two.len(), 4);
    assert!(two.iter().all(|id| four.contains(id)), "{two:?} {four:?}");
    assert_eq!(ids("{ first = 0, count = 2 }"), two);
    assert_ne!(ids("{ first = 1, count = 2 }"), two);
}

#[test]
fn manifests_say_what_was_run_and_nothing_of_the_machine() {
    let folder = TempDir::new().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let plans = mixed();
    let options = SweepOptions { commit: Some("0123abc".into()), ..options(2, 4) };
    sweep(&plans, &store, &options, &Silent).unwrap();
    let trials = store.trials().unwrap();
    let places: Vec<_> = trials.iter().map(|t| (t.experiment.as_str(), &t.labels, t.seed)).collect();
    assert!(places.is_sorted() && places[0].0 == "nets" && places[8].0 == "problem", "{places:?}");
    for trial in &trials {
        assert_eq!((trial.threads, trial.commit.as_deref()), (2, Some("0123abc")));
        assert!(trial.seconds > 0.0);
        assert!(trial.spec.iter().any(|p| p.field == "rule.learning_rate" && p.given));
    }
    // No file of the store names its folder.
    let own = folder.path().to_str().unwrap();
    let mut folders = vec![folder.path().to_path_buf()];
    let mut files = 0;
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(|e| e.unwrap().path()) {
            if entry.is_symlink() {
                // The name of a run: it leads to a folder that is looked at by itself.
                assert!(fs::read_link(&entry).unwrap().is_relative(), "{}", entry.display());
            } else if entry.is_dir() {
                folders.push(entry);
            } else {
                files += 1;
                let text = String::from_utf8_lossy(&fs::read(&entry).unwrap()).into_owned();
                assert!(!text.contains(own), "{}", entry.display());
                assert!(
                    !entry
                        .components()
                        .any(|part| part.as_os_str() == "checkpoints"
                            && !entry.to_string_lossy().contains("run")),
                    "left behind"
                );
            }
        }
    }
    assert!(files > 2 * trials.len());
}

/// Energy is pulses times the energy of one, layer by layer; without it there is none.
#[test]
fn records_tell_energy_where_the_spec_gives_that_of_a_pulse() {
    let folder = TempDir::new().unwrap();
    let records = |name: &str, text: &str| {
        let plans = plans(text, &Folders::new("."), None, "nets").unwrap();
        let store = Store::create(folder.path().join(name)).unwrap();
        sweep(&plans[..1], &store, &options(1, 1), &Silent).unwrap();
        store.records(&plans[0].id()).unwrap()
    };
    let of = |rows: &[Row], metric: &str| -> Vec<(String, u64, f64)> {
        let rows = rows.iter().filter(|r| r.metric == metric);
        rows.map(|r| (r.part.clone(), r.step, r.value)).collect()
    };
    let priced = records("priced", &NETWORK.replace("states = 1200", "states = 1200\npulse_energy = 2e-12"));
    let (pulses, energy) = (of(&priced, "pulses"), of(&priced, "energy"));
    assert_eq!(pulses.len(), 2 * 2);
    let expected: Vec<_> = pulses.iter().map(|(part, step, n)| (part.clone(), *step, 2e-12 * n)).collect();
    assert_eq!(energy, expected);
    assert!(energy.iter().all(|(_, _, joules)| *joules > 0.0));
    let plain = records("plain", NETWORK);
    assert_eq!((of(&plain, "pulses"), of(&plain, "energy").len()), (pulses, 0));
    for wrong in ["0.0", "-1e-12", "inf", "nan"] {
        let text = NETWORK.replace("states = 1200", &format!("states = 1200\npulse_energy = {wrong}"));
        let error = plans(&text, &Folders::new("."), None, "nets").unwrap_err().to_string();
        assert!(error.contains("device.pulse_energy must be positive and finite, got "), "{error}");
    }
}

#[test]
fn a_trial_that_diverges_is_kept_as_failed_and_stops_no_other() {
    let folder = TempDir::new().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let wild = PROBLEM
        .replace("kind = \"residual_learning\"", "kind = \"digital\"")
        .replace("learning_rate = 0.01\ntransfer_rate = 0.02\nmixing = 1.0", "learning_rate = 3.0")
        .replace("\"main\", ", "");
    let plans: Vec<Plan> = problems(&wild, [0]).into_iter().chain(problems(PROBLEM, [0])).collect();
    let summary = sweep(&plans, &store, &options(1, 1), &Silent).unwrap();
    assert_eq!((summary.done, summary.failed.len()), (1, 1));
    let failed = &summary.failed[0];
    assert!(failed.sentence.contains("the iteration diverges") && failed.kept, "{failed:?}");
    assert_eq!(failed.labels, plans[0].labels);
    assert_eq!(store.state(&plans[0].id()), TrialState::Failed);
    assert_eq!(store.trials().unwrap().len(), 1);
    assert_eq!(store.failures().unwrap()[0].sentence, failed.sentence);
    // It would fail again, so it is not tried again, but still told.
    let spy = Spy::default();
    let again = sweep(&plans, &store, &options(1, 1), &spy).unwrap();
    assert_eq!((again.already, again.failed, spy.begun.lock().unwrap().len()), (1, summary.failed, 0));
}

#[test]
fn missing_data_fail_a_trial_until_they_are_there() {
    let folder = TempDir::new().unwrap();
    let store = Store::create(folder.path().join("store")).unwrap();
    let text = NETWORK.replace("\"digits\"", "\"mnist\"");
    let plans = plans(&text, &Folders::new("."), None, "m").unwrap();
    let options = SweepOptions { data_root: folder.path().join("data"), ..options(1, 1) };
    let summary = sweep(&plans[..1], &store, &options, &Silent).unwrap();
    assert!(!summary.failed[0].kept && summary.failed[0].sentence.contains("mnist"), "{summary:?}");
    assert_eq!(store.state(&plans[0].id()), TrialState::Begun);
}

#[test]
fn cancelled_work_goes_on_from_its_checkpoint() {
    let folder = TempDir::new().unwrap();
    let alone = swept(&mixed(), &folder.path().join("alone"), &options(1, 1));
    let path = folder.path().join("cancelled");
    let store = Store::create(&path).unwrap();
    let mut stops = 0;
    for after in [1, 7, 30].into_iter().cycle() {
        let spy = Spy { cancel_after: Some(after), ..Spy::default() };
        let summary = sweep(&mixed(), &store, &options(2, 2), &spy).unwrap();
        if !summary.interrupted {
            break;
        }
        stops += 1;
        assert!(stops < 200, "work that is cancelled gets nowhere");
    }
    assert!(stops > 10, "{stops}");
    assert_eq!(records(&path), alone);
}

#[test]
fn a_checkpoint_is_used_and_one_that_is_damaged_or_of_another_trial_is_not() {
    let folder = TempDir::new().unwrap();
    let plans = problems(PROBLEM, [0]);
    let alone = swept(&plans, &folder.path().join("alone"), &options(1, 1));
    let stopped = |name: &str| {
        let store = Store::create(folder.path().join(name)).unwrap();
        let spy = Spy { cancel_after: Some(20), ..Spy::default() };
        assert!(sweep(&plans, &store, &options(1, 1), &spy).unwrap().interrupted);
        let path = store.folder(&plans[0].id()).join("checkpoints");
        let mut found: Vec<_> = fs::read_dir(path).unwrap().map(|e| e.unwrap().path()).collect();
        found.sort();
        (store, found)
    };
    let gone_on = |store: &Store| {
        sweep(&plans, store, &options(1, 1), &Silent).unwrap();
        records(store.path())
    };
    let (store, _) = stopped("plain");
    assert_eq!(gone_on(&store), alone);
    // A flipped bit is found by the checksums: the run goes on from an older checkpoint or begins again, to the same records.
    for (name, file) in [("flipped", "state.safetensors"), ("cut", "manifest.json")] {
        let (store, found) = stopped(name);
        let newest = found.last().unwrap().join(file);
        let mut bytes = fs::read(&newest).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&newest, &bytes).unwrap();
        let spy = Spy::default();
        sweep(&plans, &store, &options(1, 1), &spy).unwrap();
        assert_eq!(records(store.path()), alone, "{name}");
        let warnings = spy.warnings.lock().unwrap();
        assert!(warnings.iter().any(|w| w.contains(file) && w.contains("checksum")), "{name}: {warnings:?}");
    }
    // The checkpoints of another trial are passed over.
    let (store, found) = stopped("own");
    let others = problems(PROBLEM, [1]);
    let (other, theirs) = {
        let store = Store::create(folder.path().join("other")).unwrap();
        let spy = Spy { cancel_after: Some(20), ..Spy::default() };
        assert!(sweep(&others, &store, &options(1, 1), &spy).unwrap().interrupted);
        let path = store.folder(&others[0].id()).join("checkpoints");
        (store, path)
    };
    let own = found[0].parent().unwrap();
    fs::remove_dir_all(own).unwrap();
    fs::rename(&theirs, own).unwrap();
    assert_eq!(gone_on(&store), alone, "begun again");
    drop(other);
}

fn value(rows: &[Row], metric: &str, part: &str) -> f64 {
    rows.iter()
        .rfind(|r| r.metric == metric && r.part == part)
        .unwrap_or_else(|| panic!("{metric} {part}"))
        .value
}

#[test]
fn networks_record_epochs_weights_and_drift() {
    let folder = TempDir::new().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let plans = networks();
    sweep(&plans, &store, &options(1, 2), &Silent).unwrap();
    let rows = store.records(&plans[2].id()).unwrap();
    for metric in ["train_loss", "train_accuracy", "test_loss", "test_accuracy", "learning_rate"] {
        let epochs: Vec<_> = rows.iter().filter(|r| r.metric == metric).map(|r| (r.epoch, r.step)).collect();
        assert_eq!(epochs, [(Some(1), 20), (Some(2), 40)], "{metric}");
    }
    assert!(value(&rows, "pulses", "1") > 0.0);
    let cells = 64.0 * 8.0;
    for part in ["1", "1.main", "1.residual"] {
        let counts: Vec<&Row> = rows.iter().filter(|r| r.metric == "weight_count" && r.part == part).collect();
        assert_eq!(counts.len(), 64, "{part}");
        assert_eq!(counts.iter().map(|r| r.value).sum::<f64>(), cells, "{part}");
        assert!(value(&rows, "weight_low", part) <= value(&rows, "range_low", part));
        assert!(value(&rows, "weight_high", part) >= value(&rows, "range_high", part));
    }
    assert_eq!(value(&rows, "range_high", "1.main"), f64::from(0.3f32));
    assert!(value(&rows, "kappa2", "1") > 1.0);
    let analog = store.records(&plans[0].id()).unwrap();
    assert!(value(&analog, "drift", "1") != 0.0);
    assert!(analog.iter().all(|r| r.part != "1.residual"));
    // Weights that do not learn do not drift.
    let still = NETWORK.replace("learning_rate = 0.1", "learning_rate = 0.0");
    let still = residuum_lab::plan::plans(&still, &Folders::new("."), None, "still").unwrap();
    sweep(&still[..1], &store, &options(1, 2), &Silent).unwrap();
    assert_eq!(value(&store.records(&still[0].id()).unwrap(), "drift", "1"), 0.0);
}

#[test]
fn a_trial_has_one_owner_at_a_time() {
    let folder = TempDir::new().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let TrialClaim::Ours(lease) = store.claim("a").unwrap() else { panic!("nobody else is there") };
    assert_eq!(store.state("a"), TrialState::Begun);
    assert!(matches!(store.claim("a").unwrap(), TrialClaim::Busy));
    assert!(matches!(store.remove("a"), Err(StoreError::Busy { .. })));
    assert!(matches!(store.claim("b").unwrap(), TrialClaim::Ours(_)));
    drop(lease);
    assert!(matches!(store.claim("a").unwrap(), TrialClaim::Ours(_)));
    store.remove("a").unwrap();
    assert_eq!(store.ids().unwrap(), ["b"]);
    assert!(matches!(store.remove("a"), Err(StoreError::NotOne { count: 0, .. })));
}

#[test]
fn folders_that_are_no_store_are_refused() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    assert!(matches!(Store::create(&file), Err(StoreError::NotAFolder { .. })));
    assert!(matches!(Store::create(folder.path()), Err(StoreError::Foreign { found, .. }) if found == "file"));
    assert!(matches!(Store::open(folder.path()), Err(StoreError::NoStore { .. })));
    assert!(matches!(Store::create(file.join("below")), Err(StoreError::NotWritable { .. })));
    fs::write(folder.path().join("store.json"), "{ \"schema\": \"residuum.store/99\" }").unwrap();
    for opened in [Store::open(folder.path()), Store::create(folder.path())] {
        let message = opened.unwrap_err().to_string();
        assert!(
            message.ends_with("schema must be \"residuum.store/1\", got \"residuum.store/99\""),
            "{message}"
        );
    }
    let store = Store::create(folder.path().join("new")).unwrap();
    for (bad, name) in [
        (SweepOptions { jobs: 0, ..options(1, 1) }, "jobs"),
        (SweepOptions { shard: Some((2, 2)), ..options(1, 1) }, "shard"),
    ] {
        let error = sweep(&[], &store, &bad, &Silent).unwrap_err();
        assert!(matches!(error, SweepError::Option { name: own, .. } if own == name), "{error}");
    }
    let spy = Spy::default();
    sweep(&problems(PROBLEM, [0]), &store, &options(4, 1), &spy).unwrap();
    assert_eq!(*spy.ends.lock().unwrap(), [End::Done]);
}

/// The system's own folder of processes takes no folders, even from those who may write anywhere.
#[cfg(target_os = "linux")]
#[test]
fn a_store_that_cannot_be_written_is_refused_before_any_work() {
    let error = Store::create("/proc/residuum-store").unwrap_err();
    assert!(error.to_string().starts_with("store /proc/residuum-store must be writable: "), "{error}");
}

/// What is gone is not done.
#[test]
fn a_folder_that_is_removed_during_the_work_is_noticed() {
    struct Remover<'a>(&'a Path, fn(&Path));
    impl Listener for Remover<'_> {
        fn trial_ends(&self, _: &Plan, end: &End) {
            if *end == End::Done {
                (self.1)(self.0);
            }
        }
    }
    struct Begun<'a>(&'a Path);
    impl Listener for Begun<'_> {
        fn trial_begins(&self, plan: &Plan) {
            fs::remove_dir_all(self.0.join("trials").join(plan.id())).unwrap();
        }
    }
    let all: fn(&Path) = |store| fs::remove_dir_all(store).unwrap();
    let trials: fn(&Path) = |store| fs::remove_dir_all(store.join("trials")).unwrap();
    for (name, remove, expected) in
        [("all", all, "it has no store.json"), ("trials", trials, "finished trials are no longer in")]
    {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join(name);
        let store = Store::create(&path).unwrap();
        let error =
            sweep(&problems(PROBLEM, 0..2), &store, &options(1, 1), &Remover(&path, remove)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    // During a trial.
    for plans in [problems(PROBLEM, [0]), networks()] {
        let folder = TempDir::new().unwrap();
        let store = Store::create(folder.path()).unwrap();
        let error = sweep(&plans[..1], &store, &options(1, 1), &Begun(folder.path())).unwrap_err();
        assert!(error.to_string().contains("was removed while its trial ran"), "{error}");
    }
}

/// Runs stand under what differs between them, for TensorBoard; two trials with the same labels do not share a name, and a removed
/// trial leaves none.
#[cfg(unix)]
#[test]
fn runs_are_named_by_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    let plans = networks();
    sweep(&plans, &store, &options(2, 2), &Silent).unwrap();
    let names = |folder: &Path| {
        let mut names: Vec<String> = std::fs::read_dir(folder.join("tensorboard"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        names(folder.path()),
        ["analog, seed 0", "analog, seed 1", "residual, seed 0", "residual, seed 1"]
    );
    let link = folder.path().join("tensorboard/residual, seed 1");
    assert!(link.join("events.out.tfevents.residuum").is_file(), "the link leads nowhere");
    store.remove(&plans[0].id()).unwrap();
    assert_eq!(names(folder.path()), ["analog, seed 1", "residual, seed 0", "residual, seed 1"]);
    let label = |name: &str, value: &str| (name.to_string(), value.to_string());
    let labels = [label("variant", "A/B"), label("device.step_spread", "0.3")];
    assert_eq!(residuum_lab::store::run_name(&labels, 7), "A_B, step spread 0.3, seed 7");
}
