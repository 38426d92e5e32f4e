//! The scalar toy of the theory notes, one replica per coordinate, and the ways to break it on purpose.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::sync::Arc;

use residuum::objective::DiagonalQuadratic;
use residuum::response::{Exponential, Linear, Power, Wavy};
use residuum::rule::{Analog, ResidualLearning, Source};
use residuum::stats::Summary;
use residuum::theory::residual_law::Rates;
use residuum::{
    AnalogArray, Control, GradientOracle, Key, Noise, Noisy, Range, ResponseFunction, UpdateRule, minimize,
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

/// Mean over replicas of one array of the rule.
pub fn mean_of(rule: &dyn UpdateRule, array: &str) -> Summary {
    let arrays = rule.arrays();
    let (_, state) = arrays.iter().find(|(name, _)| *name == array).unwrap();
    Summary::of(state.iter().copied())
}

/// Mean over replicas of W̄.
pub fn mean_effective(rule: &dyn UpdateRule) -> Summary {
    let mut w = vec![0.0; rule.dim()];
    rule.effective_weights(&mut w);
    Summary::of(w)
}

/// Broken on purpose: q₊ and q₋ exchanged. Since A(−Δ) with exchanged branches is −A(Δ), this is also the sign mistake
/// P ← P − A(αg; P).
#[derive(Clone, Debug)]
pub struct Swapped<R>(pub R);

/// The response moved so that its symmetric point is at `point`.
#[derive(Clone, Debug)]
pub struct Moved<R> {
    pub response: R,
    pub by: f64,
}

impl<R: ResponseFunction> Moved<R> {
    pub fn to(response: R, point: f64) -> Self {
        let by = point - response.symmetric_point().unwrap();
        Self { response, by }
    }
}

impl<R: ResponseFunction> ResponseFunction for Swapped<R> {
    fn q_plus(&self, w: f64) -> f64 {
        self.0.q_minus(w)
    }
    fn q_minus(&self, w: f64) -> f64 {
        self.0.q_plus(w)
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        self.0.q_minus_derivative(w)
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        self.0.q_plus_derivative(w)
    }
    fn range(&self) -> Range {
        self.0.range()
    }
    fn symmetric_point(&self) -> Option<f64> {
        self.0.symmetric_point()
    }
    fn describe(&self) -> String {
        format!("swapped {}", self.0.describe())
    }
}

impl<R: ResponseFunction> ResponseFunction for Moved<R> {
    fn q_plus(&self, w: f64) -> f64 {
        self.response.q_plus(w - self.by)
    }
    fn q_minus(&self, w: f64) -> f64 {
        self.response.q_minus(w - self.by)
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        self.response.q_plus_derivative(w - self.by)
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        self.response.q_minus_derivative(w - self.by)
    }
    fn range(&self) -> Range {
        let range = self.response.range();
        Range { lo: range.lo + self.by, hi: range.hi + self.by }
    }
    fn symmetric_point(&self) -> Option<f64> {
        self.response.symmetric_point().map(|w| w + self.by)
    }
    fn describe(&self) -> String {
        format!("{} moved by {}", self.response.describe(), self.by)
    }
}
