//! Rows of a tile, processed in order or on several threads.

use std::ops::Add;

use crate::device::{Device, KeptCells};
use crate::threads;
use crate::tile::Tile;

/// What the visit of a cell costs, in multiply–adds.
const VISIT: usize = 64;
/// Chunks per thread: some take longer than others, and the wait for the last should be short.
const CHUNKS: usize = 32;

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
    /// Consecutive blocks that one thread processes.
    chunk: usize,
}

impl RowBlocks<'_> {
    /// The sum of `visit` over all blocks.
    pub(super) fn sum<T: Send + Add<Output = T>>(self, visit: &(impl Fn(RowBlock<'_>) -> T + Sync)) -> T {
        let Self { rows, len, chunk } = self;
        let blocks = rows.weights.len().div_ceil(len);
        if blocks > chunk {
            let (here, there) = rows.split(blocks / 2, len);
            let [here, there] = [here, there].map(|rows| RowBlocks { rows, len, chunk });
            let (a, b) = threads::join(|| here.sum(visit), || there.sum(visit));
            return a + b;
        }
        let (mut block, mut others) = rows.split(1, len);
        let mut sum = visit(block);
        while !others.weights.is_empty() {
            (block, others) = others.split(1, len);
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
        let chunk = if threads == 1 { usize::MAX } else { self.rows.div_ceil(height * CHUNKS * threads) };
        (&self.device, &self.cells, RowBlocks { rows, len: height * self.cols, chunk })
    }
}
