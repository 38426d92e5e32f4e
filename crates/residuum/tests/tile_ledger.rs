//! The ledger against what is known of pulses: totals, means, directions, threads.

#![allow(clippy::unwrap_used)]

use residuum::Key;
use residuum::stats::{Summary, Z};
use residuum::tile::{CycleNoise, Device, Ledger, Management, StepModel, Tile, Trains};

fn tile(rows: usize, cols: usize) -> Tile {
    let device = Device {
        cycle_noise: CycleNoise::Multiplicative(0.3),
        ..Device::ideal(StepModel::Power { shape: 1.0, spread: 0.0 }, 1e-3, -0.6, 0.6)
    };
    let mut tile = Tile::new(rows, cols, device, Key::new(1)).unwrap();
    tile.count_pulses(true);
    tile
}

fn signals(n: usize, size: f32, name: &str) -> Vec<f32> {
    let mut values = vec![0.0; n];
    Key::new(2).named(name).fill_normal(&mut values);
    values.into_iter().map(|v| size * v as f32).collect()
}

/// Three mini-batches of seven samples, one of them silent.
fn trained(length: u32, threads: usize) -> (Ledger, u64) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut tile = tile(70, 110);
        let (mut d, x) = (signals(7 * 70, 0.1, "d"), signals(7 * 110, 1.0, "x"));
        let trains = Trains { length, management: Management::Length };
        for k in 0..3 {
            tile.update(0.05, &d, &x, trains, Key::new(3).fold(k)).unwrap();
            // The next mini-batch has a silent sample, whose trains are not to be counted again.
            d[140..210].fill(0.0);
        }
        (tile.ledger().unwrap().clone(), tile.pulses_sent())
    })
}

#[test]
fn cells_add_up_to_the_pulses_sent_on_any_number_of_threads() {
    for length in [1, 3, 10, 31] {
        let (ledger, sent) = trained(length, 1);
        assert!(sent > 5000, "{sent}");
        assert_eq!(ledger.total(), sent, "train length {length}");
        assert_eq!(ledger.cells.iter().map(|&n| u64::from(n)).sum::<u64>(), sent);
        assert_eq!((ledger, sent), trained(length, 2));
    }
}

#[test]
fn mean_counts_are_slots_times_both_probabilities() {
    let (rows, cols, repeats) = (8, 8, 4000);
    let (d, x) = ([0.2, -0.4, 0.6, 0.8, 0.1, -0.3, 0.5, -1.0], [0.9, 0.5, -0.2, 0.7, -0.6, 0.3, 0.1, 0.8]);
    let mut tile = tile(rows, cols);
    let granularity = tile.device().granularity();
    let trains = Trains { length: 20, management: Management::Fixed };
    let scale = 0.25 * granularity * 20.0;
    for k in 0..repeats {
        tile.update(scale, &d, &x, trains, Key::new(4).fold(k)).unwrap();
    }
    let ledger = tile.ledger().unwrap();
    let (mut up, mut down) = (0.0, 0.0);
    for (i, &count) in ledger.cells.iter().enumerate() {
        // Equal scales: p = √¼ |d|, q = √¼ |x|.
        let (d, x) = (f64::from(d[i / cols]), f64::from(x[i % cols]));
        let both = 0.25 * d.abs() * x.abs();
        let mean = 20.0 * repeats as f64 * both;
        let allowed = |both: f64| Z * (20.0 * repeats as f64 * both * (1.0 - both)).sqrt();
        assert!((f64::from(count) - mean).abs() < allowed(both), "cell {i}: {count} {mean}");
        // The twin: a tenth more is seen on cells that are pulsed often.
        assert!(both < 0.1 || (f64::from(count) - 1.1 * mean).abs() > allowed(1.1 * both), "cell {i}");
        *(if d * x > 0.0 { &mut up } else { &mut down }) += f64::from(count);
    }
    assert_eq!((ledger.up as f64, ledger.down as f64), (up, down));
    assert!(up > 0.0 && down > 0.0);
}

#[test]
fn counting_changes_nothing_and_can_be_left() {
    let (d, x) = (signals(16, 0.1, "d"), signals(16, 1.0, "x"));
    let mut counted = tile(16, 16);
    let mut plain = counted.clone();
    plain.count_pulses(false);
    assert!(plain.ledger().is_none());
    for tile in [&mut counted, &mut plain] {
        tile.update(0.05, &d, &x, Trains::default(), Key::new(5)).unwrap();
        tile.pulse_all(true, Key::new(6));
        tile.pulse_all(false, Key::new(7));
        tile.pulse_all(false, Key::new(8));
    }
    assert_eq!(counted.weights(), plain.weights());
    counted.count_pulses(true);
    let ledger = counted.ledger().unwrap();
    assert_eq!(ledger.total(), counted.pulses_sent(), "counting goes on");
    assert!(ledger.up >= 256 && ledger.down >= 512);
    assert!(ledger.cells.iter().all(|&n| n >= 3));
}

#[test]
fn endurance_and_energy() {
    let mut tile = tile(3, 4);
    (0..5).for_each(|k| tile.pulse_all(k % 2 == 0, Key::new(9).fold(k)));
    tile.update(1.0, &[1.0, 0.0, 0.0], &[0.0, 0.0, 1.0, 0.0], Trains::default(), Key::new(10)).unwrap();
    let ledger = tile.ledger().unwrap();
    // The one line pair is certain to fire in each of the 31 slots.
    assert_eq!((ledger.up, ledger.down, ledger.worst_cell()), (36 + 31, 24, 36));
    assert_eq!(ledger.cells.iter().position(|&n| n == 36), Some(2));
    assert!((ledger.energy(2e-15) - 91.0 * 2e-15).abs() < 1e-27);
    assert!((ledger.endurance_used(1e6) - 36e-6).abs() < 1e-15);
    assert!((Summary::of(ledger.cells.iter().map(|&n| f64::from(n))).mean * 12.0 - 91.0).abs() < 1e-9);
}
