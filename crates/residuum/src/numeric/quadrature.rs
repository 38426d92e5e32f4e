//! Adaptive Gauss-Kronrod quadrature.
//!
//! The 15-point Kronrod rule gives the value of a piece, its embedded 7-point Gauss rule the error;
//! the piece with the largest error is bisected until the sum of errors meets the tolerance.

use std::array;

/// Positive Kronrod nodes on [-1, 1]; the odd positions and zero are the Gauss nodes.
const NODES: [f64; 7] = [
    0.9914553711208126,
    0.9491079123427585,
    0.8648644233597691,
    0.7415311855993945,
    0.5860872354676911,
    0.4058451513773972,
    0.20778495500789848,
];
/// Kronrod weights of `NODES`, then of zero.
const KRONROD: [f64; 8] = [
    0.022935322010529224,
    0.06309209262997856,
    0.10479001032225019,
    0.14065325971552592,
    0.1690047266392679,
    0.19035057806478542,
    0.20443294007529889,
    0.20948214108472782,
];
/// Gauss weights of `NODES[1]`, `NODES[3]`, `NODES[5]`, then of zero.
const GAUSS: [f64; 4] = [0.1294849661688697, 0.27970539148927664, 0.3818300505051189, 0.4179591836734694];
/// A bound on work, far above what an integrable endpoint singularity needs.
const MAX_PIECES: usize = 2000;

/// The value of an integral with an estimate of its absolute error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Integral {
    /// The integral.
    pub value: f64,
    /// Estimated absolute error; it exceeds the tolerance when the work limit or rounding stopped the refinement.
    pub error: f64,
}

/// The integral of `f` from `a` to `b`; see [`integrate_with_error`].
///
/// ```
/// use residuum::numeric::integrate;
/// let area = integrate(|x: f64| x.sin(), 0.0, std::f64::consts::PI, 1e-12);
/// assert!((area - 2.0).abs() < 1e-14);
/// ```
pub fn integrate(f: impl FnMut(f64) -> f64, a: f64, b: f64, tolerance: f64) -> f64 {
    integrate_with_error(f, a, b, tolerance).value
}

/// The integral of `f` from `a` to `b` with an error estimate.
///
/// Refines until the estimate is at most `tolerance * max(1, |integral|)`, or rounding forbids more.
/// With `a > b` the sign flips. The limits must be finite; `f` is never evaluated at them, so an
/// integrable singularity such as `1/sqrt(x)` may sit there. Put a singularity at zero when you can:
/// elsewhere the spacing of floating-point numbers limits how closely it is resolved. A NaN or infinite
/// value of `f` makes the result NaN.
pub fn integrate_with_error(mut f: impl FnMut(f64) -> f64, a: f64, b: f64, tolerance: f64) -> Integral {
    if a == b {
        return Integral { value: 0.0, error: 0.0 };
    }
    let mut pieces = vec![Piece::measure(&mut f, a, b)];
    loop {
        let value: f64 = pieces.iter().map(|piece| piece.value).sum();
        let error: f64 = pieces.iter().map(|piece| piece.error).sum();
        if !value.is_finite() || !error.is_finite() {
            return Integral { value: f64::NAN, error: f64::NAN };
        }
        let worst = pieces
            .iter()
            .enumerate()
            .filter(|(_, piece)| piece.divisible)
            .max_by(|(_, left), (_, right)| left.error.total_cmp(&right.error))
            .map(|(index, _)| index);
        match worst {
            Some(worst) if error > tolerance * value.abs().max(1.0) && pieces.len() < MAX_PIECES => {
                let Piece { a, b, .. } = pieces[worst];
                let middle = a.midpoint(b);
                pieces[worst] = Piece::measure(&mut f, a, middle);
                pieces.push(Piece::measure(&mut f, middle, b));
            }
            _ => return Integral { value, error },
        }
    }
}

/// One subinterval and what the two rules say of it.
#[derive(Clone, Copy)]
struct Piece {
    a: f64,
    b: f64,
    value: f64,
    error: f64,
    /// False once halving cannot help: the error is rounding, or the nodes run into the ends.
    divisible: bool,
}

impl Piece {
    fn measure(f: &mut impl FnMut(f64) -> f64, a: f64, b: f64) -> Self {
        let center = a.midpoint(b);
        let half = 0.5 * b - 0.5 * a;
        let middle = f(center);
        let pairs: [(f64, f64); 7] =
            array::from_fn(|i| (f(center - half * NODES[i]), f(center + half * NODES[i])));

        let mut kronrod = KRONROD[7] * middle;
        let mut gauss = GAUSS[3] * middle;
        let mut magnitude = KRONROD[7] * middle.abs();
        for (i, (left, right)) in pairs.into_iter().enumerate() {
            kronrod += KRONROD[i] * (left + right);
            magnitude += KRONROD[i] * (left.abs() + right.abs());
            if i % 2 == 1 {
                gauss += GAUSS[i / 2] * (left + right);
            }
        }
        let mean = 0.5 * kronrod;
        let mut variation = KRONROD[7] * (middle - mean).abs();
        for (i, (left, right)) in pairs.into_iter().enumerate() {
            variation += KRONROD[i] * ((left - mean).abs() + (right - mean).abs());
        }

        // QUADPACK's estimate: the Kronrod rule is far better than its distance to the Gauss rule.
        let width = half.abs();
        let distance = (kronrod - gauss).abs();
        let scaled = if variation > 0.0 {
            variation * (200.0 * distance / variation).powf(1.5).min(1.0)
        } else {
            distance
        };
        let rounding = 4.0 * f64::EPSILON * magnitude;
        let edge = half * (1.0 - NODES[0]);
        Self {
            a,
            b,
            value: half * kronrod,
            error: width * scaled.max(rounding),
            divisible: scaled > rounding && a + 0.5 * edge != a && b - 0.5 * edge != b,
        }
    }
}
