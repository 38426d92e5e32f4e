//! Vectors and matrices of a spec: a number for all entries, a list, an expression in the index `i`, a column of a
//! CSV file, or random entries drawn anew for each seed.

use std::path::Path;

use residuum::Key;
use residuum::expression::Expression;

use super::reader::{Fields, Node, SpecError, Value};
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

impl VectorSpec {
    pub(crate) fn read(fields: &Fields<'_>, name: &'static str, base: &Path) -> Result<Self, SpecError> {
        Self::of(fields, name, fields.required(name)?, base)
    }

    pub(crate) fn of(fields: &Fields<'_>, name: &str, node: &Node, base: &Path) -> Result<Self, SpecError> {
        let path = fields.path(name);
        if let Some(x) = node.as_number() {
            return finite(node, &path, x).map(Self::Constant);
        }
        match &node.value {
            Value::List(items) => items
                .iter()
                .map(|item| {
                    let x = item.as_number().ok_or_else(|| {
                        item.error(format!("{path} must hold numbers, got {}", item.show()))
                    })?;
                    finite(item, &path, x)
                })
                .collect::<Result<_, _>>()
                .map(Self::List),
            Value::Text(text) => Expression::parse(text, &["i", "n"])
                .map(Self::Expression)
                .map_err(|e| node.error(format!("{path} = {text:?}: {e}"))),
            Value::Table(_) => {
                let vector = Self::from_table(node, &path, base)?;
                if let Self::List(values) = &vector {
                    fields.number_contents(name, values, 1);
                }
                Ok(vector)
            }
            _ => Err(node.error(format!(
                "{path} must be a number, a list, a formula in i, or a table with csv, uniform or normal, got {}",
                node.show()
            ))),
        }
    }

    fn from_table(node: &Node, path: &str, base: &Path) -> Result<Self, SpecError> {
        let fields = Fields::at(node, path.into())?;
        let vector =
            if fields.has("csv") {
                let table = NumberTable::read(&base.join(fields.text("csv")?))
                    .map_err(|e| node.error(format!("{path}: {e}")))?;
                let column = match fields.node("column") {
                    None => table.only_column(),
                    Some(Node { value: Value::Text(name), .. }) => table.column(name),
                    Some(Node { value: Value::Integer(i), .. }) => table.column_at(*i as usize),
                    Some(other) => {
                        return Err(other
                            .error(format!("{path}.column must be a name or a number, got {}", other.show())));
                    }
                };
                Self::List(column.map_err(|e| node.error(format!("{path}: {e}")))?)
            } else if fields.has("uniform") {
                let [lo, hi] = pair(&fields, "uniform", path)?;
                if lo >= hi {
                    return Err(
                        node.error(format!("{path}.uniform must be [lo, hi] with lo < hi, got [{lo}, {hi}]"))
                    );
                }
                Self::Uniform { lo, hi }
            } else if fields.has("normal") {
                let [mean, deviation] = pair(&fields, "normal", path)?;
                if deviation < 0.0 {
                    return Err(node
                        .error(format!("{path}.normal: deviation must be zero or positive, got {deviation}")));
                }
                Self::Normal { mean, deviation }
            } else {
                return Err(node.error(format!("{path} must have csv, uniform or normal, got {}", node.show())));
            };
        fields.finish()?;
        Ok(vector)
    }

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

fn pair(fields: &Fields<'_>, name: &'static str, path: &str) -> Result<[f64; 2], SpecError> {
    let node = fields.required(name)?;
    if let Value::List(items) = &node.value
        && let [a, b] = items.as_slice()
        && let (Some(a), Some(b)) = (a.as_number(), b.as_number())
        && a.is_finite()
        && b.is_finite()
    {
        return Ok([a, b]);
    }
    Err(node.error(format!("{path}.{name} must be two finite numbers, got {}", node.show())))
}

/// A matrix: rows in brackets, or a CSV file of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixSpec {
    /// Row-major entries.
    pub values: Vec<f64>,
    /// Number of columns.
    pub columns: usize,
}

impl MatrixSpec {
    pub(crate) fn read(fields: &Fields<'_>, name: &'static str, base: &Path) -> Result<Self, SpecError> {
        let node = fields.required(name)?;
        let path = fields.path(name);
        match &node.value {
            Value::List(rows) => {
                let mut values = Vec::new();
                let mut columns = None;
                for row in rows {
                    let VectorSpec::List(entries) = VectorSpec::of(fields, name, row, base)? else {
                        return Err(row.error(format!("{path} must be a list of rows, got {}", row.show())));
                    };
                    if *columns.get_or_insert(entries.len()) != entries.len() {
                        return Err(row.error(format!("{path}: rows must have one length, got {}", row.show())));
                    }
                    values.extend(entries);
                }
                match columns {
                    Some(columns) if columns > 0 => {
                        // The contents of single files do not tell the order of the rows.
                        if rows.iter().any(|row| matches!(row.value, Value::Table(_))) {
                            fields.number_contents(name, &values, columns);
                        }
                        Ok(Self { values, columns })
                    }
                    _ => Err(node.error(format!("{path} must not be empty"))),
                }
            }
            Value::Table(_) => {
                let file = fields.nested(name, node)?;
                let csv = file.text("csv")?;
                file.finish()?;
                let table =
                    NumberTable::read(&base.join(csv)).map_err(|e| node.error(format!("{path}: {e}")))?;
                fields.number_contents(name, &table.values, table.columns);
                Ok(Self { values: table.values, columns: table.columns })
            }
            _ => {
                Err(node
                    .error(format!("{path} must be rows in brackets or {{ csv = … }}, got {}", node.show())))
            }
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.columns
    }
}
