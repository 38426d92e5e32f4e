//! Slots in which few columns fire are taken in turn: every cell meets its own pulses in their order.

use residuum::Key;
use residuum::testing::tile::{SIGN, lines, one_pulse};
use residuum::tile::{Device, StepModel, Tile};

const SHAPE: (usize, usize) = (6, 70);
const BATCH: usize = 90;

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

/// `tolerance` is for rounding alone.
fn check(shape: f32, (share, least): (f64, f32), tolerance: f32) {
    // Large steps that bend: the order of ups and downs shows.
    let device = Device::ideal(StepModel::power(shape), 0.1, -0.6, 0.6);
    let mut tile = Tile::new(SHAPE.0, SHAPE.1, device, Key::new(4)).unwrap();
    let (errors, inputs) = signals(share, least);
    tile.write(1.0, &errors, &inputs, residuum::tile::Trains::default(), Key::new(5)).unwrap();
    let far = |states: Vec<f32>| {
        states.iter().zip(tile.weights()).fold(0.0f32, |most, (a, b)| most.max((a - b).abs()))
    };
    let pulsed = tile.weights().iter().filter(|w| **w != 0.0).count();
    assert!(pulsed > SHAPE.0 * SHAPE.1 / 2, "{pulsed} cells pulsed");
    let distance = far(replayed(&tile, &(0..BATCH)));
    assert!(distance < tolerance, "{distance}");
    // The broken twin: the same pulses in another order.
    let twin = far(replayed(&tile, &(0..BATCH).rev()));
    assert!(twin > 1e-3, "{twin}");
}

#[test]
fn cells_take_their_own_pulses_in_order() {
    // Some ten steps of 2⁻²⁴ each.
    check(1.0, (0.2, 0.0), 2e-6);
}

#[test]
fn cells_with_costly_steps_do_so_where_half_of_the_columns_fire() {
    // Powers within 2e-6·(0.3 + |y ln x|) of 0.1 each, in at most 90 pulses of which an error lives on.
    check(1.5, (1.0, 0.5), 4e-5);
}
