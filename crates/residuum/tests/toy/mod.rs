//! The scalar toy of the theory notes, one replica per coordinate, and its responses.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::sync::Arc;

use residuum::objective::DiagonalQuadratic;
use residuum::response::{Exponential, Linear, Power, Wavy};
use residuum::rule::{Analog, ResidualLearning, Source};
use residuum::theory::residual_law::Rates;
use residuum::{
    AnalogArray, Control, GradientOracle, Key, Noise, Noisy, ResponseFunction, UpdateRule, minimize,
};

/// W*, h and W₀ of setting A.
pub const MINIMIZER: f64 = 0.5;
pub const CURVATURE: f64 = 1.0;
pub const INITIAL: f64 = 0.8;

/// `n` copies of ½(w − ½)² under one noise law.
pub fn problem(noise: Noise, n: usize) -> Noisy {
    Noisy::new(Arc::new(DiagonalQuadratic::replicas(CURVATURE, MINIMIZER, n).unwrap()), noise).unwrap()
}

pub fn gaussian(deviation: f64, n: usize) -> Noisy {
    problem(Noise::Gaussian { deviation }, n)
}

pub fn power(shape: f64) -> Power {
    Power::new(shape, 1.0).unwrap()
}

/// Every response of the table "Other responses", with a name.
pub fn responses() -> Vec<(&'static str, Arc<dyn ResponseFunction>)> {
    vec![
        ("power 1/2", Arc::new(power(0.5))),
        ("power 1", Arc::new(power(1.0))),
        ("power 2", Arc::new(power(2.0))),
        ("exponential 1", Arc::new(Exponential::new(1.0, 1.0).unwrap())),
        ("linear, condition 4", Arc::new(Linear::with_condition(4.0, 1.0).unwrap())),
        ("wavy", Arc::new(Wavy::new(0.6, 0.25, 1.0).unwrap())),
        ("power 1, radius 2", Arc::new(Power::new(1.0, 2.0).unwrap())),
    ]
}

pub fn analog(response: impl ResponseFunction + 'static, alpha: f64, n: usize) -> Analog {
    Analog::new(AnalogArray::uniform(&vec![INITIAL; n], response).unwrap(), Source::sgd(alpha))
}

/// Residual Learning with both arrays on the same response.
pub fn residual(response: impl ResponseFunction + Clone + 'static, rates: Rates, n: usize) -> ResidualLearning {
    let main = AnalogArray::uniform(&vec![INITIAL; n], response.clone()).unwrap();
    let point = response.symmetric_point().unwrap();
    let residual = AnalogArray::uniform(&vec![point; n], response).unwrap();
    ResidualLearning::new(main, residual, rates.mixing, rates.learning_rate, rates.transfer_rate).unwrap()
}

pub fn run(oracle: &dyn GradientOracle, rule: &mut dyn UpdateRule, steps: u64, seed: u64) {
    let look = &mut |_: u64, _: usize, _: &dyn UpdateRule| Control::Continue;
    assert_eq!(minimize(oracle, &mut [rule], steps, Key::new(seed), look), Ok(steps));
}
