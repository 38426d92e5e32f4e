//! What the machine does: rates of simple loops, to which everything else is compared.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pulp::{Arch, Simd, WithSimd};

use crate::best_of;

/// A loop of this crate, compiled for the widest vectors of the machine as those of the library are.
enum Probe<'a> {
    /// w ← w + c·s: 12 bytes per number.
    Traffic(&'a mut [f32], &'a [f32]),
    /// 32 operations per number.
    Arithmetic(&'a mut [f32]),
}

/// One operation after the other on each of N numbers, which stay in registers: as many independent chains as there are vectors.
struct Chains<'a, T, F, const N: usize>(&'a mut [T; N], F);

/// Links of a chain.
const LINKS: usize = 20_000;

impl<T: Copy, F: Fn(T) -> T, const N: usize> WithSimd for Chains<'_, T, F, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let mut kept = *self.0;
        for _ in 0..LINKS {
            for number in &mut kept {
                *number = (self.1)(*number);
            }
        }
        *self.0 = kept;
    }
}

/// ns of one link, for one lane.
fn link<T: Copy, const N: usize>(start: T, link: impl Fn(T) -> T + Copy) -> f64 {
    let mut numbers = [start; N];
    let seconds = best_of(20, || {
        Arch::new().dispatch(Chains(&mut numbers, link));
        black_box(&mut numbers);
    });
    seconds * 1e9 / (LINKS * N) as f64
}

impl WithSimd for Probe<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        match self {
            Self::Traffic(w, s) => {
                for (w, s) in w.iter_mut().zip(s) {
                    *w += 1e-9 * s;
                }
            }
            Self::Arithmetic(w) => {
                for w in w.iter_mut() {
                    let mut x = *w;
                    for _ in 0..16 {
                        x = x * 0.999 + 0.001;
                    }
                    *w = x;
                }
            }
        }
    }
}

/// ns per byte of a working set of this many bytes.
pub fn traffic(bytes: f64) -> f64 {
    let n = (bytes / 8.0) as usize;
    let repeats = (4_000_000 / n).max(1);
    let (mut w, s) = (vec![0.0f32; n], vec![1.0f32; n]);
    let seconds = best_of(5, || (0..repeats).for_each(|_| Arch::new().dispatch(Probe::Traffic(&mut w, &s))));
    seconds * 1e9 / (repeats * n * 12) as f64
}

/// ns per operation on one lane.
pub fn operation() -> f64 {
    let mut w = vec![1.0f32; 2048];
    let seconds = best_of(5, || (0..1000).for_each(|_| Arch::new().dispatch(Probe::Arithmetic(&mut w))));
    seconds * 1e9 / (1000 * 2048 * 32) as f64
}

/// ns per operation on one lane, and per division or root, in double precision, where nothing waits for anything: rates that no code exceeds.
pub fn operations_f64() -> [f64; 2] {
    let factor = black_box(0.999);
    let pair = |x: f64| x * factor + 0.001;
    let operation = link::<f64, 48>(1.0, pair).min(link::<f64, 96>(1.0, pair)) / 2.0;
    let division = link::<f64, 48>(1.0, |x| factor / x);
    [operation, division]
}

/// ns per fused multiply–add at the machine's peak. Vectors of 256 bits have registers for 12 chains of them, those of 512 bits need more
/// than six to hide their latency: the better of both counts.
pub fn multiply_add() -> f64 {
    let factor = black_box(0.999_f32);
    let fused = |x: f32| x.mul_add(factor, 0.001);
    link::<f32, 96>(0.5, fused).min(link::<f32, 192>(0.5, fused))
}

/// Passages that are measured together.
const PASSAGES: u32 = 20_000;

/// A counter on cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Line(AtomicU32);

impl Line {
    fn wait_for(&self, passage: u32) {
        while self.0.load(Ordering::Acquire) != passage {
            spin_loop();
        }
    }
}

/// How long passages are measured: a core that was idle takes its time to come back.
const MEASURED: Duration = Duration::from_millis(200);

/// ns that a cache line takes from one core to another and back, the least of what is measured: while the system has both threads on one
/// core it takes much longer. Cores that share a cache are near, and a virtual machine may move them apart while it runs.
pub fn round_trip() -> f64 {
    let (mut least, begun) = (f64::INFINITY, Instant::now());
    while begun.elapsed() < MEASURED {
        least = least.min(passages());
    }
    least
}

/// ns of one passage and back, the mean of many.
fn passages() -> f64 {
    let line = Line::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            for passage in (1..2 * PASSAGES).step_by(2) {
                line.wait_for(passage);
                line.0.store(passage + 1, Ordering::Release);
            }
        });
        let begun = Instant::now();
        for passage in (1..2 * PASSAGES).step_by(2) {
            line.0.store(passage, Ordering::Release);
            line.wait_for(passage + 1);
        }
        begun.elapsed().as_secs_f64() * 1e9 / f64::from(PASSAGES)
    })
}
