use thiserror::Error;

use super::table::{Place, Table};
use super::{Bounds, ResponseFunction};
use crate::interpolate::{InterpolationError, Pchip};
use crate::{Range, numeric};

/// Why a table is not a response.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TabulatedError {
    /// One row or none makes no curve.
    #[error("a table needs at least 2 rows, got {given}")]
    TooFew {
        /// The rows given.
        given: usize,
    },
    /// A column of another length than `w`.
    #[error("{column} must have one value per node, {expected}, got {given}")]
    Length {
        /// The column.
        column: &'static str,
        /// Number of nodes.
        expected: usize,
        /// Number of values.
        given: usize,
    },
    /// NaN or infinity.
    #[error("{place}: {column} must be finite, got {value}")]
    NotFinite {
        /// The row.
        place: Place,
        /// The column.
        column: &'static str,
        /// What stands there.
        value: f64,
    },
    /// A node that does not lie above the one before.
    #[error("{place}: w must increase from row to row, got {value} after {previous}")]
    Order {
        /// The later row.
        place: Place,
        /// The node before.
        previous: f64,
        /// The node.
        value: f64,
    },
    /// A branch that is negative, or zero at an inner node.
    #[error(
        "{place}: {column} must be positive (0 is allowed in the first and the last row only), got {value} at w = {at}"
    )]
    NotPositive {
        /// The row.
        place: Place,
        /// The branch.
        column: &'static str,
        /// The node.
        at: f64,
        /// The response there.
        value: f64,
    },
    /// Both branches vanish at one end: a cell there could never be written again.
    #[error("{place}: q_plus and q_minus must not both be 0, got 0 and 0 at w = {at}")]
    Stuck {
        /// The row.
        place: Place,
        /// The node.
        at: f64,
    },
    /// Values that overflow the interpolation.
    #[error("{column}: {source}")]
    Interpolation {
        /// The branch.
        column: &'static str,
        /// What is wrong with it.
        source: InterpolationError,
    },
    /// The first line with content is not the header.
    #[error("line {line}: the header must name w, q_plus and q_minus once each, in any order, got \"{text}\"")]
    Header {
        /// Line of the file, from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// Text without any header.
    #[error("a table needs the header w,q_plus,q_minus, got no line with content")]
    Empty,
    /// A row with another number of fields.
    #[error("line {line}: a row must have 3 fields, got {given} in \"{text}\"")]
    Fields {
        /// Line of the file, from 1.
        line: usize,
        /// The fields there.
        given: usize,
        /// The line.
        text: String,
    },
    /// A field that is no number.
    #[error("line {line}: {column} must be a number, got \"{text}\"")]
    Number {
        /// Line of the file, from 1.
        line: usize,
        /// The column.
        column: &'static str,
        /// The field.
        text: String,
    },
}

/// A measured response: both branches interpolated between nodes, shape preserved, on [first node, last node].
///
/// The curves are those of [`Pchip`]: monotone between nodes and once differentiable, so bounds are exact and
/// a table of positive numbers never gives a negative response.
///
/// ```
/// use residuum::response::{ResponseFunction, Tabulated};
/// let table = "w, q_plus, q_minus\n-1, 1.8, 0.2\n0, 1.0, 1.0\n1, 0.3, 1.5\n";
/// let response = Tabulated::from_csv(table)?;
/// assert_eq!(response.symmetric_point(), Some(0.0));
/// # Ok::<(), residuum::response::TabulatedError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tabulated {
    q_plus: Pchip,
    q_minus: Pchip,
    symmetric_point: Option<f64>,
}

impl Tabulated {
    /// Both branches at increasing nodes, equally spaced or not.
    ///
    /// # Errors
    /// If there are fewer than two nodes, lengths differ, a number is not finite, nodes do not increase, a branch
    /// is not positive (0 is allowed at the first and the last node), or both branches are 0 at one end.
    pub fn new(nodes: &[f64], q_plus: &[f64], q_minus: &[f64]) -> Result<Self, TabulatedError> {
        Self::from_table(&Table::new(nodes, q_plus, q_minus)?)
    }

    /// A table as text: a header naming `w`, `q_plus` and `q_minus` in any order, then one row per node. Blank
    /// lines and lines that start with `#` are skipped.
    ///
    /// # Errors
    /// As [`Tabulated::new`], with the line of the text; and for a missing header, a missing field or a field that
    /// is no number.
    pub fn from_csv(text: &str) -> Result<Self, TabulatedError> {
        Self::from_table(&Table::from_csv(text)?)
    }

    fn from_table(table: &Table) -> Result<Self, TabulatedError> {
        table.check()?;
        let curve = |column, values: &[f64]| {
            Pchip::new(&table.nodes, values).map_err(|source| TabulatedError::Interpolation { column, source })
        };
        let (q_plus, q_minus) = (curve("q_plus", &table.q_plus)?, curve("q_minus", &table.q_minus)?);
        let symmetric_point = crossing_nearest_to_zero(&q_plus, &q_minus);
        Ok(Self { q_plus, q_minus, symmetric_point })
    }

    /// The nodes, increasing.
    pub fn nodes(&self) -> &[f64] {
        self.q_plus.nodes()
    }
}

impl ResponseFunction for Tabulated {
    fn q_plus(&self, w: f64) -> f64 {
        self.q_plus.value(w)
    }
    fn q_minus(&self, w: f64) -> f64 {
        self.q_minus.value(w)
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        self.q_plus.derivative(w)
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        self.q_minus.derivative(w)
    }
    fn range(&self) -> Range {
        let nodes = self.nodes();
        Range { lo: nodes[0], hi: nodes[nodes.len() - 1] }
    }
    fn symmetric_point(&self) -> Option<f64> {
        self.symmetric_point
    }
    fn describe(&self) -> String {
        format!("tabulated: {} nodes on {}", self.nodes().len(), self.range())
    }

    fn asymmetry_potential(&self, w: f64) -> f64 {
        // Smooth between nodes only: a quadrature across one would converge slowly.
        let from = self.symmetric_point.unwrap_or(0.0);
        let (low, high) = (from.min(w), from.max(w));
        let inside = self.nodes().iter().copied().filter(|&node| low < node && node < high);
        let stops: Vec<f64> = [low].into_iter().chain(inside).chain([high]).collect();
        let ratio = |x| self.asymmetry_ratio(x);
        let area: f64 = stops.windows(2).map(|pair| numeric::integrate(ratio, pair[0], pair[1], 1e-14)).sum();
        if w < from { -area } else { area }
    }

    fn bounds(&self, over: Range) -> Bounds {
        let (a, b) = (self.range().clip(over.lo), self.range().clip(over.hi));
        let (plus, minus) = (&self.q_plus, &self.q_minus);
        Bounds {
            range: over,
            min: plus.minimum(a, b).min(minus.minimum(a, b)),
            max: plus.maximum(a, b).max(minus.maximum(a, b)),
            lipschitz: plus.lipschitz(a, b).max(minus.lipschitz(a, b)),
        }
    }
}

/// The zero of q₋ − q₊ nearest to 0; of two at one distance, the lower. Where the branches coincide on a whole
/// piece, the point of it nearest to 0.
fn crossing_nearest_to_zero(q_plus: &Pchip, q_minus: &Pchip) -> Option<f64> {
    let difference = |w: f64| q_minus.value(w) - q_plus.value(w);
    let slope = |w: f64| q_minus.derivative(w) - q_plus.derivative(w);
    let pieces = q_plus.nodes().windows(2).flat_map(|piece| {
        let (left, right) = (piece[0], piece[1]);
        let (rise, start, end) =
            (difference(right) - difference(left), (right - left) * slope(left), (right - left) * slope(right));
        if difference(left) == 0.0 && rise == 0.0 && start == 0.0 && end == 0.0 {
            return vec![Range { lo: left, hi: right }.clip(0.0)];
        }
        // The difference is a cubic on the piece; between the zeros of its derivative a sign change is one crossing.
        let turns =
            quadratic_roots(3.0 * (start + end) - 6.0 * rise, 6.0 * rise - 4.0 * start - 2.0 * end, start);
        let mut stops = vec![left];
        stops.extend(turns.into_iter().filter(|t| (0.0..1.0).contains(t)).map(|t| left + t * (right - left)));
        stops.push(right);
        stops.sort_by(f64::total_cmp);
        stops.windows(2).filter_map(|pair| numeric::find_root(difference, pair[0], pair[1])).collect()
    });
    pieces.min_by(|a, b| a.abs().total_cmp(&b.abs()))
}

/// Real zeros of a t² + b t + c, without cancellation; a degenerate equation may give infinities.
fn quadratic_roots(a: f64, b: f64, c: f64) -> Vec<f64> {
    let discriminant = b * b - 4.0 * a * c;
    if discriminant < 0.0 {
        return Vec::new();
    }
    let q = -0.5 * (b + discriminant.sqrt().copysign(b));
    vec![q / a, c / q]
}
