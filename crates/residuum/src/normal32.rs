//! Single-precision draws for the converters: four from each Philox block, in chunks of [`CHUNK`].
//!
//! A readout needs one normal per output, millions per batch, and adds it to a number that a converter then rounds to
//! nine bits: single precision is plenty and costs a quarter of [`Key::fill_normal`]. The tail ends at 6.66 standard
//! deviations, which one draw in 10¹⁰ would pass.

use crate::Key;
use crate::key::philox_lanes;

/// Draws made together. The layout depends on it, so changing it changes every seeded read.
pub const CHUNK: usize = 4 * LANES;
/// Blocks of a key drawn together.
pub const LANES: usize = 16;
/// Pairs of draws in a chunk: two from each block.
pub const PAIRS: usize = 2 * LANES;

/// Chunk number `chunk` of the standard normal draws of `key`. Pair `p` of the chunk gives draws `p` and `p + PAIRS`.
#[inline(always)]
pub fn normals(key: Key, chunk: u64) -> [f32; CHUNK] {
    let words = words(key, chunk);
    let mut draws = [0.0; CHUNK];
    let (cosines, sines) = draws.split_at_mut(PAIRS);
    for p in 0..PAIRS {
        (cosines[p], sines[p]) = box_muller(words[p], words[p + PAIRS]);
    }
    draws
}

/// The first `N` ≤ PAIRS of the chunk's [`normals`], at a fraction of their cost.
#[inline(always)]
pub(crate) fn first_normals<const N: usize>(key: Key, chunk: u64) -> [f32; N] {
    const { assert!(N <= PAIRS) };
    let words = words(key, chunk);
    let mut draws = [0.0; N];
    for p in 0..N {
        draws[p] = box_muller(words[p], words[p + PAIRS]).0;
    }
    draws
}

/// Chunk number `chunk` of the uniform draws of `key` in [−½, ½), the offsets of stochastic rounding.
#[inline(always)]
pub fn centered_uniforms(key: Key, chunk: u64) -> [f32; CHUNK] {
    // 24 bits: exact in single precision, so that the upper end is never reached.
    words(key, chunk).map(|w| (w.cast_signed() >> 8) as f32 * (1.0 / 16_777_216.0))
}

/// The words of LANES blocks: all first words, then all third, all second, all fourth; word `p` is paired with word
/// `p + PAIRS` of the same block.
#[inline(always)]
pub(crate) fn words(key: Key, chunk: u64) -> [u32; CHUNK] {
    let mut low = [0; LANES];
    let mut high = [0; LANES];
    for i in 0..LANES {
        let block = chunk * LANES as u64 + i as u64;
        low[i] = block & 0xFFFF_FFFF;
        high[i] = block >> 32;
    }
    let [a, b, c, d] = philox_lanes([low, high, [0; LANES], [0; LANES]], key.philox_key());
    let mut words = [0; CHUNK];
    for i in 0..LANES {
        words[i] = a[i] as u32;
        words[i + LANES] = c[i] as u32;
        words[i + 2 * LANES] = b[i] as u32;
        words[i + 3 * LANES] = d[i] as u32;
    }
    words
}

/// Two standard normal draws from two random words.
#[inline(always)]
pub fn box_muller(first: u32, second: u32) -> (f32, f32) {
    // (k + ½)/2³¹ for a 31-bit k: never 0, and the conversion is one that every instruction set has.
    let u = (first >> 1).cast_signed() as f32 * (1.0 / 2_147_483_648.0) + 1.0 / 4_294_967_296.0;
    let radius = (-2.0 * ln(u)).max(0.0).sqrt();
    let (c, s) = cos_sin_turn(second.cast_signed() as f32 * (1.0 / 4_294_967_296.0));
    (radius * c, radius * s)
}

/// Natural logarithm of a positive, normal number, relative error below 3e-7.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    const ONE_BITS: u32 = 0x3F80_0000;
    const SQRT_HALF_BITS: u32 = 0x3F35_04F3;
    // x = m · 2^e with m in [√½, √2).
    let shifted = x.to_bits().wrapping_add(ONE_BITS - SQRT_HALF_BITS);
    let e = (shifted >> 23).cast_signed() - 127;
    let m = f32::from_bits((shifted & 0x007F_FFFF) + SQRT_HALF_BITS);
    let f = m - 1.0;
    let tail = horner(
        f,
        [
            -0.079_027_44,
            0.126_223_19,
            -0.129_981_83,
            0.142_144_96,
            -0.166_412_82,
            0.200_010_45,
            -0.250_003_07,
            0.333_333_3,
        ],
    );
    let z = f * f;
    (e as f32).mul_add(std::f32::consts::LN_2, z.mul_add(f.mul_add(tail, -0.5), f))
}

/// `(cos 2πu, sin 2πu)` for |u| ≤ ½, absolute error below 2e-7.
#[inline(always)]
pub fn cos_sin_turn(u: f32) -> (f32, f32) {
    // Adding 1.5 · 2²³ rounds to the nearest integer and leaves it in the low mantissa bits.
    const ROUND: f32 = 12_582_912.0;
    let t = 4.0 * u + ROUND;
    let quadrant = t.to_bits();
    let r = u - 0.25 * (t - ROUND);
    let z = r * r;
    let sin = r * horner(z, [-75.401_61, 81.592_545, -41.341_663, 6.283_185_5]);
    let cos = horner(z, [59.220_17, -85.442_85, 64.939_316, -19.739_208, 1.0]);
    // A quarter turn maps (c, s) to (−s, c): swap on odd quadrants, then fix the signs through the sign bit.
    let (c, s) = if quadrant & 1 == 1 { (sin, cos) } else { (cos, sin) };
    let cos_sign = ((quadrant >> 1) ^ quadrant) << 31;
    let sin_sign = (quadrant >> 1) << 31;
    (f32::from_bits(c.to_bits() ^ cos_sign), f32::from_bits(s.to_bits() ^ sin_sign))
}

/// Polynomial with the highest coefficient first. Lanes run in parallel, so one chain is enough.
#[inline(always)]
fn horner<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut value = coefficients[0];
    for c in &coefficients[1..] {
        value = value.mul_add(x, *c);
    }
    value
}
