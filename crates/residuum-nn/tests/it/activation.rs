//! Activations in single precision.

use residuum_nn::testing::layer::{relu, sigmoid, tanh};

#[test]
fn functions_are_accurate_in_single_precision() {
    for i in -300_000..=300_000 {
        let x = i as f32 * 1e-4;
        let (t, s) = (f64::from(x).tanh(), 1.0 / (1.0 + (-f64::from(x)).exp()));
        assert!((f64::from(tanh(x)) - t).abs() <= 3e-7 * t.abs(), "tanh {x}");
        assert!((f64::from(sigmoid(x)) - s).abs() <= 4e-7 * s, "sigmoid {x}");
    }
    assert_eq!((tanh(-100.0), sigmoid(200.0), sigmoid(-1e30) < 1e-37), (-1.0, 1.0, true));
    assert_eq!((relu(-1.0), relu(2.0), relu(f32::NAN).is_nan()), (0.0, 2.0, true));
}
