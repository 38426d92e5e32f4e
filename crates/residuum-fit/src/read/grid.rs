//! A file as cells.

use super::{PulseFile, ReadError};

/// Rows of cells, with the line each stands on.
pub(super) struct Grid<'a> {
    /// Names, if the first row holds any.
    pub(super) header: Option<Vec<String>>,
    pub(super) rows: Vec<(usize, Cells<'a>)>,
    pub(super) columns: usize,
}

/// The cells of a row: borrowed, since a file may have a million.
pub(super) type Cells<'a> = Vec<&'a str>;

impl<'a> Grid<'a> {
    /// Splits at semicolons, tabs, commas or spaces, whichever the first rows have; beside one of the first two, commas are decimal
    /// ones. Blank lines and lines that start with `#` are
    /// skipped.
    pub(super) fn split(source: &PulseFile<'a>) -> Result<Self, ReadError> {
        let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
        let mut lines = text
            .lines()
            .enumerate()
            .map(|(i, line)| (i + 1, line.trim_end_matches('\r')))
            .filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
            .peekable();
        let Some(&(_, first)) = lines.peek() else { return Err(ReadError::Empty { file: source.name.into() }) };
        let head: Vec<&str> = lines.clone().take(5).map(|(_, line)| line).collect();
        let in_all = |c: &char| head.iter().all(|line| line.contains(*c));
        let separator =
            [';', '\t', ','].into_iter().find(in_all).or_else(|| first.contains(',').then_some(','));
        let cells = |line: &'a str| -> Cells<'a> {
            match separator {
                Some(c) => line.split(c).map(|cell| cell.trim().trim_matches('"')).collect(),
                None => line.split_whitespace().map(|cell| cell.trim_matches('"')).collect(),
            }
        };
        let named = cells(first).iter().any(|cell| !cell.is_empty() && cell.parse::<f64>().is_err());
        let header = if named {
            lines.next().map(|(_, line)| cells(line).into_iter().map(str::to_string).collect())
        } else {
            None
        };
        let rows: Vec<(usize, Cells<'a>)> = lines.map(|(number, line)| (number, cells(line))).collect();
        if rows.is_empty() {
            return Err(ReadError::Empty { file: source.name.into() });
        }
        let columns = rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
        Ok(Self { header, rows, columns })
    }
}

impl Grid<'_> {
    /// Refuses a column of words among columns of reads.
    pub(super) fn refuse_words(&self, file: &str) -> Result<(), ReadError> {
        for column in 0..self.columns {
            let cells =
                || self.rows.iter().take(40).filter_map(|(_, c)| c.get(column)).filter(|c| !c.is_empty());
            if cells().count() > 1 && cells().all(|cell| cell.parse::<f64>().is_err()) {
                let name = self.header.as_ref().and_then(|h| h.get(column)).cloned().unwrap_or_default();
                let text = cells().next().copied().unwrap_or_default().to_string();
                if has_decimal_comma(&text) {
                    return Err(ReadError::Comma { file: file.into(), text });
                }
                return Err(ReadError::Words { file: file.into(), column: column + 1, name, text });
            }
        }
        Ok(())
    }
}

/// A finite number; `None` for an empty cell.
pub(super) fn number(file: &str, line: usize, column: usize, cell: &str) -> Result<Option<f64>, ReadError> {
    if cell.is_empty() {
        return Ok(None);
    }
    match cell.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Some(value)),
        Ok(_) => Err(ReadError::NotFinite { file: file.into(), line, column: column + 1, text: cell.into() }),
        Err(_) if has_decimal_comma(cell) => Err(ReadError::Comma { file: file.into(), text: cell.into() }),
        Err(_) => Err(ReadError::Number { file: file.into(), line, column: column + 1, text: cell.into() }),
    }
}

/// Whether a cell would be a number with a point for its comma.
fn has_decimal_comma(cell: &str) -> bool {
    cell.contains(',') && cell.replacen(',', ".", 1).parse::<f64>().is_ok()
}

/// The unit that a name carries: `conductance (uS)`, `G [S]`, `conductance_mS`.
pub(super) fn unit(name: &str) -> Option<String> {
    let inside = |open: char, close: char| {
        let (_, rest) = name.split_once(open)?;
        Some(rest.split_once(close)?.0.trim().to_string())
    };
    let suffix = || {
        let (_, last) = name.rsplit_once('_')?;
        (is_unit(last) || is_resistance(last)).then(|| last.to_string())
    };
    inside('(', ')').or_else(|| inside('[', ']')).or_else(suffix).filter(|u| !u.is_empty())
}

/// Whether a word is a unit of conductance or current.
pub(super) fn is_unit(word: &str) -> bool {
    let bare = word.strip_prefix(['m', 'u', 'µ', 'μ', 'n', 'p']).unwrap_or(word);
    ["S", "A"].contains(&bare)
}

/// Whether a word is a unit of resistance.
pub(super) fn is_resistance(word: &str) -> bool {
    let lower = word.to_lowercase();
    // The letter, lower case as the sign of the unit becomes too.
    ["ohm", "ohms", "ω"].iter().any(|end| lower.ends_with(end))
}

/// The unit of currents over volts; `None` for what is none of a current.
pub(super) fn over_volts(unit: &str) -> Option<String> {
    unit.strip_suffix('A').filter(|_| is_unit(unit)).map(|prefix| format!("{prefix}S"))
}
