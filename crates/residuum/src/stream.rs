//! Random numbers for whole rows: xoshiro128++ in [`LANES`] lanes, seeded by a [`Key`].
//!
//! A visit of a row needs a normal number per cell, and Philox would cost more than the pulse itself. A stream is
//! private to one row of one update (or to the lines of one sample) and is read from its beginning in an order that the
//! trains fix, so a draw depends on the key and the signals alone, never on threads. The lanes start from independent
//! 128-bit states; xoshiro128++ (Blackman & Vigna 2021) has period 2¹²⁸ − 1 in each.

use crate::Key;
use crate::key::philox_lanes;
use crate::math::short_polynomial;

/// Words drawn together.
pub(crate) const LANES: usize = 16;
/// Normals drawn together: two from each word.
pub(crate) const CHUNK: usize = 2 * LANES;

#[derive(Clone, Copy)]
pub(crate) struct Stream([[u32; LANES]; 4]);

impl Stream {
    #[inline(always)]
    pub(crate) fn new(key: Key) -> Self {
        let mut counter = [[0; LANES]; 4];
        for (i, block) in (0u64..).zip(&mut counter[0]) {
            *block = i;
        }
        let mut state = philox_lanes(counter, key.philox_key()).map(|words| words.map(|w| w as u32));
        // The one state to avoid is all zeros.
        state[3] = state[3].map(|w| w | 1);
        Self(state)
    }

    /// The next word of every lane.
    #[inline(always)]
    pub(crate) fn words(&mut self) -> [u32; LANES] {
        let [a, b, c, d] = &mut self.0;
        let mut out = [0; LANES];
        for i in 0..LANES {
            out[i] = a[i].wrapping_add(d[i]).rotate_left(7).wrapping_add(a[i]);
            let shifted = b[i] << 9;
            c[i] ^= a[i];
            d[i] ^= b[i];
            b[i] ^= c[i];
            a[i] ^= d[i];
            c[i] ^= shifted;
            d[i] = d[i].rotate_left(11);
        }
        out
    }

    /// The next normal numbers; word i gives draws i and i + LANES.
    #[inline(always)]
    pub(crate) fn normals(&mut self) -> [f32; CHUNK] {
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
fn pair(word: u32) -> (f32, f32) {
    let u = ((word >> 16).cast_signed() as f32 + 0.5) * (1.0 / 65_536.0);
    let radius = minus_two_ln(u).sqrt();
    // An eighth of a turn to either side of an axis, and two bits for the axis.
    let r = ((word & 0x3FFF).cast_signed() as f32 - 8191.5) * (1.0 / 65_536.0);
    let z = r * r;
    let sin = r * ((79.824_684 * z - 41.331_3) * z + 6.283_176_4);
    let cos = (62.961_147 * z - 19.727_66) * z + 0.999_99;
    let along = f32::from_bits(cos.to_bits() ^ (word << 16 & 0x8000_0000));
    let (x, y) = if word & 0x4000 == 0 { (along, sin) } else { (sin, along) };
    (radius * x, radius * y)
}

/// −2 ln u for u in (0, 1), relative error below 1e-5.
#[inline(always)]
fn minus_two_ln(u: f32) -> f32 {
    const ONE: u32 = 0x3F80_0000;
    const SQRT_HALF: u32 = 0x3F35_04F3;
    // u = m · 2^e with m in [√½, √2).
    let shifted = u.to_bits().wrapping_add(ONE - SQRT_HALF);
    let e = (shifted >> 23).cast_signed() - 127;
    let f = f32::from_bits((shifted & 0x007F_FFFF) + SQRT_HALF) - 1.0;
    let p = short_polynomial(
        f,
        [-2.000_007_4, 0.999_789_6, -0.665_318_1, 0.508_667_1, -0.439_314_16, 0.280_432_43, 0.0],
    );
    e as f32 * (-2.0 * std::f32::consts::LN_2) + f * p
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::erfc;
    use crate::stats::{Summary, kolmogorov_smirnov_normal};

    /// The first outputs of the published generator from the state (1, 2, 3, 4).
    #[test]
    fn known_answers() {
        let mut stream = Stream([[1; LANES], [2; LANES], [3; LANES], [4; LANES]]);
        for expected in [641, 1_573_767, 3_222_811_527, 3_517_856_514, 836_907_274, 4_247_214_768] {
            assert_eq!(stream.words(), [expected; LANES]);
        }
    }

    /// Radius of each 16-bit half, and the cosines of all angles in order.
    fn circle() -> (Vec<f64>, Vec<f64>) {
        let radii = (0..1u32 << 16).map(|k| f64::from(minus_two_ln((k as f32 + 0.5) / 65_536.0).sqrt()));
        // At the largest radius the draw is the radius times the coordinate.
        let coordinates = |pick: fn((f32, f32)) -> f32| -> Vec<f64> {
            let longest = f64::from(minus_two_ln(0.5 / 65_536.0).sqrt());
            let mut all: Vec<f64> = (0..1u32 << 16).map(|l| f64::from(pick(pair(l))) / longest).collect();
            all.sort_unstable_by(f64::total_cmp);
            all
        };
        let (first, second) = (coordinates(|p| p.0), coordinates(|p| p.1));
        for (a, b) in first.iter().zip(&second) {
            assert!((a - b).abs() < 1e-6, "both draws of a pair have one distribution");
        }
        (radii.collect(), first)
    }

    /// Largest distance to the normal distribution function, from all 2³² words, with every draw scaled.
    fn deviation(radii: &[f64], cosines: &[f64], scale: f64) -> f64 {
        let total = (radii.len() * cosines.len()) as f64;
        // Draws are symmetric, so the left half tells all.
        (0..=80)
            .map(|i| -5.0 + f64::from(i) * 0.0625)
            .map(|x| {
                let below: usize = radii.iter().map(|r| cosines.partition_point(|c| scale * r * c <= x)).sum();
                (below as f64 / total - 0.5 * erfc(-x / std::f64::consts::SQRT_2)).abs()
            })
            .fold(0.0, f64::max)
    }

    #[test]
    fn the_distribution_of_all_words_is_normal() {
        let (radii, cosines) = circle();
        let mean = |values: &[f64], power| values.iter().map(|v| v.powi(power)).sum::<f64>() / 65_536.0;
        assert!(mean(&cosines, 1).abs() < 1e-7 && mean(&cosines, 3).abs() < 1e-7, "no mean, no skewness");
        let moment = |power| mean(&radii, power) * mean(&cosines, power);
        assert!((moment(2) - 1.0).abs() < 2e-5, "variance {}", moment(2));
        assert!((moment(4) - 3.0).abs() < 1e-3, "kurtosis {}", moment(4));
        let bound = 1.0 / 65_536.0;
        assert!(deviation(&radii, &cosines, 1.0) < bound);
        assert!(deviation(&radii, &cosines, 1.0003) > bound, "a width off by 3e-4 is seen");
    }

    #[test]
    fn streams_are_normal_and_independent() {
        let n = 1 << 20;
        let draws = |index: u64| -> Vec<f64> {
            let mut stream = Stream::new(Key::new(1).fold(index));
            (0..n / CHUNK).flat_map(|_| stream.normals()).map(f64::from).collect()
        };
        let (x, y) = (draws(0), draws(1));
        let critical = 1.95 / (n as f64).sqrt();
        assert!(kolmogorov_smirnov_normal(&mut x.clone()) < critical);
        for (power, moment) in [(1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)] {
            let s = Summary::of(x.iter().map(|v| v.powi(power)));
            assert!(s.agrees(moment, 0.0), "moment {power}: {s}");
        }
        let across = Summary::of(x.iter().zip(&y).map(|(a, b)| a * b));
        assert!(across.agrees(0.0, 0.0), "{across}");
        // Neighbouring lanes, the two draws of a word, and successive words of a lane; plain and squared.
        for lag in [1, LANES, CHUNK] {
            let lagged = Summary::of(x.iter().zip(&x[lag..]).map(|(a, b)| a * b));
            assert!(lagged.agrees(0.0, 0.0), "lag {lag}: {lagged}");
            let squares = Summary::of(x.iter().zip(&x[lag..]).map(|(a, b)| (a * a - 1.0) * (b * b - 1.0)));
            assert!(squares.agrees(0.0, 0.0), "lag {lag}, squares: {squares}");
        }
        let mut wide: Vec<f64> = x.iter().map(|v| v * 1.01).collect();
        assert!(kolmogorov_smirnov_normal(&mut wide) > critical, "a wrong width must be caught");
    }

    #[test]
    fn the_extreme_words_give_finite_draws() {
        for word in [0, 1, 0xFFFF, 0xFFFF_0000, u32::MAX] {
            let (x, y) = pair(word);
            assert!(x.is_finite() && y.is_finite() && x.hypot(y) < 4.86, "{word:x}: {x} {y}");
        }
    }
}
