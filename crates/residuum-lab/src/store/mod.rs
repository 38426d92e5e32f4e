//! The run store: a folder of trials, each under the [`id`](crate::plan::Plan::id) of its content.
//!
//! ```text
//! STORE/store.json                    the schema of the store
//!       trials/<id>/manifest.json     what the trial is, and what it took
//!                   records.csv       its numbers; written last: a trial that has them is done
//!                   run/              of a network: checkpoints, metrics, events
//! ```

mod manifest;
mod row;

pub use manifest::{Kind, Parameter, TrialManifest};
pub use row::{Row, RowError, rows_from_csv, rows_to_csv};
