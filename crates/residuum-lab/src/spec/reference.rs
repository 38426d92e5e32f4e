//! What the declarations say of every field: for `residuum explain`, and as `docs/reference.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::file::FileTable;
use super::grid::GridTable;
use super::section::{Declaration, Default, Field, Section as _};

/// The field that a dotted path of a spec is about.
pub fn find(path: &str) -> Option<&'static Field> {
    let mut tables = vec![FileTable::declaration(), GridTable::declaration()];
    let mut found = None;
    for name in path.split('.') {
        let name = name.split('[').next().unwrap_or(name);
        let field = tables.iter().find_map(|table| table.field(name))?;
        tables = (tables.iter().flat_map(|table| &table.fields))
            .filter(|other| other.name == name)
            .flat_map(|other| other.tables.iter().map(|table| table()))
            .collect();
        found = Some(field);
    }
    found
}

/// Every declared table, each once, with its title: tables of the file first, then those that several fields share.
struct Page {
    /// How many fields lead to a table.
    uses: BTreeMap<&'static str, BTreeSet<String>>,
    text: String,
    shared: Vec<&'static Declaration>,
}

/// The reference of every field, in Markdown.
pub fn page() -> String {
    let mut page = Page {
        uses: BTreeMap::new(),
        shared: Vec::new(),
        text: String::from(
            "# Every field of a spec\n\nGenerated from the declarations that read a spec. A field marked *of* some words applies only if \
             the field that selects the kind has one of them. Weights and rates are in the units of the problem: weights are in the \
             units of the device's bounds. `spec.md` explains how to write specs.\n",
        ),
    };
    for root in [FileTable::declaration(), GridTable::declaration()] {
        page.count(root, "");
    }
    page.table(
        "The file",
        "",
        FileTable::declaration(),
        &FileTable::declaration().fields.iter().collect::<Vec<_>>(),
    );
    page.section("Cells, variants, profiles, sweeps", "", GridTable::declaration());
    for field in &FileTable::declaration().fields {
        for table in &field.tables {
            if !page.is_shared(table().name) {
                page.section(&format!("`[{}]`", field.name), field.name, table());
            }
        }
    }
    let mut done = BTreeSet::new();
    while let Some(next) = page.shared.iter().position(|table| !done.contains(table.name)) {
        let table = page.shared[next];
        done.insert(table.name);
        page.section(&format!("Form: {}", title(table)), "…", table);
    }
    page.text
}

/// The words for a table that several fields share.
fn title(table: &Declaration) -> String {
    let words = table.name.strip_suffix("Table").unwrap_or(table.name);
    let mut title = String::new();
    for letter in words.chars() {
        if letter.is_uppercase() && !title.is_empty() {
            title.push(' ');
        }
        title.extend(letter.to_lowercase());
    }
    title
}

impl Page {
    fn count(&mut self, table: &'static Declaration, path: &str) {
        for field in &table.fields {
            let path = format!("{path}.{}", field.name);
            for below in &field.tables {
                let below = below();
                let places = self.uses.entry(below.name).or_default();
                // One table for main and residual, and for the reads, has one place.
                if places.insert(format!("{}.{}", table.name, field.name)) {
                    self.count(below, &path);
                }
            }
        }
    }

    fn is_shared(&self, name: &str) -> bool {
        let own = ["DeviceTable", "ReadTable"];
        !own.contains(&name) && self.uses.get(name).is_some_and(|places| places.len() > 1)
    }

    /// A heading and all fields of a table, those of its own tables included.
    fn section(&mut self, title: &str, path: &str, table: &'static Declaration) {
        let fields: Vec<&'static Field> = table.fields.iter().collect();
        self.table(title, path, table, &fields);
    }

    fn table(&mut self, title: &str, path: &str, table: &'static Declaration, fields: &[&'static Field]) {
        let _ = writeln!(self.text, "\n## {title}\n\n{}\n", table.text);
        self.text += "| field | takes | unit | default | meaning |\n|---|---|---|---|---|\n";
        self.rows(path, table, fields, path.is_empty() && title == "The file");
    }

    fn rows(&mut self, path: &str, table: &'static Declaration, fields: &[&'static Field], is_root: bool) {
        for field in fields {
            let path = if path.is_empty() { field.name.to_string() } else { format!("{path}.{}", field.name) };
            let mut takes = field.takes.clone();
            let mut below = Vec::new();
            for next in &field.tables {
                let next = next();
                if self.is_shared(next.name) {
                    self.shared.push(next);
                    let _ = write!(takes, " (see {})", self::title(next));
                } else if !is_root
                    && next.name != table.name
                    && !["DeviceTable", "ReadTable"].contains(&next.name)
                {
                    below.push(next);
                }
            }
            let default = match field.default {
                Default::Required => "required".to_string(),
                Default::Value("{}") => "the defaults of its fields".to_string(),
                Default::Value(value) => format!("`{value}`"),
                Default::Words(words) => words.to_string(),
            };
            let row = [format!("`{path}`"), takes, field.unit.to_string(), default, meaning(table, field)];
            let row = row.map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(self.text, "| {} |", row.join(" | "));
            for next in below {
                let fields: Vec<&'static Field> = next.fields.iter().collect();
                self.rows(&path, next, &fields, false);
            }
        }
    }
}

/// What a field means, and when it is there.
fn meaning(table: &Declaration, field: &Field) -> String {
    let conditions = field.conditions.iter().map(|condition| {
        let values: Vec<String> = condition.values.iter().map(|value| format!("`{value}`")).collect();
        if table.by.first() == Some(&condition.field) {
            values.join(", ")
        } else {
            format!("{} = {}", condition.field, values.join(" or "))
        }
    });
    let conditions: Vec<String> = conditions.collect();
    if conditions.is_empty() {
        field.meaning.clone()
    } else {
        format!("of {}: {}", conditions.join(" with "), field.meaning)
    }
}
