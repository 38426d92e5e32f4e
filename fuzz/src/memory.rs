//! An allocator that counts, and refuses what a reader must not ask for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};

use crate::watch;

/// The allocator of the system, counted. A program that fuzzes makes it its global allocator.
#[derive(Debug)]
pub struct Counting;

/// Bytes held now, all threads together.
static HELD: AtomicIsize = AtomicIsize::new(0);
/// The most since the case began.
static PEAK: AtomicIsize = AtomicIsize::new(0);
/// Bytes held when the case began.
static START: AtomicIsize = AtomicIsize::new(0);
/// What the case may hold; 0 between cases.
static MOST: AtomicUsize = AtomicUsize::new(0);

/// A case begins that may hold so many bytes.
pub fn begin(most: usize) {
    let held = HELD.load(Relaxed);
    START.store(held, Relaxed);
    PEAK.store(held, Relaxed);
    MOST.store(most, Relaxed);
}

/// It ends; the most that it held.
pub fn end() -> usize {
    MOST.store(0, Relaxed);
    usize::try_from(PEAK.load(Relaxed) - START.load(Relaxed)).unwrap_or(0)
}

fn took(bytes: usize) {
    let held = HELD.fetch_add(bytes.cast_signed(), Relaxed) + bytes.cast_signed();
    PEAK.fetch_max(held, Relaxed);
    let most = MOST.load(Relaxed);
    if most > 0 && held - START.load(Relaxed) > most.cast_signed() {
        // What follows allocates itself.
        MOST.store(0, Relaxed);
        watch::found(&format!("holds more than {most} bytes, with {bytes} at once"));
    }
}

fn gave(bytes: usize) {
    HELD.fetch_sub(bytes.cast_signed(), Relaxed);
}

// SAFETY: every call goes to the allocator of the system as it came; counting touches no block.
#[expect(unsafe_code, reason = "the trait of allocators is unsafe")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller keeps the contract of this very call.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        took(size);
        // SAFETY: as above.
        let moved = unsafe { System.realloc(block, layout, size) };
        gave(layout.size());
        moved
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        gave(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}
