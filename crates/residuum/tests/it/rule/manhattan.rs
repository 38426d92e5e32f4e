//! A step of the Manhattan rule by hand.

use std::sync::Arc;

use residuum::cells::Uniform;
use residuum::readout::Shape;
use residuum::response::Linear;
use residuum::rule::Manhattan;
use residuum::{ExactArray, Gradient, Inspect, Key, Rates, Update, UpdateRule};

#[test]
fn a_step_is_what_one_computes_by_hand() {
    let cells = Arc::new(Uniform::new(Linear::new(0.5, 1.0).unwrap()));
    let array = ExactArray::new(&[0.0f64, 0.2, -0.4, 0.6], cells, Update::Expected).unwrap();
    let array = array.with_shape(Shape { rows: 2, cols: 2 }).unwrap().with_granularity(0.1).unwrap();
    assert!(Manhattan::new(array.clone(), -1.0).is_err());
    let mut rule = Manhattan::new(array, 0.3).unwrap();
    assert_eq!(rule.effective_rates(&Rates::learning(7.0), 4).learning, 0.1);
    // Σ errors inputsᵀ = [[0.5, −1.0], [0.3, 0.0]]: a pulse down, one up, none at the threshold, none at 0.
    let (errors, inputs) = ([1.0, 0.0, 0.5, 0.3], [0.0, -1.0, 1.0, 0.0]);
    rule.step(Gradient::Outer { batch: 2, errors: &errors, inputs: &inputs }, &Rates::default(), Key::new(1))
        .unwrap();
    let expected = [0.0 - 0.1 * 1.0, 0.2 + 0.1 * (1.0 - 0.5 * 0.2), -0.4, 0.6];
    for (given, expected) in rule.effective_weights().iter().zip(expected) {
        assert!((given - expected).abs() < 1e-15, "{given} {expected}");
    }
}
