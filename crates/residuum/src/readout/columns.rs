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
            let (input, output) = (Bank::new(&self.settings.input), Bank::new(&self.settings.output));
            let streams = Streams::new(key, 0, 0);
            let pending = Pending { sample: 0, scale };
            let voltage = simd::dispatch(DriveOne { bank: input, streams, pending, line: 0 });
            // Every cell for itself, so that it does not matter where a row ends.
            let read = |(part, (weights, outputs)): (usize, (&[f32], &mut [f32]))| {
                let key = key.fold(part as u64);
                simd::dispatch(ReadCells { bank: output, voltage, scale, key, weights, outputs });
            };
            let parts = weights.par_chunks(CELLS).zip(outputs.par_chunks_mut(CELLS));
            threads::each(threads::worth(CONVERSION * weights.len()), parts.enumerate(), read);
            return;
        }
        let mut read = std::mem::take(&mut scratch.column);
        read.resize(rows, 0.0);
        for column in 0..cols {
            self.read_column(weights, shape, column, key.fold(column as u64), &mut read, scratch);
            outputs[column..].iter_mut().step_by(cols).zip(&read).for_each(|(out, v)| *out = *v);
        }
        scratch.column = read;
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

/// Some cells, each read alone.
struct ReadCells<'a> {
    bank: Bank,
    voltage: f32,
    scale: f32,
    key: Key,
    weights: &'a [f32],
    outputs: &'a mut [f32],
}

impl Kernel for ReadCells<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { bank, voltage, scale, key, weights, outputs } = self;
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
            bank.convert(&mut sums, scale);
            match outputs.get_mut(n) {
                Some(outputs) => *outputs = sums,
                None => end.copy_from_slice(&sums[..end.len()]),
            }
        }
    }
}
