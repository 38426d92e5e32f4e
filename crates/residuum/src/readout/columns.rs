//! All columns of an array, read one after the other by a one-hot sample each.

use rayon::prelude::*;

use super::convert::{Bank, DriveOne, Pending, Streams};
use super::settings::{BoundManagement, NoiseManagement};
use super::{CONVERSION, Readout, Scratch, Shape, check};
use crate::Key;
use crate::simd::{self, Kernel};
use crate::stream::{CHUNK, Stream};
use crate::threads;

impl Readout {
    /// All columns, row-major as the weights are: in distribution [`read_column`](Self::read_column) of each.
    ///
    /// # Panics
    /// If a length does not fit the shape.
    pub fn read_columns(
        &self,
        weights: &[f32],
        shape: Shape,
        key: Key,
        outputs: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let Shape { rows, cols } = shape;
        check(weights, shape, [weights.len(), rows], [outputs.len(), rows]);
        if let Some(scale) = self.scale_of_all_columns() {
            return self.read_cells(InValues, weights, scale, key, outputs);
        }
        let mut read = std::mem::take(&mut scratch.column);
        read.resize(rows, 0.0);
        for column in 0..cols {
            self.read_column(weights, shape, column, key.fold(column as u64), &mut read, scratch);
            outputs[column..].iter_mut().step_by(cols).zip(&read).for_each(|(out, v)| *out = *v);
        }
        scratch.column = read;
    }

    /// [`read_columns`](Self::read_columns) in whole steps of the converter, and the value of one; `None` where reads are no such steps, or depend on
    /// others of their column.
    ///
    /// # Panics
    /// If a length does not fit the shape.
    pub fn read_steps(&self, weights: &[f32], shape: Shape, key: Key, steps: &mut [i16]) -> Option<f32> {
        check(weights, shape, [weights.len(), shape.rows], [steps.len(), shape.rows]);
        let scale = self.scale_of_all_columns()?;
        let (unit, most) = Bank::new(&self.settings.output).whole_steps()?;
        self.read_cells(InSteps { per_unit: unit.recip(), most }, weights, scale, key, steps);
        Some(unit * scale)
    }

    /// Every cell for itself, so that it does not matter where a row ends.
    fn read_cells<O: Output>(&self, told: O, weights: &[f32], scale: f32, key: Key, outputs: &mut [O::Word]) {
        let (input, output) = (Bank::new(&self.settings.input), Bank::new(&self.settings.output));
        let streams = Streams::new(key, 0, 0);
        let pending = Pending { sample: 0, scale };
        let voltage = simd::dispatch(DriveOne { bank: input, streams, pending, line: 0 });
        let read = |(part, (weights, outputs)): (usize, (&[f32], &mut [O::Word]))| {
            let key = key.fold(part as u64);
            simd::dispatch(ReadCells { bank: output, told, voltage, scale, key, weights, outputs });
        };
        let parts = weights.par_chunks(CELLS).zip(outputs.par_chunks_mut(CELLS));
        threads::each(threads::worth(CONVERSION * weights.len()), parts.enumerate(), read);
    }

    /// What every one-hot sample is divided by, where a cell's read depends on nothing but the cell and its own noise: then rows
    /// may be read as they lie in memory.
    fn scale_of_all_columns(&self) -> Option<f32> {
        let s = &self.settings;
        let plain = self.reads_columns_alone()
            && s.bound_management == BoundManagement::None
            && s.weight_noise == 0.0
            && s.nonlinearity.is_none()
            && s.output_noise_spread == 0.0
            && s.output.negative_loss == 0.0
            && !s.input.stochastic
            && !s.output.stochastic;
        match s.noise_management {
            NoiseManagement::None if plain => Some(1.0),
            NoiseManagement::Constant { scale } if plain => Some(scale as f32),
            _ => None,
        }
    }
}

/// Cells that share a stream: so many that starting it takes no time to speak of.
const CELLS: usize = 4096;

/// Adding 1.5 · 2²³ rounds to the nearest integer and leaves it in the low bits.
const ROUND: f32 = 12_582_912.0;

/// What reads are told in.
trait Output: Copy + Send + Sync {
    type Word: Copy + Default + Send;
    fn convert(self, bank: &Bank, sums: [f32; CHUNK], scale: f32) -> [Self::Word; CHUNK];
}

/// Values, in units of the weights.
#[derive(Clone, Copy)]
struct InValues;

impl Output for InValues {
    type Word = f32;

    #[inline(always)]
    fn convert(self, bank: &Bank, mut sums: [f32; CHUNK], scale: f32) -> [f32; CHUNK] {
        bank.convert(&mut sums, scale);
        sums
    }
}

/// Whole steps of the converter, so many at most to either side.
#[derive(Clone, Copy)]
struct InSteps {
    per_unit: f32,
    most: f32,
}

impl Output for InSteps {
    type Word = i16;

    #[inline(always)]
    fn convert(self, _: &Bank, sums: [f32; CHUNK], _: f32) -> [i16; CHUNK] {
        let (Self { per_unit, most }, mut steps) = (self, [0; CHUNK]);
        let mut rounded = [0; CHUNK];
        for j in 0..CHUNK {
            let v = sums[j] * per_unit;
            let v = if v < most { v } else { most };
            let v = if v > -most { v } else { -most };
            // Rounded to even, and left in the low bits: a cast would look for numbers that do not fit.
            rounded[j] = (v + ROUND).to_bits();
        }
        for j in 0..CHUNK {
            steps[j] = rounded[j] as i16;
        }
        steps
    }
}

/// Some cells, each read alone.
struct ReadCells<'a, O: Output> {
    bank: Bank,
    told: O,
    voltage: f32,
    scale: f32,
    key: Key,
    weights: &'a [f32],
    outputs: &'a mut [O::Word],
}

impl<O: Output> Kernel for ReadCells<'_, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { bank, told, voltage, scale, key, weights, outputs } = self;
        let mut stream = Stream::new(key);
        // Chunks whose length the compiler knows; the last is filled up. One loop and no closure: code that stands here twice is not
        // compiled for the vectors of the machine.
        let ((whole, rest), (outputs, end)) = (weights.as_chunks::<CHUNK>(), outputs.as_chunks_mut::<CHUNK>());
        let mut last = [0.0; CHUNK];
        last[..rest.len()].copy_from_slice(rest);
        for n in 0..whole.len() + usize::from(!rest.is_empty()) {
            let weights = whole.get(n).unwrap_or(&last);
            let noise = if bank.noise > 0.0 { stream.normals() } else { [0.0; CHUNK] };
            let mut sums = [0.0; CHUNK];
            for j in 0..CHUNK {
                sums[j] = noise[j].mul_add(bank.noise, voltage * weights[j]);
            }
            let read = told.convert(&bank, sums, scale);
            match outputs.get_mut(n) {
                Some(outputs) => *outputs = read,
                None => end.copy_from_slice(&read[..end.len()]),
            }
        }
    }
}
