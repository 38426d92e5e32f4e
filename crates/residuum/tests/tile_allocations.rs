//! A step of a tile or a rule allocates nothing once it has run.

#![allow(clippy::unwrap_used, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use residuum::rule::crossbar::{
    Buffer, Carrier, Chop, ChoppedTikiTaka, Columns, Every, MixedPrecision, PulsedSgd, Quantize,
    ResidualLearning, TikiTaka, Transfer,
};
use residuum::tile::{
    Device, Exponents, OneSidedCell, Policy, ReferenceCell, Refresh, Scheme, Spread, StepModel, Tile, Trains,
    VectorCell, presets,
};
use residuum::{Gradient, Key, UpdateRule};

/// The system's allocator, counting what this thread asks for.
struct Counting;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is being torn down has no counter any more.
    let _ = ASKED.try_with(|asked| asked.set(asked.get() + 1));
}

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
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
    vec![power, presets::reram_sb(), presets::reram_array_om(), presets::pcm(), presets::ecram_mo()]
}

/// Allocations of the steps after the first of each kind.
fn steps(device: &Device, rows: usize, cols: usize) -> u64 {
    let mut tile = Tile::new(rows, cols, device.clone(), Key::new(1)).unwrap();
    let cases = signals(rows, cols, 4);
    // How many columns fire changes from step to step: the buffers have grown to their largest after a few.
    for k in 0..20 {
        for (d, x) in &cases {
            tile.update(0.05, d, x, Trains::default(), Key::new(3).fold(k)).unwrap();
        }
    }
    let pulses = tile.pulses_sent();
    let asked = allocations(|| {
        for k in 0..20 {
            for (d, x) in &cases {
                tile.update(0.05, d, x, Trains::default(), Key::new(3).fold(k)).unwrap();
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

/// Rules by name, on tiles and on unit cells.
fn rules() -> Vec<(&'static str, Box<dyn UpdateRule<f32>>)> {
    let tile = |name: &str| Tile::new(ROWS, COLS, presets::reram_sb(), Key::new(1).named(name)).unwrap();
    let trains = Trains::default();
    let one = || Transfer { columns: Columns::Some(1), ..Transfer::default() };
    let buffered = || Transfer { carrier: Carrier::Buffered(Buffer::default()), ..one() };
    let chop = Chop { columns: 0.1, regular: true, rows: 0.1 };
    let chopped = ChoppedTikiTaka::new(tile("w"), tile("p"), 0.05, 0.1, trains, chop, buffered()).unwrap();
    let refresh = Refresh { upper: 0.02, lower: 0.002, ..Refresh::every(9) };
    let one_sided = OneSidedCell::new(tile("plus"), tile("minus"), Some(refresh)).unwrap();
    let vector = |policy| VectorCell::new(vec![tile("a"), tile("b")], policy).unwrap();
    let residual =
        |transfer| ResidualLearning::new(tile("w"), tile("p"), 0.4, 0.05, 0.5, trains, transfer).unwrap();
    let rounded = |scheme: Scheme| {
        let transfer = Transfer { scheme, ..Transfer::default() };
        ResidualLearning::new(tile("w"), tile("p"), 0.4, 0.05, 0.5, scheme, transfer).unwrap()
    };
    let mixed = MixedPrecision::new(tile("w"), 0.05, Every::Steps(2), trains).unwrap();
    let levels = Some(Quantize { levels: 15, stochastic: true });
    vec![
        ("pulsed SGD", Box::new(PulsedSgd::new(tile("w"), 0.05, trains).unwrap())),
        ("Tiki-Taka", Box::new(TikiTaka::new(tile("w"), tile("p"), 0.0, 0.05, 0.5, trains, one()).unwrap())),
        (
            "Tiki-Taka v2",
            Box::new(TikiTaka::new(tile("w"), tile("p"), 0.0, 0.05, 0.5, trains, buffered()).unwrap()),
        ),
        ("Residual Learning", Box::new(residual(Transfer::default()))),
        ("Residual Learning, one column", Box::new(residual(one()))),
        ("deterministic", Box::new(rounded(Scheme::Deterministic(trains)))),
        ("mean count", Box::new(rounded(Scheme::MeanCount(trains)))),
        ("expected", Box::new(rounded(Scheme::Expected))),
        ("AGAD", Box::new(chopped.dynamic_reference(1.0).unwrap())),
        ("mixed precision", Box::new(mixed.quantize(levels, levels).unwrap())),
        ("one-sided cells", Box::new(PulsedSgd::new(one_sided, 0.05, trains).unwrap())),
        ("vector cells", Box::new(PulsedSgd::new(vector(Policy::All), 0.05, trains).unwrap())),
        ("vector cells in turn", Box::new(PulsedSgd::new(vector(Policy::Sequential), 0.05, trains).unwrap())),
        (
            "reference cells",
            Box::new(PulsedSgd::new(ReferenceCell::new(tile("w"), tile("r")).unwrap(), 0.05, trains).unwrap()),
        ),
    ]
}

#[test]
fn a_step_of_a_rule_allocates_nothing() {
    let cases = signals(ROWS, COLS, 4);
    let dense: Vec<f32> = cases[1].1.iter().cycle().take(ROWS * COLS).map(|x| 0.1 * x).collect();
    let mut effective = vec![0.0; ROWS * COLS];
    // One thread: rayon's own queues are not ours.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for (name, mut rule) in rules() {
        pool.install(|| {
            let mut run = |from: u64| {
                for k in from..from + 12 {
                    // The same keys again: buffers have grown to what these steps need.
                    let key = Key::new(3).fold(k % 12);
                    for (errors, inputs) in &cases {
                        rule.step(k, Gradient::Outer { batch: 4, errors, inputs }, key).unwrap();
                        rule.effective_weights(&mut effective);
                    }
                    rule.step(k, Gradient::Dense(&dense), key.named("dense")).unwrap();
                }
                rule.pulses_sent()
            };
            let sent = run(0);
            let mut more = 0;
            assert_eq!(allocations(|| more = run(12)), 0, "{name}");
            assert!(more > sent || name == "expected", "{name}");
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
