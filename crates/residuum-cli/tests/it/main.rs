//! The command as its users meet it.
//!
//! One program for all of them: each would link the whole library again.

mod cli;
mod data;
mod explain;
mod full_disk;
mod networks;
mod stores;
