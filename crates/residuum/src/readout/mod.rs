//! Analog reads: products with the weights of an array through its converters.
//!
//! A [`Readout`] turns a batch of digital samples into voltages, lets the array multiply, and digitizes the sums:
//!
//! ```text
//! sample / scale → round, clip → + noise → W · → + noise → round, clip → · scale
//! ```
//!
//! Every imperfection is off unless [`Settings`] names it; the default gives the exact product. Reads take `&self`
//! and a [`Key`]: the noise of an output depends on the key, the sample and the line, never on threads, on the rest of
//! the batch or on which samples bound management repeats.
//!
//! A NaN in a sample or in the weights is never turned into a number: every output that depends on it is NaN, and so
//! is every output of the sample if it was the sample that held it. An infinite entry is clipped to the input bound if
//! there is one and noise management does not look at it, as a converter does; otherwise its sample reads as infinite or NaN.
//!
//! Left out of AIHWKIT's list: average-abs-max noise management (it remembers earlier samples, while a read takes
//! `&self`), shift bound management, device-to-device spread of the readout (voltage offsets, output noise, output
//! non-linearity, asymmetric weights), series resistance, separate passes for the two signs.
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

mod convert;
mod product;
mod settings;

pub use settings::{BoundManagement, Converter, IrDrop, NoiseManagement, Settings};

use convert::{Bank, Digitize, Drive, LargestMagnitude, Pending, Streams, drive_one};
use product::{Direction, product};

use crate::simd;
use crate::{Key, ParameterError};

/// Rows (outputs of a forward read) and columns (inputs) of a weight matrix stored row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
}

/// Memory that reads reuse. Any scratch serves any readout and shape; it grows to the largest batch it has seen.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pending: Vec<Pending>,
    clipped: Vec<Pending>,
    one_hot: Vec<f32>,
    driven: Vec<f32>,
    norms: Vec<f32>,
    sums: Vec<f32>,
    magnitudes: Vec<f32>,
    currents: Vec<f32>,
    drops: Vec<f32>,
    panel: Vec<f32>,
}

/// Converters and their noise around an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Readout {
    settings: Settings,
}

/// What is multiplied.
#[derive(Clone, Copy)]
enum Source<'a> {
    Batch { inputs: &'a [f32], to: Direction },
    Column(usize),
}

impl Default for Readout {
    /// The exact product.
    fn default() -> Self {
        Self { settings: Settings::default() }
    }
}

impl Readout {
    /// Checks the settings.
    pub fn new(settings: Settings) -> Result<Self, ParameterError> {
        settings.validate()?;
        Ok(Self { settings })
    }

    /// What it was made from.
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
        self.run(weights, shape, Source::Batch { inputs, to: Direction::Forward }, key, outputs, scratch);
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
        self.run(weights, shape, Source::Batch { inputs, to: Direction::Transposed }, key, outputs, scratch);
    }

    /// Column `column` of the weights: what [`read`](Self::read) gives for the one-hot sample with the same key, the
    /// same numbers if all weights are finite, but without touching the other columns. Only input noise and voltage drop,
    /// which involve the other columns, cost a full read.
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
        if self.settings.input.noise > 0.0 || self.settings.ir_drop.is_some() {
            let mut inputs = std::mem::take(&mut scratch.one_hot);
            inputs.clear();
            inputs.resize(shape.cols, 0.0);
            inputs[column] = 1.0;
            self.read(weights, shape, &inputs, key, outputs, scratch);
            scratch.one_hot = inputs;
        } else {
            self.run(weights, shape, Source::Column(column), key, outputs, scratch);
        }
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
        if let (true, Source::Batch { inputs, to }) = (self.settings == Settings::default(), source) {
            product(weights, shape, to, inputs, outputs, &mut scratch.panel);
            return;
        }
        let (n_in, n_out) = match source {
            Source::Batch { to: Direction::Transposed, .. } => (shape.rows, shape.cols),
            _ => (shape.cols, shape.rows),
        };
        if n_in == 0 || n_out == 0 {
            outputs.fill(0.0); // A sum without terms.
            return;
        }
        let sample = |s: usize| match source {
            Source::Batch { inputs, .. } => &inputs[s * n_in..][..n_in],
            Source::Column(_) => &[1.0], // The zeros of a one-hot sample change no maximum and no sum.
        };
        let (input, output) = (Bank::new(&self.settings.input), Bank::new(&self.settings.output));
        let weight_key = key.named("weights");

        scratch.pending.clear();
        for (s, out) in outputs.chunks_exact_mut(n_out).enumerate() {
            match self.scale(self.settings.noise_management, sample(s)) {
                Some(scale) => scratch.pending.push(Pending { sample: s, scale }),
                None => out.fill(0.0),
            }
        }
        let mut factor = 1;
        for round in 0.. {
            let count = scratch.pending.len();
            let streams = Streams::new(key.named("input"), round);
            // Every entry is overwritten below: only the lengths matter.
            scratch.norms.resize(count, 0.0);
            scratch.sums.resize(count * n_out, 0.0);
            match source {
                Source::Batch { inputs, to } => {
                    scratch.driven.resize(count * n_in, 0.0);
                    simd::dispatch(Drive {
                        bank: input,
                        streams,
                        pending: &scratch.pending,
                        inputs,
                        width: n_in,
                        driven: &mut scratch.driven,
                        with_norms: self.settings.weight_noise > 0.0,
                        norms: &mut scratch.norms,
                    });
                    product(weights, shape, to, &scratch.driven, &mut scratch.sums, &mut scratch.panel);
                    if let Some(drop) = self.settings.ir_drop {
                        apply_drop(drop, weights, shape, to, n_in, scratch);
                    }
                }
                Source::Column(column) => {
                    for (k, p) in scratch.pending.iter().enumerate() {
                        let voltage = drive_one(input, streams, *p, column);
                        scratch.norms[k] = voltage.abs();
                        let cells = weights[column..].iter().step_by(shape.cols);
                        for (sum, w) in scratch.sums[k * n_out..].iter_mut().zip(cells) {
                            *sum = voltage * w;
                        }
                    }
                }
            }
            scratch.clipped.clear();
            simd::dispatch(Digitize {
                bank: output,
                streams: Streams::new(key.named("output"), round),
                weight_noise: self.settings.weight_noise as f32,
                weight_key,
                pending: &scratch.pending,
                norms: &scratch.norms,
                sums: &scratch.sums,
                width: n_out,
                outputs,
                clipped: &mut scratch.clipped,
            });
            if scratch.clipped.is_empty() {
                return;
            }
            // Only the clipped samples are read again, with a smaller input.
            std::mem::swap(&mut scratch.pending, &mut scratch.clipped);
            let max_factor = match self.settings.bound_management {
                BoundManagement::None => return,
                BoundManagement::IterativeWorstCase { max_factor, assumed_weight } if round == 0 => {
                    let worst = NoiseManagement::AbsMaxSum { assumed_weight, max_factor: max_factor.into() };
                    for p in &mut scratch.pending {
                        p.scale = self.scale(worst, sample(p.sample)).unwrap_or(p.scale);
                    }
                    continue;
                }
                BoundManagement::Iterative { max_factor }
                | BoundManagement::IterativeWorstCase { max_factor, .. } => max_factor,
            };
            factor *= 2;
            if factor > max_factor {
                return;
            }
            for p in &mut scratch.pending {
                p.scale *= 2.0;
            }
        }
    }

    /// What a sample is divided by; `None` if there is nothing to read, so that the answer is zero without reading.
    fn scale(&self, management: NoiseManagement, sample: &[f32]) -> Option<f32> {
        let largest = simd::dispatch(LargestMagnitude(sample));
        let capped = |value: f32, ceiling: Option<f64>| ceiling.map_or(value, |c| value.min(c as f32));
        let scale = match management {
            NoiseManagement::None => return Some(1.0),
            NoiseManagement::Constant { scale } => return Some(scale as f32),
            // `min` and `max` would lose it.
            _ if largest.is_nan() => return Some(f32::NAN),
            NoiseManagement::AbsMax { ceiling } => capped(largest, ceiling),
            NoiseManagement::Max { ceiling } => {
                capped(sample.iter().copied().fold(f32::NEG_INFINITY, f32::max), ceiling)
            }
            NoiseManagement::AbsMaxSum { assumed_weight, max_factor } => {
                let positive: f32 = sample.iter().map(|v| v.max(0.0)).sum();
                let negative: f32 = sample.iter().map(|v| (-v).max(0.0)).sum();
                let bound = self.settings.output.bound.unwrap_or(1.0);
                let worst = positive.max(negative) * (assumed_weight / bound) as f32;
                largest.max(worst.min(largest * max_factor as f32))
            }
        };
        if scale > 0.0 {
            Some(scale)
        } else {
            // Noisy inputs drive the array even when the sample is zero.
            (self.settings.input.noise > 0.0).then_some(1.0)
        }
    }
}

/// Takes the voltage drop along the output lines from the sums.
fn apply_drop(drop: IrDrop, weights: &[f32], shape: Shape, to: Direction, n_in: usize, scratch: &mut Scratch) {
    let Scratch { driven, sums, magnitudes, currents, drops, panel, .. } = scratch;
    // |W|, and behind it room for the inputs in the two forms that the formula wants.
    magnitudes.clear();
    magnitudes.extend(weights.iter().map(|w| w.abs()));
    magnitudes.extend(driven.iter().map(|x| x.abs()));
    let (weight_magnitudes, shaped) = magnitudes.split_at_mut(weights.len());
    currents.resize(sums.len(), 0.0);
    product(weight_magnitudes, shape, to, shaped, currents, panel);
    for (row, x) in shaped.chunks_exact_mut(n_in).zip(driven.chunks_exact(n_in)) {
        for j in 0..n_in {
            let distance = 1.0 - j as f32 / n_in as f32;
            row[j] = x[j] * (1.0 - distance * distance);
        }
    }
    drops.resize(sums.len(), 0.0);
    product(weights, shape, to, shaped, drops, panel);
    let load = n_in as f32 / drop.conductance_ratio as f32;
    for ((sum, current), lost) in sums.iter_mut().zip(currents).zip(drops) {
        let a = load * *current;
        *sum -= drop.strength as f32 * (a * (a * (0.05 * a - 0.2) + 0.5)) * *lost;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_read_of_the_same_size_allocates_nothing() {
        let shape = Shape { rows: 5, cols: 9 };
        let mut settings = Settings::aihwkit();
        settings.output.bound = Some(1.0);
        settings.ir_drop = Some(IrDrop { strength: 1.0, conductance_ratio: 1e4 });
        let readout = Readout::new(settings).unwrap();
        let (weights, inputs) = (vec![0.4; 45], vec![0.7; 27]);
        let mut scratch = Scratch::default();
        let capacities = |s: &Scratch| {
            let floats = [&s.one_hot, &s.driven, &s.norms, &s.sums, &s.magnitudes, &s.currents, &s.drops];
            (floats.map(|v| v.capacity()), s.pending.capacity(), s.clipped.capacity())
        };
        let read_all = |key: Key, scratch: &mut Scratch| {
            readout.read(&weights, shape, &inputs, key, &mut [0.0; 15], scratch);
            readout.read_transposed(&weights, shape, &inputs[..15], key, &mut [0.0; 27], scratch);
            readout.read_column(&weights, shape, 3, key, &mut [0.0; 5], scratch);
            capacities(scratch)
        };
        let first = read_all(Key::new(1), &mut scratch);
        assert!(first.0.iter().all(|&c| c > 0), "the settings use every buffer: {first:?}");
        for k in 2..9 {
            assert_eq!(read_all(Key::new(k), &mut scratch), first);
        }
    }
}
