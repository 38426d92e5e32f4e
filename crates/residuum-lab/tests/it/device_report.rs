//! The report on one device: its numbers, and what it refuses.

use std::sync::Arc;

use residuum::response::{Power, Tanh};
use residuum::{Range, ResponseFunction};
use residuum_lab::device_report::{DeviceReport, DriftProblem};
use residuum_lab::testing::device_report::number;

const PROBLEM: DriftProblem = DriftProblem { curvature: 1.0, minimizer: 0.5, deviations: [0.1, 0.5, 1.0, 2.0] };

#[test]
fn numbers_keep_six_digits() {
    assert_eq!(number(0.463053663136), "0.463054");
    assert_eq!(number(9.0), "9");
    assert_eq!(number(-0.5), "-0.5");
    assert_eq!(number(1.5e-7), "1.5000e-7");
}

#[test]
fn power_report_has_the_reference_numbers() {
    let power: Arc<dyn ResponseFunction> = Arc::new(Power::new(1.0, 1.0).unwrap());
    let report = DeviceReport::new(&power, None, PROBLEM).unwrap();
    let json = report.to_json();
    assert!((json["hardware_condition"].as_f64().unwrap() - 9.0).abs() < 1e-12);
    // Setting A of the toy at σ = 1: zero of T 0.27503.
    let zero = json["drift"][2]["fixed_point"].as_f64().unwrap();
    assert!((zero - 0.27503).abs() < 5e-6, "{zero}");
    assert!(report.to_text().contains("κ₂ = q_max/q_min         9\n"));
}

#[test]
fn an_infinite_condition_is_said_with_its_reason() {
    let power: Arc<dyn ResponseFunction> = Arc::new(Power::new(2.0, 0.6).unwrap());
    let whole = Range::new(-0.6, 0.6).unwrap();
    let report = DeviceReport::new(&power, Some(whole), PROBLEM).unwrap();
    assert!(report.to_text().contains("∞ (q reaches 0 inside [-0.6, 0.6]"), "{}", report.to_text());
    assert!(report.to_json()["hardware_condition"].is_null());
}

#[test]
fn a_range_outside_the_device_is_refused() {
    let power: Arc<dyn ResponseFunction> = Arc::new(Power::new(1.0, 0.6).unwrap());
    let e = DeviceReport::new(&power, Some(Range::new(-1.0, 0.0).unwrap()), PROBLEM).unwrap_err();
    assert_eq!(e.to_string(), "range must be inside the dynamic range of the device, got -1");
    let tanh: Arc<dyn ResponseFunction> = Arc::new(Tanh::new(1.0, 0.5, 1.0, 0.0).unwrap());
    assert!(DeviceReport::new(&tanh, None, PROBLEM).is_ok());
}
