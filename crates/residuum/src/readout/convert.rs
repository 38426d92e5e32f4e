//! Conversion between digital numbers and the array: scaling, rounding, clipping and noise, sample by sample.
//!
//! Both banks work through chunks of [`CHUNK`] lines. The random numbers of a line depend on the key, the sample, the
//! round of bound management and the line, so it does not matter which samples are read together.

use super::lines::Lines;
use super::noise::OutputNoise;
use super::settings::Converter;
use crate::Key;
use crate::normal32::{CHUNK, PAIRS, centered_uniforms, first_normals, normals};
use crate::simd::Kernel;
use crate::stream;

/// A sample being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// Its index in the block.
    pub sample: usize,
    /// What it is divided by before conversion and multiplied by afterwards.
    pub scale: f32,
}

/// The streams of one bank in one round of bound management, for a block whose samples start at `first` in the batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streams {
    pub noise: Key,
    rounding: Key,
    pub first: usize,
    pub round: u64,
}

impl Streams {
    pub fn new(bank: Key, first: usize, round: u64) -> Self {
        Self { noise: bank.named("noise"), rounding: bank.named("rounding"), first, round }
    }

    /// The streams of one sample; a stream that is never read is left unchanged.
    #[inline(always)]
    fn of_sample(self, sample: usize, noisy: bool, stochastic: bool) -> Self {
        let child = |key: Key, read: bool| {
            if read { key.fold((self.first + sample) as u64).fold(self.round) } else { key }
        };
        Self { noise: child(self.noise, noisy), rounding: child(self.rounding, stochastic), ..self }
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

    /// The step and how many of them lie on either side of 0, where every output is a whole number of them that 16 bits hold.
    #[inline(always)]
    pub fn whole_steps(&self) -> Option<(f32, f32)> {
        let step = self.step?;
        let most = (self.bound / step).round_ties_even();
        let whole = (most * step - self.bound).abs() <= 1e-6 * self.bound;
        (whole && most <= f32::from(i16::MAX)).then_some((step, most))
    }

    /// One chunk of digital inputs becomes voltages: rounded, clipped, then noisy.
    #[inline(always)]
    pub fn drive<const N: usize>(&self, values: &mut [f32; N], scale: f32, streams: Streams, chunk: u64) {
        let inverse = scale.recip();
        if inverse.is_finite() {
            for v in values.iter_mut() {
                *v *= inverse;
            }
        } else {
            // A subnormal scale has no inverse, but division by it is fine.
            for v in values.iter_mut() {
                *v /= scale;
            }
        }
        self.round(values, streams.rounding, chunk);
        for v in values.iter_mut() {
            *v = v.clamp(-self.bound, self.bound);
        }
        if self.noise > 0.0 {
            if N <= PAIRS {
                add_scaled(values, self.noise, &first_normals::<PAIRS>(streams.noise, chunk));
            } else {
                add_scaled(values, self.noise, &normals(streams.noise, chunk));
            }
        }
        self.attenuate_negative(values);
    }

    /// Whether nothing is drawn for a conversion but noise, and both signs are treated alike.
    fn is_plain(&self) -> bool {
        !self.stochastic && self.kept >= 1.0
    }

    /// [`drive`](Self::drive) for plain converters without noise, along a whole sample of at least [`VECTOR`] inputs; `false` if the
    /// scale has no inverse.
    #[inline(always)]
    fn drive_plain(&self, from: &[f32], to: &mut [f32], scale: f32) -> bool {
        let (inverse, bound) = (scale.recip(), self.bound);
        if !inverse.is_finite() {
            return false;
        }
        match self.step {
            Some(step) => {
                let steps = step.recip();
                map_vectors(
                    from,
                    to,
                    #[inline(always)]
                    |v| ((v * inverse * steps).round_ties_even() * step).clamp(-bound, bound),
                );
            }
            None => map_vectors(
                from,
                to,
                #[inline(always)]
                |v| (v * inverse).clamp(-bound, bound),
            ),
        }
        true
    }

    /// [`digitize`](Self::digitize) for plain converters and lines, whose noise is `xi`.
    #[inline(always)]
    fn digitize_plain<const N: usize>(&self, sums: &[f32], xi: &[f32; N], scale: f32, to: &mut [f32]) -> bool {
        let mut values = load::<N>(sums);
        if self.noise > 0.0 {
            add_scaled(&mut values, self.noise, xi);
        }
        if let Some(step) = self.step {
            let steps = step.recip();
            for v in &mut values {
                *v = (*v * steps).round_ties_even() * step;
            }
        }
        let passed = self.clip(&mut values, sums.len(), scale);
        store(&values, to);
        passed
    }

    /// Up to `N` analog sums become digital outputs: noisy, then rounded and clipped. Returns whether any of the first
    /// `width` passed the bound; there are no lines beyond them.
    #[inline(always)]
    fn digitize<const N: usize>(
        &self,
        values: &mut [f32; N],
        width: usize,
        lines: &Lines,
        scale: f32,
        noise: &mut OutputNoise,
        (rounding, chunk): (Key, usize),
    ) -> bool {
        apply_characteristic(values, lines, chunk);
        self.attenuate_negative(values);
        if !lines.noise.is_empty() {
            let deviations = &lines.noise[chunk * CHUNK..];
            for ((v, n), deviation) in values.iter_mut().zip(noise.next::<N>()).zip(deviations) {
                *v = n.mul_add(*deviation, *v);
            }
        } else if self.noise > 0.0 {
            add_scaled(values, self.noise, &noise.next::<N>());
        }
        self.round(values, rounding, chunk as u64);
        self.clip(values, width, scale)
    }

    /// Clips and scales the first `width` values; whether any of them passed the bound.
    #[inline(always)]
    fn clip<const N: usize>(&self, values: &mut [f32; N], width: usize, scale: f32) -> bool {
        let mut clipped = 0;
        let mut convert = |v: &mut f32| {
            clipped |= u32::from(v.abs() > self.bound);
            *v = v.clamp(-self.bound, self.bound) * scale;
        };
        // A loop whose length the compiler knows, where it can be had.
        if width == N {
            values.iter_mut().for_each(&mut convert);
        } else {
            values[..width].iter_mut().for_each(&mut convert);
        }
        clipped != 0
    }

    /// Rounds to the nearest step, clips, and scales.
    #[inline(always)]
    pub fn convert(&self, values: &mut [f32], scale: f32) {
        if let Some(step) = self.step {
            let steps = step.recip();
            for v in values.iter_mut() {
                *v = (*v * steps).round_ties_even() * step;
            }
        }
        for v in values.iter_mut() {
            *v = v.clamp(-self.bound, self.bound) * scale;
        }
    }

    #[inline(always)]
    fn round<const N: usize>(&self, values: &mut [f32; N], rounding: Key, chunk: u64) {
        let Some(step) = self.step else { return };
        let steps = step.recip();
        if self.stochastic {
            let offsets = centered_uniforms(rounding, chunk);
            for (v, u) in values.iter_mut().zip(offsets) {
                *v = v.mul_add(steps, u).round_ties_even() * step;
            }
        } else {
            for v in values.iter_mut() {
                *v = (*v * steps).round_ties_even() * step;
            }
        }
    }

    #[inline(always)]
    fn attenuate_negative(&self, values: &mut [f32]) {
        if self.kept < 1.0 {
            for v in values.iter_mut() {
                *v = if *v < 0.0 { *v * self.kept } else { *v };
            }
        }
    }
}

/// The characteristic of the output lines, calibrated.
#[inline(always)]
fn apply_characteristic(values: &mut [f32], lines: &Lines, chunk: usize) {
    if !lines.nonlinearity.is_empty() {
        for (v, n) in values.iter_mut().zip(&lines.nonlinearity[chunk * CHUNK..]) {
            *v /= 1.0 + n * v.abs();
        }
    }
    if lines.gain != 1.0 {
        for v in values.iter_mut() {
            *v *= lines.gain;
        }
    }
}

#[inline(always)]
fn add_scaled(values: &mut [f32], factor: f32, draws: &[f32]) {
    for (v, n) in values.iter_mut().zip(draws) {
        *v = n.mul_add(factor, *v);
    }
}

/// Values of a whole vector, or of several.
const VECTOR: usize = 16;

/// `to[i] = f(from[i])` in whole vectors, the last of which overlaps the one before: what is left of a sample would be done value by
/// value. By their places, not as pairs of chunks: a loop over those is turned into one across them, which gathers and scatters every value.
#[inline(always)]
fn map_vectors(from: &[f32], to: &mut [f32], f: impl Fn(f32) -> f32) {
    let end = from.len();
    let mut at = 0;
    while at < end {
        let start = at.min(end - VECTOR);
        if let (Some(from), Some(to)) = (from[start..].first_chunk(), to[start..].first_chunk_mut()) {
            map(from, to, &f);
        }
        at += VECTOR;
    }
}

#[inline(always)]
fn map(from: &[f32; VECTOR], to: &mut [f32; VECTOR], f: impl Fn(f32) -> f32) {
    for i in 0..VECTOR {
        to[i] = f(from[i]);
    }
}

/// Up to `N` values, filled up with zeros. A copy of known length stays in registers.
#[inline(always)]
fn load<const N: usize>(from: &[f32]) -> [f32; N] {
    if let Some(whole) = from.first_chunk() {
        return *whole;
    }
    let mut values = [0.0; N];
    for (v, from) in values.iter_mut().zip(from) {
        *v = *from;
    }
    values
}

#[inline(always)]
fn store<const N: usize>(values: &[f32; N], to: &mut [f32]) {
    if let Some(whole) = to.first_chunk_mut() {
        *whole = *values;
    } else {
        for (to, v) in to.iter_mut().zip(values) {
            *to = *v;
        }
    }
}

/// Runs `$work` with `$n` at least the number of lines of a chunk: narrow arrays, as convolutions have, and what is left of wide
/// ones need not pay for a whole chunk.
macro_rules! at_width {
    ($lines:expr, $n:ident => $work:expr) => {
        match $lines {
            ..=16 => {
                const $n: usize = 16;
                $work
            }
            17..=32 => {
                const $n: usize = 32;
                $work
            }
            _ => {
                const $n: usize = CHUNK;
                $work
            }
        }
    };
}

/// Drives the pending samples: fills `driven` with their voltages, one after another.
pub(super) struct Drive<'a> {
    pub bank: Bank,
    pub streams: Streams,
    pub pending: &'a [Pending],
    pub inputs: &'a [f32],
    pub width: usize,
    pub driven: &'a mut [f32],
}

impl Kernel for Drive<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let plain = self.bank.is_plain() && self.bank.noise == 0.0 && self.width >= VECTOR;
        for (p, driven) in self.pending.iter().zip(self.driven.chunks_exact_mut(self.width)) {
            let input = &self.inputs[p.sample * self.width..][..self.width];
            if plain && self.bank.drive_plain(input, driven, p.scale) {
                continue;
            }
            let streams = self.streams.of_sample(p.sample, self.bank.noise > 0.0, self.bank.stochastic);
            for (chunk, (from, to)) in input.chunks(CHUNK).zip(driven.chunks_mut(CHUNK)).enumerate() {
                at_width!(from.len(), N => {
                    let mut values = load::<N>(from);
                    self.bank.drive(&mut values, p.scale, streams, chunk as u64);
                    store(&values, to);
                });
            }
        }
    }
}

/// Drives line `line` alone, with 1, as [`Drive`] would in a one-hot sample: the voltage of that line.
pub(super) struct DriveOne {
    pub bank: Bank,
    pub streams: Streams,
    pub pending: Pending,
    pub line: usize,
}

impl Kernel for DriveOne {
    type Output = f32;

    #[inline(always)]
    fn run(self) -> f32 {
        let Self { bank, streams, pending, line } = self;
        let mut values = [0.0; CHUNK];
        values[line % CHUNK] = 1.0;
        let streams = streams.of_sample(pending.sample, true, bank.stochastic);
        bank.drive(&mut values, pending.scale, streams, (line / CHUNK) as u64);
        values[line % CHUNK]
    }
}

/// Digitizes the sums of the pending samples into their places in `outputs`, or adds them there; marks in `clipped`
/// those that passed the bound.
pub(super) struct Digitize<'a> {
    pub bank: Bank,
    pub lines: &'a Lines,
    pub streams: Streams,
    pub pending: &'a [Pending],
    pub sums: &'a [f32],
    pub width: usize,
    pub outputs: &'a mut [f32],
    pub adds: bool,
    pub clipped: &'a mut [bool],
}

impl Digitize<'_> {
    /// Plain converters and lines; `N` at least the outputs of a sample where they share streams, or the draws of a stream.
    #[inline(always)]
    fn plain<const N: usize>(self) {
        let Self { bank, streams, pending, sums, width, outputs, clipped, .. } = self;
        let mut noise = OutputNoise::new(streams, width);
        for ((p, sums), passed) in pending.iter().zip(sums.chunks_exact(width)).zip(clipped) {
            if bank.noise > 0.0 {
                noise.start(p.sample);
            }
            let outputs = &mut outputs[p.sample * width..][..width];
            if width <= N {
                *passed |= bank.digitize_plain::<N>(sums, &noise.next(), p.scale, outputs);
                continue;
            }
            for (from, to) in sums.chunks(N).zip(outputs.chunks_mut(N)) {
                let xi = if bank.noise > 0.0 { noise.next::<N>() } else { [0.0; N] };
                *passed |= if from.len() <= stream::LANES {
                    bank.digitize_plain::<{ stream::LANES }>(from, &load(&xi), p.scale, to)
                } else {
                    bank.digitize_plain(from, &xi, p.scale, to)
                };
            }
        }
    }
}

impl Kernel for Digitize<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Lines { noise, nonlinearity, gain, .. } = self.lines;
        let plain_lines = noise.is_empty() && nonlinearity.is_empty() && *gain == 1.0;
        if plain_lines && self.bank.is_plain() && !self.adds {
            if self.width <= stream::LANES {
                self.plain::<{ stream::LANES }>();
            } else {
                self.plain::<{ stream::CHUNK }>();
            }
            return;
        }
        let rows = self.sums.chunks_exact(self.width);
        let noisy = self.bank.noise > 0.0 || !self.lines.noise.is_empty();
        let mut noise = OutputNoise::new(self.streams, self.width);
        for ((p, sums), passed) in self.pending.iter().zip(rows).zip(self.clipped) {
            let rounding = self.streams.of_sample(p.sample, false, self.bank.stochastic).rounding;
            if noisy {
                noise.start(p.sample);
            }
            let outputs = &mut self.outputs[p.sample * self.width..][..self.width];
            for (chunk, (from, to)) in sums.chunks(CHUNK).zip(outputs.chunks_mut(CHUNK)).enumerate() {
                at_width!(from.len(), N => {
                    let (mut values, width, place) = (load::<N>(from), from.len(), (rounding, chunk));
                    *passed |= self.bank.digitize(&mut values, width, self.lines, p.scale, &mut noise, place);
                    if self.adds {
                        to.iter_mut().zip(values).for_each(|(out, v)| *out += v);
                    } else {
                        store(&values, to);
                    }
                });
            }
        }
    }
}
