//! The step and the Lyapunov function that the descent lemmas speak of are those of the rule.

use residuum::objective::{DiagonalQuadratic, Objective};
use residuum::response::Tanh;
use residuum::rule::{self, ResidualConfig, ResidualLearning, UpdateRule};
use residuum::theory::coefficients::LemmaRates;
use residuum::theory::lyapunov::{Bowl, Lyapunov, OneStep};
use residuum::theory::operator::FiniteNoise;
use residuum::{ExactArray, Key};

fn tanh(hardware_condition: f64, center: f64) -> Tanh {
    Tanh::new(1.0, (hardware_condition - 1.0) / (hardware_condition + 1.0), 1.0, center).unwrap()
}

/// The step the lemmas speak of is the library's rule: `E[V]` after it, from arrays, one atom at a time.
#[test]
fn the_step_of_the_lemmas_is_that_of_the_rule() {
    let response = tanh(4.0, 0.2);
    let noise = FiniteNoise::two_point(0.8, 0.3).unwrap();
    let rates = LemmaRates { learning_rate: 0.05, transfer_rate: 0.03, mixing: 1.5, weight: 2.0 };
    let objective = Bowl::new(1.0, 3.0).unwrap();
    let step = OneStep { objective, main: &response, residual: &response, rates, noise: &noise };
    for (w, p) in [(0.7, -0.4), (-1.3, 0.9), (0.1, 1.8)] {
        let array = |state: f64| ExactArray::uniform(&[state], response).unwrap();
        let expected = noise.expectation(|xi| {
            let mut rule = ResidualLearning::new(array(w), array(p), ResidualConfig::mixing(1.5)).unwrap();
            let at = rule.effective_weights()[0];
            let rates = rule::Rates::new(0.05, 0.03);
            rule.step((&[objective.slope(at) + xi[0]]).into(), &rates, Key::new(0)).unwrap();
            step.lyapunov(rule.main().weights()[0], rule.residual().weights()[0])
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
