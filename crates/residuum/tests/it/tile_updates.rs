//! Statistics of one stochastic update against AIHWKIT 1.1.0 (`golden/aihwkit/update_statistics.json`): mean and
//! variance of each cell, and covariance of cells that share a row or a column line.

use residuum::Key;
use residuum::stats::Z;
use residuum::tile::{CycleNoise, Device, Management, Scheme, StepModel, Tile, Trains};
use serde_json::Value;

const GRID: [f32; 8] = [-1.0, -0.7, -0.3, -0.05, 0.05, 0.3, 0.7, 1.0];
const SIDE: usize = 64;
const REPEATS: usize = 600;

fn cases() -> Vec<Value> {
    let path = format!("{}/../../golden/aihwkit/update_statistics.json", env!("CARGO_MANIFEST_DIR"));
    let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    document["cases"].as_array().unwrap().clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// Mean, variance, covariance along the row line and along the column line, by grid cell.
type Statistics = [[[f64; 8]; 8]; 4];

fn theirs(case: &Value) -> Statistics {
    ["mean_dw", "var_dw", "cov_same_row", "cov_same_col"]
        .map(|name| std::array::from_fn(|i| std::array::from_fn(|j| number(&case[name][i][j]))))
}

fn trains(update: &Value) -> Trains {
    let on = |name: &str| update[name] != false;
    let management = match (on("update_bl_management"), on("update_management")) {
        (true, _) => Management::Length,
        (false, true) => Management::Scale,
        (false, false) => Management::Fixed,
    };
    Trains { length: update["desired_bl"].as_u64().unwrap() as u32, management }
}

/// Each grid cell stands in 8 × 8 places of the tile.
fn ours(case: &Value, independent: bool) -> Statistics {
    let step = number(&case["dw_min"]) as f32;
    let device = Device {
        cycle_noise: CycleNoise::Multiplicative(number(&case["dw_min_std"]) as f32),
        ..Device::ideal(StepModel::Constant, step, -10.0, 10.0)
    };
    let (rate, size) = (number(&case["lr"]) as f32, number(&case["d_scale"]) as f32);
    let x: Vec<f32> = (0..SIDE).map(|j| GRID[j % 8]).collect();
    let d: Vec<f32> = (0..SIDE).map(|i| size * GRID[i % 8]).collect();
    let mut tile = Tile::new(SIDE, SIDE, device, Key::new(1)).unwrap();
    let zero = vec![0.0; SIDE * SIDE];
    let mut sums: Statistics = [[[0.0; 8]; 8]; 4];
    for repeat in 0..REPEATS {
        let key = Key::new(2).fold(repeat as u64);
        tile.program(&zero, key).unwrap();
        tile.write(-rate, &d, &x, trains(&case["update"]), key).unwrap();
        let w = |i: usize, j: usize| f64::from(tile.weights()[i * SIDE + j]);
        let mut other = tile.clone();
        if independent {
            // The twin: partners of a covariance come from another draw, as if lines were not shared.
            other.program(&zero, key).unwrap();
            other.write(-rate, &d, &x, trains(&case["update"]), key.named("other")).unwrap();
        }
        let partner = |i: usize, j: usize| f64::from(other.weights()[i * SIDE + j]);
        for i in 0..SIDE {
            for j in 0..SIDE {
                let (a, b) = (i % 8, j % 8);
                sums[0][a][b] += w(i, j);
                sums[1][a][b] += w(i, j) * w(i, j);
                sums[2][a][b] += w(i, j) * partner(i, (j + 8) % SIDE);
                sums[3][a][b] += w(i, j) * partner((i + 8) % SIDE, j);
            }
        }
    }
    let n = (REPEATS * 64) as f64;
    let mean = sums[0].map(|row| row.map(|v| v / n));
    let mut out = sums.map(|table| table.map(|row| row.map(|v| v / n)));
    for a in 0..8 {
        for b in 0..8 {
            for table in &mut out[1..] {
                table[a][b] -= mean[a][b] * mean[a][b];
            }
        }
    }
    out
}

/// Largest distance of each statistic from the reference in units of what is allowed.
fn distances(case: &Value, independent: bool) -> [f64; 4] {
    compare(case, &ours(case, independent), &theirs(case))
}

fn compare(case: &Value, ours: &Statistics, theirs: &Statistics) -> [f64; 4] {
    let step = number(&case["dw_min"]);
    let mut worst = [0.0f64; 4];
    for a in 0..8 {
        for b in 0..8 {
            let var = theirs[1][a][b].max(ours[1][a][b]);
            // Repeats are independent, cells of one repeat are not: take the number of repeats as the sample size of
            // what lines decide, for both sides (AIHWKIT's has 1500). Rare pulses make the fourth moment step²·var.
            let n = REPEATS as f64;
            let both = (1.0 + n / 1500.0).sqrt();
            let fourth = (3.0 * var * var + step * step * var).sqrt();
            let table = 0.0055 * number(&case["dw_min_std"]) * theirs[0][a][b].abs();
            let rounding = 2e-5 * theirs[0][a][b].abs() + 1e-9;
            let allowed = [
                Z * (var / n).sqrt() * both + table + rounding,
                Z * fourth / n.sqrt() * both + 1e-12,
                Z * fourth / n.sqrt() * both + 1e-12,
                Z * fourth / n.sqrt() * both + 1e-12,
            ];
            for s in 0..4 {
                worst[s] = worst[s].max((ours[s][a][b] - theirs[s][a][b]).abs() / allowed[s]);
            }
        }
    }
    worst
}

#[test]
fn update_statistics_are_aihwkits() {
    let mut checked = 0;
    for (index, case) in cases().iter().enumerate() {
        if case["update"]["pulse_type"] != "StochasticCompressed" {
            continue;
        }
        let found = distances(case, false);
        assert!(found.iter().all(|d| *d <= 1.0), "case {index} {}: {found:?}", case["update"]);
        checked += 1;
    }
    assert_eq!(checked, 40);
}

/// The twin: lines that are not shared have the same means and variances, and lose the covariances.
#[test]
fn unshared_lines_are_seen() {
    let case = &cases()[0];
    let found = distances(case, true);
    assert!(found[0] <= 1.0 && found[1] <= 1.0, "{found:?}");
    assert!(found[2] > 1.0 && found[3] > 1.0, "{found:?}");
}

/// Largest distance, in pulses, of one update without chance from the reference.
fn rounded_distance(case: &Value, scheme: Scheme) -> f64 {
    let step = number(&case["dw_min"]);
    let device = Device::ideal(StepModel::Constant, step as f32, -10.0, 10.0);
    let mut tile = Tile::new(8, 8, device, Key::new(1)).unwrap();
    let d = GRID.map(|v| number(&case["d_scale"]) as f32 * v);
    tile.write(-number(&case["lr"]) as f32, &d, &GRID, scheme, Key::new(2)).unwrap();
    let means = theirs(case)[0];
    let moved: f64 = means.as_flattened().iter().map(|m| (m / step).round().abs()).sum();
    if tile.pulses_sent() as f64 != moved {
        return f64::INFINITY;
    }
    let both = tile.weights().iter().zip(means.as_flattened());
    both.map(|(w, m)| (f64::from(*w) - m).abs() / step).fold(0.0, f64::max)
}

#[test]
fn updates_without_chance_are_aihwkits() {
    let mut checked = 0;
    for case in cases() {
        let trains = trains(&case["update"]);
        let (scheme, other) = match case["update"]["pulse_type"].as_str().unwrap() {
            "MeanCount" => (Scheme::MeanCount(trains), Scheme::Deterministic(trains)),
            "DeterministicImplicit" => (Scheme::Deterministic(trains), Scheme::MeanCount(trains)),
            _ => continue,
        };
        let found = rounded_distance(&case, scheme);
        assert!(found < 1e-3, "{scheme:?}: {found} pulses apart");
        // The twin: the two ways of rounding differ where an update is long enough to show it.
        if number(&case["d_scale"]) > 0.5 {
            assert!(rounded_distance(&case, other) >= 1.0, "{other:?} passes for {scheme:?}");
        }
        checked += 1;
    }
    assert_eq!(checked, 4);
}

/// Pulses without chance have the cycle noise of single pulses: variance n·(σs)² on a constant device.
#[test]
fn updates_without_chance_have_their_noise() {
    let (step, sigma, n) = (1e-3, 0.3, 20.0);
    let device = Device {
        cycle_noise: CycleNoise::Multiplicative(sigma),
        ..Device::ideal(StepModel::Constant, step, -10.0, 10.0)
    };
    for scheme in [Scheme::Deterministic(Trains::default()), Scheme::MeanCount(Trains::default())] {
        let mut tile = Tile::new(100, 300, device.clone(), Key::new(1)).unwrap();
        tile.write(1.0, &[n * step; 100], &[1.0; 300], scheme, Key::new(6)).unwrap();
        let sample = residuum::stats::Summary::of(tile.weights().iter().map(|w| f64::from(*w)));
        let std = f64::from(sigma * step * n.sqrt());
        assert!((sample.mean - f64::from(n * step)).abs() < Z * std / 30_000f64.sqrt() + 1e-7);
        assert!((sample.std / std - 1.0).abs() < Z / 60_000f64.sqrt(), "{} instead of {std}", sample.std);
        assert_eq!(tile.pulses_sent(), 600_000);
    }
}

/// The twin of the means and variances: signals a tenth too large move the first, noise three times as wide the second.
#[test]
fn wrong_steps_and_noise_are_seen() {
    let noisy = |case: &&Value| number(&case["dw_min_std"]) > 0.2 && number(&case["d_scale"]) >= 0.1;
    let cases = cases();
    let case = cases.iter().find(noisy).unwrap();
    assert!(distances(case, false).iter().all(|d| *d <= 1.0));
    let with = |name: &str, factor: f64| {
        let mut wrong = case.clone();
        wrong[name] = Value::from(number(&case[name]) * factor);
        let (ours, theirs) = (ours(&wrong, false), theirs(case));
        compare(case, &ours, &theirs)
    };
    assert!(with("d_scale", 1.1)[0] > 1.0, "means: {:?}", with("d_scale", 1.1));
    assert!(with("dw_min_std", 3.0)[1] > 1.0, "variances: {:?}", with("dw_min_std", 3.0));
}

#[test]
fn an_update_is_the_same_on_any_number_of_threads() {
    let device = Device {
        cycle_noise: CycleNoise::Multiplicative(0.3),
        ..Device::ideal(StepModel::soft_bounds(), 1e-3, -0.6, 0.6)
    };
    let run = |threads: usize, size: f32, scheme: Scheme| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut tile = Tile::new(256, 200, device.clone(), Key::new(3)).unwrap();
            let mut signals = vec![0.0; 10 * 456];
            Key::new(4).fill_normal(&mut signals);
            let signals: Vec<f32> = signals.into_iter().map(|v| size * v as f32).collect();
            tile.write(0.05, &signals[..2560], &signals[2560..], scheme, Key::new(5)).unwrap();
            (tile.weights().to_vec(), tile.pulses_sent())
        })
    };
    let trains = Trains::default();
    let schemes = [
        Scheme::Stochastic(trains),
        Scheme::Deterministic(trains),
        Scheme::MeanCount(trains),
        Scheme::Expected,
    ];
    for scheme in schemes {
        for size in [1.0, 0.05] {
            let (one, pulses) = run(1, size, scheme);
            assert_eq!(pulses > 100, scheme != Scheme::Expected);
            assert_eq!((one, pulses), run(2, size, scheme), "{scheme:?}");
        }
    }
}

#[test]
fn bad_updates_name_what_is_wrong() {
    let mut tile = Tile::new(2, 3, Device::ideal(StepModel::Constant, 1e-3, -1.0, 1.0), Key::new(1)).unwrap();
    let mut message = |d: &[f32], x: &[f32], length: u32| {
        let trains = Trains { length, ..Trains::default() };
        tile.write(0.1, d, x, trains, Key::new(1)).unwrap_err().to_string()
    };
    assert_eq!(message(&[0.1, 0.2], &[0.1, 0.2], 31), "col_signals must have 3 entries, got 2");
    assert_eq!(message(&[0.1, f32::NAN], &[0.1, 0.2, 0.3], 31), "row_signals[1] must be finite, got NaN");
    assert_eq!(message(&[0.1, 0.2], &[0.1, 0.2, 0.3], 0), "train_length must be between 1 and 31, got 0");
    assert!(tile.weights().iter().all(|w| *w == 0.0), "nothing is pulsed");
    let bad = Device::ideal(StepModel::Constant, 1e-3, 1.0, -1.0);
    assert_eq!(
        Tile::new(2, 2, bad, Key::new(1)).unwrap_err().to_string(),
        "min must be finite and below max, got 1"
    );
}
