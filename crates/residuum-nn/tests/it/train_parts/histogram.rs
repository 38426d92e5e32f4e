//! Every value of a histogram is counted once.

use residuum_nn::testing::train::BINS;
use residuum_nn::train::Histogram;

#[test]
fn values_are_counted_once_within_and_beyond_the_range() {
    let values = [-3.0, -1.0, -0.999, 0.0, 0.01, 0.995, 1.0, 1.5, f32::NAN];
    let histogram = Histogram::new(&values, Some([-1.0, 1.0])).unwrap();
    assert_eq!(histogram.len(), 8);
    assert_eq!((histogram.min, histogram.max), (-3.0, 1.5));
    assert_eq!((histogram.counts[0], histogram.counts[1]), (2, 1));
    assert_eq!((histogram.counts[32], histogram.counts[33]), (1, 1), "0 ends the lower half");
    assert_eq!((histogram.counts[BINS], histogram.counts[BINS + 1]), (2, 1));
    assert_eq!(histogram.saturated, 6);
    assert_eq!(histogram.limits[32], 0.0);
}

#[test]
fn without_a_range_the_values_are_the_range() {
    let histogram = Histogram::new(&[1.0, 2.0, 5.0], None).unwrap();
    assert_eq!((histogram.counts[0], histogram.counts[1], histogram.counts[BINS]), (0, 1, 1));
    assert_eq!((histogram.len(), histogram.saturated, histogram.sum), (3, 0, 8.0));
    assert_eq!(Histogram::new(&[0.25; 4], None).unwrap().counts[1], 4);
    assert_eq!(Histogram::new(&[f32::NAN], None), None);
}
