//! Populations of cells: identical, with parameters per cell, or of several kinds.

use std::fmt::Debug;
use std::sync::Arc;

use crate::Range;
use crate::error::{ParameterError, require, same_length};
use crate::response::{Bounds, ResponseFunction};

/// The cells of one array. Object-safe; the loops inside are monomorphic, so there is one dynamic call per array.
pub trait Cells: Debug + Send + Sync {
    /// Number of cells, or `None` if any number will do.
    fn len(&self) -> Option<usize>;

    /// Whether the population is empty.
    fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// The response of cell `i`.
    fn response(&self, i: usize) -> &dyn ResponseFunction;

    /// `state ← clip(state + A(scale · direction; state))`, cell by cell.
    fn realize(&self, scale: f64, direction: &[f64], state: &mut [f64]);
}

/// Identical cells: any number of them share one response.
#[derive(Clone, Debug)]
pub struct Uniform(pub Arc<dyn ResponseFunction>);

impl Uniform {
    /// Cells that share `response`.
    pub fn new(response: impl ResponseFunction + 'static) -> Self {
        Self(Arc::new(response))
    }
}

impl Cells for Uniform {
    fn len(&self) -> Option<usize> {
        None
    }
    fn response(&self, _: usize) -> &dyn ResponseFunction {
        &*self.0
    }
    fn realize(&self, scale: f64, direction: &[f64], state: &mut [f64]) {
        self.0.realize(scale, direction, self.0.range(), state);
    }
}

/// One formula with parameters per cell: device-to-device variation.
#[derive(Clone, Debug)]
pub struct PerCell<R>(pub Vec<R>);

impl<R: ResponseFunction> Cells for PerCell<R> {
    fn len(&self) -> Option<usize> {
        Some(self.0.len())
    }
    fn response(&self, i: usize) -> &dyn ResponseFunction {
        &self.0[i]
    }
    fn realize(&self, scale: f64, direction: &[f64], state: &mut [f64]) {
        assert_eq!(self.0.len(), state.len(), "cells and state differ in length");
        for ((w, &d), r) in state.iter_mut().zip(direction).zip(&self.0) {
            *w = r.range().clip(*w + r.realized(scale * d, *w));
        }
    }
}

/// Several populations interleaved: `part[i]` says which one cell `i` belongs to.
#[derive(Debug)]
pub struct Mixed {
    parts: Vec<Arc<dyn ResponseFunction>>,
    part_of: Vec<usize>,
}

impl Mixed {
    /// Cells of different kinds.
    ///
    /// # Errors
    /// If `part_of` names a part that does not exist.
    pub fn new(parts: Vec<Arc<dyn ResponseFunction>>, part_of: Vec<usize>) -> Result<Self, ParameterError> {
        if let Some(&bad) = part_of.iter().find(|&&p| p >= parts.len()) {
            return Err(ParameterError::OutOfDomain {
                name: "part_of",
                must: "below the number of parts",
                value: bad as f64,
            });
        }
        Ok(Self { parts, part_of })
    }
}

impl Cells for Mixed {
    fn len(&self) -> Option<usize> {
        Some(self.part_of.len())
    }
    fn response(&self, i: usize) -> &dyn ResponseFunction {
        &*self.parts[self.part_of[i]]
    }
    fn realize(&self, scale: f64, direction: &[f64], state: &mut [f64]) {
        assert_eq!(self.part_of.len(), state.len(), "cells and state differ in length");
        for ((w, &d), &p) in state.iter_mut().zip(direction).zip(&self.part_of) {
            let r = &*self.parts[p];
            *w = r.range().clip(*w + r.realized(scale * d, *w));
        }
    }
}

/// Confines any population to a smaller range, as the projection of the κ₂ sweep does.
#[derive(Clone, Debug)]
pub struct Confined<R> {
    response: R,
    range: Range,
}

impl<R: ResponseFunction> Confined<R> {
    /// The response with its dynamic range cut to `range`.
    ///
    /// # Errors
    /// If the two ranges do not overlap.
    pub fn new(response: R, range: Range) -> Result<Self, ParameterError> {
        let range = response.range().intersect(range)?;
        Ok(Self { response, range })
    }
}

impl<R: ResponseFunction> ResponseFunction for Confined<R> {
    #[inline(always)]
    fn q_plus(&self, w: f64) -> f64 {
        self.response.q_plus(w)
    }
    #[inline(always)]
    fn q_minus(&self, w: f64) -> f64 {
        self.response.q_minus(w)
    }
    fn q_plus_derivative(&self, w: f64) -> f64 {
        self.response.q_plus_derivative(w)
    }
    fn q_minus_derivative(&self, w: f64) -> f64 {
        self.response.q_minus_derivative(w)
    }
    fn range(&self) -> Range {
        self.range
    }
    fn symmetric_point(&self) -> Option<f64> {
        self.response.symmetric_point().filter(|&w| self.range.contains(w))
    }
    fn describe(&self) -> String {
        format!("{}, confined to {}", self.response.describe(), self.range)
    }
    #[inline(always)]
    fn realized(&self, desired: f64, w: f64) -> f64 {
        self.response.realized(desired, w)
    }
    fn asymmetry_potential(&self, w: f64) -> f64 {
        self.response.asymmetry_potential(w)
    }
    fn bounds(&self, over: Range) -> Bounds {
        self.response.bounds(over)
    }
    fn realize(&self, scale: f64, direction: &[f64], range: Range, state: &mut [f64]) {
        self.response.realize(scale, direction, range, state);
    }
}

/// The symmetric point of each of `n` cells.
///
/// # Errors
/// If a cell has none, or the population has another size.
pub fn symmetric_points(cells: &dyn Cells, n: usize, rule: &'static str) -> Result<Vec<f64>, ParameterError> {
    same_length("cells", n, cells.len().unwrap_or(n))?;
    (0..n)
        .map(|i| {
            let r = cells.response(i);
            r.symmetric_point().ok_or_else(|| ParameterError::NoSymmetricPoint {
                rule,
                device: r.describe(),
                range: r.range(),
            })
        })
        .collect()
}

/// The bounds that hold for every one of `n` cells, each over this fraction of its own dynamic range; the
/// range reported spans them all.
///
/// # Errors
/// If there is no cell, the population has another size, or `fraction_of_range` is outside (0, 1].
pub fn bounds(cells: &dyn Cells, n: usize, fraction_of_range: f64) -> Result<Bounds, ParameterError> {
    same_length("cells", n, cells.len().unwrap_or(n))?;
    require(
        fraction_of_range > 0.0 && fraction_of_range <= 1.0,
        "fraction_of_range",
        "above 0 and at most 1",
        fraction_of_range,
    )?;
    // Where any number of cells will do, they are identical and one suffices.
    let distinct = if cells.len().is_none() { n.min(1) } else { n };
    let of_cell = |i| {
        let response = cells.response(i);
        response.bounds(response.range().fraction(fraction_of_range))
    };
    let overall = (0..distinct).map(of_cell).reduce(|a, b| Bounds {
        range: Range { lo: a.range.lo.min(b.range.lo), hi: a.range.hi.max(b.range.hi) },
        min: a.min.min(b.min),
        max: a.max.max(b.max),
        lipschitz: a.lipschitz.max(b.lipschitz),
    });
    overall.ok_or(ParameterError::OutOfDomain { name: "cells", must: "at least one", value: 0.0 })
}
