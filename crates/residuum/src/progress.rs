//! Progress reports and cancellation for long work. The library itself never prints.

/// Receives the progress of long work. Called from several threads.
pub trait Progress: Sync {
    /// `total` units of work named `label` begin.
    fn begin(&self, label: &str, total: u64);

    /// `units` more have been done.
    fn advance(&self, units: u64);

    /// The latest value of the watched metric.
    fn measured(&self, metric: &str, value: f64) {
        let _ = (metric, value);
    }

    /// Something the user should know, in one sentence.
    fn warned(&self, warning: &str) {
        let _ = warning;
    }

    /// Whether the work should stop. Called often, so it must be cheap.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Ignores progress and never cancels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
}

/// The user stopped the work; nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted; nothing was written")]
pub struct Cancelled;
