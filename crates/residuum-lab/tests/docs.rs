//! `docs/experiments.md` is what the readers of a spec say of themselves, `docs/reference.md` the tables of all fields.
//!
//! After changing a field's documentation run `UPDATE_DOCS=1 cargo test --release -p residuum-lab --test docs`.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::Path;

/// The module documentation of each table of an experiment.
const MODULES: [(&str, &str); 7] = [
    ("Experiments with networks", include_str!("../src/spec/experiment.rs")),
    ("Network", include_str!("../src/spec/network.rs")),
    ("Data", include_str!("../src/spec/data.rs")),
    ("Device", include_str!("../src/spec/tile_device.rs")),
    ("Rule", include_str!("../src/spec/tile_rule.rs")),
    ("Readout", include_str!("../src/spec/readout.rs")),
    ("Training, digital parameters, mapping", include_str!("../src/spec/training.rs")),
];

fn reference() -> String {
    let mut text = String::new();
    for (n, (title, source)) in MODULES.into_iter().enumerate() {
        let level = if n == 0 { "#" } else { "\n##" };
        writeln!(text, "{level} {title}\n").unwrap();
        for line in source.lines().map_while(|line| line.strip_prefix("//!")) {
            text += line.strip_prefix(' ').unwrap_or(line);
            text.push('\n');
        }
        if n == 0 {
            text += "\nThis page is made from the source; `experiments/*.toml` are examples of every table.\n";
        }
    }
    text
}

fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(found == text, "docs/{name} is not what the source says: see the top of this test");
}

#[test]
fn the_page_of_experiments_is_up_to_date() {
    let reference = reference();
    assert!(MODULES.iter().all(|(title, _)| reference.contains(title)) && reference.lines().count() > 100);
    compare("experiments.md", &reference);
}

#[test]
fn the_reference_of_fields_is_up_to_date() {
    let page = residuum_lab::spec::reference::page();
    assert!(page.lines().count() > 200);
    compare("reference.md", &page);
}
