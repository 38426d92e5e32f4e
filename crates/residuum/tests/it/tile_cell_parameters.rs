//! Parameters of cells kept in 16 bits: the same tile as one with the same parameters in single precision, and near the one that
//! nothing was rounded in.

use residuum::testing::tile::{in_f32, one_pulse, step_size};
use residuum::tile::{
    CellParameters, CycleNoise, Decay, Device, Exponents, Nodes, OneSidedCell, Reference, ReferenceCell, Reset,
    Retention, Saturation, Scheme, SlopeBounds, Slopes, Spread, StepModel, Stuck, Tile, Trains, presets,
};
use residuum::{Array, Key, State};

const ROWS: usize = 37;
/// More than one chunk and no whole number of them.
const COLS: usize = 75;

/// Cells that differ in everything they can differ in.
fn varied(step: StepModel) -> Device {
    Device {
        step_spread: Spread::normal(0.3),
        imbalance: 0.1,
        imbalance_spread: 0.05,
        max_spread: Spread::normal(0.3),
        min_spread: Spread::normal(0.2),
        cycle_noise: CycleNoise::Multiplicative(0.3),
        cell_parameters: CellParameters::I16,
        ..Device::ideal(step, 2e-3, -0.6, 0.7)
    }
}

fn devices() -> Vec<Device> {
    let exponents = Exponents { spread: Spread::normal(0.1), imbalance_spread: 0.1, ..Exponents::new(1.5) };
    let saturation = Saturation::aihwkit([8.1e-4, 0.37], [12.4, 12.8], 0.244, 0.2425);
    let slopes = Slopes { spread: [Spread::normal(0.1), Spread::log_normal(0.2)], ..Slopes::new(0.7, 0.4) };
    let reversed = Slopes { reversed: [Some(0.01), Some(0.02)], ..Slopes::soft_bounds() };
    let divided =
        Slopes { spread: [Spread::normal(0.05); 2], bounds: SlopeBounds::Divided, ..Slopes::soft_bounds() };
    let reference = |at_symmetric_point| Reference { mean: 0.05, deviation: 0.05, at_symmetric_point };
    let soft = || varied(StepModel::soft_bounds());
    let log_normal = Spread::log_normal(0.3);
    vec![
        varied(StepModel::Constant),
        varied(StepModel::Linear(slopes)),
        varied(StepModel::Linear(reversed)),
        varied(StepModel::Linear(divided)),
        soft(),
        Device { reference: Some(reference(false)), ..soft() },
        Device { reference: Some(reference(true)), ..soft() },
        Device { stuck: Some(Stuck { probability: 0.1, range: 0.5 }), write_noise: 1.0, ..soft() },
        Device { step_spread: log_normal, max_spread: log_normal, min_spread: log_normal, ..soft() },
        Device { cycle_noise: CycleNoise::Additive(0.3), ..soft() },
        varied(StepModel::power(1.0)),
        varied(StepModel::Power(exponents)),
        Device { reference: Some(reference(false)), ..varied(StepModel::Power(exponents)) },
        varied(StepModel::Exponential(saturation)),
        varied(StepModel::Piecewise(Nodes { up: vec![1.2, 1.0, 0.3], down: vec![0.2, 0.8, 1.1] })),
        Device { cell_parameters: CellParameters::I16, ..presets::pcm() },
    ]
}

fn signals(n: usize, size: f32, key: Key) -> Vec<f32> {
    let mut values = vec![0.0; n];
    key.fill_uniform(&mut values);
    values.into_iter().map(|u| size * (2.0 * u as f32 - 1.0)).collect()
}

/// Every way to change a tile, one after the other.
fn change(tile: &mut Tile, key: Key) {
    let trains = Trains::default();
    let (batch, rows) = (3, tile.rows());
    let (x, matrix) = (signals(batch * COLS, 1.0, key.named("x")), signals(rows * COLS, 0.02, key.named("m")));
    let d = |size: f32| signals(batch * rows, size, key.named("d"));
    tile.program(&signals(rows * COLS, 0.6, key.named("start")), key).unwrap();
    tile.write(0.05, &d(0.1), &x, trains, key.named("light")).unwrap();
    tile.write(0.05, &d(1.0), &x, trains, key.named("heavy")).unwrap();
    let schemes = [
        Scheme::Stochastic(trains),
        Scheme::Deterministic(trains),
        Scheme::MeanCount(trains),
        Scheme::Expected,
    ];
    for (k, scheme) in schemes.into_iter().enumerate() {
        let key = key.fold(k as u64);
        tile.write(0.05, &d(0.5), &x, scheme, key.named("update")).unwrap();
        tile.write_matrix(1.0, &matrix, scheme, key.named("matrix")).unwrap();
        // Columns in turn, over the end, and one that is out of turn.
        for column in [30, 31, 32, 33, 47, 48, 49, 74, 0, 1, 50] {
            tile.write_column(column, 1.0, &matrix[..rows], scheme, key.fold(column as u64)).unwrap();
        }
    }
    tile.pulse_all(true, key.named("all"));
    tile.decay(3, key.named("decay"));
    tile.reset(5..9, key.named("reset")).unwrap();
}

fn bits(tile: &Tile) -> Vec<u32> {
    tile.weights().iter().chain(tile.hidden()).map(|w| w.to_bits()).collect()
}

#[test]
fn a_tile_in_sixteen_bits_is_the_tile_of_its_parameters_in_single_precision() {
    for device in devices() {
        let retention = Retention {
            decay: Some(Decay { lifetime: 100.0, spread: 0.1 }),
            reset: Reset { value: 0.1, spread: 0.1, deviation: 0.1 },
            ..device.retention
        };
        let device = Device { retention, ..device };
        let mut rounded = Tile::new(ROWS, COLS, device.clone(), Key::new(1)).unwrap();
        let mut single = in_f32(&rounded);
        assert_eq!(rounded.cell_parameters(), single.cell_parameters());
        assert_eq!(rounded.symmetric_points(), single.symmetric_points(), "{device:?}");
        for tile in [&mut rounded, &mut single] {
            change(tile, Key::new(2));
        }
        assert_eq!(bits(&rounded), bits(&single), "{device:?}");
        assert_eq!(rounded.pulses_sent(), single.pulses_sent());
        for i in [0, 31, ROWS * COLS - 1] {
            assert_eq!(rounded.programmable(i), single.programmable(i));
            assert_eq!(rounded.response(i, true, 0.1), single.response(i, true, 0.1));
            assert_eq!(step_size(&rounded, i, false, 0.1), step_size(&single, i, false, 0.1));
            assert_eq!(one_pulse(&rounded, i, true, 0.1, 0.5), one_pulse(&single, i, true, 0.1, 0.5));
        }
        // Cells of another draw end elsewhere: the comparison can fail.
        let mut other = Tile::new(ROWS, COLS, device, Key::new(3)).unwrap();
        change(&mut other, Key::new(2));
        assert_ne!(bits(&other), bits(&rounded));
    }
}

#[test]
fn threads_and_a_checkpoint_change_no_bit() {
    let device = Device { cell_parameters: CellParameters::I16, ..presets::reram_array_om() };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut tile = Tile::new(256, 300, device.clone(), Key::new(1)).unwrap();
            let (d, x) = (signals(2560, 1.0, Key::new(2)), signals(3000, 1.0, Key::new(3)));
            tile.write(0.05, &d, &x, Trains::default(), Key::new(4)).unwrap();
            let mut resumed = Tile::new(256, 300, device.clone(), Key::new(1)).unwrap();
            resumed.load(&tile.tensors()).unwrap();
            for tile in [&mut tile, &mut resumed] {
                tile.write(0.05, &d, &x, Trains::default(), Key::new(5)).unwrap();
            }
            assert_eq!(bits(&tile), bits(&resumed));
            bits(&tile)
        })
    };
    assert_eq!(run(1), run(2));
}

/// A draw moves by at most 2⁻¹³ of its standard deviation, so a scale by that share of the two spreads it has, and a bound by that
/// share of its spread; rounding in single precision is far below.
#[test]
fn rounding_moves_no_parameter_further_than_it_may() {
    let rounded = varied(StepModel::Constant);
    let single = Device { cell_parameters: CellParameters::F32, ..rounded.clone() };
    let (cells, half) = (64, 2f32.powi(-13));
    let of = |device: &Device, seed: u64| {
        Tile::new(cells, cells, device.clone(), Key::new(seed)).unwrap().cell_parameters()
    };
    let scale = rounded.pulse_step * (rounded.step_spread.deviation + rounded.imbalance_spread);
    let bound = |mean: f32, spread: Spread| mean.abs() * spread.deviation;
    let spreads =
        [scale, scale, bound(rounded.max, rounded.max_spread), bound(rounded.min, rounded.min_spread)];
    let (ours, theirs, others) = (of(&rounded, 1), of(&single, 1), of(&single, 2));
    for (k, spread) in spreads.into_iter().enumerate() {
        let largest = |a: &[f32], b: &[f32]| a.iter().zip(b).fold(0.0f32, |m, (a, b)| m.max((a - b).abs()));
        let (name, ours) = &ours[k];
        let most = half * spread + 1e-6 * spread;
        let moved = largest(ours, &theirs[k].1);
        assert!(moved <= most, "{name}: {moved} beyond {most}");
        // Of 4096 cells one comes near the bound: a coarser rounding would pass it.
        assert!(moved > 0.8 * most, "{name}: {moved} far below {most}");
        // Cells of another draw are beyond.
        assert!(largest(ours, &others[k].1) > 100.0 * most, "{name}");
    }
}

#[test]
fn bytes_of_parameters_count_what_varies() {
    let bytes =
        |device: &Device, cell_parameters| Device { cell_parameters, ..device.clone() }.parameter_bytes();
    let reference = Reference { mean: 0.0, deviation: 0.05, at_symmetric_point: false };
    let exponents = Exponents { spread: Spread::normal(0.1), ..Exponents::new(1.5) };
    let cases = [
        (varied(StepModel::Constant), 16, 8),
        (varied(StepModel::soft_bounds()), 24, 8),
        (Device { reference: Some(reference), ..varied(StepModel::soft_bounds()) }, 32, 10),
        // One exponent is kept once.
        (varied(StepModel::power(2.5)), 20, 8),
        (varied(StepModel::Power(exponents)), 28, 10),
        (Device::ideal(StepModel::soft_bounds(), 1e-3, -1.0, 1.0), 0, 0),
    ];
    for (device, single, rounded) in cases {
        assert_eq!(bytes(&device, CellParameters::F32), single, "{device:?}");
        assert_eq!(bytes(&device, CellParameters::I16), rounded, "{device:?}");
    }
}

#[test]
fn unit_cells_take_tiles_in_sixteen_bits() {
    type Pair = fn([Tile; 2]) -> Box<dyn Array<f32>>;
    let tile = |seed: u64| Tile::new(ROWS, COLS, varied(StepModel::soft_bounds()), Key::new(seed)).unwrap();
    let pairs: [Pair; 2] = [
        |[a, b]| Box::new(OneSidedCell::new(a, b, None).unwrap()),
        |[a, b]| Box::new(ReferenceCell::new(a, b).unwrap()),
    ];
    let (d, x) = (signals(ROWS, 1.0, Key::new(3)), signals(COLS, 1.0, Key::new(4)));
    for pair in pairs {
        let [mut rounded, mut single] = [pair([tile(1), tile(2)]), pair([in_f32(&tile(1)), in_f32(&tile(2))])];
        for array in [&mut rounded, &mut single] {
            array.update(0.5, &d, &x, Key::new(5)).unwrap();
            array.update_column(3, 0.1, &d, Key::new(6)).unwrap();
        }
        assert_eq!(rounded.weights(), single.weights());
        assert_eq!(rounded.programmable(7), single.programmable(7));
        assert!(rounded.pulses_sent() > 0);
    }
}

#[test]
fn a_reference_that_must_be_searched_for_is_refused() {
    let reference = Reference { mean: 0.0, deviation: 0.0, at_symmetric_point: true };
    let device = Device { reference: Some(reference), ..varied(StepModel::power(2.0)) };
    let error = Tile::new(2, 2, device.clone(), Key::new(1)).unwrap_err().to_string();
    assert!(error.contains("cell_parameters must be f32") && error.ends_with("got i16"), "{error}");
    let single = Device { cell_parameters: CellParameters::F32, ..device };
    assert!(Tile::new(2, 2, single, Key::new(1)).is_ok());
}

#[test]
fn parameters_that_cells_share_are_kept_once_and_change_no_bit() {
    let rows = 80;
    for step in [StepModel::power(1.0), StepModel::power(1.5), StepModel::soft_bounds(), StepModel::Constant] {
        let spreads = [Spread::normal(0.3), Spread::NONE];
        for (step_spread, imbalance_spread) in spreads.into_iter().zip([0.01, 0.0]) {
            let cycle_noise = CycleNoise::Multiplicative(0.3);
            let ideal = Device::ideal(step.clone(), 2e-3, -0.6, 0.7);
            let device = Device { step_spread, imbalance_spread, cycle_noise, ..ideal };
            let mut shared = Tile::new(rows, COLS, device.clone(), Key::new(1)).unwrap();
            // There every cell has its own.
            let mut own = in_f32(&shared);
            assert_eq!(shared.cell_parameters(), own.cell_parameters());
            assert_eq!(shared.symmetric_points(), own.symmetric_points(), "{device:?}");
            for tile in [&mut shared, &mut own] {
                change(tile, Key::new(2));
            }
            assert_eq!(bits(&shared), bits(&own), "{device:?}");
            // Another bound, here of all cells, is seen: the comparison can fail.
            let mut other = Tile::new(rows, COLS, Device { max: 0.69, ..device }, Key::new(1)).unwrap();
            change(&mut other, Key::new(2));
            assert_ne!(bits(&other), bits(&shared));
        }
    }
}
