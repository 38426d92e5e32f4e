//! Points where a function is not differentiable, found from its values alone.
//!
//! Between neighbouring secants of width h a smooth function changes slope by f''·h, which halves with h; at a kink
//! the change stays, at a vertical tangent or a jump it grows. So every cell of a grid is halved towards its largest
//! change of slope, and what has not faded by the last halvings is a break.

use crate::Range;

/// Cells of the first grid.
const CELLS: usize = 4096;
/// Halvings after the grid: features wider than 1e-8 of the range are told from breaks.
const HALVINGS: i32 = 16;
/// The halvings over which a change of slope must fade to count as smooth.
const WATCHED: i32 = 4;
/// Rounding errors of one evaluation, in units of the largest value.
const ROUNDING: f64 = 1e3 * f64::EPSILON;

/// How a function breaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// The value jumps by this much.
    Jump(f64),
    /// The slope jumps from the first to the second.
    Kink(f64, f64),
    /// The tangent is vertical.
    Vertical,
}

/// A point without a derivative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Break {
    /// Where.
    pub at: f64,
    /// How.
    pub kind: Kind,
    /// Change of slope between the finest secants, to compare breaks by.
    change: f64,
}

/// The worst break of `f` strictly inside a finite range, if any.
pub fn worst(f: impl Fn(f64) -> f64, range: Range) -> Option<Break> {
    let grid = range.grid(CELLS + 1);
    let values: Vec<f64> = grid.iter().map(|&w| f(w)).collect();
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let h = (range.hi - range.lo) / CELLS as f64;
    let triples = values.windows(3).zip(&grid[1..]);
    let found = triples.filter_map(|(values, &at)| {
        let start = Triple { at, h, values: [values[0], values[1], values[2]] };
        let found = start.follow(&f, largest)?;
        // An end has one side only: its slope is the business of Lipschitz continuity.
        let near_an_end = (found.at - range.lo).min(range.hi - found.at) < 4.0 * h * 0.5f64.powi(HALVINGS);
        (!near_an_end).then_some(found)
    });
    found.max_by(|a, b| a.change.total_cmp(&b.change))
}

/// A function at `at − h`, `at` and `at + h`.
#[derive(Clone, Copy)]
struct Triple {
    at: f64,
    h: f64,
    values: [f64; 3],
}

impl Triple {
    /// Change of slope between the two secants.
    fn change(&self) -> f64 {
        let [left, middle, right] = self.values;
        ((right - middle) - (middle - left)).abs() / self.h
    }

    fn rise(&self) -> f64 {
        self.values[2] - self.values[0]
    }

    /// The triple of half the step inside this one whose slope changes most; two new evaluations.
    fn halve(&self, f: &impl Fn(f64) -> f64) -> Self {
        let h = 0.5 * self.h;
        let [left, middle, right] = self.values;
        let (before, after) = (f(self.at - h), f(self.at + h));
        let centred = Self { at: self.at, h, values: [before, middle, after] };
        let beside = [
            Self { at: self.at - h, h, values: [left, before, middle] },
            Self { at: self.at + h, h, values: [middle, after, right] },
        ];
        beside.into_iter().fold(centred, |best, next| if next.change() > best.change() { next } else { best })
    }

    fn follow(self, f: &impl Fn(f64) -> f64, largest: f64) -> Option<Break> {
        let watched = (0..HALVINGS - WATCHED).fold(self, |triple, _| triple.halve(f));
        let last = (0..WATCHED).fold(watched, |triple, _| triple.halve(f));
        let (at, h, change) = (last.at, last.h, last.change());
        if change < 0.25 * watched.change() || change < ROUNDING * largest / h {
            return None;
        }
        let kind = if last.rise().abs() > 0.5 * watched.rise().abs() && last.rise().abs() > ROUNDING * largest {
            Kind::Jump(last.rise())
        // A kink may sit beside the middle, so its change is known to a factor of 2 only.
        } else if change > 3.0 * watched.change() {
            Kind::Vertical
        } else {
            // Beyond two steps on either side the kink is surely behind.
            let slope = |from: f64, to: f64| (f(at + to * h) - f(at + from * h)) / ((to - from) * h);
            Kind::Kink(slope(-4.0, -2.0), slope(2.0, 4.0))
        };
        Some(Break { at, kind, change })
    }
}
