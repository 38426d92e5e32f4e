//! The coefficient lemma against the reference, its conditions, and what it says when it cannot be met.

use residuum::response::{Constant, Power, ResponseFunction, Tanh};
use residuum::theory::coefficients::{CoefficientError, Condition, Problem};
use residuum::theory::practical::practical_rates;
use residuum::{Bounds, Range};
use serde_json::Value;

fn golden() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/convergence.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name} in {row}"))
}

fn tanh_bounds(hardware_condition: f64) -> Bounds {
    let slope = (hardware_condition - 1.0) / (hardware_condition + 1.0);
    Tanh::new(1.0, slope, 1.0, 0.0).unwrap().bounds(Range::ALL)
}

/// μ = 1, W₀ = W* + 0.7 in two coordinates of curvature 1 and κ₁.
fn problem(objective_condition: f64, hardware_condition: f64, noise: f64, steps: u64) -> Problem {
    Problem {
        strong_convexity: 1.0,
        smoothness: objective_condition,
        noise,
        bounds: tanh_bounds(hardware_condition),
        steps,
        initial_lyapunov: 0.5 * 0.49 * (1.0 + objective_condition) + 0.49,
    }
}

#[test]
fn coefficients_equal_the_reference() {
    let golden = golden();
    for row in golden["convergence"].as_array().unwrap() {
        let steps = row["steps"].as_u64().unwrap();
        let problem =
            problem(number(row, "objective_condition"), number(row, "hardware_condition"), 0.1, steps);
        let got = problem.coefficients().unwrap();
        for (name, value) in [
            ("initial_lyapunov", problem.initial_lyapunov),
            ("mixing", got.rates.mixing),
            ("log_argument", got.log_argument),
            ("learning_rate", got.rates.learning_rate),
            ("transfer_rate", got.rates.transfer_rate),
            ("weight", got.rates.weight),
            ("contraction", got.contraction),
            ("bound", got.lyapunov_bound),
        ] {
            let want = number(row, name);
            assert!((value / want - 1.0).abs() < 1e-10, "{name}: {value} against {want} in {row}");
        }
        assert_eq!(got.conditions.len(), 10);
        assert!(got.conditions.iter().all(Condition::holds), "{:?}", got.conditions);
    }
}

#[test]
fn sufficient_steps_equal_the_reference() {
    for row in golden()["sufficient_steps"].as_array().unwrap() {
        let problem = problem(
            number(row, "objective_condition"),
            number(row, "hardware_condition"),
            number(row, "noise"),
            1,
        );
        let (got, want) = (problem.sufficient_steps().unwrap() as f64, number(row, "steps").ceil());
        // Where ln X = 1 decides, the reference is exact; elsewhere its iteration stopped at a relative 1e-4.
        let exact = got == (std::f64::consts::E / problem.log_argument()).ceil();
        assert!((got - want).abs() <= if exact { 0.0 } else { 1e-4 * want }, "{got} {row}");
    }
}

/// The search for K agrees with trying every K.
#[test]
fn smallest_and_sufficient_steps_agree_with_exhaustive_search() {
    for (k1, k2, noise) in
        [(1.0, 1.0, 0.1), (1.0, 2.0, 0.1), (4.0, 1.0, 0.1), (1.0, 1.5, 0.01), (2.0, 1.0, 0.3)]
    {
        let base = problem(k1, k2, noise, 1);
        let (smallest, sufficient) = (base.smallest_steps().unwrap(), base.sufficient_steps().unwrap());
        let covered = |steps| Problem { steps, ..base }.coefficients().is_ok();
        assert_eq!((1..=sufficient).find(|&k| covered(k)), Some(smallest), "{k1} {k2} {noise}");
        assert!((sufficient..sufficient + 3000).all(covered), "{k1} {k2} {noise}");
        let before = Problem { steps: sufficient - 1, ..base };
        assert!(before.coefficients().is_err() || before.log_argument().ln() < 1.0, "{k1} {k2} {noise}");
    }
    // The conditions are not monotone in K: covered at 21, not at 100, covered again from 367.
    let base = problem(1.0, 1.0, 0.1, 1);
    assert_eq!((base.smallest_steps().unwrap(), base.sufficient_steps().unwrap()), (21, 367));
    assert!(Problem { steps: 100, ..base }.coefficients().is_err());
}

#[test]
fn errors_name_the_condition_and_the_way_out() {
    let few = problem(1.0, 2.0, 0.1, 300).coefficients().unwrap_err();
    let CoefficientError::Violated { condition, smallest, sufficient, .. } = &few else { panic!("{few}") };
    assert_eq!((condition.statement, *smallest, *sufficient), ("1 < X", 335, 1609));
    assert!(few.to_string().contains("smallest K: 335"), "{few}");
    let coarse = problem(1.0, 2.0, 0.1, 1000).coefficients().unwrap_err();
    assert!(coarse.to_string().contains("α ≤ q_min/(4γLq_max²)"), "{coarse}");

    assert_eq!(problem(1.0, 2.0, 0.0, 1000).coefficients(), Err(CoefficientError::NoiseFree));
    let wide = Power::new(1.0, 1.0).unwrap().bounds(Range { lo: -1.0, hi: 1.0 });
    let dead = Problem { bounds: wide, ..problem(1.0, 2.0, 0.1, 1000) };
    assert!(matches!(dead.coefficients(), Err(CoefficientError::Irregular { min: 0.0, .. })));
    assert!(matches!(dead.smallest_steps(), Err(CoefficientError::Irregular { .. })));
    let small = problem(1.0, 2.0, 0.1, 20_000).coefficients_with_mixing(1.0).unwrap_err();
    assert!(matches!(small, CoefficientError::Mixing { given: 1.0, .. }), "{small}");
    let concave = Problem { smoothness: 0.5, ..problem(1.0, 2.0, 0.1, 20_000) };
    assert!(concave.coefficients().unwrap_err().to_string().contains("smoothness"));
}

/// Numbers at the ends of the floating-point range have no such K; the search says so instead of going on for ever.
#[test]
fn the_search_for_steps_ends_whatever_the_numbers() {
    let base = problem(2.0, 2.0, 0.1, 1000);
    for scale in [1e-300, 1e-150, 1e150, 1e300] {
        for (noise, lyapunov) in [(1.0, 1.0), (scale, 1.0), (1.0, scale)] {
            let (strong_convexity, smoothness) = (scale * base.strong_convexity, scale * base.smoothness);
            let extreme = Problem { strong_convexity, smoothness, noise, initial_lyapunov: lyapunov, ..base };
            if let Ok(smallest) = extreme.smallest_steps() {
                assert!(smallest <= extreme.sufficient_steps().unwrap(), "{scale}, {noise}, {lyapunov}");
            }
        }
    }
}

/// At the smallest γ, A₂ meets its bound exactly: the lemma's ">" is "≥".
#[test]
fn the_second_coefficient_is_tight_and_only_there() {
    let problem = problem(1.0, 4.0, 0.1, 320_000);
    let tight = |mixing| {
        let found = problem.coefficients_with_mixing(mixing).unwrap();
        let a2 = found.conditions.iter().find(|c| c.statement.contains("A₂")).copied().unwrap();
        a2.right / a2.left
    };
    assert!((tight(problem.least_mixing()) - 1.0).abs() < 1e-12);
    // There A₁ = (14κ₂ − 1)ρ and A₃ = −2/(αγq_min), by hand.
    let found = problem.coefficients().unwrap();
    let condition = |name: &str| found.conditions.iter().find(|c| c.statement.contains(name)).copied().unwrap();
    assert!((condition("A₁").right / found.contraction - 55.0).abs() < 1e-10);
    let scale = found.rates.learning_rate * found.rates.mixing * problem.bounds.min;
    assert!((condition("A₃").left * scale + 2.0).abs() < 1e-12);
    assert!(tight(2.0 * problem.least_mixing()) > 1.5);
    // A rate beyond the lemma breaks the conditions it should break.
    let mut rates = problem.coefficients().unwrap().rates;
    rates.transfer_rate *= 40.0;
    let broken: Vec<_> =
        problem.conditions(rates).into_iter().filter(|c| !c.holds()).map(|c| c.statement).collect();
    assert_eq!(broken, ["ρ < A₁", "A₃ ≤ 0"]);
}

#[test]
fn a_constant_response_leaves_the_mixing_to_the_caller() {
    let bounds = Constant::new(0.5).unwrap().bounds(Range::ALL);
    let problem = Problem { bounds, ..problem(1.0, 1.0, 0.1, 80_000) };
    assert_eq!(problem.least_mixing(), 0.0);
    assert_eq!(problem.coefficients().unwrap().rates.mixing, 1.0);
    // γ drops out of αγ, β and the bound.
    let (one, four) = (problem.coefficients().unwrap(), problem.coefficients_with_mixing(4.0).unwrap());
    assert!((4.0 * four.rates.learning_rate / one.rates.learning_rate - 1.0).abs() < 1e-14);
    assert!((four.rates.transfer_rate / one.rates.transfer_rate - 1.0).abs() < 1e-14);
    assert_eq!(one.lyapunov_bound, four.lyapunov_bound);
}

#[test]
fn practical_rates_work_where_the_lemma_does_not() {
    // Power response up to the ends of its range: κ₂ is infinite.
    let bounds = Power::new(1.0, 1.0).unwrap().bounds(Range { lo: -1.0, hi: 1.0 });
    let toy = Problem { bounds, noise: 1.0, ..problem(1.0, 1.0, 1.0, 20_000) };
    assert!(toy.coefficients().is_err());
    let found = practical_rates(&toy, 1.0).unwrap();
    let fast = found.rates.learning_rate * found.rates.mixing;
    assert!((fast - 16.0 * 20_000f64.ln() / 20_000.0).abs() < 1e-15);
    assert!((found.rates.transfer_rate - 2.0 * 20_000f64.ln() / 20_000.0).abs() < 1e-15);
    assert!(found.remaining < 1.1 * 20_000f64.powi(-2), "{found:?}");
    // What the mixing was chosen for.
    assert!(0.5 * found.bias_bound.powi(2) <= found.stationary_lyapunov * (1.0 + 1e-12), "{found:?}");
    // Short horizons are capped where the fast loop would be unstable.
    let short = practical_rates(&Problem { steps: 10, ..toy }, 1.0).unwrap();
    assert!(short.rates.learning_rate * short.rates.mixing * bounds.max * toy.smoothness <= 0.5 + 1e-15);
    assert!(practical_rates(&toy, 0.0).is_err() && practical_rates(&Problem { steps: 2, ..toy }, 1.0).is_err());
    let steep = Problem { bounds: Bounds { lipschitz: f64::INFINITY, ..bounds }, ..toy };
    assert!(practical_rates(&steep, 1.0).is_err());
}
