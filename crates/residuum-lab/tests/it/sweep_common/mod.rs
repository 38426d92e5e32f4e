//! Small grids of problems and networks.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use residuum_lab::plan::{Plan, Work, plans};
use residuum_lab::spec::{Folders, Spec};
use residuum_lab::store::Store;
use residuum_lab::sweep::{End, Listener, SweepOptions};

pub const PROBLEM: &str = r#"
steps = 20000
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
radius = 1.0
[rule]
kind = "residual_learning"
learning_rate = 0.01
transfer_rate = 0.02
mixing = 1.0
[initial]
main = 0.8
[record]
metrics = ["main", "gap", "tail_gap", "pulses"]
every = 500
tail_from = 10000
"#;

pub const NETWORK: &str = r#"
name = "nets"
[network]
model = "mlp"
hidden = [8]
activation = "tanh"
[data]
set = "digits"
train_per_class = 20
[device]
response = "power"
shape = 1.0
radius = 0.3
states = 1200
step_spread = 0.3
[digital]
learning_rate = 0.05
[training]
epochs = 2
batch_size = 10
seeds = [0, 1]
checkpoint_every = 5
[[variant]]
name = "analog"
rule = { kind = "analog", learning_rate = 0.1 }
[[variant]]
name = "residual"
rule = { kind = "residual_learning", learning_rate = 0.1, transfer_rate = 0.1, mixing = 0.4 }
"#;

/// One plan for each seed of a problem.
pub fn problems(text: &str, seeds: impl IntoIterator<Item = u64>) -> Vec<Plan> {
    let spec = Spec::parse(text, Path::new(".")).unwrap();
    let plan = |seed| Plan {
        experiment: "problem".into(),
        title: None,
        name: "residual_learning".into(),
        labels: vec![("rule".into(), "residual_learning".into())],
        place: 0,
        seed,
        work: Work::Problem(Arc::new(Spec { seeds: vec![seed], ..spec.clone() })),
    };
    seeds.into_iter().map(plan).collect()
}

pub fn networks() -> Vec<Plan> {
    plans(NETWORK, &Folders::new("."), None, "nets").unwrap()
}

/// Five problems and four networks.
pub fn mixed() -> Vec<Plan> {
    problems(PROBLEM, 0..5).into_iter().chain(networks()).collect()
}

pub fn options(jobs: usize, threads: usize) -> SweepOptions {
    SweepOptions { jobs, threads, checkpoint_every: Duration::from_millis(2), ..SweepOptions::new(".") }
}

/// The bytes of all records by trial.
pub fn records(store: &Path) -> BTreeMap<String, String> {
    let store = Store::open(store).unwrap();
    let text = |id: &str| fs::read_to_string(store.folder(id).join("records.csv")).unwrap();
    store.trials().unwrap().into_iter().map(|t| (t.id.clone(), text(&t.id))).collect()
}

/// Keeps what it is told, and cancels after so many steps of progress.
#[derive(Default)]
pub struct Spy {
    pub begun: Mutex<Vec<String>>,
    pub ends: Mutex<Vec<End>>,
    pub warnings: Mutex<Vec<String>>,
    pub advances: Mutex<usize>,
    pub cancel_after: Option<usize>,
}

impl Listener for Spy {
    fn trial_begins(&self, plan: &Plan) {
        self.begun.lock().unwrap().push(plan.id());
    }

    fn trial_advances(&self, _: &Plan, share: f64) {
        assert!((0.0..=1.0).contains(&share), "{share}");
        *self.advances.lock().unwrap() += 1;
    }

    fn trial_ends(&self, _: &Plan, end: &End) {
        self.ends.lock().unwrap().push(end.clone());
    }

    fn warned(&self, _: &Plan, warning: &str) {
        self.warnings.lock().unwrap().push(warning.into());
    }

    fn cancelled(&self) -> bool {
        self.cancel_after.is_some_and(|after| *self.advances.lock().unwrap() >= after)
    }
}
