//! The lower bound's hard instance: its lemmas exactly, its floor and confinement by simulation.

#![allow(clippy::unwrap_used)]

use residuum::Key;
use residuum::response::ResponseFunction;
use residuum::stats::fit_line;
use residuum::theory::coefficients::Rates;
use residuum::theory::hard_instance::{HardInstance, Simulation, State};
use serde_json::Value;

fn golden() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/convergence.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name} in {row}"))
}

fn instance(hardware_condition: f64) -> HardInstance {
    HardInstance::new(hardware_condition, 1.0, 1.0, 1.0, 1.0).unwrap()
}

#[test]
fn conditional_means_equal_the_reference() {
    let reference = &golden()["conditional_mean"];
    let hard = instance(4.0);
    for row in reference["rows"].as_array().unwrap() {
        let residual = number(row, "residual");
        assert!((hard.noise_atoms(residual)[0].0 - number(row, "probability")).abs() < 1e-11, "{row}");
        let (exact, closed) = hard.conditional_mean(residual, number(reference, "gradient"));
        assert!((exact - number(row, "mean")).abs() < 1e-11, "{row}: {exact}");
        assert!((closed - exact).abs() < 2e-15, "{row}: {closed} against {exact}");
    }
}

/// E[−A(−g; P)] over two atoms, for noise and branches of the caller's choice.
fn mean_increment(atoms: [(f64, f64); 2], gradient: f64, q_plus: f64, q_minus: f64) -> f64 {
    atoms.iter().map(|(p, xi)| p * (gradient + xi) * if gradient + xi > 0.0 { q_minus } else { q_plus }).sum()
}

#[test]
fn the_conditional_mean_lemma_is_exact_under_its_sign_condition_and_only_there() {
    let key = Key::new(8);
    let (mut inside, mut outside, mut reversed, mut swapped) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
    for case in 0..20_000 {
        let u = |i| key.fold(case).uniform_at(i);
        let hard = instance(20f64.powf(u(0)));
        let (residual, gradient) = (3.0 * u(1) - 1.5, 4.0 * u(2) - 2.0);
        let (exact, closed) = hard.conditional_mean(residual, gradient);
        // The recursion the simulation runs has that mean too.
        let rates = hard.free(0.01 / (12.0 * hard.mixing())).unwrap();
        let state = State { main: gradient - hard.mixing() * residual, residual };
        let atoms = hard.noise_atoms(residual);
        let next: f64 = atoms.iter().map(|&(p, xi)| p * hard.step(rates, state, xi).residual).sum();
        assert!((residual - rates.learning_rate * exact - next).abs() < 1e-12 * rates.learning_rate.max(1e-3));
        if !hard.sign_condition(residual, gradient) {
            outside = outside.max((exact - closed).abs());
            continue;
        }
        inside = inside.max((exact - closed).abs());
        let (plus, minus) = (hard.response().q_plus(residual), hard.response().q_minus(residual));
        // Twins: the noise law with p and 1 − p exchanged, and the device with its branches exchanged.
        let [(p, up), (_, down)] = hard.noise_atoms(residual);
        let other = [(1.0 - p, -down), (p, -up)];
        reversed = reversed.max((mean_increment(other, gradient, plus, minus) - closed).abs());
        swapped = swapped.max((mean_increment(atoms, gradient, minus, plus) - closed).abs());
        assert!((mean_increment(atoms, gradient, plus, minus) - exact).abs() < 1e-14);
        let (mean, variance) = (p * up + (1.0 - p) * down, p * up * up + (1.0 - p) * down * down);
        assert!(mean.abs() < 1e-14 && (variance - 1.0).abs() < 1e-13, "{mean} {variance}");
    }
    assert!(inside < 5e-15, "{inside}");
    assert!(outside > 0.1 && reversed > 0.1 && swapped > 0.1, "{outside} {reversed} {swapped}");
}

/// Smallest E‖R_{k+1}‖² over its claimed lower bound, at random states, with the gain of the claim scaled.
fn smallest_ratio(cases: u64, scale: f64) -> f64 {
    let key = Key::new(9);
    (0..cases)
        .map(|case| {
            let u = |i| key.fold(case).uniform_at(i);
            let hard = instance(16f64.powf(u(0)));
            let largest = 1.0 / (12.0 * hard.mixing());
            let rates = hard.free(largest * 10f64.powf(-3.0 * u(1))).unwrap();
            let size = hard.confinement_radius() * 10f64.powf(4.0 * u(2) - 3.0);
            let (main, effective) = (size * (2.0 * u(3) - 1.0), size * (2.0 * u(4) - 1.0));
            let state = State { main, residual: (effective - main) / hard.mixing() };
            let claim = hard.mean_square(rates, state);
            claim.larger / (scale * claim.smaller)
        })
        .fold(f64::INFINITY, f64::min)
}

#[test]
fn the_one_step_lemma_holds_at_random_states() {
    let smallest = smallest_ratio(20_000, 1.0);
    assert!(smallest >= 1.0 - 1e-12, "{smallest}");
    // The twin: one per cent more is too much somewhere, since slow steps barely move ‖R‖.
    assert!(smallest_ratio(20_000, 1.01) < 1.0);
}

#[test]
fn the_prescribed_set_up_equals_the_reference() {
    let golden = golden();
    for row in golden["hard_instance_steps"].as_array().unwrap() {
        let steps = instance(number(row, "hardware_condition")).problem(1).sufficient_steps().unwrap();
        assert_eq!(Some(steps), row["steps"].as_u64(), "{row}");
    }
    for row in golden["hard_instance"].as_array().unwrap() {
        let hard = instance(number(row, "hardware_condition"));
        let steps = row["steps"].as_u64().unwrap();
        let found = hard.prescribed(steps).unwrap();
        let short = hard.simulate(found.rates, 2, 1, Key::new(0)).unwrap();
        for (name, value) in [
            ("mixing", hard.mixing()),
            ("log_argument", found.log_argument),
            ("learning_rate", found.rates.learning_rate),
            ("transfer_rate", found.rates.transfer_rate),
            ("initial_lyapunov", hard.problem(steps).initial_lyapunov),
            ("escape_bound", hard.escape_bound(found.rates, steps)),
            ("floor", short.floor),
            ("stationary", short.stationary),
            ("bound", found.lyapunov_bound),
        ] {
            assert!((value / number(row, name) - 1.0).abs() < 1e-9, "{name}: {value} in {row}");
        }
    }
}

/// f(W̄) − f* ≈ αγq_maxσ²/4 up to the relative lag βq_min/(αγμq_max) = 1/(16κ₂²) of W and the step size αγμq_max.
fn stationary(hard: &HardInstance, rates: Rates, found: &Simulation, law: f64) -> bool {
    let lag = rates.transfer_rate * hard.problem(1).bounds.min / (rates.learning_rate * rates.mixing);
    found.objective.agrees(law, (lag + hard.decay(rates) / 12.0) * law)
}

/// E[V_K] is above the floor by more than its error.
fn above(found: &Simulation, floor: f64) -> bool {
    found.objective.mean - 4.9 * found.objective.se >= floor
}

#[test]
fn floor_and_confinement_hold_at_the_prescribed_step() {
    let golden = golden();
    let row = &golden["hard_instance"][0];
    let hard = instance(1.0);
    let steps = row["steps"].as_u64().unwrap();
    let coefficients = hard.prescribed(steps).unwrap();
    let found = hard.simulate(coefficients.rates, 320, steps, Key::new(1)).unwrap();
    assert_eq!(found.confined, 1.0);
    assert!(above(&found, found.floor) && found.repaired_floor <= found.floor, "{found:?}");
    assert!(found.lyapunov.mean + 4.9 * found.lyapunov.se <= coefficients.lyapunov_bound, "{found:?}");
    for (summary, name) in [(found.lyapunov, "lyapunov"), (found.objective, "objective")] {
        let (mean, se) = (number(row, &format!("{name}_mean")), number(row, &format!("{name}_se")));
        assert!(summary.agrees(mean, 4.9 * se), "{name}: {summary} against {mean}");
    }
    assert!(stationary(&hard, coefficients.rates, &found, found.stationary), "{found:?}");
    // Twins: the floor is 48 times below the stationary law, so a hundred times more must fail, as must the wrong law.
    assert!(!above(&found, 100.0 * found.floor), "{found:?}");
    assert!(!stationary(&hard, coefficients.rates, &found, 2.0 * found.stationary), "{found:?}");
}

#[test]
fn floor_and_confinement_hold_with_a_free_step() {
    let hard = instance(1.5);
    let rates = hard.free(0.01 / (12.0 * hard.mixing())).unwrap();
    let steps = 60_000;
    let found = hard.simulate(rates, 640, steps, Key::new(2)).unwrap();
    assert!(found.confined >= 1.0 - hard.escape_bound(rates, steps), "{found:?}");
    assert!(found.confined >= 0.5, "{found:?}");
    assert!(above(&found, found.floor), "{found:?}");
    assert!(stationary(&hard, rates, &found, found.stationary), "{found:?}");
    assert!(!above(&found, 100.0 * found.floor), "{found:?}");
    // A start outside the region is never confined, so the counter counts.
    let far = hard.starting_at(2.0 * hard.confinement_radius()).unwrap();
    let short = far.simulate(rates, 64, 10, Key::new(3)).unwrap();
    assert_eq!(short.confined, 0.0);
    // Ten steps of decay 0.01: the sum in the floor has reached a tenth of its limit.
    assert!((short.repaired_floor / short.floor - (1.0 - 0.99f64.powi(10))).abs() < 1e-12, "{short:?}");
    assert!(hard.free(1.0).is_err());
}

/// The prescribed α makes the instance hard; steps tuned to the hardware make it as easy as κ₂ = 1.
#[test]
fn tuned_steps_remove_the_dependence_on_the_hardware() {
    let golden = golden();
    let tuned = &golden["tuned"];
    let steps = tuned["steps"].as_u64().unwrap();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for row in tuned["rows"].as_array().unwrap().iter().take(5) {
        let hard =
            instance(number(row, "hardware_condition")).starting_at(number(tuned, "initial_main")).unwrap();
        let rates = hard.tuned(steps);
        for (name, value) in [("learning_rate", rates.learning_rate), ("transfer_rate", rates.transfer_rate)] {
            assert!((value / number(row, name) - 1.0).abs() < 1e-9, "{name}: {value} in {row}");
        }
        let found = hard.simulate(rates, 320, steps, Key::new(4)).unwrap().lyapunov;
        assert!(found.agrees(number(row, "lyapunov_mean"), 4.9 * number(row, "lyapunov_se")), "{found} {row}");
        x.push(number(row, "hardware_condition").ln());
        y.push(found.mean.ln());
    }
    // Common random numbers: the slope is far better known than each mean.
    let slope = fit_line(&x, &y).slope;
    assert!(slope.abs() < 1e-3, "{slope}");
    // The twin: with αγ growing as κ₂², as the prescribed one does, the same check finds the exponent.
    let mut floors = Vec::new();
    for hardware_condition in [1.0, 2.0, 4.0] {
        let hard = instance(hardware_condition);
        let mut rates = hard.tuned(steps);
        rates.learning_rate *= hardware_condition * hardware_condition;
        floors.push(hard.simulate(rates, 320, steps, Key::new(4)).unwrap().lyapunov.mean.ln());
    }
    let slope = fit_line(&x[..3], &floors).slope;
    assert!((slope - 2.0).abs() < 0.3, "{slope}");
}

#[test]
fn the_result_does_not_depend_on_threads() {
    let hard = instance(2.0);
    let rates = hard.free(1e-4).unwrap();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| hard.simulate(rates, 200, 300, Key::new(6)).unwrap())
    };
    assert_eq!(run(1), run(3));
    assert_ne!(run(1), hard.simulate(rates, 200, 300, Key::new(7)).unwrap());
    // One block stepped by hand through the public recursion gives the same bits.
    let mut sum = 0.0;
    for i in 0..200usize {
        let mut state = hard.initial();
        for k in 0..300 {
            let uniform = Key::new(6).fold(i as u64 / 64).fold(k).uniform_at(i as u64 % 64);
            let [(p, up), (_, down)] = hard.noise_atoms(state.residual);
            state = hard.step(rates, state, if uniform < p { up } else { down });
        }
        sum += 0.5 * hard.effective_weight(state).powi(2);
    }
    assert!((sum / 200.0 / run(2).objective.mean - 1.0).abs() < 1e-12);
}
