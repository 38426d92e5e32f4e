//! Vectors and matrices of a spec: a number for all entries, a list, an expression in the index `i`, a column of a
//! CSV file, or random entries drawn anew for each seed.

use std::path::PathBuf;

use residuum::Key;
use residuum::expression::Expression;
use serde_json::{Value as Json, json};

use super::node::{Node, SpecError, Value};
use super::section::{Declaration, Optional, Required, Section, Takes, section};
use super::table::At;
use super::types::{TakesExt as _, count, list, number, path, table, text};
use crate::table::NumberTable;

/// How a vector of the spec is made.
#[derive(Clone, Debug, PartialEq)]
pub enum VectorSpec {
    /// The same number everywhere.
    Constant(f64),
    /// Entry by entry.
    List(Vec<f64>),
    /// A formula in `i` (from 0) and `n` (the number of entries).
    Expression(Expression),
    /// Independent uniform entries in [lo, hi), drawn per seed.
    Uniform {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
    },
    /// Independent normal entries, drawn per seed.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        deviation: f64,
    },
}

section! {
    /// A number for all entries, a list, a formula in the index `i` (from 0) and the number of entries `n` such as
    /// `"0.5 + i/n"`, or a table with one of these fields.
    pub(crate) struct VectorTable by kind or csv or uniform or normal as "a table with csv, uniform or normal" {
        /// a CSV file, relative to the spec
        csv: Option<PathBuf> = path(), "–", Optional("none");
        /// its column: a name, or a number from 0
        column: Option<Column> = text("name").map(Column::Name).or(count().size().map(Column::At)), "–",
            Optional("the only one"), of kind ["csv"];
        /// `[lo, hi]`: independent uniform entries, drawn anew for each seed
        uniform: Option<[f64; 2]> = two(), "that of the vector", Optional("none"), of kind ["uniform"];
        /// `[mean, deviation]`: independent normal entries, drawn anew for each seed
        normal: Option<[f64; 2]> = two(), "that of the vector", Optional("none"), of kind ["normal"];
    }
}

/// Which column of a file.
#[derive(Clone, Debug)]
pub(crate) enum Column {
    Name(String),
    At(usize),
}

/// Two finite numbers.
fn two() -> impl Takes<Value = [f64; 2]> {
    list(number(), "two finite numbers", [2, 2]).then(|values, at| match values.as_slice() {
        [a, b] if a.is_finite() && b.is_finite() => Ok([*a, *b]),
        _ => Err(at.must("two finite numbers")),
    })
}

/// A vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vector;

/// A vector.
pub(crate) fn vector() -> Vector {
    Vector
}

impl Takes for Vector {
    type Value = VectorSpec;

    fn accepts(&self, node: &Node) -> bool {
        !matches!(node.value, Value::Bool(_))
    }

    fn read(&self, at: &At<'_>) -> Result<VectorSpec, SpecError> {
        let path = &at.path;
        if let Some(x) = at.node.as_number() {
            at.list(format!("{x:?}"));
            return finite(at.node, path, x).map(VectorSpec::Constant);
        }
        at.list_whole();
        match &at.node.value {
            Value::List(items) => items
                .iter()
                .map(|item| {
                    let x = item
                        .as_number()
                        .ok_or_else(|| item.error(format!("{path} must hold numbers, got {}", item.show())))?;
                    finite(item, path, x)
                })
                .collect::<Result<_, _>>()
                .map(VectorSpec::List),
            Value::Text(text) => Expression::parse(text, &["i", "n"])
                .map(VectorSpec::Expression)
                .map_err(|e| at.error(format_args!(" = {text:?}: {e}"))),
            Value::Table(_) => from_table(at),
            _ => Err(at.must(&self.noun())),
        }
    }

    fn noun(&self) -> String {
        "a number, a list, a formula in i, or a table with csv, uniform or normal".into()
    }

    fn words(&self) -> String {
        "vector".into()
    }

    fn schema(&self) -> Json {
        json!({ "anyOf": [
            { "type": "number" }, { "type": "string" }, { "type": "array", "items": { "type": "number" } },
            table::<VectorTable>().schema(),
        ] })
    }

    fn tables(&self) -> Vec<fn() -> &'static Declaration> {
        vec![VectorTable::declaration]
    }
}

fn from_table(at: &At<'_>) -> Result<VectorSpec, SpecError> {
    // The table as a whole is listed.
    let fields = VectorTable::read(&at.unlisted().table()?)?;
    match fields {
        VectorTable { csv: Some(csv), column, .. } => {
            let wrong = |e: crate::table::TableError| at.error(format_args!(": {e}"));
            let table = NumberTable::read(&csv).map_err(wrong)?;
            let values = match column {
                None => table.only_column(),
                Some(Column::Name(name)) => table.column(&name),
                Some(Column::At(i)) => table.column_at(i),
            };
            let values = values.map_err(wrong)?;
            at.number_contents(&values, 1);
            Ok(VectorSpec::List(values))
        }
        VectorTable { uniform: Some([lo, hi]), .. } => {
            if lo >= hi {
                return Err(at.error(format_args!(".uniform must be [lo, hi] with lo < hi, got [{lo}, {hi}]")));
            }
            Ok(VectorSpec::Uniform { lo, hi })
        }
        VectorTable { normal: Some([mean, deviation]), .. } => {
            if deviation < 0.0 {
                return Err(
                    at.error(format_args!(".normal: deviation must be zero or positive, got {deviation}"))
                );
            }
            Ok(VectorSpec::Normal { mean, deviation })
        }
        _ => Err(at.error(format_args!(" must have csv, uniform or normal, got {}", at.node.show()))),
    }
}

impl VectorSpec {
    /// The number of entries, if the spec fixes it.
    pub fn len(&self) -> Option<usize> {
        if let Self::List(values) = self { Some(values.len()) } else { None }
    }

    /// Whether it is an empty list.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// The vector of `n` entries; `key` decides random entries and nothing else.
    ///
    /// # Errors
    /// A sentence if a list has another length or an expression is not finite somewhere.
    pub fn build(&self, n: usize, key: Key) -> Result<Vec<f64>, String> {
        Ok(match self {
            Self::Constant(x) => vec![*x; n],
            Self::List(values) if values.len() == n => values.clone(),
            Self::List(values) => return Err(format!("must have {n} entries, got {}", values.len())),
            Self::Expression(formula) => {
                let values: Vec<f64> = (0..n).map(|i| formula.eval(&[i as f64, n as f64])).collect();
                if let Some(i) = values.iter().position(|x| !x.is_finite()) {
                    return Err(format!("must be finite, but {formula} is {} at i = {i}", values[i]));
                }
                values
            }
            Self::Uniform { lo, hi } => {
                let mut values = vec![0.0; n];
                key.fill_uniform(&mut values);
                values.into_iter().map(|u| lo + (hi - lo) * u).collect()
            }
            Self::Normal { mean, deviation } => {
                let mut values = vec![0.0; n];
                key.fill_normal(&mut values);
                values.into_iter().map(|z| mean + deviation * z).collect()
            }
        })
    }
}

fn finite(node: &Node, path: &str, x: f64) -> Result<f64, SpecError> {
    if x.is_finite() { Ok(x) } else { Err(node.error(format!("{path} must be finite, got {x}"))) }
}

/// A matrix: rows in brackets, or a CSV file of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixSpec {
    /// Row-major entries.
    pub values: Vec<f64>,
    /// Number of columns.
    pub columns: usize,
}

section! {
    /// Rows in brackets, `[[1, 0], [0, 2]]`, or a table.
    pub(crate) struct MatrixTable {
        /// a CSV file of numbers, relative to the spec
        csv: PathBuf = path(), "–", Required;
    }
}

/// A matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix;

/// A matrix.
pub(crate) fn matrix() -> Matrix {
    Matrix
}

impl Takes for Matrix {
    type Value = MatrixSpec;

    fn accepts(&self, node: &Node) -> bool {
        matches!(node.value, Value::List(_) | Value::Table(_))
    }

    fn read(&self, at: &At<'_>) -> Result<MatrixSpec, SpecError> {
        at.list_whole();
        match &at.node.value {
            Value::List(rows) => from_rows(at, rows),
            Value::Table(_) => {
                let MatrixTable { csv } = MatrixTable::read(&at.unlisted().table()?)?;
                let table = NumberTable::read(&csv).map_err(|e| at.error(format_args!(": {e}")))?;
                at.number_contents(&table.values, table.columns);
                Ok(MatrixSpec { values: table.values, columns: table.columns })
            }
            _ => Err(at.must(&self.noun())),
        }
    }

    fn noun(&self) -> String {
        "rows in brackets or { csv = … }".into()
    }

    fn words(&self) -> String {
        "matrix".into()
    }

    fn schema(&self) -> Json {
        json!({ "anyOf": [{ "type": "array", "items": vector().schema() }, table::<MatrixTable>().schema()] })
    }

    fn tables(&self) -> Vec<fn() -> &'static Declaration> {
        vec![MatrixTable::declaration]
    }
}

fn from_rows(at: &At<'_>, rows: &[Node]) -> Result<MatrixSpec, SpecError> {
    let path = &at.path;
    let (mut values, mut columns) = (Vec::new(), None);
    for node in rows {
        let VectorSpec::List(entries) = vector().read(&at.unlisted().with(node))? else {
            return Err(node.error(format!("{path} must be a list of rows, got {}", node.show())));
        };
        if *columns.get_or_insert(entries.len()) != entries.len() {
            return Err(node.error(format!("{path}: rows must have one length, got {}", node.show())));
        }
        values.extend(entries);
    }
    match columns {
        Some(columns) if columns > 0 => {
            if rows.iter().any(|row| matches!(row.value, Value::Table(_))) {
                at.number_contents(&values, columns);
            }
            Ok(MatrixSpec { values, columns })
        }
        _ => Err(at.error(" must not be empty")),
    }
}

impl MatrixSpec {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.columns
    }
}
