//! Where Analog SGD converges: the zeros of its mean drift (`equality:scale_analog-SGD-drift`).

use super::TheoryError;
use super::implicit_penalty::{ImplicitPenalty, inside};
use super::magnitude::{Sampling, gradient_magnitude};
use crate::Range;
use crate::cells::Cells;
use crate::error::same_length;
use crate::numeric::{NewtonOptions, newton, roots};
use crate::objective::Noisy;

/// T(w) = `E[∇f(w; ξ)]` + E|∇f(w; ξ)| ⊙ R(w) for one problem on one population of cells.
#[derive(Clone, Copy, Debug)]
pub struct MeanDrift<'a> {
    problem: &'a Noisy,
    cells: &'a dyn Cells,
    sampling: Sampling,
}

/// A zero of the mean drift in one dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zero {
    /// Where T = 0.
    pub weight: f64,
    /// Whether T rises through it, so that the mean dynamics return to it.
    pub stable: bool,
}

/// The four points that describe weight drift, coordinate by coordinate.
#[derive(Clone, Debug, PartialEq)]
pub struct DriftPrediction {
    /// W*, the limit of Digital SGD.
    pub minimizer: Vec<f64>,
    /// W̃*, the leading-order limit of Analog SGD.
    pub penalized_minimizer: Vec<f64>,
    /// The zero of T, its limit up to O(α).
    pub fixed_point: Vec<f64>,
    /// W⋄, where noise pulls.
    pub symmetric_point: Vec<f64>,
}

/// Points of the scan for zeros in one dimension: separates zeros 1/2000 of the range apart.
const SCAN_POINTS: usize = 4001;

impl<'a> MeanDrift<'a> {
    /// The drift of Analog SGD on `problem` with these cells.
    ///
    /// # Errors
    /// If the sizes differ.
    pub fn new(problem: &'a Noisy, cells: &'a dyn Cells, sampling: Sampling) -> Result<Self, TheoryError> {
        let dim = problem.objective().dim();
        same_length("cells", dim, cells.len().unwrap_or(dim))?;
        Ok(Self { problem, cells, sampling })
    }

    /// T(w). Closed form for additive noise; see [`gradient_magnitude`] for mini-batches.
    pub fn mean_drift(&self, w: &[f64], out: &mut [f64]) {
        let magnitude = gradient_magnitude(self.problem, w, self.sampling).value;
        self.problem.objective().gradient(w, out);
        for (i, (drift, magnitude)) in out.iter_mut().zip(magnitude).enumerate() {
            *drift += magnitude * self.cells.response(i).asymmetry_ratio(w[i]);
        }
    }

    /// The zero that damped Newton reaches from `start`, in any dimension.
    ///
    /// # Errors
    /// If Newton's method fails or ends outside the dynamic range.
    pub fn zero_from(&self, start: &[f64]) -> Result<Vec<f64>, TheoryError> {
        let what = "zero of the mean drift";
        let found = newton(|w, out| self.mean_drift(w, out), start, NewtonOptions::default())
            .map_err(|source| TheoryError::Unsolved { what, source })?;
        inside(what, self.cells, found)
    }

    /// Every zero in the intersection of `over` and the dynamic range, for a problem of one weight.
    ///
    /// # Errors
    /// If the problem has more weights, or the ranges do not overlap in a finite interval.
    pub fn zeros(&self, over: Range) -> Result<Vec<Zero>, TheoryError> {
        same_length("weights of a scan for zeros", 1, self.problem.objective().dim())?;
        let range = self.cells.response(0).range().intersect(over)?;
        crate::error::require(range.is_finite(), "width of the range to scan", "finite", range.hi - range.lo)?;
        let drift = |w: f64| {
            let mut out = [0.0];
            self.mean_drift(&[w], &mut out);
            out[0]
        };
        let reach = 1e-6 * (range.hi - range.lo);
        let rises = |w: f64| drift(range.clip(w + reach)) > drift(range.clip(w - reach));
        let found = roots(drift, range.lo, range.hi, SCAN_POINTS);
        Ok(found.into_iter().map(|weight| Zero { weight, stable: rises(weight) }).collect())
    }
}

/// W*, W̃*, the zero of T reached from W̃*, and W⋄.
///
/// # Errors
/// As [`ImplicitPenalty::new`], [`ImplicitPenalty::penalized_minimizer`] and [`MeanDrift::zero_from`].
pub fn predict_drift(
    problem: &Noisy,
    cells: &dyn Cells,
    sampling: Sampling,
) -> Result<DriftPrediction, TheoryError> {
    let penalty = ImplicitPenalty::new(problem, cells, sampling)?;
    let penalized_minimizer = penalty.penalized_minimizer()?;
    Ok(DriftPrediction {
        minimizer: penalty.minimizer().to_vec(),
        fixed_point: MeanDrift::new(problem, cells, sampling)?.zero_from(&penalized_minimizer)?,
        symmetric_point: penalty.symmetric_point().to_vec(),
        penalized_minimizer,
    })
}
