//! What fields take: numbers, counts, words, lists, tables, and one or another of these.

use std::marker::PhantomData;
use std::path::PathBuf;

use residuum::Range;
use serde_json::{Value as Json, json};

use super::node::{Node, SpecError, Value};
use super::section::{Declaration, Section, Takes};
use super::table::At;

/// A number, possibly within limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number {
    /// The limits, in words that follow "must be".
    must: Option<&'static str>,
    /// The same, after "number".
    limits: &'static str,
    inside: fn(f64) -> bool,
    schema: &'static [(&'static str, f64)],
}

/// Any number.
pub(crate) fn number() -> Number {
    Number { must: None, limits: "", inside: |_| true, schema: &[] }
}

#[expect(clippy::unused_self, reason = "limits follow the form they limit: number().positive()")]
impl Number {
    pub(crate) fn positive(self) -> Self {
        Self {
            must: Some("positive and finite"),
            limits: " > 0",
            inside: |x| x > 0.0 && x.is_finite(),
            schema: &[("exclusiveMinimum", 0.0)],
        }
    }

    pub(crate) fn not_negative(self) -> Self {
        Self {
            must: Some("zero or positive, and finite"),
            limits: " ≥ 0",
            inside: |x| x >= 0.0 && x.is_finite(),
            schema: &[("minimum", 0.0)],
        }
    }

    /// A part of 1: per cent are a slip.
    pub(crate) fn share(self) -> Self {
        Self {
            must: Some("between 0 and 1"),
            limits: ", 0 to 1",
            inside: |x| (0.0..=1.0).contains(&x),
            schema: &[("minimum", 0.0), ("maximum", 1.0)],
        }
    }

    /// Seconds or joules of one operation: more than 1 is a slip of the unit.
    pub(crate) fn of_one_operation(self) -> Self {
        Self {
            must: Some("between 0 and 1, in seconds or joules (40 ns are 40e-9)"),
            limits: ", 0 to 1",
            ..self.share()
        }
    }

    /// What is kept from one step to the next.
    pub(crate) fn memory(self) -> Self {
        Self {
            must: Some("at least 0 and below 1"),
            limits: ", 0 ≤ m < 1",
            inside: |x| (0.0..1.0).contains(&x),
            schema: &[("minimum", 0.0), ("exclusiveMaximum", 1.0)],
        }
    }

    /// Relative to a mean; more than three times it is a slip from per cent.
    pub(crate) fn relative(self) -> Self {
        Self {
            must: Some("relative to the mean, at most 3 (30 % is 0.3)"),
            limits: ", −3 to 3",
            inside: |x| x.abs() <= 3.0,
            schema: &[("minimum", -3.0), ("maximum", 3.0)],
        }
    }

    /// Without further limits here, since the library has them; the words are for the reference.
    pub(crate) fn checked_later(self, limits: &'static str) -> Self {
        Self { limits, ..self }
    }
}

impl Takes for Number {
    type Value = f64;

    fn accepts(&self, node: &Node) -> bool {
        node.as_number().is_some()
    }

    fn read(&self, at: &At<'_>) -> Result<f64, SpecError> {
        let value = at.node.as_number().ok_or_else(|| at.must("a number"))?;
        if let Some(must) = self.must.filter(|_| !(self.inside)(value)) {
            return Err(at.error(format_args!(" must be {must}, got {value}")));
        }
        // 1 and 1.0 are one number.
        at.list(format!("{value:?}"));
        Ok(value)
    }

    fn noun(&self) -> String {
        "a number".into()
    }

    fn words(&self) -> String {
        format!("number{}", self.limits)
    }

    fn schema(&self) -> Json {
        let mut schema = json!({ "type": "number" });
        for (word, limit) in self.schema {
            schema[*word] = json!(limit);
        }
        schema
    }
}

/// A whole number within limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count {
    least: u64,
    most: u64,
}

/// A whole number, zero or positive.
pub(crate) fn count() -> Count {
    Count { least: 0, most: u64::MAX }
}

impl Count {
    pub(crate) fn at_least(self, least: u64) -> Self {
        Self { least, ..self }
    }

    pub(crate) fn at_most(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// One that is kept in 32 bits.
    pub(crate) fn small(self) -> Mapped<Self, u32> {
        self.at_most(u64::from(u32::MAX)).map(|count| count as u32)
    }

    /// A number of things in memory.
    pub(crate) fn size(self) -> Mapped<Self, usize> {
        self.map(|count| count as usize)
    }
}

impl Takes for Count {
    type Value = u64;

    fn accepts(&self, node: &Node) -> bool {
        matches!(node.value, Value::Integer(_))
    }

    fn read(&self, at: &At<'_>) -> Result<u64, SpecError> {
        let count = match at.node.value {
            Value::Integer(i) if i >= 0 => i as u64,
            _ => return Err(at.must("a whole number, zero or positive")),
        };
        if !(self.least..=self.most).contains(&count) {
            let Self { least, most } = self;
            let must = if *most < u64::from(u32::MAX) {
                format!("between {least} and {most}")
            } else if count < *least {
                format!("at least {least}")
            } else {
                "below 2^32".into()
            };
            return Err(at.must(&must));
        }
        at.list(count.to_string());
        Ok(count)
    }

    fn noun(&self) -> String {
        "a whole number".into()
    }

    fn words(&self) -> String {
        match (self.least, self.most) {
            (least, most) if most < u64::from(u32::MAX) => format!("whole number, {least} to {most}"),
            (0, _) => "whole number".into(),
            (least, _) => format!("whole number ≥ {least}"),
        }
    }

    fn schema(&self) -> Json {
        let mut schema = json!({ "type": "integer", "minimum": self.least });
        if self.most < u64::MAX {
            schema["maximum"] = json!(self.most);
        }
        schema
    }
}

/// `true` or `false`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag;

/// `true` or `false`.
pub(crate) fn flag() -> Flag {
    Flag
}

impl Takes for Flag {
    type Value = bool;

    fn accepts(&self, node: &Node) -> bool {
        matches!(node.value, Value::Bool(_))
    }

    fn read(&self, at: &At<'_>) -> Result<bool, SpecError> {
        let Value::Bool(value) = at.node.value else { return Err(at.must("true or false")) };
        at.list_whole();
        Ok(value)
    }

    fn noun(&self) -> String {
        "true or false".into()
    }

    fn schema(&self) -> Json {
        json!({ "type": "boolean" })
    }
}

/// Text, with the words for what it holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text(&'static str);

/// Any text; `words` say what it holds.
pub(crate) fn text(words: &'static str) -> Text {
    Text(words)
}

impl Takes for Text {
    type Value = String;

    fn accepts(&self, node: &Node) -> bool {
        node.as_text().is_some()
    }

    fn read(&self, at: &At<'_>) -> Result<String, SpecError> {
        let text = at.node.as_text().ok_or_else(|| at.must("text in quotes"))?;
        at.list_whole();
        Ok(text.into())
    }

    fn noun(&self) -> String {
        "text in quotes".into()
    }

    fn words(&self) -> String {
        self.0.into()
    }

    fn schema(&self) -> Json {
        json!({ "type": "string" })
    }
}

/// A file or folder, relative to the spec.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FilePath;

/// A file or folder, relative to the spec.
pub(crate) fn path() -> FilePath {
    FilePath
}

impl Takes for FilePath {
    type Value = PathBuf;

    fn accepts(&self, node: &Node) -> bool {
        node.as_text().is_some()
    }

    fn read(&self, at: &At<'_>) -> Result<PathBuf, SpecError> {
        text("path").read(at).map(|path| at.file(&path))
    }

    fn noun(&self) -> String {
        "a path in quotes".into()
    }

    fn words(&self) -> String {
        "path".into()
    }

    fn schema(&self) -> Json {
        json!({ "type": "string" })
    }
}

/// One of a closed set of words.
#[derive(Clone, Debug)]
pub(crate) struct Choice<V>(Vec<(&'static str, V)>);

/// One of these words, each with what it means to the program.
pub(crate) fn choice<V: Clone>(words: impl IntoIterator<Item = (&'static str, V)>) -> Choice<V> {
    Choice(words.into_iter().collect())
}

impl<V: Clone> Takes for Choice<V> {
    type Value = V;

    fn accepts(&self, node: &Node) -> bool {
        self.0.iter().any(|(name, _)| node.is_text(name))
    }

    fn read(&self, at: &At<'_>) -> Result<V, SpecError> {
        let word = at.node.as_text().ok_or_else(|| at.must("text in quotes"))?;
        let Some((_, value)) = self.0.iter().find(|(name, _)| *name == word) else {
            let words: Vec<&str> = self.0.iter().map(|(name, _)| *name).collect();
            return Err(at.must(&format!("one of {}", words.join(", "))));
        };
        at.list_whole();
        Ok(value.clone())
    }

    fn noun(&self) -> String {
        let words: Vec<String> = self.0.iter().map(|(name, _)| format!("{name:?}")).collect();
        words.join(", ")
    }

    fn words(&self) -> String {
        let words: Vec<String> = self.0.iter().map(|(name, _)| format!("`{name}`")).collect();
        words.join(", ")
    }

    fn schema(&self) -> Json {
        json!({ "enum": self.0.iter().map(|(name, _)| *name).collect::<Vec<_>>() })
    }
}

/// The words of a closed set themselves.
pub(crate) fn word(words: impl IntoIterator<Item = &'static str>) -> Choice<&'static str> {
    choice(words.into_iter().map(|word| (word, word)))
}

/// Something as something else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapped<T: Takes, W> {
    from: T,
    into: fn(T::Value) -> W,
}

/// What every form can be made into.
pub(crate) trait TakesExt: Takes + Sized {
    fn map<W>(self, into: fn(Self::Value) -> W) -> Mapped<Self, W> {
        Mapped { from: self, into }
    }

    /// What it is made into, unless something together is impossible.
    fn then<W>(self, into: fn(&Self::Value, &At<'_>) -> Result<W, SpecError>) -> Then<Self, W> {
        Then { from: self, into }
    }

    /// This, or another form of the same.
    fn or<B: Takes<Value = Self::Value>>(self, other: B) -> Either<Self, B> {
        Either(self, other)
    }

    /// This for both of two things, or a list of two.
    fn pair(self) -> Pair<Self> {
        Pair(self)
    }
}

impl<T: Takes> TakesExt for T {}

impl<T: Takes, W> Takes for Mapped<T, W> {
    type Value = W;

    fn accepts(&self, node: &Node) -> bool {
        self.from.accepts(node)
    }

    fn read(&self, at: &At<'_>) -> Result<W, SpecError> {
        self.from.read(at).map(self.into)
    }

    fn noun(&self) -> String {
        self.from.noun()
    }

    fn words(&self) -> String {
        self.from.words()
    }

    fn schema(&self) -> Json {
        self.from.schema()
    }

    fn tables(&self) -> Vec<fn() -> &'static Declaration> {
        self.from.tables()
    }
}

/// Something as something else, if it can be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Then<T: Takes, W> {
    from: T,
    into: fn(&T::Value, &At<'_>) -> Result<W, SpecError>,
}

impl<T: Takes, W> Takes for Then<T, W> {
    type Value = W;

    fn accepts(&self, node: &Node) -> bool {
        self.from.accepts(node)
    }

    fn read(&self, at: &At<'_>) -> Result<W, SpecError> {
        (self.into)(&self.from.read(at)?, at)
    }

    fn noun(&self) -> String {
        self.from.noun()
    }

    fn words(&self) -> String {
        self.from.words()
    }

    fn schema(&self) -> Json {
        self.from.schema()
    }

    fn tables(&self) -> Vec<fn() -> &'static Declaration> {
        self.from.tables()
    }
}

/// One form or another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Either<A, B>(A, B);

impl<A: Takes, B: Takes<Value = A::Value>> Takes for Either<A, B> {
    type Value = A::Value;

    fn accepts(&self, node: &Node) -> bool {
        self.0.accepts(node) || self.1.accepts(node)
    }

    fn read(&self, at: &At<'_>) -> Result<A::Value, SpecError> {
        match (self.0.accepts(at.node), self.1.accepts(at.node)) {
            (true, _) => self.0.read(at),
            (_, true) => self.1.read(at),
            _ => Err(at.must(&self.noun())),
        }
    }

    fn noun(&self) -> String {
        format!("{} or {}", self.0.noun(), self.1.noun())
    }

    fn words(&self) -> String {
        format!("{}, or {}", self.0.words(), self.1.words())
    }

    fn schema(&self) -> Json {
        let (first, second) = (self.0.schema(), self.1.schema());
        match first.get("anyOf").and_then(Json::as_array) {
            Some(several) => json!({ "anyOf": ([several.as_slice(), &[second]].concat()) }),
            None => json!({ "anyOf": [first, second] }),
        }
    }

    fn tables(&self) -> Vec<fn() -> &'static Declaration> {
        [self.0.tables(), self.1.tables()].concat()
    }
}

/// A number for both of two things, or two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair<T>(T);

impl<T: Takes<Value: Copy>> Takes for Pair<T> {
    type Value = [T::Value; 2];

    fn accepts(&self, node: &Node) -> bool {
        self.0.accepts(node) || matches!(node.value, Value::List(_))
    }

    fn read(&self, at: &At<'_>) -> Result<[T::Value; 2], SpecError> {
        if self.0.accepts(at.node) {
            return self.0.read(at).map(|value| [value; 2]);
        }
        match &at.node.value {
            Value::List(items) if items.len() == 2 && items.iter().all(|item| self.0.accepts(item)) => {
                at.list_whole();
                let one = |item| self.0.read(&at.unlisted().with(item));
                Ok([one(&items[0])?, one(&items[1])?])
            }
            _ => Err(at.must(&self.noun())),
        }
    }

    fn noun(&self) -> String {
        format!("{} or two of them", self.0.noun())
    }

    fn words(&self) -> String {
        format!("{}, or two of them", self.0.words())
    }

    fn schema(&self) -> Json {
        let one = self.0.schema();
        json!({ "anyOf": [one.clone(), { "type": "array", "items": one, "minItems": 2, "maxItems": 2 }] })
    }
}

/// `[lo, hi]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval;

/// `[lo, hi]` with lo < hi.
pub(crate) fn interval() -> Interval {
    Interval
}

impl Takes for Interval {
    type Value = Range;

    fn accepts(&self, node: &Node) -> bool {
        matches!(node.value, Value::List(_))
    }

    fn read(&self, at: &At<'_>) -> Result<Range, SpecError> {
        let wrong = || at.must(&self.noun());
        let Value::List(items) = &at.node.value else { return Err(wrong()) };
        let [lo, hi] = items.as_slice() else { return Err(wrong()) };
        let (Some(lo), Some(hi)) = (lo.as_number(), hi.as_number()) else { return Err(wrong()) };
        let range = Range::new(lo, hi).map_err(|_| wrong())?;
        at.list_whole();
        Ok(range)
    }

    fn noun(&self) -> String {
        "[lo, hi] with lo < hi".into()
    }

    fn schema(&self) -> Json {
        json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 })
    }
}

/// A list of one form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List<T> {
    of: T,
    noun: &'static str,
    least: usize,
    most: usize,
}

/// A list of at least so many and at most so many; `noun` says of what.
pub(crate) fn list<T: Takes>(of: T, noun: &'static str, [least, most]: [usize; 2]) -> List<T> {
    List { of, noun, least, most }
}

impl<T: Takes> Takes for List<T> {
    type Value = Vec<T::Value>;

    fn accepts(&self, node: &Node) -> bool {
        matches!(node.value, Value::List(_))
    }

    fn read(&self, at: &At<'_>) -> Result<Vec<T::Value>, SpecError> {
        let Value::List(items) = &at.node.value else { return Err(at.must(self.noun)) };
        if !(self.least..=self.most).contains(&items.len()) {
            let (least, most) = (self.least, self.most);
            let many = match (least, most) {
                (1, usize::MAX) => "at least one entry".into(),
                (least, usize::MAX) => format!("at least {least} entries"),
                (least, most) => format!("{least} to {most} entries"),
            };
            return Err(at.error(format_args!(" must have {many}, got {}", items.len())));
        }
        at.list_whole();
        // The list as a whole is listed; tables in it may be long.
        let read = |(i, node)| self.of.read(&at.item(i, node).unlisted());
        items.iter().enumerate().map(read).collect()
    }

    fn noun(&self) -> String {
        self.noun.into()
    }

    fn schema(&self) -> Json {
        let mut schema = json!({ "type": "array", "items": self.of.schema() });
        if self.least > 0 {
            schema["minItems"] = json!(self.least);
        }
        schema
    }

    fn tables(&self) -> Vec<fn() -> &'static Declaration> {
        self.of.tables()
    }
}

/// A table with declared fields.
#[derive(Debug)]
pub(crate) struct Fields<S>(PhantomData<fn() -> S>);

impl<S> Clone for Fields<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Fields<S> {}

/// A table with declared fields.
pub(crate) fn table<S: Section + 'static>() -> Fields<S> {
    Fields(PhantomData)
}

impl<S: Section + 'static> Takes for Fields<S> {
    type Value = S;

    fn accepts(&self, node: &Node) -> bool {
        matches!(node.value, Value::Table(_))
    }

    fn read(&self, at: &At<'_>) -> Result<S, SpecError> {
        S::read(&at.table()?)
    }

    fn noun(&self) -> String {
        S::declaration().shape()
    }

    fn words(&self) -> String {
        "table".into()
    }

    fn schema(&self) -> Json {
        // No look at the declaration: tables may hold tables of their own kind.
        json!({ "$ref": format!("#/$defs/{}", short_name::<S>()) })
    }

    fn tables(&self) -> Vec<fn() -> &'static Declaration> {
        vec![S::declaration]
    }
}

/// The name of a type without its path.
fn short_name<S>() -> &'static str {
    let name = std::any::type_name::<S>();
    name.rsplit("::").next().unwrap_or(name)
}
