//! One table laid over another: how variants and profiles change a spec.

use super::node::{Node, SpecError, Value};

/// Fields that say what a table is about: naming another one makes the other fields of the table below meaningless.
pub(super) const IDENTITIES: [&str; 6] = ["kind", "response", "preset", "model", "layers", "set"];

impl Node {
    /// This document with `over` laid upon it, table by table. A table that names what it is about (a rule its `kind`, a
    /// device its `response`) replaces the one below; any other changes the fields it has.
    pub fn overlaid(&self, over: &Self) -> Self {
        let (Value::Table(below), Value::Table(above)) = (&self.value, &over.value) else {
            return over.clone();
        };
        if above.iter().any(|(name, _)| IDENTITIES.contains(&name.as_str())) {
            return over.clone();
        }
        let mut entries = below.clone();
        for (name, node) in above {
            match entries.iter_mut().find(|(n, _)| n == name) {
                Some((_, old)) => *old = old.overlaid(node),
                None => entries.push((name.clone(), node.clone())),
            }
        }
        Self { line: self.line, value: Value::Table(entries) }
    }

    /// The field `name` of a table.
    pub fn field(&self, name: &str) -> Option<&Self> {
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().find(|(n, _)| n == name).map(|(_, node)| node)
    }

    /// The fields of a table; none of anything else.
    pub fn entries(&self) -> &[(String, Self)] {
        if let Value::Table(entries) = &self.value { entries } else { &[] }
    }

    /// Sets the field at a dotted path; tables on the way are made. A table is laid over the one that is there.
    pub fn put(&mut self, path: &str, node: &Self) -> Result<(), SpecError> {
        let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
        let Value::Table(entries) = &mut self.value else {
            return Err(node.error(format!(
                "{name} must be a field of a table, got {} instead of the table",
                self.show()
            )));
        };
        let i = entries.iter().position(|(n, _)| n == name).unwrap_or_else(|| {
            entries.push((name.into(), Self { line: node.line, value: Value::Table(Vec::new()) }));
            entries.len() - 1
        });
        let found = &mut entries[i].1;
        match rest {
            Some(rest) => return found.put(rest, node),
            None => *found = found.overlaid(node),
        }
        Ok(())
    }

    /// This table without some of its fields.
    pub fn without(&self, names: &[&str]) -> Self {
        let Value::Table(entries) = &self.value else { return self.clone() };
        let kept = entries.iter().filter(|(n, _)| !names.contains(&n.as_str())).cloned().collect();
        Self { line: self.line, value: Value::Table(kept) }
    }
}
