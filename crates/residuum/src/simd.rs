//! One portable binary that uses the widest vectors of the machine: `dispatch` runs a kernel compiled for the best
//! instruction set found at run time. Multiply–adds are fused where the source says so (`mul_add`) and nowhere else, so the choice never
//! changes a bit; a CPU without the instruction, which has no wide vectors either, computes them by functions. [`at`] and the
//! variable [`VARIABLE`] choose another set, for tests of exactly that.

use std::env;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use pulp::WithSimd;

/// Names an instruction set for the whole process: `scalar`, `avx2` or `avx512`.
pub const VARIABLE: &str = "RESIDUUM_SIMD";

/// Instruction sets that kernels are compiled for, narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// What the compiler assumes of every CPU.
    Scalar = 1,
    /// Vectors of 256 bits.
    Avx2,
    /// Vectors of 512 bits.
    Avx512,
}

impl Level {
    /// All of them with their names.
    pub const ALL: [(Self, &str); 3] =
        [(Self::Scalar, "scalar"), (Self::Avx2, "avx2"), (Self::Avx512, "avx512")];

    /// Whether this CPU has it.
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            match self {
                Self::Scalar => true,
                Self::Avx2 => pulp::x86::V3::try_new().is_some(),
                Self::Avx512 => pulp::x86::V4::try_new().is_some(),
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self == Self::Scalar
        }
    }

    /// Those that this CPU has, narrowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().map(|(level, _)| level).filter(|level| level.is_available())
    }
}

/// The level in use; 0 before the first look.
static LEVEL: AtomicU8 = AtomicU8::new(0);
/// Held by what chooses a level.
static CHOOSING: Mutex<()> = Mutex::new(());

/// What [`VARIABLE`] asks for.
///
/// # Errors
/// If it is not the name of a level, or this CPU does not have it.
pub fn requested() -> Result<Option<Level>, String> {
    let Ok(name) = env::var(VARIABLE) else { return Ok(None) };
    let names: Vec<&str> = Level::ALL.iter().filter(|(level, _)| level.is_available()).map(|l| l.1).collect();
    match Level::ALL.iter().find(|(level, own)| *own == name && level.is_available()) {
        Some((level, _)) => Ok(Some(*level)),
        None => Err(format!("{VARIABLE} must be one of {} on this CPU, got {name:?}", names.join(", "))),
    }
}

/// The instruction set that kernels use: the widest, unless [`VARIABLE`] names another that this CPU has.
pub fn level() -> Level {
    match LEVEL.load(Ordering::Relaxed) {
        1 => Level::Scalar,
        2 => Level::Avx2,
        3 => Level::Avx512,
        _ => {
            let level = requested().ok().flatten().or(Level::available().last()).unwrap_or(Level::Scalar);
            LEVEL.store(level as u8, Ordering::Relaxed);
            level
        }
    }
}

/// Goes back to a level, even if work panics.
struct Back(Level);

impl Drop for Back {
    fn drop(&mut self) {
        LEVEL.store(self.0 as u8, Ordering::Relaxed);
    }
}

/// Does some work with all kernels of the process at one level, one such work at a time.
///
/// # Panics
/// If this CPU does not have it.
pub fn at<T>(forced: Level, work: impl FnOnce() -> T) -> T {
    assert!(forced.is_available(), "{forced:?} must be an instruction set of this CPU");
    let _one = CHOOSING.lock().unwrap_or_else(PoisonError::into_inner);
    let _back = Back(level());
    LEVEL.store(forced as u8, Ordering::Relaxed);
    work()
}

/// A loop compiled once per instruction set. Implementations and everything they call must be `#[inline(always)]`.
pub trait Kernel {
    /// What the kernel returns.
    type Output;
    /// Whether it is compiled for what the compiler assumes of every CPU.
    const BASELINE: bool = true;
    /// Whether it is compiled for wider vectors, where there are any.
    const WIDE: bool = true;
    /// The loop itself.
    fn run(self) -> Self::Output;
}

struct Dispatched<K>(K);

impl<K: Kernel> WithSimd for Dispatched<K> {
    type Output = K::Output;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        self.0.run()
    }
}

/// Runs the kernel at the [`level`] in use. One call for each level: every further one is another copy of the loop for the compiler.
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        let level = level();
        if K::WIDE {
            if level == Level::Avx512
                && let Some(v4) = pulp::x86::V4::try_new()
            {
                return pulp::Simd::vectorize(v4, Dispatched(kernel));
            }
            // A kernel for wide vectors alone: another thread may have chosen the baseline since it was taken, and bits are the same.
            if (level == Level::Avx2 || !K::BASELINE)
                && let Some(v3) = pulp::x86::V3::try_new()
            {
                return pulp::Simd::vectorize(v3, Dispatched(kernel));
            }
        }
        if K::BASELINE {
            return kernel.run();
        }
        unreachable!("a kernel for wide vectors is taken where there are any")
    }
    #[cfg(not(target_arch = "x86_64"))]
    pulp::Arch::new().dispatch(Dispatched(kernel))
}

struct Closure<F>(F);

impl<R, F: FnOnce() -> R> Kernel for Closure<F> {
    type Output = R;

    #[inline(always)]
    fn run(self) -> R {
        (self.0)()
    }
}

/// Runs a closure at the [`level`] in use. It and everything it calls must be `#[inline(always)]`.
#[inline(always)]
pub fn vectorized<R>(run: impl FnOnce() -> R) -> R {
    dispatch(Closure(run))
}

/// The largest magnitude of each sample of `width` values, as [`LargestMagnitude`] has it.
pub(crate) struct LargestMagnitudes<'a> {
    pub(crate) samples: &'a [f32],
    pub(crate) width: usize,
    pub(crate) out: &'a mut [f32],
}

impl Kernel for LargestMagnitudes<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (out, sample) in self.out.iter_mut().zip(self.samples.chunks_exact(self.width)) {
            *out = LargestMagnitude(sample).run();
        }
    }
}

/// The largest magnitude, NaN if any entry is: the bit patterns of magnitudes are ordered as the numbers are, with NaN
/// above all, and the integer maximum is a vector instruction.
pub(crate) struct LargestMagnitude<'a>(pub(crate) &'a [f32]);

impl Kernel for LargestMagnitude<'_> {
    type Output = f32;

    #[inline(always)]
    fn run(self) -> f32 {
        const LANES: usize = 16;
        let (whole, rest) = self.0.as_chunks::<LANES>();
        // Once more some of those before: what is left would be done value by value. As one chain: a plain loop over the others is
        // turned into one across them.
        let last = if rest.is_empty() { None } else { self.0.last_chunk() };
        let mut lanes = [0; LANES];
        for values in whole.iter().chain(last) {
            for i in 0..LANES {
                let magnitude = values[i].abs().to_bits();
                lanes[i] = if magnitude > lanes[i] { magnitude } else { lanes[i] };
            }
        }
        let mut largest = 0;
        for i in 0..LANES {
            largest = if lanes[i] > largest { lanes[i] } else { largest };
        }
        if whole.is_empty() {
            for v in rest {
                largest = largest.max(v.abs().to_bits());
            }
        }
        f32::from_bits(largest)
    }
}
