//! Layers selected by name.

use residuum_nn::model::Select;

#[test]
fn patterns_select_by_name() {
    let head = Select::parse("head", "fc");
    assert!(head.includes("fc") && !head.includes("conv1"));
    let some = Select::parse("layer4.*, conv1", "fc");
    assert!(some.includes("layer4.0.conv2") && some.includes("conv1"));
    assert!(!some.includes("layer1.0.conv1") && !some.includes("fc"));
    assert!(Select::parse("*.conv?", "fc") == Select::Names(vec!["*.conv?".into()]));
    assert!(Select::parse("layer*.conv2", "fc").includes("layer3.1.conv2"));
    assert!(!Select::None.includes("fc") && Select::All.includes("fc"));
}
