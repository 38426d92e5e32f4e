//! Cycle-to-cycle noise as vector code.

use crate::device::CycleNoise;

/// Noise of one pulse, or of a train taken at once, on a cell whose step has the scale s (`unit`).
pub(super) trait Noise: Copy {
    /// Whether it is in units of s.
    const UNIT: bool = false;
    /// Whether pulses may be applied at once.
    const AT_ONCE: bool = true;
    /// The instruction sets that kernels with this noise are compiled for: see [`AnyNoise`].
    const BASELINE: bool = !cfg!(target_arch = "x86_64");
    const WIDE: bool = true;

    /// The state after a pulse at w: with the signed step v and its noise.
    fn pulsed(&self, unit: f32, w: f32, v: f32, xi: f32) -> f32;

    /// Standard deviation of the noise of a pulse at w.
    fn deviation(&self, unit: f32, w: f32, v: f32) -> f32;

    /// Standard deviation after n pulses of an affine step with slope b, `None` if it is flat; g = ((1+b)ⁿ − 1)/b.
    fn train(&self, unit: f32, w: f32, step: (f32, Option<f32>), n: f32, g: f32) -> f32;
}

/// (1+b)ⁿ⁻¹, what is left of a pulse's relative noise after the train, or of n of them: 1/(1+b) by its series, within 1e-5 for
/// the slopes at which trains are taken at once.
#[inline(always)]
fn remaining_noise(b: Option<f32>, n: f32, g: f32) -> f32 {
    match b {
        Some(b) if n > 1.0 => b.mul_add(g, 1.0) * b.mul_add(b - 1.0, 1.0),
        _ => 1.0,
    }
}

/// √Σₖ(1+b)²ᵏ = √(g(2 + bg)/(2 + b)): what noise that does not depend on the step is multiplied by after the train, or
/// after n ≤ 1 of them; 1/(1 + b/2) by its series, within 1e-8 for the slopes at which trains are taken at once.
#[inline(always)]
fn spread(b: Option<f32>, n: f32, g: f32) -> f32 {
    let squares = match b {
        Some(b) if n > 1.0 => {
            let half = 0.5 * b;
            g * half.mul_add(g, 1.0) * half.mul_add(half.mul_add(1.0 - half, -1.0), 1.0)
        }
        _ => g,
    };
    squares.sqrt()
}

/// v(1 + σξ).
#[derive(Clone, Copy)]
pub(super) struct Multiplicative(pub(super) f32);

impl Noise for Multiplicative {
    #[inline(always)]
    fn pulsed(&self, _: f32, w: f32, v: f32, xi: f32) -> f32 {
        v.mul_add(xi.mul_add(self.0, 1.0), w)
    }

    #[inline(always)]
    fn deviation(&self, _: f32, _: f32, v: f32) -> f32 {
        self.0 * v
    }

    #[inline(always)]
    fn train(&self, _: f32, _: f32, (v, b): (f32, Option<f32>), n: f32, g: f32) -> f32 {
        self.0 * v * remaining_noise(b, n, g) * n.sqrt()
    }
}

/// v + σsξ.
#[derive(Clone, Copy)]
pub(super) struct Additive(pub(super) f32);

impl Noise for Additive {
    const UNIT: bool = true;

    #[inline(always)]
    fn pulsed(&self, unit: f32, w: f32, v: f32, xi: f32) -> f32 {
        xi.mul_add(self.deviation(unit, w, v), w + v)
    }

    #[inline(always)]
    fn deviation(&self, unit: f32, _: f32, _: f32) -> f32 {
        self.0 * unit
    }

    #[inline(always)]
    fn train(&self, unit: f32, _: f32, (_, b): (f32, Option<f32>), n: f32, g: f32) -> f32 {
        self.0 * unit * spread(b, n, g)
    }
}

/// v + σ(|v| + offset + slope·|w|)ξ.
#[derive(Clone, Copy)]
pub(super) struct Complex {
    deviation: f32,
    /// Those of the device times σ.
    offset: f32,
    slope: f32,
}

impl Complex {
    pub(super) fn new(deviation: f32, offset: f32, slope: f32) -> Self {
        Self { deviation, offset: deviation * offset, slope: deviation * slope }
    }

    /// The part that pulses of one train share, whatever their step.
    #[inline(always)]
    fn fixed(self, w: f32) -> f32 {
        w.abs().mul_add(self.slope, self.offset)
    }
}

impl Noise for Complex {
    const AT_ONCE: bool = false;

    #[inline(always)]
    fn pulsed(&self, _: f32, w: f32, v: f32, xi: f32) -> f32 {
        xi.mul_add(self.deviation(0.0, w, v), w + v)
    }

    #[inline(always)]
    fn deviation(&self, _: f32, w: f32, v: f32) -> f32 {
        v.abs().mul_add(self.deviation, self.fixed(w))
    }

    #[inline(always)]
    fn train(&self, _: f32, w: f32, (v, b): (f32, Option<f32>), n: f32, g: f32) -> f32 {
        self.deviation * v.abs() * remaining_noise(b, n, g) * n.sqrt() + self.fixed(w) * spread(b, n, g)
    }
}

/// Whichever noise it is, found out for every pulse. The baseline of x86-64, which CPUs of the last ten years do not use, has kernels for
/// this one alone: a third of the copies, and compiling them took longer than those of any other instruction set.
#[derive(Clone, Copy)]
pub(super) enum AnyNoise {
    Multiplicative(Multiplicative),
    Additive(Additive),
    Complex(Complex),
}

macro_rules! either {
    ($noise:expr, $own:ident => $work:expr) => {
        match $noise {
            AnyNoise::Multiplicative($own) => $work,
            AnyNoise::Additive($own) => $work,
            AnyNoise::Complex($own) => $work,
        }
    };
}

impl AnyNoise {
    pub(super) fn new(noise: CycleNoise) -> Self {
        match noise {
            CycleNoise::Multiplicative(deviation) => Self::Multiplicative(Multiplicative(deviation)),
            CycleNoise::Additive(deviation) => Self::Additive(Additive(deviation)),
            CycleNoise::Complex { deviation, offset, slope } => {
                Self::Complex(Complex::new(deviation, offset, slope))
            }
        }
    }
}

impl Noise for AnyNoise {
    const UNIT: bool = true;
    const BASELINE: bool = true;
    const WIDE: bool = false;

    #[inline(always)]
    fn pulsed(&self, unit: f32, w: f32, v: f32, xi: f32) -> f32 {
        either!(self, noise => noise.pulsed(unit, w, v, xi))
    }

    #[inline(always)]
    fn deviation(&self, unit: f32, w: f32, v: f32) -> f32 {
        either!(self, noise => noise.deviation(unit, w, v))
    }

    #[inline(always)]
    fn train(&self, unit: f32, w: f32, step: (f32, Option<f32>), n: f32, g: f32) -> f32 {
        either!(self, noise => noise.train(unit, w, step, n, g))
    }
}

/// Passes the noise of a device to the macro `$with`, as its own type where kernels are compiled for that.
macro_rules! with_noise {
    ($cycle:expr, $with:ident) => {{
        use $crate::simd::{self, Level};
        use $crate::tile::pulse::noise::AnyNoise;
        match AnyNoise::new($cycle) {
            noise if cfg!(target_arch = "x86_64") && simd::level() == Level::Scalar => $with!(noise),
            AnyNoise::Multiplicative(noise) => $with!(noise),
            AnyNoise::Additive(noise) => $with!(noise),
            AnyNoise::Complex(noise) => $with!(noise),
        }
    }};
}
pub(super) use with_noise;
