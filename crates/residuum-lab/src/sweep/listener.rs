use crate::plan::Plan;

/// Watches a sweep. Called from several threads.
pub trait Listener: Sync {
    /// Of `total` trials, `settled` are in the store already.
    fn begins(&self, total: usize, settled: usize) {
        let _ = (total, settled);
    }

    /// A trial begins, or goes on from its checkpoint.
    fn trial_begins(&self, plan: &Plan) {
        let _ = plan;
    }

    /// A share of a trial's steps is done, from 0 to 1.
    fn trial_advances(&self, plan: &Plan, share: f64) {
        let _ = (plan, share);
    }

    /// The newest value of what is watched of a trial: the test accuracy of a network, the gap of a problem.
    fn trial_measured(&self, plan: &Plan, metric: &str, value: f64) {
        let _ = (plan, metric, value);
    }

    /// A trial is over.
    fn trial_ends(&self, plan: &Plan, end: &End) {
        let _ = (plan, end);
    }

    /// Something is not as it should be, and the trial goes on.
    fn warned(&self, plan: &Plan, warning: &str) {
        let _ = (plan, warning);
    }

    /// Whether the user wants to stop; asked often, so it must be cheap.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Nobody listens.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Listener for Silent {}

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Its records are in the store.
    Done,
    /// Another process has settled it.
    Elsewhere,
    /// Another process runs it; it is looked at again later.
    Busy,
    /// It has no result.
    Failed {
        /// Why.
        sentence: String,
        /// Whether the store keeps it as failed.
        kept: bool,
    },
    /// The user stopped it; its checkpoint is there.
    Interrupted,
}
