//! Deterministic coincidences: each cell gets its mean number of pulses, rounded.

use super::blocks::RowBlock;
use super::counted::{Chunk, LONGEST};
use super::management::{Plan, Trains};
use crate::Key;
use crate::simd::{self, Kernel};
use crate::tile::ledger::{PulseCounts, tally};
use crate::tile::{Tile, fill_normal};

/// The factors whose product, rounded, is a cell's number of pulses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Factors {
    plan: Plan,
    /// Whether each line is rounded to whole pulses before the product is.
    whole_lines: bool,
}

impl Factors {
    pub(super) fn new(plan: Plan, whole_lines: bool) -> Self {
        Self { plan, whole_lines }
    }

    /// Factor of a row: its mean number of pulses, or their share of the slots where lines are rounded.
    #[inline(always)]
    pub(super) fn row(&self, signal: f32) -> f32 {
        let slots = self.plan.slots as f32;
        if self.whole_lines {
            self.whole(self.plan.row, signal) / slots
        } else {
            probability(self.plan.row, signal) * slots
        }
    }

    /// Factor of a column: its probability, or its whole number of pulses.
    pub(super) fn col(&self, signal: f32) -> f32 {
        if self.whole_lines { self.whole(self.plan.col, signal) } else { probability(self.plan.col, signal) }
    }

    #[inline(always)]
    fn whole(&self, scale: f32, signal: f32) -> f32 {
        (self.plan.slots as f32 * probability(scale, signal)).round_ties_even()
    }
}

/// Signed probability that a line fires in a slot.
#[inline(always)]
fn probability(scale: f32, signal: f32) -> f32 {
    (signal * scale).clamp(-1.0, 1.0)
}

impl Tile {
    /// The update with the mean number of pulses everywhere.
    pub(crate) fn update_rounded(
        &mut self,
        scale: f32,
        row_signals: &[f32],
        col_signals: &[f32],
        trains: Trains,
        whole_lines: bool,
        key: Key,
    ) {
        let (rows, cols) = (self.rows, self.cols);
        let batch = row_signals.len() / rows;
        let granularity = self.device.granularity();
        let peak = |x: &[f32]| x.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        let [mut row_factors, mut col_factors] = std::mem::take(&mut self.factors);
        for (factors, lines) in [(&mut row_factors, rows), (&mut col_factors, cols)] {
            factors.clear();
            factors.resize(batch * lines, 0.0);
        }
        for sample in 0..batch {
            let (d, x) = (sample * rows..(sample + 1) * rows, sample * cols..(sample + 1) * cols);
            let (d_signals, x_signals) = (&row_signals[d.clone()], &col_signals[x.clone()]);
            if let Some(plan) = trains.plan(scale.abs(), peak(d_signals), peak(x_signals), granularity) {
                let factors = Factors::new(plan, whole_lines);
                for (out, &signal) in row_factors[d].iter_mut().zip(d_signals) {
                    *out = factors.row(signal * scale.signum());
                }
                for (out, &signal) in col_factors[x].iter_mut().zip(x_signals) {
                    *out = factors.col(signal);
                }
            }
        }
        let (device, cells, blocks) = self.blocks(1, batch * rows * cols);
        let sent = blocks.sum(&|block: RowBlock<'_>| {
            let RowBlock { index: row, weights, mut hidden, tally: mut tallied } = block;
            let mut sent = PulseCounts::default();
            let mut counts = [0; LONGEST];
            let (at_once, mut room) = (cells.at_once, cells.room());
            let cells = cells.span(row * cols, (row + 1) * cols, &mut room);
            for sample in 0..batch {
                let factor = row_factors[sample * rows + row];
                if factor == 0.0 {
                    continue;
                }
                let key = key.named("cycle").fold((sample * rows + row) as u64);
                for start in (0..cols).step_by(LONGEST) {
                    let end = (start + LONGEST).min(cols);
                    let counts = &mut counts[..end - start];
                    let along = &col_factors[sample * cols + start..sample * cols + end];
                    simd::dispatch(Round { factor, along, counts });
                    let here = PulseCounts::of(counts);
                    if here.total() == 0 {
                        continue;
                    }
                    sent += here;
                    if let Some(tallied) = &mut tallied {
                        tally(&mut tallied[start..end], counts);
                    }
                    let chunk = Chunk::of(device, cells, row * cols + start, row * cols + end);
                    let key = key.fold(start as u64);
                    let noise = |n: u32, _: &[i32], xi: &mut [f32]| fill_normal(key.fold(u64::from(n)), xi);
                    let shown = |xi: &mut [f32]| fill_normal(key.named("write"), xi);
                    let (seen, hidden) =
                        (&mut weights[start..end], hidden.as_deref_mut().map(|h| &mut h[start..end]));
                    chunk.send(at_once, counts, seen, hidden, noise, shown);
                }
            }
            sent
        });
        self.factors = [row_factors, col_factors];
        self.count(sent);
    }
}

/// Counts of a chunk of a row.
struct Round<'a> {
    factor: f32,
    along: &'a [f32],
    counts: &'a mut [i32],
}

impl Kernel for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (count, x) in self.counts.iter_mut().zip(self.along) {
            *count = (self.factor * x).round_ties_even() as i32;
        }
    }
}
