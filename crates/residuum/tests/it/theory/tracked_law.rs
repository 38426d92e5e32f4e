//! The law with a tracked symmetric point.

use residuum::response::Power;
use residuum::rule::Tracking;
use residuum::theory::residual_law::{LawRates, LocalModel};

fn toy() -> LocalModel {
    let power = Power::new(1.0, 1.0).unwrap();
    LocalModel::new(1.0, 1.0, 0.5, &power, &power).unwrap()
}

const RATES: LawRates = LawRates { learning_rate: 0.004, transfer_rate: 0.002, mixing: 1.0 };

/// Rare flips of a slow filter: what is left is the law without tracking.
#[test]
fn a_slow_filter_has_the_law_of_a_known_point() {
    let tracked = toy().tracked(RATES, Tracking { rate: 1e-6, chopper: 1e-4 }).unwrap();
    let known = toy().stationary(RATES).unwrap();
    assert!((tracked.main_bias / known.main_bias - 1.0).abs() < 0.05, "{tracked:?} {known:?}");
    assert!((tracked.moved_deviation / known.residual_deviation - 1.0).abs() < 0.05, "{tracked:?}");
}

#[test]
fn the_point_is_forgotten_at_the_rate_of_the_leading_order() {
    let tracking = Tracking { rate: 0.001, chopper: 0.02 };
    let law = toy().tracked(RATES, tracking).unwrap();
    let b = 0.004 * std::f64::consts::FRAC_2_PI.sqrt();
    let leading = 0.001 * b / (0.004 + b + 0.001);
    assert!((law.point_rate / leading - 1.0).abs() < 0.1, "{} {leading}", law.point_rate);
    // Frequent flips cut short what P learns: W becomes slow, and its bias grows.
    let hasty = toy().tracked(RATES, Tracking { chopper: 0.2, ..tracking }).unwrap();
    assert!(
        hasty.slow_rate < 0.3 * law.slow_rate && hasty.main_bias < 1.5 * law.main_bias,
        "{hasty:?} {law:?}"
    );
}

#[test]
fn what_has_no_law_is_refused() {
    assert!(toy().tracked(RATES, Tracking { rate: 0.01, chopper: 0.0 }).is_err());
    assert!(toy().tracked(RATES, Tracking { rate: 0.0, chopper: 0.1 }).is_err());
}

/// With a filter that stands still RIDER has the error of a wrong point.
#[test]
fn rider_keeps_an_error() {
    let limit = toy().rider_limit(RATES, 1e-9, (0.3, 0.2)).unwrap();
    assert!((limit.main_error - toy().shift_of_wrong_symmetric_point(0.2)).abs() < 1e-5, "{limit:?}");
    let limit = toy().rider_limit(RATES, 1e3, (0.3, 0.2)).unwrap();
    assert!(
        (limit.main_error - 0.3).abs() < 1e-4,
        "a filter that follows at once leaves W where it is: {limit:?}"
    );
}
