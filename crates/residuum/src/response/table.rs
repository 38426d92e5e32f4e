//! Tables of a response before they are interpolated: reading them and finding what is wrong, row by row.

use std::fmt;

use super::TabulatedError;

/// A row of a table, as its writer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Index of a node given as a number, from 0.
    Node(usize),
    /// Line of a text, from 1.
    Line(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(index) => write!(f, "node {index}"),
            Self::Line(line) => write!(f, "line {line}"),
        }
    }
}

const COLUMNS: [&str; 3] = ["w", "q_plus", "q_minus"];

/// Three columns of one length, each row with its place.
pub(super) struct Table {
    pub(super) nodes: Vec<f64>,
    pub(super) q_plus: Vec<f64>,
    pub(super) q_minus: Vec<f64>,
    places: Vec<Place>,
}

impl Table {
    pub(super) fn new(nodes: &[f64], q_plus: &[f64], q_minus: &[f64]) -> Result<Self, TabulatedError> {
        for (column, values) in [("q_plus", q_plus), ("q_minus", q_minus)] {
            if values.len() != nodes.len() {
                let (expected, given) = (nodes.len(), values.len());
                return Err(TabulatedError::Length { column, expected, given });
            }
        }
        Ok(Self {
            nodes: nodes.to_vec(),
            q_plus: q_plus.to_vec(),
            q_minus: q_minus.to_vec(),
            places: (0..nodes.len()).map(Place::Node).collect(),
        })
    }

    pub(super) fn from_csv(text: &str) -> Result<Self, TabulatedError> {
        // Spreadsheets like to begin with a byte-order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            .from_reader(text.as_bytes());
        // Text that is UTF-8 already and rows of any length cannot be refused.
        let rows =
            reader.records().filter_map(Result::ok).filter(|row| row.iter().any(|field| !field.is_empty()));
        let mut rows = rows.map(|row| (line_of(text, &row), row));
        let written = |row: &csv::StringRecord| row.iter().collect::<Vec<_>>().join(",");
        let (line, header) = rows.next().ok_or(TabulatedError::Empty)?;
        let order = columns(&header).ok_or_else(|| TabulatedError::Header { line, text: written(&header) })?;
        let mut table = Self { nodes: vec![], q_plus: vec![], q_minus: vec![], places: vec![] };
        for (line, fields) in rows {
            if fields.len() != COLUMNS.len() {
                return Err(TabulatedError::Fields { line, given: fields.len(), text: written(&fields) });
            }
            let number = |column: usize| {
                let field = &fields[order[column]];
                field.parse::<f64>().map_err(|_| TabulatedError::Number {
                    line,
                    column: COLUMNS[column],
                    text: field.to_owned(),
                })
            };
            table.nodes.push(number(0)?);
            table.q_plus.push(number(1)?);
            table.q_minus.push(number(2)?);
            table.places.push(Place::Line(line));
        }
        Ok(table)
    }

    /// Refuses what no device can be.
    pub(super) fn check(&self) -> Result<(), TabulatedError> {
        let rows = self.nodes.len();
        if rows < 2 {
            return Err(TabulatedError::TooFew { given: rows });
        }
        for (i, &place) in self.places.iter().enumerate() {
            let row = [self.nodes[i], self.q_plus[i], self.q_minus[i]];
            for (column, value) in COLUMNS.into_iter().zip(row) {
                if !value.is_finite() {
                    return Err(TabulatedError::NotFinite { place, column, value });
                }
            }
            let [at, plus, minus] = row;
            if i > 0 && at <= self.nodes[i - 1] {
                return Err(TabulatedError::Order { place, previous: self.nodes[i - 1], value: at });
            }
            let end = i == 0 || i == rows - 1;
            for (column, value) in [("q_plus", plus), ("q_minus", minus)] {
                if value < 0.0 || (value == 0.0 && !end) {
                    return Err(TabulatedError::NotPositive { place, column, at, value });
                }
            }
            if plus == 0.0 && minus == 0.0 {
                return Err(TabulatedError::Stuck { place, at });
            }
        }
        Ok(())
    }
}

/// The line of a record: its position is that of the comments and empty lines before it.
fn line_of(text: &str, row: &csv::StringRecord) -> usize {
    let Some(at) = row.position() else { return 0 };
    let aside = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    at.line() as usize + text[at.byte() as usize..].lines().take_while(aside).count()
}

/// Where each of [`COLUMNS`] stands in the header; `None` unless each stands there once and nothing else does.
fn columns(header: &csv::StringRecord) -> Option<[usize; 3]> {
    let find = |column: &str| header.iter().position(|name| name == column);
    let order = [find(COLUMNS[0])?, find(COLUMNS[1])?, find(COLUMNS[2])?];
    (header.len() == COLUMNS.len()).then_some(order)
}
