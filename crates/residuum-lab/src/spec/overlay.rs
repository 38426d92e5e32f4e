//! One table laid over another: how variants and profiles change a spec.

use super::node::{Node, SpecError, Value};

/// Fields that say what a table is about: naming another one makes the other fields of the table below meaningless.
pub(super) const IDENTITIES: [&str; 6] = ["kind", "response", "preset", "model", "layers", "set"];

impl Node {
    /// This document with `over` laid upon it, table by table. A table that names what it is about (a rule its `kind`, a
    /// device its `response`) replaces the one below; any other changes the fields it has.
    pub(crate) fn overlaid(&self, over: &Self) -> Self {
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
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().find(|(n, _)| n == name).map(|(_, node)| node)
    }

    /// The fields of a table; none of anything else.
    pub(crate) fn entries(&self) -> &[(String, Self)] {
        if let Value::Table(entries) = &self.value { entries } else { &[] }
    }

    /// Sets the field at a dotted path; tables on the way are made. A table is laid over the one that is there.
    pub(crate) fn put(&mut self, path: &str, node: &Self) -> Result<(), SpecError> {
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
    pub(crate) fn without(&self, names: &[&str]) -> Self {
        let Value::Table(entries) = &self.value else { return self.clone() };
        let kept = entries.iter().filter(|(n, _)| !names.contains(&n.as_str())).cloned().collect();
        Self { line: self.line, value: Value::Table(kept) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_change_and_named_tables_are_replaced() {
        let below =
            Node::parse("[rule]\nkind = \"analog\"\nrate = 1\n[training]\nepochs = 30\nbatch = 10").unwrap();
        let above = Node::parse("[rule]\nkind = \"digital\"\n[training]\nepochs = 2\n[data]\nx = 1").unwrap();
        let both = below.overlaid(&above);
        assert_eq!(both.field("rule").unwrap().show(), "{ kind = \"digital\" }");
        assert_eq!(both.field("training").unwrap().show(), "{ epochs = 2, batch = 10 }");
        assert_eq!(both.field("data").unwrap().show(), "{ x = 1 }");
        assert_eq!(both.field("training").unwrap().field("batch").unwrap().line, Some(6));
        assert!(both.without(&["rule"]).field("rule").is_none());
    }

    #[test]
    fn fields_are_put_at_their_paths() {
        let mut node = Node::parse("[rule]\nkind = \"analog\"\nrate = 1\n").unwrap();
        let value = |text: &str| Node::parse(text).unwrap().field("x").unwrap().clone();
        // One field changes, even one that says what the table is about.
        node.put("rule.kind", &value("x = \"digital\"")).unwrap();
        node.put("device.main.radius", &value("x = 2")).unwrap();
        assert_eq!(node.field("rule").unwrap().show(), "{ kind = \"digital\", rate = 1 }");
        assert_eq!(node.field("device").unwrap().show(), "{ main = { radius = 2 } }");
        node.put("rule", &value("x = { rate = 3 }")).unwrap();
        assert_eq!(node.field("rule").unwrap().show(), "{ kind = \"digital\", rate = 3 }");
        assert!(node.put("rule.rate.deep", &value("x = 1")).is_err());
    }
}
