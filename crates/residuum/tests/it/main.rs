//! The library through its public doors: responses, rules, tiles, reads and the theory beside golden numbers.
//!
//! One program for all of them: each would link the whole library again.

#![allow(clippy::unwrap_used, reason = "helpers of tests are not tests to the lint")]

mod aihwkit;
mod aihwkit_compounds;
mod analog_sgd_drifts;
mod coefficients;
mod convergence;
mod expression;
mod golden;
mod implicit_penalty;
mod interpolate;
mod key;
mod later_rules;
mod laws;
mod levels;
mod lower_bound;
mod math;
mod normal32;
mod numeric;
mod objective_data;
mod operator_lemmas;
mod population;
mod pulses;
mod readout;
mod readout_aihwkit;
mod readout_signals;
mod regularity;
mod residual_learning;
mod responses;
mod rule;
mod rules_on_tiles;
mod schedule;
mod simd;
mod state;
mod stats;
mod stream;
mod theory;
mod threads;
mod tile_aihwkit;
mod tile_cell_parameters;
mod tile_checkpoints;
mod tile_columns;
mod tile_devices;
mod tile_exact;
mod tile_ledger;
mod tile_responses;
mod tile_retention;
mod tile_trains;
mod tile_turns;
mod tile_updates;
mod tile_zero_shift;
mod toy;
mod unit_cells;
mod zero_shifting;
