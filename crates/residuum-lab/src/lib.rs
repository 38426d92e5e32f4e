//! Experiments for `residuum` as files: what to run, what to record, and which figures to draw.

pub mod compare;
pub mod device_fit;
pub mod device_parameters;
pub mod device_report;
pub mod execute;
pub mod explain;
pub mod files;
pub mod plan;
pub mod rates;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod source;
pub mod spec;
pub mod store;
pub mod style;
pub mod sweep;
pub mod table;
#[doc(hidden)]
pub mod testing;
pub mod train;
pub mod tune;

pub use residuum::progress;
pub use residuum_claims as verify;
pub use residuum_plot as figure;
