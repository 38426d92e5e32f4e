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
use super::management::{Plan, Trains};
use super::pulse;
use crate::Key;
use crate::error::{ParameterError, same_length};
use crate::key::fill_normal_f32;
use crate::simd::{self, Kernel};

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
    /// Columns that fire, by sample and slot; `fired[at[s]..at[s + 1]]` is list s.
    fired: Vec<u32>,
    at: Vec<usize>,
}

impl Tile {
    /// `W ← W + scale · Σ_b rows_b colsᵀ_b` by pulse trains, sample by sample (`biased-update` at every pulse).
    ///
    /// `row_signals` is batch × rows (errors), `col_signals` batch × cols (inputs). The mean update at u = 1 is the desired
    /// one as long as no probability exceeds 1.
    ///
    /// # Errors
    /// If shapes do not fit, the trains are impossible, or a signal is NaN or infinite; nothing is pulsed then.
    pub fn update(
        &mut self,
        scale: f32,
        row_signals: &[f32],
        col_signals: &[f32],
        trains: Trains,
        key: Key,
    ) -> Result<(), ParameterError> {
        trains.validate()?;
        let batch = row_signals.len() / self.rows;
        same_length("row_signals", batch * self.rows, row_signals.len())?;
        same_length("col_signals", batch * self.cols, col_signals.len())?;
        for (name, values) in [("row_signals", row_signals), ("col_signals", col_signals)] {
            if let Some(index) = values.iter().position(|x| !x.is_finite()) {
                return Err(ParameterError::NotFinite { name, index, value: f64::from(values[index]) });
            }
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.fire(self, scale, row_signals, col_signals, trains, key);
        self.pulses_sent += self.meet(&scratch, batch, key);
        self.scratch = scratch;
        Ok(())
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
            for slot in 0..SPARSE_SLOTS {
                if sparse {
                    let bit = 1 << slot;
                    self.fired
                        .extend((0u32..).zip(&*col_trains).filter(|(_, m)| **m & bit != 0).map(|(j, _)| j));
                }
                self.at.push(self.fired.len());
            }
        }
    }

    fn list(&self, sample: usize, slot: u32) -> &[u32] {
        let s = sample * SPARSE_SLOTS as usize + slot as usize;
        &self.fired[self.at[s]..self.at[s + 1]]
    }
}

/// One train per line: in each slot the line fires with probability min(1, scale·|signal|).
fn draw_trains(signals: &[f32], scale: f32, slots: u32, flip: bool, key: Key, out: &mut [u32]) {
    for (line, (train, &signal)) in out.iter_mut().zip(signals).enumerate() {
        let sign = if (signal < 0.0) != flip { SIGN } else { 0 };
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

impl RowVisit<'_> {
    fn sample(&mut self, scratch: &Scratch, sample: usize, plan: Plan, train: u32, key: Key) {
        let cols = self.weights.len();
        let col_trains = &scratch.cols[sample * cols..(sample + 1) * cols];
        if plan.slots <= SPARSE_SLOTS {
            for slot in (0..plan.slots).filter(|slot| train >> slot & 1 == 1) {
                self.one_by_one(scratch.list(sample, slot), col_trains, train, key.fold(u64::from(slot)));
            }
        } else if self.cells.at_once {
            self.together(col_trains, train, key);
        } else {
            for slot in (0..plan.slots).filter(|slot| train >> slot & 1 == 1) {
                let bit = 1 << slot;
                let mut list = [0u32; CHUNK];
                let key = key.fold(u64::from(slot));
                for (chunk, trains) in col_trains.chunks(CHUNK).enumerate() {
                    let mut n = 0;
                    for (j, t) in trains.iter().enumerate() {
                        list[n] = (chunk * CHUNK + j) as u32;
                        n += usize::from(t & bit != 0);
                    }
                    self.one_by_one(&list[..n], col_trains, train, key.fold(chunk as u64));
                }
            }
        }
    }

    /// One pulse on each listed cell, exactly.
    fn one_by_one(&mut self, list: &[u32], col_trains: &[u32], train: u32, key: Key) {
        let mut xi = [0.0f32; CHUNK];
        let mut write = [0.0f32; CHUNK];
        for (chunk, part) in list.chunks(CHUNK).enumerate() {
            if self.device.noisy() {
                fill_normal_f32(key.fold(chunk as u64), &mut xi[..part.len()]);
            }
            if self.hidden.is_some() {
                fill_normal_f32(key.named("write").fold(chunk as u64), &mut write[..part.len()]);
            }
            let spread = self.device.write_noise * self.device.pulse_step;
            for (n, &j) in part.iter().enumerate() {
                let j = j as usize;
                let up = (train ^ col_trains[j]) & SIGN == 0;
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
        self.pulses += list.len() as u64;
    }

    /// All coincidences of a sample at once, by the closed form of n affine steps.
    fn together(&mut self, col_trains: &[u32], train: u32, key: Key) {
        let mut xi = [0.0f32; CHUNK];
        let linear = !self.cells.shape[0].is_empty();
        let (noise, additive) = match self.device.cycle_noise {
            CycleNoise::Additive(s) => (s, true),
            other => (other.deviation(), false),
        };
        for (chunk, weights) in self.weights.chunks_mut(CHUNK).enumerate() {
            let from = chunk * CHUNK;
            let here = self.first + from..self.first + from + weights.len();
            if noise > 0.0 {
                fill_normal_f32(key.fold(chunk as u64), &mut xi[..weights.len()]);
            }
            let shape = |s: usize| if linear { &self.cells.shape[s][here.clone()] } else { &[][..] };
            self.pulses += simd::dispatch(AtOnce {
                train,
                cols: &col_trains[from..from + weights.len()],
                scale: [&self.cells.scale[0][here.clone()], &self.cells.scale[1][here.clone()]],
                shape: [shape(0), shape(1)],
                max: &self.cells.max[here.clone()],
                min: &self.cells.min[here.clone()],
                xi: &xi[..weights.len()],
                noise,
                additive,
                weights,
            });
        }
    }
}

/// n pulses at once where a step is a + b·w.
///
/// Without noise n steps give w + g(a + bw), g = ((1+b)ⁿ − 1)/b. Multiplicative noise has, to first order in b²σ², the
/// standard deviation σ√n (1+b)ⁿ|a + bw| (one factor 1+b too many, 2 % of the noise at most); additive noise exactly σs√(g(2 + bg)/(2 + b)). The sum of n noises is
/// taken as normal (it is, for additive noise) and the bounds clip once at the end: with pulses of one direction that
/// differs from clipping after each only where a pulse goes backwards, which at σ ≤ 0.5 one in 44 pulses at most does.
struct AtOnce<'a> {
    train: u32,
    cols: &'a [u32],
    scale: [&'a [f32]; 2],
    shape: [&'a [f32]; 2],
    max: &'a [f32],
    min: &'a [f32],
    xi: &'a [f32],
    noise: f32,
    additive: bool,
    weights: &'a mut [f32],
}

impl AtOnce<'_> {
    #[inline(always)]
    fn run_with<const LINEAR: bool, const ADDITIVE: bool>(self) -> u64 {
        let n = self.weights.len();
        let (cols, max, min, xi) = (&self.cols[..n], &self.max[..n], &self.min[..n], &self.xi[..n]);
        let [up_scale, down_scale] = self.scale.map(|s| &s[..n]);
        let [up_shape, down_shape] = self.shape;
        let mut pulses = 0u32;
        for j in 0..n {
            let common = (self.train & cols[j] & !SIGN).count_ones();
            pulses += common;
            let up = (self.train ^ cols[j]) & SIGN == 0;
            let count = common as f32;
            let a = if up { up_scale[j] } else { down_scale[j] };
            let w = self.weights[j];
            // Down pulses subtract, so their state-dependent part acts with the opposite sign.
            let b = if LINEAR { if up { up_shape[j] } else { -down_shape[j] } } else { 0.0 };
            let signed = if up { a } else { -a };
            let v = if LINEAR { signed + b * w } else { signed };
            let g = if LINEAR { geometric(count, b) } else { count };
            let deviation = if ADDITIVE {
                a * (g * (2.0 + b * g) / (2.0 + b)).sqrt()
            } else if LINEAR {
                v * (1.0 + b * g) * count.sqrt()
            } else {
                v * count.sqrt()
            };
            let next = w + g * v + self.noise * deviation * xi[j];
            let next = if next > max[j] { max[j] } else { next };
            self.weights[j] = if next < min[j] { min[j] } else { next };
        }
        u64::from(pulses)
    }
}

impl Kernel for AtOnce<'_> {
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        match (self.shape[0].is_empty(), self.additive) {
            (true, false) => self.run_with::<false, false>(),
            (true, true) => self.run_with::<false, true>(),
            (false, false) => self.run_with::<true, false>(),
            (false, true) => self.run_with::<true, true>(),
        }
    }
}

/// ((1+b)ⁿ − 1)/b by the binomial series, nested; exact for n ≤ 8 and within 1e-8 for n ≤ 31, |b| ≤ 0.02.
#[inline(always)]
fn geometric(n: f32, b: f32) -> f32 {
    let mut sum = 1.0;
    let mut k = 8.0;
    for _ in 0..8 {
        sum = 1.0 + (n - k) * b / (k + 1.0) * sum;
        k -= 1.0;
    }
    n * sum
}
