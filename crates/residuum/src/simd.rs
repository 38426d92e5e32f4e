//! One portable binary, the widest instructions of the machine: [`dispatch`] runs a kernel compiled for the best
//! instruction set found at run time. Kernels use no fused multiply–add, so the choice never changes a bit.

use pulp::{Arch, Simd, WithSimd};

/// A loop to be compiled once per instruction set. Implementations and all they call must be `#[inline(always)]`.
pub(crate) trait Kernel {
    /// What the kernel returns.
    type Output;
    /// The loop itself.
    fn run(self) -> Self::Output;
}

struct Dispatched<K>(K);

impl<K: Kernel> WithSimd for Dispatched<K> {
    type Output = K::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        self.0.run()
    }
}

/// Runs the kernel with the widest vectors this CPU has.
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    Arch::new().dispatch(Dispatched(kernel))
}

/// The largest magnitude, NaN if any entry is: the bit patterns of magnitudes are ordered as the numbers are, with NaN
/// above all, and the maximum of integers is one instruction for many.
pub(crate) struct LargestMagnitude<'a>(pub(crate) &'a [f32]);

impl Kernel for LargestMagnitude<'_> {
    type Output = f32;

    #[inline(always)]
    fn run(self) -> f32 {
        f32::from_bits(self.0.iter().fold(0, |largest: u32, v| largest.max(v.abs().to_bits())))
    }
}
