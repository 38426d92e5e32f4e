use super::super::lines::Lines;
use super::super::scheme::{all_finite, check_update};
use super::super::{Crossbar, Scheme, Tile};
use super::alike;
use crate::Key;
use crate::error::{ParameterError, require, same_length};
use crate::rule::Slot;

/// Which tiles of a [`VectorCell`] a sample writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// All, with the same pulses on their lines.
    All,
    /// This one only.
    Fixed(usize),
    /// One after the other, sample by sample.
    Sequential,
    /// One drawn for each sample.
    Random,
}

/// W = Σₙ gainₙ Wₙ.
///
/// Every tile that is written takes the desired increment itself, so the weight moves by the gains' share of it: by the whole
/// under [`Policy::All`] with gains 1/N, by 1/N of it if one tile is written at a time, as in AIHWKIT.
#[derive(Debug)]
pub struct VectorCell {
    tiles: Vec<Tile>,
    gains: Vec<f32>,
    policy: Policy,
    weights: Vec<f32>,
    /// Samples seen: whose turn it is.
    samples: u64,
    lines: Lines,
    signals: [Vec<f32>; 2],
}

impl VectorCell {
    /// A cell of these tiles with gains 1/N.
    ///
    /// # Errors
    /// If there is no tile, shapes differ, or the policy names a tile that is not there.
    pub fn new(tiles: Vec<Tile>, policy: Policy) -> Result<Self, ParameterError> {
        let gain = 1.0 / tiles.len() as f32;
        let gains = vec![gain; tiles.len()];
        Self::with_gains(tiles, gains, policy)
    }

    /// The same with gains of its own.
    ///
    /// # Errors
    /// As [`VectorCell::new`], or if a gain is not finite or their number is not that of the tiles.
    pub fn with_gains(tiles: Vec<Tile>, gains: Vec<f32>, policy: Policy) -> Result<Self, ParameterError> {
        require(!tiles.is_empty(), "tiles", "at least 1", 0.0)?;
        same_length("gains", tiles.len(), gains.len())?;
        all_finite("gains", &gains)?;
        for tile in &tiles {
            alike(&tiles[0], tile)?;
        }
        if let Policy::Fixed(n) = policy {
            require(n < tiles.len(), "fixed tile", "below the number of tiles", n as f64)?;
        }
        let weights = vec![0.0; tiles[0].weights.len()];
        let (lines, signals) = (Lines::default(), [Vec::new(), Vec::new()]);
        let mut cell = Self { tiles, gains, policy, weights, samples: 0, lines, signals };
        cell.sum();
        Ok(cell)
    }

    /// The tiles.
    pub fn tiles(&self) -> &[Tile] {
        &self.tiles
    }

    fn sum(&mut self) {
        self.weights.fill(0.0);
        for (tile, gain) in self.tiles.iter().zip(&self.gains) {
            for (sum, w) in self.weights.iter_mut().zip(&tile.weights) {
                *sum += gain * w;
            }
        }
    }

    /// The tile that sample number `sample` of an update writes to, if it is one.
    fn turn(&self, sample: usize, key: Key) -> Option<usize> {
        let n = self.tiles.len();
        match self.policy {
            Policy::All => None,
            Policy::Fixed(tile) => Some(tile),
            Policy::Sequential => Some(((self.samples + sample as u64) % n as u64) as usize),
            Policy::Random => {
                let u = key.named("turn").uniform_at(sample as u64);
                Some(((u * n as f64) as usize).min(n - 1))
            }
        }
    }

    /// Applies `write` to the tiles whose turn it is at a write of one sample, each under a key of its own.
    fn one_sample(
        &mut self,
        key: Key,
        mut write: impl FnMut(&mut Tile, Key) -> Result<(), ParameterError>,
    ) -> Result<(), ParameterError> {
        match self.turn(0, key) {
            Some(n) => write(&mut self.tiles[n], key.fold(n as u64))?,
            None => {
                for (n, tile) in self.tiles.iter_mut().enumerate() {
                    write(tile, key.fold(n as u64))?;
                }
            }
        }
        self.samples += 1;
        self.sum();
        Ok(())
    }
}

impl Crossbar for VectorCell {
    fn rows(&self) -> usize {
        self.tiles[0].rows
    }

    fn cols(&self) -> usize {
        self.tiles[0].cols
    }

    fn weights(&self) -> &[f32] {
        &self.weights
    }

    fn granularity(&self) -> f32 {
        self.tiles.iter().map(|t| t.device.granularity()).sum::<f32>() / self.tiles.len() as f32
    }

    fn range(&self) -> [f32; 2] {
        let mut range = [0.0; 2];
        for (tile, gain) in self.tiles.iter().zip(&self.gains) {
            let ends = tile.range().map(|w| gain * w);
            range[0] += ends[0].min(ends[1]);
            range[1] += ends[0].max(ends[1]);
        }
        range
    }

    fn update(
        &mut self,
        scale: f32,
        row_signals: &[f32],
        col_signals: &[f32],
        scheme: Scheme,
        key: Key,
    ) -> Result<(), ParameterError> {
        let (rows, cols, granularity) = (self.rows(), self.cols(), self.granularity());
        let batch = check_update([rows, cols], scale, [row_signals, col_signals], scheme)?;
        match (self.policy, scheme) {
            (Policy::All, Scheme::Stochastic(trains)) => {
                let together = self.tiles.iter().all(|t| t.cells.at_once);
                let (signals, unit) = ((row_signals, col_signals), (scale, granularity));
                self.lines.fire((rows, cols), signals, unit, trains, together, key);
                for (n, tile) in self.tiles.iter_mut().enumerate() {
                    tile.take(&self.lines, key.named("cell").fold(n as u64));
                }
            }
            (Policy::All, _) => {
                for (n, tile) in self.tiles.iter_mut().enumerate() {
                    tile.update(scale, row_signals, col_signals, scheme, key.fold(n as u64))?;
                }
            }
            _ => {
                for n in 0..self.tiles.len() {
                    let [d, x] = &mut self.signals;
                    d.clear();
                    x.clear();
                    let [mut d, mut x] = std::mem::take(&mut self.signals);
                    for sample in (0..batch).filter(|sample| self.turn(*sample, key) == Some(n)) {
                        d.extend_from_slice(&row_signals[sample * rows..][..rows]);
                        x.extend_from_slice(&col_signals[sample * cols..][..cols]);
                    }
                    let written = self.tiles[n].update(scale, &d, &x, scheme, key.fold(n as u64));
                    self.signals = [d, x];
                    written?;
                }
            }
        }
        self.samples += batch as u64;
        self.sum();
        Ok(())
    }

    fn update_column(
        &mut self,
        column: usize,
        scale: f32,
        values: &[f32],
        scheme: Scheme,
        key: Key,
    ) -> Result<(), ParameterError> {
        self.one_sample(key, |tile, key| tile.update_column(column, scale, values, scheme, key))
    }

    fn increment(
        &mut self,
        scale: f32,
        direction: &[f32],
        scheme: Scheme,
        key: Key,
    ) -> Result<(), ParameterError> {
        self.one_sample(key, |tile, key| tile.increment(scale, direction, scheme, key))
    }

    /// Writes `target` divided by the sum of the gains to every tile.
    fn program(&mut self, target: &[f32], key: Key) -> Result<(), ParameterError> {
        let total: f32 = self.gains.iter().sum();
        require(total != 0.0, "sum of gains", "other than 0 to program a cell", 0.0)?;
        let share: Vec<f32> = target.iter().map(|t| t / total).collect();
        for (n, tile) in self.tiles.iter_mut().enumerate() {
            tile.program(&share, key.fold(n as u64))?;
        }
        self.sum();
        Ok(())
    }

    fn age(&mut self, key: Key) -> bool {
        let mut aged = false;
        for (n, tile) in self.tiles.iter_mut().enumerate() {
            aged |= tile.age(key.fold(n as u64));
        }
        if aged {
            self.sum();
        }
        aged
    }

    fn pulses_sent(&self) -> u64 {
        self.tiles.iter().map(Tile::pulses_sent).sum()
    }

    fn slots(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        for (n, tile) in self.tiles.iter_mut().enumerate() {
            tile.slots(&mut |name, slot| visit(&format!("cell{n}.{name}"), slot));
        }
        visit("samples", Slot::Count(&mut self.samples));
        visit("sum", Slot::Floats(&mut self.weights));
    }
}
