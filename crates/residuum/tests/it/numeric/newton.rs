//! Newton's method, and how it fails.

use residuum::numeric::{NewtonOptions, NumericError, newton};

fn one(f: fn(f64) -> f64, x0: f64, max_iterations: usize) -> Result<Vec<f64>, NumericError> {
    let options = NewtonOptions { max_iterations, ..NewtonOptions::default() };
    newton(|x, out| out[0] = f(x[0]), &[x0], options)
}

#[test]
fn a_coupled_system_reaches_its_closed_form() {
    // x = exp(-y), y = x + 1 in disguise: the first gives x e^x = 1/e, Lambert's W(1/e).
    let f = |x: &[f64], out: &mut [f64]| {
        out[0] = x[0] - (-x[1]).exp();
        out[1] = x[1] - x[0] - 1.0;
    };
    let x = newton(f, &[0.0, 0.0], NewtonOptions::default()).expect("valid input");
    assert!((x[0] - 0.2784645427610738).abs() < 1e-14, "{x:?}");
    assert!((x[1] - x[0] - 1.0).abs() < 1e-14, "{x:?}");
}

#[test]
fn damping_saves_a_start_from_which_plain_newton_diverges() {
    assert!(one(f64::atan, 3.0, 50).expect("valid input")[0].abs() < 1e-12);
}

#[test]
fn each_failure_has_its_own_error() {
    assert_eq!(one(|_| 1.0, 0.0, 9), Err(NumericError::Singular { iteration: 0, residual: 1.0 }));
    assert_eq!(one(f64::ln, -1.0, 9), Err(NumericError::NotFinite { iteration: 0 }));
    assert!(matches!(one(f64::exp, 0.0, 5), Err(NumericError::NotConverged { iterations: 5, .. })));
    assert!(matches!(
        one(|x| x * x + 1.0, 0.5, 99),
        Err(NumericError::Stalled { .. } | NumericError::Singular { .. })
    ));
    let message = newton(|_, _| (), &[], NewtonOptions { tolerance: -1.0, max_iterations: 1 });
    assert_eq!(
        message.expect_err("refused input").to_string(),
        "tolerance must be positive and finite, got -1"
    );
}
