//! Lines are cut evenly.

use residuum_nn::testing::analog::split_evenly;

#[test]
fn lines_are_cut_evenly() {
    assert_eq!(split_evenly(784, 512), [0..392, 392..784]);
    assert_eq!(split_evenly(513, 512), [0..256, 256..513]);
    assert_eq!(split_evenly(10, 3), [0..2, 2..5, 5..7, 7..10]);
}
