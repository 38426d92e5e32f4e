//! A block of samples, read through converters and array until bound management is satisfied.
//!
//! Nothing that a sample meets depends on the others of its block, so a batch may be split anywhere and run on any thread.

use super::analog::{self, Array, Weights, pass};
use super::convert::{Bank, Digitize, Drive, DriveOne, Pending, Streams};
use super::product::{ReadDirection, product};
use super::settings::{BoundManagement, NoiseManagement, Passes, Settings};
use crate::Key;
use crate::simd::{self, LargestMagnitude, LargestMagnitudes};

/// The input of a product.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// Consecutive samples, driven in this direction.
    Batch(&'a [f32], ReadDirection),
    /// The one-hot sample of this line.
    Column(usize),
}

/// Buffers of one block.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    /// The largest magnitude of each sample, where scales depend on it.
    largest: Vec<f32>,
    pending: Vec<Pending>,
    clipped: Vec<bool>,
    driven: Vec<f32>,
    one_sign: Vec<f32>,
    sums: Vec<f32>,
    negative_sums: Vec<f32>,
    analog: analog::Scratch,
}

impl Block {
    /// Lets threads share the outputs of its samples.
    pub fn share(&mut self, threads: usize) {
        self.analog.workspace().threads = threads;
    }

    /// What its buffers hold without another allocation.
    pub(crate) fn capacities(&self) -> [usize; 7] {
        let [a, b, g] = [self.pending.capacity(), self.clipped.capacity(), self.largest.capacity()];
        let [c, d, e, f] =
            [&self.driven, &self.one_sign, &self.sums, &self.negative_sums].map(|v| v.capacity());
        [a, b, c, d, e, f, g]
    }
}

/// What all blocks of a read share.
pub(super) struct Read<'a> {
    pub settings: &'a Settings,
    /// Whether they are those of the exact product.
    pub exact: bool,
    pub array: Array<'a>,
    pub key: Key,
    /// The scales of all samples if they depend on each other.
    pub scales: Option<&'a [f32]>,
}

impl Read<'_> {
    /// Reads the samples of `source`, which start at `first` in the batch.
    pub fn run(&self, source: Source<'_>, first: usize, outputs: &mut [f32], block: &mut Block) {
        let (n_in, n_out) = self.array.to.widths(self.array.shape);
        if let (Source::Batch(inputs, to), true) = (source, self.exact) {
            let Array { shape, weights, .. } = self.array;
            return product(weights.values, shape, to, inputs, outputs, block.analog.workspace());
        }
        let sample = |s: usize| match source {
            Source::Batch(inputs, _) => &inputs[s * n_in..][..n_in],
            Source::Column(_) => &[1.0], // The zeros of a one-hot sample change no maximum and no sum.
        };
        block.largest.clear();
        if self.scales.is_none() && self.settings.looks_at_samples() {
            match source {
                Source::Batch(samples, _) => {
                    block.largest.resize(outputs.len() / n_out, 0.0);
                    simd::dispatch(LargestMagnitudes { samples, width: n_in, out: &mut block.largest });
                }
                Source::Column(_) => block.largest.push(1.0),
            }
        }
        block.pending.clear();
        for (s, out) in outputs.chunks_exact_mut(n_out).enumerate() {
            let scale = match self.scales {
                Some(scales) => self.usable(scales[first + s]),
                None => {
                    let largest = block.largest.get(s).copied().unwrap_or(1.0);
                    self.scale(self.settings.noise_management, sample(s), largest)
                }
            };
            match scale {
                Some(scale) => block.pending.push(Pending { sample: s, scale }),
                None => out.fill(0.0),
            }
        }
        let mut factor = 1;
        for round in 0.. {
            block.clipped.clear();
            block.clipped.resize(block.pending.len(), false);
            self.round(source, first, round, outputs, block);
            // Only the clipped samples are read again, with a smaller input.
            let mut clipped = block.clipped.iter();
            block.pending.retain(|_| clipped.next().copied().unwrap_or(false));
            if block.pending.is_empty() {
                return;
            }
            let max_factor = match self.settings.bound_management {
                BoundManagement::None => return,
                BoundManagement::IterativeWorstCase { max_factor, assumed_weight } if round == 0 => {
                    let worst = NoiseManagement::AbsMaxSum { assumed_weight, max_factor: max_factor.into() };
                    for p in &mut block.pending {
                        let sample = sample(p.sample);
                        let largest = simd::dispatch(LargestMagnitude(sample));
                        p.scale = self.scale(worst, sample, largest).unwrap_or(p.scale);
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
            for p in &mut block.pending {
                p.scale *= 2.0;
            }
        }
    }

    /// Drives, multiplies and digitizes the pending samples once.
    fn round(&self, source: Source<'_>, first: usize, round: u64, outputs: &mut [f32], block: &mut Block) {
        let Self { settings, array, key, .. } = self;
        let (n_in, n_out) = array.to.widths(array.shape);
        let Block { pending, clipped, driven, one_sign, sums, negative_sums, analog, .. } = block;
        let bank = Bank::new(&settings.input);
        let streams = Streams::new(key.named("input"), first, round);
        let weight_noise = |name: &str| {
            let (key, pending) = (key.named(name), &*pending);
            move |k: usize| key.fold((first + pending[k].sample) as u64).fold(round)
        };
        let mut digitize = |sums: &[f32], name: &str, adds: bool| {
            simd::dispatch(Digitize {
                bank: Bank::new(&settings.output),
                lines: array.lines,
                streams: Streams::new(key.named(name), first, round),
                pending,
                sums,
                width: n_out,
                outputs,
                adds,
                clipped,
            });
        };
        let sums = room(sums, pending.len() * n_out);
        let inputs = match source {
            Source::Batch(inputs, _) => inputs,
            Source::Column(line) => {
                one_sign.clear();
                for (p, sums) in pending.iter().zip(sums.chunks_exact_mut(n_out)) {
                    let voltage = simd::dispatch(DriveOne { bank, streams, pending: *p, line });
                    let cells = array.weights.values[line..].iter().step_by(array.shape.cols);
                    sums.iter_mut().zip(cells).for_each(|(sum, w)| *sum = voltage * w);
                    one_sign.push(voltage);
                }
                analog::add_constant_noise(settings, one_sign, sums, n_out, weight_noise("weights"));
                return digitize(sums, "output", false);
            }
        };
        let driven = room(driven, pending.len() * n_in);
        simd::dispatch(Drive { bank, streams, pending, inputs, width: n_in, driven });
        let pass = |weights: Weights<'_>, driven: &[f32], sums: &mut [f32], analog: &mut _, name: &str| {
            pass(settings, array, weights, driven, sums, analog, weight_noise(name));
        };
        if settings.passes == Passes::One {
            pass(array.weights, driven, sums, analog, "weights");
            return digitize(sums, "output", false);
        }
        let negative_sums = room(negative_sums, sums.len());
        one_sign.clear();
        one_sign.extend(driven.iter().map(|&v| if v < 0.0 { v } else { 0.0 }));
        pass(array.negative, one_sign, negative_sums, analog, "weights under negative inputs");
        one_sign.clear();
        // NaN counts as positive, so that it is not lost.
        one_sign.extend(driven.iter().map(|&v| if v < 0.0 { 0.0 } else { v }));
        pass(array.weights, one_sign, sums, analog, "weights");
        if settings.passes == Passes::SignsAnalog {
            sums.iter_mut().zip(negative_sums).for_each(|(sum, negative)| *sum += *negative);
            digitize(sums, "output", false);
        } else {
            digitize(sums, "output", false);
            digitize(negative_sums, "output of negative inputs", true);
        }
    }

    /// What a sample with this largest magnitude is divided by; `None` if there is nothing to read, so that the answer is zero
    /// without reading.
    fn scale(&self, management: NoiseManagement, sample: &[f32], largest: f32) -> Option<f32> {
        let capped = |value: f32, ceiling: Option<f64>| ceiling.map_or(value, |c| value.min(c as f32));
        self.usable(match management {
            NoiseManagement::None => return Some(1.0),
            NoiseManagement::Constant { scale } => return Some(scale as f32),
            // `min` and `max` would lose it.
            _ if largest.is_nan() => largest,
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
            NoiseManagement::AbsMax { ceiling } => capped(largest, ceiling),
            _ => largest,
        })
    }

    fn usable(&self, scale: f32) -> Option<f32> {
        // Noisy inputs drive the array even when the sample is zero.
        let zero = (self.settings.input.noise > 0.0).then_some(1.0);
        if scale > 0.0 || scale.is_nan() { Some(scale) } else { zero }
    }
}

/// The first `n` entries of a buffer, every one of which will be overwritten. It only grows: to shorten it means to fill it again.
fn room(buffer: &mut Vec<f32>, n: usize) -> &mut [f32] {
    if buffer.len() < n {
        buffer.resize(n, 0.0);
    }
    &mut buffer[..n]
}

/// The scales of [`NoiseManagement::AverageAbsMax`], one sample after another, and what the average becomes. A sample
/// that is not finite gets its own magnitude and leaves no trace in the average.
pub(super) fn average_scales(
    decay: f64,
    average: &mut Option<f32>,
    samples: std::slice::ChunksExact<'_, f32>,
    scales: &mut Vec<f32>,
) {
    let decay = decay as f32;
    scales.clear();
    scales.extend(samples.map(|sample| {
        let largest = simd::dispatch(LargestMagnitude(sample));
        if !largest.is_finite() {
            return largest;
        }
        let new = average.map_or(largest, |m| (1.0 - decay) * m + decay * largest);
        *average.insert(new)
    }));
}
