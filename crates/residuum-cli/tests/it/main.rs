//! The command as its users meet it.
//!
//! One program for all of them: each would link the whole library again.

#![allow(clippy::unwrap_used, reason = "helpers of tests are not tests to the lint")]

mod cli;
mod data;
mod explain;
mod faults;
mod full_disk;
mod kills;
#[path = "../../../residuum/tests/it/levels.rs"]
mod levels;
mod limits;
mod networks;
mod replaced;
mod stores;
