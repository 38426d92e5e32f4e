//! Memory that the system refuses ends the program with a sentence and exit code 2; the standard allocator would abort.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write as _;

/// The allocator of the system, which says what it was refused.
pub(crate) struct Memory;

// SAFETY: every call goes to the allocator of the system as it came, and what that returns is returned unless it is null.
#[expect(unsafe_code, reason = "the trait of allocators is unsafe")]
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of this very call.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { System.realloc(block, layout, size) }, size)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[inline]
fn given(block: *mut u8, size: usize) -> *mut u8 {
    if block.is_null() {
        refused(size);
    }
    block
}

/// Nothing here may allocate. A run is left as a kill would leave it: finished trials stay.
#[cold]
fn refused(size: usize) -> ! {
    let mut text = [0; 200];
    let mut rest = &mut text[..];
    let _ = writeln!(
        rest,
        "error: out of memory: {size} more bytes were refused; what was finished is kept, and the same command continues"
    );
    let length = 200 - rest.len();
    // If the terminal fails too, there is nowhere to report it.
    let _ = std::io::stderr().write_all(&text[..length]);
    std::process::exit(2)
}
