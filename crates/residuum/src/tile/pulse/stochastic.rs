//! Pulse trains that meet: stochastic coincidence, with lines shared along rows and columns.
//!
//! Each line fires in each slot with its own probability; a cell is pulsed where its row and its column fire together, so
//! cells that share a line are correlated exactly as hardware makes them ([`super::lines`]). Rows are worked through one
//! after the other with all samples of the mini-batch ([`super::row`]); threads share the rows.

use super::at_once::gentle_slope;
use super::blocks::RowBlock;
use super::group::RowFire;
use super::lines::Lines;
use super::management::Trains;
use super::noise::with_noise;
use super::row::{RedrawReads, Row};
use super::visits::{Part, Turns, next_part};
use crate::Key;
use crate::simd;
use crate::tile::Tile;

impl Tile {
    /// Trains for signals of the right shape, to be let meet if all are finite, and then given back as `lines`.
    pub(crate) fn fire(
        &mut self,
        scale: f32,
        row_signals: &[f32],
        col_signals: &[f32],
        trains: Trains,
        key: Key,
    ) -> (Lines, bool) {
        let mut lines = std::mem::take(&mut self.lines);
        let finite = lines.fire(
            (self.rows, self.cols),
            (row_signals, col_signals),
            (scale, self.device.granularity()),
            trains,
            self.cells.at_once,
            key,
        );
        (lines, finite)
    }

    /// Lets trains that were drawn meet here; the key decides noise alone.
    pub(crate) fn take(&mut self, lines: &Lines, key: Key) {
        if let Some(ledger) = &mut self.ledger {
            ledger.add_trains(&lines.samples());
        }
        let cols = self.cols;
        let (cycle, write) = (key.named("cycle"), key.named("write"));
        let (device, cells, rows) = self.blocks(1, lines.visits());
        let slope = gentle_slope(device).filter(|_| cells.at_once && device.vanishes_at_bounds());
        let pulse_at = |row: usize, mut fires: &[RowFire], state: &mut [f32]| {
            let (mut pulses, mut parts) = (0, 0);
            if fires.is_empty() {
                return 0;
            }
            let (from, to) = (row * cols, (row + 1) * cols);
            let mut room = cells.room();
            let parameters = cells.span(from, to, &mut room).parameters(from, to);
            let (own, noisy, step) = (cycle.fold(row as u64), device.noisy(), &device.step);
            while !fires.is_empty() {
                let part = next_part(lines, fires, cols, slope);
                let (Part::InTurn(samples) | Part::Alone(samples)) = part;
                let (here, others) = fires.split_at(samples);
                let key = if parts == 0 { own } else { own.fold(parts) };
                let state = &mut *state;
                macro_rules! with {
                    ($noise:expr) => {{
                        let (fires, noise) = (here, $noise);
                        match part {
                            Part::InTurn(_) => step.with_vector_law(Turns {
                                lines,
                                fires,
                                key,
                                noisy,
                                slope,
                                noise,
                                parameters,
                                state,
                            }),
                            Part::Alone(_) => {
                                step.with_vector_law(Row { lines, fires, key, noisy, noise, parameters, state })
                            }
                        }
                    }};
                }
                pulses += with_noise!(device.cycle_noise_in_pulse_steps(), with);
                (fires, parts) = (others, parts + 1);
            }
            pulses
        };
        let pulses = rows.sum(&|RowBlock { index: row, weights, hidden, .. }: RowBlock<'_>| {
            let pulse = |state: &mut [f32]| lines.with_fires(row, |fires| pulse_at(row, fires, state));
            let Some(state) = hidden else { return pulse(weights) };
            let pulses = pulse(state);
            if pulses > 0 {
                let (key, spread) = (write.fold(row as u64), device.write_deviation());
                simd::dispatch(RedrawReads { lines, row, key, spread, state, weights });
            }
            pulses
        });
        self.pulses_sent += pulses;
    }
}
