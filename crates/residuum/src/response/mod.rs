//! Response functions: how a cell in state w answers a desired increment (`analog-update`, `biased-update`).
//!
//! A write of Δ to a cell in state w realises `A(Δ; w) = Δ q₊(w)` for Δ ≥ 0 and `Δ q₋(w)` for Δ < 0, which is
//! `Δ F(w) − |Δ| G(w)` with the gain `F = (q₋ + q₊)/2` and the asymmetry `G = (q₋ − q₊)/2`.
//!
//! | type | q± |
//! |---|---|
//! | [`Constant`] | c |
//! | [`Linear`] | 1 ∓ slope·w/τ |
//! | [`Power`] | (1 ∓ w/τ)^shape |
//! | [`Exponential`] | (e^{shape(1 ∓ w/τ)} − 1)/(e^{shape} − 1) |
//! | [`Tanh`] | c (1 ∓ slope·tanh((w − w⋄)/width)): regular on the whole line |
//! | [`SoftBounds`] | a(1 − w/τ₊), b(1 + w/τ₋) |
//! | [`Ceiling`] | the lower bound's hard instance |
//! | [`Wavy`] | 1 ∓ a sin(¾πw/τ)(1 ∓ b w/τ): non-monotone |
//! | [`SCurve`] | (floor + (1 − floor)(1 − (w/τ)²)^shape)(1 ∓ skew·w/τ): the S-curve of ferroelectric cells |
//! | [`Tabulated`] | shape-preserving interpolation of measured points |
//! | [`Formula`] | two expressions in `w` |
//!
//! [`Moved`] translates a response, [`Swapped`] exchanges its branches.

pub(crate) mod breaks;
mod ceiling;
mod changed;
mod constant;
mod exponential;
mod family;
mod formula;
mod linear;
mod power;
mod regularity;
mod s_curve;
pub(crate) mod scan;
mod soft_bounds;
mod table;
mod tabulated;
mod tanh;
mod wavy;

pub use ceiling::Ceiling;
pub use changed::{Moved, Swapped};
pub use constant::Constant;
pub use exponential::Exponential;
pub use family::{Family, Given, ResponseParameter};
pub use formula::{Formula, FormulaError};
pub use linear::Linear;
pub use power::Power;
pub use regularity::{Clause, Regularity};
pub use s_curve::SCurve;
pub use soft_bounds::SoftBounds;
pub use table::Place;
pub use tabulated::{Tabulated, TabulatedError};
pub use tanh::Tanh;
pub use wavy::Wavy;

use std::fmt::Debug;

use crate::Range;
use crate::numeric;
use crate::simd::{self, Kernel};

/// The closed forms that specs can name.
pub const FAMILIES: [&Family; 9] = [
    &constant::FAMILY,
    &linear::FAMILY,
    &power::FAMILY,
    &exponential::FAMILY,
    &tanh::FAMILY,
    &soft_bounds::FAMILY,
    &ceiling::FAMILY,
    &wavy::FAMILY,
    &s_curve::FAMILY,
];

/// Scalar physics of one cell: pure, immutable, no randomness.
///
/// Laws, checked for every response by the test suite: q± > 0 inside the range; `asymmetry(symmetric_point) = 0`;
/// the derivatives are those of q±; `asymmetry_potential` is an antiderivative of `asymmetry_ratio` that vanishes
/// at the symmetric point.
pub trait ResponseFunction: Debug + Send + Sync {
    /// q₊(w): multiplier of increments upwards.
    fn q_plus(&self, w: f64) -> f64;

    /// q₋(w): multiplier of increments downwards.
    fn q_minus(&self, w: f64) -> f64;

    /// Derivative of q₊.
    fn q_plus_derivative(&self, w: f64) -> f64;

    /// Derivative of q₋.
    fn q_minus_derivative(&self, w: f64) -> f64;

    /// The dynamic range: the formulas hold here and nowhere else, and states are clipped to it.
    fn range(&self) -> Range;

    /// w⋄ with q₊(w⋄) = q₋(w⋄). `None` if the branches do not cross inside the range; the crossing nearest to 0
    /// if there are several; 0 for a constant response, of which every point is symmetric.
    fn symmetric_point(&self) -> Option<f64>;

    /// The formula with its parameters, for reports.
    fn describe(&self) -> String;

    /// F(w), the symmetric half.
    fn gain(&self, w: f64) -> f64 {
        0.5 * (self.q_minus(w) + self.q_plus(w))
    }

    /// G(w), the antisymmetric half.
    fn asymmetry(&self, w: f64) -> f64 {
        0.5 * (self.q_minus(w) - self.q_plus(w))
    }

    /// R(w) = G(w)/F(w), in [−1, 1] wherever q± ≥ 0.
    fn asymmetry_ratio(&self, w: f64) -> f64 {
        let (plus, minus) = (self.q_plus(w), self.q_minus(w));
        (minus - plus) / (minus + plus)
    }

    /// R'(w), by the quotient rule from the derivatives of q±.
    fn asymmetry_ratio_derivative(&self, w: f64) -> f64 {
        let (p, m) = (self.q_plus(w), self.q_minus(w));
        let (dp, dm) = (self.q_plus_derivative(w), self.q_minus_derivative(w));
        2.0 * (dm * p - dp * m) / ((m + p) * (m + p))
    }

    /// R_c(w) = ∫ R from w⋄ to w (from 0 if there is no symmetric point). Adaptive quadrature unless the response
    /// has a closed form.
    fn asymmetry_potential(&self, w: f64) -> f64 {
        let from = self.symmetric_point().unwrap_or(0.0);
        numeric::integrate(|x| self.asymmetry_ratio(x), from, w, 1e-13)
    }

    /// A(Δ; w), the realized increment.
    #[inline(always)]
    fn realized(&self, desired: f64, w: f64) -> f64 {
        desired * if desired >= 0.0 { self.q_plus(w) } else { self.q_minus(w) }
    }

    /// q_min, q_max and L_S over a range inside the dynamic range.
    fn bounds(&self, over: Range) -> Bounds {
        Bounds::scan(self, over)
    }

    /// The loop every array runs: `state ← clip(state + A(scale · direction; state))`.
    fn realize(&self, scale: f64, direction: &[f64], range: Range, state: &mut [f64]) {
        simd::dispatch(Realize { law: self, scale, direction, range, state });
    }
}

/// The operator A alone: what the hot loop needs of a response.
pub(crate) trait Realized {
    fn realized(&self, desired: f64, w: f64) -> f64;
}

impl<R: ResponseFunction + ?Sized> Realized for &R {
    #[inline(always)]
    fn realized(&self, desired: f64, w: f64) -> f64 {
        ResponseFunction::realized(*self, desired, w)
    }
}

/// The expected update of many cells that share one response.
pub(crate) struct Realize<'a, L> {
    pub(crate) law: L,
    pub(crate) scale: f64,
    pub(crate) direction: &'a [f64],
    pub(crate) range: Range,
    pub(crate) state: &'a mut [f64],
}

impl<L: Realized> Kernel for Realize<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        assert_eq!(self.direction.len(), self.state.len(), "direction and state differ in length");
        for (w, &d) in self.state.iter_mut().zip(self.direction) {
            *w = self.range.clip(*w + self.law.realized(self.scale * d, *w));
        }
    }
}

/// What the theory needs of a response, over a stated range (Definition `assumption:response-factor`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Where the bounds hold.
    pub range: Range,
    /// q_min, the smallest value of either branch.
    pub min: f64,
    /// q_max, the largest value of either branch.
    pub max: f64,
    /// L_S, the largest slope of either branch; infinite where a branch has a vertical tangent.
    pub lipschitz: f64,
}

impl Bounds {
    /// κ₂ = q_max/q_min; infinite when q_min is not positive (see [`Bounds::why_infinite`]).
    pub fn hardware_condition(&self) -> f64 {
        if self.min > 0.0 { self.max / self.min } else { f64::INFINITY }
    }

    /// The reason for κ₂ = ∞, or `None` if it is finite.
    pub fn why_infinite(&self) -> Option<String> {
        (self.min <= 0.0).then(|| {
            format!("q reaches {} inside {}: state a smaller range for a finite κ₂", self.min, self.range)
        })
    }

    /// Bounds of a response whose branches and their derivatives are monotone: the ends decide.
    pub(crate) fn from_ends<R: ResponseFunction + ?Sized>(response: &R, range: Range) -> Self {
        Self::over_points(response, range, &[range.lo, range.hi])
    }

    fn over_points<R: ResponseFunction + ?Sized>(response: &R, range: Range, points: &[f64]) -> Self {
        let mut bounds = Self { range, min: f64::INFINITY, max: f64::NEG_INFINITY, lipschitz: 0.0 };
        for &w in points {
            for q in [response.q_plus(w), response.q_minus(w)] {
                bounds.min = bounds.min.min(q);
                bounds.max = bounds.max.max(q);
            }
            for slope in [response.q_plus_derivative(w), response.q_minus_derivative(w)] {
                bounds.lipschitz = bounds.lipschitz.max(slope.abs());
            }
        }
        bounds
    }

    /// Bounds by a dense scan, each extreme refined between its neighbours to about 1e-9 of the range.
    pub fn scan<R: ResponseFunction + ?Sized>(response: &R, range: Range) -> Self {
        // An unbounded range is scanned where f64 responses still change.
        let finite = Range { lo: range.lo.max(-1e3), hi: range.hi.min(1e3) };
        let mut points = finite.grid(4097);
        let step = points[1] - points[0];
        let branches: [&dyn Fn(f64) -> f64; 4] = [
            &|w| response.q_plus(w),
            &|w| response.q_minus(w),
            &|w| response.q_plus_derivative(w).abs(),
            &|w| response.q_minus_derivative(w).abs(),
        ];
        let mut extremes = Vec::new();
        for f in branches {
            for sign in [1.0, -1.0] {
                let best = points.iter().copied().max_by(|a, b| (sign * f(*a)).total_cmp(&(sign * f(*b))));
                let Some(at) = best else { continue };
                let (mut lo, mut hi) = ((at - step).max(finite.lo), (at + step).min(finite.hi));
                for _ in 0..60 {
                    let (a, b) = (lo + (hi - lo) / 3.0, hi - (hi - lo) / 3.0);
                    if sign * f(a) < sign * f(b) { lo = a } else { hi = b }
                }
                extremes.push(0.5 * (lo + hi));
            }
        }
        points.append(&mut extremes);
        let mut bounds = Self::over_points(response, finite, &points);
        bounds.range = range;
        bounds
    }
}
