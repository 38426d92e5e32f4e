//! Slots in which few columns fire are taken in turn: every cell meets its own pulses in their order.

use residuum::Key;
use residuum::ResponseFunction as _;
use residuum::stats::Z;
use residuum::testing::tile::{Meeting, RowFire, SIGN, lines, one_pulse};
use residuum::tile::{CycleNoise, Device, StepModel, Tile, Trains};

const SHAPE: (usize, usize) = (6, 70);
/// Several times as many slots as a cell notes at a time.
const BATCH: usize = 500;

/// A share of the columns has a signal in a sample, of at least `least`; errors of both signs.
fn signals(share: f64, least: f32) -> (Vec<f32>, Vec<f32>) {
    let (d, x, lit) = (Key::new(1), Key::new(2), Key::new(3));
    let errors = (0..BATCH * SHAPE.0).map(|i| 0.04 * (d.uniform_at(i as u64) as f32 - 0.4));
    let inputs = (0..BATCH * SHAPE.1).map(|i| {
        let (on, x) = (lit.uniform_at(i as u64) < share, x.uniform_at(i as u64) as f32 - 0.3);
        if on { x + least.copysign(x) } else { 0.0 }
    });
    (errors.collect(), inputs.collect())
}

/// The states after the pulses of the last update of `tile`, from 0, its samples in this order; without noise.
fn replayed(tile: &Tile, samples: &(impl Iterator<Item = usize> + Clone)) -> Vec<f32> {
    let (rows, cols) = SHAPE;
    let mut states = vec![0.0; rows * cols];
    for (i, state) in states.iter_mut().enumerate() {
        for sample in samples.clone() {
            let Some(train) = lines(tile).row(sample, i / cols) else { continue };
            let column = lines(tile).column_trains(sample)[i % cols];
            for _ in 0..(train & column & !SIGN).count_ones() {
                *state = one_pulse(tile, i, (train ^ column) & SIGN == 0, *state, 0.0);
            }
        }
    }
    states
}

/// Pulses that a cell got in the last update, up and down.
fn counts(tile: &Tile, i: usize) -> [u32; 2] {
    let mut counts = [0; 2];
    for sample in 0..BATCH {
        let Some(train) = lines(tile).row(sample, i / SHAPE.1) else { continue };
        let column = lines(tile).column_trains(sample)[i % SHAPE.1];
        counts[usize::from((train ^ column) & SIGN != 0)] += (train & column & !SIGN).count_ones();
    }
    counts
}

/// Steps of this size and shape with signals as in [`signals`]; `tolerance` is for rounding alone. Returns the most slots of a sample.
fn check(
    (step, shape): (f32, f32),
    scale: f32,
    (share, least): (f64, f32),
    [tolerance, order]: [f32; 2],
) -> u32 {
    // Steps that bend: the order of ups and downs shows.
    let device = Device::ideal(StepModel::power(shape), step, -0.6, 0.6);
    let mut tile = Tile::new(SHAPE.0, SHAPE.1, device, Key::new(4)).unwrap();
    let (errors, inputs) = signals(share, least);
    tile.write(scale, &errors, &inputs, Trains::default(), Key::new(5)).unwrap();
    let far = |states: Vec<f32>| {
        states.iter().zip(tile.weights()).fold(0.0f32, |most, (a, b)| most.max((a - b).abs()))
    };
    let pulsed = tile.weights().iter().filter(|w| **w != 0.0).count();
    assert!(pulsed > SHAPE.0 * SHAPE.1 / 2, "{pulsed} cells pulsed");
    let distance = far(replayed(&tile, &(0..BATCH)));
    assert!(distance < tolerance, "{distance}");
    // The broken twin: the same pulses in another order.
    let twin = far(replayed(&tile, &(0..BATCH).rev()));
    assert!(twin > order, "{twin}");
    let sent: u32 = (0..SHAPE.0 * SHAPE.1).map(|i| counts(&tile, i).iter().sum::<u32>()).sum();
    assert_eq!(u64::from(sent), tile.pulses_sent());
    let lines = lines(&tile);
    let of_row = |row| {
        let alone = (0..BATCH).filter_map(|sample| lines.row(sample, row));
        lines.with_fires(row, |fires| {
            assert!(fires.iter().map(|fire| fire.train).eq(alone), "row {row}");
            let in_slots = |fire: &RowFire| matches!(lines.meeting(*fire), Meeting::Slots(_));
            assert!(fires.iter().all(in_slots), "row {row}");
            fires.iter().map(|fire| (fire.train & !SIGN).ilog2() + 1).max()
        })
    };
    (0..SHAPE.0).filter_map(of_row).max().expect("some row fires")
}

#[test]
fn cells_take_their_own_pulses_in_order() {
    // Some sixty steps of 2⁻²⁴ each.
    check((0.1, 1.0), 1.0, (0.2, 0.0), [4e-6, 1e-3]);
}

#[test]
fn cells_with_costly_steps_do_so_where_half_of_the_columns_fire() {
    // Powers within 2e-6·(0.3 + |y ln x|) of 0.1 each, in some 90 pulses of which an error lives on.
    check((0.1, 1.5), 1.0, (1.0, 0.5), [4e-5, 1e-3]);
}

#[test]
fn trains_of_many_slots_are_taken_pulse_by_pulse_where_few_lines_fire() {
    // Trains at once would be off by 1e-3 of 0.02 for each of hundreds.
    let slots = check((0.02, 2.5), 1.0, (0.1, 0.0), [2e-5, 1e-4]);
    assert!(slots > 3, "{slots} slots");
}

#[test]
fn every_pulse_taken_in_turn_has_noise_of_its_own() {
    let (step, noise) = (1e-4f32, 0.3f32);
    let device = Device {
        cycle_noise: CycleNoise::Multiplicative(noise),
        ..Device::ideal(StepModel::Constant, step, -0.6, 0.6)
    };
    let (errors, inputs) = signals(0.2, 0.0);
    // n noises of one cell add up to a variance of n, those of two cells to none: the squares of both are chi-squared, and their
    // products have mean 0 and variance 1.
    let (mut squares, mut products, mut cells) = (0.0, 0.0, 0.0);
    for repeat in 0..12u64 {
        let mut tile = Tile::new(SHAPE.0, SHAPE.1, device.clone(), Key::new(4)).unwrap();
        tile.write(1e-3, &errors, &inputs, Trains::default(), Key::new(6).fold(repeat)).unwrap();
        let mut last = 0.0;
        for (i, w) in tile.weights().iter().enumerate() {
            let [up, down] = counts(&tile, i).map(f64::from);
            if up + down > 0.0 {
                let noise = (f64::from(*w) / f64::from(step) - (up - down)) / (up + down).sqrt();
                (squares, products, cells) = (squares + noise * noise, products + noise * last, cells + 1.0);
                last = noise;
            }
        }
    }
    assert!(cells > 3000.0, "{cells} cells");
    let variance = f64::from(noise).powi(2);
    let far = |variance: f64| (squares / cells / variance - 1.0).abs();
    // Rounding of w to 2⁻²⁴ of its size adds nothing that shows.
    let allowed = Z * (2.0 / cells).sqrt();
    assert!(far(variance) < allowed, "{} > {allowed}", far(variance));
    assert!(products.abs() / cells / variance < Z / cells.sqrt(), "{}", products / cells / variance);
    // The broken twin: as if one noise in four were that of another pulse of the cell, which adds up to half as much again or more.
    assert!(far(1.25 * variance) > allowed);
}

/// The states after the pulses of the last update, from `start`, and the variances that noise of deviation σ adds; both pulse by pulse, in order. Slopes are differences.
fn propagated(tile: &Tile, start: f32, noise: f64) -> Vec<(f64, f64)> {
    let mut all = Vec::new();
    for i in 0..SHAPE.0 * SHAPE.1 {
        let (mut state, mut variance) = (start, 0.0);
        for sample in 0..BATCH {
            let Some(train) = lines(tile).row(sample, i / SHAPE.1) else { continue };
            let column = lines(tile).column_trains(sample)[i % SHAPE.1];
            let up = (train ^ column) & SIGN == 0;
            for _ in 0..(train & column & !SIGN).count_ones() {
                let next = one_pulse(tile, i, up, state, 0.0);
                let slope = f64::from(one_pulse(tile, i, up, state + 0.01, 0.0) - next) / 0.01;
                variance = variance * slope * slope + (noise * f64::from(next - state)).powi(2);
                state = next;
            }
        }
        all.push((f64::from(state), variance));
    }
    all
}

fn power(step: f32, shape: f32) -> Device {
    Device::ideal(StepModel::power(shape), step, -0.6, 0.6)
}

fn exponential(step: f32, shape: f32) -> Device {
    Device::paper_exponential(shape, 0.6, step).unwrap()
}

/// A device whose steps are gentle, after an update of many pulses from `start`, and what [`propagated`] says of it.
fn gentle(device: Device, start: f32, noise: f32, key: u64) -> (Tile, Vec<(f64, f64)>) {
    let step = device.pulse_step;
    let device = Device { cycle_noise: CycleNoise::Multiplicative(noise), ..device };
    let mut tile = Tile::new(SHAPE.0, SHAPE.1, device, Key::new(4)).unwrap();
    tile.program(&[start; SHAPE.0 * SHAPE.1], Key::new(7)).unwrap();
    let (errors, inputs) = signals(0.5, 0.2);
    tile.write(20.0 * step, &errors, &inputs, Trains::default(), Key::new(5).fold(key)).unwrap();
    let expected = propagated(&tile, start, f64::from(noise));
    (tile, expected)
}

#[test]
fn gentle_pulses_of_many_slots_are_applied_at_once_without_bias() {
    let devices = [
        (power(0.002, 1.0), 0.0),
        (power(0.002, 1.0), 0.4),
        (power(0.001, 1.5), -0.2),
        (power(0.001, 2.5), 0.1),
        (exponential(0.001, 0.5), 0.3),
        (exponential(0.001, 2.0), 0.1),
    ];
    for (device, start) in devices {
        let (step, name) = (device.pulse_step, device.response().unwrap().describe());
        let (tile, expected) = gentle(device, start, 0.0, 0);
        let [mut off, mut twin] = [0.0; 2];
        let mut apart = 0;
        for (i, (w, (state, _))) in tile.weights().iter().zip(&expected).enumerate() {
            let ([up, down], pulse) = (counts(&tile, i), |up| one_pulse(&tile, i, up, start, 0.0) - start);
            let straight = start + up as f32 * pulse(true) + down as f32 * pulse(false);
            off += (f64::from(*w) - state) / f64::from(step);
            twin += (f64::from(straight) - state) / f64::from(step);
            apart += usize::from((f64::from(*w) - state).abs() > 1e-6);
        }
        // It is not the order of the pulses that was followed, but the mean of all orders.
        assert!(apart > expected.len() / 2, "{apart} cells apart");
        // Cells that share lines share their order: 420 of them differ from that mean by 0.001 together.
        let (off, twin) = (off / expected.len() as f64, twin / expected.len() as f64);
        assert!(off.abs() < 0.006, "{name}, from {start}: off by {off} pulses");
        // The broken twin: as if steps did not change on the way.
        assert!(twin.abs() > 0.06, "{name}, from {start}: {twin} pulses");
    }
}

#[test]
fn their_noise_is_that_of_all_of_them() {
    for (device, start) in
        [(power(0.002, 1.0), 0.3), (power(0.001, 2.5), -0.2), (exponential(0.001, 1.0), -0.2)]
    {
        let (mut squares, mut sum, mut cells) = (0.0, 0.0, 0.0);
        for key in 0..12 {
            let (tile, expected) = gentle(device.clone(), start, 0.3, key);
            for (w, (state, variance)) in tile.weights().iter().zip(&expected).filter(|(_, (_, v))| *v > 0.0) {
                let z = (f64::from(*w) - state) / variance.sqrt();
                (squares, sum, cells) = (squares + z * z, sum + z, cells + 1.0);
            }
        }
        assert!(cells > 4000.0, "{cells} cells");
        let allowed = Z * f64::sqrt(2.0 / cells);
        let far = |variance: f64| (squares / cells / variance - 1.0).abs();
        assert!(far(1.0) < allowed, "{} > {allowed}", far(1.0));
        assert!((sum / cells).abs() < Z / f64::sqrt(cells), "{}", sum / cells);
        // The broken twin: a variance of a quarter more.
        assert!(far(1.25) > allowed);
    }
}

#[test]
fn cells_near_a_bound_at_which_steps_end_at_once_take_their_pulses_in_turn() {
    // A root has no slope at its end: there hardly a pulse is like the one before.
    let (tile, expected) = gentle(power(0.002, 0.5), 0.5999, 0.0, 0);
    let far = |w: f32, state: f64| (f64::from(w) - state).abs() / 0.002;
    let [mut most, mut twin] = [0.0f64; 2];
    for (i, (w, (state, _))) in tile.weights().iter().zip(&expected).enumerate() {
        let ([up, down], pulse) = (counts(&tile, i), |up| one_pulse(&tile, i, up, 0.5999, 0.0) - 0.5999);
        let straight = 0.5999 + up as f32 * pulse(true) + down as f32 * pulse(false);
        (most, twin) = (most.max(far(*w, *state)), twin.max(far(straight, *state)));
    }
    // Of later pulses, far from the bound, the order does not count.
    assert!(most < 0.1, "{most} pulses");
    // The broken twin: as if all were like the first.
    assert!(twin > 1.0, "{twin} pulses");
}
