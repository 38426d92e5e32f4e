//! The stationary law of Residual Learning.

use std::f64::consts::FRAC_2_PI;

use residuum::response::Power;
use residuum::testing::objective::folded_normal;
use residuum::theory::residual_law::{LawRates, LocalModel, SEPARATION, bias_over_deviation};

fn toy(deviation: f64) -> LocalModel {
    let power = Power::new(1.0, 1.0).unwrap();
    LocalModel::new(1.0, deviation, 0.5, &power, &power).unwrap()
}

#[test]
fn the_law_gives_the_table_of_the_theory_notes() {
    let table = [(0.016, 0.0478, 0.0212), (0.004, 0.0239, 0.0106), (0.001, 0.0120, 0.0053)];
    for (alpha, main, effective) in table {
        let rates = LawRates { learning_rate: alpha, transfer_rate: alpha / 2.0, mixing: 1.0 };
        let law = toy(1.0).stationary(rates).unwrap();
        let leading = law.leading_residual_bias / law.residual_bias;
        assert!((law.main_bias * leading + main).abs() < 6e-5, "{law:?}");
        assert!((law.effective_bias * leading + effective).abs() < 6e-5, "{law:?}");
        assert!((0.9..1.05).contains(&leading), "the refinement is a refinement: {leading}");
    }
}

#[test]
fn the_bias_of_the_residual_solves_its_equation() {
    for ratio in [-0.9, -0.3, 0.0, 1e-6, 0.5, 0.95] {
        let r = bias_over_deviation(ratio, 0.0);
        assert!((r - ratio * folded_normal(r, 1.0)).abs() < 1e-12, "{ratio}: {r}");
    }
    let small = bias_over_deviation(1e-6, 0.0);
    assert!((small / (FRAC_2_PI.sqrt() * 1e-6) - 1.0).abs() < 1e-6, "{small}");
    assert!(bias_over_deviation(0.5, 0.1) < bias_over_deviation(0.5, 0.0));
}

#[test]
fn proposals_meet_what_was_asked() {
    let by_bias = toy(1.0).rates_for_bias(0.004).unwrap();
    let bias = by_bias.predicted.effective_bias.abs();
    assert!(bias <= 0.004 && bias > 0.95 * 0.004, "{by_bias:?}");
    let by_horizon = toy(1.0).rates_for_horizon(6000).unwrap();
    assert!((by_horizon.steps - 6000.0).abs() < 1e-6, "{by_horizon:?}");
    let law = by_horizon.predicted;
    assert!((law.fast_rate - SEPARATION * law.slow_rate).abs() < 1e-15, "{law:?}");
    assert!(toy(1.0).rates_for_horizon(10).is_err());
    assert!(toy(0.0).rates_for_bias(0.01).is_err(), "no noise, no bias, no rate");
}
