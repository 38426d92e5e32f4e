//! The ledger against what is known of pulses: totals, means, directions, threads.

use residuum::stats::{Summary, Z};
use residuum::tile::{
    CycleNoise, Device, Ledger, Management, OneSidedCell, Policy, ReferenceCell, Refresh, Scheme, StepModel,
    Tile, Trains, VectorCell,
};
use residuum::{Array, Key};

fn tile(rows: usize, cols: usize) -> Tile {
    let device = Device {
        cycle_noise: CycleNoise::Multiplicative(0.3),
        ..Device::ideal(StepModel::power(1.0), 1e-3, -0.6, 0.6)
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
            tile.write(0.05, &d, &x, trains, Key::new(3).fold(k)).unwrap();
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
        tile.write(scale, &d, &x, trains, Key::new(4).fold(k)).unwrap();
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
        tile.write(0.05, &d, &x, Trains::default(), Key::new(5)).unwrap();
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
    tile.write(1.0, &[1.0, 0.0, 0.0], &[0.0, 0.0, 1.0, 0.0], Trains::default(), Key::new(10)).unwrap();
    let ledger = tile.ledger().unwrap();
    // The one line pair is certain to fire in each of the 31 slots.
    assert_eq!((ledger.up, ledger.down, ledger.worst_cell()), (36 + 31, 24, 36));
    assert_eq!(ledger.cells.iter().position(|&n| n == 36), Some(2));
    assert!((ledger.energy(2e-15) - 91.0 * 2e-15).abs() < 1e-27);
    assert!((ledger.endurance_used(1e6) - 36e-6).abs() < 1e-15);
    assert!((Summary::of(ledger.cells.iter().map(|&n| f64::from(n))).mean * 12.0 - 91.0).abs() < 1e-9);
}

type Verb = Box<dyn Fn(&mut dyn Array<f32>) + Send + Sync>;

/// Every verb with every scheme that sends pulses, by name.
fn verbs(rows: usize, cols: usize) -> Vec<(String, Scheme, Verb)> {
    let trains = |length| Trains { length, management: Management::Length };
    let schemes = [
        Scheme::Stochastic(trains(31)),
        Scheme::Stochastic(trains(2)),
        Scheme::Deterministic(trains(31)),
        Scheme::MeanCount(trains(31)),
    ];
    let mut verbs: Vec<(String, Scheme, Verb)> = Vec::new();
    for scheme in schemes {
        verbs.push((
            format!("update, {scheme:?}"),
            scheme,
            Box::new(move |array| {
                let (d, x) = (signals(3 * rows, 0.3, "d"), signals(3 * cols, 1.0, "x"));
                array.update(0.05, &d, &x, Key::new(3)).unwrap();
            }),
        ));
        verbs.push((
            format!("update_column, {scheme:?}"),
            scheme,
            Box::new(move |array| {
                (0..5).for_each(|j| {
                    let values = signals(rows, 0.1, "column");
                    array.update_column(7 * j, 0.05, &values, Key::new(4).fold(j as u64)).unwrap();
                });
            }),
        ));
        // Few cells are pulsed, and nearly all.
        for size in [0.005, 0.2] {
            verbs.push((
                format!("increment by {size}, {scheme:?}"),
                scheme,
                Box::new(move |array| {
                    array.increment(0.05, &signals(rows * cols, size, "m"), Key::new(5)).unwrap();
                }),
            ));
        }
    }
    verbs
}

/// With and without write noise; linear steps, whose trains are taken at once, and steep ones, which are not.
fn arrays() -> Vec<Device> {
    let noise = CycleNoise::Multiplicative(0.3);
    let soft = Device { cycle_noise: noise, ..Device::paper_power(1.0, 0.6, 1e-3) };
    let hidden = Device { write_noise: 2.0, ..soft.clone() };
    let steep = Device { cycle_noise: noise, ..Device::paper_power(2.0, 0.6, 0.05) };
    vec![soft, hidden, steep]
}

#[test]
fn every_verb_and_scheme_is_counted_cell_by_cell() {
    // Enough cells for two threads.
    const ROWS: usize = 300;
    const COLS: usize = 440;
    let pools = [1, 2].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap());
    for device in arrays() {
        for (name, scheme, verb) in verbs(ROWS, COLS) {
            let run = |counted: bool| {
                let tile = Tile::new(ROWS, COLS, device.clone(), Key::new(1)).unwrap();
                let mut tile = tile.with_scheme(scheme).unwrap();
                tile.count_pulses(counted);
                verb(&mut tile);
                tile
            };
            let [one, two] = [0, 1].map(|n: usize| pools[n].install(|| run(true)));
            let (ledger, sent) = (one.ledger().unwrap(), one.pulses_sent());
            assert_eq!(ledger.cells.iter().map(|&n| u64::from(n)).sum::<u64>(), sent, "{name}");
            assert_eq!(ledger.total(), sent, "{name}");
            assert_eq!(Some(ledger), two.ledger(), "{name}");
            assert_eq!(one.weights(), two.weights(), "{name}");
            let plain = run(false);
            assert_eq!((plain.weights(), plain.pulses_sent()), (one.weights(), sent), "{name}");
            // Counts belong to the cells that moved: without noise that hides it, whoever moved was pulsed.
            assert!(
                one.weights()
                    .iter()
                    .zip(&ledger.cells)
                    .all(|(w, n)| *w == 0.0 || *n > 0 || device.write_noise > 0.0)
            );
            assert_eq!(
                sent > 0,
                one.weights() != Tile::new(ROWS, COLS, device.clone(), Key::new(1)).unwrap().weights()
            );
        }
    }
}

#[test]
fn pulses_on_all_cells_are_the_same_on_any_number_of_threads() {
    for device in arrays() {
        let run = |threads: usize, order: [bool; 3]| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut tile = Tile::new(70, 110, device.clone(), Key::new(1)).unwrap();
            pool.install(|| (0..).zip(order).for_each(|(k, up)| tile.pulse_all(up, Key::new(2).fold(k))));
            tile.weights().to_vec()
        };
        assert_eq!(run(1, [true, true, false]), run(2, [true, true, false]));
        assert_ne!(run(1, [true, true, false]), run(1, [true, false, true]));
    }
}

#[test]
fn directions_are_those_of_the_signals() {
    const ROWS: usize = 150;
    const COLS: usize = 90;
    let trains = Trains::default();
    for scheme in [Scheme::Stochastic(trains), Scheme::Deterministic(trains), Scheme::MeanCount(trains)] {
        for sign in [1.0, -1.0] {
            let mut tile = tile(ROWS, COLS);
            let ones = vec![1.0; ROWS * COLS];
            tile.write(sign * 0.01, &ones[..ROWS], &ones[..COLS], scheme, Key::new(3)).unwrap();
            tile.write_column(3, sign * 0.01, &ones[..ROWS], scheme, Key::new(4)).unwrap();
            tile.write_matrix(sign * 0.01, &ones, scheme, Key::new(5)).unwrap();
            let ledger = tile.ledger().unwrap();
            // The step at 0 is 5e-4: twenty certain pulses a cell and write.
            let all = 20 * (2 * ROWS * COLS + ROWS) as u64;
            assert_eq!((ledger.up, ledger.down), if sign > 0.0 { (all, 0) } else { (0, all) }, "{scheme:?}");
        }
    }
}

#[test]
fn tiles_of_unit_cells_count_their_own() {
    const ROWS: usize = 70;
    const COLS: usize = 30;
    let counted = |n: u64| {
        let device =
            Device { cycle_noise: CycleNoise::Multiplicative(0.3), ..Device::paper_power(1.0, 0.6, 1e-3) };
        let mut tile = Tile::new(ROWS, COLS, device, Key::new(n)).unwrap();
        tile.count_pulses(true);
        tile
    };
    let agree = |name: &str, cell: &dyn Array<f32>, tiles: &[&Tile]| {
        let ledgers: Vec<&Ledger> = tiles.iter().map(|t| t.ledger().unwrap()).collect();
        for (tile, ledger) in tiles.iter().zip(&ledgers) {
            let cells: u64 = ledger.cells.iter().map(|&n| u64::from(n)).sum();
            assert_eq!((cells, ledger.total()), (tile.pulses_sent(), tile.pulses_sent()), "{name}");
        }
        assert_eq!(ledgers.iter().map(|l| l.total()).sum::<u64>(), cell.pulses_sent(), "{name}");
        assert!(cell.pulses_sent() > 0, "{name}");
    };
    for (name, scheme, verb) in verbs(ROWS, COLS) {
        for policy in [Policy::All, Policy::Sequential, Policy::Random] {
            let mut cell =
                VectorCell::new(vec![counted(1), counted(2)], policy).unwrap().with_scheme(scheme).unwrap();
            verb(&mut cell);
            agree(&name, &cell, &[&cell.tiles()[0], &cell.tiles()[1]]);
        }
        let mut cell = ReferenceCell::new(counted(1), counted(2)).unwrap().with_scheme(scheme).unwrap();
        verb(&mut cell);
        agree(&name, &cell, &[cell.tile(), cell.reference()]);
        if name.contains("Stochastic") {
            let refresh = Refresh { upper: 0.01, lower: 0.001, ..Refresh::every(2) };
            let mut cell =
                OneSidedCell::new(counted(1), counted(2), Some(refresh)).unwrap().with_scheme(scheme).unwrap();
            verb(&mut cell);
            verb(&mut cell);
            let [plus, minus] = cell.sides();
            agree(&name, &cell, &[plus, minus]);
            // Both sides only grow.
            assert!(cell.sides().iter().all(|side| side.ledger().unwrap().down == 0), "{name}");
        }
    }
}
