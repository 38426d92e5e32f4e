//! One portable binary that uses the widest vectors of the machine: `dispatch` runs a kernel compiled for the best
//! instruction set found at run time. Kernels use no fused multiply–add, so the choice never changes a bit; [`at`] and the
//! variable [`VARIABLE`] choose another, for tests of exactly that.

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
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        self.0.run()
    }
}

/// Runs the kernel at the [`level`] in use. One call for each level: every further one is another copy of the loop for the compiler.
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        let level = level();
        if level == Level::Avx512
            && let Some(v4) = pulp::x86::V4::try_new()
        {
            pulp::Simd::vectorize(v4, Dispatched(kernel))
        } else if level == Level::Avx2
            && let Some(v3) = pulp::x86::V3::try_new()
        {
            pulp::Simd::vectorize(v3, Dispatched(kernel))
        } else {
            kernel.run()
        }
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

/// The largest magnitude, NaN if any entry is: the bit patterns of magnitudes are ordered as the numbers are, with NaN
/// above all, and the integer maximum is a vector instruction.
pub(crate) struct LargestMagnitude<'a>(pub(crate) &'a [f32]);

impl Kernel for LargestMagnitude<'_> {
    type Output = f32;

    #[inline(always)]
    fn run(self) -> f32 {
        f32::from_bits(self.0.iter().fold(0, |largest: u32, v| largest.max(v.abs().to_bits())))
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, at};
    use crate::readout::{Readout, Scratch, Settings, Shape};
    use crate::tile::{
        CycleNoise, Device, Exponents, Nodes, Saturation, Scheme, Slopes, Spread, StepModel, Tile, Trains,
    };
    use crate::{Array, ExactArray, Key, ResponseFunction};

    /// Ragged in both directions.
    const SHAPE: Shape = Shape { rows: 13, cols: 171 };

    fn updated(step: &StepModel, noise: CycleNoise, write_noise: f32) -> Vec<u32> {
        let device = Device {
            step_spread: Spread::normal(0.3),
            max_spread: Spread::normal(0.2),
            min_spread: Spread::normal(0.2),
            cycle_noise: noise,
            write_noise,
            ..Device::ideal(step.clone(), 1e-3, -0.6, 0.6)
        };
        let mut tile = Tile::new(SHAPE.rows, SHAPE.cols, device, Key::new(1)).unwrap();
        let x: Vec<f32> = (0..2 * SHAPE.cols).map(|j| (0.37 * j as f32).sin()).collect();
        for (k, (size, scheme)) in [
            (0.02, Scheme::Stochastic(Trains::default())),
            (0.6, Scheme::Stochastic(Trains::default())),
            (0.3, Scheme::Deterministic(Trains::default())),
            (0.3, Scheme::Expected),
        ]
        .into_iter()
        .enumerate()
        {
            let d: Vec<f32> = (0..2 * SHAPE.rows).map(|i| size * (0.9 * i as f32).cos()).collect();
            tile.write(0.05, &d, &x, scheme, Key::new(2).fold(k as u64)).unwrap();
            let column: Vec<f32> = d[..SHAPE.rows].to_vec();
            tile.write_column(7 * k, 0.05, &column, scheme, Key::new(3).fold(k as u64)).unwrap();
            let matrix: Vec<f32> = (0..tile.weights().len()).map(|i| 0.1 * (0.1 * i as f32).sin()).collect();
            tile.write_matrix(0.05, &matrix, scheme, Key::new(4).fold(k as u64)).unwrap();
        }
        tile.weights().iter().map(|w| w.to_bits()).collect()
    }

    fn read() -> Vec<u32> {
        let weights: Vec<f32> = (0..SHAPE.rows * SHAPE.cols).map(|i| 0.3 * (0.7 * i as f32).sin()).collect();
        let x: Vec<f32> = (0..3 * SHAPE.cols).map(|j| (0.37 * j as f32).sin()).collect();
        let mut bits = Vec::new();
        for settings in [Settings::default(), Settings::aihwkit()] {
            let readout = Readout::new(settings).unwrap();
            let (mut y, mut back) = (vec![0.0; 3 * SHAPE.rows], vec![0.0; 3 * SHAPE.cols]);
            readout.read(&weights, SHAPE, &x, Key::new(5), &mut y, &mut Scratch::default());
            readout.read_transposed(&weights, SHAPE, &y, Key::new(6), &mut back, &mut Scratch::default());
            bits.extend(y.iter().chain(&back).map(|v| v.to_bits()));
        }
        bits
    }

    fn expected(response: impl ResponseFunction + 'static) -> Vec<u64> {
        let start: Vec<f64> = (0..101).map(|i| 0.5 * f64::from(i).sin()).collect();
        let direction: Vec<f64> = (0..101).map(|i| (0.3 * f64::from(i)).cos()).collect();
        let mut array = ExactArray::uniform(&start, response).unwrap();
        for _ in 0..20 {
            array.increment(0.01, &direction, Key::new(1)).unwrap();
        }
        array.weights().iter().map(|w| w.to_bits()).collect()
    }

    #[test]
    fn the_instruction_set_changes_no_bit() {
        let linear = StepModel::Linear(Slopes { slope: [1.0, 0.7], ..Slopes::soft_bounds() });
        let spread = Exponents { spread: Spread::normal(0.1), ..Exponents::new(1.7) };
        let exponential = StepModel::Exponential(Saturation {
            amplitude: [0.00081, 0.36833],
            rate: [12.44625, 12.78785],
            stretch: 0.244,
            shift: 0.2425,
        });
        let models = [
            StepModel::Constant,
            linear,
            StepModel::Power(spread),
            StepModel::Power(Exponents { imbalance: 0.3, imbalance_spread: 0.1, ..spread }),
            exponential,
            StepModel::Piecewise(Nodes { up: vec![1.5, 0.8, 0.2], down: vec![0.1, 1.2, 1.1] }),
        ];
        for level in Level::available() {
            for step in &models {
                for (noise, write) in [
                    (CycleNoise::Multiplicative(0.3), 0.0),
                    (CycleNoise::Additive(0.3), 2.0),
                    (CycleNoise::Complex { deviation: 0.6, offset: 0.01, slope: 0.1 }, 0.0),
                ] {
                    let widest = updated(step, noise, write);
                    assert!(
                        at(level, || updated(step, noise, write)) == widest,
                        "{level:?}, {step:?}, {noise:?}"
                    );
                }
            }
            assert!(at(level, read) == read(), "{level:?}: reads");
            let power = || crate::response::Power::new(1.7, 1.0).unwrap();
            assert_eq!(at(level, || expected(power())), expected(power()), "{level:?}");
            let normals = || {
                let mut out = [0.0; 100];
                Key::new(9).fill_normal(&mut out);
                out.map(f64::to_bits)
            };
            assert_eq!(at(level, normals), normals(), "{level:?}");
        }
    }
}
