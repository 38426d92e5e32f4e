//! Checks accept up to their tolerance and no further.

use residuum::stats::Summary;
use residuum_claims::{Check, Verdict};

#[test]
fn relations_accept_up_to_the_tolerance_and_never_nan() {
    assert_eq!(Check::equals("", 1.1, 1.0, 0.11).verdict, Verdict::Holds);
    assert_eq!(Check::equals("", 1.1, 1.0, 0.09).verdict, Verdict::Fails);
    assert_eq!(Check::at_most("", 0.5, 1.0, 0.0).verdict, Verdict::Holds);
    assert_eq!(Check::at_most("", 1.5, 1.0, 0.4).verdict, Verdict::Fails);
    assert_eq!(Check::at_least("", 0.5, 1.0, 0.4).verdict, Verdict::Fails);
    for check in [Check::equals, Check::at_most, Check::at_least].map(|c| c("", f64::NAN, 1.0, 9.0)) {
        assert_eq!(check.verdict, Verdict::Fails);
        assert_eq!(check.misprinted().verdict, Verdict::Fails, "NaN refutes nothing");
    }
}

#[test]
fn bounds_have_slack_and_sampling_errors_count_against_them() {
    let slack = |check: Check| check.comparison.and_then(|c| c.slack());
    assert_eq!(slack(Check::at_most("", 2.0, 8.0, 0.0)), Some(4.0));
    assert_eq!(slack(Check::at_least("", 8.0, 2.0, 0.0)), Some(4.0));
    assert_eq!(slack(Check::at_most("", -1.0, 0.0, 0.0)), None);
    assert_eq!(slack(Check::equals("", 1.0, 1.0, 0.0)), None);
    let sample = Summary { n: 100, mean: 1.0, std: 1.0, se: 0.1 };
    assert_eq!(Check::mean_at_most("", sample, 1.4).verdict, Verdict::Fails);
    assert_eq!(Check::mean_at_least("", sample, 0.6).verdict, Verdict::Fails);
    assert_eq!(Check::mean_at_most("", sample, 1.5).verdict, Verdict::Holds);
}

#[test]
fn a_printed_mistake_must_fail() {
    assert_eq!(Check::at_most("", 2.0, 1.0, 0.0).misprinted().verdict, Verdict::AsPrintedFails);
    assert_eq!(Check::at_most("", 0.0, 1.0, 0.0).misprinted().verdict, Verdict::Fails);
}
