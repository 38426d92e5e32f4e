//! Points and valleys of a scan.

use residuum::Range;
use residuum::testing::response::{CELLS, lowest, nearest_root, points, tails};

#[test]
fn points_increase_and_keep_the_ends() {
    for range in [Range { lo: -0.3, hi: 2.0 }, Range::ALL, Range { lo: 5e3, hi: f64::INFINITY }] {
        let points = points(range);
        assert!(points.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(points.contains(&0.0), range.contains(0.0));
        assert_eq!(points.contains(&range.lo), range.lo.is_finite());
        assert!(points.len() > CELLS && points.iter().all(|&w| w.is_finite() && range.contains(w)));
    }
    assert_eq!(tails(Range::ALL).collect::<Vec<_>>(), [-1e15, 1e15]);
    assert_eq!(tails(Range { lo: 0.0, hi: 1.0 }).count(), 0);
}

#[test]
fn a_valley_between_points_is_found() {
    let points = points(Range { lo: -1.0, hi: 1.0 });
    let (at, value) = lowest(|w| (w - 0.123_456_789).powi(2) - 1e-9, &points);
    assert!((at - 0.123_456_789).abs() < 1e-8 && (value + 1e-9).abs() < 1e-15, "{at} {value}");
    assert_eq!(nearest_root(|w| (w - 0.3) * (w + 0.2), &points), Some(-0.2));
    assert_eq!(nearest_root(|w| w * w + 1.0, &points), None);
}
