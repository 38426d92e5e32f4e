//! Minima of one variable.

use residuum::numeric::{Minimum, minimize_bracket};

/// Function, interval, minimizer and minimum.
type Case = (fn(f64) -> f64, f64, f64, f64, f64);

#[test]
fn smooth_and_kinked_valleys_are_found() {
    let cases: [Case; 4] = [
        (|x| (x - 0.3).powi(2) + 2.0, -1.0, 4.0, 0.3, 2.0),
        (|x| x * x.ln(), 2.0, 0.01, (-1f64).exp(), -(-1f64).exp()),
        (|x| (x - 0.7).abs(), -3.0, 1.0, 0.7, 0.0),
        (f64::cos, 2.0, 5.0, std::f64::consts::PI, -1.0),
    ];
    for (case, (f, a, b, at, value)) in cases.into_iter().enumerate() {
        let got = minimize_bracket(f, a, b);
        assert!((got.at - at).abs() < 3e-8, "case {case}: {got:?}");
        assert!((got.value - value).abs() < 3e-8, "case {case}: {got:?}");
        assert_eq!(got.value, f(got.at), "case {case}");
    }
}

#[test]
fn a_monotone_function_gives_the_end_itself() {
    assert_eq!(minimize_bracket(f64::exp, -1.0, 2.0).at, -1.0);
    assert_eq!(minimize_bracket(|x| -x, -1.0, 2.0), Minimum { at: 2.0, value: -2.0 });
    assert_eq!(minimize_bracket(|x| x * x, 1.5, 1.5).at, 1.5);
}

#[test]
fn parabolas_save_work_on_smooth_functions() {
    let mut calls = 0;
    let got = minimize_bracket(
        |x| {
            calls += 1;
            (x - 1.0).powi(2) * (1.0 + 0.1 * x)
        },
        0.0,
        3.0,
    );
    assert!((got.at - 1.0).abs() < 3e-8);
    assert!(calls < 25, "{calls} calls");
}
