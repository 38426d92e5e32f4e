//! Summaries, lines and densities of known numbers.

use residuum::Key;
use residuum::stats::{Summary, density, fit_line};

#[test]
fn summary_of_known_numbers() {
    let s = Summary::of([1.0, 2.0, 3.0, 4.0]);
    assert_eq!((s.n, s.mean), (4, 2.5));
    assert!((s.std - (5.0f64 / 3.0).sqrt()).abs() < 1e-15);
    assert!(s.agrees(2.5, 0.0) && !s.agrees(9.0, 0.1));
}

#[test]
fn line_is_recovered_with_its_error() {
    let x = [0.0, 1.0, 2.0, 3.0];
    let f = fit_line(&x, &x.map(|v| 2.0 - 3.0 * v));
    assert!((f.slope + 3.0).abs() < 1e-14 && (f.intercept - 2.0).abs() < 1e-14 && f.slope_se < 1e-14);
}

#[test]
fn density_integrates_to_one() {
    let mut x = vec![0.0; 4000];
    Key::new(2).fill_normal(&mut x);
    let grid: Vec<f64> = (0..400).map(|i| -6.0 + 0.03 * i as f64).collect();
    let d = density(&x, &grid);
    assert!((d.iter().sum::<f64>() * 0.03 - 1.0).abs() < 1e-3);
    assert!((d[200] - 0.3989).abs() < 0.03);
}
