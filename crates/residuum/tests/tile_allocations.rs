//! A step of a tile or a rule allocates nothing once it has run.

#![allow(clippy::unwrap_used, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use residuum::readout::Shape;
use residuum::response::Power;
use residuum::rule::{
    Analog, Buffer, Carrier, Chop, ChoppedConfig, ChoppedTikiTaka, Columns, Every, MixedConfig, MixedPrecision,
    Quantize, Rates, ResidualConfig, ResidualLearning, Rule, Source, SymmetricPoint, TikiTaka, TikiTakaConfig,
    Transfer,
};
use residuum::tile::{
    CellParameters, Device, Exponents, OneSidedCell, Policy, ReferenceCell, Refresh, Scheme, Spread, StepModel,
    Tile, Trains, VectorCell, presets,
};
use residuum::{ExactArray, Gradient, Key};

/// The system's allocator, counting what this thread asks for.
struct Counting;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
    /// Bytes in use, and the most there were.
    static LIVE: Cell<[isize; 2]> = const { Cell::new([0; 2]) };
}

fn count(bytes: isize) {
    // A thread that is being torn down has no counter any more.
    let _ = ASKED.try_with(|asked| asked.set(asked.get() + 1));
    live(bytes);
}

fn live(bytes: isize) {
    let _ = LIVE.try_with(|live| {
        let [now, most] = live.get();
        live.set([now + bytes, most.max(now + bytes)]);
    });
}

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.cast_signed() - layout.size().cast_signed());
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        live(-layout.size().cast_signed());
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of this thread during `work`.
fn allocations(work: impl FnOnce()) -> u64 {
    let before = ASKED.get();
    work();
    ASKED.get() - before
}

/// The most bytes that this thread used at once during `work`, beyond those before it.
fn peak(work: impl FnOnce()) -> isize {
    let [before, _] = LIVE.get();
    LIVE.set([before; 2]);
    work();
    LIVE.get()[1] - before
}

/// 4096 × 4096 weights of varied cells may take 200 MiB: 12.5 bytes for each weight, while they are drawn and written as well.
#[test]
fn sixteen_bits_keep_a_varied_tile_within_its_bytes() {
    let (rows, cols) = (256, 512);
    let weights = (rows * cols) as f64;
    let varied = |step: StepModel, cell_parameters| Device {
        step_spread: Spread::normal(0.3),
        imbalance_spread: 0.01,
        max_spread: Spread::normal(0.3),
        min_spread: Spread::normal(0.3),
        cell_parameters,
        ..Device::ideal(step, 1e-3, -0.6, 0.6)
    };
    for step in [StepModel::Constant, StepModel::soft_bounds(), StepModel::power(2.5)] {
        for (kept, most) in [(CellParameters::I16, 12.5), (CellParameters::F32, 40.0)] {
            let device = varied(step.clone(), kept);
            let bytes = peak(|| {
                let mut tile = Tile::new(rows, cols, device.clone(), Key::new(1)).unwrap();
                let (d, x) = &signals(rows, cols, 1)[0];
                tile.write(0.05, d, x, Trains::default(), Key::new(3)).unwrap();
            });
            let per_weight = bytes as f64 / weights;
            // What the device says is part of it; the rest is a row of parameters and the lines.
            let stated = (4 + device.parameter_bytes()) as f64;
            // In single precision, what cells turn out to share is let go only when all is drawn: here exponents of both directions, before there
            // were weights.
            let let_go = if kept == CellParameters::F32 { 4.0 } else { 0.0 };
            assert!(
                per_weight >= stated && per_weight < stated + 1.0 + let_go,
                "{per_weight}, {stated}: {device:?}"
            );
            assert!(stated <= most, "{stated}: {device:?}");
            // In single precision the same tile is beyond them.
            assert_eq!(per_weight <= 12.5, kept == CellParameters::I16, "{per_weight}: {device:?}");
        }
    }
}

/// Light, heavy and sparse signals.
fn signals(rows: usize, cols: usize, batch: usize) -> Vec<(Vec<f32>, Vec<f32>)> {
    let mut values = vec![0.0; batch * (rows + cols)];
    Key::new(2).fill_uniform(&mut values);
    let values: Vec<f32> = values.into_iter().map(|u| 2.0 * u as f32 - 1.0).collect();
    let (d, x) = values.split_at(batch * rows);
    let scaled = |size: f32| d.iter().map(|d| size * d).collect::<Vec<f32>>();
    let few: Vec<f32> = x.iter().enumerate().map(|(j, x)| if j % 20 == 0 { *x } else { 0.0 }).collect();
    vec![(scaled(0.02), x.to_vec()), (scaled(0.6), x.to_vec()), (scaled(0.02), few)]
}

fn devices() -> Vec<Device> {
    let exponents = Exponents { spread: Spread::normal(0.1), ..Exponents::new(1.5) };
    let power = Device::ideal(StepModel::Power(exponents), 1e-3, -0.6, 0.6);
    // Write noise, complex noise and trains slot by slot are in the presets.
    let rounded = Device { cell_parameters: CellParameters::I16, ..presets::reram_sb() };
    vec![power, rounded, presets::reram_sb(), presets::reram_array_om(), presets::pcm(), presets::ecram_mo()]
}

/// Allocations of the steps after the first of each kind.
fn steps(device: &Device, rows: usize, cols: usize) -> u64 {
    let mut tile = Tile::new(rows, cols, device.clone(), Key::new(1)).unwrap();
    let cases = signals(rows, cols, 4);
    // How many columns fire changes from step to step: the buffers have grown to their largest after a few.
    for k in 0..20 {
        for (d, x) in &cases {
            tile.write(0.05, d, x, Trains::default(), Key::new(3).fold(k)).unwrap();
        }
    }
    let pulses = tile.pulses_sent();
    let asked = allocations(|| {
        for k in 0..20 {
            for (d, x) in &cases {
                tile.write(0.05, d, x, Trains::default(), Key::new(3).fold(k)).unwrap();
            }
        }
    });
    assert!(tile.pulses_sent() > pulses);
    asked
}

#[test]
fn a_step_on_one_thread_allocates_nothing() {
    for device in devices() {
        // Below the work that threads share.
        assert_eq!(steps(&device, 32, 100), 0, "{device:?}");
    }
}

#[test]
fn a_step_on_two_threads_allocates_nothing() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for device in devices() {
        // The calling thread is one of the two; rayon's queues may grow once in a while, a row or a sample may not.
        let asked = pool.install(|| steps(&device, 256, 200));
        assert!(asked < 10, "{asked} allocations in 60 steps of 1024 rows and samples: {device:?}");
    }
}

const ROWS: usize = 32;
const COLS: usize = 100;

/// Rules by name, on tiles, on unit cells and on exact arrays.
fn rules() -> Vec<(&'static str, Box<dyn Rule<f32>>)> {
    let tile = |name: &str| Tile::new(ROWS, COLS, presets::reram_sb(), Key::new(1).named(name)).unwrap();
    let trains = Trains::default();
    let one = Transfer { columns: Columns::Some(1), ..Transfer::default() };
    let buffered = Transfer { carrier: Carrier::Buffered(Buffer::default()), ..one };
    let chop = Chop { columns: 0.1, regular: true, rows: 0.1 };
    let config = ChoppedConfig { chop, transfer: buffered, tail_weight: Some(1.0), ..ChoppedConfig::default() };
    let chopped = ChoppedTikiTaka::new(tile("w"), tile("p"), config).unwrap();
    let refresh = Refresh { upper: 0.02, lower: 0.002, ..Refresh::every(9) };
    let one_sided = OneSidedCell::new(tile("plus"), tile("minus"), Some(refresh)).unwrap();
    let vector = |policy| VectorCell::new(vec![tile("a"), tile("b")], policy).unwrap();
    let residual = |transfer| {
        let config =
            ResidualConfig { transfer, symmetric_point: SymmetricPoint::Zero, ..ResidualConfig::mixing(0.4) };
        ResidualLearning::new(tile("w"), tile("p"), config).unwrap()
    };
    let rounded = |scheme: Scheme| {
        let [w, p] = ["w", "p"].map(|name| tile(name).with_scheme(scheme).unwrap());
        ResidualLearning::new(w, p, ResidualConfig::mixing(0.4)).unwrap()
    };
    let taka = |transfer| {
        let config = TikiTakaConfig { transfer, ..TikiTakaConfig::default() };
        TikiTaka::new(tile("w"), tile("p"), config).unwrap()
    };
    let levels = Some(Quantize { levels: 15, stochastic: true });
    let mixed = MixedConfig {
        every: Every::Steps(2),
        quantize_errors: levels,
        quantize_inputs: levels,
        ..MixedConfig::default()
    };
    let exact = || {
        let array = ExactArray::uniform(&[0.0f32; ROWS * COLS], Power::new(1.0, 0.6).unwrap()).unwrap();
        array.with_shape(Shape { rows: ROWS, cols: COLS }).unwrap()
    };
    let compensated = Transfer { compensated: Some(1e-3), ..Transfer::default() };
    let gains = Some([vec![1.1; ROWS * COLS], vec![0.9; ROWS * COLS]]);
    let adam = ResidualConfig {
        source: Source::adam_w(0.01),
        transfer: compensated,
        cell_gain: gains,
        ..ResidualConfig::default()
    };
    vec![
        ("pulsed SGD", Box::new(Analog::sgd(tile("w")))),
        ("Tiki-Taka", Box::new(taka(one))),
        ("Tiki-Taka v2", Box::new(taka(buffered))),
        ("Residual Learning", Box::new(residual(Transfer::default()))),
        ("Residual Learning, one column", Box::new(residual(one))),
        ("deterministic", Box::new(rounded(Scheme::Deterministic(trains)))),
        ("mean count", Box::new(rounded(Scheme::MeanCount(trains)))),
        ("expected", Box::new(rounded(Scheme::Expected))),
        ("AGAD", Box::new(chopped)),
        ("mixed precision", Box::new(MixedPrecision::new(tile("w"), mixed).unwrap())),
        ("one-sided cells", Box::new(Analog::sgd(one_sided))),
        ("vector cells", Box::new(Analog::sgd(vector(Policy::All)))),
        ("vector cells in turn", Box::new(Analog::sgd(vector(Policy::Sequential)))),
        ("reference cells", Box::new(Analog::sgd(ReferenceCell::new(tile("w"), tile("r")).unwrap()))),
        ("expected, AdamW by gains", Box::new(ResidualLearning::new(exact(), exact(), adam).unwrap())),
    ]
}

#[test]
fn a_step_of_a_rule_allocates_nothing() {
    let cases = signals(ROWS, COLS, 4);
    let dense: Vec<f32> = cases[1].1.iter().cycle().take(ROWS * COLS).map(|x| 0.1 * x).collect();
    let rates = Rates::new(0.05, 0.5);
    // One thread: rayon's own queues are not ours.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for (name, mut rule) in rules() {
        pool.install(|| {
            let run = |rule: &mut dyn Rule<f32>, from: u64| {
                for k in from..from + 12 {
                    // The same keys again: buffers have grown to what these steps need.
                    let key = Key::new(3).fold(k % 12);
                    for (errors, inputs) in &cases {
                        rule.step(Gradient::Outer { batch: 4, errors, inputs }, &rates, key).unwrap();
                    }
                    rule.step(Gradient::Dense(&dense), &rates, key.named("dense")).unwrap();
                }
            };
            run(&mut *rule, 0);
            let sent = rule.pulses_sent();
            assert_eq!(allocations(|| run(&mut *rule, 12)), 0, "{name}");
            let more = rule.pulses_sent();
            assert!(more > sent || name.starts_with("expected"), "{name}");
        });
    }
}

/// The twin: an allocation is seen.
#[test]
fn allocations_are_counted() {
    let asked = allocations(|| {
        let mut kept: Vec<Vec<u8>> = Vec::with_capacity(3);
        kept.extend((1..4).map(|n| vec![0; n]));
        assert_eq!(kept.len(), 3);
    });
    assert_eq!(asked, 4);
}
