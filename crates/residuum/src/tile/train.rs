//! Pulse trains that meet: stochastic coincidence, with lines shared along rows and columns.
//!
//! Each line fires in each slot with its own probability; a cell is pulsed where its row and its column fire together, so
//! cells that share a line are correlated exactly as hardware makes them ([`super::lines`]). Rows are worked through one
//! after the other with all samples of the mini-batch ([`super::row`]); threads share the rows.

use rayon::prelude::*;

use super::Tile;
use super::device::CycleNoise;
use super::laws::{Parameters, with_law};
use super::lines::Lines;
use super::management::Trains;
use super::noise::{General, Multiplicative};
use super::row::{Row, Show};
use crate::Key;
use crate::simd;

/// Below this many cell visits a second thread costs more than it brings.
const PARALLEL_WORK: usize = 1 << 17;

impl Tile {
    /// The update by trains that meet at random; the signals are known to fit.
    pub(super) fn update_stochastic(
        &mut self,
        scale: f32,
        row_signals: &[f32],
        col_signals: &[f32],
        trains: Trains,
        key: Key,
    ) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.fire(
            (self.rows, self.cols),
            (row_signals, col_signals),
            (scale, self.device.granularity()),
            trains,
            self.cells.at_once,
            key,
        );
        self.take(&lines, key);
        self.lines = lines;
    }

    /// Lets trains that were drawn meet here; the key decides noise alone.
    pub(super) fn take(&mut self, lines: &Lines, key: Key) {
        if let Some(ledger) = &mut self.ledger {
            ledger.add_trains(&lines.samples());
        }
        self.pulses_sent += self.meet(lines, key);
    }

    /// Lets the trains meet; returns the number of pulses.
    fn meet(&mut self, lines: &Lines, key: Key) -> u64 {
        let (cols, device, cells) = (self.cols, &self.device, &self.cells);
        let (cycle, write) = (key.named("cycle"), key.named("write"));
        let pulse = |row: usize, state: &mut [f32]| {
            let (from, to) = (row * cols, (row + 1) * cols);
            let parameters = Parameters::stretch(cells, from, to);
            let Parameters { max, min, .. } = parameters;
            let (key, noisy) = (cycle.fold(row as u64), device.noisy());
            match device.cycle_noise {
                CycleNoise::Multiplicative(deviation) => {
                    let noise = Multiplicative(deviation);
                    with_law(device, parameters, Row { lines, index: row, key, noisy, noise, max, min, state })
                }
                _ => {
                    let noise = General::stretch(device, cells, from, to);
                    with_law(device, parameters, Row { lines, index: row, key, noisy, noise, max, min, state })
                }
            }
        };
        let spread = device.write_noise * device.pulse_step;
        let pulse_and_show = |row: usize, weights: &mut [f32], state: &mut [f32]| {
            let pulses = pulse(row, state);
            if pulses > 0 {
                simd::dispatch(Show { lines, row, key: write.fold(row as u64), spread, state, weights });
            }
            pulses
        };
        let parallel = self.weights.len() * lines.batch() >= PARALLEL_WORK;
        let weights = &mut self.weights;
        match (&mut self.hidden, parallel) {
            (None, false) => weights.chunks_exact_mut(cols).enumerate().map(|(i, w)| pulse(i, w)).sum(),
            (None, true) => weights.par_chunks_exact_mut(cols).enumerate().map(|(i, w)| pulse(i, w)).sum(),
            (Some(hidden), false) => weights
                .chunks_exact_mut(cols)
                .zip(hidden.chunks_exact_mut(cols))
                .enumerate()
                .map(|(i, (w, h))| pulse_and_show(i, w, h))
                .sum(),
            (Some(hidden), true) => weights
                .par_chunks_exact_mut(cols)
                .zip(hidden.par_chunks_exact_mut(cols))
                .enumerate()
                .map(|(i, (w, h))| pulse_and_show(i, w, h))
                .sum(),
        }
    }
}
