//! Data of one's own: tables, arrays, folders of images.
//!
//! A reader refuses what cannot be learned from, with the file and the row: a number that is not finite, an empty cell, a label
//! out of range, an empty folder. Classes of a test file are those of the training file.

mod array;
mod folder;
mod table;

use std::path::Path;

pub use array::{ArrayPlace, Arrays, array_names, read_arrays};
pub use folder::read_folder;
pub use table::{TableColumns, read_table};

use super::{DataError, idx};

/// An error at a place of a file.
fn refused(path: &Path, place: impl Into<String>, message: impl Into<String>) -> DataError {
    DataError::Row { file: path.display().to_string(), place: place.into(), message: message.into() }
}

/// Reads the labels and images of two IDX files, as [`idx::read`], with as many classes as the largest label says unless
/// `classes` does.
///
/// # Errors
/// If a file is missing or damaged, or a label is out of range.
pub fn read_idx(images: &Path, labels: &Path, classes: Option<usize>) -> Result<super::Dataset, DataError> {
    let name = images.display().to_string();
    let read = |classes: usize| {
        idx::read(&name, images, labels, classes).map_err(|error| match error {
            // The data set goes by its images; a label stands in the other file.
            DataError::Label { index, label, classes, .. } => {
                DataError::Label { name: labels.display().to_string(), index, label, classes }
            }
            other => other,
        })
    };
    let all = read(classes.unwrap_or(256))?;
    match classes {
        Some(_) => Ok(all),
        None => {
            let most = all.labels().iter().max().map_or(1, |&label| label as usize + 1);
            at_least_two(labels, most)?;
            read(most)
        }
    }
}

/// With one class there is nothing to learn, and every accuracy is 1.
fn at_least_two(path: &Path, classes: usize) -> Result<(), DataError> {
    if classes >= 2 {
        return Ok(());
    }
    Err(refused(path, "", format!("must have labels of at least two classes, got {classes}")))
}

/// What the labels of samples are called, and which class each is.
struct Labelled {
    classes: Vec<u32>,
    names: Vec<String>,
}

/// Classes in order: by number if all labels are whole numbers, else by letter. With `count`, labels are the numbers below it;
/// with `known`, they are these.
fn classes(
    path: &Path,
    labels: &[(String, String)],
    count: Option<usize>,
    known: Option<&[String]>,
) -> Result<Labelled, DataError> {
    let numbers: Option<Vec<i64>> = labels.iter().map(|(label, _)| whole(label)).collect();
    if let Some(count) = count {
        let names = (0..count).map(|class| class.to_string()).collect();
        let number = |(label, place): &(String, String)| match whole(label) {
            Some(class) if usize::try_from(class).is_ok_and(|class| class < count) => Ok(class as u32),
            _ => {
                let message =
                    format!("the label must be a whole number from 0 to {}, got {label:?}", count - 1);
                Err(refused(path, place, message))
            }
        };
        let classes = labels.iter().map(number).collect::<Result<_, _>>()?;
        return Ok(Labelled { classes, names });
    }
    let names: Vec<String> = match (known, &numbers) {
        (Some(known), _) => known.to_vec(),
        (None, Some(numbers)) => {
            let mut distinct = numbers.clone();
            distinct.sort_unstable();
            distinct.dedup();
            distinct.iter().map(ToString::to_string).collect()
        }
        (None, None) => {
            let mut distinct: Vec<String> = labels.iter().map(|(label, _)| label.clone()).collect();
            distinct.sort_unstable();
            distinct.dedup();
            distinct
        }
    };
    let find = |(label, place): &(String, String)| {
        let plain = whole(label).map_or_else(|| label.clone(), |number| number.to_string());
        names.iter().position(|name| *name == plain || name == label).map(|class| class as u32).ok_or_else(
            || {
                let message = format!("the label must be one of {}, got {label:?}", names.join(", "));
                refused(path, place, message)
            },
        )
    };
    if known.is_none() {
        at_least_two(path, names.len())?;
    }
    // Several thousand classes are searched for every row; tables have few.
    let classes = labels.iter().map(find).collect::<Result<_, _>>()?;
    Ok(Labelled { classes, names })
}

/// A whole number, also as `3.0`.
fn whole(text: &str) -> Option<i64> {
    let number: f64 = text.trim().parse().ok()?;
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
}
