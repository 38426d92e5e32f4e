//! Residual Learning: the exact reductions of one rule to another.
#![allow(clippy::unwrap_used, reason = "test helpers")]

mod toy;

use residuum::response::Constant;
use residuum::rule::{Analog, Digital, ResidualCascade, ResidualLearning, Source};
use residuum::theory::residual_law::Rates;
use residuum::{AnalogArray, Control, Key, ResponseFunction, Schedule, UpdateRule, minimize};

/// Final bits of every array after a few hundred noisy steps.
fn bits(rule: &mut dyn UpdateRule, steps: u64) -> Vec<Vec<u64>> {
    toy::run(&toy::gaussian(1.0, rule.dim()), rule, steps, 23);
    states(rule)
}

fn states(rule: &dyn UpdateRule) -> Vec<Vec<u64>> {
    rule.arrays().iter().map(|(_, state)| state.iter().map(|w| w.to_bits()).collect()).collect()
}

fn array(w: f64, response: impl ResponseFunction + 'static) -> AnalogArray {
    AnalogArray::uniform(&[w; 33], response).unwrap()
}

#[test]
fn constant_responses_make_analog_digital() {
    let sources = [
        Source::sgd(0.01),
        Source::momentum(0.01, 0.9).unwrap(),
        Source::adam(0.01, 0.9, 0.999, 1e-8).unwrap(),
    ];
    for source in sources {
        let unit = Constant::new(1.0).unwrap();
        let analog = bits(&mut Analog::new(array(0.8, unit), source.clone()), 300);
        let digital = bits(&mut Digital::new(&[0.8; 33], source.clone()).unwrap(), 300);
        assert_eq!(analog, digital, "{}", source.label());
        let other = bits(&mut Analog::new(array(0.8, Constant::new(0.9).unwrap()), source), 300);
        assert_ne!(other, digital);
    }
}

#[test]
fn without_transfer_the_residual_is_analog_sgd() {
    let (main, residual) = (array(0.0, toy::power(2.0)), array(0.0, toy::power(2.0)));
    let mut rule = ResidualLearning::new(main.clone(), residual, 1.0, 0.01, 0.0).unwrap();
    let learned = bits(&mut rule, 300);
    let analog = bits(&mut Analog::new(main.clone(), Source::sgd(0.01)), 300);
    assert_eq!(learned[1], analog[0]);
    assert_eq!(learned[0], states(&Analog::new(main, Source::sgd(0.01)))[0], "W has not moved");
}

#[test]
fn a_cascade_of_one_is_residual_learning() {
    let arrays = || (array(0.8, toy::power(0.5)), array(0.0, toy::power(2.0)));
    let (main, residual) = arrays();
    let one = bits(&mut ResidualLearning::new(main, residual, 0.7, 0.01, 0.02).unwrap(), 300);
    let (main, residual) = arrays();
    let mut cascade =
        ResidualCascade::new(main, vec![residual], 0.7, 0.01, vec![Schedule::from(0.02)]).unwrap();
    assert_eq!(one, bits(&mut cascade, 300));
}

#[test]
fn rules_run_together_as_they_run_alone() {
    let rates = Rates { learning_rate: 0.01, transfer_rate: 0.02, mixing: 0.7 };
    let make = || (toy::analog(toy::power(1.0), 0.01, 33), toy::residual(toy::power(2.0), rates, 33));
    let (mut analog, mut residual) = make();
    let look = &mut |_: u64, _: usize, _: &dyn UpdateRule| Control::Continue;
    minimize(&toy::gaussian(1.0, 33), &mut [&mut analog, &mut residual], 300, Key::new(23), look).unwrap();
    let (mut lone_analog, mut lone_residual) = make();
    assert_eq!(states(&analog), bits(&mut lone_analog, 300));
    assert_eq!(states(&residual), bits(&mut lone_residual, 300));
    assert_ne!(states(&analog)[0], states(&residual)[0]);
}
