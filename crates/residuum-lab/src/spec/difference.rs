//! Where two specs differ, and specs in between.

use std::fmt::Write as _;
use std::path::Path;

use super::grid::Grid;
use super::node::{Node, SpecError, Value};
use super::overlay::IDENTITIES;

/// Fields that may differ without changing what is computed, and those that must be the same in both.
const ASIDE: [&str; 3] = ["title", "name", "seeds"];

/// Fields that name a file or a folder, in whichever table.
const PATHS: [&str; 13] = [
    "csv",
    "weights",
    "directory",
    "npz",
    "test",
    "images",
    "labels",
    "test_images",
    "test_labels",
    "x",
    "y",
    "x_test",
    "y_test",
];

/// A field that two documents do not share.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Where it is, from the root.
    pub path: Vec<String>,
    /// What it is in either document, if it is there.
    pub sides: [Option<Node>; 2],
}

impl Node {
    /// The fields in which two documents differ. A table that is about another thing in the other document (another rule, another
    /// response) differs as a whole: its fields mean nothing to the other. Titles and seeds are passed over.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let mut found = Vec::new();
        compare(&mut Vec::new(), Some(self), Some(other), &mut found);
        found
    }

    /// This document with one field changed, or without it.
    pub fn with(&self, path: &[String], value: Option<&Self>) -> Self {
        let Some((name, rest)) = path.split_first() else { return value.unwrap_or(self).clone() };
        let mut entries = match &self.value {
            Value::Table(entries) => entries.clone(),
            _ => Vec::new(),
        };
        let empty = Self { line: self.line, value: Value::Table(Vec::new()) };
        let place = entries.iter().position(|(n, _)| n == name);
        let below = place.map_or(&empty, |i| &entries[i].1);
        let new = match value {
            None if rest.is_empty() => None,
            // A table from which the last field was taken was not there before it was put in.
            _ => Some(below.with(rest, value))
                .filter(|node| !matches!(&node.value, Value::Table(e) if e.is_empty())),
        };
        match (place, new) {
            (Some(i), Some(node)) => entries[i].1 = node,
            (Some(i), None) => drop(entries.remove(i)),
            (None, Some(node)) => entries.push((name.clone(), node)),
            (None, None) => {}
        }
        Self { line: self.line, value: Value::Table(entries) }
    }

    /// The document as TOML, a field of the root in each line.
    pub fn to_toml(&self) -> String {
        let Value::Table(entries) = &self.value else { return self.inline() };
        let lines: Vec<String> =
            entries.iter().map(|(name, node)| format!("{} = {}", key(name), node.inline())).collect();
        lines.join("\n") + "\n"
    }

    /// The value as TOML in one line.
    pub fn inline(&self) -> String {
        match &self.value {
            Value::Integer(i) => i.to_string(),
            Value::Number(x) if x.is_nan() => "nan".into(),
            Value::Number(x) => format!("{x:?}"),
            Value::Text(s) => quoted(s),
            Value::Bool(b) => b.to_string(),
            Value::List(items) => {
                format!("[{}]", items.iter().map(Self::inline).collect::<Vec<_>>().join(", "))
            }
            Value::Table(entries) => {
                let fields = entries.iter().map(|(k, v)| format!("{} = {}", key(k), v.inline()));
                format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// The document of one trial: what its cell, its variant, the sweep and the profile make of the file. Trials are named by these,
    /// joined by `-`; the name may be left out if there is one trial.
    pub fn trial(&self, name: Option<&str>, profile: Option<&str>) -> Result<Self, SpecError> {
        let grid = Grid::read(self, profile)?;
        let mut names = Vec::new();
        let places = grid.places()?;
        for place in &places {
            let point = grid.point(place)?;
            let changes = [point.cell, point.variant].into_iter().flatten().map(|c| c.name.as_str());
            let own = changes.chain(point.swept.iter().map(|(_, value)| *value)).collect::<Vec<_>>().join("-");
            if name == Some(&own) || (name.is_none() && places.len() == 1) {
                return Ok(point.node);
            }
            names.push(own);
        }
        let given = name.map_or_else(|| "none".into(), |name| format!("{name:?}"));
        let message = format!("trial must be one of {}, got {given}", names.join(", "));
        Err(SpecError { line: None, message })
    }

    /// The document in which each of these fields, by its dotted path, has its value in TOML notation.
    fn of_fields<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Self, SpecError> {
        let mut document = Self { line: None, value: Value::Table(Vec::new()) };
        for (path, value) in fields {
            let value = Self::parse(&format!("value = {value}"))?;
            let path: Vec<String> = path.split('.').map(String::from).collect();
            document = document.with(&path, value.field("value"));
        }
        Ok(document)
    }

    /// This document with its paths, which are relative to `base`, relative to the current folder.
    pub fn rebased(&self, base: &Path) -> Self {
        let place = |(name, node): &(String, Self)| {
            let value = match &node.value {
                Value::Text(path) if PATHS.contains(&name.as_str()) => {
                    Value::Text(base.join(path).to_string_lossy().into_owned())
                }
                _ => node.rebased(base).value,
            };
            (name.clone(), Self { line: node.line, value })
        };
        let value = match &self.value {
            Value::Table(entries) => Value::Table(entries.iter().map(place).collect()),
            Value::List(items) => Value::List(items.iter().map(|item| item.rebased(base)).collect()),
            other => other.clone(),
        };
        Self { line: self.line, value }
    }

    /// This document with the seeds of another.
    pub fn with_seeds_of(&self, other: &Self) -> Self {
        let paths: [&[&str]; 2] = [&["seeds"], &["training", "seeds"]];
        let mut node = self.clone();
        for path in paths {
            let seeds = path.iter().try_fold(other, |node, name| node.field(name));
            node = node.with(&path.iter().map(|name| (*name).to_string()).collect::<Vec<_>>(), seeds);
        }
        node
    }
}

/// A spec from its fields: dotted paths, and values in TOML notation.
pub(crate) fn joined<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Result<String, SpecError> {
    Ok(Node::of_fields(fields)?.to_toml())
}

fn compare(path: &mut Vec<String>, a: Option<&Node>, b: Option<&Node>, found: &mut Vec<Difference>) {
    if a.map(Node::inline) == b.map(Node::inline) {
        return;
    }
    let table = |node: Option<&Node>| match node.map(|n| &n.value) {
        None => Some(Vec::new()),
        Some(Value::Table(entries)) => Some(entries.clone()),
        Some(_) => None,
    };
    let identity = |node: Option<&Node>| {
        let field = |name: &&str| node.and_then(|n| n.field(name)).map(Node::inline);
        IDENTITIES.iter().map(field).collect::<Vec<_>>()
    };
    match (table(a), table(b)) {
        (Some(below), Some(above)) if path.is_empty() || identity(a) == identity(b) => {
            let mut names: Vec<&String> = below.iter().map(|(n, _)| n).collect();
            names.extend(above.iter().map(|(n, _)| n).filter(|n| !below.iter().any(|(m, _)| m == *n)));
            for name in names.into_iter().filter(|n| !ASIDE.contains(&n.as_str())) {
                path.push(name.clone());
                let field = |node: Option<&Node>| node.and_then(|n| n.field(name)).cloned();
                compare(path, field(a).as_ref(), field(b).as_ref(), found);
                path.pop();
            }
        }
        _ => found.push(Difference { path: path.clone(), sides: [a.cloned(), b.cloned()] }),
    }
}

fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { name.into() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    let mut safe = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                safe.push('\\');
                safe.push(letter);
            }
            control if control.is_control() => {
                let _ = write!(safe, "\\u{:04X}", control as u32);
            }
            other => safe.push(other),
        }
    }
    safe + "\""
}
