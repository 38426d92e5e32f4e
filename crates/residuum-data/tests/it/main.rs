//! Data sets: reading, importing, fetching, batches and what is done to pictures.
//!
//! One program for all of them: each would link the whole library again.

#![allow(clippy::unwrap_used, reason = "helpers of tests are not tests to the lint")]

mod batches;
mod cifar;
#[cfg(feature = "fetch")]
mod fetch;
mod files;
#[cfg(feature = "fetch")]
mod import;
mod readers;
#[cfg(feature = "fetch")]
mod server;
mod transforms;
