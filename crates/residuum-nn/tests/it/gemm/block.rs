//! Products have the same bits on every instruction set.

use residuum::Key;
use residuum::simd::{Level, at};
use residuum_nn::gemm::{Operand, gemm, rows_by_rows};

use crate::levels::levels;

fn uniform(key: Key, n: usize) -> Vec<f32> {
    (0..n as u64).map(|i| (key.uniform_at(i) - 0.5) as f32).collect()
}

/// Sizes on both sides of every case above, with ragged edges for vectors of any width.
const SIZES: [[usize; 3]; 16] = [
    [1, 1, 1],
    [1, 2, 9],
    [3, 0, 4],
    [5, 2, 7],
    [1, 33, 300],
    [300, 20, 1],
    [1, 700, 40],
    [40, 700, 1],
    [10, 32, 10],
    [10, 64, 33],
    [17, 513, 19],
    [65, 1030, 70],
    [130, 600, 37],
    [16, 2000, 15],
    [300, 64, 97],
    [2, 3, 128],
];

fn bits() -> Vec<u32> {
    let key = Key::new(3);
    let mut bits = Vec::new();
    for (number, size) in SIZES.into_iter().enumerate() {
        let (key, [m, k, n]) = (key.fold(number as u64), size);
        let (a, b, start) =
            (uniform(key.fold(1), m * k), uniform(key.fold(2), k * n), uniform(key.fold(3), m * n));
        for left in [Operand::Plain(&a), Operand::Transposed(&a)] {
            for right in [Operand::Plain(&b), Operand::Transposed(&b)] {
                for [keep, factor] in [[0.0, 1.0], [1.0, -0.3], [0.7, 1.3]] {
                    let mut c = start.clone();
                    gemm(size, left, right, &mut c, keep, factor);
                    bits.extend(c.iter().map(|c| c.to_bits()));
                }
            }
        }
        let mut c = vec![0.0; m * n];
        if k > 0 {
            rows_by_rows(size, &a, &b, &mut c);
        }
        bits.extend(c.iter().map(|c| c.to_bits()));
    }
    bits
}

#[test]
fn the_instruction_set_changes_no_bit_of_a_product() {
    let widest = bits();
    for (level, _) in levels("the_instruction_set_changes_no_bit_of_a_product") {
        let own = at(level, bits);
        let differ = own.iter().zip(&widest).position(|(a, b)| a != b);
        assert_eq!((own.len(), differ), (widest.len(), None), "{level:?}");
    }
    // What the comparison would miss if it could not see a rounding: a sum in another order.
    let (x, y) = (uniform(Key::new(1), 100), uniform(Key::new(2), 100));
    let backwards = x.iter().zip(&y).rev().fold(0.0_f32, |sum, (x, y)| x.mul_add(*y, sum));
    let forwards = x.iter().zip(&y).fold(0.0_f32, |sum, (x, y)| x.mul_add(*y, sum));
    assert_ne!(backwards.to_bits(), forwards.to_bits());
}

/// The kernels as they are, where the CPU has the widest vectors: sums that they do not cut have kept their bits.
#[cfg(target_arch = "x86_64")]
#[test]
fn products_are_those_of_the_kernels() {
    if levels("products_are_those_of_the_kernels").last().is_none_or(|(level, _)| *level != Level::Avx512) {
        return;
    }
    let key = Key::new(4);
    for (number, [m, k, n]) in SIZES.into_iter().enumerate().filter(|(_, [m, k, n])| {
        // One row or column of many was summed in another way.
        *k > 0 && m * n > 0 && !((*m == 1 && *n > 256) || (*n == 1 && *m > 256))
    }) {
        let key = key.fold(number as u64);
        let (a, b) = (uniform(key.fold(1), m * k), uniform(key.fold(2), k * n));
        let mut ours = vec![0.0; m * n];
        gemm([m, k, n], Operand::Plain(&a), Operand::Transposed(&b), &mut ours, 0.0, 1.0);
        let mut theirs = vec![0.0; m * n];
        let (n_signed, k_signed) = (n.cast_signed(), k.cast_signed());
        // SAFETY: the slices have the sizes that the strides and lengths say.
        #[expect(unsafe_code, reason = "the kernels of gemm-f32 take pointers")]
        unsafe {
            gemm_f32::gemm::f32::get_gemm_fn()(
                n,
                m,
                k,
                theirs.as_mut_ptr(),
                n_signed,
                1,
                false,
                b.as_ptr(),
                1,
                k_signed,
                a.as_ptr(),
                k_signed,
                1,
                0.0,
                1.0,
                false,
                false,
                false,
                gemm_common::Parallelism::None,
            );
        }
        assert_eq!(ours, theirs, "{m} × {k} × {n}");
    }
}
