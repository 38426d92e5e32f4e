//! Device files of AIHWKIT.

use std::path::Path;

use residuum::device::aihwkit::Class;
use residuum_lab::testing::spec::device;
use serde_json::{Value as Json, json};

#[test]
fn every_class_is_read_with_its_own_parameters() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/aihwkit/parameters.json");
    let golden: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut read = 0;
    for (name, class) in golden["devices"].as_object().unwrap() {
        let Some(default) = Class::named(name) else { continue };
        let mut file = class["fields"].clone();
        file["class"] = json!(name);
        assert_eq!(device(&file).ok(), default.to_device().ok(), "{name}");
        read += 1;
    }
    assert_eq!(read, 9);
}

#[test]
fn slips_are_named() {
    let message = |file: Json| device(&file).unwrap_err();
    assert_eq!(
        message(json!({ "class": "PowStepDevice", "gamma": 1 })),
        "gamma is not a parameter of this class"
    );
    assert!(
        message(json!({ "class": "PowStepDevice", "dw_min": true })).starts_with("dw_min must be a number")
    );
    assert!(message(json!({ "class": "OneSidedUnitCell" })).contains("must be a pulsed device"));
    let drift = json!({ "class": "PowStepDevice", "drift": { "nu": "0.1" } });
    assert_eq!(message(drift), "drift.nu must be a number, got \"0.1\"");
    let half = device(&json!({ "class": "PowStepDevice", "pow_gamma": 0.5 })).unwrap();
    assert_ne!(Some(half), Class::named("PowStepDevice").and_then(|class| class.to_device().ok()));
}
