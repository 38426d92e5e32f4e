//! What a sweep will cost.

use residuum_lab::plan::{Plan, plans};
use residuum_lab::spec::Folders;
use residuum_lab::sweep::Cost;
use residuum_lab::testing::sweep::wall;

const SPEC: &str = r#"
[problem]
kind = "quadratic"
curvature = 1.0
minimizer = 0.5
[device]
response = "power"
shape = 1.0
[rule]
kind = "analog"
learning_rate = 0.01
[sweep]
steps = [10, 100000000]
"rule.learning_rate" = [0.01, 0.02]
"problem.dim" = [1, 100]
"#;

#[test]
fn every_kind_is_measured_and_every_trial_counted() {
    let plans = plans(SPEC, &Folders::new("."), None, "cost").unwrap();
    let cost = Cost::estimate(&plans, 2).unwrap();
    // Rates and lengths do not make a kind; sizes do.
    assert_eq!((plans.len(), cost.kinds), (8, 2));
    let work = |plans: &[Plan]| Cost::estimate(plans, 1).unwrap().total_seconds;
    // The first trial has 10 steps: measuring it alone says nothing of those with a hundred million.
    assert!(cost.total_seconds > 100.0 * 8.0 * cost.trial_seconds, "{cost:?}");
    assert!(work(&plans[..4]) < 0.01 * work(&plans[4..]));
    assert!(cost.wall_seconds < cost.total_seconds);
}

#[test]
fn workers_share_the_trials() {
    assert_eq!(wall(&[3.0, 1.0, 1.0, 1.0, 2.0], 2), 5.0);
    assert_eq!(wall(&[3.0, 1.0], 8), 3.0);
    assert_eq!(wall(&[], 2), 0.0);
}
