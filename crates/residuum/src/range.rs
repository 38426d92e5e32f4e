//! Closed intervals of weights: the dynamic range of a cell, the operating range of a bound.

use std::fmt;

use crate::error::ParameterError;

/// A closed interval `[lo, hi]` with `lo < hi`; either end may be infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl Range {
    /// The whole line: digital memory, or a response that is regular everywhere.
    pub const ALL: Self = Self { lo: f64::NEG_INFINITY, hi: f64::INFINITY };

    /// `[lo, hi]`.
    ///
    /// # Errors
    /// If an end is NaN or `lo ≥ hi`.
    pub fn new(lo: f64, hi: f64) -> Result<Self, ParameterError> {
        if lo < hi { Ok(Self { lo, hi }) } else { Err(ParameterError::EmptyRange { lo, hi }) }
    }

    /// `[−radius, radius]`, for a radius already known to be positive.
    pub(crate) fn symmetric(radius: f64) -> Self {
        Self { lo: -radius, hi: radius }
    }

    /// The nearest point of the interval.
    #[inline(always)]
    pub fn clip(&self, w: f64) -> f64 {
        // Not `f64::clamp`: this form compiles to two vector instructions and keeps a NaN visible.
        let w = if w > self.hi { self.hi } else { w };
        if w < self.lo { self.lo } else { w }
    }

    /// Whether the point lies in the interval.
    pub fn contains(&self, w: f64) -> bool {
        self.lo <= w && w <= self.hi
    }

    /// The intersection of two intervals.
    ///
    /// # Errors
    /// If they share no interior point.
    pub fn intersect(&self, other: Self) -> Result<Self, ParameterError> {
        Self::new(self.lo.max(other.lo), self.hi.min(other.hi))
    }

    /// The interval shrunk around its centre to a fraction of its width; an infinite interval stays.
    pub fn fraction(&self, fraction: f64) -> Self {
        if !self.is_finite() {
            return *self;
        }
        let (centre, half) = (0.5 * (self.lo + self.hi), 0.5 * (self.hi - self.lo));
        Self { lo: centre - fraction * half, hi: centre + fraction * half }
    }

    /// Whether both ends are finite.
    pub fn is_finite(&self) -> bool {
        self.lo.is_finite() && self.hi.is_finite()
    }

    /// `n` equally spaced points, ends included. The interval must be finite.
    pub fn grid(&self, n: usize) -> Vec<f64> {
        let last = (n.max(2) - 1) as f64;
        (0..n.max(2))
            .map(|i| {
                let t = i as f64 / last;
                self.lo * (1.0 - t) + self.hi * t
            })
            .collect()
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.lo, self.hi)
    }
}
