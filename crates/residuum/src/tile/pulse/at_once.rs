//! Trains applied at once: n steps of slope b are worth ((1+b)ⁿ − 1)/b steps at w.
//!
//! There are three ways to compute it, each with its use: the series is shorter where trains meet few times, the exponential where
//! they may meet often, doubling works for every slope. They differ in the last bits, and the same seed must keep giving the same bits.

use crate::device::Device;

/// Above this slope pulses are applied one by one.
pub(super) const STEEP: f32 = 0.02;

/// Up to this slope [`by_series`] for 4 pulses does for every train: what it leaves out is about (n−1)(n−2)(n−3)(n−4)b⁴/120, 5.5e-5 of a
/// train of 31.
pub(super) const GENTLE: f32 = 0.01;

/// The slope of the mean cell's steps where hardly a cell has one beyond [`GENTLE`]: cells differ, but hardly one is twice as steep as the mean.
pub(super) fn gentle_slope(device: &Device) -> Option<f32> {
    device.slope().filter(|slope| 2.0 * slope <= GENTLE)
}

/// Up to this sum of slopes pulses of both directions are applied at once ([`super::row::Cells::mixed`]). At the limit, 5 affine steps or more end within 1e-3 of
/// where all their orders end on average, two within 4e-3.
pub(super) const FAR: f32 = 0.2;
/// The same for steps that bend, which differ from a straight line by a few percent of what it rises.
pub(super) const BENT: f32 = 0.08;

/// ((1+b)ⁿ − 1)/b for n ≤ `MOST` by the binomial series, nested; exact for n ≤ 9 and within 1e-8 for n ≤ 31, |b| ≤ 0.02.
#[inline(always)]
pub(super) fn by_series<const MOST: u32>(n: f32, b: f32) -> f32 {
    const RECIPROCALS: [f32; 8] = [0.5, 1.0 / 3.0, 0.25, 0.2, 1.0 / 6.0, 1.0 / 7.0, 1.0 / 8.0, 1.0 / 9.0];
    let terms = RECIPROCALS.len().min(MOST as usize - 1);
    let mut sum = 1.0;
    for k in (0..terms).rev() {
        sum = ((n - (k + 1) as f32) * (b * RECIPROCALS[k])).mul_add(sum, 1.0);
    }
    n * sum
}

/// The same for every n ≤ 31 in fewer operations, within 1e-6 for |b| ≤ 0.02: n·l·φ(n·b·l) with l = ln(1+b)/b by its series and φ(x) =
/// (eˣ − 1)/x by a polynomial for |x| ≤ 0.64.
#[inline(always)]
pub(super) fn by_exponential(n: f32, b: f32) -> f32 {
    // In pairs, so that operations need not wait for each other.
    let l = (b * b).mul_add(b.mul_add(-0.25, 1.0 / 3.0), b.mul_add(-0.5, 1.0));
    let x = n * b * l;
    let z = x * x;
    let (first, second) = (x.mul_add(0.5, 1.0), x.mul_add(0.041_665_36, 0.166_656_2));
    let phi = z.mul_add(z.mul_add(x.mul_add(0.001_401_645_2, 0.008_435_501), second), first);
    n * l * phi
}

/// ((1+b)ⁿ − 1)/b by doubling, for n below 32.
#[inline(always)]
pub(super) fn by_doubling(n: i32, b: f32) -> f32 {
    let mut g = 0.0;
    for bit in [4, 3, 2, 1, 0] {
        g *= 2.0 + b * g;
        let odd = 1.0 + (1.0 + b) * g;
        g = if n >> bit & 1 == 1 { odd } else { g };
    }
    g
}
