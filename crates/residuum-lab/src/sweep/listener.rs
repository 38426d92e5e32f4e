use crate::plan::Plan;

/// Receives the progress of a sweep. Called from several threads.
pub trait Listener: Sync {
    /// Of `total` trials, `settled` are already in the store.
    fn begins(&self, total: usize, settled: usize) {
        let _ = (total, settled);
    }

    /// A trial starts, or resumes from its checkpoint.
    fn trial_begins(&self, plan: &Plan) {
        let _ = plan;
    }

    /// A share of a trial's steps is done, from 0 to 1.
    fn trial_advances(&self, plan: &Plan, share: f64) {
        let _ = (plan, share);
    }

    /// The latest value of a trial's watched metric: the test accuracy of a network, the gap of a problem.
    fn trial_measured(&self, plan: &Plan, metric: &str, value: f64) {
        let _ = (plan, metric, value);
    }

    /// A trial is over.
    fn trial_ends(&self, plan: &Plan, end: &End) {
        let _ = (plan, end);
    }

    /// Something is wrong, but the trial continues.
    fn warned(&self, plan: &Plan, warning: &str) {
        let _ = (plan, warning);
    }

    /// Whether the sweep should stop. Called often, so it must be cheap.
    fn cancelled(&self) -> bool {
        false
    }
}

impl Listener for crate::progress::Silent {}

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Its records are in the store.
    Done,
    /// Another process has finished it.
    Elsewhere,
    /// Another process is running it; it is checked again later.
    Busy,
    /// It has no result.
    Failed {
        /// Why.
        sentence: String,
        /// Whether the store keeps it as failed.
        kept: bool,
    },
    /// The user stopped it; its checkpoint is kept.
    Interrupted,
}
