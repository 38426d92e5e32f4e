//! The matrix product used throughout the crate.
//!
//! The bits of a product do not depend on the CPU either: see `gemm/block.rs`.
//!
//! Large products are cut into panels of output rows, and how a panel is summed depends on its size alone. Threads take panels, or some
//! rows of one, and change nothing about the sums, so the bits are the same for any number of threads. Products with far more terms than
//! rows are also cut into groups of terms, by their size alone again (`groups`).

mod block;

use std::cell::RefCell;

use rayon::prelude::*;
use residuum::readout::{Scratch, Shape};
use residuum::threads::{self, Divisible};
use residuum::{Key, Readout};

use crate::kernel;
use block::{Product, Summation};

/// Multiplications of a panel.
const GRAIN: usize = 1 << 22;
/// Maximum number of panels per product.
const PANELS: usize = 8;
/// Heights are multiples of this, so that the kernels have no ragged edge inside a product.
const TILE: usize = 16;
/// The same for shares of threads, where a ragged edge costs less than a thread without work; and the fewest rows that repay another packing of B.
const EDGE: usize = 4;
const FEWEST: usize = 8;
/// Rows of A that are worth packing a transposed B, which every thread does for itself with strided reads;
/// below this height scalar products of rows are faster (see [`rows_by_rows`]).
const TALL: usize = 256;
/// Terms that a scalar product needs to fill its vectors.
const LONG: usize = 64;
/// Terms for each row from which groups of them are summed for themselves, and multiplications of a group.
const DEEP: usize = 4;
const GROUP: usize = 1 << 20;
/// Multiplications with each value from which its way to a thread, and the packing of B by every thread, is not what takes the time.
const MANY: usize = 64;

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
    fn strides(self, rows: usize, cols: usize) -> [usize; 2] {
        match self {
            Self::Plain(_) => [cols, 1],
            Self::Transposed(_) => [1, rows],
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
    let (a_strides, b_strides) = (a.strides(m, k), b.strides(k, n));
    let side_by_side = a_strides[1] == 1 && b_strides[0] == 1;
    let work = m.saturating_mul(n).saturating_mul(k);
    let groups = groups([m, k, n], b);
    let [least, fewest] = if matches!(b, Operand::Transposed(_)) { [TALL; 2] } else { [TILE, FEWEST] };
    let height = height([m, k / groups, n]).max(least).min(m);
    // The terms of a group for some rows of C, from number `first` on.
    let run = |group: usize, mut first: usize, mut c: &mut [f32]| {
        let [from, until] = [group, group + 1].map(|group| group * k / groups);
        let keep = if group == 0 { keep } else { 0.0 };
        while !c.is_empty() {
            // Those of one panel, which decides how they are summed.
            let panel = height.min(m - first / height * height);
            let rows = (c.len() / n).min(height - first % height);
            let (own, others) = c.split_at_mut(rows * n);
            let summation = Summation::of([panel, until - from, n], side_by_side);
            let a = a.values().get(first * a_strides[0] + from * a_strides[1]..).unwrap_or(&[]);
            let b = b.values().get(from * b_strides[0]..).unwrap_or(&[]);
            Product { size: [rows, until - from, n], summation, a, a_strides, b, b_strides, keep, factor }
                .run(own);
            (first, c) = (first + rows, others);
        }
    };
    if groups == 1 {
        // Halved for the packing.
        let threads = threads::worth(work / 2 / MANY * m.min(k).min(n).min(MANY));
        let share = share(m, height, threads, fewest);
        threads::share(threads, Rows { first: 0, share, n, c }, m.div_ceil(share), &|rows: Rows<'_>| {
            run(0, rows.first, rows.c);
        });
        return;
    }
    let threads = threads::worth(work / 2);
    let share = share(m, m, threads.div_ceil(groups), fewest).min(m);
    let shares = m.div_ceil(share);
    // Taken out: while this thread waits for others it may be given a work with a product of its own.
    let mut sums = SUMS.take();
    let stride = shares * share * n;
    sums.resize((groups - 1) * stride, 0.0);
    let parts = c.par_chunks_mut(share * n).chain(sums.par_chunks_mut(share * n)).enumerate();
    threads::each(threads, parts, |(part, c): (usize, &mut [f32])| {
        let (group, first) = (part / shares, part % shares * share);
        let rows = share.min(m - first);
        run(group, first, &mut c[..rows * n]);
    });
    kernel::for_rows(c, 1, |first, c| {
        for sums in sums.chunks_exact(stride) {
            c.iter_mut().zip(&sums[first..]).for_each(|(c, sum)| *c += sum);
        }
    });
    SUMS.set(sums);
}

thread_local! {
    /// What groups of terms but the first sum up to.
    static SUMS: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
    /// Buffers of the exact product.
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::default());
}

/// How many groups of terms are summed for themselves, each by one thread, before their sums are added up: a function of the size alone.
///
/// A gradient has far more terms, the samples, than rows. Threads that shared its rows would read all samples, half of which the other
/// had computed; those that share the samples have their own in the cache, and only sums go from one to another. The same holds for a
/// few errors that go back through a large matrix.
fn groups([m, k, n]: [usize; 3], b: Operand<'_>) -> usize {
    if matches!(b, Operand::Transposed(_)) || k < DEEP * m {
        return 1;
    }
    match m.saturating_mul(n).saturating_mul(k) / GROUP {
        0 => 1,
        1..4 => 2,
        _ => 4,
    }
}

/// Rows of C from number `first` on, which threads take `share` at a time.
struct Rows<'a> {
    first: usize,
    share: usize,
    n: usize,
    c: &'a mut [f32],
}

impl Divisible for Rows<'_> {
    fn split_at(self, parts: usize) -> (Self, Self) {
        let Self { first, share, n, c } = self;
        let rows = (parts * share).min(c.len() / n);
        let (c, others) = c.split_at_mut(rows * n);
        (Self { first, share, n, c }, Self { first: first + rows, share, n, c: others })
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

/// Rows of a panel: a function of the sizes alone.
fn height([m, k, n]: [usize; 3]) -> usize {
    let panels = (m.saturating_mul(n).saturating_mul(k) / GRAIN).clamp(1, PANELS);
    m.div_ceil(panels).next_multiple_of(TILE)
}

/// Rows that one thread computes at a time: a panel where there are as many for each thread.
fn share(m: usize, height: usize, threads: usize, fewest: usize) -> usize {
    if m.div_ceil(height).is_multiple_of(threads) {
        return height;
    }
    let mut share = m.div_ceil(threads).next_multiple_of(EDGE).max(fewest);
    // Kernels sum a single row in another way.
    while m > 1 && m % share == 1 {
        share += EDGE;
    }
    share
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
    // The exact product draws nothing, so any key will do. Threads share the samples or, where these are few, the rows of B: those that the
    // same threads train.
    let mut scratch = SCRATCH.take();
    Readout::default().read(b, Shape { rows: n, cols: k }, a, Key::new(0), c, &mut scratch);
    SCRATCH.set(scratch);
}
