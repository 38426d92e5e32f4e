use std::ops::Range;

use super::super::array::{column_key, full_train, pulse_rows, shift};
use super::super::lines::Lines;
use super::super::scheme::{all_finite, check_update};
use super::super::{Scheme, Tile};
use super::{alike, named};
use crate::Key;
use crate::array::{Array, Calibration, ZeroShift};
use crate::error::{ParameterError, require, same_length};
use crate::readout::Shape;
use crate::state::{State, StateError, Tensors};

/// Which tiles of a [`VectorCell`] a sample writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// All of them, with the same pulses on their lines.
    All,
    /// Only this one.
    Fixed(usize),
    /// Each in turn, sample by sample.
    Sequential,
    /// A random one for each sample.
    Random,
}

/// W = Σₙ gainₙ Wₙ.
///
/// Every tile that is written receives the full desired increment, so the weight moves by its gain times it: by the whole
/// under [`Policy::All`] with gains 1/N, by 1/N of it if one tile is written at a time, as in AIHWKIT.
#[derive(Debug)]
pub struct VectorCell {
    tiles: Vec<Tile>,
    gains: Vec<f32>,
    policy: Policy,
    scheme: Scheme,
    weights: Vec<f32>,
    /// Samples seen, which decides whose turn it is.
    samples: u64,
    lines: Lines,
    signals: [Vec<f32>; 2],
    row_signal: Vec<f32>,
}

impl VectorCell {
    /// A cell of these tiles with gains 1/N.
    ///
    /// # Errors
    /// If there is no tile, shapes differ, or the policy names a tile that does not exist.
    pub fn new(tiles: Vec<Tile>, policy: Policy) -> Result<Self, ParameterError> {
        let gain = 1.0 / tiles.len() as f32;
        let gains = vec![gain; tiles.len()];
        Self::with_gains(tiles, gains, policy)
    }

    /// A cell of these tiles with the given gains.
    ///
    /// # Errors
    /// As [`VectorCell::new`], or if a gain is not finite or there is not one per tile.
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
        let scheme = tiles[0].scheme;
        let mut cell =
            Self { tiles, gains, policy, scheme, weights, samples: 0, lines, signals, row_signal: Vec::new() };
        cell.sum();
        Ok(cell)
    }

    /// Sets how increments reach the tiles.
    ///
    /// # Errors
    /// If the trains are invalid.
    pub fn with_scheme(mut self, scheme: impl Into<Scheme>) -> Result<Self, ParameterError> {
        self.scheme = scheme.into();
        self.scheme.validate()?;
        Ok(self)
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

    /// The tile that sample number `sample` of an update writes to, if it is a single one.
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

    /// Applies `write` to the tiles that a write of one sample goes to, each with its own key.
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

impl State for VectorCell {
    fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::new();
        for (n, tile) in self.tiles.iter().enumerate() {
            tensors.nest(&format!("cell{n}"), tile.tensors());
        }
        tensors.count("samples", self.samples);
        tensors.matrix("sum", [self.tiles[0].rows, self.tiles[0].cols], &self.weights);
        tensors
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        from.fit(&self.tensors())?;
        for (n, tile) in self.tiles.iter_mut().enumerate() {
            tile.load(&from.within(&format!("cell{n}")))?;
        }
        from.read_count("samples", &mut self.samples);
        from.read("sum", &mut self.weights);
        Ok(())
    }
}

impl Array<f32> for VectorCell {
    fn shape(&self) -> Shape {
        self.tiles[0].shape()
    }

    fn weights(&self) -> &[f32] {
        &self.weights
    }

    fn increment(&mut self, scale: f32, direction: &[f32], key: Key) -> Result<(), ParameterError> {
        let scheme = self.scheme;
        self.one_sample(key.named("write"), |tile, key| tile.write_matrix(scale, direction, scheme, key))
    }

    fn update(&mut self, scale: f32, errors: &[f32], inputs: &[f32], key: Key) -> Result<(), ParameterError> {
        let (Shape { rows, cols }, granularity, scheme) = (self.shape(), self.granularity(), self.scheme);
        let batch = check_update([rows, cols], scale, [errors, inputs], scheme)?;
        match (self.policy, scheme) {
            (Policy::All, Scheme::Stochastic(trains)) => {
                let together = self.tiles.iter().all(|t| t.cells.at_once);
                let (signals, unit) = ((errors, inputs), (scale, granularity));
                self.lines.fire((rows, cols), signals, unit, trains, together, key);
                for (n, tile) in self.tiles.iter_mut().enumerate() {
                    tile.take(&self.lines, key.named("cell").fold(n as u64));
                }
            }
            (Policy::All, _) => {
                for (n, tile) in self.tiles.iter_mut().enumerate() {
                    tile.write(scale, errors, inputs, scheme, key.fold(n as u64))?;
                }
            }
            _ => {
                for n in 0..self.tiles.len() {
                    let [d, x] = &mut self.signals;
                    d.clear();
                    x.clear();
                    let [mut d, mut x] = std::mem::take(&mut self.signals);
                    for sample in (0..batch).filter(|sample| self.turn(*sample, key) == Some(n)) {
                        d.extend_from_slice(&errors[sample * rows..][..rows]);
                        x.extend_from_slice(&inputs[sample * cols..][..cols]);
                    }
                    let written = self.tiles[n].write(scale, &d, &x, scheme, key.fold(n as u64));
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
        key: Key,
    ) -> Result<(), ParameterError> {
        let (scheme, key) = (self.scheme, column_key(key, column));
        self.one_sample(key, |tile, key| tile.write_column(column, scale, values, scheme, key))
    }

    fn pulse_column(
        &mut self,
        column: usize,
        counts: &[f32],
        max_pulses: u32,
        key: Key,
    ) -> Result<(), ParameterError> {
        let (unit, scheme, key) = (self.granularity(), full_train(max_pulses), column_key(key, column));
        self.one_sample(key, |tile, key| tile.write_column(column, unit, counts, scheme, key))
    }

    fn pulse_cells(&mut self, unit: f32, counts: &[f32], key: Key) -> Result<(), ParameterError> {
        let mut row_signal = std::mem::take(&mut self.row_signal);
        let written = pulse_rows(self, unit, counts, &mut row_signal, key);
        self.row_signal = row_signal;
        written
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

    fn reset(&mut self, columns: Range<usize>, key: Key) -> Result<(), ParameterError> {
        for (n, tile) in self.tiles.iter_mut().enumerate() {
            tile.reset(columns.clone(), key.fold(n as u64))?;
        }
        self.sum();
        Ok(())
    }

    fn pulse_all(&mut self, up: bool, key: Key) {
        for (n, tile) in self.tiles.iter_mut().enumerate() {
            tile.pulse_all(up, key.fold(n as u64));
        }
        self.sum();
    }

    fn zero_shift(&mut self, settings: &ZeroShift, key: Key) -> Result<Calibration<f32>, ParameterError> {
        shift(self, settings, key)
    }

    fn granularity(&self) -> f32 {
        self.tiles.iter().map(|t| t.device.granularity()).sum::<f32>() / self.tiles.len() as f32
    }

    fn range(&self) -> Option<[f32; 2]> {
        let mut range = [0.0; 2];
        for (tile, gain) in self.tiles.iter().zip(&self.gains) {
            let ends = tile.range()?.map(|w| gain * w);
            range[0] += ends[0].min(ends[1]);
            range[1] += ends[0].max(ends[1]);
        }
        Some(range)
    }

    fn pulses_sent(&self) -> u64 {
        self.tiles.iter().map(Tile::pulses_sent).sum()
    }

    /// The weight where all tiles are at their own symmetric points.
    fn symmetric_points(&self) -> Vec<Option<f32>> {
        let mut sum = vec![Some(0.0); self.weights.len()];
        for (tile, gain) in self.tiles.iter().zip(&self.gains) {
            for (sum, point) in sum.iter_mut().zip(tile.symmetric_points()) {
                *sum = sum.zip(point).map(|(sum, point)| sum + gain * point);
            }
        }
        sum
    }

    fn known_symmetric_points(&self) -> Result<Vec<f32>, ParameterError> {
        let mut sum = vec![0.0; self.weights.len()];
        for (tile, gain) in self.tiles.iter().zip(&self.gains) {
            for (sum, point) in sum.iter_mut().zip(tile.known_symmetric_points()?) {
                *sum += gain * point;
            }
        }
        Ok(sum)
    }

    /// All tiles are programmed to the same state.
    fn programmable(&self, cell: usize) -> Option<[f32; 2]> {
        let total: f32 = self.gains.iter().sum();
        let common = self.tiles.iter().filter_map(|tile| tile.programmable(cell));
        let [lo, hi] = common.reduce(|a, b| [a[0].max(b[0]), a[1].min(b[1])])?.map(|bound| total * bound);
        Some([lo.min(hi), lo.max(hi)])
    }

    /// The responses of all tiles at their present states, weighted by gain; `at` is their sum and cannot tell them apart.
    fn cell_parameters(&self) -> Vec<(String, Vec<f32>)> {
        let tiles = self.tiles.iter().enumerate();
        tiles.flat_map(|(n, tile)| named(&format!("tile{n}"), tile.cell_parameters())).collect()
    }

    fn response(&self, cell: usize, up: bool, _: f32) -> f32 {
        let of = |(tile, gain): (&Tile, &f32)| gain * tile.response(cell, up, tile.hidden()[cell]);
        self.tiles.iter().zip(&self.gains).map(of).sum()
    }
}
