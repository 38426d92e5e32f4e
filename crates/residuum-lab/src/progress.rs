//! How long work tells its caller how far it is, and is told to stop. The library never prints.

/// A listener of long work. Called from several threads.
pub trait Progress: Sync {
    /// `total` units of work named `label` begin.
    fn begin(&self, label: &str, total: u64);

    /// `units` more are done.
    fn advance(&self, units: u64);

    /// The newest value of what is watched.
    fn measured(&self, metric: &str, value: f64) {
        let _ = (metric, value);
    }

    /// Whether the user wants to stop; asked often, so it must be cheap.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Nobody listens.
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
