//! `[hardware]`: what an operation costs.

use residuum::rule::Operations;

use super::section::{Optional, Or, section};
use super::types::{count, number};

section! {
    /// What operations cost: with it, records tell reads, conversions, digital operations, bytes, time and energy of every epoch.
    /// Times and energies of arrays are those of multi-tile Residual Learning (arXiv 2510.02516, appendix I), digital ones those of
    /// M. Horowitz (ISSCC 2014, 45 nm). Layers work one after the other, the tiles of a layer at once; evaluation is not counted.
    pub(crate) struct HardwareTable {
        /// of a slot of a train
        pulse_time: f64 = number().of_one_operation(), "s", Or("5e-9");
        /// of a train
        train_slots: Option<u64> = count().at_least(1), "slots", Optional("longest train of the rule's `pulses`");
        /// of a product, or of the read of a column
        read_time: f64 = number().of_one_operation(), "s", Or("40e-9");
        /// of a product W x of a tile of `tile_cells`; smaller tiles cost their share
        forward_energy: f64 = number().of_one_operation(), "J", Or("7.29e-9");
        /// of a product Wᵀ δ of the same tile
        backward_energy: f64 = number().of_one_operation(), "J", Or("2.15e-9");
        /// of the tile whose energies these are; ours, as the source does not say: 512 × 512
        tile_cells: f64 = number().positive(), "cells", Or("262144.0");
        /// of a pulse that reaches a cell
        pulse_energy: Option<f64> = number().of_one_operation(), "J", Optional("`device.pulse_energy`, or 0");
        /// of a number applied to a line, beyond what the energies of products contain
        input_energy: f64 = number().of_one_operation(), "J", Or("0.0");
        /// of a number read from a line, beyond the same
        output_energy: f64 = number().of_one_operation(), "J", Or("0.0");
        /// of a digital addition or multiplication
        digital_energy: f64 = number().of_one_operation(), "J", Or("0.9e-12");
        /// of a byte of digital memory, an 8 kB cache
        byte_energy: f64 = number().of_one_operation(), "J", Or("1.25e-12");
        /// digital operations in a second; ours
        digital_rate: f64 = number().positive(), "1/s", Or("1e12");
    }
}

/// What operations cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HardwareSpec {
    /// Seconds of a slot of a train.
    pub pulse_time: f64,
    /// Slots of a train.
    pub train_slots: f64,
    /// Seconds of a product, or of the read of a column.
    pub read_time: f64,
    /// Joules of a product W x of a tile of `tile_cells`.
    pub forward_energy: f64,
    /// Joules of a product Wᵀ δ of the same tile.
    pub backward_energy: f64,
    /// Cells of the tile whose energies these are.
    pub tile_cells: f64,
    /// Joules of a pulse that reaches a cell.
    pub pulse_energy: f64,
    /// Joules of a number applied to a line, beyond those of products.
    pub input_energy: f64,
    /// Joules of a number read from a line, beyond those of products.
    pub output_energy: f64,
    /// Joules of a digital addition or multiplication.
    pub digital_energy: f64,
    /// Joules of a byte of digital memory.
    pub byte_energy: f64,
    /// Digital operations in a second.
    pub digital_rate: f64,
}

impl HardwareTable {
    /// With what the rule and the device say where the table does not.
    pub(super) fn hardware(self, slots: u32, pulse_energy: Option<f64>) -> HardwareSpec {
        HardwareSpec {
            pulse_time: self.pulse_time,
            train_slots: self.train_slots.unwrap_or(u64::from(slots)) as f64,
            read_time: self.read_time,
            forward_energy: self.forward_energy,
            backward_energy: self.backward_energy,
            tile_cells: self.tile_cells,
            pulse_energy: self.pulse_energy.or(pulse_energy).unwrap_or(0.0),
            input_energy: self.input_energy,
            output_energy: self.output_energy,
            digital_energy: self.digital_energy,
            byte_energy: self.byte_energy,
            digital_rate: self.digital_rate,
        }
    }
}

impl HardwareSpec {
    /// Seconds of these operations.
    pub fn time(&self, operations: &Operations) -> f64 {
        operations.read_rounds as f64 * self.read_time
            + operations.write_rounds as f64 * self.train_slots * self.pulse_time
            + operations.digital as f64 / self.digital_rate
    }

    /// Joules of these operations and of pulses.
    pub fn energy(&self, operations: &Operations, pulses: u64) -> f64 {
        let share = |cells: u64, energy: f64| cells as f64 / self.tile_cells * energy;
        share(operations.forward_cells, self.forward_energy)
            + share(operations.backward_cells, self.backward_energy)
            + operations.digital_to_analog as f64 * self.input_energy
            + operations.analog_to_digital as f64 * self.output_energy
            + operations.digital as f64 * self.digital_energy
            + operations.bytes as f64 * self.byte_energy
            + pulses as f64 * self.pulse_energy
    }
}
