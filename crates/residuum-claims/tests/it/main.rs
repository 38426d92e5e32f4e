//! The claims, their broken twins, and the report on both.

#![allow(clippy::unwrap_used, reason = "helpers of tests are not tests to the lint")]

mod check;
mod claims;
mod moments;
mod report;
mod twins;
