//! Histograms of several trials, pooled.

use residuum_lab::testing::report::{BINS, Bins, pooled};

#[test]
fn pooled_histograms_keep_their_mass_and_mean() {
    let bins = |low: f64, high: f64, counts: &[f64]| Bins { low, high, counts: counts.to_vec() };
    let own = [bins(-1.0, 1.0, &[1.0, 2.0, 1.0]), bins(0.0, 2.0, &[4.0])];
    let heights = pooled(&own, -1.0, 2.0);
    let width = 3.0 / BINS as f64;
    assert!((heights.iter().sum::<f64>() * width - 1.0).abs() < 1e-12);
    // Means 0 and 1 with equal weights.
    let middle = |i: usize| -1.0 + width * (i as f64 + 0.5);
    let mean: f64 = heights.iter().enumerate().map(|(i, h)| h * width * middle(i)).sum();
    assert!((mean - 0.5).abs() < 0.02, "{mean}");
}
