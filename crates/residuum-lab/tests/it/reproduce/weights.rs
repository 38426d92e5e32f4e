//! Histograms of weights as they are measured.

use residuum_lab::testing::reproduce::WeightHistogram;

#[test]
fn distances_come_from_the_bins() {
    let counts = vec![1.0, 0.0, 0.0, 3.0];
    let histogram = WeightHistogram { part: String::new(), low: -1.0, high: 1.0, counts, range: None };
    assert_eq!(histogram.centres(), [-0.75, -0.25, 0.25, 0.75]);
    assert_eq!(histogram.mean_distance(), (0.75, 4.0));
    // Bins are half a unit wide.
    assert_eq!(histogram.heights(), [0.5, 0.0, 0.0, 1.5]);
}
