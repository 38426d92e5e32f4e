//! Roots in closed form.

use std::f64::consts::PI;

use residuum::numeric::{find_root, roots};

/// Function, interval and the expected result.
type Case = (fn(f64) -> f64, f64, f64, f64);

#[test]
fn closed_forms_are_met_to_the_last_bits() {
    let cases: [Case; 5] = [
        (|x| x * x - 2.0, 0.0, 2.0, 2f64.sqrt()),
        (|x| x.exp() - 5.0, -10.0, 10.0, 5f64.ln()),
        (|x| x.tanh() - 0.5, 4.0, -4.0, 0.5f64.atanh()),
        (|x| (x - 0.3).powi(9), -1.0, 1.0, 0.3),
        (|x| x.cbrt() - 1e-4, -1.0, 1.0, 1e-12),
    ];
    for (case, (f, a, b, expected)) in cases.into_iter().enumerate() {
        let root = find_root(f, a, b).expect("valid input");
        assert!((root - expected).abs() <= 4.0 * f64::EPSILON * expected, "case {case}: {root:e}");
    }
}

#[test]
fn a_root_at_zero_is_resolved_absolutely_and_cheaply() {
    let mut calls = 0;
    let root = find_root(
        |x: f64| {
            calls += 1;
            x.tanh() + x
        },
        -1.0,
        3.0,
    );
    assert!(root.expect("valid input").abs() < 1e-100);
    assert!(calls < 60, "{calls} calls");
}

#[test]
fn no_sign_change_and_poles_give_none_but_a_jump_counts() {
    assert_eq!(find_root(|x| x * x + 1.0, -1.0, 1.0), None);
    assert_eq!(find_root(|_| f64::NAN, -1.0, 1.0), None);
    assert_eq!(find_root(f64::signum, f64::NEG_INFINITY, 1.0), None);
    assert_eq!(find_root(|x| 1.0 / (x - 0.3), -1.0, 1.0), None);
    let jump = find_root(|x| if x < 0.3 { -1.0 } else { 2.0 }, -1.0, 1.0).expect("valid input");
    assert!((jump - 0.3).abs() <= f64::EPSILON);
    assert_eq!(find_root(|x| x - 1.0, 1.0, 2.0), Some(1.0));
}

#[test]
fn a_scan_finds_every_separated_root_once() {
    let found = roots(f64::sin, 0.5, 10.0, 40);
    assert_eq!(found.len(), 3);
    for (n, root) in (1..).zip(&found) {
        assert!((root - f64::from(n) * PI).abs() < 4e-15, "{found:?}");
    }
    // Poles of tan are no roots; zeros on the grid, at its ends too, come once.
    assert_eq!(roots(f64::tan, -2.0, 2.0, 41), [0.0]);
    assert_eq!(roots(|x| x * (x - 1.0), 0.0, 1.0, 3), [0.0, 1.0]);
    assert_eq!(roots(|x| x, -1.0, 1.0, 1), [0.0; 0]);
}
