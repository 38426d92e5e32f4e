//! What a store adds to a trial: 1 000 short trials of a problem swept into one, beside the bare work, in one run.
//!
//!     cargo bench -p residuum-bench --bench sweep
//!
//! The store lies in the system's folder for temporary files; name another in `TMPDIR` to measure its disk.
#![allow(clippy::print_stdout, missing_docs)]

use std::path::Path;
use std::time::Instant;

use residuum_bench::best_of;
use residuum_lab::plan::{Plan, Work};
use residuum_lab::progress;
use residuum_lab::run::trial;
use residuum_lab::spec::Spec;
use residuum_lab::store::Store;
use residuum_lab::sweep::{Silent, SweepOptions, sweep};

const TRIALS: u64 = 1000;
/// Milliseconds that a trial may cost beyond its work.
const ALLOWED_MS: f64 = 2.0;

const SPEC: &str = r#"
steps = 1000
[problem]
kind = "quadratic"
curvature = 1.0
minimizer = 0.5
[noise]
kind = "gaussian"
deviation = 1.0
[device]
response = "power"
shape = 1.0
radius = 1.0
[rule]
kind = "residual_learning"
learning_rate = 0.002
transfer_rate = 0.004
mixing = 1.0
[record]
metrics = ["effective", "gap"]
every = 100
"#;

fn main() {
    let spec = Spec::parse(SPEC, Path::new(".")).expect("the spec is sound");
    let plan = |seed| Plan {
        experiment: "overhead".into(),
        title: None,
        name: "residual_learning".into(),
        labels: Vec::new(),
        place: 0,
        seed,
        work: Work::Problem(std::sync::Arc::new(Spec { seeds: vec![seed], ..spec.clone() })),
    };
    let plans: Vec<Plan> = (0..TRIALS).map(plan).collect();
    let options = SweepOptions { threads: 1, ..SweepOptions::new(".") };

    let bare = best_of(3, || {
        for seed in 0..TRIALS {
            trial(&spec, seed, None, &progress::Silent).expect("the trial runs");
        }
    });
    let (mut swept, mut again) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..3 {
        let folder = tempfile::tempdir().expect("a folder for the store");
        let store = Store::create(folder.path()).expect("the store is made");
        let timed = || {
            let start = Instant::now();
            let summary = sweep(&plans, &store, &options, &Silent).expect("the sweep runs");
            assert_eq!(summary.done + summary.already, plans.len());
            start.elapsed().as_secs_f64()
        };
        swept = swept.min(timed());
        again = again.min(timed());
    }
    let per_trial = |seconds: f64| 1e3 * seconds / TRIALS as f64;
    let overhead = per_trial(swept - bare);
    println!("{TRIALS} trials of 1 000 steps, one job, one thread; best of three");
    println!("bare work        {:7.3} ms a trial", per_trial(bare));
    println!("swept            {:7.3} ms a trial", per_trial(swept));
    println!("swept once more  {:7.3} ms a trial: all are there", per_trial(again));
    println!("overhead         {overhead:7.3} ms a trial; must be under {ALLOWED_MS}");
    assert!(overhead < ALLOWED_MS, "the store costs too much");
}
