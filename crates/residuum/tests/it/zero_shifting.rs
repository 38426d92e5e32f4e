//! Calibration of a whole array by alternating pulses, and the devices it rejects.

use super::toy;

use std::sync::Arc;

use residuum::array::ZeroShift;
use residuum::cells::{PerCell, Uniform};
use residuum::response::{SoftBounds, Swapped};
use residuum::theory::zero_shift::CyclePrediction;
use residuum::{Array, ExactArray, Key, ResponseFunction};

#[test]
fn a_whole_array_is_calibrated_at_once() {
    let devices: Vec<SoftBounds> = (0..50)
        .map(|i| SoftBounds::new(0.7 + 0.02 * f64::from(i), 1.2 - 0.01 * f64::from(i), 1.0, 1.3).unwrap())
        .collect();
    let cells = Arc::new(PerCell(devices.clone()));
    let mut array = ExactArray::new(&[0.3; 50], cells, residuum::Update::Expected).unwrap();
    let step = 2.0 / 1200.0;
    let settings = ZeroShift { pulse_step: Some(step), ..ZeroShift::pairs(6000) };
    let found = array.zero_shift(&settings, Key::new(0)).unwrap();
    assert_eq!(found.pulses, 2 * 6000 * 50);
    for ((device, error), gain) in devices.iter().zip(found.errors(&array.symmetric_points())).zip(&found.gain)
    {
        let predicted = CyclePrediction::new(device, step, 0.0).unwrap();
        let error = error.expect("every device has a symmetric point");
        assert!((error - predicted.midpoint_error).abs() < 4.0 * step * step, "{error} {predicted:?}");
        let truth = device.gain(device.symmetric_point().unwrap());
        assert!((gain / truth - 1.0).abs() < 4.0 * step, "{gain} {truth}");
    }
    assert!(array.zero_shift(&ZeroShift { pairs: 5, averaged: 6, ..settings }, Key::new(0)).is_err());
}

#[test]
fn devices_that_pulses_cannot_centre_are_refused() {
    let repelling = CyclePrediction::new(&Swapped(Arc::new(toy::power(1.0))), 0.01, 0.0).unwrap_err();
    let message = repelling.to_string();
    assert!(
        message.starts_with("slope of q_minus - q_plus at the symmetric point must be positive"),
        "{message}"
    );
    assert!(CyclePrediction::new(&toy::power(1.0), -0.01, 0.0).is_err());
    let cells = Uniform::new(toy::power(1.0));
    assert!(ExactArray::new(&[2.0], Arc::new(cells), residuum::Update::Expected).is_err());
}
