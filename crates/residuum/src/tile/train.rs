//! Pulse trains that meet: stochastic coincidence, with lines shared along rows and columns.
//!
//! Each line fires in each slot with its own probability; a cell is pulsed where its row and its column fire together.
//! A train is one 32-bit mask, so a cell's coincidences are the bits common to two masks, and cells that share a line
//! are correlated exactly as hardware makes them. Rows are worked through one after the other with all samples of the
//! mini-batch: a row and its parameters stay in the first-level cache, and every cell sees the samples in order.

use rayon::prelude::*;

use super::Tile;
use super::cells::Cells;
use super::device::{CycleNoise, Device};
use super::laws::{Law, Parameters, WithLaw, with_law};
use super::management::{Plan, Trains};
use super::{fill_normal, pulse};
use crate::simd::{self, Kernel};
use crate::{Key, normal32};

/// The sign of a line's signal sits above the 31 slots.
const SIGN: u32 = 1 << 31;
/// Up to this many slots, pulses are taken one by one over lists of the columns that fire: most cells are not hit.
const SPARSE_SLOTS: u32 = 3;
/// Below this many cell visits a second thread costs more than it brings.
const PARALLEL_WORK: usize = 1 << 17;

/// Buffers of an update, kept so that a step allocates nothing once it has run.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    plans: Vec<Option<Plan>>,
    rows: Vec<u32>,
    cols: Vec<u32>,
    /// Columns that fire, by sample, slot and sign of their signal; `fired[at[s]..at[s + 1]]` is list s.
    fired: Vec<u32>,
    at: Vec<usize>,
}

impl Tile {
    /// The update by trains that meet at random; the signals are known to fit.
    pub(super) fn update_stochastic(
        &mut self,
        scale: f32,
        row_signals: &[f32],
        col_signals: &[f32],
        trains: Trains,
        key: Key,
    ) {
        let batch = row_signals.len() / self.rows;
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.fire(self, scale, row_signals, col_signals, trains, key);
        if let Some(ledger) = &mut self.ledger {
            ledger.add_trains(&scratch.samples(self.rows, self.cols));
        }
        self.pulses_sent += self.meet(&scratch, batch, key);
        self.scratch = scratch;
    }

    /// Lets the trains meet; returns the number of pulses.
    fn meet(&mut self, scratch: &Scratch, batch: usize, key: Key) -> u64 {
        let (cols, device, cells) = (self.cols, &self.device, &self.cells);
        let noise = key.named("cycle");
        let visit = |row: usize, weights: &mut [f32], hidden: Option<&mut [f32]>| {
            let mut visitor = RowVisit { device, cells, first: row * cols, weights, hidden, pulses: 0 };
            for sample in 0..batch {
                if let Some(plan) = scratch.plans[sample] {
                    let train = scratch.rows[sample * self.rows + row];
                    if train & !SIGN != 0 {
                        let key = noise.fold((sample * self.rows + row) as u64);
                        visitor.sample(scratch, sample, plan, train, key);
                    }
                }
            }
            visitor.pulses
        };
        let parallel = self.weights.len() * batch >= PARALLEL_WORK;
        match (&mut self.hidden, parallel) {
            (None, false) => {
                self.weights.chunks_exact_mut(cols).enumerate().map(|(i, w)| visit(i, w, None)).sum()
            }
            (None, true) => {
                self.weights.par_chunks_exact_mut(cols).enumerate().map(|(i, w)| visit(i, w, None)).sum()
            }
            (Some(hidden), _) => self
                .weights
                .par_chunks_exact_mut(cols)
                .zip(hidden.par_chunks_exact_mut(cols))
                .enumerate()
                .map(|(i, (w, h))| visit(i, w, Some(h)))
                .sum(),
        }
    }
}

impl Scratch {
    /// Draws the trains of every line and sample.
    fn fire(
        &mut self,
        tile: &Tile,
        scale: f32,
        row_signals: &[f32],
        col_signals: &[f32],
        trains: Trains,
        key: Key,
    ) {
        let (rows, cols) = (tile.rows, tile.cols);
        let batch = row_signals.len() / rows;
        self.plans.clear();
        self.rows.resize(batch * rows, 0);
        self.cols.resize(batch * cols, 0);
        self.fired.clear();
        self.at.clear();
        self.at.push(0);
        let peak = |x: &[f32]| x.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        let flip = scale < 0.0;
        for sample in 0..batch {
            let d = &row_signals[sample * rows..(sample + 1) * rows];
            let x = &col_signals[sample * cols..(sample + 1) * cols];
            let plan = trains.plan(scale.abs(), peak(d), peak(x), tile.device.granularity());
            self.plans.push(plan);
            let row_trains = &mut self.rows[sample * rows..(sample + 1) * rows];
            let col_trains = &mut self.cols[sample * cols..(sample + 1) * cols];
            if let Some(plan) = plan {
                let key = key.named("lines").fold(sample as u64);
                draw_trains(d, plan.row, plan.slots, flip, key.named("rows"), row_trains);
                draw_trains(x, plan.col, plan.slots, false, key.named("cols"), col_trains);
            }
            let sparse = plan.is_some_and(|p| p.slots <= SPARSE_SLOTS);
            for (slot, sign) in (0..SPARSE_SLOTS).flat_map(|slot| [(slot, 0), (slot, SIGN)]) {
                if sparse {
                    let (mask, wanted) = (SIGN | 1 << slot, sign | 1 << slot);
                    let fires = (0u32..).zip(&*col_trains).filter(|(_, train)| **train & mask == wanted);
                    self.fired.extend(fires.map(|(j, _)| j));
                }
                self.at.push(self.fired.len());
            }
        }
    }

    /// Row and column trains of each sample that fires.
    fn samples(&self, rows: usize, cols: usize) -> Vec<(&[u32], &[u32])> {
        let trains = self.rows.chunks_exact(rows).zip(self.cols.chunks_exact(cols));
        trains.zip(&self.plans).filter_map(|(trains, plan)| plan.map(|_| trains)).collect()
    }

    fn list(&self, sample: usize, slot: u32, negative: bool) -> &[u32] {
        let s = (sample * SPARSE_SLOTS as usize + slot as usize) * 2 + usize::from(negative);
        &self.fired[self.at[s]..self.at[s + 1]]
    }
}

/// One train per line: in each slot the line fires with probability min(1, scale·|signal|).
fn draw_trains(signals: &[f32], scale: f32, slots: u32, flip: bool, key: Key, out: &mut [u32]) {
    for (line, (train, &signal)) in out.iter_mut().zip(signals).enumerate() {
        let sign = if (signal < 0.0) == flip { 0 } else { SIGN };
        // Probability in 2^-32; a certain line must fire at every slot, so 1 is kept apart.
        let probability = f64::from(scale) * f64::from(signal.abs());
        *train = sign
            | if probability >= 1.0 {
                (1u32 << slots) - 1
            } else {
                key.bits_below(line as u64, slots, (probability * 4_294_967_296.0) as u32)
            };
    }
}

struct RowVisit<'a> {
    device: &'a Device,
    cells: &'a Cells,
    /// Index of the row's first cell.
    first: usize,
    weights: &'a mut [f32],
    hidden: Option<&'a mut [f32]>,
    pulses: u64,
}

/// Noise is drawn for this many cells at a time, so that it stays in the first-level cache.
const CHUNK: usize = 256;
/// Cells gathered at a time: one chunk of noise.
const GATHER: usize = normal32::CHUNK;

impl RowVisit<'_> {
    fn sample(&mut self, scratch: &Scratch, sample: usize, plan: Plan, train: u32, key: Key) {
        let cols = self.weights.len();
        let col_trains = &scratch.cols[sample * cols..(sample + 1) * cols];
        if plan.slots <= SPARSE_SLOTS {
            for slot in (0..plan.slots).filter(|slot| train >> slot & 1 == 1) {
                for negative in [false, true] {
                    let up = negative == (train & SIGN != 0);
                    let key = key.fold(u64::from(2 * slot + u32::from(negative)));
                    self.listed(scratch.list(sample, slot, negative), up, key);
                }
            }
        } else if self.cells.at_once {
            self.together(col_trains, train, key);
        } else {
            for slot in (0..plan.slots).filter(|slot| train >> slot & 1 == 1) {
                let mut list = [0u32; CHUNK];
                for (chunk, trains) in col_trains.chunks(CHUNK).enumerate() {
                    for negative in [false, true] {
                        let wanted = 1 << slot | if negative { SIGN } else { 0 };
                        let mut n = 0;
                        for (j, t) in trains.iter().enumerate() {
                            list[n] = (chunk * CHUNK + j) as u32;
                            n += usize::from(t & (SIGN | 1 << slot) == wanted);
                        }
                        let up = negative == (train & SIGN != 0);
                        let key = key.fold(u64::from(2 * slot + u32::from(negative))).fold(chunk as u64);
                        self.listed(&list[..n], up, key);
                    }
                }
            }
        }
    }

    /// One pulse on each listed cell.
    fn listed(&mut self, list: &[u32], up: bool, key: Key) {
        self.pulses += list.len() as u64;
        match self.device.cycle_noise {
            CycleNoise::Multiplicative(noise) if self.hidden.is_none() => {
                for (chunk, part) in list.chunks(GATHER).enumerate() {
                    self.gathered(part, up, noise, key, chunk as u64);
                }
            }
            _ => self.one_by_one(list, up, key),
        }
    }

    /// Brings the listed cells together, pulses them as a vector, and puts them back.
    fn gathered(&mut self, list: &[u32], up: bool, noise: f32, key: Key, chunk: u64) {
        let (n, cols) = (list.len(), self.weights.len());
        let row = Parameters::stretch(self.cells, self.first, self.first + cols);
        let side = usize::from(!up);
        // One length for all, so that one bound check serves all.
        let (state, scale) = (&self.weights[..cols], &row.scale[side][..cols]);
        let (above, below) = (&row.max[..cols], &row.min[..cols]);
        let [mut w, mut scales, mut shapes, mut max, mut min] = [[0.0f32; GATHER]; 5];
        for (k, &j) in list.iter().take(GATHER).enumerate() {
            let j = j as usize;
            w[k] = state[j];
            scales[k] = scale[j];
            max[k] = above[j];
            min[k] = below[j];
        }
        if !row.shape[side].is_empty() {
            for (shape, &j) in shapes.iter_mut().zip(list) {
                *shape = row.shape[side][j as usize];
            }
        }
        let together =
            Parameters { scale: [&scales[..n]; 2], shape: [&shapes[..n]; 2], max: &max[..n], min: &min[..n] };
        with_law(
            self.device,
            together,
            Single { up, noise, key, chunk, bounds: (&max[..n], &min[..n]), w: &mut w[..n] },
        );
        for (w, &j) in w.iter().zip(list) {
            self.weights[j as usize] = *w;
        }
    }

    /// The same for every model and noise, write noise included.
    fn one_by_one(&mut self, list: &[u32], up: bool, key: Key) {
        let mut xi = [0.0f32; CHUNK];
        let mut write = [0.0f32; CHUNK];
        for (chunk, part) in list.chunks(CHUNK).enumerate() {
            if self.device.noisy() {
                fill_normal(key.fold(chunk as u64), &mut xi[..part.len()]);
            }
            if self.hidden.is_some() {
                fill_normal(key.named("write").fold(chunk as u64), &mut write[..part.len()]);
            }
            let spread = self.device.write_noise * self.device.pulse_step;
            for (n, &j) in part.iter().enumerate() {
                let j = j as usize;
                let state = self.hidden.as_deref().map_or(self.weights[j], |h| h[j]);
                let w = pulse::one(self.device, self.cells, self.first + j, up, state, xi[n]);
                match &mut self.hidden {
                    None => self.weights[j] = w,
                    Some(hidden) => {
                        hidden[j] = w;
                        self.weights[j] = w + spread * write[n];
                    }
                }
            }
        }
    }

    /// All coincidences of a sample at once.
    fn together(&mut self, col_trains: &[u32], train: u32, key: Key) {
        let mut flagged = [0u32; CHUNK];
        let (noise, additive) = match self.device.cycle_noise {
            CycleNoise::Additive(s) => (s, true),
            other => (other.deviation(), false),
        };
        let mut start = 0;
        while start < self.weights.len() {
            let end = (start + CHUNK).min(self.weights.len());
            let (from, to) = (self.first + start, self.first + end);
            let cols = &col_trains[start..end];
            let key = key.fold(start as u64);
            let work = AtOnce {
                train,
                cols,
                noise_scale: [&self.cells.scale[0][from..to], &self.cells.scale[1][from..to]],
                bounds: (&self.cells.max[from..to], &self.cells.min[from..to]),
                key,
                noise,
                additive,
                flagged: &mut flagged[..end - start],
                weights: &mut self.weights[start..end],
            };
            let (pulses, any) = with_law(self.device, Parameters::stretch(self.cells, from, to), work);
            self.pulses += pulses;
            if any {
                // Cells whose step changes too much within a train take their pulses one by one.
                for j in (0..end - start).filter(|&j| flagged[j] != 0) {
                    let count = (train & cols[j] & !SIGN).count_ones();
                    let up = (train ^ cols[j]) & SIGN == 0;
                    let draws = key.named("single").fold(j as u64);
                    let mut w = self.weights[start + j];
                    for n in 0..count {
                        let xi = if noise > 0.0 { draws.normal_at(u64::from(n)) as f32 } else { 0.0 };
                        w = pulse::one(self.device, self.cells, from + j, up, w, xi);
                    }
                    self.weights[start + j] = w;
                }
            }
            start = end;
        }
    }
}

/// One pulse of one direction on each gathered cell, multiplicative noise.
struct Single<'a> {
    up: bool,
    noise: f32,
    key: Key,
    chunk: u64,
    bounds: (&'a [f32], &'a [f32]),
    w: &'a mut [f32],
}

struct SingleKernel<'a, L, const UP: bool>(Single<'a>, L);

impl WithLaw for Single<'_> {
    type Output = ();

    fn run<L: Law>(self, law: L) {
        if self.up {
            simd::dispatch(SingleKernel::<L, true>(self, law));
        } else {
            simd::dispatch(SingleKernel::<L, false>(self, law));
        }
    }
}

impl<L: Law, const UP: bool> Kernel for SingleKernel<'_, L, UP> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(Single { noise, key, chunk, bounds, w, .. }, law) = self;
        let n = w.len();
        let (law, max, min) = (law.first(n), &bounds.0[..n], &bounds.1[..n]);
        let draws = if noise > 0.0 { normal32::normals(key, chunk) } else { [0.0; GATHER] };
        let xi = &draws[..n];
        for k in 0..n {
            let (v, _) = law.at(k, UP, w[k]);
            let next = w[k] + v * (1.0 + noise * xi[k]);
            let next = if next > max[k] { max[k] } else { next };
            w[k] = if next < min[k] { min[k] } else { next };
        }
    }
}

/// n pulses at once, where the step is close to affine over the train.
///
/// With step v and slope b at w, n affine steps give w + g·v, g = ((1+b)ⁿ − 1)/b: exact for constant and linear steps; for
/// the others the error is n³v²f''/6, held below 1e-3 of the train by a test for shapes from ½ to 2.5. Multiplicative noise has
/// the standard deviation σ√n(1+b)ⁿ|v| (one factor 1+b too many: 2 % of the noise at most); additive noise exactly
/// σs√(g(2 + bg)/(2 + b)). The sum of n noises is taken as normal (it is, for additive noise) and the bounds clip once at
/// the end: with pulses of one direction that differs from clipping after each only where a pulse goes backwards, which at
/// σ ≤ 0.5 one in 44 pulses at most does. Cells with |b| > 0.02 are flagged and left alone.
struct AtOnce<'a> {
    train: u32,
    cols: &'a [u32],
    noise_scale: [&'a [f32]; 2],
    bounds: (&'a [f32], &'a [f32]),
    key: Key,
    noise: f32,
    additive: bool,
    flagged: &'a mut [u32],
    weights: &'a mut [f32],
}

struct AtOnceKernel<'a, L, const ADDITIVE: bool>(AtOnce<'a>, L);

impl WithLaw for AtOnce<'_> {
    type Output = (u64, bool);

    fn run<L: Law>(self, law: L) -> (u64, bool) {
        if self.additive {
            simd::dispatch(AtOnceKernel::<L, true>(self, law))
        } else {
            simd::dispatch(AtOnceKernel::<L, false>(self, law))
        }
    }
}

impl<L: Law, const ADDITIVE: bool> Kernel for AtOnceKernel<'_, L, ADDITIVE> {
    type Output = (u64, bool);

    #[inline(always)]
    fn run(self) -> (u64, bool) {
        let Self(work, law) = self;
        let n = work.weights.len();
        let (law, weights) = (law.first(n), &mut work.weights[..n]);
        let (cols, flagged) = (&work.cols[..n], &mut work.flagged[..n]);
        let (max, min) = (&work.bounds.0[..n], &work.bounds.1[..n]);
        let [up_scale, down_scale] = work.noise_scale.map(|s| &s[..n]);
        let mut noise = [0.0f32; CHUNK];
        let xi = &mut noise[..n];
        if work.noise > 0.0 {
            for (chunk, part) in xi.chunks_mut(normal32::CHUNK).enumerate() {
                let draws = normal32::normals(work.key, chunk as u64);
                part.copy_from_slice(&draws[..part.len()]);
            }
        }
        let (mut pulses, mut flags) = (0u32, 0u32);
        for j in 0..n {
            let common = (work.train & cols[j] & !SIGN).count_ones();
            pulses += common;
            let up = (work.train ^ cols[j]) & SIGN == 0;
            let (count, w) = (common.cast_signed() as f32, weights[j]);
            let (v, b) = law.at(j, up, w);
            let g = geometric(count, b);
            let deviation = if ADDITIVE {
                let scale = if up { up_scale[j] } else { down_scale[j] };
                scale * (g * (2.0 + b * g) / (2.0 + b)).sqrt()
            } else {
                v * (1.0 + b * g) * count.sqrt()
            };
            let next = w + g * v + work.noise * deviation * xi[j];
            let next = if next > max[j] { max[j] } else { next };
            let next = if next < min[j] { min[j] } else { next };
            // No short circuit: a branch would keep the loop from becoming vector code.
            let flag = (b.abs() > 0.02) & (common > 1);
            flagged[j] = u32::from(flag);
            flags |= u32::from(flag);
            weights[j] = if flag { w } else { next };
        }
        (u64::from(pulses), flags > 0)
    }
}

/// ((1+b)ⁿ − 1)/b by the binomial series, nested; exact for n ≤ 8 and within 1e-8 for n ≤ 31, |b| ≤ 0.02.
#[inline(always)]
fn geometric(n: f32, b: f32) -> f32 {
    const RECIPROCALS: [f32; 8] = [1.0 / 9.0, 1.0 / 8.0, 1.0 / 7.0, 1.0 / 6.0, 0.2, 0.25, 1.0 / 3.0, 0.5];
    let mut sum = 1.0;
    let mut k = 8.0;
    for r in RECIPROCALS {
        sum = 1.0 + (n - k) * (b * r) * sum;
        k -= 1.0;
    }
    n * sum
}
