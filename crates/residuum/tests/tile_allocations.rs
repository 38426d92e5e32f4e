//! A step of a tile allocates nothing once it has run.

#![allow(clippy::unwrap_used, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use residuum::Key;
use residuum::tile::{Device, StepModel, Tile, Trains, presets};

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
    let power = Device::ideal(StepModel::Power { shape: 1.5, spread: 0.1 }, 1e-3, -0.6, 0.6);
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
