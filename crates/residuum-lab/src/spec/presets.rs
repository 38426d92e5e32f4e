//! `rule = { preset = "agad" }`: settings of a rule on a shipped device, found by `residuum tune`.
//!
//! `presets.csv` has a row for each rule and device preset: the settings, and the evidence for them. Fields that stand beside
//! `preset` override its own.

use super::node::{Node, SpecError, Value};

/// The settings with their evidence.
const PRESETS: &str = include_str!("presets.csv");

/// The settings of one rule on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct RulePreset {
    /// The device preset; `any` for a digital rule.
    pub device: String,
    /// The kind of the rule.
    pub rule: String,
    /// Fields and values, in TOML notation.
    pub fields: Vec<(String, String)>,
    /// Mean and deviation of the test accuracy over the seeds.
    pub accuracy: [f64; 2],
}

/// Every preset. Columns of the file that do not name a field are evidence.
pub fn rule_presets() -> Vec<RulePreset> {
    const FIELDS: [&str; 6] =
        ["learning_rate", "transfer_rate", "mixing", "threshold", "every", "symmetric_point"];
    let mut reader = csv::Reader::from_reader(PRESETS.as_bytes());
    let header = reader.headers().cloned().unwrap_or_default();
    let rows = reader.records().filter_map(Result::ok);
    rows.map(|row| {
        let cell =
            |name: &str| header.iter().position(|own| own == name).and_then(|i| row.get(i)).unwrap_or("");
        let number = |name: &str| cell(name).parse().unwrap_or(f64::NAN);
        let given = FIELDS.iter().filter(|name| !cell(name).is_empty());
        RulePreset {
            device: cell("device").into(),
            rule: cell("rule").into(),
            fields: given.map(|name| ((*name).to_string(), cell(name).to_string())).collect(),
            accuracy: [number("test_mean"), number("test_std")],
        }
    })
    .collect()
}

/// The document with the preset of its rule in place of the word for it.
pub(crate) fn with_rule_preset(document: &Node) -> Result<Option<Node>, SpecError> {
    let Some(rule) = document.field("rule") else { return Ok(None) };
    let Some(node) = rule.field("preset") else { return Ok(None) };
    let all = rule_presets();
    let wanted = node.as_text().ok_or_else(|| node.error("rule.preset must be text in quotes"))?;
    if let Some(kind) = rule.field("kind") {
        return Err(kind.error("rule.kind must not stand beside preset, which names it"));
    }
    let device = document.field("device").and_then(|device| {
        let main = device.field("main").unwrap_or(device);
        main.field("preset")?.as_text()
    });
    let found =
        all.iter().find(|p| p.rule == wanted && (p.device == "any" || Some(p.device.as_str()) == device));
    let Some(found) = found else {
        let mut rules: Vec<&str> = all.iter().map(|p| p.rule.as_str()).collect();
        rules.sort_unstable();
        rules.dedup();
        let message = match device {
            _ if !rules.contains(&wanted) => {
                format!("rule.preset must be one of {}, got {wanted:?}", rules.join(", "))
            }
            Some(device) => format!(
                "rule.preset = {wanted:?} has no settings for device.preset = {device:?}; `residuum tune` finds some"
            ),
            None => format!(
                "rule.preset = {wanted:?} needs device.preset, since settings are found for a device; `residuum tune` finds some for others"
            ),
        };
        return Err(node.error(message));
    };
    let mut made = rule.without(&["preset"]);
    let plain = |value| Node { line: node.line, value };
    made.put("kind", &plain(Value::Text(found.rule.clone())))?;
    for (name, value) in &found.fields {
        if rule.field(name).is_none() {
            made.put(name, &Node { line: node.line, ..Node::literal(value)? })?;
        }
    }
    Ok(Some(document.with(&["rule".into()], Some(&made))))
}
