//! `docs/reference.md`.

use std::fmt::Write as _;

use super::{Default, sections};

/// The reference of every field, in Markdown.
pub fn page() -> String {
    let mut text = String::from(
        "# Every field of a spec\n\nMade from the tables that `residuum explain` reads; a test compares them with what the readers ask \
         for. Weights and rates are in the units of the problem: a weight is what the device's bounds are measured in.\n",
    );
    for section in sections() {
        let _ = writeln!(text, "\n## {}\n\n{}\n", section.title, section.text);
        text += "| field | type | unit | default | meaning |\n|---|---|---|---|---|\n";
        for field in section.fields {
            let default = match field.default {
                Default::Required => "required".to_string(),
                Default::Value(value) => format!("`{value}`"),
                Default::Words(words) => words.to_string(),
            };
            let takes = match field.form {
                Some(form) => format!("{} (see `{form}`)", field.takes),
                None => field.takes.to_string(),
            };
            let row = [&format!("`{}`", field.path), &takes, field.unit, &default, field.meaning];
            let row = row.map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
    }
    text
}
