//! The lab: specs, sweeps, reports and reproductions.
//!
//! One program for all of them: each would link the whole library again.

#![allow(clippy::unwrap_used, reason = "helpers of tests are not tests to the lint")]

mod book;
mod compare;
mod device_file;
mod device_report;
mod experiment_specs;
mod explain_memory;
mod explain_report;
mod features;
mod files;
mod grid;
mod layer_lists;
mod one_dialect;
mod own_data;
mod plan;
mod report;
mod reproduce;
mod reproduce_networks;
mod rule_presets;
mod run_errors;
mod run_goldens;
mod schema;
mod setup;
mod shipped_lists;
mod spec;
mod store_row;
mod sweep;
mod sweep_common;
mod sweep_kill;
mod table;
mod trust;
mod tune_choice;
mod tune_search;
