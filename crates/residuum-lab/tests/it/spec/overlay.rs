//! One document over another.

use residuum_lab::testing::spec::Node;

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
