//! Records: one number per row.

use std::fmt::Write as _;

use thiserror::Error;

/// One recorded number of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Epochs done, for networks.
    pub epoch: Option<u64>,
    /// Steps done.
    pub step: u64,
    /// What it is.
    pub metric: String,
    /// Of which layer or array; empty for the whole.
    pub part: String,
    /// Which entry or bin, for a vector.
    pub index: Option<u64>,
    /// The number.
    pub value: f64,
}

/// A line that is not a record.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct RowError {
    /// Line from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

const HEADER: &str = "epoch,step,metric,part,index,value";

/// Records as CSV; reading a number back gives the same bits.
pub fn rows_to_csv(rows: &[Row]) -> String {
    let mut text = format!("{HEADER}\n");
    let optional = |n: Option<u64>| n.map_or_else(String::new, |n| n.to_string());
    for Row { epoch, step, metric, part, index, value } in rows {
        let (epoch, index) = (optional(*epoch), optional(*index));
        let _ = writeln!(text, "{epoch},{step},{metric},{part},{index},{value}");
    }
    text
}

/// Records from CSV as [`rows_to_csv`] writes it.
///
/// # Errors
/// The first line that is not a record.
pub fn rows_from_csv(text: &str) -> Result<Vec<Row>, RowError> {
    let mut lines = text.lines().enumerate();
    let wrong = |line: usize, message: String| RowError { line: line + 1, message };
    match lines.next() {
        Some((_, HEADER)) => {}
        other => return Err(wrong(0, format!("must be {HEADER:?}, got {:?}", other.map_or("", |(_, l)| l)))),
    }
    let optional = |text: &str| if text.is_empty() { Ok(None) } else { text.parse().map(Some) };
    lines
        .map(|(n, line)| {
            let fields: Vec<&str> = line.split(',').collect();
            let [epoch, step, metric, part, index, value] = fields[..] else {
                return Err(wrong(n, format!("must have 6 columns, got {}", fields.len())));
            };
            let bad = |name: &str, text: &str| wrong(n, format!("{name} must be a number, got {text:?}"));
            Ok(Row {
                epoch: optional(epoch).map_err(|_| bad("epoch", epoch))?,
                step: step.parse().map_err(|_| bad("step", step))?,
                metric: metric.to_string(),
                part: part.to_string(),
                index: optional(index).map_err(|_| bad("index", index))?,
                value: value.parse().map_err(|_| bad("value", value))?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_to_the_bit() {
        let row =
            |epoch, index, value| Row { epoch, step: 7, metric: "gap".into(), part: "1".into(), index, value };
        let rows =
            vec![row(None, Some(3), 0.1 + 0.2), row(Some(2), None, -1.0e-300), row(None, None, f64::INFINITY)];
        assert_eq!(rows_from_csv(&rows_to_csv(&rows)).unwrap(), rows);
        let error = rows_from_csv(&format!("{HEADER}\n1,2,gap,,x,0.5\n")).unwrap_err();
        assert_eq!(error.to_string(), "line 2: index must be a number, got \"x\"");
        assert!(rows_from_csv("seed,value\n").is_err());
    }
}
