//! Randomness as a value: a [`Key`] is copied, named and folded, never advanced.
//!
//! A draw depends on the key and on its index alone, so results do not depend on order, threads or on who else
//! draws. Keys feed Philox 4×32-10 (Salmon, Moraes, Dror & Shaw 2011), a counter-based generator with published
//! known answers; the known answers are tests here.
//!
//! ```
//! use residuum::Key;
//! let key = Key::new(7).named("gradient").fold(3);
//! let mut xi = [0.0; 5];
//! key.fill_normal(&mut xi);
//! assert_eq!(xi[4], key.normal_at(4)); // any draw can be taken alone
//! ```

use crate::math;
use crate::simd::{self, Kernel};

/// A named point in the tree of random streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(u64);

/// Philox blocks generated together. The layout of [`Key::fill_normal`] depends on it, so changing it changes
/// every seeded number.
const LANES: usize = 16;

impl Key {
    /// The root key of a seed.
    pub fn new(seed: u64) -> Self {
        Self(mix(seed ^ 0x5245_5349_4455_554D))
    }

    /// The key that [`word`](Self::word) came from.
    pub fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// All that the key is, for files and other languages.
    pub fn word(self) -> u64 {
        self.0
    }

    /// The child stream of this name.
    pub fn named(self, name: &str) -> Self {
        // FNV-1a: a stable, published hash of short names; the mixing below spreads it.
        let hash = name
            .bytes()
            .fold(0xCBF2_9CE4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01B3));
        self.fold(hash)
    }

    /// The child stream of this index. Different indices of one key never collide: the map is a bijection.
    pub fn fold(self, index: u64) -> Self {
        Self(mix(self.0.rotate_left(32) ^ mix(index.wrapping_add(0x9E37_79B9_7F4A_7C15))))
    }

    /// 128 random bits of block `block`.
    pub fn block(self, block: u64) -> [u32; 4] {
        philox([block as u32, (block >> 32) as u32, 0, 0], self.philox_key())
    }

    pub(crate) fn philox_key(self) -> [u32; 2] {
        [self.0 as u32, (self.0 >> 32) as u32]
    }

    /// The uniform draw number `index` in [0, 1), 52 bits.
    pub fn uniform_at(self, index: u64) -> f64 {
        let (words, second) = self.words_at(index);
        unit(words[usize::from(second)])
    }

    /// Fills with uniform draws in [0, 1): `out[i] == self.uniform_at(i)`.
    pub fn fill_uniform(self, out: &mut [f64]) {
        simd::dispatch(Fill { key: self.philox_key(), out, draw: |a, b| (unit(a), unit(b)) });
    }

    /// The two 64-bit words of the block behind draw `index`, and whether the draw is the second of them. Draws
    /// come in chunks of 2·LANES: first the first words of LANES blocks, then the second words.
    fn words_at(self, index: u64) -> ([u64; 2], bool) {
        let (chunk, within) = (index / (2 * LANES as u64), index % (2 * LANES as u64));
        let b = self.block(chunk * LANES as u64 + within % LANES as u64).map(u64::from);
        ([b[0] | b[1] << 32, b[2] | b[3] << 32], within >= LANES as u64)
    }

    /// An integer in `0..n`, draw number `index`. The bias is below n·2⁻⁵².
    pub fn below_at(self, n: usize, index: u64) -> usize {
        ((self.uniform_at(index) * n as f64) as usize).min(n - 1)
    }

    /// The standard normal draw number `index`.
    pub fn normal_at(self, index: u64) -> f64 {
        let ([first, second], is_second) = self.words_at(index);
        let (c, s) = box_muller(first, second);
        if is_second { s } else { c }
    }

    /// Fills with independent standard normal draws: `out[i] == self.normal_at(i)`, bit for bit.
    pub fn fill_normal(self, out: &mut [f64]) {
        simd::dispatch(Fill { key: self.philox_key(), out, draw: box_muller });
    }

    /// A mask of `slots` ≤ 31 bits, each set when its 32 random bits are below `threshold`; line number `line`.
    pub(crate) fn bits_below(self, line: u64, slots: u32, threshold: u32) -> u32 {
        let mut mask = 0;
        for block in 0..slots.div_ceil(4) {
            let words = self.block(line * 8 + u64::from(block));
            for (i, word) in (0u32..).zip(words) {
                let slot = block * 4 + i;
                mask |= u32::from(word < threshold && slot < slots) << (slot & 31);
            }
        }
        mask
    }

    /// A permutation of `0..n` (Fisher–Yates).
    pub fn permutation(self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below_at(i + 1, i as u64));
        }
        order
    }
}

/// The finaliser of SplitMix64, a bijection of 64-bit words.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// 52 random bits as a number in [0, 1), without an integer conversion (which AVX2 lacks).
#[inline(always)]
fn unit(bits: u64) -> f64 {
    f64::from_bits(0x3FF0_0000_0000_0000 | bits >> 12) - 1.0
}

#[inline(always)]
fn box_muller(first: u64, second: u64) -> (f64, f64) {
    let radius = (-2.0 * math::ln(1.0 - unit(first))).sqrt();
    let (c, s) = math::cos_sin_turn(unit(second));
    (radius * c, radius * s)
}

const MULTIPLIERS: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Ten rounds of Philox 4×32.
pub(crate) fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let lanes = counter.map(|c| [u64::from(c)]);
    philox_lanes(lanes, key).map(|lane| lane[0] as u32)
}

/// Ten rounds of Philox 4×32 in `N` lanes; each 32-bit word sits in a 64-bit lane, as the wide multiply wants it.
#[inline(always)]
pub(crate) fn philox_lanes<const N: usize>(counter: [[u64; N]; 4], key: [u32; 2]) -> [[u64; N]; 4] {
    const LOW: u64 = 0xFFFF_FFFF;
    let [mut a, mut b, mut c, mut d] = counter;
    let [mut k0, mut k1] = key;
    for _ in 0..10 {
        for i in 0..N {
            let p0 = MULTIPLIERS[0] * (a[i] & LOW);
            let p1 = MULTIPLIERS[1] * (c[i] & LOW);
            a[i] = (p1 >> 32) ^ b[i] ^ u64::from(k0);
            c[i] = (p0 >> 32) ^ d[i] ^ u64::from(k1);
            b[i] = p1 & LOW;
            d[i] = p0 & LOW;
        }
        k0 = k0.wrapping_add(WEYL[0]);
        k1 = k1.wrapping_add(WEYL[1]);
    }
    [a, b, c, d]
}

/// Fills a slice with pairs of draws made from the two words of each block.
struct Fill<'a, F> {
    key: [u32; 2],
    out: &'a mut [f64],
    draw: F,
}

impl<F: Fn(u64, u64) -> (f64, f64)> Kernel for Fill<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut first_block = 0;
        for chunk in self.out.chunks_mut(2 * LANES) {
            let mut low = [0; LANES];
            let mut high = [0; LANES];
            for i in 0..LANES {
                let block = first_block + i as u64;
                low[i] = block & 0xFFFF_FFFF;
                high[i] = block >> 32;
            }
            let [a, b, c, d] = philox_lanes([low, high, [0; LANES], [0; LANES]], self.key);
            let mut draws = [[0.0; LANES]; 2];
            for i in 0..LANES {
                (draws[0][i], draws[1][i]) = (self.draw)(a[i] | b[i] << 32, c[i] | d[i] << 32);
            }
            chunk.copy_from_slice(&draws.as_flattened()[..chunk.len()]);
            first_block += LANES as u64;
        }
    }
}
