//! What the machine does: rates of simple loops, to which everything else is compared.

use pulp::{Arch, Simd, WithSimd};

use crate::best_of;

/// A loop of this crate, compiled for the widest vectors of the machine as those of the library are.
enum Probe<'a> {
    /// w ← w + c·s: 12 bytes per number.
    Traffic(&'a mut [f32], &'a [f32]),
    /// 32 operations per number.
    Arithmetic(&'a mut [f32]),
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
