//! Where to look at a response that is known only by its values: the points of a scan, and what lies between them.

use crate::Range;
use crate::numeric;

/// Equal cells of a scan; features narrower than 1/4096 of the range can hide between its points.
pub const CELLS: usize = 4096;
/// The finite part of an unbounded range: 1e3 holds every weight, decades beyond it show the tails.
const WINDOW: f64 = 1e3;
/// The last decade of the tails.
const FARTHEST: f64 = 1e15;

/// Increasing points of a range: equal steps, 0 itself, the neighbourhood of each finite end in halving distances,
/// and for an unbounded side finer steps near 0 and decades far out. Finite ends are included.
pub fn points(range: Range) -> Vec<f64> {
    let window = window(range);
    let mut points = window.grid(CELLS + 1);
    let width = window.hi - window.lo;
    for exponent in 13..50 {
        let near = width * 0.5f64.powi(exponent);
        points.extend([window.lo + near, window.hi - near]);
    }
    points.push(0.0);
    if !range.is_finite() {
        points.extend(Range::symmetric(10.0).grid(CELLS + 1));
        points.extend((4..=15).flat_map(|decade| [10f64.powi(decade), -10f64.powi(decade)]));
    }
    points.retain(|&w| range.contains(w));
    points.sort_by(f64::total_cmp);
    points.dedup();
    points
}

/// The finite part of a range that is scanned in equal steps.
pub(crate) fn window(range: Range) -> Range {
    // A side that is bounded beyond the window still needs a window of its own.
    let lo = if range.lo.is_finite() { range.lo } else { (-WINDOW).min(range.hi - WINDOW) };
    let hi = if range.hi.is_finite() { range.hi } else { WINDOW.max(range.lo + WINDOW) };
    Range { lo, hi }
}

/// The unbounded directions of a range, each with the farthest weight looked at.
pub fn tails(range: Range) -> impl Iterator<Item = f64> {
    let low = (range.lo == f64::NEG_INFINITY).then_some(-FARTHEST);
    let high = (range.hi == f64::INFINITY).then_some(FARTHEST);
    low.into_iter().chain(high)
}

/// The lowest point of `f` over a scan: (w, f(w)), each valley refined between its neighbours. NaN counts as lowest.
pub fn lowest(f: impl Fn(f64) -> f64, points: &[f64]) -> (f64, f64) {
    let values: Vec<f64> = points.iter().map(|&w| f(w)).collect();
    let mut best = (points[0], values[0]);
    for i in 0..points.len() {
        if values[i].is_nan() {
            return (points[i], values[i]);
        }
        let (before, after) = (i.saturating_sub(1), (i + 1).min(points.len() - 1));
        let mut here = (points[i], values[i]);
        if before < i && i < after && values[i] < values[before] && values[i] <= values[after] {
            let valley = numeric::minimize_bracket(&f, points[before], points[after]);
            if valley.value < here.1 {
                here = (valley.at, valley.value);
            }
        }
        if here.1 < best.1 {
            best = here;
        }
    }
    best
}

/// The zero of `f` nearest to 0 that a scan separates; of two at one distance, the lower.
pub fn nearest_root(f: impl Fn(f64) -> f64, points: &[f64]) -> Option<f64> {
    let between = points.windows(2).filter_map(|pair| numeric::find_root(&f, pair[0], pair[1]));
    between.min_by(|a, b| a.abs().total_cmp(&b.abs()))
}
