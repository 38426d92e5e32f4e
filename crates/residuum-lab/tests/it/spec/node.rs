//! Documents with lines: TOML, JSON, literals.

use residuum_lab::testing::spec::Node;

#[test]
fn syntax_errors_have_a_line() {
    let e = Node::parse("a = 1\nb = = 2\n").unwrap_err();
    assert_eq!(e.line, Some(2));
    assert!(e.to_string().starts_with("line 2: not valid TOML"), "{e}");
}

#[test]
fn values_without_text_have_no_lines() {
    let json =
        serde_json::json!({ "steps": 10, "rule": { "kind": "analog", "learning_rate": 0.5, "on": [true, 2] } });
    let node = Node::from_json(&json).unwrap();
    assert_eq!(
        node.show(),
        "{ steps = 10, rule = { kind = \"analog\", learning_rate = 0.5, on = [true, 2] } }"
    );
    assert_eq!(node.error("x").to_string(), "x");
    assert!(Node::from_json(&serde_json::json!({ "a": null })).is_err());
}

#[test]
fn literals_are_what_a_file_would_say() {
    for text in ["1", "1.5", "2e-6", "true", "\"word\"", "{}", "[0]", "{ kind = \"constant\" }", "\"a\\\"b\""] {
        let parsed = Node::parse(&format!("value = {text}")).unwrap();
        assert_eq!(Node::literal(text).unwrap(), parsed.field("value").unwrap().clone().unplaced());
    }
}
