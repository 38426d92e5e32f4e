//! The lines of one column write: the pulses for a value on each row, and their noise.

use super::management::Plan;
use super::rounded::Factors;
use crate::device::Device;
use crate::simd::{self, Kernel};
use crate::tile::Scheme;
use crate::{Key, normal32};

/// Rows worked on together: one chunk of normal draws.
pub(super) const HEIGHT: usize = normal32::CHUNK;

/// The write of one column.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnLines {
    firing: Firing,
    /// Keys of the noise; a silent column draws none.
    cycle: Key,
    write: Key,
}

#[derive(Clone, Copy, Debug)]
enum Firing {
    /// Nothing to write.
    Silent,
    /// Rows fire at random with probability `row` per unit of their signal; the column fired in this many slots.
    Random { row: f32, fired: u32, key: Key },
    /// The product of two factors, rounded.
    Rounded { factors: Factors, column: f32, sign: f32 },
}

impl ColumnLines {
    /// For a column whose largest value has the magnitude `peak`.
    pub(super) fn draw(device: &Device, scheme: Scheme, scale: f32, peak: f32, key: Key) -> Self {
        let trains = match scheme {
            Scheme::Expected => None,
            Scheme::Stochastic(trains) | Scheme::Deterministic(trains) | Scheme::MeanCount(trains) => {
                Some(trains)
            }
        };
        let plan = trains.and_then(|trains| trains.plan(scale.abs(), peak, 1.0, device.granularity()));
        let firing = match (plan, scheme) {
            (None, _) => Firing::Silent,
            (Some(Plan { row, col, slots }), Scheme::Stochastic(_)) => {
                let random = (f64::from(col) * 4_294_967_296.0) as u32;
                // A certain line fires in every slot.
                let fired = if col >= 1.0 {
                    slots
                } else {
                    key.named("column").bits_below(0, slots, random).count_ones()
                };
                if fired == 0 {
                    Firing::Silent
                } else {
                    Firing::Random { row: row * scale.signum(), fired, key: key.named("rows") }
                }
            }
            (Some(plan), _) => {
                let factors = Factors::new(plan, matches!(scheme, Scheme::MeanCount(_)));
                Firing::Rounded { factors, column: factors.col(1.0), sign: scale.signum() }
            }
        };
        if matches!(firing, Firing::Silent) {
            return Self { firing, cycle: key, write: key };
        }
        Self { firing, cycle: key.named("cycle"), write: key.named("write") }
    }

    /// Converts the values of a block to pulses, negative for down; returns whether there are any.
    pub(super) fn counts(&self, block: usize, values: &[f32], counts: &mut [i32]) -> bool {
        match self.firing {
            Firing::Silent => counts.fill(0),
            Firing::Random { row, fired, key } => {
                simd::dispatch(Meet { row, fired, key, block, values, counts });
            }
            Firing::Rounded { factors, column, sign } => {
                simd::dispatch(Round { factors, column, sign, values, counts });
            }
        }
        counts.iter().any(|c| *c != 0)
    }

    /// Standard normals on the rows of a block: those of a pulse, or of what a read sees.
    #[inline(always)]
    pub(super) fn noise(&self, pulse: Option<u32>, block: usize) -> [f32; HEIGHT] {
        let key = match pulse {
            Some(n) => self.cycle.fold(u64::from(n)),
            None => self.write,
        };
        normal32::normals(key, block as u64)
    }
}

/// Coincidences of the rows of a block with the slots in which the column fires.
///
/// Given those slots, a row that fires with probability p meets a binomial number of them, independent of the other rows:
/// one uniform number and the inverse of its distribution give it, instead of one draw per slot.
struct Meet<'a> {
    row: f32,
    /// Slots in which the column fires.
    fired: u32,
    key: Key,
    block: usize,
    values: &'a [f32],
    counts: &'a mut [i32],
}

impl Kernel for Meet<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let uniform =
            normal32::words(self.key, self.block as u64).map(|w| f64::from(w) * (1.0 / 4_294_967_296.0));
        let [mut odds, mut mass] = [[0.0; HEIGHT]; 2];
        for (i, value) in self.values.iter().enumerate() {
            let probability = f64::from((self.row * value).abs());
            odds[i] = probability / (1.0 - probability);
            mass[i] = power(1.0 - probability, self.fired);
        }
        let mut below = [0.0; HEIGHT];
        let mut met = [0.0; HEIGHT];
        for n in 0..self.fired {
            let ratio = f64::from(self.fired - n) / f64::from(n + 1);
            for i in 0..HEIGHT {
                below[i] += mass[i];
                mass[i] *= ratio * odds[i];
                met[i] += if uniform[i] >= below[i] { 1.0 } else { 0.0 };
            }
        }
        for (i, (count, value)) in self.counts.iter_mut().zip(self.values).enumerate() {
            let signal = self.row * value;
            // A certain line fires in every slot.
            let met = if signal.abs() >= 1.0 { self.fired.cast_signed() } else { met[i] as i32 };
            *count = if signal < 0.0 { -met } else { met };
        }
    }
}

/// xⁿ by repeated squaring.
#[inline(always)]
fn power(mut x: f64, mut n: u32) -> f64 {
    let mut product = 1.0;
    while n > 0 {
        product *= if n & 1 == 1 { x } else { 1.0 };
        x *= x;
        n >>= 1;
    }
    product
}

/// Rounded numbers of pulses on the rows of a block.
struct Round<'a> {
    factors: Factors,
    column: f32,
    sign: f32,
    values: &'a [f32],
    counts: &'a mut [i32],
}

impl Kernel for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (count, value) in self.counts.iter_mut().zip(self.values) {
            *count = (self.factors.row(self.sign * value) * self.column).round_ties_even() as i32;
        }
    }
}
