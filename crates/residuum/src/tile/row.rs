//! One row and all samples of a mini-batch: the row's cells and their parameters stay in the first-level cache.
//!
//! Every cell sees the samples in order, and within a sample the slots in order. A slot in which many columns fire is a
//! pass over all cells of the row, those not hit keeping their state; one in which few fire is a walk through a list.

use super::laws::{Law, WithLaw};
use super::lines::{Lines, Meeting, SIGN};
use super::noise::Noise;
use super::stream::{BLOCK, Stream};
use crate::Key;
use crate::simd::{self, Kernel};

/// One row of an update.
pub(super) struct Row<'a, N> {
    pub(super) lines: &'a Lines,
    pub(super) index: usize,
    pub(super) key: Key,
    /// Whether there is noise to draw.
    pub(super) noisy: bool,
    pub(super) noise: N,
    pub(super) max: &'a [f32],
    pub(super) min: &'a [f32],
    /// What pulses act on.
    pub(super) state: &'a mut [f32],
}

impl<N: Noise> WithLaw for Row<'_, N> {
    type Output = u64;

    fn run<L: Law>(self, law: L) -> u64 {
        let cells = Cells { law, noise: self.noise, max: self.max, min: self.min };
        simd::dispatch(Visit { row: self, cells })
    }
}

/// Cells as a pulse sees them.
#[derive(Clone, Copy)]
struct Cells<'a, L, N> {
    law: L,
    noise: N,
    max: &'a [f32],
    min: &'a [f32],
}

impl<L: Law, N: Noise> Cells<'_, L, N> {
    #[inline(always)]
    fn part(self, from: usize, n: usize) -> Self {
        Self {
            law: self.law.part(from, n),
            noise: self.noise.part(from, n),
            max: &self.max[from..][..n],
            min: &self.min[from..][..n],
        }
    }

    /// The state after one pulse.
    #[inline(always)]
    fn pulsed(&self, j: usize, up: bool, w: f32, xi: f32) -> f32 {
        let (v, _) = self.law.at(j, up, w);
        self.clip(j, w + self.noise.pulse(j, up, w, v, xi))
    }

    #[inline(always)]
    fn clip(&self, j: usize, w: f32) -> f32 {
        let w = if w > self.max[j] { self.max[j] } else { w };
        if w < self.min[j] { self.min[j] } else { w }
    }
}

/// Normal numbers, or zeros if there is no noise.
struct Draws {
    stream: Stream,
    noisy: bool,
    /// Drawn for single pulses, and how many of them are used up.
    single: ([f32; BLOCK], usize),
}

impl Draws {
    #[inline(always)]
    fn new(key: Key, noisy: bool) -> Self {
        Self { stream: Stream::new(key), noisy, single: ([0.0; BLOCK], BLOCK) }
    }

    /// One number.
    #[inline(always)]
    fn one(&mut self) -> f32 {
        if self.single.1 == BLOCK {
            self.single = (self.next(), 0);
        }
        self.single.1 += 1;
        self.single.0[self.single.1 - 1]
    }

    #[inline(always)]
    fn next(&mut self) -> [f32; BLOCK] {
        if self.noisy { self.stream.normals() } else { [0.0; BLOCK] }
    }
}

struct Visit<'a, L, N> {
    row: Row<'a, N>,
    cells: Cells<'a, L, N>,
}

impl<L: Law, N: Noise> Kernel for Visit<'_, L, N> {
    /// Pulses that met a cell.
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        let Self { row: Row { lines, index, key, noisy, state, .. }, cells } = self;
        let cells = cells.part(0, state.len());
        let mut pulses = 0;
        let mut draws = Draws::new(key, noisy);
        for sample in 0..lines.batch() {
            let Some(train) = lines.row(sample, index) else { continue };
            let fired = (train & !SIGN).count_ones();
            match lines.meeting(sample, fired) {
                Meeting::Listed(cols, list) => pulses += pick_out(cells, train, cols, list, &mut draws, state),
                Meeting::Together(cols) => {
                    pulses += match fired {
                        1 => together::<_, _, 1>(cells, train, cols, &mut draws, state),
                        2..=4 => together::<_, _, 4>(cells, train, cols, &mut draws, state),
                        _ => together::<_, _, 31>(cells, train, cols, &mut draws, state),
                    }
                }
                Meeting::Slots(first) => {
                    let sign = if train & SIGN == 0 { 1 } else { -1 };
                    let mut left = train & !SIGN;
                    while left != 0 {
                        let columns = lines.columns(first + left.trailing_zeros() as usize);
                        left &= left - 1;
                        pulses += columns.pulses as u64;
                        match columns.list {
                            None => sweep(cells, sign, columns.signs, &mut draws, state),
                            Some(list) => walk(cells, sign, columns.signs, list, &mut draws, state),
                        }
                    }
                }
            }
        }
        pulses
    }
}

/// One pulse on every cell whose column fires, by a pass over the whole row.
#[inline(always)]
fn sweep<L: Law, N: Noise>(
    cells: Cells<'_, L, N>,
    sign: i8,
    signs: &[i8],
    draws: &mut Draws,
    state: &mut [f32],
) {
    let (blocks, rest) = state.as_chunks_mut::<BLOCK>();
    let mut start = 0;
    for block in blocks {
        sweep_block(cells.part(start, BLOCK), sign, &signs[start..], draws, block);
        start += BLOCK;
    }
    if !rest.is_empty() {
        sweep_block(cells.part(start, rest.len()), sign, &signs[start..], draws, rest);
    }
}

#[inline(always)]
fn sweep_block<L: Law, N: Noise>(
    cells: Cells<'_, L, N>,
    sign: i8,
    signs: &[i8],
    draws: &mut Draws,
    state: &mut [f32],
) {
    let n = state.len();
    let signs = &signs[..n];
    let xi = draws.next();
    // A block of its own: the compiler sees that writing it changes no parameter.
    let mut next = [0.0; BLOCK];
    for j in 0..n {
        let pulsed = cells.pulsed(j, signs[j] == sign, state[j], xi[j]);
        next[j] = if signs[j] == 0 { state[j] } else { pulsed };
    }
    state.copy_from_slice(&next[..n]);
}

/// One pulse on each listed cell.
#[inline(always)]
fn walk<L: Law, N: Noise>(
    cells: Cells<'_, L, N>,
    sign: i8,
    signs: &[i8],
    list: &[u32],
    draws: &mut Draws,
    state: &mut [f32],
) {
    for part in list.chunks(BLOCK) {
        for (xi, &j) in draws.next().iter().zip(part) {
            let j = j as usize;
            state[j] = cells.pulsed(j, signs[j] == sign, state[j], *xi);
        }
    }
}

/// The pulses of all slots, cell by cell, on those of the listed columns that the row meets.
#[inline(always)]
fn pick_out<L: Law, N: Noise>(
    cells: Cells<'_, L, N>,
    train: u32,
    cols: &[u32],
    list: &[u32],
    draws: &mut Draws,
    state: &mut [f32],
) -> u64 {
    let mut pulses = 0;
    for part in list.chunks(BLOCK) {
        // As in the list itself: written always, kept if they meet.
        let (mut met, mut n) = ([0; BLOCK], 0);
        for &j in part {
            met[n] = j;
            n += usize::from(train & cols[j as usize] & !SIGN != 0);
        }
        for &j in &met[..n] {
            let j = j as usize;
            let up = (train ^ cols[j]) & SIGN == 0;
            let common = (train & cols[j] & !SIGN).count_ones();
            for _ in 0..common {
                state[j] = cells.pulsed(j, up, state[j], draws.one());
            }
            pulses += u64::from(common);
        }
    }
    pulses
}

/// All coincidences of a sample at once, at most `MOST` in a cell, where the step is close to affine over the train; returns their number.
///
/// With step v and slope b at w, n affine steps give w + g·v, g = ((1+b)ⁿ − 1)/b: exact for constant and linear steps; for
/// the others the error is n³v²f''/6, held below 1e-3 of the train by a test for shapes from ½ to 2.5. Multiplicative noise has
/// the standard deviation σ√n(1+b)ⁿ⁻¹|v|, additive noise σs√(g(2 + bg)/(2 + b)). The sum of n noises is taken as normal (it is, for additive noise) and the bounds clip once at
/// the end: with pulses of one direction that differs from clipping after each only where a pulse goes backwards, which at
/// σ ≤ 0.5 one in 44 pulses at most does. Cells with |b| > 0.02 take their pulses one by one.
#[inline(always)]
fn together<L: Law, N: Noise, const MOST: u32>(
    cells: Cells<'_, L, N>,
    train: u32,
    cols: &[u32],
    draws: &mut Draws,
    state: &mut [f32],
) -> u64 {
    let (blocks, rest) = state.as_chunks_mut::<BLOCK>();
    let (mut start, mut pulses) = (0, 0);
    for block in blocks {
        pulses += together_block::<_, _, MOST>(cells.part(start, BLOCK), train, &cols[start..], draws, block);
        start += BLOCK;
    }
    if !rest.is_empty() {
        pulses +=
            together_block::<_, _, MOST>(cells.part(start, rest.len()), train, &cols[start..], draws, rest);
    }
    pulses
}

#[inline(always)]
fn together_block<L: Law, N: Noise, const MOST: u32>(
    cells: Cells<'_, L, N>,
    train: u32,
    cols: &[u32],
    draws: &mut Draws,
    state: &mut [f32],
) -> u64 {
    let n = state.len();
    let cols = &cols[..n];
    let xi = draws.next();
    let mut next = [0.0; BLOCK];
    if MOST == 1 {
        let mut pulses = 0;
        for j in 0..n {
            let met = u32::from(train & cols[j] & !SIGN != 0);
            pulses += met;
            let pulsed = cells.pulsed(j, (train ^ cols[j]) & SIGN == 0, state[j], xi[j]);
            next[j] = if met == 0 { state[j] } else { pulsed };
        }
        state.copy_from_slice(&next[..n]);
        return u64::from(pulses);
    }
    let mut steep = [0u32; BLOCK];
    let (mut pulses, mut any_steep) = (0, 0);
    for j in 0..n {
        let common = (train & cols[j] & !SIGN).count_ones();
        pulses += common;
        let up = (train ^ cols[j]) & SIGN == 0;
        let (count, w) = (common.cast_signed() as f32, state[j]);
        let (v, b) = cells.law.at(j, up, w);
        let g = geometric::<MOST>(count, b);
        let deviation = cells.noise.train(j, up, w, (v, b), count, g);
        let after = cells.clip(j, w + g * v + deviation * xi[j]);
        // No short circuit: a branch would keep the loop from becoming vector code.
        let flag = (b.abs() > 0.02) & (common > 1);
        steep[j] = u32::from(flag);
        any_steep |= u32::from(flag);
        next[j] = if flag { w } else { after };
    }
    state.copy_from_slice(&next[..n]);
    if any_steep > 0 {
        for j in 0..n {
            if steep[j] != 0 {
                let common = (train & cols[j] & !SIGN).count_ones();
                let up = (train ^ cols[j]) & SIGN == 0;
                for xi in &draws.next()[..common as usize] {
                    state[j] = cells.pulsed(j, up, state[j], *xi);
                }
            }
        }
    }
    u64::from(pulses)
}

/// ((1+b)ⁿ − 1)/b for n ≤ `MOST` by the binomial series, nested; exact for n ≤ 9 and within 1e-8 for n ≤ 31, |b| ≤ 0.02.
#[inline(always)]
fn geometric<const MOST: u32>(n: f32, b: f32) -> f32 {
    const RECIPROCALS: [f32; 8] = [0.5, 1.0 / 3.0, 0.25, 0.2, 1.0 / 6.0, 1.0 / 7.0, 1.0 / 8.0, 1.0 / 9.0];
    let terms = RECIPROCALS.len().min(MOST as usize - 1);
    let mut sum = 1.0;
    for k in (0..terms).rev() {
        sum = 1.0 + (n - (k + 1) as f32) * (b * RECIPROCALS[k]) * sum;
    }
    n * sum
}

/// Redraws what a read sees of the cells that were pulsed: state + spread·ξ. Nobody reads within an update, so the last
/// redraw of a cell is the only one that shows.
pub(super) struct Show<'a> {
    pub(super) lines: &'a Lines,
    pub(super) row: usize,
    pub(super) key: Key,
    pub(super) spread: f32,
    pub(super) state: &'a [f32],
    pub(super) weights: &'a mut [f32],
}

impl Kernel for Show<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { lines, row, key, spread, state, weights } = self;
        let mut stream = Stream::new(key);
        let mut start = 0;
        while start < weights.len() {
            let n = BLOCK.min(weights.len() - start);
            let (state, weights) = (&state[start..][..n], &mut weights[start..][..n]);
            let mut met = [0; BLOCK];
            for sample in 0..lines.batch() {
                if let Some(train) = lines.row(sample, row) {
                    let cols = &lines.column_trains(sample)[start..][..n];
                    for j in 0..n {
                        met[j] |= train & cols[j] & !SIGN;
                    }
                }
            }
            let xi = stream.normals();
            for j in 0..n {
                weights[j] = if met[j] == 0 { weights[j] } else { state[j] + spread * xi[j] };
            }
            start += n;
        }
    }
}
