//! A spec as a tree of values, each with the line it stands on if it came from a file.

use thiserror::Error;
use toml::de::{DeTable, DeValue};

/// A spec that cannot be run, with the place to mend.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{}{message}", line_prefix(*line))]
pub struct SpecError {
    /// Line of the spec, from 1; `None` for a field that did not come from a file.
    pub line: Option<usize>,
    /// The sentence, which names the field.
    pub message: String,
}

fn line_prefix(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!("line {line}: "))
}

/// A value with the line it stands on.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Counted from 1; none for what stands in no file.
    pub line: Option<usize>,
    /// What it says.
    pub(crate) value: Value,
}

/// What a document may hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// `1`
    Integer(i64),
    /// `1.0`
    Number(f64),
    /// `"one"`
    Text(String),
    /// `true`
    Bool(bool),
    /// `[1, 2]`
    List(Vec<Node>),
    /// `{ one = 1 }`, in the order of the file.
    Table(Vec<(String, Node)>),
}

impl Node {
    /// Parses a document; syntax errors carry their line.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
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
        Ok(Self { line: Some(line_of(text, at)), value: Value::Table(entries) })
    }

    fn value(text: &str, value: &DeValue<'_>, at: usize) -> Result<Self, SpecError> {
        let line = Some(line_of(text, at));
        let bad = |what: &str| SpecError { line, message: format!("{what} is not a number") };
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

    /// A tree without lines, such as a Python dict or a JSON document becomes.
    pub fn from_json(value: &serde_json::Value) -> Result<Self, SpecError> {
        let error = |message: &str| SpecError { line: None, message: message.into() };
        let value = match value {
            serde_json::Value::Null => return Err(error("null is not a value of a spec: omit the field")),
            serde_json::Value::Bool(b) => Value::Bool(*b),
            serde_json::Value::Number(n) => match (n.as_i64(), n.as_f64()) {
                (Some(i), _) => Value::Integer(i),
                (None, Some(x)) => Value::Number(x),
                (None, None) => return Err(error(&format!("{n} is not a number that a spec can hold"))),
            },
            serde_json::Value::String(s) => Value::Text(s.clone()),
            serde_json::Value::Array(items) => {
                Value::List(items.iter().map(Self::from_json).collect::<Result<_, _>>()?)
            }
            serde_json::Value::Object(fields) => Value::Table(
                fields
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), Self::from_json(value)?)))
                    .collect::<Result<_, SpecError>>()?,
            ),
        };
        Ok(Self { line: None, value })
    }

    /// The tree as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Integer(i) => (*i).into(),
            Value::Number(x) => (*x).into(),
            Value::Text(s) => s.as_str().into(),
            Value::Bool(b) => (*b).into(),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Table(entries) => {
                serde_json::Value::Object(entries.iter().map(|(k, v)| (k.clone(), v.to_json())).collect())
            }
        }
    }

    /// A value in TOML notation; simple ones, of which defaults are made, need no parser.
    pub fn literal(text: &str) -> Result<Self, SpecError> {
        let plain = |value| Ok(Self { line: None, value });
        let quoted =
            text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).filter(|t| !t.contains(['"', '\\']));
        match (text, quoted) {
            ("true", _) => return plain(Value::Bool(true)),
            ("false", _) => return plain(Value::Bool(false)),
            ("{}", _) => return plain(Value::Table(Vec::new())),
            (_, Some(word)) => return plain(Value::Text(word.into())),
            _ => {}
        }
        if let Ok(i) = text.parse() {
            return plain(Value::Integer(i));
        }
        if let Ok(x) = text.parse() {
            return plain(Value::Number(x));
        }
        let document = Self::parse(&format!("value = {text}"))?;
        Ok(document.field("value").cloned().unwrap_or(document).unplaced())
    }

    /// The same without lines.
    pub fn unplaced(self) -> Self {
        let value = match self.value {
            Value::List(items) => Value::List(items.into_iter().map(Self::unplaced).collect()),
            Value::Table(entries) => {
                Value::Table(entries.into_iter().map(|(k, v)| (k, v.unplaced())).collect())
            }
            other => other,
        };
        Self { line: None, value }
    }

    /// An error at the line of this value.
    pub fn error(&self, message: impl Into<String>) -> SpecError {
        SpecError { line: self.line, message: message.into() }
    }

    /// The value as the user would write it, shortened.
    pub fn show(&self) -> String {
        self.shown(4)
    }

    /// The value as the user would write it.
    pub fn full(&self) -> String {
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
                    if items.len() > limit { format!(", … {} in total", items.len()) } else { String::new() };
                format!("[{}{rest}]", shown.join(", "))
            }
            Value::Table(entries) => {
                let shown: Vec<_> = entries.iter().map(|(k, v)| format!("{k} = {}", v.shown(limit))).collect();
                format!("{{ {} }}", shown.join(", "))
            }
        }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// Whether it is this text.
    pub fn is_text(&self, word: &str) -> bool {
        self.as_text() == Some(word)
    }

    /// Whether two nodes say the same, wherever they stand; 1 is 1.0.
    pub fn same(&self, other: &Self) -> bool {
        match (self.as_number(), other.as_number()) {
            (Some(a), Some(b)) => a == b,
            _ => self.full() == other.full(),
        }
    }

    /// The number, if it is one; integers are.
    pub fn as_number(&self) -> Option<f64> {
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
