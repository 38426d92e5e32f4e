//! Rows of a tile, one after the other or on several threads.

use rayon::prelude::*;

use super::Tile;
use super::cells::Cells;
use super::device::Device;

/// Below this many cell visits a second thread costs more than it brings.
const PARALLEL_WORK: usize = 1 << 17;

impl Tile {
    /// Calls `visit` with each band of `height` rows: its number, its weights and, under write noise, its hidden state.
    /// `visits` is how often each cell is looked at. Returns the sum of what the visits return.
    pub(super) fn each_band(
        &mut self,
        height: usize,
        visits: usize,
        visit: impl Fn(&Device, &Cells, usize, &mut [f32], Option<&mut [f32]>) -> u64 + Sync,
    ) -> u64 {
        let (device, cells, len) = (&self.device, &self.cells, height * self.cols);
        let parallel = self.weights.len() * visits >= PARALLEL_WORK;
        match (&mut self.hidden, parallel) {
            (None, false) => {
                let bands = self.weights.chunks_mut(len).enumerate();
                bands.map(|(i, w)| visit(device, cells, i, w, None)).sum()
            }
            (None, true) => {
                let bands = self.weights.par_chunks_mut(len).enumerate();
                bands.map(|(i, w)| visit(device, cells, i, w, None)).sum()
            }
            (Some(hidden), _) => {
                let bands = self.weights.par_chunks_mut(len).zip(hidden.par_chunks_mut(len)).enumerate();
                bands.map(|(i, (w, h))| visit(device, cells, i, w, Some(h))).sum()
            }
        }
    }
}
