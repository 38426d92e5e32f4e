use thiserror::Error;

use super::{ResponseFunction, scan};
use crate::Range;
use crate::expression::{Expression, ExpressionError};

/// Why two formulas are not a response.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FormulaError {
    /// A text that is no formula in `w`.
    #[error("{branch}: {source}")]
    Expression {
        /// `q_plus` or `q_minus`.
        branch: &'static str,
        /// What is wrong with the text.
        source: ExpressionError,
    },
    /// A branch that is NaN or infinite somewhere.
    #[error("{branch} must be finite on {range}, but {branch}({at}) = {value}")]
    NotFinite {
        /// `q_plus` or `q_minus`.
        branch: &'static str,
        /// The dynamic range asked for.
        range: Range,
        /// Where it fails.
        at: f64,
        /// The value there.
        value: f64,
    },
    /// A branch that is negative, or zero before the end of the range.
    #[error(
        "{branch} must be positive inside {range} (0 is allowed at its very ends), but {branch}({at}) = {value}"
    )]
    NotPositive {
        /// `q_plus` or `q_minus`.
        branch: &'static str,
        /// The dynamic range asked for.
        range: Range,
        /// Where it fails.
        at: f64,
        /// The value there.
        value: f64,
    },
    /// Both branches vanish at one end: a cell there could never be written again.
    #[error("q_plus and q_minus must not both be 0, got 0 and 0 at w = {at}")]
    Stuck {
        /// The end.
        at: f64,
    },
}

/// A response given by two formulas in `w`, differentiated symbolically.
///
/// Positivity is checked on 4096 cells of the range with every valley refined, and ever closer to its ends.
///
/// ```
/// use residuum::Range;
/// use residuum::response::{Formula, ResponseFunction};
/// let response = Formula::parse("exp(-w)", "1 + 0.5*w", Range::new(-1.0, 1.0)?)?;
/// assert_eq!(response.symmetric_point(), Some(0.0));
/// assert_eq!(response.q_minus_derivative(0.3), 0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    q_plus: Branch,
    q_minus: Branch,
    range: Range,
    symmetric_point: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
struct Branch {
    value: Expression,
    derivative: Expression,
}

impl Branch {
    fn parse(branch: &'static str, text: &str) -> Result<Self, FormulaError> {
        let value =
            Expression::parse(text, &["w"]).map_err(|source| FormulaError::Expression { branch, source })?;
        let derivative = value.derivative("w");
        Ok(Self { value, derivative })
    }

    fn check(&self, branch: &'static str, range: Range, points: &[f64]) -> Result<(), FormulaError> {
        if let Some((at, value)) =
            points.iter().map(|&w| (w, self.value.eval(&[w]))).find(|(_, value)| !value.is_finite())
        {
            return Err(FormulaError::NotFinite { branch, range, at, value });
        }
        for end in [range.lo, range.hi].into_iter().filter(|end| end.is_finite()) {
            let value = self.value.eval(&[end]);
            if value < 0.0 {
                return Err(FormulaError::NotPositive { branch, range, at: end, value });
            }
        }
        let inside: Vec<f64> = points.iter().copied().filter(|w| range.lo < *w && *w < range.hi).collect();
        let (at, value) = scan::lowest(|w| self.value.eval(&[w]), &inside);
        if value > 0.0 { Ok(()) } else { Err(FormulaError::NotPositive { branch, range, at, value }) }
    }
}

impl Formula {
    /// q₊ and q₋ as texts, and the dynamic range, whose ends may be infinite.
    ///
    /// # Errors
    /// If a text is no formula in `w`, a branch is not finite on the range or not positive inside it, or both are 0
    /// at one end.
    pub fn parse(q_plus: &str, q_minus: &str, range: Range) -> Result<Self, FormulaError> {
        let points = scan::points(range);
        let (q_plus, q_minus) = (Branch::parse("q_plus", q_plus)?, Branch::parse("q_minus", q_minus)?);
        q_plus.check("q_plus", range, &points)?;
        q_minus.check("q_minus", range, &points)?;
        let mut response = Self { q_plus, q_minus, range, symmetric_point: None };
        for at in [range.lo, range.hi].into_iter().filter(|end| end.is_finite()) {
            if response.q_plus(at) == 0.0 && response.q_minus(at) == 0.0 {
                return Err(FormulaError::Stuck { at });
            }
        }
        response.symmetric_point = if points.iter().all(|&w| response.asymmetry(w) == 0.0) {
            Some(range.clip(0.0))
        } else {
            scan::nearest_root(|w| response.asymmetry(w), &points)
        };
        Ok(response)
    }
}

impl ResponseFunction for Formula {
    fn q_plus(&self, w: f64) -> f64 {
        self.q_plus.value.eval(&[w])
    }
    fn q_minus(&self, w: f64) -> f64 {
        self.q_minus.value.eval(&[w])
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        self.q_plus.derivative.eval(&[w])
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        self.q_minus.derivative.eval(&[w])
    }
    fn range(&self) -> Range {
        self.range
    }
    fn symmetric_point(&self) -> Option<f64> {
        self.symmetric_point
    }
    fn describe(&self) -> String {
        format!("formula: q₊ = {}, q₋ = {}", self.q_plus.value, self.q_minus.value)
    }
}
