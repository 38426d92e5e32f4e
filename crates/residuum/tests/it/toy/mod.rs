//! The scalar toy of the theory notes, one replica per coordinate, and its responses.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::sync::Arc;

use residuum::objective::DiagonalQuadratic;
use residuum::response::{Exponential, Linear, Power, Wavy};
use residuum::rule::{self, Analog, ResidualConfig, ResidualLearning};
use residuum::theory::residual_law::LawRates;
use residuum::{ExactArray, GradientOracle, Key, Noise, Noisy, ResponseFunction, UpdateRule, minimize};

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

pub fn analog(response: impl ResponseFunction + 'static, n: usize) -> Analog {
    Analog::sgd(ExactArray::uniform(&vec![INITIAL; n], response).unwrap())
}

/// Residual Learning with both arrays on the same response.
pub fn residual(response: impl ResponseFunction + Clone + 'static, mixing: f64, n: usize) -> ResidualLearning {
    let main = ExactArray::uniform(&vec![INITIAL; n], response.clone()).unwrap();
    let point = response.symmetric_point().unwrap();
    let residual = ExactArray::uniform(&vec![point; n], response).unwrap();
    ResidualLearning::new(main, residual, ResidualConfig::mixing(mixing)).unwrap()
}

/// The rates of a step.
pub fn of_step(rates: LawRates) -> rule::Rates {
    rule::Rates::new(rates.learning_rate, rates.transfer_rate)
}

pub fn run(oracle: &dyn GradientOracle, rule: &mut dyn UpdateRule, rates: rule::Rates, steps: u64, seed: u64) {
    minimize(oracle, &mut [rule], &rates, steps, Key::new(seed)).unwrap();
}
