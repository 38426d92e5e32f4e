//! The operator of the lemmas, its counter-example and the sum that is printed wrongly, against the reference.

use residuum::Range;
use residuum::response::{ResponseFunction, Tanh};
use residuum::theory::operator::{NonMonotone, Operator, geometric_sum};
use serde_json::Value;

fn golden() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/convergence.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_printed_residual_step_flips_the_asymmetry() {
    let operator = Operator::new(vec![0.5], vec![1.5]).unwrap();
    assert_eq!(operator.residual_step(1.0, &[1.0]), [-1.5]);
    assert_eq!(operator.residual_step_as_printed(1.0, &[1.0]), [-0.5]);
    // It is the correct step of the device with its branches swapped.
    let swapped = Operator::new(vec![1.5], vec![0.5]).unwrap();
    for g in [-2.0, -0.3, 0.7] {
        assert_eq!(operator.residual_step_as_printed(0.1, &[g]), swapped.residual_step(0.1, &[g]));
    }
}

#[test]
fn an_operator_at_a_state_is_the_response_there() {
    let response = Tanh::new(1.0, 0.5, 1.0, 0.1).unwrap();
    let state = [-0.7, 0.1, 2.0];
    let operator = Operator::at(&response, &state, response.bounds(Range::ALL));
    let desired = [0.3, -0.2, -1.0];
    let realized = operator.realized(&desired);
    for d in 0..3 {
        assert!((realized[d] - response.realized(desired[d], state[d])).abs() < 1e-15);
    }
}

#[test]
fn the_geometric_sum_never_reaches_its_printed_bound() {
    let reference = golden();
    let claim = geometric_sum(0.012, 50);
    assert!((claim.larger - reference["geometric_sum"].as_f64().unwrap()).abs() < 1e-9, "{claim:?}");
    assert!((claim.smaller - reference["geometric_sum_printed"].as_f64().unwrap()).abs() < 1e-9);
    for (x, steps) in [(1e-6, 10), (0.01, 1000), (0.5, 20)] {
        let direct: f64 = (0..steps).map(|k| (1.0f64 - x).powi(k)).sum();
        let claim = geometric_sum(x, steps as u64);
        assert!(
            (claim.larger / direct - 1.0).abs() < 1e-12 && claim.violation() > 0.0,
            "{x} {steps}: {claim:?}"
        );
    }
}

#[test]
fn a_regular_response_can_have_a_negative_potential() {
    let reference = &golden()["non_monotone"];
    let number = |name: &str| reference[name].as_f64().unwrap();
    let bounds = NonMonotone.bounds(Range { lo: -8.0, hi: 8.0 });
    assert!(
        (bounds.min - number("min")).abs() < 1e-8 && (bounds.max - number("max")).abs() < 1e-8,
        "{bounds:?}"
    );
    assert!((NonMonotone.asymmetry_potential(3.0) - number("potential_at_3")).abs() < 1e-10);
    let least = (0..600).map(|i| NonMonotone.asymmetry_potential(1e-2 * f64::from(i))).fold(0.0, f64::min);
    // A grid of 0.01 misses a minimum by at most 0.005²/2 · max R'.
    assert!((least - number("least_potential")).abs() < 1.25e-5 * bounds.lipschitz, "{least}");
    // The lower level at W = W* is solved far from the symmetric point, and by it when noise is weak.
    let minimizer = NonMonotone.lower_level_minimizer(0.01, 1.0);
    assert!((minimizer - number("minimizer")).abs() < 1e-8, "{minimizer}");
    assert!((NonMonotone.lower_level(0.01, 1.0, minimizer) - number("value")).abs() < 1e-11);
    assert!(NonMonotone.lower_level(0.01, 1.0, minimizer) < NonMonotone.lower_level(0.01, 1.0, 0.0));
    assert_eq!(NonMonotone.lower_level_minimizer(0.01, 0.01), 0.0);
    for w in [-2.0, -0.4, 0.9, 3.0] {
        let slope = (NonMonotone.q_minus(w + 1e-6) - NonMonotone.q_minus(w - 1e-6)) / 2e-6;
        assert!((slope - NonMonotone.q_minus_derivative(w)).abs() < 1e-8);
    }
}
