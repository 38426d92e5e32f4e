//! Rows of a tile, one after the other or on several threads.

use std::ops::Add;

use super::Tile;
use super::cells::Cells;
use super::device::Device;

/// Below this many cell visits a second thread costs more than it brings.
const PARALLEL_WORK: usize = 1 << 17;
/// Pieces per thread: some take longer than others, and the last one should not be waited for long.
const PIECES: usize = 32;

/// Some rows of a tile, all there is to change about them.
pub(super) struct Band<'a> {
    /// Number of the band; of a stretch of bands, that of its first.
    pub(super) index: usize,
    /// What a read sees.
    pub(super) weights: &'a mut [f32],
    /// What pulses act on, under write noise.
    pub(super) hidden: Option<&'a mut [f32]>,
    /// Pulses of each cell, where they are counted.
    pub(super) tally: Option<&'a mut [u32]>,
}

impl Band<'_> {
    /// The first `bands` bands of `len` cells each, and the others.
    fn split(self, bands: usize, len: usize) -> (Self, Self) {
        let at = (bands * len).min(self.weights.len());
        let (weights, other_weights) = self.weights.split_at_mut(at);
        let (hidden, other_hidden) = self.hidden.map(|h| h.split_at_mut(at)).unzip();
        let (tally, other_tally) = self.tally.map(|t| t.split_at_mut(at)).unzip();
        (
            Self { index: self.index, weights, hidden, tally },
            Self {
                index: self.index + bands,
                weights: other_weights,
                hidden: other_hidden,
                tally: other_tally,
            },
        )
    }

    /// The sum of what `visit` makes of each band of `len` cells; up to `piece` of them in a row on one thread.
    fn each<T: Send + Add<Output = T>>(
        self,
        len: usize,
        piece: usize,
        visit: &(impl Fn(Band<'_>) -> T + Sync),
    ) -> T {
        let bands = self.weights.len().div_ceil(len);
        if bands > piece {
            let (here, there) = self.split(bands / 2, len);
            let (a, b) = rayon::join(|| here.each(len, piece, visit), || there.each(len, piece, visit));
            return a + b;
        }
        let (mut band, mut rest) = self.split(1, len);
        let mut sum = visit(band);
        while !rest.weights.is_empty() {
            (band, rest) = rest.split(1, len);
            sum = sum + visit(band);
        }
        sum
    }
}

impl Tile {
    /// The sum of what `visit` makes of each band of `height` rows. `visits` is how often each cell is looked at.
    pub(super) fn each_band<T: Send + Add<Output = T>>(
        &mut self,
        height: usize,
        visits: usize,
        visit: impl Fn(&Device, &Cells, Band<'_>) -> T + Sync,
    ) -> T {
        let (device, cells) = (&self.device, &self.cells);
        let all = Band {
            index: 0,
            weights: &mut self.weights,
            hidden: self.hidden.as_deref_mut(),
            tally: self.ledger.as_mut().map(|ledger| &mut *ledger.cells),
        };
        let parallel = all.weights.len() * visits >= PARALLEL_WORK;
        let threads = if parallel { rayon::current_num_threads() } else { 1 };
        let piece = if threads == 1 { usize::MAX } else { self.rows.div_ceil(height * PIECES * threads) };
        all.each(height * self.cols, piece, &|band| visit(device, cells, band))
    }
}
