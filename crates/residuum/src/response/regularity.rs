//! The paper's Definition `assumption:response-factor`, "Regularity of response functions", as a check.

use std::fmt;

use super::breaks::{self, Break, Kind};
use super::{ResponseFunction, scan};
use crate::Range;

/// One clause of the definition: whether it holds on the range looked at, and the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// Whether it holds.
    pub holds: bool,
    /// One sentence: the constants if it holds; which branch fails, where and how if not.
    pub reason: String,
}

impl Clause {
    fn holds(reason: String) -> Self {
        Self { holds: true, reason }
    }
    fn fails(reason: String) -> Self {
        Self { holds: false, reason }
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", if self.holds { "holds" } else { "fails" }, self.reason)
    }
}

/// Whether a response satisfies the assumption that the theorems make, clause by clause.
///
/// A numerical verdict: bounds, kinks and slopes are sought on 4096 cells of the range and refined. On an unbounded
/// range kinks are sought for |w| ≤ 1000, and the tails are judged by their values up to 1e15.
///
/// ```
/// use residuum::Range;
/// use residuum::response::{Power, Regularity};
/// let power = Power::new(2.0, 1.0)?;
/// assert!(!Regularity::of(&power, Range::new(-1.0, 1.0)?).holds());
/// assert!(Regularity::of(&power, Range::new(-0.8, 0.8)?).holds());
/// # Ok::<(), residuum::ParameterError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Regularity {
    /// Where the response was looked at.
    pub range: Range,
    /// 0 < q_min ≤ q± ≤ q_max < ∞.
    pub positive_definite: Clause,
    /// q± are differentiable inside the range.
    pub differentiable: Clause,
    /// q± are Lipschitz continuous up to the ends.
    pub lipschitz: Clause,
}

impl Regularity {
    /// The verdict on `range`, or on the part of it inside the dynamic range: elsewhere the response means nothing.
    pub fn of(response: &dyn ResponseFunction, range: Range) -> Self {
        // Ranges that do not meet are looked at as asked; a response is a formula and has values there.
        let range = response.range().intersect(range).unwrap_or(range);
        let look = Look { response, range, points: scan::points(range) };
        let found = look.breaks();
        Self {
            range,
            positive_definite: look.positive_definite(),
            differentiable: look.differentiable(&found),
            lipschitz: look.lipschitz(&found),
        }
    }

    /// Whether all three clauses hold.
    pub fn holds(&self) -> bool {
        self.positive_definite.holds && self.differentiable.holds && self.lipschitz.holds
    }
}

impl fmt::Display for Regularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} on {}", if self.holds() { "regular" } else { "not regular" }, self.range)?;
        writeln!(f, "  positive-definiteness {}", self.positive_definite)?;
        writeln!(f, "  differentiability {}", self.differentiable)?;
        write!(f, "  Lipschitz continuity {}", self.lipschitz)
    }
}

type Branch<'a> = (&'static str, Box<dyn Fn(f64) -> f64 + 'a>);

struct Look<'a> {
    response: &'a dyn ResponseFunction,
    range: Range,
    points: Vec<f64>,
}

impl Look<'_> {
    fn branches(&self) -> [Branch<'_>; 2] {
        [("q_plus", Box::new(|w| self.response.q_plus(w))), ("q_minus", Box::new(|w| self.response.q_minus(w)))]
    }

    fn place(&self, w: f64) -> String {
        if scan::tails(self.range).any(|tail| w == tail) {
            return format!("as w → {}", if w > 0.0 { "∞" } else { "−∞" });
        }
        let end = w == self.range.lo || w == self.range.hi;
        format!("at w = {}{}", self.round(w), if end { " (the end of the range)" } else { "" })
    }

    /// A weight to six decimals of the range's width: finer digits are those of the search, not of the response.
    fn round(&self, w: f64) -> f64 {
        if w == self.range.lo || w == self.range.hi {
            return w;
        }
        let window = scan::window(self.range);
        let decimals = (6.0 - (window.hi - window.lo).log10()).ceil().max(0.0) as usize;
        let rounded = format!("{w:.decimals$}").parse().unwrap_or(w);
        // −0 would read oddly.
        rounded + 0.0
    }

    fn positive_definite(&self) -> Clause {
        let (mut min, mut max) = (f64::INFINITY, 0.0);
        for (branch, q) in self.branches() {
            let (at_low, low) = scan::lowest(&q, &self.points);
            let (at_high, minus_high) = scan::lowest(|w| -q(w), &self.points);
            let high = -minus_high;
            if low.is_nan() || high.is_nan() {
                return Clause::fails(format!(
                    "{branch} is NaN {}",
                    self.place(if low.is_nan() { at_low } else { at_high })
                ));
            }
            // Far out, six decades stand for a limit.
            let typical = q(scan::window(self.range).clip(0.0)).abs();
            let far = |w: f64| scan::tails(self.range).any(|tail| w == tail);
            if high == f64::INFINITY || (far(at_high) && high > 1e6 * typical) {
                return Clause::fails(format!("{branch} grows without bound {}", self.place(at_high)));
            }
            if low <= f64::EPSILON * high || (far(at_low) && low < 1e-6 * typical) {
                let shown = if low < 0.0 { low } else { 0.0 };
                return Clause::fails(format!("{branch} falls to {shown} {}", self.place(at_low)));
            }
            (min, max) = (low.min(min), high.max(max));
        }
        Clause::holds(format!("q_min = {min:.6}, q_max = {max:.6}"))
    }

    fn breaks(&self) -> Vec<(&'static str, Break)> {
        let mut windows = vec![scan::window(self.range)];
        if !self.range.is_finite() {
            // Near 0 once more in finer cells: most responses live there.
            windows.extend(self.range.intersect(Range::symmetric(1.0)));
        }
        let branches = self.branches();
        let found = branches.iter().flat_map(|(branch, q)| {
            windows.iter().filter_map(move |&window| Some((*branch, breaks::worst(q, window)?)))
        });
        found.collect()
    }

    fn differentiable(&self, found: &[(&'static str, Break)]) -> Clause {
        let Some((branch, found)) = found.first() else {
            return Clause::holds("no kink or jump inside the range".into());
        };
        let place = self.place(found.at);
        Clause::fails(match found.kind {
            Kind::Jump(by) => format!("{branch} jumps by {by:.6} {place}"),
            Kind::Kink(left, right) => {
                format!("{branch} has a kink {place}: its slope changes from {left:.4} to {right:.4}")
            }
            Kind::Vertical => format!("{branch} has a vertical tangent {place}"),
        })
    }

    fn lipschitz(&self, found: &[(&'static str, Break)]) -> Clause {
        for (branch, found) in found {
            let place = self.place(found.at);
            match found.kind {
                Kind::Jump(_) => return Clause::fails(format!("{branch} jumps {place}")),
                Kind::Vertical => return Clause::fails(format!("the slope of {branch} is unbounded {place}")),
                Kind::Kink(..) => {}
            }
        }
        for (branch, q) in self.branches() {
            if let Some(end) = self.unbounded_slope(&q) {
                return Clause::fails(format!("the slope of {branch} is unbounded {}", self.place(end)));
            }
        }
        let slope = self.response.bounds(self.range).lipschitz;
        if slope.is_finite() {
            Clause::holds(format!("L_S = {slope:.6}"))
        } else {
            Clause::fails(format!("a slope of {slope} is met on {}", self.range))
        }
    }

    /// An end of the range that secants approach ever more steeply.
    fn unbounded_slope(&self, q: &dyn Fn(f64) -> f64) -> Option<f64> {
        let window = scan::window(self.range);
        let width = window.hi - window.lo;
        for (end, inwards) in [(self.range.lo, 1.0), (self.range.hi, -1.0)] {
            if !end.is_finite() {
                continue;
            }
            let secant = |halvings: i32| {
                let w = end + inwards * width * 0.5f64.powi(halvings);
                ((q(w) - q(end)) / (w - end)).abs()
            };
            // A bounded slope settles; w^0.95 still gains 40 % over each ten halvings, w ln w 30 %. The last guard
            // keeps the rounding of a nearly flat response from counting as a slope.
            let (first, second, third) = (secant(14), secant(24), secant(34));
            if second > 1.02 * first && third > 1.02 * second && third * width > 1e-3 * q(end).abs() {
                return Some(end);
            }
        }
        scan::tails(self.range).find(|tail| {
            let secant = |w: f64| ((q(2.0 * w) - q(w)) / w).abs();
            secant(1e-3 * tail) > 1e3 * secant(1e-9 * tail) && secant(*tail) > 1e2 * secant(1e-3 * tail)
        })
    }
}
