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
pub(super) fn written(per_cent: f64) -> f64 {
    (1e9 * per_cent).round() / 1e9
}

/// Accuracies of ours in per cent, one for each seed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) ends: Vec<f64>,
    /// Whether they were trained as long, and on as many images, as the paper's.
    pub(super) complete: bool,
}

impl Measured {
    pub(super) fn mean(&self) -> f64 {
        Summary::of(self.ends.iter().copied()).mean
    }

    /// Mean and deviation between seeds, as the paper prints them.
    pub(super) fn words(&self) -> String {
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
    pub(super) fn against(&self, paper: Printed, same_order: Option<bool>) -> PaperVerdict {
        let difference = match paper {
            Printed::Mean { mean, .. } => self.mean() - mean,
            // How far above the limit; failing is what is to be reproduced.
            Printed::Below(limit) => (self.mean() - limit).max(0.0),
        };
        let tolerance = match paper {
            Printed::Mean { .. } => self.tolerance(paper),
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
pub(super) fn same_order(ours: (f64, f64), paper: (f64, f64)) -> bool {
    (ours.0 - ours.1) * (paper.0 - paper.1) >= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Printed = Printed::Mean { mean: 97.0, std: 0.3 };

    fn one(end: f64) -> Measured {
        Measured { ends: vec![end], complete: true }
    }

    #[test]
    fn percentages_are_written_as_they_were_measured() {
        let share = 9490.0 / 10_000.0;
        // What multiplication makes of it.
        assert_eq!((100.0 * share).to_string(), "94.89999999999999");
        assert_eq!(written(100.0 * share).to_string(), "94.9");
        assert_eq!(written(98.123_456_789).to_string(), "98.123456789");
        assert!((0..=10_000).all(|n| written(100.0 * f64::from(n) / 10_000.0) == f64::from(n) / 100.0));
    }

    #[test]
    fn three_seeds_are_judged_by_their_error_bars() {
        // se = 0.1/√3 and 0.3/√3, so two standard errors of the difference are 0.365.
        let ends = |centre: f64| Measured { ends: vec![centre - 0.1, centre, centre + 0.1], complete: true };
        assert_eq!(ends(97.36).against(PAPER, None), PaperVerdict::Agrees);
        assert_eq!(ends(97.37).against(PAPER, None), PaperVerdict::DiffersBy("+0.37 points".into()));
        assert_eq!(ends(96.6).against(PAPER, Some(true)), PaperVerdict::SameOrdering("−0.40 points".into()));
        assert_eq!(ends(96.6).against(PAPER, Some(false)), PaperVerdict::DiffersBy("−0.40 points".into()));
        // A training that was cut short has no error bar worth the name.
        let short = Measured { complete: false, ..ends(97.9) };
        assert_eq!(short.against(PAPER, None), PaperVerdict::Agrees);
    }

    #[test]
    fn one_seed_is_judged_by_the_tolerance() {
        assert_eq!(one(96.01).against(PAPER, None), PaperVerdict::Agrees);
        assert_eq!(one(95.9).against(PAPER, None), PaperVerdict::DiffersBy("−1.10 points".into()));
    }

    #[test]
    fn failing_means_staying_below() {
        assert_eq!(one(11.35).against(FAILED, None), PaperVerdict::Agrees);
        // A rule that learns where the paper's does not is no agreement, and neither is the reverse, whatever the order.
        for order in [None, Some(true)] {
            assert_eq!(one(95.0).against(FAILED, order), PaperVerdict::DiffersBy("+80.00 points".into()));
            assert_eq!(one(11.35).against(PAPER, order).words(), "differs by −85.65 points");
        }
    }

    #[test]
    fn orders_are_those_of_the_differences() {
        assert!(same_order((90.0, 10.0), (97.0, 15.0)));
        assert!(!same_order((90.0, 91.0), (97.0, 15.0)));
        assert!(same_order((90.0, 90.0), (97.0, 15.0)));
    }
}
