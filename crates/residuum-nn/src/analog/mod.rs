//! Weights on crossbars: a matrix cut into tiles, each held by a rule, read through converters.
//!
//! ```text
//! y = Σ_tiles s ⊙ a ⊙ read(W̄_tile x_tile)
//! ```
//! a is fixed when weights are mapped into the range of the cells ([`Mapping::omega`]); s is learned by digital SGD
//! ([`OutputScaling`]). The rule of a tile sees errors and inputs of that tile and nothing of the network.

mod block;
mod factory;

pub use factory::{AnalogFactory, Recipe};

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use residuum::array::Unreachable;
use residuum::rule::Operations;
use residuum::{Key, ParameterError, RateSchedules, Rates, Readout, Rule, State, threads};

use crate::kernel;
use crate::state::{StateError, Tensors};
use crate::weights::{TrainStepError, Weights, check_weights};
use block::Block;

/// How a matrix is mapped to tiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mapping {
    /// Maximum rows (outputs) per tile.
    pub max_rows: usize,
    /// Maximum columns (inputs) per tile.
    pub max_cols: usize,
    /// ω: the largest weight of a tile, or of each row, is scaled to this value, unless it is by width; `None` writes weights
    /// unscaled.
    pub omega: Option<f32>,
    /// Whether ω standard deviations of a weight fill the range instead, a = ω σ_W/τ with σ_W = fan-in^(−½) and τ half the
    /// range of the cells: wide layers, whose weights are small, then use as many states as narrow ones, whatever the
    /// weights are at first (Wu et al. 2026).
    pub by_width: bool,
    /// Whether every row has its own scale rather than one for the tile.
    pub columnwise: bool,
    /// Output scales that are learned.
    pub output_scaling: OutputScaling,
}

impl Default for Mapping {
    /// Tiles of at most 512 × 512, unscaled weights, no learned scales.
    fn default() -> Self {
        Self {
            max_rows: 512,
            max_cols: 512,
            omega: None,
            by_width: false,
            columnwise: false,
            output_scaling: OutputScaling::Off,
        }
    }
}

impl Mapping {
    fn validate(&self) -> Result<(), ParameterError> {
        for (name, value) in [("max_rows", self.max_rows), ("max_cols", self.max_cols)] {
            if value == 0 {
                return Err(ParameterError::OutOfDomain { name, must: "at least 1", value: 0.0 });
            }
        }
        if self.by_width && (self.omega.is_none() || self.columnwise) {
            let message =
                "by_width must be given with omega, and without columnwise: it is one scale for a layer".into();
            return Err(ParameterError::Other { message });
        }
        match self.omega {
            Some(omega) if !(omega > 0.0 && omega.is_finite()) => {
                let value = f64::from(omega);
                Err(ParameterError::OutOfDomain { name: "omega", must: "positive and finite", value })
            }
            _ => Ok(()),
        }
    }
}

/// Learned scales of the outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputScaling {
    /// None.
    #[default]
    Off,
    /// One for each tile.
    PerTile,
    /// One for each output of each tile.
    PerOutput,
}

/// Converters of the two products.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reads {
    /// Of W x.
    pub forward: Readout,
    /// Of Wᵀ δ.
    pub backward: Readout,
}

impl Reads {
    /// The same converters around one tile.
    fn around(&self, tile: Key) -> Self {
        let Self { forward, backward } = self;
        Self { forward: forward.around(tile), backward: backward.around(tile) }
    }
}

/// What a weight costs for each sample in a read and in a step, in multiply–adds.
const READ: usize = 1;
const STEP: usize = 8;

/// Inputs of a calibration.
const CALIBRATIONS: usize = 16;

/// A matrix on crossbar tiles.
#[derive(Debug)]
pub struct AnalogWeights {
    rows: usize,
    cols: usize,
    blocks: Vec<Block>,
    mapping: Mapping,
    rates: RateSchedules,
    name: String,
    /// Of this layer under this seed.
    key: Key,
    samples_read: u64,
    /// What outputs are multiplied by: a global drift compensation.
    gain: f32,
    /// How strongly the matrix answered when it was calibrated.
    answer: f64,
}

impl AnalogWeights {
    /// Cuts `initial` (`rows × cols`) into tiles, each with a rule of the factory's recipe; `name` is used in error messages and
    /// decides the variation of the cells.
    ///
    /// # Errors
    /// If a length differs, the mapping is invalid, or the rule cannot be built.
    pub fn new(
        name: &str,
        [rows, cols]: [usize; 2],
        initial: &[f32],
        factory: &AnalogFactory,
    ) -> Result<Self, ParameterError> {
        let mapping = factory.mapping;
        mapping.validate()?;
        factory.sgd.validate()?;
        if initial.len() != rows * cols {
            let (expected, given) = (rows * cols, initial.len());
            return Err(ParameterError::Length { name: "weights", expected, given });
        }
        let key = factory.key.named(name);
        let mut blocks = Vec::new();
        for rows in split_evenly(rows, mapping.max_rows) {
            for own_cols in split_evenly(cols, mapping.max_cols) {
                let own = key.fold(blocks.len() as u64);
                blocks.push(Block::new([rows.clone(), own_cols], initial, cols, factory, own)?);
            }
        }
        let rates = factory.rates.clone().validate()?;
        Ok(Self {
            rows,
            cols,
            blocks,
            mapping,
            rates,
            name: name.to_owned(),
            key,
            samples_read: 0,
            gain: 1.0,
            answer: 0.0,
        })
    }

    /// The sum of |y| over a few inputs of random signs.
    fn answer_to(&mut self, key: Key) -> f64 {
        let mut draws = vec![0.0; CALIBRATIONS * self.cols];
        key.named("calibration").fill_uniform(&mut draws);
        let inputs: Vec<f32> = draws.iter().map(|&u| if u < 0.5 { -1.0 } else { 1.0 }).collect();
        let mut outputs = vec![0.0; CALIBRATIONS * self.rows];
        self.read(&inputs, &mut outputs, key.named("answer"));
        outputs.iter().map(|&y| f64::from(y.abs())).sum()
    }

    /// The rates of its own schedules at step `k`.
    pub fn rates(&self, k: u64) -> Rates {
        self.rates.at(k)
    }

    /// [`Weights::step`] with rates of the caller's, such as those of a scheduler outside this library.
    ///
    /// # Errors
    /// If a rule rejects the step.
    pub fn step_at(
        &mut self,
        k: u64,
        rates: &Rates,
        errors: &[f32],
        inputs: &[f32],
        key: Key,
    ) -> Result<(), TrainStepError> {
        let (shape, batch) = ([self.rows, self.cols], errors.len() / self.rows);
        let refused = Mutex::new(None);
        self.each_tile(STEP, batch, |n, block| {
            if let Err(error) = block.step(k, errors, inputs, shape, rates, key.fold(n as u64)) {
                let mut first = refused.lock().unwrap_or_else(PoisonError::into_inner);
                if first.as_ref().is_none_or(|(before, _)| n < *before) {
                    *first = Some((n, error));
                }
            }
        });
        match refused.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((n, mut error)) => {
                error.array = format!("{} tile {n} {}", self.name, error.array);
                Err(TrainStepError::Refused(error.at(k)))
            }
        }
    }

    /// Does `run` with every tile, each of which costs so many multiply–adds for a weight and sample. Threads take as many whole tiles each,
    /// and share the work of those that are left over.
    fn each_tile(&mut self, cost: usize, batch: usize, run: impl Fn(usize, &mut Block) + Sync) {
        let threads = threads::worth(cost.saturating_mul(batch).saturating_mul(self.rows * self.cols));
        let tiles = self.blocks.len();
        let (whole, left) = self.blocks.split_at_mut(tiles - tiles % threads);
        threads::each(threads, whole.par_iter_mut().enumerate(), |(n, block)| run(n, block));
        let before = whole.len();
        left.iter_mut().enumerate().for_each(|(n, block)| run(before + n, block));
    }

    /// The sum of what the tiles have read, each `add`ing its part to samples of `lines` values, in their order.
    fn add_parts(&self, outputs: &mut [f32], lines: usize, add: impl Fn(&Block, usize, &mut [f32]) + Sync) {
        kernel::for_rows(outputs, lines, |first, outputs| {
            outputs.fill(0.0);
            self.blocks.iter().for_each(|block| add(block, first, outputs));
        });
    }

    /// [`Weights::read`] that leaves no trace: running averages of the converters are what they were.
    pub fn evaluate(&mut self, inputs: &[f32], outputs: &mut [f32], key: Key) {
        let before: Vec<_> = self.blocks.iter().map(Block::running_scale).collect();
        self.read(inputs, outputs, key);
        for (block, scale) in self.blocks.iter_mut().zip(before) {
            block.set_running_scale(scale);
        }
    }

    /// Leaves output scales to someone else, who sets them before a read and takes their gradients; returns how many there are.
    pub fn open_scales(&mut self) -> usize {
        let own = self.blocks.iter_mut().filter_map(Block::learned);
        own.map(|scale| {
            scale.freeze();
            scale.values.len()
        })
        .sum()
    }

    /// Sets the output scales, tile by tile.
    ///
    /// # Panics
    /// If there are not as many as [`open_scales`](Self::open_scales) returned.
    pub fn set_scales(&mut self, scales: &[f32]) {
        let mut rest = scales;
        for scale in self.blocks.iter_mut().filter_map(Block::learned) {
            let (own, others) = rest.split_at(scale.values.len());
            scale.values.copy_from_slice(own);
            rest = others;
        }
        assert!(rest.is_empty(), "{} output scales too many", rest.len());
    }

    /// What the last read gave before the output scales, tile by tile.
    pub fn unscaled(&self, out: &mut Vec<f32>) {
        out.clear();
        self.blocks.iter().for_each(|block| out.extend_from_slice(block.raw()));
    }

    /// ∂L/∂s of the output scales, from the errors of a read and what [`unscaled`](Self::unscaled) gave after it.
    ///
    /// # Panics
    /// If lengths do not fit.
    pub fn scale_gradients(&mut self, errors: &[f32], unscaled: &[f32], out: &mut [f32]) {
        let (batch, rows) = (errors.len() / self.rows, self.rows);
        let (mut raw, mut to) = (unscaled, out);
        for block in &mut self.blocks {
            let (height, width) = (block.rule().0.len(), block.learned().map_or(0, |scale| scale.values.len()));
            let (own, others) = raw.split_at(batch * height);
            let (gradient, rest) = std::mem::take(&mut to).split_at_mut(width);
            block.outside_gradient(errors, rows, own, gradient);
            (raw, to) = (others, rest);
        }
    }

    /// The rule of every tile, with the rows and columns of the matrix that it holds.
    pub fn tiles(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>, &dyn Rule<f32>)> {
        self.blocks.iter().map(Block::rule)
    }
}

/// Splits `n` lines into the fewest chunks of at most `most`, as equal as possible.
pub(crate) fn split_evenly(n: usize, most: usize) -> Vec<Range<usize>> {
    let chunks = n.div_ceil(most);
    (0..chunks).map(|c| c * n / chunks..(c + 1) * n / chunks).collect()
}

impl Weights for AnalogWeights {
    fn rows(&self) -> usize {
        self.rows
    }

    fn cols(&self) -> usize {
        self.cols
    }

    fn read(&mut self, inputs: &[f32], outputs: &mut [f32], key: Key) {
        self.samples_read += (inputs.len() / self.cols) as u64;
        if let [block] = &mut self.blocks[..] {
            block.read(inputs, outputs, key.fold(0));
        } else {
            let (rows, cols) = (self.rows, self.cols);
            self.each_tile(READ, inputs.len() / cols, |n, block| {
                block.read_part(inputs, cols, key.fold(n as u64));
            });
            self.add_parts(outputs, rows, |block, first, outputs| block.add_outputs(first, outputs, rows));
        }
        if self.gain != 1.0 {
            for y in outputs.iter_mut() {
                *y *= self.gain;
            }
        }
    }

    fn read_transposed(&mut self, errors: &[f32], outputs: &mut [f32], key: Key) {
        let (rows, cols) = (self.rows, self.cols);
        if let [block] = &mut self.blocks[..] {
            block.read_transposed(errors, outputs, rows, key.fold(0));
        } else {
            self.each_tile(READ, errors.len() / rows, |n, block| {
                block.read_transposed_part(errors, rows, key.fold(n as u64));
            });
            self.add_parts(outputs, cols, |block, first, outputs| block.add_errors(first, outputs, cols));
        }
    }

    fn step(&mut self, k: u64, errors: &[f32], inputs: &[f32], key: Key) -> Result<(), TrainStepError> {
        let rates = self.rates.at(k);
        self.step_at(k, &rates, errors, inputs, key)
    }

    fn age(&mut self, key: Key) {
        for (n, block) in self.blocks.iter_mut().enumerate() {
            block.age(key.fold(n as u64));
        }
    }

    fn calibrate(&mut self, key: Key) {
        self.gain = 1.0;
        self.answer = self.answer_to(key);
    }

    fn compensate(&mut self, key: Key) {
        self.gain = 1.0;
        let now = self.answer_to(key);
        if now > 0.0 {
            self.gain = (self.answer / now) as f32;
        }
    }

    fn effective_weights(&self, out: &mut [f32]) {
        for block in &self.blocks {
            block.effective_weights(out, self.cols);
        }
    }

    fn set_weights(&mut self, weights: &[f32]) -> Result<(), ParameterError> {
        check_weights(self.rows * self.cols, weights)?;
        for (n, block) in self.blocks.iter_mut().enumerate() {
            let key = self.key.fold(n as u64).named("set_weights");
            block.program(weights, self.cols, self.mapping, key)?;
        }
        Ok(())
    }

    fn range(&self) -> Option<[f32; 2]> {
        let ranges = self.blocks.iter().filter_map(Block::range);
        ranges.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])
    }

    fn unreachable(&self) -> Unreachable<f32> {
        let mut all = Unreachable::default();
        self.blocks.iter().for_each(|block| all.add(block.unreachable()));
        all
    }

    fn samples_read(&self) -> u64 {
        self.samples_read
    }

    fn operations(&self, steps: u64, samples: u64) -> Operations {
        let mut sum = Operations::default();
        let (mut reads, mut writes) = (0, 0);
        for block in &self.blocks {
            let own = block.operations(steps, samples);
            // The tiles of a layer work at the same time.
            (reads, writes) = (own.read_rounds.max(reads), own.write_rounds.max(writes));
            sum += own;
        }
        Operations { read_rounds: reads, write_rounds: writes, ..sum }
    }

    fn epoch_ended(&mut self, loss: f64) {
        for block in &mut self.blocks {
            block.epoch_ended(loss);
        }
    }
}

impl State for AnalogWeights {
    fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::new();
        for (n, block) in self.blocks.iter().enumerate() {
            tensors.nest(&format!("tile{n}"), block.tensors());
        }
        tensors
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        from.fit(&self.tensors())?;
        for (n, block) in self.blocks.iter_mut().enumerate() {
            block.load(&from.within(&format!("tile{n}")))?;
        }
        Ok(())
    }
}
