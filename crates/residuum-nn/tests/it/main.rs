//! Networks: layers, training, checkpoints and kills, beside PyTorch and Keras.
//!
//! One program for all of them: each would link the whole library again.

#![allow(clippy::unwrap_used, reason = "helpers of tests are not tests to the lint")]

mod activation;
mod analog;
mod checksum;
mod convolution;
mod gemm;
mod keras;
#[path = "../../../residuum/tests/it/levels.rs"]
mod levels;
mod model;
mod torch;
mod torch_layers;
mod torch_networks;
mod train_common;
mod train_events;
mod train_failures;
mod train_kill;
mod train_parts;
mod train_runs;
mod training;
mod weights;
