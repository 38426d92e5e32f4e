//! A tile or unit cell that is saved and restored continues bit for bit, whatever happens to it afterwards.

use residuum::array::Array;
use residuum::state::Tensors;
use residuum::tile::{
    CycleNoise, Decay, Device, Diffusion, Drift, OneSidedCell, Policy, ReferenceCell, Refresh, Reset,
    Retention, Tile, VectorCell,
};
use residuum::{Key, State};

const ROWS: usize = 12;
const COLS: usize = 17;

/// Loads all but the tensor whose name ends in `but`, which keeps what it has.
fn restore(array: &mut dyn Array<f32>, held: &Tensors, but: &str) {
    let own = array.tensors();
    let mut all = Tensors::new();
    for (name, tensor) in held.iter() {
        let left_out = !but.is_empty() && name.ends_with(but);
        all.insert(name, if left_out { own.get(name).unwrap().clone() } else { tensor.clone() });
    }
    array.load(&all).unwrap();
}

/// A device that does everything a device may do.
fn device() -> Device {
    let retention = Retention {
        reset: Reset { value: 0.01, spread: 0.01, deviation: 0.01 },
        decay: Some(Decay { lifetime: 100.0, spread: 0.1 }),
        diffusion: Some(Diffusion { deviation: 1e-3, spread: 0.1 }),
        drift: Some(Drift {
            spread: 0.2,
            exponent_noise: 0.1,
            state_noise: 1e-3,
            ..Drift::power_law(0.1, 1.0)
        }),
    };
    Device {
        cycle_noise: CycleNoise::Multiplicative(0.3),
        write_noise: 2.0,
        retention,
        ..Device::paper_power(1.0, 0.6, 1e-3)
    }
}

fn tile(n: u64, device: &Device) -> Tile {
    let mut tile = Tile::new(ROWS, COLS, device.clone(), Key::new(n)).unwrap();
    tile.count_pulses(true);
    tile
}

fn signals(n: usize, k: u64) -> Vec<f32> {
    let mut values = vec![0.0; n];
    Key::new(2).fold(k).fill_normal(&mut values);
    values.into_iter().map(|v| 0.3 * v as f32).collect()
}

/// Writes by every verb.
fn write(array: &mut dyn Array<f32>, k: u64) {
    let key = Key::new(3).fold(k);
    array.update(0.05, &signals(2 * ROWS, k), &signals(2 * COLS, k + 1000), key.named("update")).unwrap();
    let column = k as usize % COLS;
    array.update_column(column, 0.05, &signals(ROWS, k + 2000), key.named("column")).unwrap();
    array.increment(0.01, &signals(ROWS * COLS, k + 3000), key.named("increment")).unwrap();
}

/// Time passes and cells are reset.
fn wait(tile: &mut Tile, k: u64) {
    let key = Key::new(4).fold(k);
    tile.drift(1.5, key.named("drift")).unwrap();
    if k.is_multiple_of(2) {
        tile.decay(1, key.named("decay"));
    }
    if k.is_multiple_of(3) {
        tile.diffuse(1, key.named("diffuse"));
    }
    if k.is_multiple_of(5) {
        tile.reset(1..3, key.named("reset")).unwrap();
    }
    tile.drift(0.5, key.named("drift again")).unwrap();
}

/// A tile that has lived for a while, and what becomes of a copy restored but for one slot.
fn continued(device: &Device, but: &str) -> (Tensors, Tensors) {
    let live = |tile: &mut Tile, steps: std::ops::Range<u64>| {
        for k in steps {
            // Half of the steps only wait, so that cells are as drift left them.
            if k.is_multiple_of(2) {
                write(tile, k);
            }
            wait(tile, k);
        }
    };
    let (mut whole, mut resumed) = (tile(1, device), tile(1, device));
    live(&mut whole, 0..21);
    let held = whole.tensors();
    restore(&mut resumed, &held, but);
    live(&mut whole, 21..33);
    live(&mut resumed, 21..33);
    (whole.tensors(), resumed.tensors())
}

#[test]
fn a_restored_tile_continues_to_the_bit() {
    let hidden = device();
    let plain = Device { write_noise: 0.0, ..device() };
    let still = Device { retention: Retention::default(), ..device() };
    for device in [hidden, plain, still] {
        let (whole, resumed) = continued(&device, "");
        assert_eq!(whole, resumed);
    }
}

/// The twin: a state that lacks anything does not.
#[test]
fn nothing_can_be_left_out_of_a_tile() {
    let names: Vec<String> = tile(1, &device()).tensors().iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names.len(), 10, "{names:?}");
    // What a read sees is drawn anew from the hidden state whenever time passes.
    for name in names.iter().filter(|name| *name != "weights") {
        let (whole, resumed) = continued(&device(), name);
        assert_ne!(whole, resumed, "{name} is not needed");
    }
}

fn cells() -> Vec<Box<dyn Array<f32>>> {
    let device = Device { retention: Retention::default(), ..device() };
    let tile = |n| tile(n, &device);
    let refresh = Refresh { upper: 0.02, lower: 0.002, ..Refresh::every(7) };
    vec![
        Box::new(VectorCell::new(vec![tile(1), tile(2), tile(3)], Policy::Sequential).unwrap()),
        Box::new(VectorCell::new(vec![tile(1), tile(2)], Policy::All).unwrap()),
        Box::new(ReferenceCell::new(tile(1), tile(2)).unwrap()),
        Box::new(OneSidedCell::new(tile(1), tile(2), Some(refresh)).unwrap()),
    ]
}

#[test]
fn a_restored_unit_cell_continues_to_the_bit() {
    for (mut whole, mut resumed) in cells().into_iter().zip(cells()) {
        (0..10).for_each(|k| write(&mut *whole, k));
        let held = whole.tensors();
        let before = resumed.tensors();
        assert_ne!(held, before);
        restore(&mut *resumed, &held, "");
        (10..20).for_each(|k| write(&mut *whole, k));
        (10..20).for_each(|k| write(&mut *resumed, k));
        assert_eq!(whole.tensors(), resumed.tensors(), "{whole:?}");
    }
}

/// The twin: whose turn it is and how long a refresh has waited are part of the state.
#[test]
fn counters_of_unit_cells_matter() {
    for (n, name) in [(0, "samples"), (3, "waited")] {
        let (mut whole, mut resumed) = (cells().remove(n), cells().remove(n));
        (0..10).for_each(|k| write(&mut *whole, k));
        restore(&mut *resumed, &whole.tensors(), name);
        (10..20).for_each(|k| write(&mut *whole, k));
        (10..20).for_each(|k| write(&mut *resumed, k));
        assert_ne!(whole.weights(), resumed.weights(), "{name}");
    }
}
