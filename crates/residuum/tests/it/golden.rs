//! Trajectories without random numbers, against an independent prototype (`golden/theory_goldens.json`).

use super::toy;

use std::sync::Arc;

use residuum::objective::DiagonalQuadratic;
use residuum::response::{Exponential, Linear, Swapped};
use residuum::rule::{ResidualConfig, ResidualLearning};
use residuum::theory::residual_law::LawRates;
use residuum::{
    Array, Control, ExactArray, Gradient, GradientOracle, Key, Noise, Noisy, Objective, ResponseFunction, Rule,
    UpdateRule, minimize_observed,
};
use serde_json::Value;

const GOLDENS: &str = include_str!("../../../../golden/theory_goldens.json");

/// Setting A.
const RATES: LawRates = LawRates { learning_rate: 2e-3, transfer_rate: 4e-3, mixing: 1.0 };

fn goldens() -> Value {
    serde_json::from_str(GOLDENS).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Largest distance of Analog SGD and Residual Learning from a recorded trajectory.
fn distance<R>(run: &Value, response: &R, order: Order) -> f64
where
    R: ResponseFunction + Clone + 'static,
{
    let oracle = toy::problem(Noise::Cosine { deviation: 1.0 }, 1);
    let mut analog = toy::analog(response.clone(), 1);
    let mut residual = toy::residual(response.clone(), RATES.mixing, 1);
    let mut old = [0.8, 0.0].map(|w| ExactArray::uniform(&[w], response.clone()).unwrap());
    let trajectory = run["trajectory"].as_object().unwrap();
    let (mut worst, mut compared): (f64, usize) = (0.0, 0);
    let (rates, key) = (toy::of_step(RATES), Key::new(0));
    let gradient = |k: u64, at: f64| {
        let mut gradient = [0.0];
        oracle.sample(k, &[at], key, &mut gradient);
        gradient
    };
    for k in 0..=6000 {
        let [w, p] = match order {
            Order::New => [residual.main(), residual.residual()].map(|array| array.weights()[0]),
            Order::Old => [old[0].weights()[0], old[1].weights()[0]],
        };
        let effective = w + RATES.mixing * p;
        if let Some(expected) = trajectory.get(&k.to_string()) {
            let found = [("analog", analog.effective_weights()[0]), ("W", w), ("P", p), ("Wbar", effective)];
            for (name, given) in found {
                worst = worst.max((given - number(&expected[name])).abs());
                compared += 1;
            }
        }
        let at = analog.effective_weights()[0];
        analog.step(Gradient::Dense(&gradient(k, at)), &rates, key).unwrap();
        let gradient = gradient(k, effective);
        match order {
            Order::New => residual.step(Gradient::Dense(&gradient), &rates, key).unwrap(),
            Order::Old => {
                let [main, residual] = &mut old;
                residual.increment(-RATES.learning_rate, &gradient, key).unwrap();
                main.increment(RATES.transfer_rate * RATES.mixing, &[p], key).unwrap();
            }
        }
    }
    assert_eq!(compared, 4 * trajectory.len(), "every recorded step is compared");
    assert!(["1", "100", "6000"].iter().all(|k| trajectory.contains_key(*k)));
    worst
}

/// Which residual moves the main array.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    /// P_{k+1}, as the paper has it.
    New,
    /// P_k: broken on purpose.
    Old,
}

#[test]
fn trajectories_of_every_response_are_met() {
    let goldens = goldens();
    let runs = goldens["toy_trajectories"]["runs"].as_array().unwrap();
    let linear = Linear::with_condition(4.0, 1.0).unwrap();
    let exponential = Exponential::new(1.0, 1.0).unwrap();
    let distances = [
        distance(&runs[0], &toy::power(1.0), Order::New),
        distance(&runs[1], &toy::power(0.5), Order::New),
        distance(&runs[2], &toy::power(2.0), Order::New),
        distance(&runs[3], &exponential, Order::New),
        distance(&runs[4], &linear, Order::New),
    ];
    assert_eq!(runs.len(), distances.len());
    for (run, d) in runs.iter().zip(distances) {
        assert!(d < 1e-9, "{}: {d:e}", run["response"]);
    }
}

#[test]
fn trajectories_tell_the_broken_twins_apart() {
    let goldens = goldens();
    let run = &goldens["toy_trajectories"]["runs"][0];
    let old = distance(run, &toy::power(1.0), Order::Old);
    let swapped = distance(run, &Swapped(Arc::new(toy::power(1.0))), Order::New);
    let other = distance(run, &toy::power(2.0), Order::New);
    assert!(old > 1e-6, "P_k in place of P_(k+1): {old:e}");
    assert!(swapped > 1e-2, "branches exchanged: {swapped:e}");
    assert!(other > 1e-2, "another response: {other:e}");
}

const CONDITIONS: [f64; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];

/// f(W̄_k) − f* of the golden κ₂ instance every 100 steps, one row per κ₂.
fn sweep() -> Vec<Vec<f64>> {
    let n = 1024;
    let fraction = (5f64.sqrt() - 1.0) / 2.0;
    let curvature = (0..n).map(|i| 0.5 + 3.5 * (i as f64 + 0.5) / n as f64).collect();
    let minimizer = (0..n).map(|i| 0.5 + ((i + 1) as f64 * fraction).fract()).collect();
    let objective = Arc::new(DiagonalQuadratic::new(curvature, minimizer).unwrap());
    let oracle = Noisy::new(objective.clone(), Noise::None).unwrap();
    let run = |condition: f64| {
        let response = Linear::with_condition(condition, 1.0).unwrap();
        let array = ExactArray::uniform(&vec![0.0; n], response).unwrap();
        let mut rule = ResidualLearning::new(array.clone(), array, ResidualConfig::mixing(0.5)).unwrap();
        let mut gaps = Vec::new();
        let mut look = |k: u64, _: usize, rule: &dyn Rule| {
            if k.is_multiple_of(100) {
                gaps.push(objective.value(rule.effective_weights()));
            }
            Control::Continue
        };
        let rates = residuum::Rates::new(1e-3, 1e-3);
        minimize_observed(&oracle, &mut [&mut rule], &rates, 0..1000, Key::new(0), &mut look).unwrap();
        gaps
    };
    CONDITIONS.into_iter().map(run).collect()
}

#[test]
fn hardware_condition_sweep_is_met() {
    let goldens = goldens();
    let table = &goldens["kappa_sweep"]["f_gap"];
    let gaps = sweep();
    for (row, condition) in gaps.iter().zip(CONDITIONS) {
        let expected = table[condition.to_string()].as_array().unwrap();
        assert_eq!(expected.len(), row.len());
        for (given, expected) in row.iter().zip(expected) {
            let expected = number(expected);
            assert!((given / expected - 1.0).abs() < 1e-6, "κ₂ = {condition}: {given} {expected}");
        }
    }
}
