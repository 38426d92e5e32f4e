//! The curve that gives the response its name.

use residuum::ResponseFunction;
use residuum::response::SCurve;

/// Small steps of one sign follow the curve that gives the response its name.
#[test]
#[allow(clippy::unwrap_used)]
fn pulses_trace_the_logistic_curve() {
    let response = SCurve::new(1.0, 0.0, 1e-12, 0.8).unwrap();
    let (step, mut w) = (1e-4, 0.0);
    for n in 1..=20_000 {
        w += response.realized(step, w);
        let exact = 0.8 * (f64::from(n) * step / 0.8).tanh();
        // Euler's method: the error is of the order of the step.
        assert!((w - exact).abs() < step, "{n}: {w} {exact}");
    }
}

#[test]
fn impossible_numbers_are_named() {
    for (numbers, name) in
        [([0.0, 0.2, 0.1, 1.0], "shape"), ([1.0, 1.0, 0.1, 1.0], "skew"), ([1.0, 0.2, 0.0, 1.0], "floor")]
    {
        let [shape, skew, floor, radius] = numbers;
        let error = SCurve::new(shape, skew, floor, radius).expect_err(name).to_string();
        assert!(error.starts_with(name), "{error}");
    }
}
