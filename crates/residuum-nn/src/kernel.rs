//! Loops over activations: vectors of the machine inside, threads outside, and one result for any number of either.

use std::ops::Range;

use rayon::prelude::*;
use residuum::threads;

/// Values of one chunk: at most what a thread processes at a time.
const CHUNK: usize = 1 << 14;
/// What a value costs on its way through a loop, and in a sum over rows, in multiply–adds.
const VALUE: usize = 16;
const TERM: usize = 8;

/// Runs a loop compiled for the vectors of this machine. The closure and everything it calls must be `#[inline(always)]`. No
/// fused operations arise unless asked for, so the bits do not depend on the machine.
pub use residuum::simd::vectorized;

/// Applies `run(first index, chunk)` to chunks of `out` that are whole rows of `row` values, in parallel when there are
/// many. The result must not depend on where chunks begin.
pub fn for_rows(out: &mut [f32], row: usize, run: impl Fn(usize, &mut [f32]) + Sync) {
    let threads = threads::worth(VALUE * out.len());
    // Chunks of a thread are a power of two: they end where its samples end, which it computed in the layer before.
    let chunks = if threads == 1 { 1 } else { out.len().div_ceil(threads * CHUNK).next_power_of_two() };
    let rows = (out.len() / row.max(1)).div_ceil(threads).div_ceil(chunks).max(1);
    threads::each(threads, out.par_chunks_mut((rows * row).max(1)).enumerate(), |(i, chunk)| {
        run(i * rows, chunk);
    });
}

/// Like [`for_rows`], but a chunk is one row, however short, and all of them cost so many multiply–adds.
pub fn for_blocks(out: &mut [f32], row: usize, multiply_adds: usize, run: impl Fn(usize, &mut [f32]) + Sync) {
    match threads::worth(multiply_adds) {
        // All at once: a call for each row has its price.
        1 => run(0, out),
        threads => threads::each(threads, out.par_chunks_mut(row.max(1)).enumerate(), |(i, row)| run(i, row)),
    }
}

/// `out[i] = f(a[i], b[i])`.
pub fn zip(out: &mut [f32], a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32 + Sync + Copy) {
    assert!(out.len() == a.len() && out.len() == b.len(), "{} = {} = {} values", out.len(), a.len(), b.len());
    for_rows(out, 1, |first, out| {
        let (a, b) = (&a[first..][..out.len()], &b[first..][..out.len()]);
        vectorized(
            #[inline(always)]
            || {
                for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                    *out = f(a, b);
                }
            },
        );
    });
}

/// `out[i] = f(a[i])`.
pub fn map(out: &mut [f32], a: &[f32], f: impl Fn(f32) -> f32 + Sync + Copy) {
    assert_eq!(out.len(), a.len(), "one output for one input");
    for_rows(out, 1, |first, out| {
        let a = &a[first..][..out.len()];
        vectorized(
            #[inline(always)]
            || {
                for (out, &a) in out.iter_mut().zip(a) {
                    *out = f(a);
                }
            },
        );
    });
}

/// `out[i] += a[i]`.
pub fn add(out: &mut [f32], a: &[f32]) {
    assert_eq!(out.len(), a.len(), "one term for each sum");
    for_rows(out, 1, |first, out| {
        let terms = &a[first..][..out.len()];
        out.iter_mut().zip(terms).for_each(|(out, term)| *out += term);
    });
}

/// Sums over `rows` rows of `cols` values: `add(range, sums)` adds the terms of a range of rows to `sums`.
///
/// Sums of fixed blocks of rows are added in order, so that threads change nothing and long sums stay accurate.
pub fn sum_rows(rows: usize, cols: usize, total: &mut [f32], add: impl Fn(Range<usize>, &mut [f32]) + Sync) {
    let height = (CHUNK / cols.max(1)).clamp(1, 256);
    let width = total.len();
    let block = |index: usize| {
        let mut sums = vec![0.0; width];
        add(index * height..rows.min((index + 1) * height), &mut sums);
        sums
    };
    total.fill(0.0);
    let mut add_block = |sums: Vec<f32>| {
        for (total, sum) in total.iter_mut().zip(sums) {
            *total += sum;
        }
    };
    let blocks = rows.div_ceil(height);
    let threads = threads::worth(TERM * rows * cols);
    if threads == 1 {
        (0..blocks).for_each(|index| add_block(block(index)));
    } else {
        let mut sums = vec![Vec::new(); blocks];
        threads::each(threads, sums.par_iter_mut().enumerate(), |(index, sums)| *sums = block(index));
        sums.into_iter().for_each(add_block);
    }
}

/// `sums[j] = Σ_i values[i][j]` over the rows of a matrix with `sums.len()` columns.
pub fn column_sums(values: &[f32], sums: &mut [f32]) {
    let cols = sums.len();
    sum_rows(values.len() / cols, cols, sums, |range, sums| {
        let rows = &values[range.start * cols..range.end * cols];
        vectorized(
            #[inline(always)]
            || {
                for row in rows.chunks_exact(cols) {
                    for (sum, value) in sums.iter_mut().zip(row) {
                        *sum += value;
                    }
                }
            },
        );
    });
}

/// `sums[j] = Σ_i a[i][j] b[i][j]` over the rows of two matrices with `sums.len()` columns.
pub fn column_dots(a: &[f32], b: &[f32], sums: &mut [f32]) {
    let cols = sums.len();
    assert_eq!(a.len(), b.len(), "two matrices of one size");
    sum_rows(a.len() / cols, cols, sums, |range, sums| {
        let [a, b] = [a, b].map(|values| &values[range.start * cols..range.end * cols]);
        vectorized(
            #[inline(always)]
            || {
                for (a, b) in a.chunks_exact(cols).zip(b.chunks_exact(cols)) {
                    for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
                        *sum += a * b;
                    }
                }
            },
        );
    });
}

/// Adds the same row to every row of a matrix.
pub fn add_row(values: &mut [f32], row: &[f32]) {
    for_rows(values, row.len(), |_, rows| {
        vectorized(
            #[inline(always)]
            || {
                for values in rows.chunks_exact_mut(row.len()) {
                    for (value, term) in values.iter_mut().zip(row) {
                        *value += term;
                    }
                }
            },
        );
    });
}
