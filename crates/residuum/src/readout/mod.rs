//! Analog reads: products with the weights of an array through its converters.
//!
//! A [`Readout`] turns a batch of digital samples into voltages, lets the array multiply, and digitizes the sums:
//!
//! ```text
//! sample / scale → round, clip → + noise → W · → + noise → round, clip → · scale
//! ```
//!
//! Every imperfection is off unless [`Settings`] enables it; the default gives the exact product. Reads take `&self`
//! and a [`Key`]: the noise of an output depends on the key, the sample and the line, never on threads, on the rest of
//! the batch or on which samples bound management repeats.
//!
//! A NaN in a sample or in the weights never becomes a number: every output that depends on it is NaN, and so
//! is every output of the sample if it was the sample that held it. An infinite entry is clipped to the input bound if
//! there is one and noise management does not look at it, as a converter does; otherwise its sample reads as infinite or NaN.
//!
//! Fixed differences between the lines and cells of an array, such as voltage offsets, are drawn from the key of the
//! array that [`Readout::of_array`] takes. Large reads run on the threads of the current rayon pool; the outputs are
//! the same for any number of them.
//!
//! Left out of AIHWKIT's list: shift bound management, which AIHWKIT documents but does not support; time-resolved voltage
//! drop and the split and bit-wise modes, which exist only for inference in Torch.
//!
//! ```
//! use residuum::Key;
//! use residuum::readout::{Readout, Scratch, Settings, Shape};
//! let readout = Readout::new(Settings::aihwkit())?;
//! let (weights, shape) = ([0.5, -0.25, 0.125, 1.0, 0.0, -1.0], Shape { rows: 2, cols: 3 });
//! let mut y = [0.0; 2];
//! readout.read(&weights, shape, &[1.0, 1.0, 1.0], Key::new(1), &mut y, &mut Scratch::default());
//! assert!((y[0] - 0.375).abs() < 0.5 && y[1].abs() < 0.5);
//! # Ok::<(), residuum::ParameterError>(())
//! ```

mod analog;
mod block;
mod columns;
mod convert;
mod lines;
mod noise;
pub(crate) mod product;
mod settings;

pub use settings::{
    BoundManagement, Converter, IrDrop, NoiseManagement, Nonlinearity, OutputLine, Passes, Settings,
    WeightNoise,
};

use rayon::prelude::*;

use analog::{Array, Weights, needs_magnitudes};
use block::{Block, Read, Source, average_scales};
use lines::{Cells, Lines};
use product::{REPAYS_WEIGHTS, ReadDirection};

use crate::error::require;
use crate::state::{State, StateError, Tensors};
use crate::{Key, ParameterError, threads};

/// Rows (outputs of a forward read) and columns (inputs) of a weight matrix stored row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
}

/// Buffers that reads reuse. Any scratch works with any readout and shape; it grows to the largest batch it has seen. Only
/// under [`NoiseManagement::AverageAbsMax`] does it also hold state: then every array needs its own.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    running_scale: Option<f32>,
    scales: Vec<f32>,
    one_hot: Vec<f32>,
    column: Vec<f32>,
    lines: Lines,
    cells: Cells,
    magnitudes: Vec<f32>,
    negative_magnitudes: Vec<f32>,
    blocks: Vec<Block>,
}

impl Scratch {
    /// What its own buffers, and those of each block, hold without another allocation.
    pub(crate) fn capacities(&self) -> ([usize; 2], Vec<[usize; 7]>) {
        let whole = [&self.one_hot, &self.magnitudes].map(|v| v.capacity());
        (whole, self.blocks.iter().map(Block::capacities).collect())
    }

    /// The average of [`NoiseManagement::AverageAbsMax`]; `None` before the first sample.
    pub fn running_scale(&self) -> Option<f32> {
        self.running_scale
    }

    /// Continues from an average saved earlier, or starts afresh.
    pub fn set_running_scale(&mut self, scale: Option<f32>) {
        self.running_scale = scale;
    }
}

impl State for Scratch {
    /// The running average alone; −1 before the first sample and for readouts that
    /// keep none.
    fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::new();
        tensors.vector("running_scale", &[self.running_scale.unwrap_or(-1.0)]);
        tensors
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        from.fit(&self.tensors())?;
        let mut scale = [-1.0];
        from.read("running_scale", &mut scale);
        self.running_scale = (scale[0] >= 0.0).then_some(scale[0]);
        Ok(())
    }
}

/// Converters and their noise around an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Readout {
    settings: Settings,
    /// Whether the settings are those of the exact product: comparing them takes as long as a small read.
    exact: bool,
    array: Key,
}

impl Default for Readout {
    /// The exact product.
    fn default() -> Self {
        Self { settings: Settings::default(), exact: true, array: Key::new(0) }
    }
}

impl Readout {
    /// Checks the settings, which must be the same for all arrays: those with a spread between lines or cells belong
    /// to [`of_array`](Self::of_array).
    pub fn new(settings: Settings) -> Result<Self, ParameterError> {
        if let Some((name, spread)) = settings.has_spread() {
            require(false, name, "zero unless the readout is made for one array", spread)?;
        }
        Self::of_array(settings, Key::new(0))
    }

    /// Checks the settings; `array` decides the fixed properties of the lines and cells of this array.
    pub fn of_array(settings: Settings, array: Key) -> Result<Self, ParameterError> {
        settings.validate()?;
        Ok(Self { settings, exact: settings == Settings::default(), array })
    }

    /// The same converters around another array, with lines and cells of its own.
    #[must_use]
    pub fn around(&self, array: Key) -> Self {
        Self { array, ..*self }
    }

    /// Whether reads are the exact product.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// The settings it was made from.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// `outputs[s] = W inputs[s]` for every sample `s` of a batch: `inputs` holds batch × columns numbers, `outputs`
    /// batch × rows.
    ///
    /// # Panics
    /// If a length does not fit the shape.
    pub fn read(
        &self,
        weights: &[f32],
        shape: Shape,
        inputs: &[f32],
        key: Key,
        outputs: &mut [f32],
        scratch: &mut Scratch,
    ) {
        check(weights, shape, [inputs.len(), shape.cols], [outputs.len(), shape.rows]);
        self.run(weights, shape, Source::Batch(inputs, ReadDirection::Forward), key, outputs, scratch);
    }

    /// `outputs[s] = Wᵀ inputs[s]`: `inputs` holds batch × rows numbers, `outputs` batch × columns.
    ///
    /// # Panics
    /// If a length does not fit the shape.
    pub fn read_transposed(
        &self,
        weights: &[f32],
        shape: Shape,
        inputs: &[f32],
        key: Key,
        outputs: &mut [f32],
        scratch: &mut Scratch,
    ) {
        check(weights, shape, [inputs.len(), shape.rows], [outputs.len(), shape.cols]);
        self.run(weights, shape, Source::Batch(inputs, ReadDirection::Transposed), key, outputs, scratch);
    }

    /// Column `column` of the weights: what [`read`](Self::read) gives for the one-hot sample with the same key, the
    /// same numbers if all weights are finite, but without touching the other columns. Input noise and voltage drop,
    /// which involve the other columns, cost a full read, and so do separate passes, output lines and phase-change noise.
    ///
    /// # Panics
    /// If a length does not fit the shape or there is no such column.
    pub fn read_column(
        &self,
        weights: &[f32],
        shape: Shape,
        column: usize,
        key: Key,
        outputs: &mut [f32],
        scratch: &mut Scratch,
    ) {
        check(weights, shape, [shape.cols; 2], [outputs.len(), shape.rows]);
        assert!(column < shape.cols, "column must be below {}, got {column}", shape.cols);
        assert_eq!(outputs.len(), shape.rows, "outputs must hold one column");
        if self.reads_columns_alone() {
            self.run(weights, shape, Source::Column(column), key, outputs, scratch);
        } else {
            let mut inputs = std::mem::take(&mut scratch.one_hot);
            inputs.clear();
            inputs.resize(shape.cols, 0.0);
            inputs[column] = 1.0;
            self.read(weights, shape, &inputs, key, outputs, scratch);
            scratch.one_hot = inputs;
        }
    }

    /// Whether nothing but the column itself decides what is read of it.
    fn reads_columns_alone(&self) -> bool {
        let s = &self.settings;
        s.input.noise == 0.0 && s.passes == Passes::One && s.output_line.is_none() && !needs_magnitudes(s)
    }

    fn run(
        &self,
        weights: &[f32],
        shape: Shape,
        source: Source<'_>,
        key: Key,
        outputs: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let to = match source {
            Source::Batch(_, to) => to,
            Source::Column(_) => ReadDirection::Forward,
        };
        let (n_in, n_out) = to.widths(shape);
        if n_in == 0 || n_out == 0 {
            outputs.fill(0.0); // A sum without terms.
            return;
        }
        let settings = &self.settings;
        let Scratch { running_scale, scales, lines, cells, magnitudes, negative_magnitudes, blocks, .. } =
            scratch;
        lines.update(settings, self.array, to, n_out);
        magnitudes.clear();
        negative_magnitudes.clear();
        if needs_magnitudes(settings) {
            magnitudes.extend(weights.iter().map(|w| w.abs()));
        }
        let weights = Weights { values: weights, magnitudes };
        let mut negative = weights;
        if settings.read_asymmetry > 0.0 {
            cells.update(settings.read_asymmetry, self.array, shape, weights.values);
            if needs_magnitudes(settings) {
                negative_magnitudes.extend(cells.weights.iter().map(|w| w.abs()));
            }
            negative = Weights { values: &cells.weights, magnitudes: negative_magnitudes };
        }
        let mut depend = None;
        if let NoiseManagement::AverageAbsMax { decay } = settings.noise_management {
            let samples = match source {
                Source::Batch(inputs, _) => inputs.chunks_exact(n_in),
                Source::Column(_) => [1.0].chunks_exact(1),
            };
            average_scales(decay, running_scale, samples, scales);
            depend = Some(scales.as_slice());
        }
        let array = Array { shape, to, weights, negative, lines };
        let read = Read { settings, exact: self.exact, array, key, scales: depend };
        read_blocks(&read, source, outputs, blocks);
    }
}

/// What an output through converters costs, in multiply–adds.
const CONVERSION: usize = 50;

/// Floats of samples, in and out, that stay in the second cache on their way through converters and array.
const IN_CACHE: usize = 32 << 10;
/// Blocks of many samples begin at multiples of this: then no tile of a product is cut and no stream of noise drawn twice.
const WHOLE: usize = 24;

/// Splits the work among threads if that pays: the samples if there are many, otherwise the outputs of all samples.
fn read_blocks(read: &Read<'_>, source: Source<'_>, outputs: &mut [f32], blocks: &mut Vec<Block>) {
    let (n_in, n_out) = read.array.to.widths(read.array.shape);
    let batch = outputs.len() / n_out;
    // An output through converters takes as long as so many multiply–adds.
    let exact = read.exact;
    let converters = if exact { 0 } else { CONVERSION };
    let work = batch * n_out * (n_in + converters);
    let threads = threads::worth(work);
    // Weights that are more than the samples stay with the thread that has them.
    let share_samples = threads > 1 && batch >= threads * REPAYS_WEIGHTS && !(exact && n_out > batch);
    let block = match batch.div_ceil(threads) {
        _ if !share_samples => batch,
        few if few < 4 * WHOLE => few,
        many => many.next_multiple_of(WHOLE),
    }
    .max(1);
    // Enough samples that passing over the weights for each block costs little.
    let passed_over = IN_CACHE.max(2 * read.array.weights.values.len());
    let few = if exact { block } else { (passed_over / (n_in + n_out)).max(1).next_multiple_of(WHOLE) };
    blocks.resize_with(blocks.len().max(batch.div_ceil(block)), Block::default);
    let in_cache = |first: usize, inputs: &[f32], to, outputs: &mut [f32], memory: &mut Block| {
        let parts = outputs.chunks_mut(few * n_out).zip(inputs.chunks(few * n_in));
        for (k, (outputs, inputs)) in parts.enumerate() {
            read.run(Source::Batch(inputs, to), first + k * few, outputs, memory);
        }
    };
    match source {
        Source::Batch(inputs, to) if block < batch => {
            let samples = outputs.par_chunks_mut(block * n_out).zip(inputs.par_chunks(block * n_in));
            threads::each(threads, samples.zip(blocks).enumerate(), |(k, ((outputs, inputs), memory))| {
                memory.share(1);
                in_cache(k * block, inputs, to, outputs, memory);
            });
        }
        _ => {
            let Some(memory) = blocks.first_mut() else { return };
            memory.share(threads);
            match source {
                Source::Batch(inputs, to) => in_cache(0, inputs, to, outputs, memory),
                Source::Column(_) => read.run(source, 0, outputs, memory),
            }
        }
    }
}

fn check(weights: &[f32], shape: Shape, inputs: [usize; 2], outputs: [usize; 2]) {
    let Shape { rows, cols } = shape;
    assert_eq!(weights.len(), rows * cols, "weights must hold {rows} × {cols} numbers");
    let [given_in, n_in] = inputs;
    let [given_out, n_out] = outputs;
    assert_eq!(
        given_in * n_out,
        given_out * n_in,
        "inputs and outputs must hold batch × {n_in} and batch × {n_out}"
    );
    assert!(
        n_in == 0 || given_in.is_multiple_of(n_in),
        "inputs must hold batch × {n_in} numbers, got {given_in}"
    );
}
