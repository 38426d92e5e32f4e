//! Tables of text with a header: CSV.

use std::path::Path;

use super::{Labelled, classes, refused};
use crate::disk::{self, DATA};
use crate::{DataError, Dataset, Description, Goals, ImageShape};

/// Which columns of a table mean what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableColumns {
    /// The column with the class of each row, for a classification.
    pub label: Option<String>,
    /// The columns with target values, for a regression.
    pub targets: Vec<String>,
    /// The columns with inputs; all others if there are none.
    pub features: Vec<String>,
    /// What separates columns.
    pub delimiter: Option<u8>,
    /// How many classes there are, labels being numbers below that; otherwise every label that occurs is a class.
    pub classes: Option<usize>,
    /// The shape of a sample in row, column, channel order; a vector if it is not given.
    pub shape: Option<ImageShape>,
}

/// Reads a table whose first line names its columns. `like` is the training set of a test set: classes are its classes.
///
/// # Errors
/// If a column does not exist, a cell is empty or not a finite number, a label is not known, or there are no rows.
pub fn read_table(path: &Path, columns: &TableColumns, like: Option<&Dataset>) -> Result<Dataset, DataError> {
    let read = |e: csv::Error| {
        let place = e.position().map_or_else(String::new, |p| format!(", row {}", p.line()));
        match e.into_kind() {
            csv::ErrorKind::Io(source) => DataError::Read { path: path.into(), source },
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => refused(
                path,
                place,
                format!("a row must have {expected_len} columns like the header, got {len}"),
            ),
            other => refused(path, place, format!("must be a table of text: {other:?}")),
        }
    };
    let text = disk::read(path, DATA).map_err(|source| DataError::Read { path: path.into(), source })?;
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(columns.delimiter.unwrap_or(b','))
        .trim(csv::Trim::All)
        .from_reader(text.as_slice());
    let header: Vec<String> = reader.headers().map_err(read)?.iter().map(String::from).collect();
    let place = |name: &String| {
        let found: Vec<usize> = (0..header.len()).filter(|&i| header[i] == *name).collect();
        let message = match found.as_slice() {
            [one] => return Ok(*one),
            [] => format!("must have a column {name:?}, but its columns are {}", header.join(", ")),
            several => format!("must have one column {name:?}, got {} of this name", several.len()),
        };
        Err(refused(path, ", row 1", message))
    };
    let label = columns.label.as_ref().map(place).transpose()?;
    let targets: Vec<usize> = columns.targets.iter().map(place).collect::<Result<_, _>>()?;
    let features: Vec<usize> = if columns.features.is_empty() {
        (0..header.len()).filter(|i| Some(*i) != label && !targets.contains(i)).collect()
    } else {
        columns.features.iter().map(place).collect::<Result<_, _>>()?
    };
    if let Some(both) = features.iter().find(|i| Some(**i) == label || targets.contains(i)) {
        let message = format!("column {:?} must not be a feature and what is to be learned", header[*both]);
        return Err(refused(path, ", row 1", message));
    }
    for list in [&features, &targets] {
        if let Some((_, twice)) = list.iter().enumerate().find(|(n, i)| list[..*n].contains(i)) {
            return Err(refused(path, ", row 1", format!("column {:?} must be named once", header[*twice])));
        }
    }
    if features.is_empty() {
        return Err(refused(path, ", row 1", "must have a column besides what is to be learned"));
    }
    let shape = columns.shape.unwrap_or(ImageShape::new(1, 1, features.len()));
    if shape.values() != features.len() {
        let ImageShape { height, width, channels } = shape;
        let message = format!("{} features must fill the shape {height}×{width}×{channels}", features.len());
        return Err(refused(path, ", row 1", message));
    }
    let (mut values, mut labels, mut goals) = (Vec::new(), Vec::new(), Vec::new());
    for record in reader.records() {
        let record = record.map_err(read)?;
        let row = record.position().map_or(0, csv::Position::line);
        let number = |i: usize| {
            let text = record.get(i).unwrap_or("");
            match text.parse::<f32>() {
                Ok(value) if value.is_finite() => Ok(value),
                _ => {
                    let place = format!(", row {row}, column {:?}", header[i]);
                    Err(refused(path, place, format!("must be a finite number, got {text:?}")))
                }
            }
        };
        for &i in &features {
            values.push(number(i)?);
        }
        for &i in &targets {
            goals.push(number(i)?);
        }
        if let Some(i) = label {
            let text = record.get(i).unwrap_or("");
            let place = format!(", row {row}, column {:?}", header[i]);
            if text.is_empty() {
                return Err(refused(path, place, "the label must not be empty"));
            }
            labels.push((text.to_string(), place));
        }
    }
    if values.is_empty() {
        return Err(refused(path, "", "must have a row after its header, got none"));
    }
    let name = path.display().to_string();
    if label.is_none() {
        let description = Description { name, shape, classes: 0, full_scale: 1 };
        return Dataset::of_values(description, values, Goals::Values { each: targets.len(), values: goals });
    }
    let known: Option<Vec<String>> =
        like.map(|like| (0..like.classes()).map(|class| like.class_name(class)).collect());
    let Labelled { classes, names } = classes(path, &labels, columns.classes, known.as_deref())?;
    let description = Description { name, shape, classes: names.len(), full_scale: 1 };
    Ok(Dataset::of_values(description, values, Goals::Classes(classes))?.with_class_names(names))
}
