//! Who was pulsed how often: what endurance and energy are reckoned from.

use rayon::prelude::*;

use super::Tile;
use crate::simd::{self, Kernel};

/// Bits of a train that are slots; the one above is the sign of the line's signal.
const SLOTS: u32 = u32::MAX >> 1;

/// Pulses that reached the cells of a tile since counting began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// Up pulses, all cells together.
    pub up: u64,
    /// Down pulses, all cells together.
    pub down: u64,
    /// Pulses of both directions by cell, row-major; a count stays at `u32::MAX` once there.
    pub cells: Vec<u32>,
}

impl Ledger {
    fn new(cells: usize) -> Self {
        Self { up: 0, down: 0, cells: vec![0; cells] }
    }

    /// Pulses of both directions, all cells together.
    pub fn total(&self) -> u64 {
        self.up + self.down
    }

    /// Pulses of the cell that had most.
    pub fn worst_cell(&self) -> u32 {
        self.cells.iter().copied().max().unwrap_or(0)
    }

    /// Joules spent on pulses.
    pub fn energy(&self, joules_per_pulse: f64) -> f64 {
        self.total() as f64 * joules_per_pulse
    }

    /// Share of an endurance of `cycles` pulses that the worst cell has used up.
    pub fn endurance_used(&self, cycles: f64) -> f64 {
        f64::from(self.worst_cell()) / cycles
    }

    /// Counts pulses of one direction, `count(i)` on cell i.
    pub(super) fn add(&mut self, up: bool, count: impl Fn(usize) -> u32 + Sync) {
        let add = |(i, cell): (usize, &mut u32)| {
            let n = count(i);
            *cell = cell.saturating_add(n);
            u64::from(n)
        };
        let sum: u64 = self.cells.par_iter_mut().enumerate().with_min_len(1024).map(add).sum();
        *(if up { &mut self.up } else { &mut self.down }) += sum;
    }

    /// Counts the coincidences of trains, given as (row trains, column trains) of each sample that fires.
    pub(super) fn add_trains(&mut self, samples: &[(&[u32], &[u32])]) {
        let Some(cols) = samples.first().map(|(_, cols)| cols.len()) else { return };
        let visit = |(row, cells): (usize, &mut [u32])| {
            let mut sums = [0u64; 2];
            for (row_trains, col_trains) in samples.iter().filter(|(rows, _)| rows[row] & SLOTS != 0) {
                let [up, down] = simd::dispatch(Coincidences { train: row_trains[row], col_trains, cells });
                sums[0] += u64::from(up);
                sums[1] += u64::from(down);
            }
            sums
        };
        let rows = self.cells.par_chunks_exact_mut(cols).enumerate();
        let [up, down] = rows.map(visit).reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
        self.up += up;
        self.down += down;
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
    /// Begins to count pulses by cell, or stops and forgets the counts. Counting costs four bytes a cell and a second pass
    /// over the trains of every update; it changes no result.
    pub fn count_pulses(&mut self, on: bool) {
        let cells = self.weights.len();
        self.ledger = on.then(|| self.ledger.take().unwrap_or_else(|| Ledger::new(cells)));
    }

    /// The pulses of each cell since [`Tile::count_pulses`].
    pub fn ledger(&self) -> Option<&Ledger> {
        self.ledger.as_ref()
    }
}
