//! The exact products `W x` and `Wᵀ δ` of a batch in single precision: the one place where weights meet inputs.
//!
//! Every sum runs in an order fixed by its length alone: [`LANES`] interleaved partial sums for `W x`, plain order for
//! `Wᵀ δ`, always with fused multiply–adds. Tiles keep partial sums in registers and only decide which sums run side
//! by side, so a result has the same bits on every machine, in any batch.

use pulp::{Arch, Simd, WithSimd};

use super::Shape;

/// Interleaved partial sums of a forward product, whatever the vector width of the machine.
const LANES: usize = 16;
/// Neighbouring vectors of outputs that a transposed tile computes together.
const PANEL: usize = 4;
/// Samples that repay the copy of a panel.
const REPAYS: usize = 32;
/// Samples of a transposed tile.
const SAMPLES: usize = 5;

/// Which way the array is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Inputs on the columns: `W x`.
    Forward,
    /// Inputs on the rows: `Wᵀ δ`.
    Transposed,
}

impl Direction {
    /// Numbers of inputs and outputs.
    pub fn widths(self, shape: Shape) -> (usize, usize) {
        match self {
            Self::Forward => (shape.cols, shape.rows),
            Self::Transposed => (shape.rows, shape.cols),
        }
    }
}

/// `outputs[s] = W inputs[s]` or `Wᵀ inputs[s]` for every sample `s`; both are batch-major. `panel` is memory to reuse.
pub(super) fn product(
    weights: &[f32],
    shape: Shape,
    to: Direction,
    inputs: &[f32],
    outputs: &mut [f32],
    panel: &mut Vec<f32>,
) {
    if inputs.is_empty() || outputs.is_empty() {
        outputs.fill(0.0); // A sum without terms.
        return;
    }
    match to {
        Direction::Forward => Arch::new().dispatch(Forward { weights, shape, inputs, outputs }),
        Direction::Transposed => Arch::new().dispatch(Transposed { weights, shape, inputs, outputs, panel }),
    }
}

struct Forward<'a> {
    weights: &'a [f32],
    shape: Shape,
    inputs: &'a [f32],
    outputs: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // LANES take so many vectors; the tile is as large as the registers hold.
        match LANES / lanes::<S>() {
            1 => self.run::<S, 1, 4, 4>(simd),
            2 => self.run::<S, 2, 2, 3>(simd),
            4 => self.run::<S, 4, 1, 4>(simd),
            _ => self.run::<S, LANES, 1, 1>(simd),
        }
    }
}

impl Forward<'_> {
    /// Tiles of `R` samples × `C` rows, `P` vectors for each sum.
    #[inline(always)]
    fn run<S: Simd, const P: usize, const R: usize, const C: usize>(self, simd: S) {
        let Shape { rows, cols } = self.shape;
        let batch = self.inputs.len() / cols;
        let sample = |s: usize| &self.inputs[s * cols..][..cols];
        let row = |i: usize| &self.weights[i * cols..][..cols];
        let mut i = 0;
        while i + C <= rows {
            let w: [&[f32]; C] = std::array::from_fn(|c| row(i + c));
            let mut s = 0;
            while s + R <= batch {
                let sums = dots::<S, P, R, C>(simd, std::array::from_fn(|r| sample(s + r)), w);
                for r in 0..R {
                    self.outputs[(s + r) * rows + i..][..C].copy_from_slice(&sums[r]);
                }
                s += R;
            }
            while s < batch {
                let [sums] = dots::<S, P, 1, C>(simd, [sample(s)], w);
                self.outputs[s * rows + i..][..C].copy_from_slice(&sums);
                s += 1;
            }
            i += C;
        }
        for i in i..rows {
            for s in 0..batch {
                let [[sum]] = dots::<S, P, 1, 1>(simd, [sample(s)], [row(i)]);
                self.outputs[s * rows + i] = sum;
            }
        }
    }
}

/// All scalar products of `R` samples with `C` rows. Plain loops over fixed arrays: closures over the partial sums
/// would push them out of the registers.
#[inline(always)]
fn dots<S: Simd, const P: usize, const R: usize, const C: usize>(
    simd: S,
    x: [&[f32]; R],
    w: [&[f32]; C],
) -> [[f32; C]; R] {
    let steps = x[0].len() / LANES;
    let xs = x.map(|v| &S::as_simd_f32s(v).0[..steps * P]);
    let ws = w.map(|v| &S::as_simd_f32s(v).0[..steps * P]);
    let mut partial = [[[simd.splat_f32s(0.0); P]; C]; R];
    for k in 0..steps {
        for p in 0..P {
            let mut b = [simd.splat_f32s(0.0); C];
            for c in 0..C {
                b[c] = ws[c][k * P + p];
            }
            for r in 0..R {
                let a = xs[r][k * P + p];
                for c in 0..C {
                    partial[r][c][p] = simd.mul_add_f32s(a, b[c], partial[r][c][p]);
                }
            }
        }
    }
    let rest = steps * LANES;
    let mut sums = [[0.0; C]; R];
    for r in 0..R {
        for c in 0..C {
            let mut v = [0.0f32; LANES];
            S::as_mut_simd_f32s(&mut v).0.copy_from_slice(&partial[r][c]);
            let q: [f32; 4] = std::array::from_fn(|l| (v[l] + v[l + 4]) + (v[l + 8] + v[l + 12]));
            let sum = (q[0] + q[2]) + (q[1] + q[3]);
            sums[r][c] = x[r][rest..].iter().zip(&w[c][rest..]).fold(sum, |t, (a, b)| a.mul_add(*b, t));
        }
    }
    sums
}

struct Transposed<'a> {
    weights: &'a [f32],
    shape: Shape,
    inputs: &'a [f32],
    outputs: &'a mut [f32],
    panel: &'a mut Vec<f32>,
}

impl WithSimd for Transposed<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { weights, shape: Shape { rows, cols }, inputs, outputs, panel } = self;
        let batch = inputs.len() / rows;
        let width = PANEL * lanes::<S>();
        let mut j = 0;
        while j + width <= cols {
            let mut columns = Columns { weights, stride: cols, first: j };
            if batch >= REPAYS {
                // Rows a power of two apart fall into the same few cache lines: a copy side by side stays in cache.
                panel.clear();
                for row in weights.chunks_exact(cols) {
                    panel.extend_from_slice(&row[j..][..width]);
                }
                columns = Columns { weights: panel, stride: width, first: 0 };
            }
            let mut s = 0;
            while s + SAMPLES <= batch {
                let samples = std::array::from_fn(|r| &inputs[(s + r) * rows..][..rows]);
                let sums = columns.sums::<S, SAMPLES, PANEL>(simd, samples);
                for r in 0..SAMPLES {
                    let out = &mut outputs[(s + r) * cols + j..][..width];
                    S::as_mut_simd_f32s(out).0.copy_from_slice(&sums[r]);
                }
                s += SAMPLES;
            }
            for s in s..batch {
                let [sums] = columns.sums::<S, 1, PANEL>(simd, [&inputs[s * rows..][..rows]]);
                S::as_mut_simd_f32s(&mut outputs[s * cols + j..][..width]).0.copy_from_slice(&sums);
            }
            j += width;
        }
        while j + lanes::<S>() <= cols {
            let columns = Columns { weights, stride: cols, first: j };
            for s in 0..batch {
                let [sums] = columns.sums::<S, 1, 1>(simd, [&inputs[s * rows..][..rows]]);
                S::as_mut_simd_f32s(&mut outputs[s * cols + j..][..lanes::<S>()]).0.copy_from_slice(&sums);
            }
            j += lanes::<S>();
        }
        for j in j..cols {
            for s in 0..batch {
                let column = weights[j..].iter().step_by(cols);
                let terms = inputs[s * rows..][..rows].iter().zip(column);
                outputs[s * cols + j] = terms.fold(0.0, |t: f32, (a, b)| a.mul_add(*b, t));
            }
        }
    }
}

/// Neighbouring columns of a matrix stored row by row.
#[derive(Clone, Copy)]
struct Columns<'a> {
    weights: &'a [f32],
    stride: usize,
    first: usize,
}

impl Columns<'_> {
    /// The transposed products of `R` samples with `V` vectors of columns.
    #[inline(always)]
    fn sums<S: Simd, const R: usize, const V: usize>(self, simd: S, d: [&[f32]; R]) -> [[S::f32s; V]; R] {
        let d = d.map(|sample| &sample[..d[0].len()]);
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        for (i, row) in self.weights.chunks_exact(self.stride).take(d[0].len()).enumerate() {
            let mut b = [simd.splat_f32s(0.0); V];
            b.copy_from_slice(S::as_simd_f32s(&row[self.first..][..V * lanes::<S>()]).0);
            for r in 0..R {
                let a = simd.splat_f32s(d[r][i]);
                for v in 0..V {
                    sums[r][v] = simd.mul_add_f32s(a, b[v], sums[r][v]);
                }
            }
        }
        sums
    }
}

/// Lanes of a vector of this instruction set.
#[inline(always)]
const fn lanes<S: Simd>() -> usize {
    size_of::<S::f32s>() / size_of::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Key;

    fn draws(key: Key, n: usize) -> Vec<f32> {
        let mut out = vec![0.0; n];
        key.fill_normal(&mut out);
        out.into_iter().map(|v| v as f32).collect()
    }

    /// The promised order of summation, written plainly.
    fn plain(w: &[f32], shape: Shape, to: Direction, x: &[f32]) -> Vec<f32> {
        let Shape { rows, cols } = shape;
        match to {
            Direction::Forward => (0..rows)
                .map(|i| {
                    let row = &w[i * cols..][..cols];
                    let rest = cols / LANES * LANES;
                    let mut v = [0.0f32; LANES];
                    for j in 0..rest {
                        v[j % LANES] = x[j].mul_add(row[j], v[j % LANES]);
                    }
                    let q: Vec<f32> = (0..4).map(|l| (v[l] + v[l + 4]) + (v[l + 8] + v[l + 12])).collect();
                    (rest..cols).fold((q[0] + q[2]) + (q[1] + q[3]), |t, j| x[j].mul_add(row[j], t))
                })
                .collect(),
            Direction::Transposed => {
                (0..cols).map(|j| (0..rows).fold(0.0f32, |t, i| x[i].mul_add(w[i * cols + j], t))).collect()
            }
        }
    }

    #[test]
    fn bits_depend_on_the_sum_alone_not_on_tiles_or_batch() {
        for (rows, cols, batch) in [(1, 1, 1), (3, 15, 2), (4, 16, 4), (7, 33, 9), (37, 131, 11), (130, 64, 5)]
        {
            let shape = Shape { rows, cols };
            let w = draws(Key::new(1).fold((rows * cols) as u64), rows * cols);
            for (to, n_in, n_out) in [(Direction::Forward, cols, rows), (Direction::Transposed, rows, cols)] {
                let x = draws(Key::new(2), batch * n_in);
                let mut y = vec![f32::NAN; batch * n_out];
                product(&w, shape, to, &x, &mut y, &mut Vec::new());
                for s in 0..batch {
                    let want = plain(&w, shape, to, &x[s * n_in..][..n_in]);
                    assert_eq!(y[s * n_out..][..n_out], want, "{rows}×{cols}, sample {s}, {to:?}");
                }
            }
        }
    }

    /// Narrower vectors than this machine's give the same bits.
    #[test]
    fn bits_do_not_depend_on_the_width_of_the_vectors() {
        let shape = Shape { rows: 37, cols: 131 };
        let batch = REPAYS + 3;
        let weights = &draws(Key::new(3), 37 * 131);
        let (x, d) = (&draws(Key::new(4), batch * 131), &draws(Key::new(5), batch * 37));
        let (mut y, mut z) = (vec![0.0; batch * 37], vec![0.0; batch * 131]);
        product(weights, shape, Direction::Forward, x, &mut y, &mut Vec::new());
        product(weights, shape, Direction::Transposed, d, &mut z, &mut Vec::new());
        let check = |run: &dyn Fn(Forward<'_>, Transposed<'_>)| {
            let (mut narrow_y, mut narrow_z) = (vec![f32::NAN; y.len()], vec![f32::NAN; z.len()]);
            let forward = Forward { weights, shape, inputs: x, outputs: &mut narrow_y };
            let panel = &mut Vec::new();
            run(forward, Transposed { weights, shape, inputs: d, outputs: &mut narrow_z, panel });
            assert_eq!((&narrow_y, &narrow_z), (&y, &z));
        };
        check(&|forward, transposed| {
            Simd::vectorize(pulp::Scalar::new(), forward);
            Simd::vectorize(pulp::Scalar::new(), transposed);
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            check(&|forward, transposed| {
                Simd::vectorize(simd, forward);
                Simd::vectorize(simd, transposed);
            });
        }
    }
}
