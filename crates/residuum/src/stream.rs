//! Random numbers for whole rows: xoshiro128++ in [`LANES`] lanes, seeded by a [`Key`].
//!
//! A visit of a row needs a normal number per cell, and Philox would cost more than the pulse itself. A stream is
//! private to one row of one update (or to the lines of one sample) and is read from its beginning in an order that the
//! trains fix, so a draw depends on the key and the signals alone, never on threads. The lanes start from independent
//! 128-bit states; xoshiro128++ (Blackman & Vigna 2021) has period 2¹²⁸ − 1 in each.

use crate::Key;
use crate::key::philox_lanes;
use crate::math::shorter_polynomial;

/// Words drawn together.
pub const LANES: usize = 16;
/// Normals drawn together: two from each word.
pub const CHUNK: usize = 2 * LANES;

/// The states of all lanes. Aligned as the largest vectors: then so is the stack of a kernel that holds one, and no vector that it
/// spills lies across two lines of the cache, which depended on its callers and cost up to a sixth of an update.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Stream(pub [[u32; LANES]; 4]);

impl Stream {
    /// The stream of a key.
    #[inline(always)]
    pub fn new(key: Key) -> Self {
        let mut counter = [[0; LANES]; 4];
        for (i, block) in (0u64..).zip(&mut counter[0]) {
            *block = i;
        }
        let words = philox_lanes(counter, key.philox_key());
        // Loops, not `map`: that becomes a call.
        let mut state = [[0; LANES]; 4];
        for (state, words) in state.iter_mut().zip(&words) {
            for i in 0..LANES {
                state[i] = words[i] as u32;
            }
        }
        for word in &mut state[3] {
            // The one state to avoid is all zeros.
            *word |= 1;
        }
        Self(state)
    }

    /// The next word of every lane.
    #[inline(always)]
    pub fn words(&mut self) -> [u32; LANES] {
        let mut out = [0; LANES];
        for i in 0..LANES {
            out[i] = self.next(i);
        }
        out
    }

    /// The next word of one lane.
    #[inline(always)]
    pub fn next(&mut self, i: usize) -> u32 {
        let [a, b, c, d] = &mut self.0;
        let word = a[i].wrapping_add(d[i]).rotate_left(7).wrapping_add(a[i]);
        let shifted = b[i] << 9;
        c[i] ^= a[i];
        d[i] ^= b[i];
        b[i] ^= c[i];
        a[i] ^= d[i];
        c[i] ^= shifted;
        d[i] = d[i].rotate_left(11);
        word
    }

    /// The next normal numbers; word i gives draws i and i + LANES.
    #[inline(always)]
    pub fn normals(&mut self) -> [f32; CHUNK] {
        let words = self.words();
        let mut draws = [0.0; CHUNK];
        let (first, second) = draws.split_at_mut(LANES);
        for i in 0..LANES {
            (first[i], second[i]) = pair(words[i]);
        }
        draws
    }
}

/// Box–Muller from one word: 16 bits for the radius, 16 for the angle.
///
/// The tail ends at √(2 ln 2¹⁷) = 4.85 (one draw in 800 000 would pass), the distribution function is within 2⁻¹⁶ of
/// the normal one and the variance within 2e-5: tests below.
#[inline(always)]
pub fn pair(word: u32) -> (f32, f32) {
    // In units of 2⁻¹⁶, as the angle: the logarithm knows it, and coefficients carry it, which rounds nothing.
    let radius = minus_two_ln_of::<16>((word >> 16).cast_signed() as f32 + 0.5).sqrt();
    // An eighth of a turn to either side of an axis, and two bits for the axis.
    let r = (word & 0x3FFF).cast_signed() as f32 - 8191.5;
    let z = r * r;
    let sin = r * z.mul_add(79.824_684 * UNIT * UNIT4, -41.331_3 * UNIT * UNIT2).mul_add(z, 6.283_176_4 * UNIT);
    let cos = z.mul_add(62.961_147 * UNIT4, -19.727_66 * UNIT2).mul_add(z, 0.999_99);
    let along = f32::from_bits(cos.to_bits() ^ (word << 16 & 0x8000_0000));
    let (x, y) = if word & 0x4000 == 0 { (along, sin) } else { (sin, along) };
    (radius * x, radius * y)
}

/// 2⁻¹⁶, its square and its fourth power.
const UNIT: f32 = 1.0 / 65_536.0;
const UNIT2: f32 = UNIT * UNIT;
const UNIT4: f32 = UNIT2 * UNIT2;

/// −2 ln u for u in (0, 1), relative error below 1e-5.
#[inline(always)]
pub fn minus_two_ln(u: f32) -> f32 {
    minus_two_ln_of::<0>(u)
}

/// −2 ln u for x = u·2^`SHIFT`.
#[inline(always)]
fn minus_two_ln_of<const SHIFT: i32>(x: f32) -> f32 {
    const ONE: u32 = 0x3F80_0000;
    const SQRT_HALF: u32 = 0x3F35_04F3;
    // x = m · 2^e with m in [√½, √2).
    let shifted = x.to_bits().wrapping_add(ONE - SQRT_HALF);
    let e = (shifted >> 23).cast_signed() - (127 + SHIFT);
    let f = f32::from_bits((shifted & 0x007F_FFFF) + SQRT_HALF) - 1.0;
    let p = shorter_polynomial(
        f,
        [-2.000_007_4, 0.999_789_6, -0.665_318_1, 0.508_667_1, -0.439_314_16, 0.280_432_43],
    );
    f.mul_add(p, e as f32 * (-2.0 * std::f32::consts::LN_2))
}
