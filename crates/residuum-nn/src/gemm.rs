//! The matrix product used throughout the crate.
//!
//! The bits of a product do not depend on the CPU either: see `gemm/block.rs`.
//!
//! Large products are split into blocks of output rows, and the split depends on the sizes alone: threads decide who
//! computes a block, never how it is summed, so the bits are the same for any number of threads.

mod block;

use rayon::prelude::*;
use residuum::readout::{Scratch, Shape};
use residuum::{Key, Readout};

use block::Product;

/// Multiplications that are worth another thread.
const GRAIN: usize = 1 << 22;
/// Maximum number of blocks per product.
const BLOCKS: usize = 8;
/// Block heights are multiples of this, so that the kernels have no ragged edge inside a product.
const TILE: usize = 16;
/// Rows of A that are worth packing a transposed B, which every block does for itself with strided reads;
/// below this height scalar products of rows are faster (see [`rows_by_rows`]).
const TALL: usize = 256;
/// Terms that a scalar product needs to fill its vectors.
const LONG: usize = 64;

/// An operand, stored by rows.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// As it is.
    Plain(&'a [f32]),
    /// The transpose of what is stored.
    Transposed(&'a [f32]),
}

impl<'a> Operand<'a> {
    fn values(self) -> &'a [f32] {
        match self {
            Self::Plain(values) | Self::Transposed(values) => values,
        }
    }

    /// Row and column strides of the operand, which is `rows × cols`.
    fn strides(self, rows: usize, cols: usize) -> (usize, usize) {
        match self {
            Self::Plain(_) => (cols, 1),
            Self::Transposed(_) => (1, rows),
        }
    }
}

/// `C ← keep · C + factor · A B` with A `m × k`, B `k × n` and C `m × n`, stored by rows. With `keep` 0 the old C is
/// not read.
///
/// # Panics
/// If the length of a slice does not match the sizes.
pub fn gemm([m, k, n]: [usize; 3], a: Operand<'_>, b: Operand<'_>, c: &mut [f32], keep: f32, factor: f32) {
    holds("A", a.values(), m, k);
    holds("B", b.values(), k, n);
    holds("C", c, m, n);
    if c.is_empty() {
        return;
    }
    let (a_row, a_col) = a.strides(m, k);
    let (b_row, b_col) = b.strides(k, n);
    let (lhs, rhs) = (a.values(), b.values());
    let block = |(index, c): (usize, &mut [f32]), height: usize| {
        let a = lhs.get(index * height * a_row..).unwrap_or(&[]);
        let one = Product {
            size: [c.len() / n, k, n],
            a,
            a_strides: [a_row, a_col],
            b: rhs,
            b_strides: [b_row, b_col],
            keep,
            factor,
        };
        one.run(c);
    };
    let least = if matches!(b, Operand::Transposed(_)) { TALL } else { TILE };
    let height = height([m, k, n], TILE).max(least);
    if height >= m {
        block((0, c), m);
    } else {
        c.par_chunks_mut(height * n).enumerate().for_each(|chunk| block(chunk, height));
    }
}

/// Panics unless `values` are a matrix of this size. The product must not wrap: the kernels trust it.
fn holds(name: &str, values: &[f32], rows: usize, cols: usize) {
    assert!(
        rows.checked_mul(cols) == Some(values.len()),
        "{name} must be {rows} × {cols}, got {} values",
        values.len()
    );
}

/// Rows of a block: a function of the sizes alone.
fn height([m, k, n]: [usize; 3], tile: usize) -> usize {
    let blocks = (m.saturating_mul(n).saturating_mul(k) / GRAIN).clamp(1, BLOCKS);
    m.div_ceil(blocks).next_multiple_of(tile)
}

/// `C = A Bᵀ` with A `m × k` and B `n × k`: rows of A by rows of B, the product of a read.
///
/// Few rows use the core's exact product, which reads both operands in place; many are worth the packing of
/// [`gemm`].
///
/// # Panics
/// If the length of a slice does not match the sizes.
pub fn rows_by_rows([m, k, n]: [usize; 3], a: &[f32], b: &[f32], c: &mut [f32]) {
    if m > TALL || k < LONG {
        gemm([m, k, n], Operand::Plain(a), Operand::Transposed(b), c, 0.0, 1.0);
        return;
    }
    let shape = Shape { rows: n, cols: k };
    // The exact product draws nothing, so any key will do.
    let read = |a: &[f32], c: &mut [f32]| {
        Readout::default().read(b, shape, a, Key::new(0), c, &mut Scratch::default());
    };
    let height = height([m, k, n], 4);
    if height >= m {
        read(a, c);
    } else {
        holds("A", a, m, k);
        a.par_chunks(height * k).zip(c.par_chunks_mut(height * n)).for_each(|(a, c)| read(a, c));
    }
}
