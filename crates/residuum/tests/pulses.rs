//! Pulses, their flow and one scaled step; and what rounding to whole pulses does to Analog SGD.
#![allow(clippy::unwrap_used, reason = "test helpers")]

mod toy;

use std::sync::Arc;

use residuum::cells::Uniform;
use residuum::response::{Exponential, Linear, SoftBounds};
use residuum::rule::{Analog, Source};
use residuum::stats::Summary;
use residuum::theory::fixed_point::predict_drift;
use residuum::theory::magnitude::Sampling;
use residuum::theory::pulse_flow::{flow, flow_minus_step, pulses_minus_flow, straight_flow};
use residuum::{AnalogArray, Key, Pulses, ResponseFunction, Rounding, Update};

fn responses() -> Vec<Arc<dyn ResponseFunction>> {
    let mut all: Vec<_> = toy::responses().into_iter().map(|(_, response)| response).collect();
    all.push(Arc::new(SoftBounds::new(1.3, 0.8, 1.5, 1.2).unwrap()));
    all
}

/// The state after `desired` has been sent in pulses of `step`, which divides it.
fn by_pulses(response: &Arc<dyn ResponseFunction>, w: f64, desired: f64, step: f64) -> f64 {
    let pulses = Pulses::new(step).unwrap().rounding(Rounding::Nearest);
    let cells = Arc::new(Uniform(response.clone()));
    let mut array = AnalogArray::new(&[w], cells, Update::Pulsed(pulses)).unwrap();
    array.increment(1.0, &[desired], Key::new(0));
    assert_eq!(array.pulses_sent(), (desired.abs() / step).round() as u64);
    array.state()[0]
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

/// Whether the two laws hold within 15 % for small desired steps, with pulses of `scale` times the stated size.
fn laws_hold(response: &Arc<dyn ResponseFunction>, scale: f64) -> bool {
    let (w, step) = (0.3, 5e-4);
    [-0.05, 0.05].into_iter().all(|desired| {
        let end = flow(&**response, w, desired);
        let one = w + response.realized(desired, w);
        let pulses = by_pulses(response, w, desired, scale * step);
        let within = |measured: f64, law: f64| (measured / law - 1.0).abs() < 0.15;
        within(pulses - end, pulses_minus_flow(&**response, w, desired, step))
            && within(end - one, flow_minus_step(&**response, w, desired))
    })
}

#[test]
fn both_laws_hold_for_every_response() {
    for response in responses() {
        assert!(laws_hold(&response, 1.0), "{}", response.describe());
        assert!(!laws_hold(&response, 2.0), "{}: a doubled pulse must be noticed", response.describe());
    }
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

/// Where Analog SGD ends with α = 0.005 and the given way to write.
fn end(update: Update, seed: u64) -> Summary {
    let n = 3000;
    let cells = Arc::new(Uniform::new(toy::power(1.0)));
    let array = AnalogArray::new(&vec![toy::INITIAL; n], cells, update).unwrap();
    let mut rule = Analog::new(array, Source::sgd(5e-3));
    toy::run(&toy::gaussian(1.0, n), &mut rule, 2400, seed);
    toy::mean_of(&rule, "main")
}

fn pulsed(step: f64, rounding: Rounding) -> Update {
    Update::Pulsed(Pulses::new(step).unwrap().rounding(rounding))
}

#[test]
fn stochastic_rounding_is_unbiased_and_nearest_is_not() {
    let cells = Uniform::new(toy::power(1.0));
    let drift = predict_drift(&toy::gaussian(1.0, 1), &cells, Sampling::new(Key::new(0))).unwrap();
    let zero = drift.fixed_point[0];
    assert!((zero - 0.27503).abs() < 5e-6, "{zero}");
    // 2e-3 relative at α = 2e-3, in proportion to α.
    let bias = 5e-3 * zero;
    let scaled = end(Update::Expected, 1);
    assert!(scaled.agrees(zero, bias), "{scaled}");
    for (seed, step, deviation) in [(2, 0.02, 0.0654), (3, 0.005, 0.0388), (4, 0.001, 0.0363)] {
        let stochastic = end(pulsed(step, Rounding::Stochastic), seed);
        assert!(stochastic.agrees(zero, bias), "d = {step}: {stochastic}");
        // Both deviations are samples of 3000: their ratio has SE 1/√3000.
        let tolerance = residuum::stats::Z / 3000f64.sqrt();
        assert!((stochastic.std / deviation - 1.0).abs() < tolerance, "d = {step}: {}", stochastic.std);
    }
    let dead = end(pulsed(0.02, Rounding::Nearest), 5);
    assert!(!dead.agrees(zero, bias), "the broken twin: {dead}");
    assert!((dead.mean - 0.34979).abs() < residuum::stats::Z * dead.se.hypot(9.9e-4), "{dead}");
    let finer = end(pulsed(0.005, Rounding::Nearest), 6);
    assert!((finer.mean - 0.28067).abs() < residuum::stats::Z * finer.se.hypot(7.1e-4), "{finer}");
}
