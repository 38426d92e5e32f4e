//! When an ablation counts as saturated.

use residuum_lab::reproduce::PaperVerdict;
use residuum_lab::testing::reproduce::saturates;

#[test]
fn saturation_needs_a_gain_that_stops() {
    assert_eq!(saturates(&[80.0, 90.0, 91.0, 92.0, 91.0]), PaperVerdict::SameOrdering(String::new()));
    assert_eq!(saturates(&[80.0, 84.0, 88.0, 92.0, 96.0]), PaperVerdict::Differs, "no saturation");
    assert_eq!(saturates(&[90.0, 90.0, 90.0, 90.0, 90.0]), PaperVerdict::Differs, "no gain");
    assert_eq!(saturates(&[80.0, 90.0, 90.0, 90.0, 60.0]), PaperVerdict::Differs, "a fall");
}
