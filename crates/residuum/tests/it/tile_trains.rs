//! Trains taken at once against the same trains taken pulse by pulse: the shortcut must not show.

use residuum::Key;
use residuum::stats::{Summary, Z};
use residuum::testing::tile::{Meeting, RowFire, SIGN, lines, one_pulse, step_size, take_at_once};
use residuum::tile::{
    CycleNoise, Device, Exponents, Nodes, Reference, Saturation, Scheme, Slopes, Spread, StepModel, Stuck,
    Tile, Trains,
};

fn linear(slope: f32) -> StepModel {
    StepModel::Linear(Slopes { slope: [slope; 2], ..Slopes::soft_bounds() })
}

fn models() -> Vec<(&'static str, StepModel)> {
    let exponential =
        StepModel::Exponential(Saturation::aihwkit([0.00081, 0.36833], [12.44625, 12.78785], 0.244, 0.2425));
    vec![
        ("constant", StepModel::Constant),
        ("linear", linear(0.5)),
        ("soft bounds", linear(1.0)),
        (
            "soft bounds, reversed",
            StepModel::Linear(Slopes { reversed: [Some(0.01), Some(0.2)], ..Slopes::soft_bounds() }),
        ),
        ("power 1", StepModel::power(1.0)),
        ("power 2.5", StepModel::power(2.5)),
        ("power 0.5", StepModel::power(0.5)),
        ("power 2 and 1.4", StepModel::Power(Exponents { imbalance: 0.3, ..Exponents::new(2.0) })),
        ("exponential", exponential),
        (
            "piecewise, kinks",
            StepModel::Piecewise(Nodes { up: vec![1.5, 0.8, 0.9, 0.2], down: vec![0.1, 1.2, 1.1] }),
        ),
        ("piecewise, smooth", {
            let bent = |t: f32| (-1.5 * t).exp();
            let up: Vec<f32> = (0u8..=200).map(|i| bent(f32::from(i) / 200.0)).collect();
            StepModel::Piecewise(Nodes { down: up.iter().rev().copied().collect(), up })
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
    // Counted in the right step, so that a wrong one is not made up for by the number of pulses.
    let granularity = Some(Device::ideal(step.clone(), 1e-3, -0.6, 0.6).granularity());
    let device =
        Device { cycle_noise: noise, granularity, ..Device::ideal(step.clone(), step_size, -0.6, 0.6) };
    let mut tile = Tile::new(64, 64, device, Key::new(1)).unwrap();
    let trains = Trains::default();
    let key = Key::new(if at_once { 2 } else { 3 });
    let mut sample = Vec::new();
    for repeat in 0..40u64 {
        take_at_once(&mut tile, at_once);
        tile.program(&vec![start; 64 * 64], key.fold(repeat)).unwrap();
        tile.write(0.05, &[signal; 64], &[0.9; 64], trains, key.fold(repeat)).unwrap();
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
        take_at_once(&mut tile, at_once);
        tile.program(&vec![start; 64 * 64], Key::new(2)).unwrap();
        let scale = if up { 0.02 } else { -0.02 };
        let scheme = Scheme::Deterministic(Trains::default());
        tile.write_matrix(scale, &vec![1.0; 64 * 64], scheme, Key::new(if at_once { 3 } else { 4 })).unwrap();
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
        stuck: Some(Stuck { probability: 0.2, range: 0.1 }),
        ..Device::ideal(StepModel::power(1.0), 1e-2, -0.6, 0.6)
    };
    let mut tile = Tile::new(40, 50, device, Key::new(4)).unwrap();
    let before = tile.weights().to_vec();
    for k in 0..20 {
        tile.write(0.5, &[0.5; 40], &[0.5; 50], Trains::default(), Key::new(5).fold(k)).unwrap();
    }
    assert!(tile.weights().iter().all(|w| w.is_finite()));
    let stuck = tile.weights().iter().zip(&before).filter(|(a, b)| a == b).count();
    // Binomial(2000, 0.2): 400 ± 18.
    assert!((stuck as f64 - 400.0).abs() < Z * 17.9, "{stuck} stuck");
    assert!(before.iter().all(|w| w.abs() <= 0.1));
}

/// A bound at 0 has no slope to give: the step towards it is constant, as is that of a cell stuck at 0.
#[test]
fn bounds_at_zero_leave_steps_finite() {
    let one_sided = Device::ideal(linear(1.0), 1e-2, 0.0, 0.6);
    let mut tile = Tile::new(4, 5, one_sided.clone(), Key::new(1)).unwrap();
    tile.program(&[0.3; 20], Key::new(2)).unwrap();
    tile.pulse_all(false, Key::new(3));
    assert!(tile.weights().iter().all(|w| (w - 0.29).abs() < 1e-6), "{:?}", tile.weights());
    let stuck = Some(Stuck { probability: 1.0, range: 0.0 });
    let mut tile = Tile::new(4, 5, Device { stuck, ..one_sided }, Key::new(1)).unwrap();
    tile.pulse_all(true, Key::new(3));
    tile.write(0.5, &[0.5; 4], &[0.5; 5], Trains::default(), Key::new(5)).unwrap();
    assert!(tile.weights().iter().all(|w| *w == 0.0), "{:?}", tile.weights());
}

/// Power steps under a reference at the symmetric point: up and down steps of each cell agree at 0, and stuck cells do not move.
#[test]
fn a_reference_finds_the_symmetric_point_of_power_steps() {
    let exponents = Exponents { imbalance: 0.3, imbalance_spread: 0.1, ..Exponents::new(1.5) };
    let excess = |at_symmetric_point: bool| {
        let device = Device {
            step_spread: Spread::normal(0.3),
            imbalance_spread: 0.1,
            max_spread: Spread::normal(0.2),
            min_spread: Spread::normal(0.2),
            stuck: Some(Stuck { probability: 0.1, range: 0.1 }),
            reference: Some(Reference { at_symmetric_point, ..Default::default() }),
            ..Device::ideal(StepModel::Power(exponents), 1e-3, -0.6, 0.6)
        };
        let tile = Tile::new(40, 50, device, Key::new(4)).unwrap();
        let step = |i: usize, up: bool| step_size(&tile, i, up, 0.0);
        (0..2000).map(|i| (step(i, true) - step(i, false)).abs()).fold(0.0, f32::max)
    };
    assert!(excess(true) < 1e-8, "{}", excess(true));
    // The twin: without it they do not.
    assert!(excess(false) > 1e-4, "{}", excess(false));
}

/// Varied cells of every model, without noise; steps large enough to meet the bounds.
fn varied() -> Vec<(&'static str, Device)> {
    let piecewise = StepModel::Piecewise(Nodes { up: vec![1.0, 0.6, 0.1], down: vec![0.1, 0.8, 1.0] });
    models()
        .into_iter()
        .chain([("piecewise", piecewise)])
        .map(|(name, step)| {
            let device = Device {
                step_spread: Spread::normal(0.3),
                imbalance_spread: 0.01,
                max_spread: Spread::normal(0.3),
                min_spread: Spread::normal(0.3),
                ..Device::ideal(step, 0.05, -0.6, 0.6)
            };
            (name, device)
        })
        .collect()
}

/// How cells are visited: what takes their pulses one by one, so that replaying them is exact.
#[derive(Clone, Copy)]
enum Visiting {
    /// Slot by slot, by passes over the row.
    Sweep,
    /// Slot by slot, by lists of columns.
    Walk,
    /// All slots of a long train, by a list of columns.
    PickOut,
}

/// Largest difference between an update and the same trains replayed cell by cell and pulse by pulse.
fn replayed(device: &Device, visiting: Visiting, reversed: bool) -> f32 {
    let (cols, active, scale) = match visiting {
        Visiting::Sweep => (150, 1, 0.05),
        Visiting::Walk => (150, 15, 0.05),
        Visiting::PickOut => (1600, 400, 0.5),
    };
    let (rows, batch) = (12, 6);
    let mut tile = Tile::new(rows, cols, device.clone(), Key::new(1)).unwrap();
    take_at_once(&mut tile, matches!(visiting, Visiting::PickOut));
    let mut start: Vec<f32> = (0..rows * cols).map(|i| (i % 11) as f32 * 0.1 - 0.5).collect();
    tile.program(&start, Key::new(2)).unwrap();
    start.copy_from_slice(tile.weights());
    let signal = |i: usize| ((i * 37 % 101) as f32 / 50.0 - 1.0) * 1.4;
    let d: Vec<f32> = (0..batch * rows).map(signal).collect();
    let x: Vec<f32> = (0..batch * cols).map(|i| if i % active == 0 { signal(i) } else { 0.0 }).collect();
    tile.write(scale, &d, &x, Trains::default(), Key::new(3)).unwrap();
    let (mut pulses, mut listed) = (0, 0);
    for row in 0..rows {
        let fires = lines(&tile).with_fires(row, <[RowFire]>::to_vec);
        let samples = (0..batch).filter(|sample| lines(&tile).row(*sample, row).is_some());
        let mut fires: Vec<_> = samples.zip(fires).collect();
        if reversed {
            fires.reverse();
        }
        for (sample, fire) in fires {
            let (train, meeting) = (fire.train, lines(&tile).meeting(fire));
            assert!(!matches!(meeting, Meeting::Together(_)), "pulses are taken one by one");
            listed += usize::from(matches!(meeting, Meeting::Listed(..)));
            for (j, col) in lines(&tile).column_trains(sample).iter().enumerate() {
                let i = row * cols + j;
                for _ in 0..(train & col & !SIGN).count_ones() {
                    start[i] = one_pulse(&tile, i, (train ^ col) & SIGN == 0, start[i], 0.0);
                    pulses += 1;
                }
            }
        }
    }
    assert_eq!(pulses, tile.pulses_sent());
    assert_eq!(listed > 0, matches!(visiting, Visiting::PickOut), "{listed}");
    assert!(pulses > 50, "{pulses}");
    start.iter().zip(tile.weights()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Dense passes and lists, every model: each coincidence is one pulse, in order, with one clip after each.
#[test]
fn updates_are_their_pulses() {
    for (name, device) in varied() {
        for visiting in [Visiting::Sweep, Visiting::Walk, Visiting::PickOut] {
            let d = replayed(&device, visiting, false);
            assert!(d < 2e-5, "{name}: {d}");
        }
        if name != "constant" {
            for visiting in [Visiting::Sweep, Visiting::PickOut] {
                assert!(replayed(&device, visiting, true) > 1e-4, "{name}: another order of samples shows");
            }
        }
    }
}

/// Pulsed cells are shown anew with the stated deviation, the others keep what was shown.
#[test]
fn write_noise_is_redrawn_where_pulses_met() {
    for (size, active) in [(0.02, 1), (0.02, 30), (0.6, 1)] {
        let device = Device { write_noise: 2.0, ..Device::ideal(linear(1.0), 1e-3, -0.6, 0.6) };
        let spread = f64::from(device.write_noise * device.pulse_step);
        let mut tile = Tile::new(64, 200, device, Key::new(1)).unwrap();
        let (shown, state) = (tile.weights().to_vec(), tile.hidden().to_vec());
        let d: Vec<f32> = (0..64).map(|i| size * (i as f32 / 32.0 - 1.0)).collect();
        let x: Vec<f32> = (0..200).map(|j| if j % active == 0 { 0.9 } else { 0.0 }).collect();
        tile.write(0.05, &d, &x, Trains::default(), Key::new(2)).unwrap();
        let mut noise = Vec::new();
        for i in 0..shown.len() {
            let met = tile.hidden()[i] != state[i];
            assert_eq!(met, tile.weights()[i] != shown[i], "cell {i}");
            if met {
                noise.push(f64::from(tile.weights()[i] - tile.hidden()[i]) / spread);
            }
        }
        assert!(noise.len() > 50);
        assert!(Summary::of(noise.iter().copied()).agrees(0.0, 1e-4));
        assert!(Summary::of(noise.iter().map(|v| v * v)).agrees(1.0, 1e-3));
        assert!(!Summary::of(noise.iter().map(|v| 4.0 * v * v)).agrees(1.0, 1e-3), "twice the noise shows");
    }
}

/// Single noisy pulses by every method of visiting a cell have the noise of `one_pulse`, draw by draw in variance.
#[test]
fn noise_of_single_pulses_is_that_of_the_formula() {
    let noises = [
        CycleNoise::Multiplicative(0.4),
        CycleNoise::Additive(0.4),
        CycleNoise::Complex { deviation: 0.4, offset: 2e-4, slope: 1e-3 },
    ];
    for noise in noises {
        for active in [1, 20] {
            for (w, up) in [(0.3, true), (0.3, false)] {
                let device = Device { cycle_noise: noise, ..Device::ideal(linear(1.0), 1e-3, -0.6, 0.6) };
                let mut tile = Tile::new(64, 400, device.clone(), Key::new(1)).unwrap();
                tile.program(&vec![w; 64 * 400], Key::new(2)).unwrap();
                let x: Vec<f32> = (0..400).map(|j| if j % active == 0 { 1.0 } else { 0.0 }).collect();
                // One certain pulse on every active column.
                let d = [if up { 1.0 } else { -1.0 }; 64];
                tile.write(1e-3, &d, &x, Trains { length: 1, ..Trains::default() }, Key::new(3)).unwrap();
                let moved: Vec<f64> = (0..64 * 400)
                    .filter(|i| i % 400 % active == 0)
                    .map(|i| f64::from(tile.weights()[i] - w))
                    .collect();
                let at = |xi: f32| f64::from(one_pulse(&tile, 0, up, w, xi) - w);
                let (mean, deviation) = (at(0.0), at(1.0) - at(0.0));
                // Differences of weights near 0.3 are rounded to 3e-8.
                assert!(Summary::of(moved.iter().copied()).agrees(mean, 6e-8), "{noise:?} {active} {up}");
                let squares = Summary::of(moved.iter().map(|m| ((m - mean) / deviation).powi(2)));
                assert!(squares.agrees(1.0, 2e-3), "{noise:?} {active} {up}: {squares}");
                assert!(!squares.agrees(1.3, 2e-3), "{noise:?}: another deviation shows");
            }
        }
    }
}
