//! Names of metrics, and the steps that are recorded.

use residuum_lab::spec::Metric;
use residuum_lab::testing::spec::every;

#[test]
fn every_name_parses_to_itself() {
    for name in Metric::names() {
        assert_eq!(Metric::parse(&name).map(|m| m.to_string()), Some(name));
    }
    assert_eq!(Metric::parse("loss"), None);
}

#[test]
fn the_last_step_is_always_recorded() {
    assert_eq!(every(4, 10), [0, 4, 8, 10]);
    assert_eq!(every(5, 10), [0, 5, 10]);
    assert_eq!(every(1, 0), [0]);
}
