//! Shape-preserving piecewise cubic interpolation (PCHIP) of tabulated functions.
//!
//! On each piece between neighbouring nodes the interpolant is the cubic with the given values and with
//! the slopes of Fritsch and Butland (interior: a weighted harmonic mean of the secants; ends: a
//! three-point formula, limited). Each piece is then monotone: the curve rises where the data rise,
//! never overshoots, and so stays positive when the data are. The curve and its derivative are continuous.
//!
//! Reference: Fritsch and Butland, SIAM J. Sci. Stat. Comput. 5 (1984), 300-304.

use thiserror::Error;

/// Why a table cannot be interpolated.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum InterpolationError {
    /// Nodes and values do not pair up.
    #[error("values must have one entry per node, got {values} values for {nodes} nodes")]
    Length {
        /// Number of nodes.
        nodes: usize,
        /// Number of values.
        values: usize,
    },
    /// Fewer than two nodes.
    #[error("nodes must have at least 2 entries, got {0}")]
    TooFew(usize),
    /// A node is NaN or infinite.
    #[error("nodes must be finite, got {value} at index {index}")]
    Node {
        /// Where.
        index: usize,
        /// The node.
        value: f64,
    },
    /// A value is NaN or infinite.
    #[error("values must be finite, got {value} at index {index}")]
    Value {
        /// Where.
        index: usize,
        /// The value.
        value: f64,
    },
    /// A node does not lie above its predecessor.
    #[error("nodes must be strictly increasing, got {value} after {previous} at index {index}")]
    Order {
        /// Index of the later node.
        index: usize,
        /// The earlier node.
        previous: f64,
        /// The later node.
        value: f64,
    },
    /// A secant, or the width of a piece, overflows.
    #[error("values must not jump between nodes, got an infinite slope or width before index {index}")]
    Steep {
        /// Index of the node that ends the piece.
        index: usize,
    },
}

/// A shape-preserving cubic interpolant on unequal nodes.
///
/// Arguments should lie between the first node and the last, which
/// [`contains`](Self::contains) checks; that is up to the caller. Outside, the curve is continued
/// by its end values.
///
/// ```
/// use residuum::interpolate::Pchip;
/// let curve = Pchip::new(&[0.0, 1.0, 3.0], &[1.0, 0.5, 0.25])?;
/// assert_eq!(curve.value(1.0), 0.5);
/// assert!(curve.value(2.0) < 0.5 && curve.value(2.0) > 0.25);
/// # Ok::<(), residuum::interpolate::InterpolationError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Pchip {
    nodes: Vec<f64>,
    values: Vec<f64>,
    slopes: Vec<f64>,
}

/// One cubic of the interpolant, from its left end to its right.
struct Piece {
    start: f64,
    width: f64,
    values: [f64; 2],
    slopes: [f64; 2],
}

impl Pchip {
    /// The interpolant through (`nodes[i]`, `values[i]`): at least two, finite, nodes strictly increasing.
    pub fn new(nodes: &[f64], values: &[f64]) -> Result<Self, InterpolationError> {
        if nodes.len() != values.len() {
            return Err(InterpolationError::Length { nodes: nodes.len(), values: values.len() });
        }
        if nodes.len() < 2 {
            return Err(InterpolationError::TooFew(nodes.len()));
        }
        for (index, (&node, &value)) in nodes.iter().zip(values).enumerate() {
            if !node.is_finite() {
                return Err(InterpolationError::Node { index, value: node });
            }
            if !value.is_finite() {
                return Err(InterpolationError::Value { index, value });
            }
            if index > 0 && node <= nodes[index - 1] {
                let previous = nodes[index - 1];
                return Err(InterpolationError::Order { index, previous, value: node });
            }
        }
        let widths: Vec<f64> = nodes.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let secants: Vec<f64> =
            values.windows(2).zip(&widths).map(|(pair, width)| (pair[1] - pair[0]) / width).collect();
        // The end formula multiplies by at most 3 before it is limited.
        let bad = |(width, secant): (&f64, &f64)| !(3.0 * width).is_finite() || !(3.0 * secant).is_finite();
        if let Some(before) = widths.iter().zip(&secants).position(bad) {
            return Err(InterpolationError::Steep { index: before + 1 });
        }
        let slopes = slopes(&widths, &secants);
        Ok(Self { nodes: nodes.to_vec(), values: values.to_vec(), slopes })
    }

    /// The nodes, increasing.
    pub fn nodes(&self) -> &[f64] {
        &self.nodes
    }

    /// The values at the nodes.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Whether `x` lies between the first node and the last, ends included.
    pub fn contains(&self, x: f64) -> bool {
        let (first, last) = self.ends();
        first <= x && x <= last
    }

    /// The curve at `x`: exact at the nodes, between the neighbouring values elsewhere.
    pub fn value(&self, x: f64) -> f64 {
        let (first, last) = self.ends();
        let x = x.clamp(first, last);
        self.piece(self.locate(x)).value(x)
    }

    /// The slope of the curve at `x`; outside the nodes, that of the nearest end.
    pub fn derivative(&self, x: f64) -> f64 {
        let (first, last) = self.ends();
        let x = x.clamp(first, last);
        let piece = self.piece(self.locate(x));
        piece.derivative((x - piece.start) / piece.width)
    }

    /// The integral of the curve from `a` to `b`, both within the nodes; negative orientation if `a > b`.
    pub fn integral(&self, a: f64, b: f64) -> f64 {
        if a > b {
            return -self.integral(b, a);
        }
        // Two Gauss points integrate a cubic exactly, and do not cancel on a short interval.
        let of_piece = |(k, low, high): (usize, f64, f64)| {
            let piece = self.piece(k);
            let half = 0.5 * (high - low);
            let (center, offset) = (low + half, half / 3f64.sqrt());
            half * (piece.value(center - offset) + piece.value(center + offset))
        };
        self.pieces(a, b).map(of_piece).sum()
    }

    /// The least value of the curve between `a` and `b`.
    pub fn minimum(&self, a: f64, b: f64) -> f64 {
        self.candidates(a, b).fold(f64::INFINITY, f64::min)
    }

    /// The greatest value of the curve between `a` and `b`.
    pub fn maximum(&self, a: f64, b: f64) -> f64 {
        self.candidates(a, b).fold(f64::NEG_INFINITY, f64::max)
    }

    /// The Lipschitz constant of the curve between `a` and `b`: its steepest slope there, in absolute value.
    pub fn lipschitz(&self, a: f64, b: f64) -> f64 {
        let of_piece = |(k, low, high): (usize, f64, f64)| {
            let piece = self.piece(k);
            let (low, high) = ((low - piece.start) / piece.width, (high - piece.start) / piece.width);
            let vertex = piece.steepest().filter(|&t| low < t && t < high);
            [Some(low), Some(high), vertex]
                .into_iter()
                .flatten()
                .fold(0.0, |steepest: f64, t| steepest.max(piece.derivative(t).abs()))
        };
        self.pieces(a.min(b), a.max(b)).map(of_piece).fold(0.0, f64::max)
    }

    fn ends(&self) -> (f64, f64) {
        (self.nodes[0], self.nodes[self.nodes.len() - 1])
    }

    /// Index of the piece that holds `x`; the last piece holds its right end too.
    fn locate(&self, x: f64) -> usize {
        let inner = &self.nodes[1..self.nodes.len() - 1];
        inner.partition_point(|&node| node <= x)
    }

    fn piece(&self, k: usize) -> Piece {
        Piece {
            start: self.nodes[k],
            width: self.nodes[k + 1] - self.nodes[k],
            values: [self.values[k], self.values[k + 1]],
            slopes: [self.slopes[k], self.slopes[k + 1]],
        }
    }

    /// The pieces that meet [a, b], each with the part of it inside.
    fn pieces(&self, a: f64, b: f64) -> impl Iterator<Item = (usize, f64, f64)> + '_ {
        let (first, last) = (self.locate(a), self.locate(b));
        (first..=last).map(move |k| {
            let low = if k == first { a } else { self.nodes[k] };
            let high = if k == last { b } else { self.nodes[k + 1] };
            (k, low, high)
        })
    }

    /// Since each piece is monotone, extremes are taken at `a`, at `b` or at a node between them.
    fn candidates(&self, a: f64, b: f64) -> impl Iterator<Item = f64> + '_ {
        let (low, high) = (a.min(b), a.max(b));
        let inside = self.nodes.iter().zip(&self.values);
        let inside = inside.filter(move |&(&node, _)| low < node && node < high).map(|(_, &value)| value);
        [self.value(low), self.value(high)].into_iter().chain(inside)
    }
}

impl Piece {
    fn value(&self, x: f64) -> f64 {
        let t = (x - self.start) / self.width;
        let u = 1.0 - t;
        let blend = t * t * (3.0 - 2.0 * t);
        let [left, right] = self.values;
        let bend = self.width * t * u * (self.slopes[0] * u - self.slopes[1] * t);
        // In exact arithmetic the clamp does nothing; here it keeps rounding from overshooting the data.
        (left * (1.0 - blend) + right * blend + bend).clamp(left.min(right), left.max(right))
    }

    /// The slope at the relative position `t` in [0, 1].
    fn derivative(&self, t: f64) -> f64 {
        let u = 1.0 - t;
        6.0 * t * u * self.secant()
            + self.slopes[0] * u * (1.0 - 3.0 * t)
            + self.slopes[1] * t * (3.0 * t - 2.0)
    }

    /// Where the slope, a parabola, has its vertex; `None` when it is a straight line.
    fn steepest(&self) -> Option<f64> {
        let [left, right] = self.slopes;
        let curvature = left + right - 2.0 * self.secant();
        let t = (2.0 * left + right - 3.0 * self.secant()) / (3.0 * curvature);
        t.is_finite().then_some(t)
    }

    fn secant(&self) -> f64 {
        (self.values[1] - self.values[0]) / self.width
    }
}

fn slopes(widths: &[f64], secants: &[f64]) -> Vec<f64> {
    let last = secants.len() - 1;
    if last == 0 {
        return vec![secants[0]; 2];
    }
    let inner = (0..last).map(|k| {
        let (before, after) = (secants[k], secants[k + 1]);
        // A node where the data turn is an extreme of the curve as well.
        if before == 0.0 || after == 0.0 || (before < 0.0) != (after < 0.0) {
            return 0.0;
        }
        let left = 2.0 * widths[k + 1] + widths[k];
        let right = widths[k + 1] + 2.0 * widths[k];
        let share = left / (left + right);
        1.0 / (share / before + (1.0 - share) / after)
    });
    let start = end_slope([widths[0], widths[1]], [secants[0], secants[1]]);
    let end = end_slope([widths[last], widths[last - 1]], [secants[last], secants[last - 1]]);
    [start].into_iter().chain(inner).chain([end]).collect()
}

/// The slope at an end, from the two pieces nearest to it, limited so that the end piece stays monotone.
fn end_slope(widths: [f64; 2], secants: [f64; 2]) -> f64 {
    let share = widths[0] / (widths[0] + widths[1]);
    let slope = secants[0] + share * (secants[0] - secants[1]);
    if secants[0] == 0.0 || slope == 0.0 || (slope < 0.0) != (secants[0] < 0.0) {
        0.0
    } else if (secants[0] < 0.0) != (secants[1] < 0.0) && slope.abs() > 3.0 * secants[0].abs() {
        3.0 * secants[0]
    } else {
        slope
    }
}
