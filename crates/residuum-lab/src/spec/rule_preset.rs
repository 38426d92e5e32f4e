//! `rule = { preset = "agad" }`: the settings that `residuum tune` found for a rule on a device of the literature.
//!
//! They stand in `rule_presets.toml` with their evidence; docs/results/rule-presets.md says how the file is made. A preset becomes
//! the fields it stands for before the spec is read, so that a trial is the same however its settings were named.

use std::fmt::Write as _;
use std::sync::OnceLock;

use super::node::{Node, SpecError, Value};

/// The settings as `residuum tune --presets` wrote them.
const FILE: &str = include_str!("rule_presets.toml");

/// Of the file: increased whenever its settings change.
pub const RULE_PRESETS_VERSION: u64 = 2;

/// All settings, and what they share.
#[derive(Clone, Debug, PartialEq)]
pub struct RulePresets {
    /// Of the settings.
    pub version: u64,
    /// The network, the data and the length of training on which they were found.
    pub evidence: String,
    /// Trials that were spent on each, unless it says otherwise.
    pub trials: u64,
    /// Seeds with which each was measured on the test samples, unless it says otherwise.
    pub seeds: u64,
    /// Accuracy of guessing.
    pub chance: f64,
    /// One for each rule and device, in the order of the file.
    pub presets: Vec<RulePreset>,
}

/// The settings of a rule on a device.
#[derive(Clone, Debug, PartialEq)]
pub struct RulePreset {
    /// The kind of the rule.
    pub rule: String,
    /// `device.preset`; none for a rule without devices.
    pub device: Option<String>,
    /// Fields of `[rule]`.
    settings: Node,
    /// Mean test accuracy.
    pub accuracy: f64,
    /// Between seeds.
    pub deviation: f64,
    /// Trials of its search.
    pub trials: u64,
    /// Seeds of its accuracy.
    pub seeds: u64,
}

/// A preset in a spec.
#[derive(Clone, Debug, PartialEq)]
pub struct UsedPreset {
    /// The settings.
    pub preset: &'static RulePreset,
    /// Fields of it that the spec changes.
    pub changed: Vec<String>,
}

impl RulePreset {
    /// The settings in TOML notation.
    pub fn settings(&self) -> String {
        self.settings.inline()
    }

    /// The `[rule]` that it stands for.
    pub(crate) fn rule_node(&self) -> Node {
        let kind = Node { line: None, value: Value::Text(self.rule.clone()) };
        let mut entries = vec![("kind".to_string(), kind)];
        entries.extend(self.settings.entries().iter().cloned());
        Node { line: None, value: Value::Table(entries) }
    }
}

impl RulePresets {
    /// Reads a file of settings.
    ///
    /// # Errors
    /// A field that is missing or is not what it must be.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        const ABOUT: [&str; 6] = ["version", "found_by", "evidence", "trials", "seeds", "chance"];
        let root = Node::parse(text)?;
        let count = |name: &str| Ok::<u64, SpecError>(number(&root, name)? as u64);
        let shared = (count("trials")?, count("seeds")?);
        let mut presets = Vec::new();
        for (name, table) in root.entries().iter().filter(|(name, _)| !ABOUT.contains(&name.as_str())) {
            // A table of settings, or one table of them for each rule.
            if table.field("settings").is_some() {
                presets.push(preset(name, None, table, shared)?);
                continue;
            }
            for (rule, table) in table.entries() {
                presets.push(preset(rule, Some(name), table, shared)?);
            }
        }
        let evidence = field(&root, "evidence")?;
        let evidence = evidence.as_text().ok_or_else(|| evidence.error("evidence must be text"))?.to_string();
        let (trials, seeds) = shared;
        Ok(Self {
            version: count("version")?,
            evidence,
            trials,
            seeds,
            chance: number(&root, "chance")?,
            presets,
        })
    }

    /// The settings of a rule on a device.
    pub fn find(&self, rule: &str, device: Option<&str>) -> Option<&RulePreset> {
        self.presets.iter().find(|p| p.rule == rule && (p.device.is_none() || p.device.as_deref() == device))
    }

    /// Whether a preset gains so large a share of what Digital SGD gains over guessing.
    pub fn reaches(&self, preset: &RulePreset, share: f64) -> bool {
        let digital = self.find("digital", None).map_or(1.0, |digital| digital.accuracy);
        preset.accuracy - self.chance >= share * (digital - self.chance)
    }

    /// The test accuracies as a Markdown table, rules by devices; those that gain less than 90 % of what Digital SGD gains over
    /// guessing are marked.
    pub fn table(&self) -> String {
        let mut devices: Vec<&str> = self.presets.iter().filter_map(|p| p.device.as_deref()).collect();
        devices.dedup();
        let mut rules: Vec<&str> = Vec::new();
        for preset in self.presets.iter().filter(|p| p.device.is_some()) {
            if !rules.contains(&preset.rule.as_str()) {
                rules.push(&preset.rule);
            }
        }
        let mut text = format!("| rule | {} |\n|---|{}\n", devices.join(" | "), "---|".repeat(devices.len()));
        for rule in rules {
            let cell = |device: &&str| {
                self.find(rule, Some(device)).map_or("–".into(), |preset| {
                    let mark = if self.reaches(preset, 0.9) { "" } else { " †" };
                    format!("{:.1} ± {:.1}{mark}", 100.0 * preset.accuracy, 100.0 * preset.deviation)
                })
            };
            let cells: Vec<String> = devices.iter().map(cell).collect();
            let _ = writeln!(text, "| `{rule}` | {} |", cells.join(" | "));
        }
        text
    }

    /// What is known of a preset, in one line.
    pub fn words(&self, preset: &RulePreset) -> String {
        let on = preset.device.as_ref().map_or_else(String::new, |device| format!(" on {device}"));
        format!(
            "{}{on}, version {}: {:.1} ± {:.1} % over {} seeds on {}; best of {} trials",
            preset.rule,
            self.version,
            100.0 * preset.accuracy,
            100.0 * preset.deviation,
            preset.seeds,
            self.evidence,
            preset.trials
        )
    }
}

/// The settings that come with the library.
///
/// # Panics
/// Never: a test reads the file.
pub fn rule_presets() -> &'static RulePresets {
    static READ: OnceLock<RulePresets> = OnceLock::new();
    READ.get_or_init(|| RulePresets::parse(FILE).unwrap_or_else(|e| unreachable!("rule_presets.toml: {e}")))
}

fn field<'a>(table: &'a Node, name: &str) -> Result<&'a Node, SpecError> {
    table.field(name).ok_or_else(|| table.error(format!("{name} is missing")))
}

fn number(table: &Node, name: &str) -> Result<f64, SpecError> {
    let node = field(table, name)?;
    node.as_number().ok_or_else(|| node.error(format!("{name} must be a number, got {}", node.show())))
}

/// A row of the file; trials and seeds are those of the whole file where it has none of its own.
fn preset(
    rule: &str,
    device: Option<&str>,
    table: &Node,
    (trials, seeds): (u64, u64),
) -> Result<RulePreset, SpecError> {
    let own = |name: &str, shared: u64| {
        table.field(name).map_or(Ok(shared), |_| number(table, name).map(|own| own as u64))
    };
    Ok(RulePreset {
        rule: rule.into(),
        device: device.map(String::from),
        settings: field(table, "settings")?.clone().unplaced(),
        accuracy: number(table, "accuracy")?,
        deviation: number(table, "deviation")?,
        trials: own("trials", trials)?,
        seeds: own("seeds", seeds)?,
    })
}

/// The device of the literature that all arrays of a spec are made of.
pub(crate) fn device_preset(document: &Node) -> Option<&str> {
    let device = document.field("device")?;
    let of = |array: &str| {
        let own = device.field(array).and_then(|table| table.field("preset"));
        own.or_else(|| device.field("preset")).and_then(Node::as_text)
    };
    of("main").filter(|main| of("residual") == Some(main))
}

/// The document with the fields of its rule's preset in its place; none if it names none. Fields that stand beside it hold.
pub(super) fn with_preset(document: &Node) -> Result<Option<(Node, UsedPreset)>, SpecError> {
    let Some(rule) = document.field("rule") else { return Ok(None) };
    let Some(named) = rule.field("preset") else { return Ok(None) };
    if let Some(kind) = rule.field("kind") {
        return Err(kind.error("rule.kind must not stand beside preset, which names the rule"));
    }
    let all = rule_presets();
    let device = device_preset(document);
    let word = named.as_text().unwrap_or_default();
    let Some(preset) = all.find(word, device) else {
        return Err(named.error(unknown(all, named, device)));
    };
    let at = |node: &Node| Node { line: named.line, ..node.clone() };
    let own = preset.rule_node();
    let mut entries: Vec<(String, Node)> =
        own.entries().iter().map(|(name, node)| (name.clone(), at(node))).collect();
    let mut changed = Vec::new();
    for (name, node) in rule.entries().iter().filter(|(name, _)| name != "preset") {
        changed.push(name.clone());
        match entries.iter_mut().find(|(n, _)| n == name) {
            // A table changes the fields that it has.
            Some((_, old)) => *old = old.overlaid(node),
            None => entries.push((name.clone(), node.clone())),
        }
    }
    let rule = Node { line: rule.line, value: Value::Table(entries) };
    Ok(Some((document.with(&["rule".into()], Some(&rule)), UsedPreset { preset, changed })))
}

/// Why there are no settings of this name.
fn unknown(all: &RulePresets, named: &Node, device: Option<&str>) -> String {
    let words = |of: &dyn Fn(&RulePreset) -> Option<String>| {
        let mut words: Vec<String> = all.presets.iter().filter_map(of).collect();
        words.dedup();
        words.join(", ")
    };
    match device {
        Some(device) => {
            let rules = words(&|p| {
                let here = p.device.is_none() || p.device.as_deref() == Some(device);
                here.then(|| p.rule.clone())
            });
            format!(
                "rule.preset must be one of the rules with settings for device.preset = {device:?}, which are {rules}; got {}",
                named.show()
            )
        }
        None => format!(
            "rule.preset = {} must have a device.preset that settings were found for, one for all arrays: {}; `residuum tune` finds \
             settings for any other device",
            named.show(),
            words(&|p| p.device.clone())
        ),
    }
}
