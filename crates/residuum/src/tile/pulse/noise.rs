//! Cycle-to-cycle noise as vector code.

use crate::device::{Cells, both, pick};

/// Noise of one pulse, or of a train taken at once.
pub(super) trait Noise: Copy {
    /// What a pulse adds to cell `j` at w: the signed step v and its noise.
    fn pulse(&self, j: usize, up: bool, w: f32, v: f32, xi: f32) -> f32;

    /// Standard deviation after n pulses of an affine step with slope b; g = ((1+b)ⁿ − 1)/b.
    fn train(&self, j: usize, up: bool, w: f32, step: (f32, f32), n: f32, g: f32) -> f32;

    /// The same for cells `from..from + n` alone.
    fn chunk(self, from: usize, n: usize) -> Self;
}

/// (1+b)ⁿ⁻¹, what is left of a pulse's relative noise after the train, or of n of them: 1/(1+b) by its series, within 1e-5 for
/// the slopes at which trains are taken at once.
#[inline(always)]
fn remaining_noise(b: f32, n: f32, g: f32) -> f32 {
    if n > 1.0 { (1.0 + b * g) * (1.0 - b + b * b) } else { 1.0 }
}

/// √Σₖ(1+b)²ᵏ: what noise that does not depend on the step is multiplied by after the train.
#[inline(always)]
fn spread(b: f32, g: f32) -> f32 {
    (g * (2.0 + b * g) / (2.0 + b)).sqrt()
}

/// v(1 + σξ).
#[derive(Clone, Copy)]
pub(super) struct Multiplicative(pub(super) f32);

impl Noise for Multiplicative {
    #[inline(always)]
    fn pulse(&self, _: usize, _: bool, _: f32, v: f32, xi: f32) -> f32 {
        v * (1.0 + self.0 * xi)
    }

    #[inline(always)]
    fn train(&self, _: usize, _: bool, _: f32, (v, b): (f32, f32), n: f32, g: f32) -> f32 {
        self.0 * v * remaining_noise(b, n, g) * n.sqrt()
    }

    #[inline(always)]
    fn chunk(self, _: usize, _: usize) -> Self {
        self
    }
}

/// v + σsξ.
#[derive(Clone, Copy)]
pub(super) struct Additive<'a> {
    deviation: f32,
    scale: [&'a [f32]; 2],
}

impl<'a> Additive<'a> {
    /// The noise of cells `from..to`.
    pub(super) fn of(deviation: f32, cells: &'a Cells, from: usize, to: usize) -> Self {
        Self { deviation, scale: [&cells.scale[0][from..to], &cells.scale[1][from..to]] }
    }
}

impl Noise for Additive<'_> {
    #[inline(always)]
    fn pulse(&self, j: usize, up: bool, _: f32, v: f32, xi: f32) -> f32 {
        v + self.deviation * pick(self.scale, j, up) * xi
    }

    #[inline(always)]
    fn train(&self, j: usize, up: bool, _: f32, (_, b): (f32, f32), _: f32, g: f32) -> f32 {
        self.deviation * pick(self.scale, j, up) * spread(b, g)
    }

    #[inline(always)]
    fn chunk(self, from: usize, n: usize) -> Self {
        Self { scale: both(self.scale, from, n), ..self }
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
        self.offset + self.slope * w.abs()
    }
}

impl Noise for Complex {
    #[inline(always)]
    fn pulse(&self, _: usize, _: bool, w: f32, v: f32, xi: f32) -> f32 {
        v + (self.deviation * v.abs() + self.fixed(w)) * xi
    }

    #[inline(always)]
    fn train(&self, _: usize, _: bool, w: f32, (v, b): (f32, f32), n: f32, g: f32) -> f32 {
        self.deviation * v.abs() * remaining_noise(b, n, g) * n.sqrt() + self.fixed(w) * spread(b, g)
    }

    #[inline(always)]
    fn chunk(self, _: usize, _: usize) -> Self {
        self
    }
}
