//! The descent lemmas at random states, and the convergence theorem by simulation through the library's own rule.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use residuum::objective::{DiagonalQuadratic, Noise, Noisy, Objective};
use residuum::response::{Ceiling, Constant, ResponseFunction, Tanh};
use residuum::rule::{ResidualLearning, UpdateRule};
use residuum::stats::Summary;
use residuum::theory::coefficients::{Coefficients, Problem, Rates};
use residuum::theory::lyapunov::{Bowl, Lyapunov, OneStep};
use residuum::theory::operator::{FiniteNoise, Inequality};
use residuum::theory::practical::practical_rates;
use residuum::{AnalogArray, Control, Key, Range, minimize};
use serde_json::Value;

const ROUNDING: f64 = 1e-10;

fn golden() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/convergence.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn tanh(hardware_condition: f64, center: f64) -> Tanh {
    Tanh::new(1.0, (hardware_condition - 1.0) / (hardware_condition + 1.0), 1.0, center).unwrap()
}

/// The lower level, its half step, the upper level for a given P_{k+1}, and the contraction, at one state.
fn claims(step: &OneStep<'_>, main: f64, residual: f64, next: f64) -> [Inequality; 4] {
    [
        step.effective_descent(main, residual),
        step.half_descent(main, residual),
        step.main_descent(main, next),
        step.contraction(main, residual),
    ]
}

/// Largest violation of each claim over random states, for α up to `learning` times the largest the lemmas allow and β
/// `transfer` times what goes with it.
fn worst(objective_condition: f64, hardware_condition: f64, learning: f64, transfer: f64) -> [f64; 4] {
    let key = Key::new(77).fold(objective_condition as u64).fold(hardware_condition as u64);
    let objective = Bowl::new(1.0, objective_condition).unwrap();
    let mut worst = [f64::NEG_INFINITY; 4];
    for case in 0..400 {
        let u = |i: u64| key.fold(case).uniform_at(i);
        let deviation = 10f64.powf(2.0 * u(0) - 1.0);
        let noise = if u(1) < 0.3 {
            FiniteNoise::three_point(deviation)
        } else {
            FiniteNoise::two_point(deviation, 0.02 + 0.96 * u(2))
        }
        .unwrap();
        let center = u(3) - 0.5;
        let (smooth, ceiling) =
            (tanh(hardware_condition, center), Ceiling::new(1.0 / hardware_condition, 1.0, 1.0).unwrap());
        let constant = Constant::new(1.0 / hardware_condition).unwrap();
        let (main, residual): (&dyn ResponseFunction, &dyn ResponseFunction) =
            if u(4) < 0.5 { (&smooth, &smooth) } else { (&constant, &ceiling) };
        let start = Rates { learning_rate: 1.0, transfer_rate: 1.0, mixing: 1.0, weight: 1.0 };
        let mut step = OneStep { objective, main, residual, rates: start, noise: &noise };
        let bounds = step.bounds();
        let problem = Problem {
            strong_convexity: 1.0,
            smoothness: objective_condition,
            noise: noise.variance().sqrt(),
            bounds,
            steps: 1,
            initial_lyapunov: 1.0,
        };
        let mixing = (1.0 + u(5)) * problem.least_mixing().max(0.1);
        let largest = bounds.min / (4.0 * mixing * objective_condition * bounds.max * bounds.max);
        let fraction = if u(6) < 0.3 { 1.0 } else { u(6) };
        step.rates = Rates::coupled(1.0, bounds, learning * fraction * largest, mixing);
        step.rates.transfer_rate *= transfer;
        if learning == 1.0 && transfer == 1.0 {
            let broken = problem.conditions(step.rates).into_iter().find(|c| !c.holds());
            assert!(broken.is_none(), "{broken:?}");
        }
        let size = 10f64.powf(4.0 * u(7) - 2.0);
        let (w, x) = (size * (2.0 * u(8) - 1.0), size * (2.0 * u(9) - 1.0));
        // P from W̄, so that both parts of V matter.
        let p = residual.symmetric_point().unwrap() + (x - w) / mixing;
        let next = residual.symmetric_point().unwrap() + size * (2.0 * u(10) - 1.0) / mixing;
        for (worst, claim) in worst.iter_mut().zip(claims(&step, w, p, next)) {
            *worst = worst.max(claim.violation());
        }
    }
    worst
}

#[test]
fn descent_lemmas_and_contraction_hold_at_random_states() {
    for objective_condition in [1.0, 4.0, 16.0] {
        for hardware_condition in [1.0, 2.0, 4.0, 8.0, 16.0] {
            let worst = worst(objective_condition, hardware_condition, 1.0, 1.0);
            assert!(
                worst.iter().all(|v| *v <= ROUNDING),
                "κ₁ = {objective_condition}, κ₂ = {hardware_condition}: {worst:?}"
            );
        }
    }
}

/// The twin: rates far beyond the lemma's must break each claim, or the test above could not fail.
#[test]
fn descent_lemmas_fail_beyond_their_rates() {
    let [effective, half, _, contraction] = worst(1.0, 1.0, 20.0, 1.0);
    assert!(effective > ROUNDING && half > ROUNDING && contraction > ROUNDING);
    let [_, _, upper, _] = worst(1.0, 1.0, 1.0, 200.0);
    assert!(upper > ROUNDING, "{upper}");
}

/// The step the lemmas speak of is the library's rule: `E[V]` after it, from arrays, one atom at a time.
#[test]
fn the_step_of_the_lemmas_is_that_of_the_rule() {
    let response = tanh(4.0, 0.2);
    let noise = FiniteNoise::two_point(0.8, 0.3).unwrap();
    let rates = Rates { learning_rate: 0.05, transfer_rate: 0.03, mixing: 1.5, weight: 2.0 };
    let objective = Bowl::new(1.0, 3.0).unwrap();
    let step = OneStep { objective, main: &response, residual: &response, rates, noise: &noise };
    for (w, p) in [(0.7, -0.4), (-1.3, 0.9), (0.1, 1.8)] {
        let array = |state: f64| AnalogArray::uniform(&[state], response).unwrap();
        let expected = noise.expectation(|xi| {
            let mut rule = ResidualLearning::new(array(w), array(p), 1.5, 0.05, 0.03).unwrap();
            let mut at = [0.0];
            rule.effective_weights(&mut at);
            rule.step(0, (&[objective.slope(at[0]) + xi[0]]).into(), Key::new(0)).unwrap();
            step.lyapunov(rule.main().state()[0], rule.residual().state()[0])
        });
        assert!((step.contraction(w, p).smaller / expected - 1.0).abs() < 1e-13, "{w} {p}");
    }
}

#[test]
fn lyapunov_parts_are_the_paper_s() {
    let objective = DiagonalQuadratic::new(vec![1.0, 4.0], vec![0.5, -0.3]).unwrap();
    let v = Lyapunov::new(&objective, &[0.5, -0.3], &[0.1, 0.2], 2.0, 3.0).unwrap();
    let (w, p) = ([1.0, 1.0], [0.4, -0.1]);
    assert_eq!(v.residual_target(&w), [(0.5 - 1.0) / 2.0 + 0.1, (-0.3 - 1.0) / 2.0 + 0.2]);
    // At P*(W) the lower level is solved and the upper level is (C/2)‖W − W*‖², whatever γ.
    let solved = v.parts(&objective, &w, &v.residual_target(&w));
    assert!(solved.objective.abs() < 1e-15);
    assert!((solved.residual - 1.5 * (0.25 + 1.69)).abs() < 1e-14);
    let parts = v.parts(&objective, &w, &p);
    let effective = [1.0 + 2.0 * 0.3, 1.0 - 2.0 * 0.3];
    assert!((parts.objective - objective.value(&effective)).abs() < 1e-14);
    assert!((parts.total() - parts.objective - solved.residual).abs() < 1e-14);
    assert!(Lyapunov::new(&objective, &[0.5], &[0.1, 0.2], 2.0, 3.0).is_err());
}

struct Setting {
    objective_condition: f64,
    hardware_condition: f64,
    steps: u64,
    replicas: usize,
    /// Deviation of each coordinate's noise.
    deviation: f64,
}

const MINIMIZER: [f64; 2] = [0.5, -0.3];

fn problem(setting: &Setting) -> Problem {
    Problem {
        strong_convexity: 1.0,
        smoothness: setting.objective_condition,
        noise: 0.1,
        bounds: tanh(setting.hardware_condition, 0.0).bounds(Range::ALL),
        steps: setting.steps,
        initial_lyapunov: 0.5 * 0.49 * (1.0 + setting.objective_condition) + 0.49,
    }
}

fn theorem(setting: &Setting) -> Coefficients {
    problem(setting).coefficients().unwrap()
}

/// A run of Residual Learning on independent two-dimensional problems, side by side as the coordinates of one run.
fn simulate(setting: &Setting, rates: Rates) -> ResidualLearning {
    let n = setting.replicas;
    let all =
        DiagonalQuadratic::new([1.0, setting.objective_condition].repeat(n), MINIMIZER.repeat(n)).unwrap();
    let oracle = Noisy::new(Arc::new(all), Noise::Gaussian { deviation: setting.deviation }).unwrap();
    let array =
        |initial: Vec<f64>| AnalogArray::uniform(&initial, tanh(setting.hardware_condition, 0.0)).unwrap();
    let start: Vec<f64> = MINIMIZER.repeat(n).iter().map(|w| w + 0.7).collect();
    let (main, residual) = (array(start), array(vec![0.0; 2 * n]));
    let mut rule =
        ResidualLearning::new(main, residual, rates.mixing, rates.learning_rate, rates.transfer_rate).unwrap();
    let key = Key::new(2026).named("convergence").fold(setting.steps);
    let mut silent = |_: u64, _: usize, _: &dyn UpdateRule| Control::Continue;
    minimize(&oracle, &mut [&mut rule], setting.steps, key, &mut silent).unwrap();
    rule
}

/// V_K over the replicas of a run.
fn lyapunov(setting: &Setting, rates: Rates) -> Summary {
    let rule = simulate(setting, rates);
    let one = DiagonalQuadratic::new(vec![1.0, setting.objective_condition], MINIMIZER.to_vec()).unwrap();
    let v = Lyapunov::new(&one, &MINIMIZER, &[0.0; 2], rates.mixing, rates.weight).unwrap();
    let pairs = rule.main().state().chunks(2).zip(rule.residual().state().chunks(2));
    Summary::of(pairs.map(|(w, p)| v.parts(&one, w, p).total()))
}

/// E[V] ≈ αγq⋄σ²/4, up to the lag of W, a relative 2β/(αγμ) at most, and to the step size, a relative αγLq_max.
/// At these rates that is 7 to 13 %.
fn stationary(found: Summary, law: f64, setting: &Setting, rates: Rates) -> bool {
    let fast = rates.learning_rate * rates.mixing;
    let max = tanh(setting.hardware_condition, 0.0).bounds(Range::ALL).max;
    let bias = 2.0 * rates.transfer_rate / fast + fast * setting.objective_condition * max;
    assert!(bias < 0.15, "{bias}");
    found.agrees(law, bias * law)
}

#[test]
fn the_theorem_holds_and_the_stationary_law_is_close() {
    for row in golden()["convergence"].as_array().unwrap() {
        let number = |name: &str| row[name].as_f64().unwrap();
        let setting = Setting {
            objective_condition: number("objective_condition"),
            hardware_condition: number("hardware_condition"),
            steps: row["steps"].as_u64().unwrap(),
            replicas: 500,
            deviation: 0.1 / 2f64.sqrt(),
        };
        if setting.steps > 80_000 {
            continue;
        }
        let Coefficients { rates, lyapunov_bound: bound, .. } = theorem(&setting);
        let (found, law) = (lyapunov(&setting, rates), number("stationary"));
        assert!(found.mean + 4.9 * found.se <= bound, "{row}: {found} above {bound}");
        assert!(stationary(found, law, &setting, rates), "{row}: {found} against {law}");
        assert!(found.agrees(number("lyapunov_mean"), 4.9 * number("lyapunov_se")), "{row}: {found}");
        // Twins: a bound ten thousand times smaller, and a law without the quarter, must fail.
        assert!(found.mean - 4.9 * found.se > bound / 1e4, "{row}: {found}");
        assert!(!stationary(found, 4.0 * law, &setting, rates), "{row}: {found}");
    }
}

/// σ is the total over coordinates. With deviation σ in each of two coordinates V doubles, and the law does not fit.
#[test]
fn noise_per_coordinate_is_told_from_total_noise() {
    let setting = |deviation| Setting {
        objective_condition: 1.0,
        hardware_condition: 2.0,
        steps: 20_000,
        replicas: 800,
        deviation,
    };
    let (total, each) = (setting(0.1 / 2f64.sqrt()), setting(0.1));
    let rates = theorem(&total).rates;
    let law = 0.25 * rates.learning_rate * rates.mixing * 0.1 * 0.1;
    assert!(stationary(lyapunov(&total, rates), law, &total, rates));
    assert!(!stationary(lyapunov(&each, rates), law, &each, rates));
}

/// Where the theorem asks for eighteen times more steps, the practical rates deliver what they predict.
#[test]
fn practical_rates_keep_their_predictions() {
    let setting = Setting {
        objective_condition: 1.0,
        hardware_condition: 4.0,
        steps: 20_000,
        replicas: 800,
        deviation: 0.5 / 2f64.sqrt(),
    };
    let problem = Problem { noise: 0.5, ..problem(&setting) };
    assert!(problem.coefficients().is_err() && problem.sufficient_steps().unwrap() > 15 * setting.steps);
    let practical = practical_rates(&problem, 1.0).unwrap();
    let found = lyapunov(&setting, practical.rates);
    // Beyond the linear law: the bias, whose (μ/2)·square in each of two coordinates the mixing was chosen to cap,
    // and the response across the spread of P.
    let bias = practical.bias_bound.powi(2);
    let law = practical.stationary_lyapunov;
    assert!(found.agrees(law, bias), "{found} against {law}, bias {bias}");
    // Twin: the law of twice the noise.
    assert!(!found.agrees(4.0 * law, bias), "{found}");
    let rule = simulate(&setting, practical.rates);
    let mut effective = vec![0.0; 2 * setting.replicas];
    rule.effective_weights(&mut effective);
    for d in 0..2 {
        let mean = Summary::of(effective.iter().skip(d).step_by(2).map(|w| w - MINIMIZER[d]));
        assert!(mean.agrees(0.0, practical.bias_bound), "{mean} against {}", practical.bias_bound);
    }
}
