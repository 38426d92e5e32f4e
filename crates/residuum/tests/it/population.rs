//! Cells that differ: draws, mixtures, bounds.

use std::sync::Arc;

use residuum::cells::{PerCell, Uniform, bounds};
use residuum::population::{Distribution, PopulationError, assign, mix, vary};
use residuum::response::{Constant, Linear, Power};
use residuum::stats::{Summary, kolmogorov_smirnov_normal};
use residuum::{Cells, Key, ResponseFunction};

const MANY: usize = 20_000;

fn draws(distribution: Distribution) -> Vec<f64> {
    (0..MANY).map(|i| distribution.draw(Key::new(3).named("radius"), i, MANY)).collect()
}

#[test]
fn draws_follow_their_distribution() {
    let normal = draws(Distribution::Normal { mean: 2.0, deviation: 0.5 });
    // KS at 1e-3: critical value 1.95/√n.
    let critical = 1.95 / (MANY as f64).sqrt();
    let mut standard: Vec<f64> = normal.iter().map(|x| (x - 2.0) / 0.5).collect();
    assert!(kolmogorov_smirnov_normal(&mut standard) < critical);
    let log = draws(Distribution::LogNormal { median: 0.8, deviation: 0.3 });
    let mut standard: Vec<f64> = log.iter().map(|x| (x / 0.8).ln() / 0.3).collect();
    assert!(kolmogorov_smirnov_normal(&mut standard) < critical);
    let uniform = draws(Distribution::Uniform { lo: -1.0, hi: 3.0 });
    assert!(uniform.iter().all(|x| (-1.0..3.0).contains(x)));
    assert!(Summary::of(uniform.iter().copied()).agrees(1.0, 0.0));
    assert!(Summary::of(uniform.iter().map(|x| (x - 1.0).powi(2))).agrees(16.0 / 12.0, 0.0));
    // The twin: a deviation 5 % too large is caught by the criterion above.
    let mut wrong: Vec<f64> = normal.iter().map(|x| (x - 2.0) / 0.475).collect();
    assert!(kolmogorov_smirnov_normal(&mut wrong) > critical);
}

#[test]
fn log_spacing_has_equal_ratios_and_exact_ends() {
    let spaced = Distribution::LogSpaced { lo: 0.25, hi: 64.0 };
    let values: Vec<f64> = (0..5).map(|i| spaced.draw(Key::new(1), i, 5)).collect();
    for (value, expected) in values.iter().zip([0.25, 1.0, 4.0, 16.0, 64.0]) {
        assert!((value / expected - 1.0).abs() < 1e-15, "{values:?}");
    }
    assert_eq!(spaced.draw(Key::new(1), 0, 1), 0.25);
}

#[test]
fn a_draw_depends_on_its_name_and_cell_alone() {
    let spread = Distribution::Normal { mean: 0.5, deviation: 0.05 };
    let key = Key::new(11);
    let few = vary(3, key, |cell| Linear::new(cell.draw("slope", &spread)?, 1.0)).unwrap();
    let more = vary(9, key, |cell| {
        let radius = cell.draw("radius", &Distribution::Uniform { lo: 1.0, hi: 1.0 })?;
        Linear::new(cell.draw("slope", &spread)?, radius)
    })
    .unwrap();
    assert_eq!(few.0[..], more.0[..3]);
    assert_ne!(more.0[0], more.0[1]);
    let renamed = vary(3, key, |cell| Linear::new(cell.draw("other", &spread)?, 1.0)).unwrap();
    assert_ne!(few.0, renamed.0);
}

#[test]
fn impossible_draws_are_named_not_clipped() {
    let wide = Distribution::Normal { mean: 0.1, deviation: 1.0 };
    let error =
        vary(100, Key::new(5), |cell| Power::new(2.0, cell.draw("radius", &wide)?)).expect_err("negative");
    let PopulationError::Cell { cell, source } = &error else { panic!("{error}") };
    let drawn = wide.draw(Key::new(5).named("radius"), *cell, 100);
    assert!(drawn <= 0.0);
    assert_eq!(
        error.to_string(),
        format!("cell {cell}: {source}; a log_normal distribution draws positive values only")
    );
    assert_eq!(source.to_string(), format!("radius must be positive and finite, got {drawn}"));
}

#[test]
fn distributions_are_validated() {
    let bad = [
        (Distribution::Constant(f64::NAN), "value must be finite, got NaN"),
        (
            Distribution::Normal { mean: 0.0, deviation: -1.0 },
            "deviation must be zero or positive, and finite, got -1",
        ),
        (Distribution::LogNormal { median: 0.0, deviation: 1.0 }, "median must be positive and finite, got 0"),
        (Distribution::Uniform { lo: 1.0, hi: 0.0 }, "hi must be finite and at least lo, got 0"),
        (Distribution::LogSpaced { lo: -1.0, hi: 1.0 }, "lo must be positive and finite, got -1"),
    ];
    for (distribution, message) in bad {
        assert_eq!(distribution.validate().expect_err(message).to_string(), message);
    }
}

#[test]
fn mixtures_keep_their_fractions() {
    let part_of = assign(MANY, Key::new(2), &[0.2, 0.0, 0.5, 0.3, 0.0]).unwrap();
    for (part, fraction) in [(0, 0.2), (2, 0.5), (3, 0.3)] {
        let share = Summary::of(part_of.iter().map(|&p| if p == part { 1.0 } else { 0.0 }));
        assert!(share.agrees(fraction, 0.0), "part {part}: {share}");
    }
    assert!(!part_of.contains(&1) && !part_of.contains(&4));
    assert_eq!(part_of[..10], assign(10, Key::new(2), &[0.2, 0.0, 0.5, 0.3, 0.0]).unwrap());
    assert_eq!(assign(1, Key::new(2), &[0.5, 0.4]), Err(PopulationError::Sum { sum: 0.9 }));
    assert_eq!(assign(1, Key::new(2), &[]), Err(PopulationError::Sum { sum: 0.0 }));
    assert!(matches!(assign(1, Key::new(2), &[1.5, -0.5]), Err(PopulationError::Fraction { part: 0, .. })));
}

#[test]
fn bounds_of_a_population_are_those_of_its_worst_cells() {
    let steep: Arc<dyn ResponseFunction> = Arc::new(Power::new(2.0, 0.5).unwrap());
    let flat: Arc<dyn ResponseFunction> = Arc::new(Linear::new(0.5, 2.0).unwrap());
    let cells = mix(200, Key::new(4), &[(0.5, steep), (0.5, flat)]).unwrap();
    let overall = bounds(&cells, 200, 0.5).unwrap();
    assert_eq!((overall.min, overall.max), (0.25, 2.25));
    assert_eq!((overall.range.lo, overall.range.hi), (-1.0, 1.0));
    assert_eq!(overall.lipschitz, 6.0);
    let alike = Uniform::new(Constant::new(0.7).unwrap());
    assert_eq!(bounds(&alike, 1_000_000_000, 1.0).unwrap().max, 0.7);
    assert!(bounds(&cells, 199, 0.5).is_err() && bounds(&cells, 200, 0.0).is_err());
    assert!(bounds(&PerCell::<Constant>(vec![]), 0, 1.0).is_err());
    assert_eq!(cells.len(), Some(200));
}
