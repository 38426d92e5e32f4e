//! Experiments as files for `residuum`: what is run, what is recorded, and the figures drawn from it.

pub mod figure;
pub mod files;
pub mod progress;
pub mod run;
pub mod spec;
pub mod table;
pub mod verify;
