//! Draws of keys: known answers, the same one by one, normal and independent.

use residuum::Key;
use residuum::stats::{Summary, kolmogorov_smirnov_normal};
use residuum::testing::key::philox;

/// Known-answer vectors of the Random123 distribution (philox4x32, 10 rounds).
#[test]
fn philox_known_answers() {
    assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    assert_eq!(
        philox([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
        [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
    );
}

#[test]
fn bulk_equals_single_draws_whatever_the_length() {
    let key = Key::new(5).named("x");
    for n in [1, 2, 31, 32, 33, 100, 1027] {
        let mut normal = vec![0.0; n];
        let mut uniform = vec![0.0; n];
        key.fill_normal(&mut normal);
        key.fill_uniform(&mut uniform);
        for i in 0..n {
            assert_eq!(normal[i].to_bits(), key.normal_at(i as u64).to_bits());
            assert_eq!(uniform[i].to_bits(), key.uniform_at(i as u64).to_bits());
        }
    }
}

#[test]
fn normals_are_normal_and_neighbouring_keys_independent() {
    let n = 1 << 20;
    let mut x = vec![0.0; n];
    let mut y = vec![0.0; n];
    Key::new(1).fold(0).fill_normal(&mut x);
    Key::new(1).fold(1).fill_normal(&mut y);
    // KS at 1e-3: critical value 1.95/√n.
    assert!(kolmogorov_smirnov_normal(&mut x.clone()) < 1.95 / (n as f64).sqrt());
    for (power, moment) in [(2, 1.0), (3, 0.0), (4, 3.0)] {
        let s = Summary::of(x.iter().map(|v: &f64| v.powi(power)));
        assert!(s.agrees(moment, 0.0), "moment {power}: {s}");
    }
    let product = Summary::of(x.iter().zip(&y).map(|(a, b)| a * b));
    assert!(product.agrees(0.0, 0.0), "{product}");
    // The twin: a shifted sample must be caught by the same criterion.
    let mut shifted: Vec<f64> = x.iter().map(|v| v + 0.01).collect();
    assert!(kolmogorov_smirnov_normal(&mut shifted) > 1.95 / (n as f64).sqrt());
}

/// Seeded values are part of the interface; a change here is value-breaking.
#[test]
fn seeded_values_are_pinned() {
    let key = Key::new(2026).named("gradient").fold(9);
    assert_eq!(key.block(3), [3_719_594_890, 2_442_732_108, 3_698_139_833, 2_070_561_902]);
}

#[test]
fn permutation_is_one() {
    let mut p = Key::new(3).permutation(97);
    assert_ne!(p, (0..97).collect::<Vec<_>>());
    p.sort_unstable();
    assert_eq!(p, (0..97).collect::<Vec<_>>());
}
