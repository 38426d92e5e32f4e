//! One block of a product, with the same bits on every CPU.
//!
//! The kernels of gemm-f32 sum each output in the order of the terms, by fused multiply–adds, whatever the width of their vectors.
//! Two things of theirs depend on the CPU and are not left to them: where long sums are cut, which follows the sizes of caches
//! there ([`DEPTH`] here), and scalar products of two contiguous rows, which are summed in as many lanes as a vector has ([`dot`]
//! has [`LANES`] everywhere). A CPU without fused instructions computes the same sums one by one.

use gemm_common::Parallelism;
use gemm_common::gemm::gemm_basic_generic;
use gemm_common::simd::MixedSimd;
#[cfg(target_arch = "x86_64")]
use gemm_common::simd::{V3, V4};
#[cfg(target_arch = "x86_64")]
use gemm_f32::microkernel::{avx512f::f32 as wide, fma::f32 as narrow};
use residuum::simd::{Level, level, vectorized};

/// Most terms that are summed before they are added to the output.
const DEPTH: usize = 512;
/// The same for scalar products.
const DOT_DEPTH: usize = 1024;
/// Sums that a scalar product is made of.
const LANES: usize = 16;
/// Outputs up to which products of contiguous rows are scalar products.
const FEW: usize = 256;
/// Sizes of an output up to which sums are cut into pieces of [`DEPTH`], not into equal ones.
const SMALL: usize = 64;

/// How the terms of an output are summed: a function of the size of the panel that it belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Summation {
    /// As scalar products of two contiguous rows.
    Dots,
    /// So many terms at a time.
    Pieces(usize),
}

impl Summation {
    /// Of a panel of this size, whose operands may both have their terms side by side.
    pub(super) fn of([m, k, n]: [usize; 3], side_by_side: bool) -> Self {
        if k > 0 && side_by_side && (m * n <= FEW || (k > 2 && (m == 1 || n == 1))) {
            return Self::Dots;
        }
        // Products of at most two terms, and of one row or column, are not cut.
        let whole = k <= 2 || m == 1 || n == 1;
        Self::Pieces(match k.div_ceil(DEPTH).max(1) {
            _ if whole => k,
            _ if m <= SMALL && n <= SMALL => DEPTH,
            pieces => k.div_ceil(pieces),
        })
    }
}

/// `C ← keep · C + factor · A B`, with the element at row `i` and column `j` of an operand at `i · strides[0] + j · strides[1]`.
pub(super) struct Product<'a> {
    /// Rows of A, terms, columns of B.
    pub(super) size: [usize; 3],
    pub(super) summation: Summation,
    pub(super) a: &'a [f32],
    pub(super) a_strides: [usize; 2],
    pub(super) b: &'a [f32],
    pub(super) b_strides: [usize; 2],
    pub(super) keep: f32,
    pub(super) factor: f32,
}

impl Product<'_> {
    pub(super) fn run(&self, c: &mut [f32]) {
        let k = self.size[1];
        let depth = match self.summation {
            Summation::Pieces(depth) => depth,
            Summation::Dots => {
                return vectorized(
                    #[inline(always)]
                    || self.dots(c),
                );
            }
        };
        let mut from = 0;
        let mut keep = self.keep;
        loop {
            let until = k.min(from + depth);
            self.piece(c, from, until, keep);
            (from, keep) = (until, 1.0);
            if from == k {
                return;
            }
        }
    }

    /// The terms from one to another.
    fn piece(&self, c: &mut [f32], from: usize, until: usize, keep: f32) {
        #[cfg(target_arch = "x86_64")]
        match level() {
            Level::Avx512 if <V4 as MixedSimd<f32, f32, f32, f32>>::try_new().is_some() => {
                return self.wide(c, from, until, keep);
            }
            Level::Avx2 | Level::Avx512 if <V3 as MixedSimd<f32, f32, f32, f32>>::try_new().is_some() => {
                return self.narrow(c, from, until, keep);
            }
            _ => {}
        }
        self.one_by_one(c, from, until, keep);
    }
}

/// A piece by the kernels of one instruction set.
#[cfg(target_arch = "x86_64")]
macro_rules! by_kernels {
    ($name:ident, $simd:ident, $kernels:ident, $lanes:literal) => {
        fn $name(&self, c: &mut [f32], from: usize, until: usize, keep: f32) {
            let Some(simd) = <$simd as MixedSimd<f32, f32, f32, f32>>::try_new() else { return };
            let [m, _, n] = self.size;
            let (a, b) = (
                &self.a[(from * self.a_strides[1]).min(self.a.len())..],
                &self.b[(from * self.b_strides[0]).min(self.b.len())..],
            );
            let strides = [self.a_strides, self.b_strides].map(|pair| pair.map(usize::cast_signed));
            let [[a_row, a_col], [b_row, b_col]] = strides;
            // The kernels want columns of the output contiguous, so they are asked for Cᵀ = Bᵀ Aᵀ.
            // SAFETY: `c` holds m rows of n values, exclusively. The kernels read A at rows below m and columns from `from` to
            // below `until` ≤ k, and B at those rows and columns below n, all of which the callers of `gemm` were asserted to
            // give; none overlaps `c`, which is borrowed mutably. `simd` says that the CPU has the instructions.
            #[expect(unsafe_code, reason = "the kernels of gemm-f32 take pointers")]
            unsafe {
                gemm_basic_generic::<
                    _,
                    f32,
                    $lanes,
                    { $kernels::MR_DIV_N * $lanes },
                    { $kernels::NR },
                    { $kernels::MR_DIV_N },
                    0,
                    0,
                >(
                    simd,
                    n,
                    m,
                    until - from,
                    c.as_mut_ptr(),
                    n.cast_signed(),
                    1,
                    keep != 0.0,
                    b.as_ptr(),
                    b_row,
                    b_col,
                    a.as_ptr(),
                    a_row,
                    a_col,
                    keep,
                    self.factor,
                    false,
                    false,
                    false,
                    |x, y, z| x * y + z,
                    &$kernels::UKR,
                    &[],
                    false,
                    Parallelism::None,
                );
            }
        }
    };
}

impl Product<'_> {
    #[cfg(target_arch = "x86_64")]
    by_kernels!(wide, V4, wide, 16);
    #[cfg(target_arch = "x86_64")]
    by_kernels!(narrow, V3, narrow, 8);

    /// A piece without vectors: what the kernels compute, in their order.
    fn one_by_one(&self, c: &mut [f32], from: usize, until: usize, keep: f32) {
        let [m, _, n] = self.size;
        let a = |i: usize, l: usize| self.a[i * self.a_strides[0] + l * self.a_strides[1]];
        let b = |l: usize, j: usize| self.b[l * self.b_strides[0] + j * self.b_strides[1]];
        for (i, row) in c.chunks_exact_mut(n).enumerate() {
            for (j, c) in row.iter_mut().enumerate() {
                // Terms in the order of the kernels: Bᵀ first.
                let terms = (from..until).map(|l| (b(l, j), a(i, l)));
                *c = match until - from {
                    0 => scaled(keep, *c),
                    1 | 2 => {
                        let mut terms = terms.map(|(b, a)| b * (self.factor * a));
                        let first = terms.next().unwrap_or_default();
                        let first = if keep == 0.0 { first } else { first + scaled(keep, *c) };
                        terms.fold(first, |sum, term| term + sum)
                    }
                    _ if m == 1 || n == 1 => {
                        let mut terms = terms.map(|(b, a)| if m == 1 { (b, a) } else { (a, b) });
                        let (x, y) = terms.next().unwrap_or_default();
                        let first = x * (self.factor * y);
                        let first = match keep {
                            0.0 => first,
                            1.0 => x.mul_add(self.factor * y, *c),
                            keep => first + keep * *c,
                        };
                        terms.fold(first, |sum, (x, y)| x.mul_add(self.factor * y, sum))
                    }
                    _ => added(keep, self.factor, terms.fold(0.0, |sum: f32, (b, a)| b.mul_add(a, sum)), *c),
                };
            }
        }
    }

    /// Every output as a scalar product of two rows.
    #[inline(always)]
    fn dots(&self, c: &mut [f32]) {
        let [_, k, n] = self.size;
        for (i, row) in c.chunks_exact_mut(n).enumerate() {
            for (j, c) in row.iter_mut().enumerate() {
                let (a, b) = (&self.a[i * self.a_strides[0]..][..k], &self.b[j * self.b_strides[1]..][..k]);
                let mut keep = self.keep;
                for (a, b) in a.chunks(DOT_DEPTH).zip(b.chunks(DOT_DEPTH)) {
                    *c = added(keep, self.factor, dot(b, a), *c);
                    keep = 1.0;
                }
            }
        }
    }
}

/// Σ xᵢ yᵢ in [`LANES`] sums, then those by halves.
#[inline(always)]
fn dot(x: &[f32], y: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in x.iter().zip(y) {
        for lane in 0..LANES {
            sums[lane] = x[lane].mul_add(y[lane], sums[lane]);
        }
    }
    for ((sum, x), y) in sums.iter_mut().zip(x_rest).zip(y_rest) {
        *sum = x.mul_add(*y, *sum);
    }
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
    }
    sums[0]
}

/// `keep · c`, where 0 forgets even what is not a number.
#[inline(always)]
fn scaled(keep: f32, c: f32) -> f32 {
    match keep {
        0.0 => 0.0,
        1.0 => c,
        keep => keep * c,
    }
}

/// `keep · c + factor · sum`, rounded as the kernels do.
#[inline(always)]
fn added(keep: f32, factor: f32, sum: f32, c: f32) -> f32 {
    match keep {
        0.0 => factor * sum,
        1.0 => factor.mul_add(sum, c),
        keep => keep * c + factor * sum,
    }
}
