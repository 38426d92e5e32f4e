//! Products are plain sums, in every orientation.

mod block;

use residuum::Key;
use residuum::threads::{Helpers, Pace};
use residuum_nn::gemm::{Operand, gemm, rows_by_rows};

fn uniform(key: Key, n: usize) -> Vec<f32> {
    (0..n as u64).map(|i| (key.uniform_at(i) - 0.5) as f32).collect()
}

fn at(x: Operand<'_>, rows: usize, cols: usize, i: usize, j: usize) -> f64 {
    f64::from(match x {
        Operand::Plain(values) => values[i * cols + j],
        Operand::Transposed(values) => values[j * rows + i],
    })
}

#[test]
fn every_orientation_is_the_plain_sum() {
    let key = Key::new(1);
    for size in [[1, 1, 1], [3, 5, 7], [10, 784, 33], [130, 600, 70], [300, 64, 200], [17, 2, 40], [64, 3, 1]] {
        let [m, k, n] = size;
        let (a, b) = (uniform(key.fold(1), m * k), uniform(key.fold(2), k * n));
        let start = uniform(key.fold(3), m * n);
        for left in [Operand::Plain(&a), Operand::Transposed(&a)] {
            for right in [Operand::Plain(&b), Operand::Transposed(&b)] {
                let mut c = start.clone();
                gemm(size, left, right, &mut c, 0.5, -2.0);
                for i in 0..m {
                    for j in 0..n {
                        let sum: f64 = (0..k).map(|l| at(left, m, k, i, l) * at(right, k, n, l, j)).sum();
                        let want = 0.5 * f64::from(start[i * n + j]) - 2.0 * sum;
                        // k + 2 roundings of sums whose terms add up to at most k/4 · 2 + 1/4.
                        let bound = f64::from(f32::EPSILON) * (k + 2) as f64 * (0.5 * k as f64 + 0.25);
                        assert!((f64::from(c[i * n + j]) - want).abs() <= bound, "{size:?} at {i}, {j}");
                    }
                }
            }
        }
        let (mut plain, mut rows) = (vec![0.0; m * n], vec![0.0; m * n]);
        gemm(size, Operand::Plain(&a), Operand::Transposed(&b), &mut plain, 0.0, 1.0);
        rows_by_rows(size, &a, &b, &mut rows);
        let bound = f32::EPSILON * (k + 2) as f32 * 0.25 * k as f32;
        assert!(plain.iter().zip(&rows).all(|(p, r)| (p - r).abs() <= bound), "{size:?}");
    }
}

/// 2 · 2⁶³ wraps to 0, which is the length of an empty slice: a kernel would read 2⁶³ values of each.
#[test]
#[should_panic(expected = "A must be 2 × 9223372036854775808, got 0 values")]
fn sizes_that_wrap_are_refused() {
    gemm([2, 1 << 63, 2], Operand::Plain(&[]), Operand::Plain(&[]), &mut [0.0; 4], 0.0, 1.0);
}

#[test]
fn nothing_of_the_old_output_is_read_when_nothing_is_kept() {
    let mut c = vec![f32::NAN; 6];
    gemm([2, 1, 3], Operand::Plain(&[1.0, 2.0]), Operand::Plain(&[1.0, 2.0, 3.0]), &mut c, 0.0, 1.0);
    assert_eq!(c, [1.0, 2.0, 3.0, 2.0, 4.0, 6.0]);
    gemm([2, 0, 3], Operand::Plain(&[]), Operand::Plain(&[]), &mut c, 0.0, 1.0);
    assert_eq!(c, [0.0; 6]);
}

/// Rows are shared where a product has fewer panels than threads. Of 257, 49 and 25 rows one would be left alone, which kernels sum in another
/// way; 600 terms are cut into pieces by the size of the panel, not by that of a share.
#[test]
fn threads_change_no_bit() {
    let key = Key::new(2);
    let pools = [1, 2, 3, 4].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("threads"));
    for size in [
        [257, 100, 90],
        [513, 70, 64],
        [49, 600, 80],
        [25, 1200, 90],
        [16, 4608, 25],
        [9, 700, 300],
        [1, 800, 900],
        [128, 600, 48],
        [96, 1100, 40],
        [1500, 90, 64],
        // Terms in two groups and in four.
        [32, 512, 400],
        [11, 4000, 33],
        [40, 4100, 30],
    ] {
        let [m, k, n] = size;
        let (a, b) = (uniform(key.fold(1), m * k), uniform(key.fold(2), k * n));
        let start = uniform(key.fold(3), m * n);
        for left in [Operand::Plain(&a), Operand::Transposed(&a)] {
            for right in [Operand::Plain(&b), Operand::Transposed(&b)] {
                let [one, others @ ..] = pools.each_ref().map(|pool| {
                    let mut c = start.clone();
                    let product = || gemm(size, left, right, &mut c, 1.0, -0.5);
                    // Small products are shared while helpers are awake.
                    pool.install(|| Helpers::default().during(&mut Pace::default(), product));
                    c
                });
                assert!(others.iter().all(|c| *c == one), "{size:?}");
            }
        }
    }
}

/// A product that waits for its parts gives its thread to another, which has groups of terms as well.
#[test]
fn products_beside_each_other_do_not_meet() {
    let (key, [m, k, n]) = (Key::new(3), [64, 2048, 600]);
    let (a, b) = (uniform(key.fold(1), m * k), uniform(key.fold(2), k * n));
    let product = || {
        let mut c = vec![0.0; m * n];
        gemm([m, k, n], Operand::Transposed(&a), Operand::Plain(&b), &mut c, 0.0, 1.0);
        c
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
    let mut all = vec![Vec::new(); 40];
    // From outside: who is idle takes part of a product first, and who then waits for it begins another.
    pool.in_place_scope(|scope| all.iter_mut().for_each(|c| scope.spawn(|_| *c = product())));
    let alone = product();
    assert!(all.iter().all(|c| *c == alone));
}
