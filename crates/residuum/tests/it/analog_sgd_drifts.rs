//! Zeros of the mean drift, where Analog SGD ends (`residuum verify analog-sgd-limit` shows that it does).

use super::toy;

use std::sync::Arc;

use residuum::cells::Uniform;
use residuum::theory::fixed_point::{MeanDrift, predict_drift};
use residuum::theory::magnitude::Sampling;
use residuum::{Key, Range, ResponseFunction};

fn sampling() -> Sampling {
    Sampling::new(Key::new(0))
}

/// The one stable zero of T in the dynamic range.
fn zero_of_drift(response: &Arc<dyn ResponseFunction>, deviation: f64) -> f64 {
    let (problem, cells) = (toy::gaussian(deviation, 1), Uniform(response.clone()));
    let zeros = MeanDrift::new(&problem, &cells, sampling()).unwrap().zeros(response.range()).unwrap();
    let stable: Vec<f64> = zeros.iter().filter(|z| z.stable).map(|z| z.weight).collect();
    assert_eq!(stable.len(), 1, "{}: {zeros:?}", response.describe());
    stable[0]
}

#[test]
fn zeros_of_the_drift_meet_the_reference() {
    let reference = [
        [0.412557272452, 0.274920809124],
        [0.353097863924, 0.191222894232],
        [0.275457030153, 0.118935134602],
        [0.304538687789, 0.141511157019],
        [0.401944241013, 0.254496189525],
        [0.328759525713, 0.155271527319],
        [0.415873768036, 0.277342661065],
    ];
    assert_eq!(reference.len(), toy::responses().len());
    for ((name, response), zeros) in toy::responses().into_iter().zip(reference) {
        for (deviation, expected) in [0.5, 2.0].into_iter().zip(zeros) {
            let zero = zero_of_drift(&response, deviation);
            assert!((zero - expected).abs() < 1e-11, "{name}, σ = {deviation}: {zero} {expected}");
        }
    }
}

#[test]
fn the_penalized_minimizer_is_near_the_zero() {
    let drift = predict_drift(&toy::gaussian(0.1, 1), &Uniform::new(toy::power(1.0)), sampling()).unwrap();
    let (leading, zero) = (drift.penalized_minimizer[0], drift.fixed_point[0]);
    assert!((leading - 0.463053663136).abs() < 1e-12 && (zero - 0.460423474286).abs() < 1e-11, "{drift:?}");
}

#[test]
fn a_larger_radius_means_less_drift() {
    let radii = [0.8, 1.0, 2.0, 4.0];
    let zeros = radii.map(|radius| {
        let response: Arc<dyn ResponseFunction> =
            Arc::new(residuum::response::Power::new(1.0, radius).unwrap());
        zero_of_drift(&response, 1.0)
    });
    assert!(zeros.is_sorted() && zeros[3] < toy::MINIMIZER, "{zeros:?}");
}

#[test]
fn scans_for_zeros_are_for_one_weight() {
    let (problem, cells) = (toy::gaussian(1.0, 2), Uniform::new(toy::power(1.0)));
    let error = MeanDrift::new(&problem, &cells, sampling()).unwrap().zeros(Range::ALL).unwrap_err();
    assert_eq!(error.to_string(), "weights of a scan for zeros must have 1 entries, got 2");
}
