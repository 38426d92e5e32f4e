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
