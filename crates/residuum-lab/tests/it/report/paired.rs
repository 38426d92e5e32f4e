//! Differences paired by seed, Student's law, and Holm's correction.

use residuum_lab::report::paired::{LEVEL, Paired, holm, student_two_sided};

/// Tabulated quantiles of Student's law, and three cases in closed form.
#[test]
fn student_meets_the_tables() {
    for (t, freedom, p) in [
        (12.7062047, 1, 0.05),
        (4.30265273, 2, 0.05),
        (3.18244631, 3, 0.05),
        (2.77644511, 4, 0.05),
        (4.60409487, 4, 0.01),
        (2.26215716, 9, 0.05),
        (2.08596345, 20, 0.05),
        (63.6567412, 1, 0.01),
    ] {
        let ours = student_two_sided(t, freedom);
        assert!((ours - p).abs() < 1e-8, "t = {t}, {freedom}: {ours} against {p}");
        assert_eq!(ours, student_two_sided(-t, freedom));
    }
    assert!((student_two_sided(1.0, 1) - 0.5).abs() < 1e-15);
    assert!((student_two_sided(2.0, 2) - (1.0 - 2.0 / 6f64.sqrt())).abs() < 1e-15);
    assert_eq!(student_two_sided(0.0, 7), 1.0);
}

/// Differences 1, 2, 3: mean 2, deviation 1, t = 2√3, and with two degrees of freedom p = 1 − t/√(t² + 2).
#[test]
fn pairs_are_matched_by_seed() {
    let a = [(1, 11.0), (2, 22.0), (3, 33.0), (9, 1e9)];
    let b = [(3, 30.0), (1, 10.0), (2, 20.0), (4, -1e9)];
    let pair = Paired::new(&a, &b);
    assert_eq!((pair.difference.n, pair.difference.mean, pair.difference.std), (3, 2.0, 1.0));
    assert!((pair.t.unwrap() - 12f64.sqrt()).abs() < 1e-14);
    assert!((pair.p.unwrap() - (1.0 - (12.0f64 / 14.0).sqrt())).abs() < 1e-14);
}

/// Broken twin: taken in the order they stand rather than by seed, the same numbers show nothing.
#[test]
fn values_paired_by_position_lose_the_effect() {
    let a = [(1, 11.0), (2, 22.0), (3, 33.0)];
    let b = [(3, 30.0), (1, 10.0), (2, 20.0)];
    let wrong = Paired::of(a.iter().zip(&b).map(|(a, b)| a.1 - b.1));
    assert!(wrong.t.unwrap().abs() < 0.5 && wrong.p.unwrap() > 0.5);
}

#[test]
fn nothing_is_claimed_without_a_spread() {
    assert_eq!(Paired::of([1.0]).p, None);
    assert_eq!(Paired::of([0.5, 0.5, 0.5]).p, None);
    let shifted = [(1, 0.1), (2, 0.2), (3, 0.7)].map(|(seed, x)| (seed, x + 0.3));
    let rounded = Paired::new(&shifted, &[(1, 0.1), (2, 0.2), (3, 0.7)]);
    assert!(rounded.difference.se > 0.0 && rounded.p.is_none(), "{rounded:?}");
    assert_eq!(Paired::new(&[(1, 2.0)], &[(2, 1.0)]).difference.n, 0);
}

/// By hand: 0.01·4, 0.02·3, then 0.06 carried past 0.03·2 = 0.06 and 0.04·1; five tests would be four without the one left out.
#[test]
fn holm_by_hand() {
    let adjusted = holm(&[Some(0.04), Some(0.01), None, Some(0.03), Some(0.02)]);
    let expected = [Some(0.06), Some(0.04), None, Some(0.06), Some(0.06)];
    for (a, e) in adjusted.iter().zip(expected) {
        assert!(matches!((a, e), (None, None)) || (a.unwrap() - e.unwrap()).abs() < 1e-15, "{adjusted:?}");
    }
    assert_eq!(holm(&[Some(0.6), Some(0.7)]), [Some(1.0), Some(1.0)]);
}

/// Broken twin: uncorrected, twenty null comparisons at one in twenty would be expected to yield a find; Holm keeps them all out.
#[test]
fn holm_refuses_what_many_tests_find_by_chance() {
    let chance: Vec<Option<f64>> = (1..=20).map(|k| Some(f64::from(k) / 21.0)).collect();
    assert!(chance.iter().flatten().any(|&p| p < LEVEL));
    assert!(holm(&chance).iter().flatten().all(|&p| p >= LEVEL));
}
