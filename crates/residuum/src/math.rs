//! Elementary functions with one value on every machine.
//!
//! The system's `exp`, `ln` and `pow` differ between platforms and do not vectorise. These are branch-free
//! polynomials of plain multiplications and additions, in single precision fused ones where `mul_add` says so, so the compiler may run them in any
//! number of lanes and the bits stay the same on every CPU. Error bounds are against the exact value and are
//! tested. The polynomials interpolate at Chebyshev nodes with a remainder below 2e-17 of the result.
//! Relative errors: [`ln`] and [`exp`] 4e-16, [`pow`] `2.5e-16 · (4 + |y ln x|)`.

// Both halves of ln 2; the high half has 32 trailing zero bits, so that n · LN2_HI is exact for |n| < 2^20.
const LN2_HI: f64 = 0.693_147_180_369_123_8;
const LN2_LO: f64 = 1.908_214_929_270_587_7e-10;
// Adding 1.5 · 2^52 rounds to the nearest integer and leaves it in the low mantissa bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
const ONE_BITS: u64 = 0x3FF0_0000_0000_0000;
const SQRT_HALF_BITS: u64 = 0x3FE6_A09E_667F_3BCD;

/// Natural logarithm of a positive, normal number. Zero and subnormals are not handled: see [`pow`].
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    // x = m · 2^e with m in [√½, √2), all in integer arithmetic that AVX2 has.
    let bits = x.to_bits();
    let biased = bits.wrapping_add(ONE_BITS - SQRT_HALF_BITS) >> 52;
    let m = f64::from_bits(bits.wrapping_sub(biased << 52).wrapping_add(ONE_BITS));
    let e = f64::from_bits(biased | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1023.0);
    // ln m = 2 artanh((m − 1)/(m + 1)) with |s| ≤ 0.1716.
    let f = m - 1.0;
    let s = f / (m + 1.0);
    let z = s * s;
    let tail = polynomial(
        z,
        [
            0.14616449685043406,
            0.15331721600556042,
            0.18182889125261723,
            0.2222221113479508,
            0.28571428625975487,
            0.39999999999899505,
            0.666666666666667,
        ],
    ) * z;
    // 2s = f − s·f exactly, which keeps the leading term free of the rounding of s.
    e * LN2_HI + (f - (s * (f - tail) - e * LN2_LO))
}

/// Exponential. Below −708 the result is 0, above 709 it is that of 709 (about 8e307).
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let (scale, fraction) = exp_parts(x);
    let value = scale + scale * fraction;
    if x < -708.0 { 0.0 } else { value }
}

/// e^x − 1 without cancellation near 0, relative error below 1e-15.
#[inline(always)]
pub fn exp_m1(x: f64) -> f64 {
    let (scale, fraction) = exp_parts(x);
    scale * fraction + (scale - 1.0)
}

/// (2ⁿ, e^r − 1) with x = n ln 2 + r, |r| ≤ ½ ln 2.
#[inline(always)]
fn exp_parts(x: f64) -> (f64, f64) {
    let y = x.clamp(-708.0, 709.0);
    let t = y * std::f64::consts::LOG2_E + ROUND;
    let n = t - ROUND;
    let r = (y - n * LN2_HI) - n * LN2_LO;
    let p = polynomial(
        r,
        [
            2.5100375924709717e-08,
            2.762007599981065e-07,
            2.7557268480116333e-06,
            2.4801521322116825e-05,
            0.0001984126986304067,
            0.0013888888917196881,
            0.008333333333330065,
            0.041666666666624164,
            0.16666666666666669,
            0.5000000000000001,
        ],
    );
    (f64::from_bits(t.to_bits().wrapping_add(1023) << 52), r + r * r * p)
}

/// Power x^y of a non-negative base; 0^y is 0 for y > 0 and 1 for y = 0. Negative bases give 0: callers
/// evaluate responses inside their range only.
#[inline(always)]
pub fn pow(x: f64, y: f64) -> f64 {
    let positive = x > f64::MIN_POSITIVE;
    let safe = if positive { x } else { 1.0 };
    let value = exp(y * ln(safe));
    if positive || y == 0.0 { value } else { 0.0 }
}

/// Hyperbolic tangent, relative error below 1e-15.
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    let m = exp_m1(-2.0 * x.abs());
    (-m / (2.0 + m)).copysign(x)
}

/// `(cos 2πu, sin 2πu)` for u in [0, 1], absolute error below 3e-16.
#[inline(always)]
pub fn cos_sin_turn(u: f64) -> (f64, f64) {
    let t = 4.0 * u + ROUND;
    let quadrant = t.to_bits();
    let r = (u - 0.25 * (t - ROUND)) * std::f64::consts::TAU;
    let z = r * r;
    let sin = r + r
        * z
        * polynomial(
            z,
            [
                1.5918129294866608e-10,
                -2.5051131845003624e-08,
                2.755731610255244e-06,
                -0.00019841269836758574,
                0.008333333333330948,
                -0.16666666666666666,
            ],
        );
    let cos = 1.0
        + z * polynomial(
            z,
            [
                -1.1367998654022494e-11,
                2.0875886738047052e-09,
                -2.7557315566341895e-07,
                2.480158729369346e-05,
                -0.0013888888888880775,
                0.04166666666666664,
                -0.5,
            ],
        );
    // A quarter turn maps (c, s) to (−s, c): swap on odd quadrants, then fix the signs through the sign bit.
    let odd = quadrant & 1 == 1;
    let (c, s) = if odd { (sin, cos) } else { (cos, sin) };
    let cos_sign = ((quadrant >> 1) ^ quadrant) << 63;
    let sin_sign = (quadrant >> 1) << 63;
    (f64::from_bits(c.to_bits() ^ cos_sign), f64::from_bits(s.to_bits() ^ sin_sign))
}

/// Binary logarithm of a positive, normal single, relative error below 2e-6. No division: it would cost as much as the
/// rest.
#[inline(always)]
pub fn log2_32(x: f32) -> f32 {
    const ONE: u32 = 0x3F80_0000;
    const SQRT_HALF: u32 = 0x3F35_04F3;
    // x = m · 2^e with m in [√½, √2).
    let shifted = x.to_bits().wrapping_add(ONE - SQRT_HALF);
    let e = (shifted >> 23).cast_signed() - 127;
    let f = f32::from_bits((shifted & 0x007F_FFFF) + SQRT_HALF) - 1.0;
    let p = short_polynomial(
        f,
        [1.442_696_6, -0.721_360_2, 0.480_613_1, -0.359_524_46, 0.296_119_57, -0.267_963_86, 0.168_186_56],
    );
    f.mul_add(p, e as f32)
}

/// 2^x of a single in [−126, 127]; clamped outside. Relative error below 4e-7.
#[inline(always)]
pub fn exp2_32(x: f32) -> f32 {
    exp2_up_to_127(if x < 127.0 { x } else { 127.0 })
}

/// The same for x ≤ 127.
#[inline(always)]
fn exp2_up_to_127(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0;
    let y = if x > -126.0 { x } else { -126.0 };
    let t = y + ROUND;
    let r = y - (t - ROUND);
    let p = shorter_polynomial(
        r,
        [1.0, std::f32::consts::LN_2, 0.240_221_07, 0.055_503_57, 0.009_676_032, 0.001_339_086_3],
    );
    let scale = f32::from_bits(t.to_bits().wrapping_add(127) << 23);
    p * scale
}

/// Exponential of a single in [−87, 88]; clamped outside. Relative error below 2e-7.
#[inline(always)]
pub fn exp32(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0;
    let y = x.clamp(-87.0, 88.0);
    let t = y * std::f32::consts::LOG2_E + ROUND;
    let n = t - ROUND;
    // ln 2 in two parts; the first has 9 trailing zero bits.
    let r = (y - n * 0.693_359_4) - n * -2.121_944_4e-4;
    let p = (((0.001_392_624_9 * r + 0.008_363_231) * r + 0.041_666_554) * r + 0.166_665_77) * r + 0.5;
    let scale = f32::from_bits(t.to_bits().wrapping_add(127) << 23);
    (1.0 + (r + r * r * p)) * scale
}

/// Polynomial with the lowest coefficient first, by Estrin's scheme: three steps long instead of six, which is what a
/// loop over few vectors waits for.
#[inline(always)]
pub(crate) fn short_polynomial(x: f32, c: [f32; 7]) -> f32 {
    let z = x * x;
    let low = z.mul_add(x.mul_add(c[3], c[2]), x.mul_add(c[1], c[0]));
    let high = z.mul_add(c[6], x.mul_add(c[5], c[4]));
    (z * z).mul_add(high, low)
}

/// The same with one coefficient less.
#[inline(always)]
pub(crate) fn shorter_polynomial(x: f32, c: [f32; 6]) -> f32 {
    let z = x * x;
    let low = z.mul_add(x.mul_add(c[3], c[2]), x.mul_add(c[1], c[0]));
    (z * z).mul_add(x.mul_add(c[5], c[4]), low)
}

/// x^y of a base in (0, 1]; 0 at 0 for y > 0. Relative error below 2e-6·(0.3 + |y ln x|).
#[inline(always)]
pub fn pow32(x: f32, y: f32) -> f32 {
    // The logarithm of 0 means nothing here, but it is finite, and so is the power that is thrown away.
    let value = exp2_up_to_127(y * log2_32(x));
    if x > 1e-30 { value } else { 0.0 }
}

/// Polynomial with the highest coefficient first, as two interleaved Horner chains: half the latency of one, which
/// a loop of long chains needs to keep the pipeline full.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let z = x * x;
    let (mut first, mut second) = (coefficients[0], coefficients[1]);
    for (i, c) in coefficients.iter().enumerate().skip(2) {
        if i % 2 == 0 {
            first = first * z + c;
        } else {
            second = second * z + c;
        }
    }
    if N.is_multiple_of(2) { first * x + second } else { second * x + first }
}
