//! How one of our numbers compares with the paper's.

use std::borrow::Cow;

use residuum::stats::Summary;
use serde::{Serialize, Serializer};

use super::paper::{FAILED, Printed};

/// Points of accuracy within which a single or an unfinished run is said to agree, since it has no error bar of its own. The
/// paper calls accuracies that differ by less comparable.
pub const ONE_RUN_TOLERANCE: f64 = 1.0;

/// How a claim or a number of the paper fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaperVerdict {
    /// The numbers support it: within the error bars, or the stated tolerance.
    Agrees,
    /// The number is another one, by so much, but the rules stand in the same order; or the order is all there is to compare.
    SameOrdering(String),
    /// The numbers contradict the claim.
    Differs,
    /// The number is another one, by so much.
    DiffersBy(String),
    /// The paper does not speak of it.
    NotStated,
    /// Nothing was measured, and why.
    NotRun(String),
}

impl PaperVerdict {
    /// For a claim that the numbers support or contradict.
    pub(super) fn of(holds: bool) -> Self {
        if holds { Self::Agrees } else { Self::Differs }
    }

    /// The words of the table.
    pub fn words(&self) -> Cow<'static, str> {
        match self {
            Self::Agrees => "agrees".into(),
            Self::SameOrdering(by) if by.is_empty() => "same ordering".into(),
            Self::SameOrdering(by) => format!("same ordering, differs by {by}").into(),
            Self::Differs => "differs".into(),
            Self::DiffersBy(by) => format!("differs by {by}").into(),
            Self::NotStated => "not stated in the paper".into(),
            Self::NotRun(reason) => format!("not run: {reason}").into(),
        }
    }
}

impl Serialize for PaperVerdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.words())
    }
}

/// A percentage without the digits that only rounding left: 94.9, not 94.89999999999999. A share of a million images has six
/// decimals, their mean a few more.
pub fn written(per_cent: f64) -> f64 {
    (1e9 * per_cent).round() / 1e9
}

/// Accuracies of ours in per cent, one for each seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// One for each seed.
    pub ends: Vec<f64>,
    /// Whether they were trained as long, and on as many images, as the paper's.
    pub complete: bool,
}

impl Measured {
    /// Mean over the seeds.
    pub fn mean(&self) -> f64 {
        Summary::of(self.ends.iter().copied()).mean
    }

    /// Mean and deviation between seeds, as the paper prints them.
    pub fn words(&self) -> String {
        let summary = Summary::of(self.ends.iter().copied());
        if self.ends.len() > 1 {
            return format!("{:.2} ± {:.2}", summary.mean, summary.std);
        }
        format!("{:.2}", summary.mean)
    }

    fn standard_error(&self) -> Option<f64> {
        (self.complete && self.ends.len() > 1).then(|| Summary::of(self.ends.iter().copied()).se)
    }

    /// How far a mean of the paper may be away: two standard errors of the difference, or the tolerance of a single run.
    fn tolerance(&self, paper: Printed) -> f64 {
        match (self.standard_error(), paper.standard_error()) {
            (Some(ours), Some(theirs)) => 2.0 * ours.hypot(theirs),
            _ => ONE_RUN_TOLERANCE,
        }
    }

    /// The verdict on one number. `same_order` tells whether the rules of its cell stand as in the paper, if that is known.
    pub fn against(&self, paper: Printed, same_order: Option<bool>) -> PaperVerdict {
        let difference = match paper {
            Printed::Mean { mean, .. } | Printed::Alone(mean) => self.mean() - mean,
            // How far above the limit; failing is what is to be reproduced.
            Printed::Below(limit) => (self.mean() - limit).max(0.0),
        };
        let tolerance = match paper {
            Printed::Mean { .. } | Printed::Alone(_) => self.tolerance(paper),
            Printed::Below(_) => 0.0,
        };
        if difference.abs() <= tolerance {
            return PaperVerdict::Agrees;
        }
        let ordered = same_order == Some(true) && same_fate(self.mean(), paper.level());
        off_by(points(difference), ordered)
    }
}

/// The verdict on a number that is another one, `ordered` if the rules stand as in the paper nevertheless.
pub(super) fn off_by(difference: String, ordered: bool) -> PaperVerdict {
    if ordered { PaperVerdict::SameOrdering(difference) } else { PaperVerdict::DiffersBy(difference) }
}

/// Whether both learned or neither did: where one of two numbers is that of chance, the order of the rules says little.
pub(super) fn same_fate(ours: f64, paper: f64) -> bool {
    let learned = |accuracy: f64| accuracy > FAILED.level();
    learned(ours) == learned(paper)
}

/// A signed difference of accuracies.
pub(super) fn points(difference: f64) -> String {
    format!("{difference:+.2} points").replace('-', "−")
}

/// Whether two pairs of numbers are in the same order; equal ones are in both.
pub fn same_order(ours: (f64, f64), paper: (f64, f64)) -> bool {
    (ours.0 - ours.1) * (paper.0 - paper.1) >= 0.0
}
