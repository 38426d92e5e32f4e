//! Records: one number per row.

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

const HEADER: [&str; 6] = ["epoch", "step", "metric", "part", "index", "value"];

/// Records as CSV; reading a number back gives the same bits.
pub fn rows_to_csv(rows: &[Row]) -> String {
    let optional = |n: Option<u64>| n.map_or_else(String::new, |n| n.to_string());
    let mut csv = csv::Writer::from_writer(Vec::new());
    let mut write = |record: [&str; 6]| csv.write_record(record).expect("memory takes six columns");
    write(HEADER);
    for Row { epoch, step, metric, part, index, value } in rows {
        let (epoch, step, index, value) =
            (optional(*epoch), step.to_string(), optional(*index), value.to_string());
        write([&epoch, &step, metric, part, &index, &value]);
    }
    String::from_utf8(csv.into_inner().expect("memory takes every byte")).expect("fields are text")
}

/// Records from CSV as [`rows_to_csv`] writes it.
///
/// # Errors
/// The first line that is not a record.
pub fn rows_from_csv(text: &str) -> Result<Vec<Row>, RowError> {
    let mut csv = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut records = csv.records();
    let wrong = |line: usize, message: String| RowError { line, message };
    let header = records.next().transpose().map_err(|e| wrong(1, e.to_string()))?.unwrap_or_default();
    if header != HEADER[..] {
        let given = header.iter().collect::<Vec<_>>().join(",");
        return Err(wrong(1, format!("must be {:?}, got {given:?}", HEADER.join(","))));
    }
    let optional = |text: &str| if text.is_empty() { Ok(None) } else { text.parse().map(Some) };
    records
        .enumerate()
        .map(|(n, record)| {
            let record = record.map_err(|e| wrong(n + 2, e.to_string()))?;
            let line = record.position().map_or(n + 2, |p| p.line() as usize);
            let fields: Vec<&str> = record.iter().collect();
            let [epoch, step, metric, part, index, value] = fields[..] else {
                return Err(wrong(line, format!("must have 6 columns, got {}", fields.len())));
            };
            let bad = |name: &str, text: &str| wrong(line, format!("{name} must be a number, got {text:?}"));
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
