//! Pulse counts per cell, from which endurance and energy are computed.

use std::ops::{Add, AddAssign};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::Tile;
use crate::simd::{self, Kernel};
use crate::threads;

/// Bits of a train that are slots; the one above is the sign of the line's signal.
const SLOTS: u32 = u32::MAX >> 1;

/// What counting the pulses of a sample at a cell costs, in multiply–adds.
const COUNT: usize = 8;

/// Pulses that reached the cells of a tile since counting began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// Up pulses, over all cells.
    pub up: u64,
    /// Down pulses, over all cells.
    pub down: u64,
    /// Pulses of both directions per cell, row-major; counts saturate at `u32::MAX`.
    pub cells: Vec<u32>,
}

impl Ledger {
    fn new(cells: usize) -> Self {
        Self { up: 0, down: 0, cells: vec![0; cells] }
    }

    /// Pulses of both directions, over all cells.
    pub fn total(&self) -> u64 {
        self.up + self.down
    }

    /// The largest number of pulses on one cell.
    pub fn worst_cell(&self) -> u32 {
        self.cells.iter().copied().max().unwrap_or(0)
    }

    /// Energy spent on pulses, in joules.
    pub fn energy(&self, joules_per_pulse: f64) -> f64 {
        self.total() as f64 * joules_per_pulse
    }

    /// Fraction of an endurance of `cycles` pulses used up by the most-pulsed cell.
    pub fn endurance_used(&self, cycles: f64) -> f64 {
        f64::from(self.worst_cell()) / cycles
    }

    /// Counts the coincidences of trains, given as (row trains, column trains) of each sample that fires.
    pub(super) fn add_trains(&mut self, samples: &[(&[u32], &[u32])]) {
        let Some(cols) = samples.first().map(|(_, cols)| cols.len()) else { return };
        let visit = |(row, cells): (usize, &mut [u32])| {
            let mut sum = PulseCounts::default();
            for (row_trains, col_trains) in samples.iter().filter(|(rows, _)| rows[row] & SLOTS != 0) {
                let [up, down] = simd::dispatch(Coincidences { train: row_trains[row], col_trains, cells });
                sum += PulseCounts { up: u64::from(up), down: u64::from(down) };
            }
            sum
        };
        let (threads, sent) =
            (threads::worth(COUNT * samples.len() * self.cells.len()), Mutex::new(PulseCounts::default()));
        threads::each(threads, self.cells.par_chunks_exact_mut(cols).enumerate(), |row| {
            let own = visit(row);
            *sent.lock().unwrap_or_else(PoisonError::into_inner) += own;
        });
        self.add(sent.into_inner().unwrap_or_else(PoisonError::into_inner));
    }

    fn add(&mut self, sent: PulseCounts) {
        self.up += sent.up;
        self.down += sent.down;
    }
}

/// Pulses of one write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PulseCounts {
    pub(super) up: u64,
    pub(super) down: u64,
}

impl PulseCounts {
    /// Counts that are negative where pulses go down.
    pub(super) fn of(counts: &[i32]) -> Self {
        let sum = |sign: i32| counts.iter().map(|c| u64::from((sign * c).max(0).unsigned_abs())).sum();
        Self { up: sum(1), down: sum(-1) }
    }

    pub(super) fn total(self) -> u64 {
        self.up + self.down
    }
}

impl Add for PulseCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { up: self.up + other.up, down: self.down + other.down }
    }
}

impl AddAssign for PulseCounts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Adds counts, negative where pulses go down, to their cells.
pub(super) fn tally<'a>(cells: impl IntoIterator<Item = &'a mut u32>, counts: &[i32]) {
    for (cell, count) in cells.into_iter().zip(counts) {
        *cell = cell.saturating_add(count.unsigned_abs());
    }
}

/// One row's train met by the trains of the columns; gives up and down pulses.
struct Coincidences<'a> {
    train: u32,
    col_trains: &'a [u32],
    cells: &'a mut [u32],
}

impl Kernel for Coincidences<'_> {
    type Output = [u32; 2];

    #[inline(always)]
    fn run(self) -> [u32; 2] {
        let (mut all, mut down) = (0, 0);
        for (cell, col) in self.cells.iter_mut().zip(self.col_trains) {
            let n = (self.train & col & SLOTS).count_ones();
            *cell = cell.saturating_add(n);
            all += n;
            // Signals of one sign pulse up.
            down += n * ((self.train ^ col) >> 31);
        }
        [all - down, down]
    }
}

impl Tile {
    /// Starts counting pulses per cell, or stops and discards the counts. Counting costs four bytes per cell and a second pass
    /// over the trains of stochastic updates; it changes no result.
    pub fn count_pulses(&mut self, on: bool) {
        let cells = self.weights.len();
        self.ledger = on.then(|| self.ledger.take().unwrap_or_else(|| Ledger::new(cells)));
    }

    /// Adds to the totals; cells were counted where they were pulsed.
    pub(super) fn count(&mut self, sent: PulseCounts) {
        self.pulses_sent += sent.total();
        if let Some(ledger) = &mut self.ledger {
            ledger.add(sent);
        }
    }

    /// The pulse counts since [`Tile::count_pulses`].
    pub fn ledger(&self) -> Option<&Ledger> {
        self.ledger.as_ref()
    }
}
