//! A measured number beside a printed one.

use residuum_lab::reproduce::PaperVerdict;
use residuum_lab::reproduce::paper::{FAILED, Printed};
use residuum_lab::testing::reproduce::{Measured, same_order, written};

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
