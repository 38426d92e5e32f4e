//! The shipped networks as lists, at tiny size: they run, resume to the bit and can be tuned.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use residuum_lab::plan::{Plan, plans};
use residuum_lab::source::SpecSource;
use residuum_lab::spec::Folders;
use residuum_lab::store::{Row, Store};
use residuum_lab::sweep::{Listener, Silent, SweepOptions, sweep};
use residuum_lab::tune::{TuneError, TuneOptions, Tuned, tune};

fn experiments() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(experiments().join(name)).unwrap()
}

fn read(text: &str, profile: Option<&str>) -> Vec<Plan> {
    plans(text, &Folders::new(experiments()), profile, "shipped").unwrap()
}

fn records(plans: &[Plan], listener: &dyn Listener, store: &Store) -> Option<Vec<Row>> {
    let summary = sweep(plans, store, &SweepOptions::new("."), listener).unwrap();
    assert!(summary.failed.is_empty(), "{:?}", summary.failed);
    (!summary.interrupted).then(|| plans.iter().flat_map(|plan| store.records(&plan.id()).unwrap()).collect())
}

/// Says stop after so many questions.
struct Stops(AtomicUsize);

impl Listener for Stops {
    fn cancelled(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

#[test]
fn shipped_networks_run_at_tiny_size() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path()).unwrap();
    for (name, profile) in
        [("lenet5.toml", Some("quick")), ("resnet-small.toml", Some("quick")), ("regression.toml", None)]
    {
        let text = text(name).replace("epochs = 40", "epochs = 1").replace("seeds = [0, 1, 2]", "seeds = [0]");
        let rows = records(&read(&text, profile), &Silent, &store).unwrap();
        let metric = if name == "regression.toml" { "test_r2" } else { "test_accuracy" };
        assert!(rows.iter().any(|row| row.metric == metric), "{name}");
        assert!(!rows.iter().any(|row| row.metric == "test_accuracy" && name == "regression.toml"));
    }
}

#[test]
fn a_table_takes_at_most_25_lines_and_dropout_resumes_to_the_bit() {
    let text = text("table.toml");
    assert!(text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).count() <= 25);
    let plans = read(&text.replace("epochs = 20", "epochs = 3\ncheckpoint_every = 1"), None);
    let run = |stops: &[usize]| {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path()).unwrap();
        for &after in stops {
            assert!(
                records(&plans, &Stops(AtomicUsize::new(after)), &store).is_none(),
                "stopped after {after}"
            );
        }
        records(&plans, &Silent, &store).unwrap()
    };
    let whole = run(&[]);
    assert!(whole.iter().any(|row| row.metric == "pulses" && row.value > 0.0), "it learns on tiles");
    assert_eq!(run(&[9, 13]), whole);
}

fn tuned(store: &Store, listener: &dyn Listener, seed: u64) -> Result<Tuned, TuneError> {
    let mut source = SpecSource::open(experiments().join("table.toml").to_str().unwrap()).unwrap();
    let short = text("table.toml").replace("epochs = 20", "epochs = 4");
    source.document = residuum_lab::spec::Document::parse(&short).unwrap();
    let options = TuneOptions {
        trials: 8,
        minutes: None,
        seeds: 2,
        seed,
        choices: Vec::new(),
        starts: Vec::new(),
        test: false,
    };
    let sweep = SweepOptions { jobs: 2, ..SweepOptions::new(".") };
    tune(&source, None, |_| true, store, (options, &sweep), listener).map(|mut all| all.remove(0))
}

#[test]
fn a_search_is_decided_by_its_seed_and_resumes_to_the_bit() {
    let store = |folder: &tempfile::TempDir| Store::create(folder.path()).unwrap();
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let one = tuned(&store(&folders[0]), &Silent, 0).unwrap();
    // Killed on the way, and taken up again.
    let stopped = tuned(&store(&folders[1]), &Stops(AtomicUsize::new(60)), 0);
    assert!(matches!(stopped, Err(TuneError::Interrupted)), "{:?}", stopped.map(|t| t.trials.len()));
    let again = tuned(&store(&folders[1]), &Silent, 0).unwrap();
    assert_eq!((&again.trials, &again.best, &again.spec), (&one.trials, &one.best, &one.spec));
    assert_ne!(tuned(&store(&folders[2]), &Silent, 1).unwrap().trials, one.trials);
    // Nothing was measured on the test samples.
    for tried in &one.trials {
        let rows = store(&folders[0]).records(&tried.id).unwrap();
        assert!(rows.iter().any(|row| row.metric == "validation_accuracy"));
        assert!(!rows.iter().any(|row| row.metric.starts_with("test_")));
    }
    assert!(one.spec.contains("rule") && !one.spec.contains("evaluate"), "{}", one.spec);
}
