//! A field that is searched, and the values it may have.

use serde_json::Value as Json;

use crate::spec::{Node, SpecError, Value};

/// The value of a field: a number, a word or a table.
#[derive(Clone, Debug)]
pub struct Setting(Node);

impl Setting {
    /// A value in TOML notation.
    ///
    /// # Errors
    /// If it is none.
    pub fn read(text: &str) -> Result<Self, SpecError> {
        Node::literal(text).map(Self)
    }

    /// A number.
    pub fn of(value: f64) -> Self {
        Self(Node { line: None, value: Value::Number(value) })
    }

    pub(super) fn from_node(node: &Node) -> Self {
        Self(node.clone().unplaced())
    }

    pub(super) fn node(&self) -> &Node {
        &self.0
    }

    /// The items of a list, each a value; `None` if it is none.
    pub fn items(&self) -> Option<Vec<Self>> {
        let Value::List(items) = &self.0.value else { return None };
        Some(items.iter().map(Self::from_node).collect())
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        self.0.as_number()
    }

    /// The value as JSON.
    pub fn to_json(&self) -> Json {
        self.0.to_json()
    }
}

impl PartialEq for Setting {
    /// 1 is 1.0.
    fn eq(&self, other: &Self) -> bool {
        self.0.same(&other.0)
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.number() {
            Some(number) => write!(f, "{number}"),
            None => f.write_str(&self.0.inline()),
        }
    }
}

/// Which of the numbers among these values is nearest to a number above 0, by their ratio.
fn nearest(values: &[Setting], setting: &Setting) -> Option<usize> {
    let number = |setting: &Setting| setting.number().filter(|number| *number > 0.0);
    let wanted = number(setting)?;
    let far = |(i, value): (usize, &Setting)| Some((i, (number(value)? / wanted).ln().abs()));
    values.iter().enumerate().filter_map(far).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
}

/// A field and what it may be.
#[derive(Clone, Debug, PartialEq)]
pub struct Tunable {
    /// Dotted path.
    pub field: String,
    /// Its values.
    pub values: Values,
    /// Whether a known setting may have another number than those listed, as presets of other searches do.
    pub open: bool,
}

/// The values of a field, laid out from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// From centre/factor to centre·factor, evenly in the logarithm.
    Scaled {
        /// The middle of the range.
        centre: f64,
        /// Half of its width.
        factor: f64,
    },
    /// One of these; neighbours should do alike, for the search also looks around what is good.
    Listed(Vec<Setting>),
}

impl Tunable {
    /// A field with its values.
    pub fn new(field: impl Into<String>, values: Values) -> Self {
        Self { field: field.into(), values, open: true }
    }

    /// The value at a place; the centre of a range is multiplied by `scale`.
    pub fn at(&self, place: f64, scale: f64) -> Setting {
        match &self.values {
            Values::Scaled { centre, factor } => {
                let value = scale * centre * factor.powf(2.0 * place - 1.0);
                // Three digits: a spec should be readable, and finer differences mean nothing.
                let digits = 10f64.powf(2.0 - value.abs().log10().floor());
                Setting::of((value * digits).round() / digits)
            }
            Values::Listed(values) => {
                values[((place * values.len() as f64) as usize).min(values.len() - 1)].clone()
            }
        }
    }

    /// The place of a value, or the nearest; `None` for one that is no number above 0, or not listed where nothing else may be.
    pub fn place(&self, setting: &Setting, scale: f64) -> Option<f64> {
        match &self.values {
            Values::Scaled { centre, factor } => {
                let value = setting.number().filter(|value| *value > 0.0)?;
                Some((0.5 + 0.5 * (value / (scale * centre)).ln() / factor.ln()).clamp(0.0, 1.0))
            }
            Values::Listed(values) => {
                let index = values.iter().position(|value| value == setting);
                let index = index.or_else(|| nearest(values, setting).filter(|_| self.open))?;
                Some((index as f64 + 0.5) / values.len() as f64)
            }
        }
    }

    /// The parts into which the range is cut to see how much the field matters: quarters, or the listed values.
    pub fn parts(&self) -> usize {
        match &self.values {
            Values::Scaled { .. } => 4,
            Values::Listed(values) => values.len(),
        }
    }

    /// The part in which a place lies.
    pub fn part(&self, place: f64) -> usize {
        ((place * self.parts() as f64) as usize).min(self.parts() - 1)
    }

    /// Whether there is nothing to choose.
    pub fn is_held(&self) -> bool {
        matches!(&self.values, Values::Listed(values) if values.len() == 1)
    }

    /// Where a value stands on the axis of a figure: at its number, or its place in the list.
    pub fn on_axis(&self, setting: &Setting) -> Option<f64> {
        match &self.values {
            Values::Scaled { .. } => setting.number().filter(|x| *x > 0.0),
            Values::Listed(values) => values.iter().position(|value| value == setting).map(|i| i as f64),
        }
    }

    /// The range in words.
    pub fn words(&self) -> String {
        match &self.values {
            Values::Scaled { .. } => format!("from {} to {}", self.at(0.0, 1.0), self.at(1.0, 1.0)),
            Values::Listed(values) => {
                let words: Vec<String> = values.iter().map(Setting::to_string).collect();
                format!("at {}", words.join(", "))
            }
        }
    }
}
