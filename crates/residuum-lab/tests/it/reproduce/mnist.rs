//! Verdicts on the MNIST networks.

use residuum_lab::reproduce::PaperVerdict;
use residuum_lab::testing::reproduce::{cnn_verdict, drop_verdict};

#[test]
fn a_drop_of_a_point_is_too_much() {
    assert_eq!(drop_verdict(98.2, 97.3), PaperVerdict::Agrees);
    assert_eq!(drop_verdict(98.2, 98.9), PaperVerdict::Agrees);
    assert_eq!(drop_verdict(98.2, 96.2).words(), "differs by −1.00 points beyond the 1 allowed");
}

#[test]
fn about_eighty_is_not_ten() {
    assert_eq!(cnn_verdict(82.0, 98.0), PaperVerdict::Agrees);
    assert_eq!(cnn_verdict(60.0, 98.0).words(), "same ordering, differs by −20.00 points");
    assert_eq!(cnn_verdict(11.35, 98.0).words(), "differs by −68.65 points");
    assert_eq!(cnn_verdict(99.0, 98.0).words(), "differs by +19.00 points");
}
