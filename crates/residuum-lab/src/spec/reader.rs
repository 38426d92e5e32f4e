//! Reading a TOML document field by field, so that each error names the line, the field, what must hold and what
//! was given, and so that every resolved parameter can be listed with its origin.

use std::cell::RefCell;
use std::rc::Rc;

use residuum::ParameterError;
use thiserror::Error;
use toml::de::{DeTable, DeValue};

#[cfg(test)]
use super::asked;
use super::folders::digest;
use super::resolved::Resolved;

/// A spec that cannot be run, with the place to mend.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{}{message}", line_prefix(*line))]
pub struct SpecError {
    /// Line of the spec, from 1; `None` for a field that came from elsewhere (a command-line override).
    pub line: Option<usize>,
    /// The sentence, which names the field.
    pub message: String,
}

fn line_prefix(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!("line {line}: "))
}

/// A value with the line it stands on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Integer(i64),
    Number(f64),
    Text(String),
    Bool(bool),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl Node {
    /// Parses a document; syntax errors carry their line.
    pub(crate) fn parse(text: &str) -> Result<Self, SpecError> {
        let table = DeTable::parse(text).map_err(|e| SpecError {
            line: e.span().map(|s| line_of(text, s.start)),
            message: format!("not valid TOML: {}", e.message()),
        })?;
        Self::table(text, table.get_ref(), 0)
    }

    fn table(text: &str, table: &DeTable<'_>, at: usize) -> Result<Self, SpecError> {
        let mut entries = Vec::new();
        for (key, value) in table {
            let start = key.span().start;
            entries.push((start, key.get_ref().to_string(), Self::value(text, value.get_ref(), start)?));
        }
        // The parser sorts keys; lists of resolved parameters should follow the document.
        entries.sort_by_key(|(start, _, _)| *start);
        let entries = entries.into_iter().map(|(_, k, v)| (k, v)).collect();
        Ok(Self { line: line_of(text, at), value: Value::Table(entries) })
    }

    fn value(text: &str, value: &DeValue<'_>, at: usize) -> Result<Self, SpecError> {
        let line = line_of(text, at);
        let bad = |what: &str| SpecError { line: Some(line), message: format!("{what} is not a number") };
        let value = match value {
            DeValue::String(s) => Value::Text(s.to_string()),
            DeValue::Integer(i) => {
                let digits = i.as_str().replace('_', "");
                Value::Integer(i64::from_str_radix(&digits, i.radix()).map_err(|_| bad(&digits))?)
            }
            DeValue::Float(f) => {
                let digits = f.as_str().replace('_', "");
                Value::Number(digits.parse().map_err(|_| bad(&digits))?)
            }
            DeValue::Boolean(b) => Value::Bool(*b),
            DeValue::Datetime(d) => Value::Text(d.to_string()),
            DeValue::Array(items) => Value::List(
                items
                    .iter()
                    .map(|item| Self::value(text, item.get_ref(), item.span().start))
                    .collect::<Result<_, _>>()?,
            ),
            DeValue::Table(table) => return Self::table(text, table, at),
        };
        Ok(Self { line, value })
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> SpecError {
        SpecError { line: Some(self.line), message: message.into() }
    }

    /// The value as the user would write it, shortened.
    pub(crate) fn show(&self) -> String {
        self.shown(4)
    }

    /// The value as the user would write it.
    pub(crate) fn full(&self) -> String {
        self.shown(usize::MAX)
    }

    fn shown(&self, limit: usize) -> String {
        match &self.value {
            Value::Integer(i) => i.to_string(),
            Value::Number(x) => format!("{x:?}"),
            Value::Text(s) => format!("{s:?}"),
            Value::Bool(b) => b.to_string(),
            Value::List(items) => {
                let shown: Vec<_> = items.iter().take(limit).map(|item| item.shown(limit)).collect();
                let rest =
                    if items.len() > limit { format!(", … {} in all", items.len()) } else { String::new() };
                format!("[{}{rest}]", shown.join(", "))
            }
            Value::Table(entries) => {
                let shown: Vec<_> = entries.iter().map(|(k, v)| format!("{k} = {}", v.shown(limit))).collect();
                format!("{{ {} }}", shown.join(", "))
            }
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    pub(crate) fn is_text(&self, word: &str) -> bool {
        self.as_text() == Some(word)
    }

    /// Whether two nodes say the same, wherever they stand; 1 is 1.0.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (self.as_number(), other.as_number()) {
            (Some(a), Some(b)) => a == b,
            _ => self.full() == other.full(),
        }
    }

    pub(crate) fn as_number(&self) -> Option<f64> {
        match self.value {
            Value::Integer(i) => Some(i as f64),
            Value::Number(x) => Some(x),
            _ => None,
        }
    }
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|&&b| b == b'\n').count()
}

/// A table being read: it remembers which fields were asked for, so that what is left over is an error.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    path: String,
    line: usize,
    entries: &'a [(String, Node)],
    known: RefCell<Vec<&'static str>>,
    log: Rc<RefCell<Vec<Resolved>>>,
}

impl<'a> Fields<'a> {
    pub(crate) fn root(node: &'a Node) -> Result<Self, SpecError> {
        Self::at(node, String::new())
    }

    /// A table at this path whose fields are not listed: the whole table is.
    pub(crate) fn at(node: &'a Node, path: String) -> Result<Self, SpecError> {
        Self::of(node, path, Rc::default())
    }

    fn of(node: &'a Node, path: String, log: Rc<RefCell<Vec<Resolved>>>) -> Result<Self, SpecError> {
        let Value::Table(entries) = &node.value else {
            return Err(node.error(format!("{path} must be a table, got {}", node.show())));
        };
        Ok(Self { path, line: node.line, entries, known: RefCell::default(), log })
    }

    /// The dotted path of a field of this table.
    pub(crate) fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.into() } else { format!("{}.{name}", self.path) }
    }

    pub(crate) fn resolved(&self) -> Vec<Resolved> {
        self.log.borrow().clone()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|(k, _)| k == name)
    }

    /// The raw node of a field, which counts as read.
    pub(crate) fn node(&self, name: &'static str) -> Option<&'a Node> {
        self.known.borrow_mut().push(name);
        #[cfg(test)]
        asked::field(self.path(name));
        self.entries.iter().find(|(k, _)| k == name).map(|(_, node)| node)
    }

    fn note(&self, name: &str, value: String, given: bool) {
        self.log.borrow_mut().push(Resolved { path: self.path(name), value, given });
    }

    /// A node that the caller will interpret; it is listed among the resolved parameters.
    pub(crate) fn given(&self, name: &'static str) -> Option<&'a Node> {
        let node = self.node(name)?;
        // Unshortened: the list of resolved parameters says everything that decides the numbers.
        self.note(name, node.full(), true);
        Some(node)
    }

    /// Lists a default that the caller chose.
    pub(crate) fn defaulted(&self, name: &str, value: impl Into<String>) {
        self.note(name, value.into(), false);
    }

    /// Lists the contents of a file that a field names: they decide the numbers, not its path.
    pub(crate) fn contents(&self, name: &str, digest: String) {
        self.note(&format!("{name}.contents"), digest, true);
    }

    /// The same for a file of numbers in rows of so many columns.
    pub(crate) fn number_contents(&self, name: &str, values: &[f64], columns: usize) {
        let values = values.iter().flat_map(|value| value.to_le_bytes());
        let bytes: Vec<u8> = (columns as u64).to_le_bytes().into_iter().chain(values).collect();
        self.contents(name, digest(&bytes));
    }

    pub(crate) fn required(&self, name: &'static str) -> Result<&'a Node, SpecError> {
        self.given(name).ok_or_else(|| self.missing(name))
    }

    pub(crate) fn missing(&self, name: &str) -> SpecError {
        // A misspelt field is both missing and unknown; the spelling is the more helpful message.
        if let Some((key, node)) =
            self.entries.iter().find(|(k, _)| !self.known.borrow().contains(&k.as_str()) && is_slip(k, name))
        {
            return node.error(format!("{} is not a field; did you mean {name}?", self.path(key)));
        }
        SpecError { line: Some(self.line), message: format!("{} is missing", self.path(name)) }
    }

    pub(crate) fn number(&self, name: &'static str) -> Result<f64, SpecError> {
        let node = self.node(name).ok_or_else(|| self.missing(name))?;
        let value = node
            .as_number()
            .ok_or_else(|| node.error(format!("{} must be a number, got {}", self.path(name), node.show())))?;
        // 1 and 1.0 are one number.
        self.note(name, format!("{value:?}"), true);
        Ok(value)
    }

    pub(crate) fn number_or(&self, name: &'static str, default: f64) -> Result<f64, SpecError> {
        if self.has(name) {
            return self.number(name);
        }
        self.node(name);
        self.note(name, format!("{default:?}"), false);
        Ok(default)
    }

    pub(crate) fn optional_number(&self, name: &'static str) -> Result<Option<f64>, SpecError> {
        if self.has(name) {
            return self.number(name).map(Some);
        }
        self.node(name);
        Ok(None)
    }

    pub(crate) fn boolean_or(&self, name: &'static str, default: bool) -> Result<bool, SpecError> {
        let Some(node) = self.given(name) else {
            self.note(name, default.to_string(), false);
            return Ok(default);
        };
        match node.value {
            Value::Bool(b) => Ok(b),
            _ => Err(node.error(format!("{} must be true or false, got {}", self.path(name), node.show()))),
        }
    }

    pub(crate) fn count_or(&self, name: &'static str, default: u64) -> Result<u64, SpecError> {
        match self.optional_count(name)? {
            Some(count) => Ok(count),
            None => {
                self.note(name, default.to_string(), false);
                Ok(default)
            }
        }
    }

    /// A list of numbers; `None` if the field is absent.
    pub(crate) fn optional_numbers(&self, name: &'static str) -> Result<Option<Vec<f64>>, SpecError> {
        let Some(node) = self.given(name) else { return Ok(None) };
        let wrong =
            || node.error(format!("{} must be a list of numbers, got {}", self.path(name), node.show()));
        let Value::List(items) = &node.value else { return Err(wrong()) };
        items.iter().map(|item| item.as_number().ok_or_else(wrong)).collect::<Result<_, _>>().map(Some)
    }

    pub(crate) fn count(&self, name: &'static str) -> Result<u64, SpecError> {
        let node = self.required(name)?;
        match node.value {
            Value::Integer(i) if i >= 0 => Ok(i as u64),
            _ => Err(node.error(format!(
                "{} must be a whole number, zero or positive, got {}",
                self.path(name),
                node.show()
            ))),
        }
    }

    pub(crate) fn optional_count(&self, name: &'static str) -> Result<Option<u64>, SpecError> {
        if self.has(name) {
            return self.count(name).map(Some);
        }
        self.node(name);
        Ok(None)
    }

    pub(crate) fn text(&self, name: &'static str) -> Result<&'a str, SpecError> {
        let node = self.required(name)?;
        match &node.value {
            Value::Text(s) => Ok(s),
            _ => Err(node.error(format!("{} must be text in quotes, got {}", self.path(name), node.show()))),
        }
    }

    pub(crate) fn text_or(&self, name: &'static str, default: &'static str) -> Result<&'a str, SpecError> {
        if self.has(name) {
            return self.text(name);
        }
        self.node(name);
        self.note(name, format!("{default:?}"), false);
        Ok(default)
    }

    /// One of a closed set of words.
    pub(crate) fn choice(
        &self,
        name: &'static str,
        options: &[&'static str],
    ) -> Result<&'static str, SpecError> {
        let text = self.text(name)?;
        self.pick(name, text, options)
    }

    pub(crate) fn choice_or(
        &self,
        name: &'static str,
        options: &[&'static str],
        default: &'static str,
    ) -> Result<&'static str, SpecError> {
        let text = self.text_or(name, default)?;
        self.pick(name, text, options)
    }

    fn pick(&self, name: &str, text: &str, options: &[&'static str]) -> Result<&'static str, SpecError> {
        #[cfg(test)]
        asked::options(self.path(name), options);
        options.iter().copied().find(|o| *o == text).ok_or_else(|| {
            let line = self.entries.iter().find(|(k, _)| k == name).map(|(_, n)| n.line);
            let message = format!("{} must be one of {}, got {text:?}", self.path(name), options.join(", "));
            SpecError { line, message }
        })
    }

    pub(crate) fn table(&self, name: &'static str) -> Result<Self, SpecError> {
        match self.node(name) {
            Some(node) => Self::of(node, self.path(name), Rc::clone(&self.log)),
            None => Err(self.missing(name)),
        }
    }

    pub(crate) fn optional_table(&self, name: &'static str) -> Result<Option<Self>, SpecError> {
        if self.has(name) {
            return self.table(name).map(Some);
        }
        self.node(name);
        Ok(None)
    }

    /// A node that is a table, read as fields of this table.
    pub(crate) fn nested(&self, name: &str, node: &'a Node) -> Result<Self, SpecError> {
        Self::of(node, self.path(name), Rc::clone(&self.log))
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
        match self.entries.iter().find(|(k, _)| k == name) {
            Some((key, node)) => {
                let whole = error.to_string();
                let rest = whole.strip_prefix(name).map_or(whole.clone(), |r| format!("{}{r}", self.path(key)));
                node.error(rest)
            }
            None => SpecError { line: Some(self.line), message: format!("{}: {error}", self.path_or_root()) },
        }
    }

    fn path_or_root(&self) -> &str {
        if self.path.is_empty() { "spec" } else { &self.path }
    }

    /// An error of this table, or of the field below it whose dotted path begins the message.
    pub(crate) fn error(&self, message: impl Into<String>) -> SpecError {
        let message = message.into();
        SpecError { line: Some(self.line_named_by(&message)), message }
    }

    fn line_named_by(&self, message: &str) -> usize {
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

    /// Refuses every field that nothing asked for.
    pub(crate) fn finish(self) -> Result<(), SpecError> {
        let known = self.known.borrow();
        let Some((key, node)) = self.entries.iter().find(|(k, _)| !known.contains(&k.as_str())) else {
            return Ok(());
        };
        let near = known.iter().min_by_key(|name| distance(name, key)).filter(|name| is_slip(key, name));
        let hint = match near {
            Some(name) => format!("did you mean {name}?"),
            None => {
                let mut fields: Vec<_> = known.clone();
                fields.sort_unstable();
                fields.dedup();
                format!("fields here: {}", fields.join(", "))
            }
        };
        Err(node.error(format!("{} is not a field; {hint}", self.path(key))))
    }
}

/// Whether one word may be a slip of the pen for the other; `hi` is none for `lo`.
fn is_slip(written: &str, meant: &str) -> bool {
    let edits = distance(written, meant);
    edits <= 2 && 2 * edits <= meant.len()
}

/// Edit distance, for suggestions.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let next = if ca == *cb { diagonal } else { 1 + diagonal.min(row[j]).min(row[j + 1]) };
            diagonal = std::mem::replace(&mut row[j + 1], next);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str, read: impl Fn(&Fields<'_>) -> Result<(), SpecError>) -> String {
        let node = Node::parse(text).unwrap();
        let fields = Fields::root(&node).unwrap();
        match read(&fields) {
            Err(e) => e.to_string(),
            Ok(()) => fields.finish().unwrap_err().to_string(),
        }
    }

    #[test]
    fn errors_name_line_field_and_value() {
        let steps = |f: &Fields<'_>| f.count("steps").map(|_| ());
        assert_eq!(
            message("\nsteps = -3", steps),
            "line 2: steps must be a whole number, zero or positive, got -3"
        );
        assert_eq!(message("stepz = 3", steps), "line 1: stepz is not a field; did you mean steps?");
        assert_eq!(message("steps = 1\n\nfoo = 2", steps), "line 3: foo is not a field; fields here: steps");
        assert_eq!(message("[a]\nx = 1", steps), "line 1: steps is missing");
        let kind = |f: &Fields<'_>| f.choice("kind", &["a", "b"]).map(|_| ());
        assert_eq!(message("kind = \"c\"", kind), "line 1: kind must be one of a, b, got \"c\"");
    }

    #[test]
    fn errors_stand_on_the_line_of_the_field_they_name() {
        let node = Node::parse("a = 1\n[rule]\nkind = 2\n[rule.deep]\nx = 3\n").unwrap();
        let root = Fields::root(&node).unwrap();
        assert_eq!(root.error("rule.kind must be text").line, Some(3));
        assert_eq!(root.error("rule.deep.x must be 4").line, Some(5));
        assert_eq!(root.error("rule.other is missing").line, Some(2));
        assert_eq!(root.error("nothing fits").line, Some(1));
        let rule = root.table("rule").unwrap();
        assert_eq!(rule.error("rule.kind: no").line, Some(3));
        assert_eq!(rule.error("kind: no").line, Some(2));
    }

    #[test]
    fn a_short_field_is_no_misspelling_of_another() {
        let lo = |f: &Fields<'_>| f.number("lo").map(|_| ());
        assert_eq!(message("hi = 1", lo), "line 1: lo is missing");
        let main = |f: &Fields<'_>| f.number("main").map(|_| ());
        assert_eq!(message("mian = 1", main), "line 1: mian is not a field; did you mean main?");
    }

    #[test]
    fn syntax_errors_have_a_line() {
        let e = Node::parse("a = 1\nb = = 2\n").unwrap_err();
        assert_eq!(e.line, Some(2));
        assert!(e.to_string().starts_with("line 2: not valid TOML"), "{e}");
    }

    #[test]
    fn nested_paths_and_origins_are_listed() {
        let node = Node::parse("[device]\nradius = 0.5\n").unwrap();
        let root = Fields::root(&node).unwrap();
        let device = root.table("device").unwrap();
        assert_eq!(device.number("radius").unwrap(), 0.5);
        assert_eq!(device.number_or("shape", 1.0).unwrap(), 1.0);
        device.finish().unwrap();
        let list = root.resolved();
        assert_eq!((list[0].path.as_str(), list[0].given), ("device.radius", true));
        assert_eq!(
            (list[1].path.as_str(), list[1].value.as_str(), list[1].given),
            ("device.shape", "1.0", false)
        );
    }

    #[test]
    fn core_errors_find_their_line() {
        let node = Node::parse("[device]\nshape = 1\nradius = -1\n").unwrap();
        let root = Fields::root(&node).unwrap();
        let device = root.table("device").unwrap();
        let e = residuum::response::Power::new(1.0, -1.0).unwrap_err();
        assert_eq!(device.blame(&e).to_string(), "line 3: device.radius must be positive and finite, got -1");
    }
}
