//! Seeds: a number, a list, or a run of them.

use serde_json::{Value as Json, json};

use super::node::{Node, SpecError, Value};
use super::section::{Declaration, Or, Required, Section as _, Takes, section};
use super::table::At;
use super::types::{count, table};

/// Most seeds; more are taken for a mistake and rejected before their list fills the memory.
const MAX_SEEDS: u64 = 1_000_000;

section! {
    /// `7`, `[1, 2, 3]`, or a table. One trial each.
    pub(crate) struct SeedsTable {
        /// the first seed
        first: u64 = count(), "–", Or("0");
        /// how many
        count: u64 = count().at_least(1).at_most(MAX_SEEDS), "–", Required;
    }
}

/// `seeds`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeds;

impl Takes for Seeds {
    type Value = Vec<u64>;

    fn accepts(&self, node: &Node) -> bool {
        matches!(node.value, Value::Integer(_) | Value::List(_) | Value::Table(_))
    }

    fn read(&self, at: &At<'_>) -> Result<Vec<u64>, SpecError> {
        match &at.node.value {
            Value::Integer(_) => count().read(at).map(|seed| vec![seed]),
            Value::Table(_) => {
                let SeedsTable { first, count } = SeedsTable::read(&at.table()?)?;
                let end = first.checked_add(count).ok_or_else(|| at.must("below 2^64"))?;
                Ok((first..end).collect())
            }
            Value::List(items) if !items.is_empty() => {
                let seeds: Vec<u64> = items
                    .iter()
                    .map(|item| match item.value {
                        Value::Integer(i) if i >= 0 => Ok(i as u64),
                        _ => {
                            let path = &at.path;
                            let got = item.show();
                            Err(item
                                .error(format!("{path} must be whole numbers, zero or positive, got {got}")))
                        }
                    })
                    .collect::<Result<_, _>>()?;
                // The rows of a repeated seed could not be distinguished.
                if let Some((_, seed)) = seeds.iter().enumerate().find(|(i, seed)| seeds[..*i].contains(seed)) {
                    return Err(at.error(format_args!(" must be different, got {seed} twice")));
                }
                at.list_whole();
                Ok(seeds)
            }
            _ => Err(at.must(&self.noun())),
        }
    }

    fn noun(&self) -> String {
        "a whole number, a list of them, or { first = …, count = … }".into()
    }

    fn words(&self) -> String {
        "whole number, a list of them, or table".into()
    }

    fn schema(&self) -> Json {
        let seed = count().schema();
        let list = json!({ "type": "array", "items": seed, "minItems": 1 });
        json!({ "anyOf": [seed, list, table::<SeedsTable>().schema()] })
    }

    fn tables(&self) -> Vec<fn() -> &'static Declaration> {
        vec![SeedsTable::declaration]
    }
}
