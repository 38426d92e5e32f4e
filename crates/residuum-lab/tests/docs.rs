//! `docs/reference.md` is what the declarations of fields say.
//!
//! After changing a declaration run `UPDATE_DOCS=1 cargo test --release -p residuum-lab --test docs`.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use residuum_lab::spec::{reference, rule_presets};

#[test]
fn the_reference_of_fields_is_up_to_date() {
    let page = reference::page();
    assert!(page.lines().count() > 200);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(found == page, "docs/reference.md is not what the source says: see the top of this test");
}

#[test]
fn rows_are_whole_and_every_field_is_there() {
    let page = reference::page();
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        assert_eq!(row.replace("\\|", "").matches('|').count(), 6, "{row}");
    }
    for path in [
        "steps",
        "device.response",
        "device.cell.gains",
        "rule.buffer.threshold",
        "readout.ir_drop.strength",
        "sweep.zip",
    ] {
        assert_eq!(page.matches(&format!("| `{path}` |")).count(), 1, "{path}");
    }
}

#[test]
fn paths_of_arrays_parts_and_forms_find_their_fields() {
    let meaning = |path: &str| reference::find(path).map(|field| field.meaning.as_str());
    assert_eq!(meaning("device.residual.radius"), meaning("device.radius"));
    assert_eq!(meaning("device.parts[3].fraction"), Some("how many cells are like this"));
    assert_eq!(meaning("device.shape.median"), Some("over the cells"));
    assert_eq!(meaning("readout.backward.output.noise"), Some("deviation of added noise"));
    assert_eq!(meaning("rule.transfer_rate.constant"), Some("the rate in every step"));
    assert_eq!(meaning("training.schedule.factor"), Some("factor of each drop"));
    assert_eq!(meaning("rule.mixin"), None);
}

#[test]
fn the_table_of_rule_presets_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/rule-presets.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("<!-- made from rule_presets.toml -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- until here -->").unwrap();
    let digital = rule_presets().find("digital", None).unwrap();
    let made = format!(
        "<!-- made from rule_presets.toml -->\nDigital SGD: {:.1} ± {:.1} %.\n\n{}<!-- until here -->",
        100.0 * digital.accuracy,
        100.0 * digital.deviation,
        rule_presets().table()
    );
    let whole = format!("{before}{made}{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &whole).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap() == whole,
        "docs/results/rule-presets.md: see the top of this test"
    );
}
