//! Products: the bits of the documented order of summation.

use pulp::Simd;
use residuum::Key;
use residuum::readout::Shape;
use residuum::testing::readout::{Forward, LANES, REPAYS, ReadDirection, Transposed, Workspace, product};

fn draws(key: Key, n: usize) -> Vec<f32> {
    let mut out = vec![0.0; n];
    key.fill_normal(&mut out);
    out.into_iter().map(|v| v as f32).collect()
}

/// The documented order of summation, written out.
fn plain(w: &[f32], shape: Shape, to: ReadDirection, x: &[f32]) -> Vec<f32> {
    let Shape { rows, cols } = shape;
    match to {
        ReadDirection::Forward => (0..rows)
            .map(|i| {
                let row = &w[i * cols..][..cols];
                let rest = cols / LANES * LANES;
                let mut v = [0.0f32; LANES];
                for j in 0..rest {
                    v[j % LANES] = x[j].mul_add(row[j], v[j % LANES]);
                }
                for half in [8, 4, 2, 1] {
                    (0..half).for_each(|l| v[l] += v[l + half]);
                }
                (rest..cols).fold(v[0], |t, j| x[j].mul_add(row[j], t))
            })
            .collect(),
        ReadDirection::Transposed => {
            (0..cols).map(|j| (0..rows).fold(0.0f32, |t, i| x[i].mul_add(w[i * cols + j], t))).collect()
        }
    }
}

#[test]
fn bits_depend_on_the_sum_alone_not_on_tiles_or_batch() {
    for (rows, cols, batch) in [(1, 1, 1), (3, 15, 2), (4, 16, 4), (7, 33, 9), (37, 131, 11), (130, 64, 5)] {
        let shape = Shape { rows, cols };
        let w = draws(Key::new(1).fold((rows * cols) as u64), rows * cols);
        for (to, n_in, n_out) in [(ReadDirection::Forward, cols, rows), (ReadDirection::Transposed, rows, cols)]
        {
            let x = draws(Key::new(2), batch * n_in);
            let mut y = vec![f32::NAN; batch * n_out];
            product(&w, shape, to, &x, &mut y, &mut Workspace::default());
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
    product(weights, shape, ReadDirection::Forward, x, &mut y, &mut Workspace::default());
    product(weights, shape, ReadDirection::Transposed, d, &mut z, &mut Workspace::default());
    let check = |run: &dyn Fn(Forward<'_>, Transposed<'_>)| {
        let (mut narrow_y, mut narrow_z) = (vec![f32::NAN; y.len()], vec![f32::NAN; z.len()]);
        let (interleaved, panel, outputs) = (&mut Vec::new(), &mut Vec::new(), &mut narrow_z);
        let forward = Forward { weights, cols: 131, inputs: x, outputs: &mut narrow_y, panel: interleaved };
        run(forward, Transposed { weights, rows: 37, stride: 131, first: 0, inputs: d, outputs, panel });
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
