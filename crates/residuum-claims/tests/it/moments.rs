//! Moments of the linear loop.

use residuum_claims::testing::{Loop, modulus};

#[test]
fn an_autoregression_has_its_variance() {
    let alone = Loop {
        curvature: 1.0,
        deviation: 0.5,
        learning_rate: 0.1,
        transfer_rate: 0.0,
        mixing: 1.0,
        stiffness: 0.0,
        asymmetry: 0.0,
    };
    let found = alone.after(0.0, 2000);
    let exact = (0.1f64 * 0.5).powi(2) / (1.0 - 0.81);
    assert!((found.effective / exact - 1.0).abs() < 1e-12, "{found:?} {exact}");
    assert!((modulus(0.0, 2.0) - 2.0 * std::f64::consts::FRAC_2_PI.sqrt()).abs() < 1e-15);
    assert!((modulus(-30.0, 1.0) - 30.0).abs() < 1e-12);
}
