//! Alternating pulses: cycle, swing, rate, and what cycle-to-cycle noise leaves.
#![allow(clippy::unwrap_used, reason = "test helpers")]

mod toy;

use std::sync::Arc;

use residuum::cells::{PerCell, Uniform};
use residuum::response::{Exponential, SoftBounds};
use residuum::stats::Z;
use residuum::theory::zero_shift::{CyclePrediction, zero_shift};
use residuum::{AnalogArray, Key, Pulses, ResponseFunction};
use toy::Swapped;

fn skewed() -> SoftBounds {
    SoftBounds::new(1.3, 0.8, 1.5, 1.2).unwrap()
}

/// After-down and after-up states of the settled cycle of one cell.
fn cycle(response: impl ResponseFunction + 'static, step: f64) -> (f64, f64) {
    let point = response.symmetric_point().unwrap();
    let mut array = AnalogArray::uniform(&[point + 0.1], response).unwrap();
    let pulses = Pulses::new(step).unwrap();
    let found = zero_shift(&mut array, pulses, 40_000, 1, Key::new(0)).unwrap();
    (found.symmetric_point[0] - 0.5 * found.swing[0], found.symmetric_point[0] + 0.5 * found.swing[0])
}

/// Errors of the predicted cycle at two steps: they must fall like d².
fn errors_fall_quadratically<R: ResponseFunction + Clone + 'static>(response: &R, twin: bool) -> bool {
    let errors = |step: f64| {
        let predicted = CyclePrediction::new(response, if twin { 2.0 * step } else { step }, 0.0).unwrap();
        let (down, up) = cycle(response.clone(), step);
        let point = response.symmetric_point().unwrap();
        let midpoint = 0.5 * (down + up) - point;
        [
            (down - predicted.after_down).abs(),
            (up - predicted.after_up).abs(),
            (up - down - predicted.swing()).abs(),
            (midpoint - predicted.midpoint_error).abs(),
        ]
    };
    let (coarse, fine) = (errors(0.02), errors(0.005));
    // A quarter of the step, a sixteenth of the error; symmetric devices have no midpoint error beyond rounding.
    coarse.iter().zip(fine).all(|(&c, f)| f < 1e-12 || (12.0..20.0).contains(&(c / f)))
}

#[test]
fn cycles_are_as_predicted_to_second_order() {
    assert!(errors_fall_quadratically(&toy::power(1.0), false));
    assert!(errors_fall_quadratically(&toy::power(2.0), false));
    assert!(errors_fall_quadratically(&Exponential::new(1.0, 1.0).unwrap(), false));
    assert!(errors_fall_quadratically(&skewed(), false));
    assert!(!errors_fall_quadratically(&skewed(), true), "a pulse step doubled must be noticed");
}

#[test]
fn power_one_has_its_exact_cycle() {
    let (down, up) = cycle(toy::power(1.0), 0.05);
    let expected = 0.05 / (2.0 - 0.05);
    assert!((down + expected).abs() < 1e-13 && (up - expected).abs() < 1e-13, "{down} {up}");
    assert!((down + 0.0256410256410).abs() < 1e-12);
}

/// Distance of the cell from its cycle over one pair, once close.
fn measured_contraction(response: impl ResponseFunction + Clone + 'static, step: f64) -> f64 {
    let (down, _) = cycle(response.clone(), step);
    let mut array = AnalogArray::uniform(&[down + 1e-4], response).unwrap();
    zero_shift(&mut array, Pulses::new(step).unwrap(), 1, 1, Key::new(0)).unwrap();
    (array.state()[0] - down) / 1e-4
}

#[test]
fn pairs_contract_at_the_predicted_rate() {
    for step in [0.02, 0.005] {
        let exact = (1.0 - step) * (1.0 - step);
        assert!((measured_contraction(toy::power(1.0), step) - exact).abs() < 1e-9);
        let device = skewed();
        let predicted = CyclePrediction::new(&device, step, 0.0).unwrap().contraction;
        let measured = measured_contraction(device, step);
        // λ = 1 − d(q₋' − q₊') − d² q₊'q₋' for straight branches, and no more.
        let second = -device.q_plus_derivative(0.0) * device.q_minus_derivative(0.0) * step * step;
        assert!((measured - predicted).abs() < 1.01 * second.abs(), "{measured} {predicted} {second}");
        assert!((measured - predicted).abs() > 0.0);
    }
}

/// Pairs until a cell that starts 0.6 above its symmetric point is within one step of its cycle.
fn pairs_used(response: impl ResponseFunction + Clone + 'static, step: f64) -> u64 {
    let point = response.symmetric_point().unwrap();
    let (down, _) = cycle(response.clone(), step);
    let mut array = AnalogArray::uniform(&[point + 0.6], response).unwrap();
    let pulses = Pulses::new(step).unwrap();
    let mut pairs = 0;
    while (array.state()[0] - down).abs() > step {
        zero_shift(&mut array, pulses, 1, 1, Key::new(0)).unwrap();
        pairs += 1;
    }
    assert_eq!(array.pulses_sent(), 2 * pairs);
    pairs
}

#[test]
fn pairs_needed_are_as_predicted() {
    let reference = [(0.05, 25, 33), (0.01, 205, 267), (0.002, 1425, 1859)];
    for (step, straight, soft) in reference {
        assert_eq!(pairs_used(toy::power(1.0), step), straight);
        assert_eq!(pairs_used(skewed(), step), soft);
        let predicted = CyclePrediction::new(&skewed(), step, 0.0).unwrap().pairs(0.6);
        assert!((predicted - soft as f64).abs() < 2.0, "{predicted} {soft}");
    }
}

#[test]
fn a_whole_array_is_calibrated_at_once() {
    let devices: Vec<SoftBounds> = (0..50)
        .map(|i| SoftBounds::new(0.7 + 0.02 * f64::from(i), 1.2 - 0.01 * f64::from(i), 1.0, 1.3).unwrap())
        .collect();
    let cells = Arc::new(PerCell(devices.clone()));
    let mut array = AnalogArray::new(&[0.3; 50], cells.clone(), residuum::Update::Expected).unwrap();
    let step = 2.0 / 1200.0;
    let found = zero_shift(&mut array, Pulses::new(step).unwrap(), 6000, 1, Key::new(0)).unwrap();
    assert_eq!(found.pulses, 2 * 6000 * 50);
    for ((device, error), gain) in devices.iter().zip(found.errors(&*cells)).zip(&found.gain) {
        let predicted = CyclePrediction::new(device, step, 0.0).unwrap();
        let error = error.expect("every device has a symmetric point");
        assert!((error - predicted.midpoint_error).abs() < 4.0 * step * step, "{error} {predicted:?}");
        let truth = device.gain(device.symmetric_point().unwrap());
        assert!((gain / truth - 1.0).abs() < 4.0 * step, "{gain} {truth}");
    }
    assert!(zero_shift(&mut array, Pulses::new(step).unwrap(), 5, 6, Key::new(0)).is_err());
}

#[test]
fn cycle_noise_leaves_the_predicted_deviation() {
    let n = 4000;
    for (step, noise) in [(0.02, 0.3), (0.005, 0.3), (0.005, 1.0)] {
        let spread = |pulse: f64| {
            let mut array = AnalogArray::uniform(&vec![0.0; n], toy::power(1.0)).unwrap();
            let pulses = Pulses::new(pulse).unwrap().cycle_noise(noise).unwrap();
            zero_shift(&mut array, pulses, (8.0 / pulse) as u64, 1, Key::new(4)).unwrap();
            residuum::stats::Summary::of(array.state().iter().copied()).std
        };
        let predicted = CyclePrediction::new(&toy::power(1.0), step, noise).unwrap().deviation;
        // A sample deviation has relative SE 1/√(2n); the law neglects terms of relative size d(1 + s²).
        let tolerance = Z / (2.0 * n as f64).sqrt() + step * (1.0 + noise * noise);
        assert!((spread(step) / predicted - 1.0).abs() < tolerance, "d = {step}, s = {noise}");
        assert!((spread(2.0 * step) / predicted - 1.0).abs() > tolerance, "a doubled step must be noticed");
    }
}

#[test]
fn averaging_pairs_beats_the_last_pair_under_noise() {
    let n = 500;
    let rms = |averaged: u64| {
        let mut array = AnalogArray::uniform(&vec![0.0; n], toy::power(1.0)).unwrap();
        let pulses = Pulses::new(0.02).unwrap().cycle_noise(0.3).unwrap();
        let found = zero_shift(&mut array, pulses, 3000, averaged, Key::new(6)).unwrap();
        (found.symmetric_point.iter().map(|w| w * w).sum::<f64>() / n as f64).sqrt()
    };
    // Noise is forgotten at 2dG' = 0.04 per pair, so 2500 pairs hold about 2500·0.04/2 = 50 independent ones.
    let (last, mean) = (rms(1), rms(2500));
    assert!((last / mean / 50f64.sqrt() - 1.0).abs() < 0.25, "{last} {mean}");
}

#[test]
fn devices_that_pulses_cannot_centre_are_refused() {
    let repelling = CyclePrediction::new(&Swapped(toy::power(1.0)), 0.01, 0.0).unwrap_err();
    let message = repelling.to_string();
    assert!(
        message.starts_with("slope of q_minus - q_plus at the symmetric point must be positive"),
        "{message}"
    );
    assert!(CyclePrediction::new(&toy::power(1.0), -0.01, 0.0).is_err());
    let cells = Uniform::new(toy::power(1.0));
    assert!(AnalogArray::new(&[2.0], Arc::new(cells), residuum::Update::Expected).is_err());
}
