//! Trains taken at once against the same trains taken pulse by pulse: the shortcut must not show.

use super::{CycleNoise, Device, Scheme, StepModel, Tile, Trains};
use crate::Key;
use crate::stats::{Summary, Z};

fn linear(slope: f32) -> StepModel {
    StepModel::Linear { slope_up: slope, slope_down: slope, spread: 0.0, own_bounds: true }
}

fn models() -> Vec<(&'static str, StepModel)> {
    let exponential = StepModel::Exponential {
        amplitude: [0.00081, 0.36833],
        rate: [12.44625, 12.78785],
        stretch: 0.244,
        shift: 0.2425,
    };
    vec![
        ("constant", StepModel::Constant),
        ("linear", linear(0.5)),
        ("soft bounds", linear(1.0)),
        ("power 1", StepModel::Power { shape: 1.0, spread: 0.0 }),
        ("power 2.5", StepModel::Power { shape: 2.5, spread: 0.0 }),
        ("power 0.5", StepModel::Power { shape: 0.5, spread: 0.0 }),
        ("exponential", exponential),
        ("piecewise, kinks", StepModel::Piecewise { up: vec![1.5, 0.8, 0.9, 0.2], down: vec![0.1, 1.2, 1.1] }),
        ("piecewise, smooth", {
            let bent = |t: f32| (-1.5 * t).exp();
            let up: Vec<f32> = (0u8..=200).map(|i| bent(f32::from(i) / 200.0)).collect();
            StepModel::Piecewise { down: up.iter().rev().copied().collect(), up }
        }),
    ]
}

/// Mean and variance of the weights after one heavy update from `start`, all cells with one pair of signals.
fn after(
    step: &StepModel,
    noise: CycleNoise,
    start: f32,
    signal: f32,
    at_once: bool,
    step_size: f32,
) -> (Summary, f64) {
    let device = Device {
        cycle_noise: noise,
        granularity: Some(1e-3),
        ..Device::ideal(step.clone(), step_size, -0.6, 0.6)
    };
    let mut tile = Tile::new(64, 64, device, Key::new(1)).unwrap();
    let trains = Trains::default();
    let key = Key::new(if at_once { 2 } else { 3 });
    let mut sample = Vec::new();
    for repeat in 0..40u64 {
        tile.cells.at_once = at_once;
        tile.program(&vec![start; 64 * 64], key.fold(repeat)).unwrap();
        tile.update(0.05, &[signal; 64], &[0.9; 64], trains, key.fold(repeat)).unwrap();
        // One cell per row and column: cells that share no line are independent.
        sample.extend((0..64).map(|i| f64::from(tile.weights()[i * 64 + i])));
    }
    let summary = Summary::of(sample.iter().copied());
    (summary, summary.std * summary.std)
}

/// Largest distance of mean and variance between the two ways, in units of what is allowed.
fn distance(step: &StepModel, noise: CycleNoise, start: f32, signal: f32, factor: f32) -> f64 {
    let (a, var_a) = after(step, noise, start, signal, true, 1e-3 * factor);
    let (b, var_b) = after(step, noise, start, signal, false, 1e-3);
    // The stated error of a step that is not affine, 1e-3 of the train; none where it is.
    let curved = !matches!(step, StepModel::Constant | StepModel::Linear { .. });
    let bias = if curved { 1e-3 * (b.mean - f64::from(start)).abs() } else { 0.0 };
    let mean_allowed = Z * a.se.hypot(b.se) + bias + 1e-6;
    // Variance of a variance for roughly normal samples, and the stated 2 % of the noise in the shortcut.
    let n = a.n as f64;
    let var_allowed = Z * (2.0 / n).sqrt() * var_a.hypot(var_b) + 0.04 * var_b + 1e-12;
    ((a.mean - b.mean).abs() / mean_allowed).max((var_a - var_b).abs() / var_allowed)
}

#[test]
fn trains_at_once_have_the_statistics_of_single_pulses() {
    for (name, step) in models() {
        for noise in
            [CycleNoise::Multiplicative(0.0), CycleNoise::Multiplicative(0.3), CycleNoise::Additive(0.3)]
        {
            for start in [0.0, 0.3, -0.55] {
                for signal in [0.6, -0.6] {
                    let d = distance(&step, noise, start, signal, 1.0);
                    assert!(
                        d <= 1.0,
                        "{name}, {noise:?}, from {start}, signal {signal}: {d:.2} times what is allowed"
                    );
                }
            }
        }
    }
}

/// The twin: a step that is a tenth too long shows.
#[test]
fn a_wrong_step_shows() {
    for (name, step) in models() {
        assert!(distance(&step, CycleNoise::Multiplicative(0.3), 0.0, 0.6, 1.1) > 1.0, "{name}");
    }
}

/// Counted pulses, 20 on every cell, at once and one by one: distance as above. Cells are independent here.
fn counted_distance(step: &StepModel, noise: CycleNoise, start: f32, up: bool, factor: f32) -> f64 {
    let after = |at_once: bool, step_size: f32| {
        let device = Device {
            cycle_noise: noise,
            granularity: Some(1e-3),
            ..Device::ideal(step.clone(), step_size, -0.6, 0.6)
        };
        let mut tile = Tile::new(64, 64, device, Key::new(1)).unwrap();
        tile.cells.at_once = at_once;
        tile.program(&vec![start; 64 * 64], Key::new(2)).unwrap();
        let scale = if up { 0.02 } else { -0.02 };
        let scheme = Scheme::Deterministic(Trains::default());
        tile.increment(scale, &vec![1.0; 64 * 64], scheme, Key::new(if at_once { 3 } else { 4 })).unwrap();
        assert_eq!(tile.pulses_sent(), 20 * 64 * 64);
        Summary::of(tile.weights().iter().map(|w| f64::from(*w)))
    };
    let (a, b) = (after(true, 1e-3 * factor), after(false, 1e-3));
    let curved = !matches!(step, StepModel::Constant | StepModel::Linear { .. });
    let bias = if curved { 1e-3 * (b.mean - f64::from(start)).abs() } else { 0.0 };
    let mean_allowed = Z * a.se.hypot(b.se) + bias + 1e-6;
    // Standard deviations of nearly normal samples, and what a train's curvature adds.
    let std_allowed = Z * a.std.hypot(b.std) / (2.0 * a.n as f64).sqrt() + 0.01 * b.std + 1e-7;
    ((a.mean - b.mean).abs() / mean_allowed).max((a.std - b.std).abs() / std_allowed)
}

#[test]
fn counted_pulses_at_once_have_the_statistics_of_single_pulses() {
    for (name, step) in models() {
        for noise in
            [CycleNoise::Multiplicative(0.0), CycleNoise::Multiplicative(0.3), CycleNoise::Additive(0.3)]
        {
            for start in [0.0, 0.3, -0.5] {
                for up in [true, false] {
                    let d = counted_distance(&step, noise, start, up, 1.0);
                    assert!(d <= 1.0, "{name}, {noise:?}, from {start}, up {up}: {d:.2} times what is allowed");
                }
            }
        }
        // The twin: a step that is a hundredth too long shows.
        assert!(counted_distance(&step, CycleNoise::Multiplicative(0.1), 0.0, true, 1.01) > 1.0, "{name}");
    }
}

#[test]
fn stuck_cells_stay() {
    let device = Device {
        stuck: Some(super::Stuck { probability: 0.2, range: 0.1 }),
        ..Device::ideal(StepModel::Power { shape: 1.0, spread: 0.0 }, 1e-2, -0.6, 0.6)
    };
    let mut tile = Tile::new(40, 50, device, Key::new(4)).unwrap();
    let before = tile.weights().to_vec();
    for k in 0..20 {
        tile.update(0.5, &[0.5; 40], &[0.5; 50], Trains::default(), Key::new(5).fold(k)).unwrap();
    }
    assert!(tile.weights().iter().all(|w| w.is_finite()));
    let stuck = tile.weights().iter().zip(&before).filter(|(a, b)| a == b).count();
    // Binomial(2000, 0.2): 400 ± 18.
    assert!((stuck as f64 - 400.0).abs() < Z * 17.9, "{stuck} stuck");
    assert!(before.iter().all(|w| w.abs() <= 0.1));
}
