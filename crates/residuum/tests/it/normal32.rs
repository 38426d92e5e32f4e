//! Normal draws in single precision.

use residuum::simd::Kernel;
use residuum::stats::{Summary, kolmogorov_smirnov_normal};
use residuum::testing::normal32::{
    CHUNK, LANES, PAIRS, box_muller, centered_uniforms, cos_sin_turn, ln, normals,
};
use residuum::{Key, simd};

struct Bulk<'a>(Key, &'a mut [f32]);

impl Kernel for Bulk<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (chunk, out) in self.1.chunks_mut(CHUNK).enumerate() {
            out.copy_from_slice(&normals(self.0, chunk as u64)[..out.len()]);
        }
    }
}

fn bulk(key: Key, n: usize) -> Vec<f32> {
    let mut out = vec![0.0; n];
    simd::dispatch(Bulk(key, &mut out));
    out
}

#[test]
fn the_functions_are_as_accurate_as_they_say() {
    for i in 1..200_000 {
        let x = i as f32 / 100_000.0;
        let want = f64::from(x).ln();
        assert!((f64::from(ln(x)) - want).abs() <= 3e-7 * want.abs(), "ln {x}: {} {want}", ln(x));
        let u = (i as f32 - 100_000.0) / 200_000.0;
        let (c, s) = cos_sin_turn(u);
        let angle = f64::from(u) * std::f64::consts::TAU;
        assert!((f64::from(c) - angle.cos()).abs() < 2e-7, "cos {u}");
        assert!((f64::from(s) - angle.sin()).abs() < 2e-7, "sin {u}");
    }
}

#[test]
fn a_single_draw_from_its_block_is_the_bulk_draw() {
    let key = Key::new(5).named("noise");
    let out = bulk(key, 500);
    for (i, &draw) in out.iter().enumerate() {
        let (chunk, within) = (i / CHUNK, i % CHUNK);
        let pair = within % PAIRS;
        let block = key.block((chunk * LANES + pair % LANES) as u64);
        let (first, second) = if pair < LANES { (block[0], block[1]) } else { (block[2], block[3]) };
        let (c, s) = box_muller(first, second);
        assert_eq!(draw.to_bits(), (if within < PAIRS { c } else { s }).to_bits(), "draw {i}");
    }
}

#[test]
fn normals_are_normal_and_neighbouring_keys_independent() {
    let n = 1 << 20;
    let x: Vec<f64> = bulk(Key::new(1).fold(0), n).into_iter().map(f64::from).collect();
    let y = bulk(Key::new(1).fold(1), n);
    let critical = 1.95 / (n as f64).sqrt();
    assert!(kolmogorov_smirnov_normal(&mut x.clone()) < critical);
    for (power, moment) in [(1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0), (6, 15.0)] {
        let s = Summary::of(x.iter().map(|v| v.powi(power)));
        assert!(s.agrees(moment, 0.0), "moment {power}: {s}");
    }
    let product = Summary::of(x.iter().zip(&y).map(|(a, b)| a * f64::from(*b)));
    assert!(product.agrees(0.0, 0.0), "{product}");
    // Within a chunk too: the two draws of a pair, and draws of neighbouring blocks.
    for lag in [1, LANES, PAIRS] {
        let lagged = Summary::of(x.iter().zip(&x[lag..]).map(|(a, b)| a * b));
        assert!(lagged.agrees(0.0, 0.0), "lag {lag}: {lagged}");
    }
    let mut wide: Vec<f64> = x.iter().map(|v| v * 1.01).collect();
    assert!(kolmogorov_smirnov_normal(&mut wide) > critical, "a wrong width must be caught");
}

#[test]
fn uniforms_are_centered_and_stay_inside() {
    let draws: Vec<f64> = (0..4096).flat_map(|c| centered_uniforms(Key::new(8), c)).map(f64::from).collect();
    assert!(draws.iter().all(|u| (-0.5..0.5).contains(u)));
    assert!(Summary::of(draws.iter().copied()).agrees(0.0, 0.0));
    assert!(Summary::of(draws.iter().map(|u| u * u)).agrees(1.0 / 12.0, 0.0));
}

#[test]
fn the_extreme_words_give_finite_draws() {
    for first in [0, 1, u32::MAX] {
        for second in [0, 1 << 31, u32::MAX] {
            let (c, s) = box_muller(first, second);
            assert!(c.abs() < 6.7 && s.abs() < 6.7, "{first} {second}: {c} {s}");
        }
    }
}
