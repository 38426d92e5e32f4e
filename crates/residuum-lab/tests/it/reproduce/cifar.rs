//! The paper's CIFAR table, and the hours of its networks.

use residuum_lab::reproduce::paper::{CIFAR_EXPONENTIAL, CIFAR_POWER, CifarCell, Printed};
use residuum_lab::testing::reproduce::resnet_hours;

/// The sentence of the paper's column.
#[test]
fn the_paper_has_analog_sgd_last_on_average() {
    for cells in [CIFAR_POWER, CIFAR_EXPONENTIAL] {
        let sum = |of: fn(&CifarCell) -> Printed| cells.iter().map(|c| of(c).level()).sum::<f64>();
        let [digital, analog, residual] = [sum(|c| c.digital), sum(|c| c.analog), sum(|c| c.residual)];
        assert!(digital > residual && residual > analog);
    }
}

#[test]
fn a_larger_network_takes_longer() {
    assert!((resnet_hours("resnet18") - 227.5).abs() < 0.1);
    assert!(resnet_hours("resnet50") > 2.0 * resnet_hours("resnet18"));
}
