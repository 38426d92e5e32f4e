//! The exact products `W x` and `Wᵀ δ` of a batch in single precision: the only place where weights meet inputs.
//!
//! Every sum runs in an order fixed by its length alone: [`LANES`] interleaved partial sums for `W x`, plain order for
//! `Wᵀ δ`, always with fused multiply–adds. Tiles keep partial sums in registers and only decide which sums run side
//! by side, so a result has the same bits on every machine, in any batch, on any number of threads.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::Shape;
use crate::threads;

/// Interleaved partial sums of a forward product, whatever the vector width of the machine.
pub const LANES: usize = 16;
/// As many for a single sample, which has no other sums to hide the latency of its own.
const WIDE_PANEL: usize = 8;
/// Samples that repay the copy of a panel.
pub const REPAYS: usize = 32;
/// Rows shorter than this are read by vectors of rows, if there are enough samples to repay a transposed copy of them.
const SHORT: usize = 64;
const REPAYS_SHORT: usize = 8;
/// Rows of weights that a transposed product visits before it moves on to the next columns: as many streams as a
/// processor follows ahead of time.
const STREAMS: usize = 64;
/// Samples that a forward product follows without a copy of them side by side.
const FEW_STREAMS: usize = 2;
/// Samples of a thread that repay its passing over all weights.
pub(super) const REPAYS_WEIGHTS: usize = 16;

/// Floats of inputs that a forward product keeps in the first cache, and of weights in the second.
const FIRST_CACHE: usize = 8 << 10;
const SECOND_CACHE: usize = 128 << 10;

/// The direction in which the array is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadDirection {
    /// Inputs on the columns: `W x`.
    Forward,
    /// Inputs on the rows: `Wᵀ δ`.
    Transposed,
}

impl ReadDirection {
    /// Numbers of inputs and outputs.
    pub fn widths(self, shape: Shape) -> (usize, usize) {
        match self {
            Self::Forward => (shape.cols, shape.rows),
            Self::Transposed => (shape.rows, shape.cols),
        }
    }
}

/// Buffers to reuse, and how many threads share a product.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// At most 1: the caller alone.
    pub threads: usize,
    panel: Vec<f32>,
    /// Outputs and panel of each thread.
    shares: Vec<[Vec<f32>; 2]>,
}

/// `outputs[s] = W inputs[s]` or `Wᵀ inputs[s]` for every sample `s`; both are batch-major. Threads share the outputs, so that each
/// keeps its own block of the weights in cache.
pub fn product(
    weights: &[f32],
    shape: Shape,
    to: ReadDirection,
    inputs: &[f32],
    outputs: &mut [f32],
    workspace: &mut Workspace,
) {
    if inputs.is_empty() || outputs.is_empty() {
        outputs.fill(0.0); // A sum without terms.
        return;
    }
    let (n_in, n_out) = to.widths(shape);
    let Workspace { threads: sharing, panel, shares } = workspace;
    let batch = inputs.len() / n_in;
    if *sharing <= 1 || threads::worth(batch * weights.len()) == 1 {
        return block(weights, shape, to, 0, inputs, outputs, panel);
    }
    let share = n_out.div_ceil(*sharing).next_multiple_of(WIDE_PANEL * LANES);
    let chunks = n_out.div_ceil(share);
    shares.resize_with(shares.len().max(chunks), Default::default);
    let width = |k: usize| share.min(n_out - k * share);
    let own = |(k, [own, panel]): (usize, &mut [Vec<f32>; 2])| {
        own.resize(batch * width(k), 0.0);
        block(weights, shape, to, k * share, inputs, own, panel);
    };
    threads::each(*sharing, shares[..chunks].par_iter_mut().enumerate(), own);
    for (k, [own, _]) in shares[..chunks].iter().enumerate() {
        for (all, own) in outputs.chunks_exact_mut(n_out).zip(own.chunks_exact(width(k))) {
            all[k * share..][..own.len()].copy_from_slice(own);
        }
    }
}

/// The outputs of all samples from number `first` on, as many as fit.
fn block(
    weights: &[f32],
    shape: Shape,
    to: ReadDirection,
    first: usize,
    inputs: &[f32],
    outputs: &mut [f32],
    panel: &mut Vec<f32>,
) {
    let Shape { rows, cols } = shape;
    match to {
        ReadDirection::Forward => {
            let weights = &weights[first * cols..];
            Arch::new().dispatch(Forward { weights, cols, inputs, outputs, panel });
        }
        ReadDirection::Transposed => {
            Arch::new().dispatch(Transposed { weights, rows, stride: cols, first, inputs, outputs, panel });
        }
    }
}

/// The kernel of `W x`.
pub struct Forward<'a> {
    /// Row by row.
    pub weights: &'a [f32],
    /// Inputs of a sample.
    pub cols: usize,
    /// Sample by sample.
    pub inputs: &'a [f32],
    /// Sample by sample.
    pub outputs: &'a mut [f32],
    /// A buffer to reuse.
    pub panel: &'a mut Vec<f32>,
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if self.cols < SHORT && self.inputs.len() >= REPAYS_SHORT * self.cols {
            return self.short(simd);
        }
        // LANES take so many vectors; the tile is as large as the registers hold.
        match LANES / lanes::<S>() {
            1 => self.run::<S, 1, 5, 4>(simd),
            // One sample has as many sums as hide the latency of a multiply–add only with one more row.
            2 if self.inputs.len() == self.cols => self.run::<S, 2, 1, 4>(simd),
            2 => self.run::<S, 2, 2, 3>(simd),
            4 => self.run::<S, 4, 1, 4>(simd),
            _ => self.run::<S, LANES, 1, 1>(simd),
        }
    }
}

impl Forward<'_> {
    /// The same sums with one row in each lane: rows of 25 weights, as those of a convolution, leave most of a vector along
    /// them empty.
    #[inline(always)]
    fn short<S: Simd>(self, simd: S) {
        let Self { weights, cols, inputs, outputs, panel } = self;
        let rows = outputs.len() / (inputs.len() / cols);
        let (lanes, whole) = (lanes::<S>(), cols - cols % LANES);
        let panel = aligned(panel, rows.next_multiple_of(lanes) * cols);
        panel.fill(0.0);
        for (i, row) in weights.chunks_exact(cols).take(rows).enumerate() {
            let of_lane = panel[i / lanes * lanes * cols + i % lanes..].iter_mut().step_by(lanes);
            of_lane.zip(row).for_each(|(to, w)| *to = *w);
        }
        for (x, outputs) in inputs.chunks_exact(cols).zip(outputs.chunks_exact_mut(rows)) {
            for (panel, outputs) in panel.chunks_exact(cols * lanes).zip(outputs.chunks_mut(lanes)) {
                let w = S::as_simd_f32s(panel).0;
                let zero = simd.splat_f32s(0.0);
                let mut sums = [zero; LANES];
                for (x, w) in x[..whole].chunks_exact(LANES).zip(w[..whole].chunks_exact(LANES)) {
                    for l in 0..LANES {
                        sums[l] = simd.mul_add_f32s(simd.splat_f32s(x[l]), w[l], sums[l]);
                    }
                }
                // Each half by itself: a loop over the halves keeps all sums in memory, which took as long as the products.
                let mut sum = half(
                    simd,
                    half(simd, half(simd, half(simd, sums, [zero; 8]), [zero; 4]), [zero; 2]),
                    [zero],
                )[0];
                for (x, w) in x[whole..].iter().zip(&w[whole..]) {
                    sum = simd.mul_add_f32s(simd.splat_f32s(*x), *w, sum);
                }
                simd.partial_store_f32s(outputs, sum);
            }
        }
    }

    /// Tiles of `R` samples × `C` rows, `P` vectors for each sum. Blocks of rows stay in the second cache while the
    /// samples pass, blocks of samples in the first one while the rows of a block do.
    #[inline(always)]
    fn run<S: Simd, const P: usize, const R: usize, const C: usize>(mut self, simd: S) {
        let Self { cols, inputs, .. } = self;
        let batch = inputs.len() / cols;
        let rows = self.outputs.len() / batch;
        let fits = |floats: usize, tile: usize| (floats / cols / tile).max(1) * tile;
        let (samples, few) = (fits(FIRST_CACHE, R), fits(SECOND_CACHE, C));
        // The samples of a tile side by side, LANES of each in turn: one stream instead of R, where R are too many to follow.
        let steps = if R > FEW_STREAMS { cols / LANES } else { 0 };
        let mut memory = std::mem::take(self.panel);
        let interleaved = aligned(&mut memory, batch * steps * LANES);
        for (tile, interleaved) in
            inputs.chunks(R * cols).zip(interleaved.chunks_mut((R * steps * LANES).max(1))).take(batch * steps)
        {
            let together = tile.len() / cols;
            for (r, x) in tile.chunks_exact(cols).enumerate() {
                let targets = interleaved.chunks_exact_mut(LANES).skip(r).step_by(together);
                for (to, from) in targets.zip(x.as_chunks::<LANES>().0) {
                    to.copy_from_slice(from);
                }
            }
        }
        for from in (0..rows).step_by(few) {
            for s in (0..batch).step_by(samples) {
                let (end, last) = ((from + few).min(rows), (s + samples).min(batch));
                let whole = end - (end - from) % C;
                let interleaved = (R > FEW_STREAMS).then_some(&*interleaved);
                for i in (from..whole).step_by(C) {
                    self.rows::<S, P, R, C>(simd, interleaved, i, rows, s..last);
                }
                let pairs = end - (end - whole) % 2;
                for i in (whole..pairs).step_by(2) {
                    self.rows::<S, P, R, 2>(simd, interleaved, i, rows, s..last);
                }
                for i in pairs..end {
                    self.rows::<S, P, R, 1>(simd, interleaved, i, rows, s..last);
                }
            }
        }
        *self.panel = memory;
    }

    /// Some samples with the `C` rows from `i` on.
    #[inline(always)]
    fn rows<S: Simd, const P: usize, const R: usize, const C: usize>(
        &mut self,
        simd: S,
        interleaved: Option<&[f32]>,
        i: usize,
        rows: usize,
        samples: Range<usize>,
    ) {
        let whole = samples.end - samples.len() % R;
        for s in (samples.start..whole).step_by(R) {
            self.tile::<S, P, R, C>(simd, interleaved, i, rows, s);
        }
        match samples.end - whole {
            4 => self.tile::<S, P, 4, C>(simd, interleaved, i, rows, whole),
            3 => self.tile::<S, P, 3, C>(simd, interleaved, i, rows, whole),
            2 => self.tile::<S, P, 2, C>(simd, interleaved, i, rows, whole),
            1 => self.tile::<S, P, 1, C>(simd, interleaved, i, rows, whole),
            _ => {}
        }
    }

    #[inline(always)]
    fn tile<S: Simd, const P: usize, const R: usize, const C: usize>(
        &mut self,
        simd: S,
        interleaved: Option<&[f32]>,
        i: usize,
        rows: usize,
        s: usize,
    ) {
        let Self { weights, cols, inputs, .. } = *self;
        let whole = cols - cols % LANES;
        // Loops, not `from_fn` and `map`: those become calls.
        let (mut x, mut w) = ([&inputs[..0]; R], [&weights[..0]; C]);
        for c in 0..C {
            w[c] = &weights[(i + c) * cols..][..cols];
        }
        let mut sums = match interleaved {
            Some(interleaved) => {
                let side_by_side = &interleaved[s * whole..][..R * whole];
                for r in 0..R {
                    x[r] = &side_by_side[(r * LANES).min(R * whole)..];
                }
                dots::<S, P, R, C, true>(simd, x, w, whole)
            }
            None => {
                for r in 0..R {
                    x[r] = &inputs[(s + r) * cols..][..whole];
                }
                dots::<S, P, R, C, false>(simd, x, w, whole)
            }
        };
        for r in 0..R {
            if whole < cols {
                let rest = &inputs[(s + r) * cols..][whole..cols];
                for c in 0..C {
                    let terms = rest.iter().zip(&w[c][whole..]);
                    sums[r][c] = terms.fold(sums[r][c], |t, (a, b)| a.mul_add(*b, t));
                }
            }
            self.outputs[(s + r) * rows + i..][..C].copy_from_slice(&sums[r]);
        }
    }
}

/// All scalar products of `R` samples with `C` rows, the first `whole` terms, a multiple of [`LANES`]. The samples lie side by side,
/// LANES of each in turn, or each by itself. Plain loops over fixed arrays: closures over the partial sums would push them out of the
/// registers.
#[inline(always)]
fn dots<S: Simd, const P: usize, const R: usize, const C: usize, const SIDE_BY_SIDE: bool>(
    simd: S,
    x: [&[f32]; R],
    w: [&[f32]; C],
    whole: usize,
) -> [[f32; C]; R] {
    let none: &[S::f32s] = &[];
    let (mut a, mut b) = ([none; R], [none; C]);
    let (steps, stride) = (whole / LANES, if SIDE_BY_SIDE { R * P } else { P });
    let vectors = steps * P;
    for c in 0..C {
        b[c] = &S::as_simd_f32s(w[c]).0[..vectors];
    }
    for r in 0..R {
        // As far as the last vector of this sample: then no bound is checked below.
        a[r] = &S::as_simd_f32s(x[r]).0[..(steps * stride).saturating_sub(stride - P)];
    }
    let mut partial = [[[simd.splat_f32s(0.0); P]; C]; R];
    for k in 0..steps {
        for p in 0..P {
            for c in 0..C {
                let b = b[c][k * P + p];
                for r in 0..R {
                    partial[r][c][p] = simd.mul_add_f32s(a[r][k * stride + p], b, partial[r][c][p]);
                }
            }
        }
    }
    let mut sums = [[0.0; C]; R];
    for r in 0..R {
        for c in 0..C {
            sums[r][c] = total(simd, partial[r][c]);
        }
    }
    sums
}

/// The upper half of some sums added to the lower half.
#[inline(always)]
fn half<S: Simd, const N: usize, const HALF: usize>(
    simd: S,
    sums: [S::f32s; N],
    mut out: [S::f32s; HALF],
) -> [S::f32s; HALF] {
    for l in 0..HALF {
        out[l] = simd.add_f32s(sums[l], sums[l + HALF]);
    }
    out
}

/// The sum of all [`LANES`] partial sums: the upper half is added to the lower half until one is left.
#[inline(always)]
fn total<S: Simd, const P: usize>(simd: S, mut partial: [S::f32s; P]) -> f32 {
    let mut half = P / 2;
    while half > 0 {
        for p in 0..half {
            partial[p] = simd.add_f32s(partial[p], partial[p + half]);
        }
        half /= 2;
    }
    simd.reduce_sum_f32s(partial[0])
}

/// The kernel of `Wᵀ δ`, for some of the columns.
pub struct Transposed<'a> {
    /// Row by row.
    pub weights: &'a [f32],
    /// Inputs of a sample.
    pub rows: usize,
    /// Weights from one row to the next.
    pub stride: usize,
    /// The first column.
    pub first: usize,
    /// Sample by sample.
    pub inputs: &'a [f32],
    /// Sample by sample.
    pub outputs: &'a mut [f32],
    /// A buffer to reuse.
    pub panel: &'a mut Vec<f32>,
}

impl WithSimd for Transposed<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // As many samples and vectors as 16 or 32 registers hold.
        if lanes::<S>() < LANES { self.run::<S, 6, 2>(simd) } else { self.run::<S, 5, 4>(simd) }
    }
}

impl Transposed<'_> {
    /// Tiles of `R` samples × `V` vectors.
    #[inline(always)]
    fn run<S: Simd, const R: usize, const V: usize>(self, simd: S) {
        let Self { weights, rows, stride, first, inputs, outputs, panel } = self;
        let width = outputs.len() / (inputs.len() / rows);
        if inputs.len() / rows >= REPAYS {
            let mut sums = Sums { inputs, rows, outputs, width, begun: false };
            let vectors = V * lanes::<S>();
            let whole = width - width % vectors;
            for j in (0..whole).step_by(vectors) {
                // Rows a power of two apart fall into the same few cache lines: a copy side by side stays in cache.
                let panel = aligned(panel, rows * vectors);
                for (to, row) in panel.chunks_exact_mut(vectors).zip(weights.chunks_exact(stride)) {
                    to.copy_from_slice(&row[first + j..][..vectors]);
                }
                sums.add::<S, R, V>(simd, panel, vectors, 0, j);
            }
            sums.add_narrow::<S, R>(simd, weights, stride, first, whole);
            return;
        }
        let mut sums = Sums { inputs, rows, outputs, width, begun: false };
        // A few rows at a time, all their columns: processors prefetch along a row, not the next row.
        for k in 0..rows.div_ceil(STREAMS) {
            let few = &weights[k * STREAMS * stride..];
            let few = &few[..few.len().min(STREAMS * stride)];
            let mut j = 0;
            if inputs.len() == rows {
                while j + WIDE_PANEL * lanes::<S>() <= width {
                    sums.add::<S, R, WIDE_PANEL>(simd, few, stride, first + j, j);
                    j += WIDE_PANEL * lanes::<S>();
                }
            }
            while j + V * lanes::<S>() <= width {
                sums.add::<S, R, V>(simd, few, stride, first + j, j);
                j += V * lanes::<S>();
            }
            sums.add_narrow::<S, R>(simd, few, stride, first, j);
            // The next rows meet the next inputs.
            sums.inputs = &sums.inputs[few.len() / stride..];
            sums.begun = true;
        }
    }
}

/// The sums of a transposed product as they grow. The inputs of sample `s` start at `s · rows`.
struct Sums<'a> {
    inputs: &'a [f32],
    rows: usize,
    outputs: &'a mut [f32],
    width: usize,
    /// Whether outputs hold the sums of rows before these.
    begun: bool,
}

impl Sums<'_> {
    /// Adds the contribution of rows of weights to `V` vectors of outputs from `to` on; their weights start at `from`.
    #[inline(always)]
    fn add<S: Simd, const R: usize, const V: usize>(
        &mut self,
        simd: S,
        weights: &[f32],
        stride: usize,
        from: usize,
        to: usize,
    ) {
        let batch = self.outputs.len() / self.width;
        let whole = batch - batch % R;
        for s in (0..whole).step_by(R) {
            self.tile::<S, R, V>(simd, weights, stride, from, s, to);
        }
        match batch - whole {
            5 => self.tile::<S, 5, V>(simd, weights, stride, from, whole, to),
            4 => self.tile::<S, 4, V>(simd, weights, stride, from, whole, to),
            3 => self.tile::<S, 3, V>(simd, weights, stride, from, whole, to),
            2 => self.tile::<S, 2, V>(simd, weights, stride, from, whole, to),
            1 => self.tile::<S, 1, V>(simd, weights, stride, from, whole, to),
            _ => {}
        }
    }

    /// The same for all columns from `j` on, too few for a panel.
    #[inline(always)]
    fn add_narrow<S: Simd, const R: usize>(
        &mut self,
        simd: S,
        weights: &[f32],
        stride: usize,
        first: usize,
        j: usize,
    ) {
        let mut j = j;
        while j + lanes::<S>() <= self.width {
            self.add::<S, R, 1>(simd, weights, stride, first + j, j);
            j += lanes::<S>();
        }
        for j in j..self.width {
            for (s, out) in self.outputs[j..].iter_mut().step_by(self.width).enumerate() {
                let column = weights[first + j..].iter().step_by(stride);
                let terms = self.inputs[s * self.rows..].iter().zip(column);
                let begun = if self.begun { *out } else { 0.0 };
                *out = terms.fold(begun, |t, (a, b)| a.mul_add(*b, t));
            }
        }
    }

    #[inline(always)]
    fn tile<S: Simd, const R: usize, const V: usize>(
        &mut self,
        simd: S,
        weights: &[f32],
        stride: usize,
        from: usize,
        s: usize,
        to: usize,
    ) {
        let few = weights.len() / stride;
        // A loop, not `from_fn`: that becomes a call.
        let mut d: [&[f32]; R] = [&[]; R];
        for (r, d) in d.iter_mut().enumerate() {
            *d = &self.inputs[(s + r) * self.rows..][..few];
        }
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        let offset = |r: usize| (s + r) * self.width + to;
        if self.begun {
            for r in 0..R {
                let out = &self.outputs[offset(r)..][..V * lanes::<S>()];
                sums[r].copy_from_slice(S::as_simd_f32s(out).0);
            }
        }
        for (i, row) in weights.chunks_exact(stride).enumerate() {
            let mut b = [simd.splat_f32s(0.0); V];
            b.copy_from_slice(S::as_simd_f32s(&row[from..][..V * lanes::<S>()]).0);
            for r in 0..R {
                let a = simd.splat_f32s(d[r][i]);
                for v in 0..V {
                    sums[r][v] = simd.mul_add_f32s(a, b[v], sums[r][v]);
                }
            }
        }
        for r in 0..R {
            let out = &mut self.outputs[offset(r)..][..V * lanes::<S>()];
            S::as_mut_simd_f32s(out).0.copy_from_slice(&sums[r]);
        }
    }
}

/// A buffer of this many floats, aligned to a cache line so that no vector straddles two.
#[inline(always)]
fn aligned(memory: &mut Vec<f32>, n: usize) -> &mut [f32] {
    const LINE: usize = 64;
    memory.resize(memory.len().max(n + LINE / size_of::<f32>()), 0.0);
    let start = memory.as_ptr().align_offset(LINE).min(LINE / size_of::<f32>());
    &mut memory[start..][..n]
}

/// Lanes of a vector of this instruction set.
#[inline(always)]
const fn lanes<S: Simd>() -> usize {
    size_of::<S::f32s>() / size_of::<f32>()
}
