//! Pulse trains that meet: stochastic coincidence, with lines shared along rows and columns.
//!
//! Each line fires in each slot with its own probability; a cell is pulsed where its row and its column fire together, so
//! cells that share a line are correlated exactly as hardware makes them ([`super::lines`]). Rows are worked through one
//! after the other with all samples of the mini-batch ([`super::row`]); threads share the rows.

use super::Tile;
use super::cells::Cells;
use super::device::{CycleNoise, Device};
use super::laws::{Parameters, with_law};
use super::lines::Lines;
use super::management::Trains;
use super::noise::{Additive, Complex, Multiplicative};
use super::row::{Row, Show};
use super::rows::Band;
use crate::Key;
use crate::simd;

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
        self.by_lines = true;
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
        let cols = self.cols;
        let (cycle, write) = (key.named("cycle"), key.named("write"));
        let pulse = |device: &Device, cells: &Cells, row: usize, state: &mut [f32]| {
            if !lines.fires(row) {
                return 0;
            }
            let (from, to) = (row * cols, (row + 1) * cols);
            let parameters = Parameters::stretch(cells, from, to);
            let Parameters { max, min, .. } = parameters;
            let (key, noisy) = (cycle.fold(row as u64), device.noisy());
            match device.cycle_noise {
                CycleNoise::Multiplicative(deviation) => {
                    let noise = Multiplicative(deviation);
                    with_law(device, parameters, Row { lines, index: row, key, noisy, noise, max, min, state })
                }
                CycleNoise::Additive(deviation) => {
                    let noise = Additive::stretch(deviation, cells, from, to);
                    with_law(device, parameters, Row { lines, index: row, key, noisy, noise, max, min, state })
                }
                CycleNoise::Complex { deviation, offset, slope } => {
                    let noise = Complex::new(deviation, offset, slope);
                    with_law(device, parameters, Row { lines, index: row, key, noisy, noise, max, min, state })
                }
            }
        };
        self.each_band(1, lines.batch(), |device, cells, Band { index: row, weights, hidden, .. }| {
            let Some(state) = hidden else { return pulse(device, cells, row, weights) };
            let pulses = pulse(device, cells, row, state);
            if pulses > 0 {
                let spread = device.write_noise * device.pulse_step;
                simd::dispatch(Show { lines, row, key: write.fold(row as u64), spread, state, weights });
            }
            pulses
        })
    }
}
