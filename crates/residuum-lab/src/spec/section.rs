//! A field of a spec is declared once, with [`section!`]: what it takes, its unit, what holds if it is left out, and what it
//! means. The reader, the resolved parameters, `residuum explain`, `docs/reference.md` and the JSON Schema come from that.
//!
//! ```text
//! section! {
//!     /// Steps that grow or shrink with the weight.
//!     pub struct Drift {
//!         /// when it begins
//!         onset_s: f64 = number().positive(), "seconds", Required;
//!         /// added with each drift
//!         state_noise: f64 = number().not_negative(), "weight", Or("0.0");
//!     }
//! }
//! ```
//!
//! `struct Name by kind` says that the field `kind` chooses among fields, and `, of kind ["a" "b"]` after a field that it is there
//! for these; `of kind SOME` names a list of words that several fields share, `of kind (some())` a function that makes it.
//! `by response or preset` takes the name of another field for the choice if that is given instead. A second field of one name
//! for another choice is `name_in_rust @ "name"`. A [`Presence`] of its own may stand for several fields, from a list elsewhere.

use serde_json::Value as Json;

use super::node::{Node, SpecError};
use super::table::{At, Table};

/// What a field may be.
pub(crate) trait Takes {
    /// What it is read as.
    type Value;

    /// Whether a value is of this form, if perhaps an impossible one.
    fn accepts(&self, node: &Node) -> bool;

    /// Reads the value, and lists it among the resolved parameters.
    fn read(&self, at: &At<'_>) -> Result<Self::Value, SpecError>;

    /// The words for it in an error, with an article.
    fn noun(&self) -> String;

    /// The words for it in the reference, with its limits.
    fn words(&self) -> String {
        self.noun()
    }

    /// Its JSON Schema.
    fn schema(&self) -> Json;

    /// The tables it may be.
    fn tables(&self) -> Vec<fn() -> &'static Declaration> {
        Vec::new()
    }
}

/// A table of a spec whose fields are declared.
pub(crate) trait Section: Sized {
    /// Its fields.
    fn declaration() -> &'static Declaration;

    /// Reads them all; a field that is not declared is an error.
    fn read(table: &Table<'_>) -> Result<Self, SpecError>;
}

/// The fields of a table.
#[derive(Debug)]
pub struct Declaration {
    /// A name for it among the definitions of the schema.
    pub name: &'static str,
    /// The words for the table in errors, if it has any.
    pub noun: Option<&'static str>,
    /// What it is about.
    pub text: String,
    /// The field that chooses among the others, and those whose presence does instead.
    pub by: &'static [&'static str],
    /// In the order of the reference.
    pub fields: Vec<Field>,
}

/// A field.
#[derive(Debug)]
pub struct Field {
    /// Its name in the table.
    pub name: &'static str,
    /// What it may be.
    pub takes: String,
    /// Unit, or `–`.
    pub unit: &'static str,
    /// What holds if it is left out.
    pub default: Default,
    /// What it means.
    pub meaning: String,
    /// When it is there; all of them must hold.
    pub conditions: Vec<FieldCondition>,
    /// Its JSON Schema.
    pub schema: Json,
    /// The tables it may be.
    pub tables: Vec<fn() -> &'static Declaration>,
}

/// What holds if a field is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// It must be given.
    Required,
    /// This value, in TOML notation.
    Value(&'static str),
    /// What the words say.
    Words(&'static str),
}

/// A field is there if another one has one of these values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldCondition {
    /// The other field.
    pub field: &'static str,
    /// Its values.
    pub values: &'static [&'static str],
}

impl Declaration {
    /// The field of this name; of several, the first.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Whether a field may have this value, or its place may be taken by a field of this name.
    pub(crate) fn knows(&self, name: &str, value: &str) -> bool {
        let words = self.field(name).and_then(|field| field.schema["enum"].as_array());
        words.is_some_and(|words| words.iter().any(|word| word == value)) || self.by.contains(&value)
    }

    /// What stands for a table with these fields in an error: `{ pairs = … }`.
    pub(crate) fn shape(&self) -> String {
        if let Some(noun) = self.noun {
            return noun.into();
        }
        let required: Vec<String> = (self.fields.iter())
            .filter(|f| f.default == Default::Required && f.conditions.is_empty())
            .map(|f| format!("{} = …", f.name))
            .collect();
        if required.is_empty() { "a table".into() } else { format!("{{ {} }}", required.join(", ")) }
    }
}

impl Field {
    pub(crate) fn new<T: Takes, P: Presence<T>>(
        name: &'static str,
        takes: &T,
        presence: &P,
        unit: &'static str,
        meaning: &str,
        conditions: &[FieldCondition],
    ) -> Self {
        let meaning = meaning.split_whitespace().collect::<Vec<_>>().join(" ");
        let (takes, schema, tables) = (takes.words(), takes.schema(), takes.tables());
        let conditions = conditions.to_vec();
        Self { name, takes, unit, default: presence.default(), meaning, conditions, schema, tables }
    }
}

/// Whether a field may be left out, and what holds then.
pub(crate) trait Presence<T: Takes> {
    /// What a table has of it.
    type Output;

    fn resolve(&self, slot: Slot<'_, '_, T>) -> Result<Self::Output, SpecError>;

    fn default(&self) -> Default;

    /// The fields that it stands for: the one it is declared at.
    fn fields(&self, declared: Field) -> Vec<Field> {
        vec![declared]
    }
}

/// A field about to be read.
pub(crate) struct Slot<'s, 'a, T> {
    pub(crate) table: &'s Table<'a>,
    pub(crate) name: &'static str,
    pub(crate) takes: &'s T,
    /// Whether its conditions hold.
    pub(crate) applies: bool,
}

impl<T: Takes> Slot<'_, '_, T> {
    fn given(&self) -> Result<Option<T::Value>, SpecError> {
        // A field of the same name may be there for another choice.
        match self.table.node(self.name).filter(|_| self.applies) {
            Some(node) => self.takes.read(&self.table.at(self.name, node, true)).map(Some),
            None => Ok(None),
        }
    }
}

/// It must be given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Required;

/// It must be given where its conditions hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequiredIf;

/// This value, in TOML notation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Or(pub(crate) &'static str);

/// Nothing, which means what the words say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Optional(pub(crate) &'static str);

impl<T: Takes> Presence<T> for Required {
    type Output = T::Value;

    fn resolve(&self, slot: Slot<'_, '_, T>) -> Result<T::Value, SpecError> {
        slot.given()?.ok_or_else(|| slot.table.missing(slot.name))
    }

    fn default(&self) -> Default {
        Default::Required
    }
}

impl<T: Takes> Presence<T> for RequiredIf {
    type Output = Option<T::Value>;

    fn resolve(&self, slot: Slot<'_, '_, T>) -> Result<Option<T::Value>, SpecError> {
        match slot.given()? {
            None if slot.applies => Err(slot.table.missing(slot.name)),
            value => Ok(value),
        }
    }

    fn default(&self) -> Default {
        Default::Required
    }
}

impl<T: Takes> Presence<T> for Or {
    type Output = T::Value;

    fn resolve(&self, slot: Slot<'_, '_, T>) -> Result<T::Value, SpecError> {
        match slot.given()? {
            Some(value) => Ok(value),
            None => {
                let (node, quiet) = (Node::literal(self.0)?, slot.table.unlisted());
                let table = if slot.applies { slot.table } else { &quiet };
                slot.takes.read(&table.at(slot.name, &node, false))
            }
        }
    }

    fn default(&self) -> Default {
        Default::Value(self.0)
    }
}

impl<T: Takes> Presence<T> for Optional {
    type Output = Option<T::Value>;

    fn resolve(&self, slot: Slot<'_, '_, T>) -> Result<Option<T::Value>, SpecError> {
        slot.given()
    }

    fn default(&self) -> Default {
        Default::Words(self.0)
    }
}

/// Declares a table of a spec: see the module.
macro_rules! section {
    (
        $(#[doc = $text:literal])*
        $(#[allow($lint:ident)])?
        $vis:vis struct $Name:ident $(by $tag:ident $(or $other:ident)*)? $(as $noun:literal)? {
            $(
                $(#[doc = $doc:literal])+
                $field:ident $(@ $spec:literal)? : $type:ty =
                    $takes:expr, $unit:literal, $presence:expr $(, of $on:ident $values:tt)* ;
            )*
        }
    ) => {
        $(#[doc = $text])*
        #[derive(Clone, Debug)]
        $(#[allow($lint, reason = "declared for the reference and the schema; read by hand")])?
        $vis struct $Name { $( $(#[doc = $doc])+ pub $field: $type, )* }

        impl $crate::spec::section::Section for $Name {
            fn declaration() -> &'static $crate::spec::section::Declaration {
                static DECLARED: std::sync::OnceLock<$crate::spec::section::Declaration> =
                    std::sync::OnceLock::new();
                DECLARED.get_or_init(|| $crate::spec::section::Declaration {
                    name: stringify!($Name),
                    noun: None $( .or(Some($noun)) )?,
                    text: concat!($($text),*).trim().to_string(),
                    by: &[$(stringify!($tag) $(, stringify!($other))*)?],
                    fields: Vec::<Vec<$crate::spec::section::Field>>::into_iter(vec![ $( {
                        let (takes, presence) = (&$takes, &$presence);
                        let declared = $crate::spec::section::Field::new(
                            $crate::spec::section::name_of!($field $(@ $spec)?),
                            takes,
                            presence,
                            $unit,
                            concat!($($doc),+),
                            $crate::spec::section::conditions!($($on $values)*),
                        );
                        $crate::spec::section::fields_of(takes, presence, declared)
                    } ),* ]).flatten().collect(),
                })
            }

            fn read(
                table: &$crate::spec::table::Table<'_>,
            ) -> Result<Self, $crate::spec::node::SpecError> {
                let declared = <Self as $crate::spec::section::Section>::declaration();
                table.check(declared)?;
                Ok(Self { $( $field: $crate::spec::section::Presence::resolve(
                    &$presence,
                    $crate::spec::section::Slot {
                        table,
                        name: $crate::spec::section::name_of!($field $(@ $spec)?),
                        takes: &$takes,
                        applies: table.applies(declared, $crate::spec::section::conditions!($($on $values)*)),
                    },
                )?, )* })
            }
        }
    };
}

/// The name of a field in the spec.
macro_rules! name_of {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident @ $spec:literal) => {
        $spec
    };
}

/// When a field is there.
macro_rules! conditions {
    ($($on:ident $values:tt)*) => {
        &[$(
            $crate::spec::section::FieldCondition { field: stringify!($on), values: $crate::spec::section::values!($values) }
        ),*]
    };
}

/// The words of a condition: listed, by a name, or made.
macro_rules! values {
    ([$($value:literal)+]) => {
        &[$($value),+]
    };
    ($name:ident) => {
        $name
    };
    (($made:expr)) => {
        $made
    };
}

/// The fields of a declaration.
pub(crate) fn fields_of<T: Takes, P: Presence<T>>(_: &T, presence: &P, declared: Field) -> Vec<Field> {
    presence.fields(declared)
}

pub(crate) use {conditions, name_of, section, values};
