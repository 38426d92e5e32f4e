//! The lemmas on the analog operator hold in every case tried; the lines that are false as printed fail.

#![allow(clippy::unwrap_used)]

use residuum::response::{Power, ResponseFunction, Tanh};
use residuum::stats::Summary;
use residuum::theory::operator::{FiniteNoise, Inequality, NonMonotone, Operator, geometric_sum};
use residuum::{AnalogArray, Key, Range};
use serde_json::Value;

const CASES: u64 = 20_000;
const ROUNDING: f64 = 1e-10;

fn golden() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/convergence.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Draws in order from one key.
struct Draws(Key, u64);

impl Draws {
    fn uniform(&mut self) -> f64 {
        self.1 += 1;
        self.0.uniform_at(self.1 - 1)
    }

    fn normal(&mut self) -> f64 {
        self.1 += 1;
        self.0.normal_at(self.1 - 1)
    }

    fn vector(&mut self, dim: usize, scale: f64) -> Vec<f64> {
        (0..dim).map(|_| scale * self.normal()).collect()
    }
}

struct Case {
    operator: Operator,
    desired: Vec<f64>,
    other: Vec<f64>,
    noise: FiniteNoise,
}

/// D from 1 to 6, κ₂ up to 100, branch values inside their bounds and at them, steps and noise over four decades.
fn case(index: u64) -> Case {
    let mut draws = Draws(Key::new(41).named("operator").fold(index), 0);
    let dim = 1 + (6.0 * draws.uniform()) as usize;
    let condition = 100f64.powf(draws.uniform());
    let min = 10f64.powf(2.0 * draws.uniform() - 1.0);
    let extreme = draws.uniform() < 0.3;
    let mut branch = |_| {
        let u = draws.uniform();
        min * if extreme { if u < 0.5 { 1.0 } else { condition } } else { 1.0 + u * (condition - 1.0) }
    };
    let q_plus: Vec<f64> = (0..dim).map(&mut branch).collect();
    let q_minus = (0..dim).map(&mut branch).collect();
    let size = 10f64.powf(4.0 * draws.uniform() - 2.0);
    let atoms = 2 + (4.0 * draws.uniform()) as usize;
    let desired = draws.vector(dim, 1.0);
    let other = draws.vector(dim, size);
    let support = (0..atoms).map(|_| draws.vector(dim, size)).collect();
    let weights = (0..atoms).map(|_| 0.05 + draws.uniform()).collect();
    let noise = FiniteNoise::new(support, weights).unwrap();
    Case { operator: Operator::new(q_plus, q_minus).unwrap(), desired, other, noise }
}

fn violations(claim: impl Fn(&Case) -> Inequality) -> u64 {
    (0..CASES).filter(|&i| claim(&case(i)).violation() > ROUNDING).count() as u64
}

#[test]
fn every_lemma_holds() {
    assert_eq!(violations(|c| c.operator.lipschitz(&c.desired, &c.other)), 0, "Lipschitz");
    assert_eq!(violations(|c| c.operator.coercivity(&c.desired)), 0, "(i)");
    assert_eq!(violations(|c| c.operator.perturbed_coercivity(&c.desired, &c.other)), 0, "(ii)");
    assert_eq!(violations(|c| c.operator.perturbed_coercivity_realized(&c.desired, &c.other)), 0, "(ii) b");
    assert_eq!(violations(|c| c.operator.noisy_coercivity(&c.desired, &c.noise)), 0, "(iii)");
}

/// The lemmas are not so loose that anything passes: sides moved by a quarter fail often.
#[test]
fn twins_with_larger_constants_fail() {
    let harder = |bound: Inequality, factor: f64| Inequality { smaller: factor * bound.smaller, ..bound };
    assert!(violations(|c| harder(c.operator.lipschitz(&c.desired, &c.other), 1.25)) > CASES / 100);
    assert!(violations(|c| harder(c.operator.coercivity(&c.desired), 1.25)) > CASES / 100);
    let young = violations(|c| {
        let claim = c.operator.perturbed_coercivity(&c.desired, &c.other);
        Inequality { smaller: claim.smaller + 0.25 * claim.scale, ..claim }
    });
    assert!(young > CASES / 10, "{young}");
}

#[test]
fn the_printed_line_fails_in_nearly_half_of_the_cases_and_the_corrected_one_in_none() {
    let share = violations(|c| c.operator.noisy_line_as_printed(&c.desired, &c.noise)) as f64 / CASES as f64;
    // The share depends on how cases are drawn: 46 % in the reference's sampling, 53 % in this one.
    assert!((0.40..0.60).contains(&share), "{share}");
    assert_eq!(violations(|c| c.operator.noisy_line_corrected(&c.desired, &c.noise)), 0);
    // No perturbation at all refutes it: 0 ≥ q_min/4 ‖Δ‖².
    let operator = Operator::new(vec![0.5], vec![1.5]).unwrap();
    let still = FiniteNoise::new(vec![vec![0.0]], vec![1.0]).unwrap();
    let line = operator.noisy_line_as_printed(&[2.0], &still);
    assert_eq!((line.smaller, line.larger), (0.5, 0.0));
}

#[test]
fn the_stray_factor_breaks_one_step_of_the_chain_unless_the_floor_is_one() {
    let noise = FiniteNoise::two_point(1.0, 0.3).unwrap();
    let broken = |floor: f64| {
        let operator = Operator::new(vec![floor], vec![3.0 * floor]).unwrap();
        operator.noisy_chain_as_printed(&[1.0], &noise).map(|step| step.violation() > ROUNDING)
    };
    assert_eq!(broken(0.5), [false, true]);
    assert_eq!(broken(2.0), [true, false]);
    assert_eq!(broken(1.0), [false, false]);
}

#[test]
fn the_printed_residual_step_flips_the_asymmetry() {
    let operator = Operator::new(vec![0.5], vec![1.5]).unwrap();
    assert_eq!(operator.residual_step(1.0, &[1.0]), [-1.5]);
    assert_eq!(operator.residual_step_as_printed(1.0, &[1.0]), [-0.5]);
    // It is the correct step of the device with its branches swapped.
    let swapped = Operator::new(vec![1.5], vec![0.5]).unwrap();
    for g in [-2.0, -0.3, 0.7] {
        assert_eq!(operator.residual_step_as_printed(0.1, &[g]), swapped.residual_step(0.1, &[g]));
    }
}

/// Analog SGD on ½(w − 0.3)² with unit noise: the correct step stays near the fixed point of the reference, the
/// printed one runs to the end of the range.
#[test]
fn the_printed_residual_step_runs_away() {
    let (replicas, steps, rate) = (400, 4000, 0.005);
    let response = Power::new(1.0, 1.0).unwrap();
    let run = |printed: bool| {
        let mut array = AnalogArray::uniform(&vec![0.0; replicas], response).unwrap();
        let (mut w, mut xi) = (vec![0.0; replicas], vec![0.0; replicas]);
        for k in 0..steps {
            Key::new(6).fold(k).fill_normal(&mut xi);
            if printed {
                for (w, xi) in w.iter_mut().zip(&xi) {
                    let operator = Operator::at(&response, &[*w], response.bounds(Range { lo: -1.0, hi: 1.0 }));
                    let step = operator.residual_step_as_printed(rate, &[*w - 0.3 + xi])[0];
                    *w = (*w + step).clamp(-1.0, 1.0);
                }
            } else {
                let gradient: Vec<f64> = array.state().iter().zip(&xi).map(|(w, xi)| w - 0.3 + xi).collect();
                array.increment(-rate, &gradient, Key::new(0));
            }
        }
        Summary::of(if printed { w } else { array.state().to_vec() })
    };
    let toy = &golden()["wrong_sign_toy"];
    let (correct, wrong) = (run(false), run(true));
    let reference = toy["correct_mean"].as_f64().unwrap();
    assert!(correct.agrees(reference, 4.9 * toy["correct_se"].as_f64().unwrap()), "{correct} {reference}");
    assert!(wrong.mean > 0.9, "{wrong}");
}

#[test]
fn an_operator_at_a_state_is_the_response_there() {
    let response = Tanh::new(1.0, 0.5, 1.0, 0.1).unwrap();
    let state = [-0.7, 0.1, 2.0];
    let operator = Operator::at(&response, &state, response.bounds(Range::ALL));
    let desired = [0.3, -0.2, -1.0];
    let realized = operator.realized(&desired);
    for d in 0..3 {
        assert!((realized[d] - response.realized(desired[d], state[d])).abs() < 1e-15);
    }
}

#[test]
fn the_geometric_sum_never_reaches_its_printed_bound() {
    let reference = golden();
    let claim = geometric_sum(0.012, 50);
    assert!((claim.larger - reference["geometric_sum"].as_f64().unwrap()).abs() < 1e-9, "{claim:?}");
    assert!((claim.smaller - reference["geometric_sum_printed"].as_f64().unwrap()).abs() < 1e-9);
    for (x, steps) in [(1e-6, 10), (0.01, 1000), (0.5, 20)] {
        let direct: f64 = (0..steps).map(|k| (1.0f64 - x).powi(k)).sum();
        let claim = geometric_sum(x, steps as u64);
        assert!(
            (claim.larger / direct - 1.0).abs() < 1e-12 && claim.violation() > 0.0,
            "{x} {steps}: {claim:?}"
        );
    }
}

#[test]
fn a_regular_response_can_have_a_negative_potential() {
    let reference = &golden()["non_monotone"];
    let number = |name: &str| reference[name].as_f64().unwrap();
    let bounds = NonMonotone.bounds(Range { lo: -8.0, hi: 8.0 });
    assert!(
        (bounds.min - number("min")).abs() < 1e-8 && (bounds.max - number("max")).abs() < 1e-8,
        "{bounds:?}"
    );
    assert!((NonMonotone.asymmetry_potential(3.0) - number("potential_at_3")).abs() < 1e-10);
    let least = (0..600).map(|i| NonMonotone.asymmetry_potential(1e-2 * f64::from(i))).fold(0.0, f64::min);
    // A grid of 0.01 misses a minimum by at most 0.005²/2 · max R'.
    assert!((least - number("least_potential")).abs() < 1.25e-5 * bounds.lipschitz, "{least}");
    // The lower level at W = W* is solved far from the symmetric point, and by it when noise is weak.
    let minimizer = NonMonotone.lower_level_minimizer(0.01, 1.0);
    assert!((minimizer - number("minimizer")).abs() < 1e-8, "{minimizer}");
    assert!((NonMonotone.lower_level(0.01, 1.0, minimizer) - number("value")).abs() < 1e-11);
    assert!(NonMonotone.lower_level(0.01, 1.0, minimizer) < NonMonotone.lower_level(0.01, 1.0, 0.0));
    assert_eq!(NonMonotone.lower_level_minimizer(0.01, 0.01), 0.0);
    for w in [-2.0, -0.4, 0.9, 3.0] {
        let slope = (NonMonotone.q_minus(w + 1e-6) - NonMonotone.q_minus(w - 1e-6)) / 2e-6;
        assert!((slope - NonMonotone.q_minus_derivative(w)).abs() < 1e-8);
    }
}
