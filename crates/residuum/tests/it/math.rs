//! Elementary functions within their stated bounds.

use residuum::math::{cos_sin_turn, exp, exp2_32, ln, log2_32, pow, pow32, tanh};

fn grid(lo: f64, hi: f64, n: usize) -> impl Iterator<Item = f64> {
    (0..=n).map(move |i| lo + (hi - lo) * i as f64 / n as f64)
}

#[test]
fn ln_is_within_two_ulp() {
    for x in grid(1e-3, 5.0, 100_003).chain((-1000..1000).map(|e| 1.37 * 2f64.powi(e))) {
        let want = x.ln();
        assert!((ln(x) - want).abs() <= 4e-16 * want.abs().max(1e-3), "ln {x}: {} {want}", ln(x));
    }
}

#[test]
fn exp_is_within_two_ulp() {
    for x in grid(-700.0, 700.0, 100_003).chain(grid(-1.0, 1.0, 50_001)) {
        let want = x.exp();
        assert!((exp(x) - want).abs() <= 4e-16 * want, "exp {x}: {} {want}", exp(x));
    }
    assert_eq!(exp(-1e4), 0.0);
    assert_eq!(exp(0.0), 1.0);
}

#[test]
fn pow_keeps_its_stated_bound() {
    for x in grid(1e-9, 2.0, 4_001) {
        for y in [0.1, 0.5, 1.0, 1.5, 2.5, 3.0, 7.3] {
            let want = x.powf(y);
            let bound = 2.5e-16 * (4.0 + (y * x.ln()).abs());
            assert!((pow(x, y) - want).abs() <= bound * want, "{x}^{y}: {} {want}", pow(x, y));
        }
    }
    assert_eq!(pow(0.0, 0.3), 0.0);
    assert_eq!(pow(0.0, 0.0), 1.0);
}

#[test]
fn single_precision_is_single_precision() {
    for x in grid(1e-6, 1.0, 50_001) {
        let s = x as f32;
        let want = f64::from(s).log2();
        assert!((f64::from(log2_32(s)) - want).abs() <= 2e-6 * want.abs(), "log2 {x}");
        for y in [0.3f32, 0.9, 1.1, 2.5] {
            let want = f64::from(s).powf(f64::from(y));
            let bound = 2e-6 * (0.3 + f64::from(y) * f64::from(s).ln().abs());
            assert!((f64::from(pow32(s, y)) - want).abs() <= bound * want, "{x}^{y}");
        }
    }
    for x in grid(-120.0, 120.0, 50_001) {
        let s = x as f32;
        let want = f64::from(s).exp2();
        assert!((f64::from(exp2_32(s)) - want).abs() <= 4e-7 * want, "2^{x}");
    }
    assert_eq!(pow32(0.0, 0.5), 0.0);
}

#[test]
fn tanh_and_turns_agree_with_the_system() {
    for x in grid(-20.0, 20.0, 40_001).chain(grid(-0.3, 0.3, 2001)) {
        assert!((tanh(x) - x.tanh()).abs() <= 1e-15 * x.tanh().abs(), "tanh {x}");
    }
    for u in grid(0.0, 1.0, 40_000) {
        let (c, s) = cos_sin_turn(u);
        let a = u * std::f64::consts::TAU;
        assert!((c - a.cos()).abs() < 9e-16 && (s - a.sin()).abs() < 9e-16, "turn {u}: {c} {s}");
    }
}
