//! Pulses, their flow and one scaled step: closed forms and reference values.

use super::toy;

use std::sync::Arc;

use residuum::cells::Uniform;
use residuum::response::{Exponential, Linear, SoftBounds};
use residuum::theory::pulse_flow::{flow, straight_flow};
use residuum::{Array, ExactArray, Key, Pulses, ResponseFunction, Rounding, Update};

/// The state after `desired` has been sent in pulses of `step`, which divides it.
fn by_pulses(response: &Arc<dyn ResponseFunction>, w: f64, desired: f64, step: f64) -> f64 {
    let pulses = Pulses::new(step).unwrap().rounding(Rounding::Nearest);
    let cells = Arc::new(Uniform(response.clone()));
    let mut array = ExactArray::new(&[w], cells, Update::Pulsed(pulses)).unwrap();
    array.increment(1.0, &[desired], Key::new(0)).unwrap();
    assert_eq!(array.pulses_sent(), (desired.abs() / step).round() as u64);
    array.weights()[0]
}

#[test]
fn flows_meet_their_closed_forms() {
    let straight: [Box<dyn ResponseFunction>; 3] = [
        Box::new(toy::power(1.0)),
        Box::new(Linear::with_condition(4.0, 1.0).unwrap()),
        Box::new(SoftBounds::new(1.3, 0.8, 1.5, 1.2).unwrap()),
    ];
    for response in &straight {
        for desired in [-0.7, -0.1, 0.0, 1e-3, 0.1, 0.6] {
            let (found, exact) = (flow(&**response, 0.3, desired), straight_flow(&**response, 0.3, desired));
            assert!((found - exact).abs() < 1e-12, "{}: {found} {exact}", response.describe());
        }
    }
    let one = flow(&toy::power(1.0), 0.3, 0.1);
    assert!((one - (1.0 - 0.7 * (-0.1f64).exp())).abs() < 1e-13 && (one - 0.36661381).abs() < 5e-9, "{one}");
    // Power 2 downwards: 1/(1 + w) grows linearly in time.
    let two = flow(&toy::power(2.0), 0.3, -0.1);
    assert!((two - (1.0 / (1.0 / 1.3 + 0.1) - 1.0)).abs() < 1e-12 && (two - 0.15044248).abs() < 5e-9, "{two}");
    // Power 1/2 upwards reaches the bound in finite time and stays: √(1 − w) falls linearly.
    let half = flow(&toy::power(0.5), 0.3, 0.5);
    assert!((half - (1.0 - (0.7f64.sqrt() - 0.25).powi(2))).abs() < 1e-12, "{half}");
    assert_eq!(flow(&Linear::new(0.5, 1.0).unwrap(), 0.3, 5.0), 1.0);
    assert!((flow(&toy::power(0.5), 0.3, 5.0) - 1.0).abs() < 1e-12);
}

#[test]
fn flows_compose() {
    let response = Exponential::new(1.0, 1.0).unwrap();
    let halves = flow(&response, flow(&response, -0.2, 0.3), 0.25);
    assert!((halves - flow(&response, -0.2, 0.55)).abs() < 1e-12);
}

#[test]
fn reference_values_of_power_one() {
    let response: Arc<dyn ResponseFunction> = Arc::new(toy::power(1.0));
    let end = flow(&*response, 0.3, 0.1);
    for (step, expected) in [(0.02, 6.41634865178e-4), (0.001, 3.16896455811e-5), (0.0001, 3.16713419629e-6)] {
        let pulses = by_pulses(&response, 0.3, 0.1, step);
        assert!((pulses - end - expected).abs() < 1e-12, "{step}: {:e}", pulses - end);
        let exact = 1.0 - 0.7 * (1.0 - step).powf(0.1 / step);
        assert!((pulses - exact).abs() < 1e-13);
    }
    // As the pulse shrinks, pulses stay away from the scaled step: the flow is their limit.
    assert!((by_pulses(&response, 0.3, 0.1, 1e-5) - 0.37).abs() > 0.003);
}
