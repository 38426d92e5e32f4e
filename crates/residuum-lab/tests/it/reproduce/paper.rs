//! The paper's tables as typed in.

use residuum_lab::reproduce::paper::{CIFAR_EXPONENTIAL, CIFAR_POWER, FAILED, MNIST, Printed};

/// Sums of the columns as added up from the source of the paper, so that a typo shows.
#[test]
fn columns_add_up() {
    let total = |values: &mut dyn Iterator<Item = Printed>| -> f64 {
        let numbers = values.filter_map(|p| if let Printed::Mean { mean, .. } = p { Some(mean) } else { None });
        (100.0 * numbers.sum::<f64>()).round() / 100.0
    };
    let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(close(total(&mut MNIST.iter().take(9).map(|c| c.residual)), 874.23));
    assert!(close(total(&mut MNIST.iter().skip(9).map(|c| c.residual)), 875.99));
    assert!(close(total(&mut MNIST.iter().map(|c| c.analog)), 384.79));
    assert_eq!(MNIST.iter().filter(|c| c.analog == FAILED).count(), 14);
    assert!(close(total(&mut CIFAR_POWER.iter().map(|c| c.analog)), 502.10));
    assert!(close(total(&mut CIFAR_POWER.iter().map(|c| c.residual)), 524.99));
    assert!(close(total(&mut CIFAR_EXPONENTIAL.iter().map(|c| c.analog)), 520.43));
    assert!(close(total(&mut CIFAR_EXPONENTIAL.iter().map(|c| c.residual)), 520.78));
    for (a, b) in CIFAR_POWER.iter().zip(&CIFAR_EXPONENTIAL) {
        assert_eq!((a.set, a.network, a.digital), (b.set, b.network, b.digital));
    }
}
