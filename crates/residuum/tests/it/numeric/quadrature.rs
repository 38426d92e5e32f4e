//! Integrals in closed form.

use std::f64::consts::{LN_2, PI};

use residuum::numeric::{integrate, integrate_with_error};

/// Function, interval and the expected result.
type Case = (fn(f64) -> f64, f64, f64, f64);

#[test]
fn closed_forms_are_met_near_machine_precision() {
    let cases: [Case; 6] = [
        (|x| x.powi(5) - 3.0 * x, -1.0, 2.0, 6.0),
        (f64::exp, 0.0, 1.0, 1.0f64.exp_m1()),
        (|x| 1.0 / (1.0 + x), 0.0, 1.0, LN_2),
        (|x| 1.0 / (1.0 + 25.0 * x * x), -1.0, 1.0, 0.4 * 5.0f64.atan()),
        (|x| x.abs(), -1.0, 2.0, 2.5),
        (|x| (20.0 * x).cos().powi(2), 0.0, PI, PI / 2.0),
    ];
    for (case, (f, a, b, expected)) in cases.into_iter().enumerate() {
        let got = integrate_with_error(f, a, b, 1e-14);
        assert!((got.value - expected).abs() < 8.0 * f64::EPSILON * expected.abs(), "case {case}: {got:?}");
        assert!(got.error < 1e-13, "case {case}: {got:?}");
    }
}

#[test]
fn reversed_limits_flip_the_sign_and_equal_limits_give_zero() {
    assert_eq!(integrate(f64::exp, 1.0, 0.0, 1e-12), -integrate(f64::exp, 0.0, 1.0, 1e-12));
    assert_eq!(integrate(|x| 1.0 / x, 0.0, 0.0, 1e-12), 0.0);
}

#[test]
fn endpoint_singularities_of_the_square_root_kind_converge() {
    assert!((integrate(|x| 1.0 / x.sqrt(), 0.0, 1.0, 1e-12) - 2.0).abs() < 1e-12);
    assert!((integrate(f64::sqrt, 0.0, 1.0, 1e-14) - 2.0 / 3.0).abs() < 1e-14);
    assert!((integrate(f64::ln, 0.0, 1.0, 1e-13) + 1.0).abs() < 1e-13);
    // At 1 the spacing of f64 hides the last 1e-16 of the interval, worth about 2e-8.
    let right = integrate_with_error(|x| 1.0 / (1.0 - x).sqrt(), 0.0, 1.0, 1e-12);
    assert!((right.value - 2.0).abs() < 1e-7, "{right:?}");
}

#[test]
fn the_error_estimate_covers_the_error_of_a_loose_tolerance() {
    let got = integrate_with_error(|x: f64| (50.0 * x).sin().abs(), 0.0, PI, 1e-4);
    assert!((got.value - 2.0).abs() <= got.error && got.error <= 2e-4, "{got:?}");
}

#[test]
fn a_value_that_is_not_a_number_is_not_hidden() {
    assert!(integrate(|x: f64| (x - 0.5).sqrt(), 0.0, 1.0, 1e-6).is_nan());
    assert!(integrate(|_| 1.0, 0.0, f64::INFINITY, 1e-6).is_nan());
}
