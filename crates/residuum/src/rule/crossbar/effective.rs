//! W̄ = W + γ(P − W⋄), kept beside the arrays: a step that writes few rows and columns changes no others.

use crate::tile::Crossbar;

/// A transfer of more than one column in this many is followed by a pass over everything.
const FEW_COLUMNS: usize = 8;

/// The weights that a network computes with, and what was written since they were brought up to date.
#[derive(Clone, Debug)]
pub(super) struct Effective {
    mixing: f32,
    /// W⋄ of each residual cell; `None` where all are 0.
    pub(super) point: Option<Vec<f32>>,
    weights: Vec<f32>,
    /// Rows of P that were written.
    rows: Vec<bool>,
    /// Columns of W that were written.
    columns: Vec<usize>,
}

impl Effective {
    pub(super) fn new(mixing: f32, main: &dyn Crossbar) -> Self {
        // Without mixing W̄ is W.
        let n = if mixing == 0.0 { 0 } else { main.weights().len() };
        let rows = vec![false; main.rows()];
        Self { mixing, point: None, weights: vec![0.0; n], rows, columns: Vec::with_capacity(main.cols()) }
    }

    pub(super) fn weights<'a>(&'a self, main: &'a dyn Crossbar) -> &'a [f32] {
        if self.mixing == 0.0 { main.weights() } else { &self.weights }
    }

    /// Notes that P was written.
    pub(super) fn residual_written(&mut self, residual: &dyn Crossbar) {
        if self.mixing != 0.0 {
            residual.mark_written(&mut self.rows);
        }
    }

    /// Notes that a column of W was written.
    pub(super) fn column_written(&mut self, column: usize) {
        self.columns.push(column);
    }

    /// Notes that anything may have been written.
    pub(super) fn all_written(&mut self) {
        self.rows.fill(true);
    }

    /// Brings W̄ up to date where something was written.
    pub(super) fn follow(&mut self, main: &dyn Crossbar, residual: &dyn Crossbar) {
        let cols = main.cols();
        if self.columns.len() * FEW_COLUMNS > cols {
            self.all_written();
        }
        if self.mixing != 0.0 {
            let arrays = main.weights().chunks_exact(cols).zip(residual.weights().chunks_exact(cols));
            for (row, (out, (w, p))) in self.weights.chunks_exact_mut(cols).zip(arrays).enumerate() {
                let point = self.point.as_deref().map(|point| &point[row * cols..][..cols]);
                if self.rows[row] {
                    mix(self.mixing, w, p, point, out);
                } else {
                    for &j in &self.columns {
                        let point = point.map(|point| &point[j..=j]);
                        mix(self.mixing, &w[j..=j], &p[j..=j], point, &mut out[j..=j]);
                    }
                }
            }
        }
        self.rows.fill(false);
        self.columns.clear();
    }
}

/// out ← w + mixing·(p − point).
#[inline(always)]
fn mix(mixing: f32, w: &[f32], p: &[f32], point: Option<&[f32]>, out: &mut [f32]) {
    let pairs = out.iter_mut().zip(w).zip(p);
    match point {
        None => pairs.for_each(|((out, w), p)| *out = w + mixing * p),
        Some(point) => pairs.zip(point).for_each(|(((out, w), p), point)| *out = w + mixing * (p - point)),
    }
}
