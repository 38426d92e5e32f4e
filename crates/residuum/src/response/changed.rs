//! A response moved along the weight axis, and one wired the wrong way round.

use std::sync::Arc;

use super::ResponseFunction;
use crate::Range;

/// A response translated along the weight axis.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The response that is moved.
    pub response: Arc<dyn ResponseFunction>,
    /// How far, in weight units.
    pub by: f64,
}

impl Moved {
    /// The response with its symmetric point at `point`; one without a symmetric point counts as having it at 0.
    pub fn to(response: Arc<dyn ResponseFunction>, point: f64) -> Self {
        let by = point - response.symmetric_point().unwrap_or(0.0);
        Self { response, by }
    }
}

impl ResponseFunction for Moved {
    fn q_plus(&self, w: f64) -> f64 {
        self.response.q_plus(w - self.by)
    }
    fn q_minus(&self, w: f64) -> f64 {
        self.response.q_minus(w - self.by)
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        self.response.q_plus_derivative(w - self.by)
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        self.response.q_minus_derivative(w - self.by)
    }
    fn range(&self) -> Range {
        let range = self.response.range();
        Range { lo: range.lo + self.by, hi: range.hi + self.by }
    }
    fn symmetric_point(&self) -> Option<f64> {
        self.response.symmetric_point().map(|w| w + self.by)
    }
    fn describe(&self) -> String {
        format!("{} moved by {}", self.response.describe(), self.by)
    }
}

/// q₊ and q₋ exchanged: the broken twin of a device, which every check of a response should tell apart. As A(−Δ) with
/// exchanged branches is −A(Δ), this is also the step −αA(∇f; P) that the paper's appendix prints for A(−α∇f; P).
#[derive(Clone, Debug)]
pub struct Swapped(pub Arc<dyn ResponseFunction>);

impl ResponseFunction for Swapped {
    fn q_plus(&self, w: f64) -> f64 {
        self.0.q_minus(w)
    }
    fn q_minus(&self, w: f64) -> f64 {
        self.0.q_plus(w)
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        self.0.q_minus_derivative(w)
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        self.0.q_plus_derivative(w)
    }
    fn range(&self) -> Range {
        self.0.range()
    }
    fn symmetric_point(&self) -> Option<f64> {
        self.0.symmetric_point()
    }
    fn describe(&self) -> String {
        format!("swapped {}", self.0.describe())
    }
}
