//! Residual Learning: the exact reductions of one rule to another.

use super::toy;

use residuum::response::Constant;
use residuum::rule::{Analog, Digital, ResidualConfig, ResidualLearning, Source};
use residuum::{ExactArray, Key, Rates, ResponseFunction, Rule, minimize};

/// Final bits of every array after a few hundred noisy steps.
fn bits(rule: &mut dyn Rule, rates: Rates, steps: u64) -> Vec<Vec<u64>> {
    toy::run(&toy::gaussian(1.0, rule.effective_weights().len()), rule, rates, steps, 23);
    states(rule)
}

fn states(rule: &dyn Rule) -> Vec<Vec<u64>> {
    rule.states().iter().map(|(_, state)| state.iter().map(|w| w.to_bits()).collect()).collect()
}

fn array(w: f64, response: impl ResponseFunction + 'static) -> ExactArray {
    ExactArray::uniform(&[w; 33], response).unwrap()
}

#[test]
fn constant_responses_make_analog_digital() {
    let sources = [Source::Sgd, Source::momentum(0.9), Source::adam(), Source::adam_w(0.1)];
    let rates = Rates::learning(0.01);
    for source in sources {
        let unit = Constant::new(1.0).unwrap();
        let analog = bits(&mut Analog::new(array(0.8, unit), source).unwrap(), rates, 300);
        let digital = bits(&mut Digital::new(&[0.8; 33], source).unwrap(), rates, 300);
        assert_eq!(analog, digital, "{}", source.label());
        let other =
            bits(&mut Analog::new(array(0.8, Constant::new(0.9).unwrap()), source).unwrap(), rates, 300);
        assert_ne!(other, digital);
    }
}

#[test]
fn without_transfer_the_residual_is_analog_sgd() {
    let (main, residual) = (array(0.0, toy::power(2.0)), array(0.0, toy::power(2.0)));
    let mut rule = ResidualLearning::new(main.clone(), residual, ResidualConfig::default()).unwrap();
    let rates = Rates::learning(0.01);
    let learned = bits(&mut rule, rates, 300);
    let analog = bits(&mut Analog::sgd(main.clone()), rates, 300);
    assert_eq!(learned[1], analog[0]);
    assert_eq!(learned[0], states(&Analog::sgd(main))[0], "W has not moved");
}

#[test]
fn a_cascade_of_one_is_residual_learning() {
    let arrays = || (array(0.8, toy::power(0.5)), array(0.0, toy::power(2.0)));
    let (main, residual) = arrays();
    let (config, rates) = (ResidualConfig::mixing(0.7), Rates::new(0.01, 0.02));
    let one = bits(&mut ResidualLearning::new(main, residual, config.clone()).unwrap(), rates, 300);
    let (main, residual) = arrays();
    let mut cascade = ResidualLearning::cascade(main, vec![Box::new(residual)], config).unwrap();
    assert_eq!(one, bits(&mut cascade, rates, 300));
}

#[test]
fn rules_run_together_as_they_run_alone() {
    let rates = Rates::new(0.01, 0.02);
    let make = || (toy::analog(toy::power(1.0), 33), toy::residual(toy::power(2.0), 0.7, 33));
    let (mut analog, mut residual) = make();
    minimize(&toy::gaussian(1.0, 33), &mut [&mut analog, &mut residual], &rates, 300, Key::new(23)).unwrap();
    let (mut lone_analog, mut lone_residual) = make();
    assert_eq!(states(&analog), bits(&mut lone_analog, rates, 300));
    assert_eq!(states(&residual), bits(&mut lone_residual, rates, 300));
    assert_ne!(states(&analog)[0], states(&residual)[0]);
}
