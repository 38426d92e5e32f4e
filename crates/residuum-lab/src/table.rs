//! Tables of numbers in CSV files, with or without a header line.

use std::path::{Path, PathBuf};

use residuum_nn::data::disk::{DATA, read_text};
use thiserror::Error;

/// A CSV file that is not a table of numbers.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TableError {
    /// The file cannot be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Rows of different lengths.
    #[error("{}, line {line}: must have {expected} columns like the first row, got {given}", path.display())]
    Ragged {
        /// The file.
        path: PathBuf,
        /// Line from 1.
        line: usize,
        /// Columns of the first row.
        expected: usize,
        /// Columns of this one.
        given: usize,
    },
    /// An entry that is not a finite number.
    #[error("{}, line {line}: column {column} must be a finite number, got {text:?}", path.display())]
    NotANumber {
        /// The file.
        path: PathBuf,
        /// Line from 1.
        line: usize,
        /// Column from 1.
        column: usize,
        /// The entry.
        text: String,
    },
    /// No row at all.
    #[error("{} must have rows of numbers, got none", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A missing column, or several without a choice.
    #[error("{}: {message}", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
}

/// Rows of finite numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberTable {
    path: PathBuf,
    /// Column names, empty if the file has no header.
    pub header: Vec<String>,
    /// Row-major entries.
    pub values: Vec<f64>,
    /// Number of columns.
    pub columns: usize,
}

impl NumberTable {
    /// Reads a file. A first row with an entry that is not a number is the header; lines that start with `#` are
    /// comments.
    ///
    /// # Errors
    /// If the file cannot be read, rows differ in length, an entry is not a finite number, or there is no row.
    pub fn read(path: &Path) -> Result<Self, TableError> {
        let text =
            read_text(path, DATA).map_err(|source| TableError::Unreadable { path: path.into(), source })?;
        Self::parse(&text, path)
    }

    /// The same from the text of a file, which `path` names in errors.
    ///
    /// # Errors
    /// If rows differ in length, an entry is not a finite number, or there is no row.
    pub fn parse(text: &str, path: &Path) -> Result<Self, TableError> {
        let mut table = Self { path: path.into(), header: Vec::new(), values: Vec::new(), columns: 0 };
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            .from_reader(text.as_bytes());
        // The text is valid UTF-8 and rows may have any length, so this cannot fail.
        let rows =
            reader.records().filter_map(Result::ok).filter(|row| row.iter().any(|entry| !entry.is_empty()));
        for entries in rows {
            if table.columns == 0 {
                table.columns = entries.len();
                if entries.iter().any(|entry| entry.parse::<f64>().is_err()) {
                    table.header = entries.iter().map(String::from).collect();
                    continue;
                }
            }
            // The position of a record is that of the comments and empty lines before it.
            let aside = |line: &&str| line.trim().is_empty() || line.starts_with('#');
            let skipped = |from: usize| text[from..].lines().take_while(aside).count();
            let line = entries.position().map_or(0, |at| at.line() as usize + skipped(at.byte() as usize));
            if entries.len() != table.columns {
                let (expected, given) = (table.columns, entries.len());
                return Err(TableError::Ragged { path: path.into(), line, expected, given });
            }
            for (column, entry) in entries.iter().enumerate() {
                match entry.parse::<f64>() {
                    Ok(x) if x.is_finite() => table.values.push(x),
                    _ => {
                        let (path, text) = (path.into(), entry.into());
                        return Err(TableError::NotANumber { path, line, column: column + 1, text });
                    }
                }
            }
        }
        if table.values.is_empty() {
            return Err(TableError::Empty { path: path.into() });
        }
        Ok(table)
    }

    /// The column of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn column(&self, name: &str) -> Result<Vec<f64>, TableError> {
        match self.header.iter().position(|h| h == name) {
            Some(i) => self.column_at(i),
            None => Err(self.wrong(format!("has no column {name:?} (columns: {})", self.header.join(", ")))),
        }
    }

    /// Column number `i`, from 0.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn column_at(&self, i: usize) -> Result<Vec<f64>, TableError> {
        if i >= self.columns {
            return Err(self.wrong(format!("has {} columns, so there is no column {i}", self.columns)));
        }
        Ok(self.values.iter().skip(i).step_by(self.columns).copied().collect())
    }

    /// The single column of a file that has one.
    ///
    /// # Errors
    /// If there are several: the spec must then say which.
    pub fn only_column(&self) -> Result<Vec<f64>, TableError> {
        if self.columns == 1 {
            return self.column_at(0);
        }
        Err(self.wrong(format!("has {} columns; choose one with column = …", self.columns)))
    }

    fn wrong(&self, message: String) -> TableError {
        TableError::Column { path: self.path.clone(), message }
    }
}
