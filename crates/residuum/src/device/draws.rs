//! The numbers that the cells of an array drew: made from a key, or kept in 16 bits.

use super::Spread;
use crate::Key;
use crate::math::exp32;
use crate::normal32;
use crate::simd::{self, Kernel};
use crate::tile::fill_normal;
use std::cell::RefCell;
use std::ops::Range;

/// What a kept number is a multiple of, in standard deviations. Draws end at 6.66 of them, so that none is beyond 16 bits, and
/// rounding moves one by at most half of this.
pub(super) const QUANTUM: f32 = 1.0 / 4096.0;

/// Random numbers of neighbouring cells, each sort by its name.
pub(super) struct Draws<'a> {
    cells: Range<usize>,
    source: Source<'a>,
}

enum Source<'a> {
    /// Made here.
    Key(Key),
    /// Made before.
    Kept(&'a KeptDraws),
    /// Of no cell: the names of what would be drawn.
    Names(&'a RefCell<Vec<&'static str>>),
}

impl<'a> Draws<'a> {
    /// Those of the first `n` cells of a key.
    pub(super) fn made(n: usize, key: Key) -> Self {
        Self { cells: 0..n, source: Source::Key(key) }
    }

    /// Those of some cells of an array.
    pub(super) fn kept(cells: Range<usize>, draws: &'a KeptDraws) -> Self {
        Self { cells, source: Source::Kept(draws) }
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// One normal number per cell with this standard deviation; its purpose names its key.
    pub(super) fn deviations(&self, name: &'static str, deviation: f32, out: &mut Vec<f32>) {
        // What is not drawn must be 0; what is, is overwritten.
        if deviation > 0.0 {
            out.resize(self.len(), 0.0);
        } else {
            zeros(self.len(), out);
        }
        if deviation > 0.0 {
            match &self.source {
                Source::Key(key) => {
                    fill_normal(key.named(name), out);
                    for v in out {
                        *v *= deviation;
                    }
                }
                Source::Kept(kept) => {
                    // Every name was asked for when the draws were made.
                    if let Some((_, values)) = kept.normal.iter().find(|(own, _)| *own == name) {
                        let values = &values[self.cells.clone()];
                        simd::dispatch(Widen { values, unit: deviation * QUANTUM, out });
                    }
                }
                Source::Names(names) => names.borrow_mut().push(name),
            }
        }
    }

    /// Factors on a mean, one per cell: as [`Spread::factor`] has them.
    pub(super) fn factors(&self, name: &'static str, spread: Spread, out: &mut Vec<f32>) {
        self.deviations(name, spread.deviation, out);
        match self.source {
            // A kept number is worked out again at every use: by vectors, and to the same bits on every machine.
            Source::Kept(_) if spread.log_normal => simd::dispatch(Exponential(out)),
            Source::Kept(_) => simd::dispatch(OnePlus(out)),
            _ => {
                for v in out {
                    *v = spread.factor(*v);
                }
            }
        }
    }

    /// Cells that do not move, with a number from 0 to 1 that says where.
    pub(super) fn stuck(&self, probability: f32, mut visit: impl FnMut(usize, f32)) {
        match &self.source {
            Source::Key(key) => each_stuck(*key, probability, self.len(), visit),
            Source::Kept(kept) => {
                let from = kept.stuck.partition_point(|(cell, _)| (*cell as usize) < self.cells.start);
                for (cell, at) in &kept.stuck[from..] {
                    if *cell as usize >= self.cells.end {
                        break;
                    }
                    visit(*cell as usize - self.cells.start, *at);
                }
            }
            Source::Names(_) => {}
        }
    }
}

fn zeros(n: usize, out: &mut Vec<f32>) {
    out.clear();
    out.resize(n, 0.0);
}

fn each_stuck(key: Key, probability: f32, n: usize, mut visit: impl FnMut(usize, f32)) {
    let (stuck, at) = (key.named("stuck"), key.named("stuck at"));
    for i in 0..n {
        if stuck.uniform_at(i as u64) < f64::from(probability) {
            visit(i, at.uniform_at(i as u64) as f32);
        }
    }
}

/// The normal numbers that cells drew, each rounded to a multiple of [`QUANTUM`].
#[derive(Clone, Debug, Default)]
pub(super) struct KeptDraws {
    normal: Vec<(&'static str, Vec<i16>)>,
    /// Cells that do not move, in order.
    stuck: Vec<(u32, f32)>,
}

impl KeptDraws {
    /// Bytes for each cell that moves.
    pub(super) fn bytes_per_cell(&self) -> usize {
        size_of::<i16>() * self.normal.len()
    }

    /// Draws for `n` cells what `asked` asks for.
    pub(super) fn draw(n: usize, stuck: Option<f32>, key: Key, asked: impl FnOnce(&Draws<'_>)) -> Self {
        let names = RefCell::default();
        asked(&Draws { cells: 0..0, source: Source::Names(&names) });
        let mut kept = Self::default();
        for name in names.into_inner() {
            let mut values = vec![0; n];
            simd::dispatch(Narrow { key: key.named(name), out: &mut values });
            kept.normal.push((name, values));
        }
        if let Some(probability) = stuck {
            each_stuck(key, probability, n, |cell, at| kept.stuck.push((cell as u32, at)));
        }
        kept
    }
}

/// Normal draws of a key as whole numbers.
struct Narrow<'a> {
    key: Key,
    out: &'a mut [i16],
}

impl Kernel for Narrow<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (index, out) in self.out.chunks_mut(normal32::CHUNK).enumerate() {
            let draws = normal32::normals(self.key, index as u64);
            for (out, xi) in out.iter_mut().zip(draws) {
                *out = (xi * (1.0 / QUANTUM)).round_ties_even() as i16;
            }
        }
    }
}

/// Whole numbers times their unit.
struct Widen<'a> {
    values: &'a [i16],
    unit: f32,
    out: &'a mut [f32],
}

impl Kernel for Widen<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (out, value) in self.out.iter_mut().zip(self.values) {
            *out = f32::from(*value) * self.unit;
        }
    }
}

/// 1 + d in place of d.
struct OnePlus<'a>(&'a mut [f32]);

impl Kernel for OnePlus<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for v in self.0 {
            *v += 1.0;
        }
    }
}

/// eᵈ in place of d.
struct Exponential<'a>(&'a mut [f32]);

impl Kernel for Exponential<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for v in self.0 {
            *v = exp32(*v);
        }
    }
}
