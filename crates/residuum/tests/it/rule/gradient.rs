//! Outer products as matrices.

use residuum::rule::Gradient;

#[test]
fn factors_sum_to_the_outer_product() {
    let (errors, inputs) = ([1.0, -2.0, 0.5, 3.0], [1.0, 0.0, 2.0, -1.0, 4.0, 1.0]);
    let mut buffer: Vec<f64> = Vec::new();
    let dense = Gradient::Outer { batch: 2, errors: &errors, inputs: &inputs }.dense(&mut buffer);
    assert_eq!(dense, [1.0 - 0.5, 2.0, 2.0 + 0.5, -2.0 - 3.0, 12.0, -4.0 + 3.0]);
    assert_eq!(Gradient::from(&[1.0, 2.0]).dense(&mut buffer), [1.0, 2.0]);
}
