//! Rows of a tile, processed in order or on several threads.

use std::mem;
use std::ops::Add;
use std::sync::{Mutex, PoisonError};

use crate::device::{Device, KeptCells};
use crate::threads::{self, Divisible};
use crate::tile::Tile;

/// What the visit of a cell costs, in multiply–adds.
const VISIT: usize = 64;

/// Some whole rows of a tile, with all their mutable state.
pub(super) struct RowBlock<'a> {
    /// Index of the block; of several, that of the first.
    pub(super) index: usize,
    /// What a read sees.
    pub(super) weights: &'a mut [f32],
    /// What pulses act on, under write noise.
    pub(super) hidden: Option<&'a mut [f32]>,
    /// Pulses of each cell, where they are counted.
    pub(super) tally: Option<&'a mut [u32]>,
}

impl RowBlock<'_> {
    /// The first `blocks` blocks of `len` cells each, and the others.
    fn split(self, blocks: usize, len: usize) -> (Self, Self) {
        let at = (blocks * len).min(self.weights.len());
        let (weights, other_weights) = self.weights.split_at_mut(at);
        let (hidden, other_hidden) = self.hidden.map(|h| h.split_at_mut(at)).unzip();
        let (tally, other_tally) = self.tally.map(|t| t.split_at_mut(at)).unzip();
        (
            Self { index: self.index, weights, hidden, tally },
            Self {
                index: self.index + blocks,
                weights: other_weights,
                hidden: other_hidden,
                tally: other_tally,
            },
        )
    }
}

/// All rows of a tile, block by block.
pub(super) struct RowBlocks<'a> {
    rows: RowBlock<'a>,
    /// Cells of a block.
    len: usize,
    /// How many threads they are worth.
    threads: usize,
}

impl Divisible for RowBlocks<'_> {
    fn split_at(self, n: usize) -> (Self, Self) {
        let Self { rows, len, threads } = self;
        let (here, there) = rows.split(n, len);
        (Self { rows: here, len, threads }, Self { rows: there, len, threads })
    }
}

impl RowBlocks<'_> {
    /// The sum of `visit` over all blocks.
    pub(super) fn sum<T: Send + Default + Add<Output = T>>(
        self,
        visit: &(impl Fn(RowBlock<'_>) -> T + Sync),
    ) -> T {
        let blocks = self.rows.weights.len().div_ceil(self.len);
        // Whole numbers: the order in which threads are done changes nothing.
        let total = Mutex::new(T::default());
        threads::share_unevenly(self.threads, self, blocks, &|some: Self| {
            let sum = some.sum_in_order(visit);
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            *total = mem::take(&mut *total) + sum;
        });
        total.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn sum_in_order<T: Default + Add<Output = T>>(self, visit: &impl Fn(RowBlock<'_>) -> T) -> T {
        let (mut sum, mut others) = (T::default(), self.rows);
        while !others.weights.is_empty() {
            let block;
            (block, others) = others.split(1, self.len);
            sum = sum + visit(block);
        }
        sum
    }
}

impl Tile {
    /// Blocks of `height` rows, with the device and its cells. `visits` is how many cells will be visited, each as often as it is.
    pub(super) fn blocks(&mut self, height: usize, visits: usize) -> (&Device, &KeptCells, RowBlocks<'_>) {
        let rows = RowBlock {
            index: 0,
            weights: &mut self.weights,
            hidden: self.hidden.as_deref_mut(),
            tally: self.ledger.as_mut().map(|ledger| &mut *ledger.cells),
        };
        let threads = threads::worth(VISIT.saturating_mul(visits));
        (&self.device, &self.cells, RowBlocks { rows, len: height * self.cols, threads })
    }
}
