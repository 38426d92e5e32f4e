//! What happens between the digital numbers and the array: scaling, rounding, clipping and noise, sample by sample.
//!
//! Both banks work through chunks of [`CHUNK`] lines. The random numbers of a line depend on the key, the sample, the
//! round of bound management and the line, so it does not matter which samples are read together.

use super::settings::Converter;
use crate::Key;
use crate::normal32::{CHUNK, centered_uniforms, normals};
use crate::simd::Kernel;

/// A sample on its way through the array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// Its place in the batch.
    pub sample: usize,
    /// What it is divided by before conversion and multiplied by afterwards.
    pub scale: f32,
}

/// The streams of one bank in one round of bound management.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streams {
    noise: Key,
    rounding: Key,
    round: u64,
}

impl Streams {
    pub fn new(bank: Key, round: u64) -> Self {
        Self { noise: bank.named("noise"), rounding: bank.named("rounding"), round }
    }

    #[inline(always)]
    fn of_sample(self, sample: usize) -> Self {
        let child = |key: Key| key.fold(sample as u64).fold(self.round);
        Self { noise: child(self.noise), rounding: child(self.rounding), round: self.round }
    }
}

/// A [`Converter`] in the numbers its loops use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bank {
    bound: f32,
    step: Option<f32>,
    stochastic: bool,
    pub noise: f32,
    kept: f32,
}

impl Bank {
    pub fn new(converter: &Converter) -> Self {
        let bound = converter.bound.unwrap_or(f64::INFINITY);
        Self {
            bound: bound as f32,
            step: converter.steps.map(|n| (2.0 * bound / f64::from(n)) as f32),
            stochastic: converter.stochastic,
            noise: converter.noise as f32,
            kept: (1.0 - converter.negative_loss) as f32,
        }
    }

    /// One chunk of digital inputs becomes voltages: rounded, clipped, then noisy.
    #[inline(always)]
    pub fn drive(&self, values: &mut [f32; CHUNK], scale: f32, streams: Streams, chunk: u64) {
        let inverse = scale.recip();
        if inverse.is_finite() {
            for v in values.iter_mut() {
                *v *= inverse;
            }
        } else {
            // A subnormal scale has no inverse, yet its quotients are sound.
            for v in values.iter_mut() {
                *v /= scale;
            }
        }
        self.round(values, streams, chunk);
        for v in values.iter_mut() {
            *v = v.clamp(-self.bound, self.bound);
        }
        add_noise(values, self.noise, streams.noise, chunk);
        self.lose(values);
    }

    /// One chunk of analog sums becomes digital outputs: noisy, then rounded and clipped. Returns whether any of the
    /// first `lines` passed the bound; a last chunk has no lines beyond them.
    #[inline(always)]
    fn digitize(
        &self,
        values: &mut [f32; CHUNK],
        lines: usize,
        scale: f32,
        streams: Streams,
        chunk: u64,
    ) -> bool {
        self.lose(values);
        add_noise(values, self.noise, streams.noise, chunk);
        self.round(values, streams, chunk);
        let mut clipped = 0;
        for v in &mut values[..lines] {
            clipped |= u32::from(v.abs() > self.bound);
            *v = v.clamp(-self.bound, self.bound) * scale;
        }
        clipped != 0
    }

    #[inline(always)]
    fn round(&self, values: &mut [f32; CHUNK], streams: Streams, chunk: u64) {
        let Some(step) = self.step else { return };
        let steps = step.recip();
        if self.stochastic {
            let offsets = centered_uniforms(streams.rounding, chunk);
            for (v, u) in values.iter_mut().zip(offsets) {
                *v = (*v * steps + u).round_ties_even() * step;
            }
        } else {
            for v in values.iter_mut() {
                *v = (*v * steps).round_ties_even() * step;
            }
        }
    }

    #[inline(always)]
    fn lose(&self, values: &mut [f32; CHUNK]) {
        if self.kept < 1.0 {
            for v in values.iter_mut() {
                *v = if *v < 0.0 { *v * self.kept } else { *v };
            }
        }
    }
}

#[inline(always)]
fn add_noise(values: &mut [f32; CHUNK], deviation: f32, key: Key, chunk: u64) {
    if deviation > 0.0 {
        let draws = normals(key, chunk);
        for (v, n) in values.iter_mut().zip(draws) {
            *v += deviation * n;
        }
    }
}

/// The largest magnitude, NaN if any entry is: the bit patterns of magnitudes are ordered as the numbers are, with NaN
/// above all, and the maximum of integers is one instruction for many.
pub(super) struct LargestMagnitude<'a>(pub &'a [f32]);

impl Kernel for LargestMagnitude<'_> {
    type Output = f32;

    #[inline(always)]
    fn run(self) -> f32 {
        f32::from_bits(self.0.iter().fold(0, |largest: u32, v| largest.max(v.abs().to_bits())))
    }
}

/// Drives the pending samples: fills `driven` with their voltages, one after another, and, if asked,
/// `norms` with the Euclidean norm of each.
pub(super) struct Drive<'a> {
    pub bank: Bank,
    pub streams: Streams,
    pub pending: &'a [Pending],
    pub inputs: &'a [f32],
    pub width: usize,
    pub driven: &'a mut [f32],
    pub with_norms: bool,
    pub norms: &'a mut [f32],
}

impl Kernel for Drive<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.driven.chunks_exact_mut(self.width);
        for ((p, driven), norm) in self.pending.iter().zip(rows).zip(self.norms) {
            let streams = self.streams.of_sample(p.sample);
            let input = &self.inputs[p.sample * self.width..][..self.width];
            let mut squares = [0.0f32; CHUNK];
            for (chunk, (from, to)) in input.chunks(CHUNK).zip(driven.chunks_mut(CHUNK)).enumerate() {
                let mut values = [0.0; CHUNK];
                values[..from.len()].copy_from_slice(from);
                self.bank.drive(&mut values, p.scale, streams, chunk as u64);
                to.copy_from_slice(&values[..from.len()]);
                if self.with_norms {
                    for (square, v) in squares.iter_mut().zip(to) {
                        *square += *v * *v;
                    }
                }
            }
            if self.with_norms {
                *norm = squares.iter().sum::<f32>().sqrt();
            }
        }
    }
}

/// Drives line `line` alone, with 1, as [`Drive`] would in a one-hot sample: the voltage of that line.
pub(super) fn drive_one(bank: Bank, streams: Streams, pending: Pending, line: usize) -> f32 {
    let mut values = [0.0; CHUNK];
    values[line % CHUNK] = 1.0;
    let streams = streams.of_sample(pending.sample);
    bank.drive(&mut values, pending.scale, streams, (line / CHUNK) as u64);
    values[line % CHUNK]
}

/// Digitizes the sums of the pending samples into their places in `outputs`; `clipped` receives those that passed the
/// bound.
pub(super) struct Digitize<'a> {
    pub bank: Bank,
    pub streams: Streams,
    pub weight_noise: f32,
    pub weight_key: Key,
    pub pending: &'a [Pending],
    pub norms: &'a [f32],
    pub sums: &'a [f32],
    pub width: usize,
    pub outputs: &'a mut [f32],
    pub clipped: &'a mut Vec<Pending>,
}

impl Kernel for Digitize<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.sums.chunks_exact(self.width);
        for ((p, sums), norm) in self.pending.iter().zip(rows).zip(self.norms) {
            let streams = self.streams.of_sample(p.sample);
            let weight_key = self.weight_key.fold(p.sample as u64).fold(self.streams.round);
            let outputs = &mut self.outputs[p.sample * self.width..][..self.width];
            let mut clipped = false;
            for (chunk, (from, to)) in sums.chunks(CHUNK).zip(outputs.chunks_mut(CHUNK)).enumerate() {
                let chunk = chunk as u64;
                let mut values = [0.0; CHUNK];
                values[..from.len()].copy_from_slice(from);
                if self.weight_noise > 0.0 {
                    add_noise(&mut values, self.weight_noise * norm, weight_key, chunk);
                }
                clipped |= self.bank.digitize(&mut values, from.len(), p.scale, streams, chunk);
                to.copy_from_slice(&values[..from.len()]);
            }
            if clipped {
                self.clipped.push(*p);
            }
        }
    }
}
