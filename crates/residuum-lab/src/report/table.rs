//! Tables before they are HTML, Markdown, LaTeX or CSV.

use residuum::stats::Summary;

use super::number::{Written, column, probability, written};
use crate::files::csv_field;

/// A table with a caption and footnotes.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// For files: letters, digits and `-`.
    pub name: String,
    /// What it shows.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, a cell for each column.
    pub rows: Vec<Vec<TableCell>>,
    /// Notes needed to read it.
    pub notes: Vec<String>,
}

/// The head of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its words.
    pub head: String,
    /// Whether numbers stand in it.
    pub numeric: bool,
}

impl Column {
    /// A column of words.
    pub fn words(head: impl Into<String>) -> Self {
        Self { head: head.into(), numeric: false }
    }

    /// A column of numbers.
    pub fn numbers(head: impl Into<String>) -> Self {
        Self { head: head.into(), numeric: true }
    }
}

/// What stands in a table.
#[derive(Clone, Debug, PartialEq)]
pub enum TableCell {
    /// Words, or the value of a label.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A number without an error.
    Number(f64),
    /// A mean with its error; `best` marks it.
    Estimate {
        /// Over seeds.
        summary: Summary,
        /// Significantly ahead of all others it is compared with.
        best: bool,
    },
    /// A probability.
    Probability(f64),
    /// Nothing was recorded.
    Missing,
}

impl TableCell {
    /// A mean over seeds, if there is one.
    pub fn estimate(summary: Summary) -> Self {
        if summary.n == 0 { Self::Missing } else { Self::Estimate { summary, best: false } }
    }

    /// As people read it.
    pub fn plain(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(n) => n.to_string(),
            Self::Number(x) => written(*x, None).plain(),
            Self::Estimate { summary, .. } => Written::of(summary).plain(),
            Self::Probability(p) => probability(*p),
            Self::Missing => "–".into(),
        }
    }

    /// Sort key: the number, if it is one.
    pub fn key(&self) -> Option<f64> {
        match self {
            Self::Text(text) => text.parse().ok(),
            Self::Count(n) => Some(*n as f64),
            Self::Number(x) | Self::Probability(x) => Some(*x),
            Self::Estimate { summary, .. } => Some(summary.mean),
            Self::Missing => None,
        }
        .filter(|x| x.is_finite())
    }

    /// A mean and its error, if it is a number that shares the decimals of its column.
    fn measured(&self) -> Option<(f64, Option<f64>)> {
        match self {
            Self::Number(x) => Some((*x, None)),
            Self::Estimate { summary, .. } => Some((summary.mean, (summary.n > 1).then_some(summary.se))),
            _ => None,
        }
    }

    /// Whether it is marked.
    pub fn is_best(&self) -> bool {
        matches!(self, Self::Estimate { best: true, .. })
    }
}

/// A cell as it is written in its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownCell {
    /// Words.
    Words(String),
    /// A number.
    Number(Written),
}

impl ShownCell {
    /// As people read it.
    pub fn plain(&self) -> String {
        match self {
            Self::Words(words) => words.clone(),
            Self::Number(written) => written.plain(),
        }
    }
}

impl Table {
    /// Every cell as it is written: the numbers of a column have the same decimals.
    pub fn shown(&self) -> Vec<Vec<ShownCell>> {
        let mut shown: Vec<Vec<ShownCell>> = self
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| ShownCell::Words(cell.plain())).collect())
            .collect();
        for i in 0..self.columns.len() {
            let numbers: Vec<(f64, Option<f64>)> =
                self.rows.iter().filter_map(|row| row.get(i)?.measured()).collect();
            let mut written = column(&numbers).into_iter();
            for (row, shown) in self.rows.iter().zip(&mut shown) {
                if row.get(i).is_some_and(|cell| cell.measured().is_some()) {
                    shown[i] = written.next().map_or_else(|| shown[i].clone(), ShownCell::Number);
                }
            }
        }
        shown
    }

    /// The table for a terminal.
    pub fn to_text(&self) -> String {
        let mut lines: Vec<Vec<String>> = vec![self.columns.iter().map(|c| c.head.clone()).collect()];
        lines.extend(self.shown().iter().map(|row| row.iter().map(ShownCell::plain).collect()));
        let width = |i: usize| lines.iter().map(|line| line[i].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = format!("{}\n\n", self.caption);
        for line in &lines {
            let padded = line.iter().zip(&self.columns).zip(&widths).map(|((cell, column), &width)| {
                if column.numeric { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            text += padded.collect::<Vec<_>>().join("  ").trim_end();
            text.push('\n');
        }
        for note in &self.notes {
            text += &["\n", note, "\n"].concat();
        }
        text
    }

    /// The numbers in full; a mean and its error take a column each.
    pub fn to_csv(&self) -> String {
        let split: Vec<bool> = (0..self.columns.len())
            .map(|i| self.rows.iter().any(|row| matches!(row[i], TableCell::Estimate { .. })))
            .collect();
        let mut heads = Vec::new();
        for (column, split) in self.columns.iter().zip(&split) {
            heads.push(csv_field(&column.head));
            if *split {
                heads.push(csv_field(&format!("{} SE", column.head)));
            }
        }
        let mut text = heads.join(",") + "\n";
        for row in &self.rows {
            let mut fields = Vec::new();
            for (cell, split) in row.iter().zip(&split) {
                match cell {
                    TableCell::Text(words) => fields.push(csv_field(words)),
                    other => fields.push(other.key().map_or_else(String::new, |x| x.to_string())),
                }
                if *split {
                    let error = match cell {
                        TableCell::Estimate { summary, .. } if summary.n > 1 => summary.se.to_string(),
                        _ => String::new(),
                    };
                    fields.push(error);
                }
            }
            text += &(fields.join(",") + "\n");
        }
        text
    }
}
