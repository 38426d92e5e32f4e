//! Writes of one column and of a whole matrix.

use residuum::Key;
use residuum::stats::Z;
use residuum::testing::tile::take_at_once;
use residuum::tile::{CycleNoise, Device, Management, Nodes, Scheme, Spread, StepModel, Tile, Trains, presets};

fn schemes() -> [Scheme; 5] {
    let trains = Trains::default();
    [
        Scheme::Expected,
        Scheme::Stochastic(trains),
        Scheme::Stochastic(Trains { length: 5, management: Management::Fixed }),
        Scheme::Deterministic(trains),
        Scheme::MeanCount(trains),
    ]
}

fn devices() -> impl Iterator<Item = Device> {
    let kinked = StepModel::Piecewise(Nodes { up: vec![1.5, 0.8, 0.2], down: vec![0.1, 1.2] });
    vec![
        presets::gokmen_vlasov(),
        presets::capacitor(),
        presets::reram_es(),
        presets::reram_array_om(),
        presets::pcm(),
        Device::paper_power(2.0, 1.0, 2e-3),
        Device { cycle_noise: CycleNoise::Multiplicative(0.3), ..Device::ideal(kinked, 2e-3, -0.5, 0.7) },
    ]
    .into_iter()
}

/// Some numbers between −1 and 1; every seventh is 0.
fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let number = |i: usize| Key::new(seed).uniform_at(i as u64) as f32 * 2.0 - 1.0;
    (0..n).map(|i| if i % 7 == 3 { 0.0 } else { number(i) }).collect()
}

fn seen(tile: &Tile) -> (Vec<f32>, Vec<f32>, u64) {
    (tile.weights().to_vec(), tile.hidden().to_vec(), tile.pulses_sent())
}

/// Without chance and noise a matrix is its columns, written in any order. The two choose differently which cells take
/// their pulses at once, which for the steep exponential steps here is right to 2e-2 of what a train moves (one pulse of the
/// longest train is 3e-2) and, for the last bits of another series, 2e-6.
#[test]
fn a_matrix_is_written_as_its_columns_are() {
    // Rows longer than a block of cells, shorter than a vector, and neither.
    for (shape, device) in
        [(300, 131), (3, 4500), (70, 5)].into_iter().flat_map(|s| devices().map(move |d| (s, d)))
    {
        let (rows, cols) = shape;
        let direction = numbers(rows * cols, 1);
        let device = Device { cycle_noise: CycleNoise::Multiplicative(0.0), write_noise: 0.0, ..device };
        for scheme in schemes().into_iter().filter(|scheme| !matches!(scheme, Scheme::Stochastic(_))) {
            let key = Key::new(3);
            let mut whole = Tile::new(rows, cols, device.clone(), Key::new(2)).unwrap();
            let [mut by_columns, mut backwards] = [whole.clone(), whole.clone()];
            let fresh = seen(&whole);
            let mut moved = vec![0.0; rows * cols];
            // Twice: large and small enough for single pulses.
            for (scale, key) in [(-0.2, key.named("large")), (1e-3, key.named("small"))] {
                let before = whole.weights().to_vec();
                whole.write_matrix(scale, &direction, scheme, key).unwrap();
                for ((moved, after), before) in moved.iter_mut().zip(whole.weights()).zip(before) {
                    *moved += (after - before).abs();
                }
                let write = |tile: &mut Tile, j: usize| {
                    let values: Vec<f32> = (0..rows).map(|i| direction[i * cols + j]).collect();
                    tile.write_column(j, scale, &values, scheme, key.fold(j as u64)).unwrap();
                };
                // Columns in turn are found in another place than columns out of it.
                (0..cols).for_each(|j| write(&mut by_columns, j));
                (0..cols).rev().for_each(|j| write(&mut backwards, j));
            }
            assert!(seen(&whole) != fresh, "{scheme:?}, {:?}", device.step);
            assert!(seen(&by_columns) == seen(&backwards), "{scheme:?}, {:?}", device.step);
            assert_eq!(whole.pulses_sent(), by_columns.pulses_sent(), "{scheme:?}, {:?}", device.step);
            for ((a, b), moved) in whole.weights().iter().zip(by_columns.weights()).zip(moved) {
                assert!(
                    (a - b).abs() < 2e-2 * moved + 2e-6,
                    "{scheme:?}, {:?}: {a} and {b}, moved by {moved}",
                    device.step
                );
            }
        }
    }
}

/// Trains of up to 31 pulses on cells of so many states, at once and one by one: the largest difference, relative to how far
/// the cell moved.
fn error_of_trains(states: f32, step: StepModel) -> f32 {
    let (rows, cols) = (40, 100);
    let device = Device::ideal(step, 1.2 / states, -0.6, 0.6);
    let trains = Trains { length: 31, management: Management::Fixed };
    let at_once = [true, false].map(|at_once| {
        let mut tile = Tile::new(rows, cols, device.clone(), Key::new(2)).unwrap();
        take_at_once(&mut tile, at_once);
        tile.program(&numbers(rows * cols, 5).iter().map(|v| 0.3 * v).collect::<Vec<_>>(), Key::new(3))
            .unwrap();
        let before = tile.weights().to_vec();
        let scale = 31.0 * tile.device().granularity();
        tile.write_matrix(scale, &numbers(rows * cols, 6), Scheme::Deterministic(trains), Key::new(4)).unwrap();
        let moved = tile.weights().iter().zip(&before).map(|(after, before)| after - before);
        moved.collect::<Vec<f32>>()
    });
    let errors = at_once[0].iter().zip(&at_once[1]).map(|(a, b)| (a - b).abs() / b.abs().max(1e-4));
    errors.fold(0.0, f32::max)
}

/// Cells of some 200 states and more have trains of three terms of a series, within 5.5e-5 where the step is straight; where it bends, that
/// does not matter. Steeper ones have all that single precision tells.
#[test]
fn trains_of_gentle_cells_are_as_pulses_one_by_one() {
    for states in [60.0, 110.0, 210.0, 420.0, 1200.0] {
        for step in [StepModel::power(1.0), StepModel::soft_bounds()] {
            let error = error_of_trains(states, step.clone());
            assert!(error < 1e-4, "{step:?} with {states} states: {error}");
        }
    }
    let bent = error_of_trains(600.0, StepModel::power(2.0));
    assert!((1e-4..1e-3).contains(&bent), "the test sees errors of the affine train: {bent}");
}

/// Cells whose bounds were drawn at 0 or beside it, where a slope has no limit, are never applied at once and stay finite.
#[test]
fn the_steepest_cells_stay_finite() {
    let (rows, cols) = (40, 1000);
    for step in [StepModel::soft_bounds(), StepModel::power(1.0), StepModel::power(2.5)] {
        for cycle_noise in [CycleNoise::Multiplicative(0.3), CycleNoise::Additive(0.3)] {
            let spread = Spread::normal(1.0);
            let device = Device {
                max_spread: spread,
                min_spread: spread,
                cycle_noise,
                ..Device::ideal(step.clone(), 1e-3, -0.6, 0.6)
            };
            let mut tile = Tile::new(rows, cols, device, Key::new(1)).unwrap();
            tile.write_matrix(0.02, &numbers(rows * cols, 2), Trains::default(), Key::new(3)).unwrap();
            tile.write(0.02, &numbers(8 * rows, 4), &numbers(8 * cols, 5), Trains::default(), Key::new(6))
                .unwrap();
            let bad = tile.weights().iter().filter(|w| !w.is_finite()).count();
            assert_eq!(bad, 0, "{step:?}, {cycle_noise:?}");
        }
    }
}

/// Probabilities of 0 to n successes.
fn binomial(n: u32, p: f64) -> Vec<f64> {
    let mut mass = (1.0 - p).powi(n.cast_signed());
    let mut all = vec![mass];
    for k in 0..n {
        mass *= f64::from(n - k) / f64::from(k + 1) * p / (1.0 - p);
        all.push(mass);
    }
    all
}

/// χ² of the pulses that a value of 1 on each of many columns gives, per degree of freedom, and how far it may be from 1. A column
/// fires with q in each slot, its row with p, so that the number of coincidences is binomial with pq; the cells of a row are
/// independent. Three more rows have the value `other`, or it is one step of a converter and they have three.
fn chi_square_of_counts(slots: u32, pq: f64, assumed: f64, other: Option<f32>) -> [f64; 2] {
    let (rows, cols, repeats) = (4, 4096, 12);
    let step = 1.0 / 4096.0;
    let device = Device::ideal(StepModel::Constant, step, -1.0, 1.0);
    let scheme = Scheme::Stochastic(Trains { length: slots, management: Management::Fixed });
    // Rows and columns fire alike: q = p = √(scale/(step·slots)).
    let scale = pq as f32 * step * slots as f32;
    let mut tile = Tile::new(rows, cols, device, Key::new(1)).unwrap();
    let (mut matrix, mut steps) = (vec![1.0; rows * cols], vec![1; rows * cols]);
    matrix[cols..].fill(other.unwrap_or_default());
    steps[cols..].fill(3);
    let mut counts = vec![0.0; slots as usize + 1];
    for k in 0..repeats {
        tile.program(&vec![0.0; rows * cols], Key::new(2)).unwrap();
        let key = Key::new(3).fold(k);
        match other {
            Some(_) => tile.write_matrix(scale, &matrix, scheme, key).unwrap(),
            None => tile.write_steps(scale, &steps, scheme, key).unwrap(),
        }
        tile.weights()[..cols].iter().for_each(|w| counts[(w / step).round() as usize] += 1.0);
    }
    let total = (cols as u64 * repeats) as f64;
    // Bins of at least 20 expected entries.
    let (mut chi, mut bins) = (0.0, 0.0);
    let (mut found, mut expected) = (0.0, 0.0);
    let mut left = total;
    for (count, mass) in counts.iter().zip(binomial(slots, assumed)) {
        (found, expected) = (found + count, expected + total * mass);
        if expected >= 20.0 && left - expected >= 20.0 {
            chi += (found - expected) * (found - expected) / expected;
            (bins, left) = (bins + 1.0, left - expected);
            (found, expected) = (0.0, 0.0);
        }
    }
    chi += (found - left) * (found - left) / left;
    [chi / bins, Z * (2.0 / bins).sqrt() + Z * Z / bins]
}

/// By the inversion of the distribution, and in steps of a converter by tables.
#[test]
fn a_matrix_meets_its_lines_by_the_binomial_law() {
    for other in [Some(0.3), None] {
        for (slots, pq) in [(1, 0.09), (5, 0.04), (10, 0.4), (31, 0.2), (31, 0.7), (31, 0.97)] {
            let [chi, allowed] = chi_square_of_counts(slots, pq, pq, other);
            let case = format!("{slots} slots, {pq}, beside {other:?}");
            assert!((chi - 1.0).abs() < allowed, "{case}: {chi} is not within {allowed} of 1");
            let twin = if pq < 0.9 { 1.2 * pq } else { 0.99 * pq };
            let [twin, _] = chi_square_of_counts(slots, pq, twin, other);
            assert!(twin - 1.0 > allowed, "{case}: another probability is not seen, {twin}");
        }
    }
}

fn whole_steps(cells: usize) -> Vec<i16> {
    numbers(cells, 11).into_iter().map(|v| (4.0 * v).round() as i16).collect()
}

/// Tables that a tile keeps from earlier writes, at another rate, do not change what it does.
#[test]
fn steps_are_written_the_same_whatever_was_written_before() {
    let (rows, cols) = (128, 300);
    let write = |tile: &mut Tile, scale: f32, key: u64| {
        tile.program(&vec![0.0; rows * cols], Key::new(12)).unwrap();
        tile.write_steps(scale, &whole_steps(rows * cols), Trains::default(), Key::new(key)).unwrap();
        tile.weights().to_vec()
    };
    let new = || Tile::new(rows, cols, presets::ecram(), Key::new(5)).unwrap();
    let mut used = new();
    write(&mut used, 0.005, 13);
    write(&mut used, -0.006, 14);
    let again = write(&mut used, 0.003, 15);
    assert!(again == write(&mut new(), 0.003, 15));
    assert!(again != write(&mut new(), 0.003, 16));
}

/// Without chance, steps are the values that they stand for, bit for bit; by chance, cells move as far on average.
#[test]
fn steps_are_the_values_they_stand_for() {
    let (rows, cols, scale) = (128, 300, 2f32.powi(-8));
    for scheme in schemes() {
        let steps = whole_steps(rows * cols);
        let values: Vec<f32> = steps.iter().map(|steps| f32::from(*steps)).collect();
        let mut tile = Tile::new(rows, cols, presets::ecram(), Key::new(5)).unwrap();
        let mut other = tile.clone();
        tile.write_steps(scale, &steps, scheme, Key::new(6)).unwrap();
        other.write_matrix(scale, &values, scheme, Key::new(6)).unwrap();
        if !matches!(scheme, Scheme::Stochastic(_)) {
            assert!(seen(&tile) == seen(&other), "{scheme:?}");
            continue;
        }
        // Pulses that a write of one value sends in both ways; columns fire alike, as they have the same key.
        let [ours, theirs] = [&tile, &other].map(|tile| tile.pulses_sent() as f64);
        assert!(ours > 5e4 && (ours - theirs).abs() < Z * (ours + theirs).sqrt(), "{ours} and {theirs}");
        // The twin: a twentieth more.
        assert!((1.05 * ours - theirs).abs() > Z * (ours + theirs).sqrt());
    }
    let mut tile = Tile::new(2, 2, presets::ecram(), Key::new(5)).unwrap();
    let short = tile.write_steps(0.1, &[1; 3], Trains::default(), Key::new(6)).unwrap_err().to_string();
    assert!(short.contains("steps"), "{short}");
}

#[test]
fn a_matrix_is_written_the_same_on_any_number_of_threads() {
    let (rows, cols) = (512, 300);
    let direction = numbers(rows * cols, 4);
    for scheme in schemes() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut tile = Tile::new(rows, cols, presets::ecram(), Key::new(5)).unwrap();
                tile.write_matrix(0.01, &direction, scheme, Key::new(6)).unwrap();
                seen(&tile)
            })
        };
        assert!(run(1) == run(2), "{scheme:?}");
    }
}

/// Without chance and noise, a column written is the update with a signal on that column alone, bit for bit.
#[test]
fn a_column_is_an_update_with_one_signal() {
    let (rows, cols, column) = (70, 9, 4);
    let values = numbers(rows, 7);
    let mut one_hot = vec![0.0; cols];
    one_hot[column] = 1.0;
    for device in devices() {
        let device = Device { cycle_noise: CycleNoise::Multiplicative(0.0), write_noise: 0.0, ..device };
        for scheme in schemes().into_iter().filter(|scheme| !matches!(scheme, Scheme::Stochastic(_))) {
            let mut tile = Tile::new(rows, cols, device.clone(), Key::new(8)).unwrap();
            let mut other = tile.clone();
            tile.write(0.3, &values, &one_hot, scheme, Key::new(9)).unwrap();
            other.write_column(column, 0.3, &values, scheme, Key::new(9)).unwrap();
            assert!(seen(&tile) == seen(&other), "{scheme:?}, {:?}", device.step);
            assert!(tile.weights().iter().any(|w| *w != 0.0));
        }
    }
}

/// Mean, variance and covariance of two cells of the written column over many draws of `write`.
fn statistics(repeats: u64, write: impl Fn(&mut Tile, Key)) -> [f64; 3] {
    let device = Device {
        cycle_noise: CycleNoise::Multiplicative(0.3),
        ..Device::ideal(StepModel::Constant, 1e-3, -1.0, 1.0)
    };
    let mut tile = Tile::new(2, 3, device, Key::new(1)).unwrap();
    let [mut a, mut square, mut product, mut b] = [0.0; 4];
    for k in 0..repeats {
        let key = Key::new(10).fold(k);
        tile.program(&[0.0; 6], key).unwrap();
        write(&mut tile, key);
        let [x, y] = [tile.weights()[1], tile.weights()[4]].map(|w| f64::from(w) / 1e-3);
        (a, b) = (a + x, b + y);
        (square, product) = (square + x * x, product + x * y);
    }
    let n = repeats as f64;
    let (a, b) = (a / n, b / n);
    [a, square / n - a * a, product / n - a * b]
}

/// Stochastic trains: the column's line is shared by its cells, so they are correlated as in an update.
#[test]
fn a_column_has_the_statistics_of_an_update() {
    let scheme = Scheme::Stochastic(Trains { length: 10, management: Management::Fixed });
    let (values, repeats) = ([0.5f32, -0.8], 20_000);
    let updated =
        statistics(repeats, |tile, key| tile.write(4e-3, &values, &[0.0, 1.0, 0.0], scheme, key).unwrap());
    let written = statistics(repeats, |tile, key| tile.write_column(1, 4e-3, &values, scheme, key).unwrap());
    let matrix = [0.0, values[0], 0.0, 0.3, values[1], -0.2];
    let whole = statistics(repeats, |tile, key| tile.write_matrix(4e-3, &matrix, scheme, key).unwrap());
    // The twin: one write per row draws the column's line anew.
    let apart = statistics(repeats, |tile, key| {
        for (row, name) in ["first", "second"].into_iter().enumerate() {
            let mut alone = [0.0; 2];
            alone[row] = values[row];
            tile.write_column(1, 4e-3, &alone, scheme, key.named(name)).unwrap();
        }
    });
    // In each of 10 slots the column fires with q = √0.4, the rows with p = ½q and ⁴⁄₅q: n = 10pq, and so on.
    let q = 0.4f64.sqrt();
    let (p, r) = (0.5 * q, 0.8 * q);
    let exact = [10.0 * p * q, 10.0 * (p * q * (1.0 - p * q) + 0.09 * p * q), -10.0 * p * r * q * (1.0 - q)];
    let n = repeats as f64;
    // Counts are nearly normal: standard errors of a mean, a variance and a covariance.
    let other = 10.0 * (r * q * (1.0 - r * q) + 0.09 * r * q);
    let allowed = [
        (exact[1] / n).sqrt(),
        1.1 * exact[1] * (2.0 / n).sqrt(),
        1.1 * ((exact[1] * other + exact[2] * exact[2]) / n).sqrt(),
    ];
    for s in 0..3 {
        for found in [updated[s], written[s], whole[s]] {
            assert!((found - exact[s]).abs() < Z * allowed[s], "{s}: {found} instead of {}", exact[s]);
        }
    }
    assert!((apart[0] - exact[0]).abs() < Z * allowed[0]);
    assert!((apart[2] - exact[2]).abs() > Z * allowed[2], "an unshared line is not seen: {}", apart[2]);
}

#[test]
fn bad_writes_name_what_is_wrong_and_write_nothing() {
    let mut tile = Tile::new(2, 3, Device::ideal(StepModel::Constant, 1e-3, -1.0, 1.0), Key::new(1)).unwrap();
    let key = Key::new(2);
    for scheme in schemes() {
        let mut column = |j: usize, scale: f32, values: &[f32]| {
            tile.write_column(j, scale, values, scheme, key).unwrap_err().to_string()
        };
        assert_eq!(column(3, 1.0, &[0.1, 0.2]), "column must be below the number of columns, got 3");
        assert_eq!(column(0, 1.0, &[0.1]), "values must have 2 entries, got 1");
        assert_eq!(column(0, 1.0, &[0.1, f32::INFINITY]), "values[1] must be finite, got inf");
        assert_eq!(column(0, f32::NAN, &[0.1, 0.2]), "scale must be finite, got NaN");
        let mut matrix =
            |direction: &[f32]| tile.write_matrix(0.1, direction, scheme, key).unwrap_err().to_string();
        assert_eq!(matrix(&[0.1; 5]), "direction must have 6 entries, got 5");
        assert_eq!(matrix(&[1.0, 1.0, f32::NAN, 1.0, 1.0, 1.0]), "direction[2] must be finite, got NaN");
    }
    let trains = Trains { length: 40, ..Trains::default() };
    let message = tile.write_matrix(0.1, &[0.1; 6], trains, key).unwrap_err().to_string();
    assert_eq!(message, "train_length must be between 1 and 31, got 40");
    assert!(tile.weights().iter().all(|w| *w == 0.0) && tile.pulses_sent() == 0);
}
