//! W̄ = W + Σₙ γⁿ(Pⁿ − W⋄), with Q̃ for W⋄ where it is tracked, kept beside the arrays: a step that writes few rows and columns changes no others.

use super::transfer::Link;
use crate::Scalar;
use crate::array::Array;
use crate::simd;

/// A transfer of more than one column in this many is followed by a pass over everything.
const FEW_COLUMNS: usize = 8;

/// The weights that f is evaluated at, and what was written since they were last updated.
#[derive(Clone, Debug)]
pub(super) struct Effective<T> {
    /// γⁿ of each residual array; empty where they are hidden, so that W̄ is W.
    factors: Vec<T>,
    weights: Vec<T>,
    /// Whether anything may have been written.
    all: bool,
    /// Rows of the residual array that were written.
    rows: Vec<bool>,
    /// Columns of W that were written.
    columns: Vec<usize>,
}

impl<T: Scalar> Effective<T> {
    /// For `residuals` residual arrays.
    pub(super) fn new(mixing: f64, residuals: usize, main: &dyn Array<T>) -> Self {
        let mut factors = Vec::new();
        let mut factor = 1.0;
        for _ in 0..if mixing == 0.0 { 0 } else { residuals } {
            factor *= mixing;
            factors.push(T::from_f64(factor));
        }
        let n = if mixing == 0.0 { 0 } else { main.weights().len() };
        let (rows, columns) = (vec![false; main.shape().rows], Vec::with_capacity(main.shape().cols));
        Self { factors, weights: vec![T::ZERO; n], all: true, rows, columns }
    }

    pub(super) fn weights<'a>(&'a self, main: &'a dyn Array<T>) -> &'a [T] {
        if self.factors.is_empty() { main.weights() } else { &self.weights }
    }

    /// Arrays that a product with W̄ reads: all, and one that holds W⋄, or W alone where the others are hidden.
    pub(super) fn arrays_read(&self, arrays: usize, point: bool) -> u64 {
        if self.factors.is_empty() { 1 } else { arrays as u64 + u64::from(point) }
    }

    /// Records that the residual array that meets the gradient was written.
    pub(super) fn residual_written(&mut self, residual: &dyn Array<T>) {
        if !self.all && !self.factors.is_empty() {
            self.all = residual.written(&mut self.rows);
        }
    }

    /// Records that a column of W was written.
    pub(super) fn column_written(&mut self, column: usize) {
        self.columns.push(column);
    }

    /// Records that anything may have been written.
    pub(super) fn all_written(&mut self) {
        self.all = true;
    }

    /// Brings W̄ up to date where something was written. `arrays` are W, P¹, …, `links` those between them.
    pub(super) fn follow(&mut self, arrays: &[Box<dyn Array<T>>], links: &[Link<T>]) {
        let cols = arrays[0].shape().cols;
        self.all |= self.columns.len() * FEW_COLUMNS > cols || arrays.len() > 2;
        if let Some(&factor) = self.factors.first() {
            let (w, p, tracker) = (arrays[0].weights(), arrays[1].weights(), links[0].tracker.as_ref());
            let point = links[0].point.as_deref().map(|point| tracker.map_or(point, |t| t.held(point)));
            let factor = tracker.and_then(|t| t.sign()).map_or(factor, |sign| sign * factor);
            if let Some(signs) = tracker.and_then(|t| t.column_signs()) {
                self.follow_signs(factor, signs, w, p, point.unwrap_or(&[]));
            } else if self.all {
                simd::vectorized(|| mix(factor, w, p, point, &mut self.weights));
                for n in 1..self.factors.len() {
                    add(self.factors[n], arrays[n + 1].weights(), links[n].point.as_deref(), &mut self.weights);
                }
            } else {
                let pairs = w.chunks_exact(cols).zip(p.chunks_exact(cols));
                for (row, (out, (w, p))) in self.weights.chunks_exact_mut(cols).zip(pairs).enumerate() {
                    let point = point.map(|point| &point[row * cols..][..cols]);
                    if self.rows[row] {
                        mix(factor, w, p, point, out);
                    } else {
                        for &j in &self.columns {
                            let point = point.map(|point| &point[j..=j]);
                            mix(factor, &w[j..=j], &p[j..=j], point, &mut out[j..=j]);
                        }
                    }
                }
            }
        }
        if !self.all {
            self.rows.fill(false);
        }
        self.all = false;
        self.columns.clear();
    }

    /// The same where every column has a sign of its own.
    fn follow_signs(&mut self, factor: T, signs: &[T], w: &[T], p: &[T], point: &[T]) {
        let cols = signs.len();
        let rows = w.chunks_exact(cols).zip(p.chunks_exact(cols)).zip(point.chunks_exact(cols));
        for (row, (out, ((w, p), q))) in self.weights.chunks_exact_mut(cols).zip(rows).enumerate() {
            let value = |j: usize| w[j] + signs[j] * factor * (p[j] - q[j]);
            if self.all || self.rows[row] {
                out.iter_mut().enumerate().for_each(|(j, out)| *out = value(j));
            } else {
                self.columns.iter().for_each(|&j| out[j] = value(j));
            }
        }
    }
}

/// out ← w + factor·(p − point).
#[inline(always)]
fn mix<T: Scalar>(factor: T, w: &[T], p: &[T], point: Option<&[T]>, out: &mut [T]) {
    let pairs = out.iter_mut().zip(w).zip(p);
    match point {
        None => pairs.for_each(|((out, w), p)| *out = *w + factor * *p),
        Some(point) => pairs.zip(point).for_each(|(((out, w), p), point)| *out = *w + factor * (*p - *point)),
    }
}

/// out ← out + factor·(p − point).
fn add<T: Scalar>(factor: T, p: &[T], point: Option<&[T]>, out: &mut [T]) {
    match point {
        None => out.iter_mut().zip(p).for_each(|(out, p)| *out += factor * *p),
        Some(point) => {
            out.iter_mut().zip(p).zip(point).for_each(|((out, p), point)| *out += factor * (*p - *point));
        }
    }
}
