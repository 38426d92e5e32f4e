//! Integration tests, one program.
#![allow(clippy::unwrap_used, reason = "helpers of tests are not tests to the lint")]
#![allow(clippy::format_collect, clippy::format_push_string, reason = "small texts made for a test")]

mod cases;
mod measured;
mod readers;
mod truth;
