//! What a training writes.

mod events;
mod histogram;
mod log;
