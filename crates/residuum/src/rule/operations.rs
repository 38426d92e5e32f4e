//! What hardware has to do for a rule, counted: from it time and energy are computed.

use std::ops::AddAssign;

use crate::readout::Shape;

/// Operations of arrays and of digital memory, apart from the pulses that reach cells. They are those of the hardware that a rule
/// describes, not of this program, and follow from the settings and the number of steps: nothing is counted while a rule runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Cells that took part in products W x and in reads of columns: rows × columns of each.
    pub forward_cells: u64,
    /// Cells that took part in products Wᵀ δ.
    pub backward_cells: u64,
    /// Numbers applied to lines.
    pub digital_to_analog: u64,
    /// Numbers read from lines.
    pub analog_to_digital: u64,
    /// Reads one after the other; arrays that are read at once count once.
    pub read_rounds: u64,
    /// Trains of pulses one after the other: an outer product, a column or a row each.
    pub write_rounds: u64,
    /// Digital additions and multiplications.
    pub digital: u64,
    /// Bytes of digital memory read or written, besides weights of digital layers.
    pub bytes: u64,
}

impl AddAssign for Operations {
    fn add_assign(&mut self, other: Self) {
        self.forward_cells += other.forward_cells;
        self.backward_cells += other.backward_cells;
        self.digital_to_analog += other.digital_to_analog;
        self.analog_to_digital += other.analog_to_digital;
        self.read_rounds += other.read_rounds;
        self.write_rounds += other.write_rounds;
        self.digital += other.digital;
        self.bytes += other.bytes;
    }
}

impl Operations {
    /// The counts in the order of the fields.
    pub fn counts(&self) -> [u64; 8] {
        let Self { forward_cells, backward_cells, digital_to_analog, analog_to_digital, .. } = *self;
        let Self { read_rounds, write_rounds, digital, bytes, .. } = *self;
        [
            forward_cells,
            backward_cells,
            digital_to_analog,
            analog_to_digital,
            read_rounds,
            write_rounds,
            digital,
            bytes,
        ]
    }
}

impl From<[u64; 8]> for Operations {
    fn from(counts: [u64; 8]) -> Self {
        let [forward_cells, backward_cells, digital_to_analog, analog_to_digital, ..] = counts;
        let [.., read_rounds, write_rounds, digital, bytes] = counts;
        Self {
            forward_cells,
            backward_cells,
            digital_to_analog,
            analog_to_digital,
            read_rounds,
            write_rounds,
            digital,
            bytes,
        }
    }
}

/// Bytes of a number in digital memory.
pub(super) const WORD: u64 = 4;

impl Operations {
    /// Gradients of `samples` written as outer products, one after the other.
    pub(crate) fn outer(shape: Shape, samples: u64) -> Self {
        // The trains of all lines are drawn in digital hardware.
        Self { write_rounds: samples, digital: samples * (shape.rows + shape.cols) as u64, ..Self::default() }
    }

    /// A gradient formed in digital memory, `per_weight` operations on each weight after it, and rows of pulses for the rest.
    pub(super) fn digital_gradient(
        shape: Shape,
        (steps, samples): (u64, u64),
        per_weight: u64,
        words: u64,
    ) -> Self {
        let cells = (shape.rows * shape.cols) as u64;
        Self {
            digital: 2 * samples * cells + steps * per_weight * cells,
            bytes: WORD * cells * (2 * samples + 2 * words * steps),
            ..Self::default()
        }
    }

    /// The products of `samples` with `arrays` arrays, forward and backward.
    pub fn products(shape: Shape, arrays: u64, samples: u64) -> Self {
        let cells = (shape.rows * shape.cols) as u64 * arrays * samples;
        let lines = (shape.rows + shape.cols) as u64 * samples;
        Self {
            forward_cells: cells,
            backward_cells: cells,
            // Inputs enter once for all arrays, and their outputs are added before they are converted.
            digital_to_analog: lines,
            analog_to_digital: lines,
            read_rounds: 2 * samples,
            ..Self::default()
        }
    }
}
