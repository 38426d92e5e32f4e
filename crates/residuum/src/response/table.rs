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

#[cfg(test)]
mod tests {
    use super::super::Tabulated;

    fn message(text: &str) -> String {
        Tabulated::from_csv(text).expect_err(text).to_string()
    }

    #[test]
    fn columns_comments_and_line_ends_are_free() {
        let plain = Tabulated::from_csv("w,q_plus,q_minus\n-1,1.8,0.2\n0.5,0.9,1.0\n2,0,3e0\n").unwrap();
        let other =
            "\u{feff}# measured\r\n\r\n q_minus , w,q_plus \r\n0.2,-1,1.8\r\n#\r\n1.0,0.5,0.9\r\n3.0, 2 ,0\r\n";
        assert_eq!(Tabulated::from_csv(other).unwrap(), plain);
        assert_eq!(Tabulated::new(&[-1.0, 0.5, 2.0], &[1.8, 0.9, 0.0], &[0.2, 1.0, 3.0]).unwrap(), plain);
    }

    #[test]
    fn errors_name_line_column_and_text() {
        let header = "w,q_plus,q_minus";
        assert_eq!(
            message("# nothing\n\n"),
            "a table needs the header w,q_plus,q_minus, got no line with content"
        );
        assert_eq!(
            message("\nw,q_plus\n0,1\n"),
            "line 2: the header must name w, q_plus and q_minus once each, in any order, got \"w,q_plus\""
        );
        assert!(message("w,q_plus,q_minus,w\n").starts_with("line 1: the header must name"));
        assert_eq!(
            message(&format!("{header}\n0,1,1\n# x\n1,1.2e,1\n")),
            "line 4: q_plus must be a number, got \"1.2e\""
        );
        assert_eq!(message(&format!("{header}\n0,1\n")), "line 2: a row must have 3 fields, got 2 in \"0,1\"");
        assert_eq!(message(&format!("{header}\n0,1,1\n")), "a table needs at least 2 rows, got 1");
        assert_eq!(
            message(&format!("{header}\n0,1,1\n0,1,1\n")),
            "line 3: w must increase from row to row, got 0 after 0"
        );
        assert_eq!(message(&format!("{header}\n0,1,NaN\n1,1,1\n")), "line 2: q_minus must be finite, got NaN");
        assert!(message(&format!("{header}\n0,1,1\n1,0,1\n2,1,1\n")).starts_with(
            "line 3: q_plus must be positive (0 is allowed in the first and the last row only), got 0 at w = 1"
        ));
        assert!(message(&format!("{header}\n0,1,-0.1\n1,1,1\n")).contains("q_minus must be positive"));
        assert_eq!(
            message(&format!("{header}\n0,1,1\n1,0,0\n")),
            "line 3: q_plus and q_minus must not both be 0, got 0 and 0 at w = 1"
        );
    }

    #[test]
    fn errors_of_slices_name_the_node() {
        let error = Tabulated::new(&[0.0, 1.0], &[1.0, f64::INFINITY], &[1.0, 1.0]).expect_err("infinite");
        assert_eq!(error.to_string(), "node 1: q_plus must be finite, got inf");
        let error = Tabulated::new(&[0.0, 1.0], &[1.0], &[1.0, 1.0]).expect_err("short");
        assert_eq!(error.to_string(), "q_plus must have one value per node, 2, got 1");
    }
}
