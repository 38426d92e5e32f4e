//! What the array does to the voltages of a block of samples before the output converters see the sums.

use super::Shape;
use super::lines::Lines;
use super::product::{ReadDirection, Workspace, product};
use super::settings::{IrDrop, OutputLine, Settings, WeightNoise};
use crate::Key;
use crate::normal32::{CHUNK, normals};
use crate::simd::{self, Kernel};

/// The weights of an array, and their magnitudes if an imperfection needs them.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a> {
    pub values: &'a [f32],
    pub magnitudes: &'a [f32],
}

/// An array as seen by reads in one direction.
#[derive(Clone, Copy)]
pub(super) struct Array<'a> {
    pub shape: Shape,
    pub to: ReadDirection,
    /// The weights that inputs see, or that non-negative inputs see if negative ones see `negative`.
    pub weights: Weights<'a>,
    pub negative: Weights<'a>,
    pub lines: &'a Lines,
}

/// Buffers that passes reuse.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    shaped: Vec<f32>,
    currents: Vec<f32>,
    losses: Vec<f32>,
    workspace: Workspace,
}

impl Scratch {
    /// Buffers of a product.
    pub fn workspace(&mut self) -> &mut Workspace {
        &mut self.workspace
    }
}

/// Whether the settings need the magnitudes of the weights.
pub(super) fn needs_magnitudes(settings: &Settings) -> bool {
    settings.ir_drop.is_some() || has_phase_change_noise(settings)
}

fn has_phase_change_noise(settings: &Settings) -> bool {
    settings.weight_noise > 0.0 && settings.weight_noise_kind == WeightNoise::PhaseChange
}

/// One pass: the sums of the driven samples through `weights`. `keys` gives each sample the stream of its weight noise.
pub(super) fn pass(
    settings: &Settings,
    array: &Array<'_>,
    weights: Weights<'_>,
    driven: &[f32],
    sums: &mut [f32],
    scratch: &mut Scratch,
    keys: impl Fn(usize) -> Key,
) {
    let Array { shape, to, lines, .. } = *array;
    let (n_in, n_out) = to.widths(shape);
    product(weights.values, shape, to, driven, sums, &mut scratch.workspace);
    if let Some(drop) = settings.ir_drop {
        apply_drop(drop, array, weights, driven, sums, scratch);
    }
    if let Some(line) = settings.output_line {
        simd::dispatch(Offset { line, offsets: &lines.offsets, driven, n_in, sums });
    }
    if has_phase_change_noise(settings) {
        let Scratch { shaped, currents, workspace, .. } = scratch;
        shaped.clear();
        shaped.extend(driven.iter().map(|x| x * x));
        currents.resize(sums.len(), 0.0);
        product(weights.magnitudes, shape, to, shaped, currents, workspace);
        for variance in currents.iter_mut() {
            *variance = variance.sqrt();
        }
        let noise = settings.weight_noise as f32;
        for (s, (sums, deviations)) in sums.chunks_exact_mut(n_out).zip(currents.chunks(n_out)).enumerate() {
            simd::dispatch(AddNoise { noise, deviations: Deviations::Each(deviations), key: keys(s), sums });
        }
    } else {
        add_constant_noise(settings, driven, sums, n_out, keys);
    }
}

/// Noise of weights that does not depend on them, for as many samples in `driven` as there are in `sums`.
pub(super) fn add_constant_noise(
    settings: &Settings,
    driven: &[f32],
    sums: &mut [f32],
    n_out: usize,
    keys: impl Fn(usize) -> Key,
) {
    let noise = settings.weight_noise as f32;
    if noise == 0.0 || sums.is_empty() {
        return;
    }
    let n_in = driven.len() / (sums.len() / n_out);
    for (s, (sums, values)) in sums.chunks_exact_mut(n_out).zip(driven.chunks_exact(n_in)).enumerate() {
        let norm = simd::dispatch(Total { values, term: |v| v * v }).sqrt();
        simd::dispatch(AddNoise { noise, deviations: Deviations::All(norm), key: keys(s), sums });
    }
}

/// Subtracts the voltage drop along the output lines from the sums.
fn apply_drop(
    drop: IrDrop,
    array: &Array<'_>,
    weights: Weights<'_>,
    driven: &[f32],
    sums: &mut [f32],
    scratch: &mut Scratch,
) {
    let (n_in, _) = array.to.widths(array.shape);
    let Scratch { shaped, currents, losses, workspace } = scratch;
    shaped.clear();
    shaped.extend(driven.iter().map(|x| x.abs()));
    currents.resize(sums.len(), 0.0);
    product(weights.magnitudes, array.shape, array.to, shaped, currents, workspace);
    for (row, x) in shaped.chunks_exact_mut(n_in).zip(driven.chunks_exact(n_in)) {
        for j in 0..n_in {
            let distance = 1.0 - j as f32 / n_in as f32;
            row[j] = x[j] * (1.0 - distance * distance);
        }
    }
    losses.resize(sums.len(), 0.0);
    product(weights.values, array.shape, array.to, shaped, losses, workspace);
    let load = n_in as f32 / drop.conductance_ratio as f32;
    for ((sum, current), lost) in sums.iter_mut().zip(currents).zip(losses) {
        let a = load * *current;
        *sum -= drop.strength as f32 * (a * (a * (0.05 * a - 0.2) + 0.5)) * *lost;
    }
}

/// Sum over a term of each value, in an order fixed by their number.
struct Total<'a, F> {
    values: &'a [f32],
    term: F,
}

impl<F: Fn(f32) -> f32> Kernel for Total<'_, F> {
    type Output = f32;

    #[inline(always)]
    fn run(self) -> f32 {
        let mut partial = [0.0f32; CHUNK];
        for chunk in self.values.chunks(CHUNK) {
            for (sum, v) in partial.iter_mut().zip(chunk) {
                *sum += (self.term)(*v);
            }
        }
        partial.iter().sum()
    }
}

/// Voltage offsets and series resistance, see [`OutputLine`].
struct Offset<'a> {
    line: OutputLine,
    offsets: &'a [f32],
    driven: &'a [f32],
    n_in: usize,
    sums: &'a mut [f32],
}

impl Kernel for Offset<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let r = self.line.series_resistance as f32;
        let loaded = |y: f32| y / (1.0 + r * y.abs());
        let rows = self.sums.chunks_exact_mut(self.offsets.len());
        for (sums, values) in rows.zip(self.driven.chunks_exact(self.n_in)) {
            let reference = self.line.reference_weight as f32 * Total { values, term: |v| v }.run();
            for (y, v) in sums.iter_mut().zip(self.offsets) {
                *y = (1.0 - v) * loaded(*y + reference) - (1.0 + v) * loaded(reference);
            }
        }
    }
}

/// Deviations of the outputs of one sample.
enum Deviations<'a> {
    All(f32),
    Each(&'a [f32]),
}

struct AddNoise<'a> {
    noise: f32,
    deviations: Deviations<'a>,
    key: Key,
    sums: &'a mut [f32],
}

impl Kernel for AddNoise<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (chunk, sums) in self.sums.chunks_mut(CHUNK).enumerate() {
            let draws = normals(self.key, chunk as u64);
            match self.deviations {
                Deviations::All(deviation) => {
                    let deviation = self.noise * deviation;
                    sums.iter_mut().zip(draws).for_each(|(y, n)| *y += deviation * n);
                }
                Deviations::Each(deviations) => {
                    let deviations = &deviations[chunk * CHUNK..];
                    for ((y, n), deviation) in sums.iter_mut().zip(draws).zip(deviations) {
                        *y += self.noise * deviation * n;
                    }
                }
            }
        }
    }
}
