//! A table of a spec while it is read: every error names the line, the field, what must hold and what was given, and every
//! parameter is listed as it will be used.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use residuum::ParameterError;

use super::SpecKind;
use super::folders::{Folders, digest};
use super::node::{Node, SpecError, Value};
use super::resolved::Resolved;
use super::section::{Declaration, Default, FieldCondition};

/// What every table of a spec shares.
#[derive(Clone, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) kind: SpecKind,
    pub(crate) folders: &'a Folders,
    log: Option<Rc<RefCell<Vec<Resolved>>>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(kind: SpecKind, folders: &'a Folders) -> Self {
        Self { kind, folders, log: Some(Rc::default()) }
    }

    /// Every parameter read so far.
    pub(crate) fn resolved(&self) -> Vec<Resolved> {
        self.log.as_ref().map_or_else(Vec::new, |log| log.borrow().clone())
    }

    fn list(&self, path: String, value: String, given: bool) {
        if let Some(log) = &self.log {
            log.borrow_mut().push(Resolved { path, value, given });
        }
    }
}

/// A table being read.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    path: String,
    line: Option<usize>,
    given: bool,
    entries: &'a [(String, Node)],
    pub(crate) context: Context<'a>,
}

/// A field being read.
#[derive(Debug)]
pub(crate) struct At<'a> {
    pub(crate) node: &'a Node,
    pub(crate) path: String,
    /// Whether the spec gave it.
    given: bool,
    pub(crate) context: Context<'a>,
}

impl<'a> At<'a> {
    /// The field is not what it must be.
    pub(crate) fn must(&self, be: &str) -> SpecError {
        self.node.error(format!("{} must be {be}, got {}", self.path, self.node.show()))
    }

    pub(crate) fn error(&self, message: impl std::fmt::Display) -> SpecError {
        self.node.error(format!("{}{message}", self.path))
    }

    /// Lists the value among the resolved parameters.
    pub(crate) fn list(&self, value: String) {
        self.context.list(self.path.clone(), value, self.given);
    }

    /// Lists the value as it was written, unshortened: the list says everything that decides the numbers.
    pub(crate) fn list_whole(&self) {
        self.list(self.node.full());
    }

    /// Lists the contents of a file that the field names: they decide the numbers, not its path.
    pub(crate) fn contents(&self, digest: String) {
        self.context.list(format!("{}.contents", self.path), digest, true);
    }

    /// The same for a file of numbers in rows of so many columns.
    pub(crate) fn number_contents(&self, values: &[f64], columns: usize) {
        self.contents(digest_of_numbers(values, columns));
    }

    /// A file, relative to the spec.
    pub(crate) fn file(&self, path: &str) -> PathBuf {
        self.context.folders.base().join(path)
    }

    /// The field as a table.
    pub(crate) fn table(&self) -> Result<Table<'a>, SpecError> {
        let Value::Table(entries) = &self.node.value else { return Err(self.must("a table")) };
        Ok(Table {
            path: self.path.clone(),
            line: self.node.line,
            given: self.given,
            entries,
            context: self.context.clone(),
        })
    }

    /// An item of a list.
    pub(crate) fn item(&self, index: usize, node: &'a Node) -> Self {
        let path = format!("{}[{index}]", self.path);
        Self { node, path, given: self.given, context: self.context.clone() }
    }

    /// The same field with another value.
    pub(crate) fn with<'b>(&self, node: &'b Node) -> At<'b>
    where
        'a: 'b,
    {
        At { node, path: self.path.clone(), given: self.given, context: self.context.clone() }
    }

    /// The same field, not listed.
    pub(crate) fn unlisted(&self) -> Self {
        let context = Context { log: None, ..self.context.clone() };
        Self { node: self.node, path: self.path.clone(), given: self.given, context }
    }
}

impl<'a> Table<'a> {
    /// The whole spec.
    pub(crate) fn root(node: &'a Node, context: Context<'a>) -> Result<Self, SpecError> {
        At { node, path: String::new(), given: true, context }.table()
    }

    /// The dotted path of a field of this table.
    pub(crate) fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.into() } else { format!("{}.{name}", self.path) }
    }

    /// A field of it.
    pub(crate) fn at<'b>(&self, name: &str, node: &'b Node, given: bool) -> At<'b>
    where
        'a: 'b,
    {
        At { node, path: self.path(name), given, context: self.context.clone() }
    }

    /// The same table, whose fields are not listed.
    pub(crate) fn unlisted(&self) -> Self {
        let context = Context { log: None, ..self.context.clone() };
        Self { path: self.path.clone(), line: self.line, given: self.given, entries: self.entries, context }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.node(name).is_some()
    }

    pub(crate) fn node(&self, name: &str) -> Option<&'a Node> {
        self.entries.iter().find(|(key, _)| key == name).map(|(_, node)| node)
    }

    /// The table of this name below it; an empty one if it is not there.
    pub(crate) fn child(&self, name: &str) -> Self {
        let node = self.node(name);
        let entries = node.map_or(&[][..], Node::entries);
        let line = node.map_or(self.line, |node| node.line);
        Self { path: self.path(name), line, given: node.is_some(), entries, context: self.context.clone() }
    }

    /// Lists a value that follows from others.
    pub(crate) fn defaulted(&self, name: &str, value: impl Into<String>) {
        self.context.list(self.path(name), value.into(), false);
    }

    /// Lists the contents of a file that a field names.
    pub(crate) fn contents(&self, name: &str, digest: String) {
        self.context.list(format!("{}.contents", self.path(name)), digest, true);
    }

    /// The same for a file of numbers in rows of so many columns.
    pub(crate) fn number_contents(&self, name: &str, values: &[f64], columns: usize) {
        self.contents(name, digest_of_numbers(values, columns));
    }

    pub(crate) fn missing(&self, name: &str) -> SpecError {
        SpecError { line: self.line, message: format!("{} is missing", self.path(name)) }
    }

    /// What the field that chooses among the others says.
    fn choice(&self, declared: &Declaration) -> Option<String> {
        let (tag, others) = declared.by.split_first()?;
        match self.value_of(declared, tag) {
            Some(word) => Some(word),
            None => others.iter().find(|name| self.has(name)).map(|name| (*name).to_string()),
        }
    }

    /// The word that a field has, given or by default.
    fn value_of(&self, declared: &Declaration, name: &str) -> Option<String> {
        match self.node(name) {
            Some(node) => node.as_text().map(String::from),
            None if name == "array" => Some(self.context.kind.array().into()),
            None => match declared.field(name)?.default {
                Default::Value(text) => Some(text.trim_matches('"').to_string()),
                _ => None,
            },
        }
    }

    /// Whether all of these conditions hold.
    pub(crate) fn applies(&self, declared: &Declaration, conditions: &[FieldCondition]) -> bool {
        conditions.iter().all(|condition| self.holds(declared, condition))
    }

    fn holds(&self, declared: &Declaration, condition: &FieldCondition) -> bool {
        self.of(declared, condition).is_some_and(|value| condition.values.contains(&value.as_str()))
    }

    fn of(&self, declared: &Declaration, condition: &FieldCondition) -> Option<String> {
        if declared.by.first() == Some(&condition.field) {
            return self.choice(declared);
        }
        self.value_of(declared, condition.field)
    }

    /// Refuses every field that is not declared, or not for what is chosen.
    pub(crate) fn check(&self, declared: &Declaration) -> Result<(), SpecError> {
        for (key, node) in self.entries {
            let mut named = declared.fields.iter().filter(|field| field.name == key).peekable();
            let Some(first) = named.peek().copied() else { return Err(self.unknown(declared, key, node)) };
            if named.any(|field| self.applies(declared, &field.conditions)) {
                continue;
            }
            let failed = first.conditions.iter().find(|condition| !self.holds(declared, condition));
            if let Some(condition) = failed
                && let Some(value) = self.of(declared, condition)
                // A word that is not known is refused when its own field is read.
                && declared.knows(condition.field, &value)
            {
                return Err(node.error(self.misplaced(declared, key, condition, &value)));
            }
        }
        Ok(())
    }

    fn unknown(&self, declared: &Declaration, key: &str, node: &Node) -> SpecError {
        let mut names: Vec<&str> = (declared.fields.iter())
            .filter(|field| self.applies(declared, &field.conditions))
            .map(|field| field.name)
            .collect();
        let near = (declared.fields.iter().map(|field| field.name))
            .filter(|name| is_slip(key, name))
            .min_by_key(|name| (strsim::levenshtein(key, name), !names.contains(name)));
        let hint = match near {
            Some(name) => format!("did you mean {name}?"),
            None => {
                names.sort_unstable();
                names.dedup();
                format!("fields here: {}", names.join(", "))
            }
        };
        node.error(format!("{} is not a field; {hint}", self.path(key)))
    }

    fn misplaced(&self, declared: &Declaration, key: &str, condition: &FieldCondition, value: &str) -> String {
        let path = self.path(key);
        let mut wanted: Vec<&str> = Vec::new();
        let fields = declared.fields.iter().filter(|field| field.name == key);
        let others = fields.flat_map(|field| &field.conditions).filter(|other| other.field == condition.field);
        for value in others.flat_map(|other| other.values) {
            if !wanted.contains(value) {
                wanted.push(value);
            }
        }
        if condition.field == "array" {
            let cure = match wanted.as_slice() {
                ["tile"] => "say array = \"tile\", or vary a parameter by a distribution",
                _ => "say array = \"exact\"",
            };
            return format!("{path} has no effect with array = {value:?}: {cure}");
        }
        let is_presence = declared.by.get(1..).is_some_and(|others| others.contains(&value));
        let with = if is_presence { value.to_string() } else { format!("{} = {value:?}", condition.field) };
        format!("{path} has no effect with {with}: it is of {}", wanted.join(", "))
    }

    /// Puts a core error on the line of the field it names.
    pub(crate) fn blame(&self, error: &ParameterError) -> SpecError {
        let name = match error {
            ParameterError::OutOfDomain { name, .. }
            | ParameterError::Length { name, .. }
            | ParameterError::NotFinite { name, .. }
            | ParameterError::Matrix { name, .. } => *name,
            _ => "",
        };
        let whole = error.to_string();
        match self.node(name) {
            Some(node) => {
                let rest =
                    whole.strip_prefix(name).map_or(whole.clone(), |r| format!("{}{r}", self.path(name)));
                node.error(rest)
            }
            None => {
                let path = if self.path.is_empty() { "spec" } else { &self.path };
                SpecError { line: self.line, message: format!("{path}: {whole}") }
            }
        }
    }

    /// An error of this table, or of the field below it whose dotted path begins the message.
    pub(crate) fn error(&self, message: impl Into<String>) -> SpecError {
        let message = message.into();
        SpecError { line: self.line_named_by(&message), message }
    }

    fn line_named_by(&self, message: &str) -> Option<usize> {
        let end =
            message.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).unwrap_or(message.len());
        let below = if self.path.is_empty() {
            Some(&message[..end])
        } else {
            message[..end].strip_prefix(&self.path).and_then(|rest| rest.strip_prefix('.'))
        };
        let (mut line, mut entries) = (self.line, self.entries);
        for name in below.into_iter().flat_map(|path| path.split('.')) {
            let Some((_, node)) = entries.iter().find(|(k, _)| k == name) else { break };
            line = node.line;
            let Value::Table(inner) = &node.value else { break };
            entries = inner;
        }
        line
    }
}

fn digest_of_numbers(values: &[f64], columns: usize) -> String {
    let values = values.iter().flat_map(|value| value.to_le_bytes());
    let bytes: Vec<u8> = (columns as u64).to_le_bytes().into_iter().chain(values).collect();
    digest(&bytes)
}

/// Whether one word may be a typo for the other; `hi` is not one for `lo`.
fn is_slip(written: &str, meant: &str) -> bool {
    let edits = strsim::levenshtein(written, meant);
    edits <= 2 && 2 * edits <= meant.len()
}
