//! One table laid over another: how variants and profiles change a spec.

use super::reader::{Node, Value};

/// Fields that say what a table is about: naming another one makes the other fields of the table below meaningless.
pub(super) const IDENTITIES: [&str; 5] = ["kind", "response", "preset", "model", "set"];

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
        assert_eq!(both.field("training").unwrap().field("batch").unwrap().line, 6);
        assert!(both.without(&["rule"]).field("rule").is_none());
    }
}
