//! NumPy's arrays: `.npy` files, and `.npz` archives of them.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use npyz::{DType, NpyFile, Order, TypeChar};

use super::{Labelled, classes, refused};
use crate::idx::MOST_UNPACKED;
use crate::{DataError, Dataset, Description, Goals, ImageShape};

/// Where inputs and labels or targets are: files, or arrays of one archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrays {
    /// The inputs: one sample for each entry of the first dimension.
    pub inputs: ArrayPlace,
    /// Labels (whole numbers), or targets.
    pub goals: ArrayPlace,
    /// Whether the latter are targets of a regression.
    pub regression: bool,
    /// How many classes there are; otherwise every label that occurs is a class.
    pub classes: Option<usize>,
    /// The shape of a sample in row, column, channel order; otherwise that of the array.
    pub shape: Option<ImageShape>,
}

/// An array in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayPlace {
    /// A `.npy` file, or a `.npz` archive.
    pub path: PathBuf,
    /// Which array of the archive.
    pub name: Option<String>,
}

impl ArrayPlace {
    fn words(&self) -> String {
        self.name.as_ref().map_or_else(String::new, |name| format!(", array {name:?}"))
    }
}

/// Most bytes of a header, which holds a type and a shape.
const MOST_HEADER: u64 = 1 << 16;

/// Numbers in row-major order, with their shape and the largest byte if they are bytes.
struct Numbers {
    shape: Vec<usize>,
    values: Vec<f64>,
    is_bytes: bool,
}

/// Reads samples and what is to be learned of them. `like` is the training set of a test set.
///
/// A sample of one dimension is a vector, of two an image of one channel, of three an image in row, column, channel order.
/// Arrays of unsigned bytes become numbers in [0, 1] by division by 255.
///
/// # Errors
/// If a file is missing or no array, the counts differ, a number is not finite, or a label is not a class.
pub fn read_arrays(arrays: &Arrays, like: Option<&Dataset>) -> Result<Dataset, DataError> {
    let (inputs, goals) = (read(&arrays.inputs)?, read(&arrays.goals)?);
    let (path, place) = (&arrays.inputs.path, arrays.inputs.words());
    let (Some(&count), sample) = (inputs.shape.first(), inputs.shape.get(1..).unwrap_or(&[])) else {
        return Err(refused(path, place, "must have a dimension for samples, got a single number"));
    };
    let own = match *sample {
        [] => ImageShape::new(1, 1, 1),
        [features] => ImageShape::new(1, 1, features),
        [height, width] => ImageShape::new(height, width, 1),
        [height, width, channels] => ImageShape::new(height, width, channels),
        _ => {
            let message = format!("must have at most 4 dimensions, got {:?}", inputs.shape);
            return Err(refused(path, place, message));
        }
    };
    let shape = arrays.shape.unwrap_or(own);
    if shape.values() != own.values() {
        let ImageShape { height, width, channels } = shape;
        let message =
            format!("{} values of a sample must fill the shape {height}×{width}×{channels}", own.values());
        return Err(refused(path, place, message));
    }
    let row = |i: usize, each: usize| format!("{place}, row {}", i / each.max(1));
    if let Some(i) = inputs.values.iter().position(|v| !(*v as f32).is_finite()) {
        let message = format!("values must be finite, got {}", inputs.values[i]);
        return Err(refused(path, row(i, own.values()), message));
    }
    let scale = if inputs.is_bytes { 255.0 } else { 1.0 };
    let values = inputs.values.iter().map(|v| (v / scale) as f32).collect();
    let name = path.display().to_string();
    let of_goals = (&arrays.goals.path, arrays.goals.words());
    if goals.shape.first() != Some(&count) {
        let message = format!(
            "must have one entry for each of {count} samples, got {}",
            goals.shape.first().copied().unwrap_or(0)
        );
        return Err(refused(of_goals.0, of_goals.1, message));
    }
    let each = goals.values.len() / count.max(1);
    if arrays.regression {
        if let Some(i) = goals.values.iter().position(|v| !(*v as f32).is_finite()) {
            let place = format!("{}, row {}", of_goals.1, i / each.max(1));
            let message = format!("targets must be finite, got {}", goals.values[i]);
            return Err(refused(of_goals.0, place, message));
        }
        let description = Description { name, shape, classes: 0, full_scale: 1 };
        let values_of_goals = goals.values.iter().map(|&v| v as f32).collect();
        return Dataset::of_values(description, values, Goals::Values { each, values: values_of_goals });
    }
    if each != 1 {
        let message = format!("must have one label for each sample, got {each} values");
        return Err(refused(of_goals.0, of_goals.1, message));
    }
    let labels: Vec<(String, String)> = (goals.values.iter().enumerate())
        .map(|(i, v)| (v.to_string(), format!("{}, row {i}", of_goals.1)))
        .collect();
    if let Some((label, place)) = labels.iter().find(|(label, _)| super::whole(label).is_none()) {
        let message =
            format!("the label must be a whole number, got {label} (regression = true learns numbers)");
        return Err(refused(of_goals.0, place, message));
    }
    let known: Option<Vec<String>> =
        like.map(|like| (0..like.classes()).map(|class| like.class_name(class)).collect());
    let Labelled { classes, names } = classes(of_goals.0, &labels, arrays.classes, known.as_deref())?;
    let description = Description { name, shape, classes: names.len(), full_scale: 1 };
    Ok(Dataset::of_values(description, values, Goals::Classes(classes))?.with_class_names(names))
}

fn read(place: &ArrayPlace) -> Result<Numbers, DataError> {
    let path = &place.path;
    let file = File::open(path).map_err(|source| DataError::Read { path: path.clone(), source })?;
    let Some(name) = &place.name else { return numbers(path, "", BufReader::new(file)) };
    from_archive(path, name, BufReader::new(file))
}

/// The names of the arrays in a `.npz` archive.
///
/// # Errors
/// If it is missing or no archive.
pub fn array_names(path: &Path) -> Result<Vec<String>, DataError> {
    let file = File::open(path).map_err(|source| DataError::Read { path: path.into(), source })?;
    Ok(names(&archive(path, BufReader::new(file))?))
}

fn archive<R: Read + Seek>(path: &Path, file: R) -> Result<zip::ZipArchive<R>, DataError> {
    zip::ZipArchive::new(file).map_err(|e| refused(path, "", format!("must be an intact .npz archive: {e}")))
}

fn names<R: Read + Seek>(archive: &zip::ZipArchive<R>) -> Vec<String> {
    archive
        .file_names()
        .filter_map(Result::ok)
        .filter_map(|file| npyz::npz::array_name_from_file_name(&file).map(String::from))
        .collect()
}

fn from_archive(path: &Path, name: &str, file: impl Read + Seek) -> Result<Numbers, DataError> {
    let damaged = |e: zip::result::ZipError| refused(path, "", format!("must be an intact .npz archive: {e}"));
    let mut archive = archive(path, file)?;
    let names = names(&archive);
    if !names.iter().any(|own| own == name) {
        let message = format!("must have an array {name:?}, but its arrays are {}", names.join(", "));
        return Err(refused(path, "", message));
    }
    let entry = archive.by_name(&npyz::npz::file_name_from_array_name(name)).map_err(damaged)?;
    numbers(path, &format!(", array {name:?}"), entry)
}

fn numbers(path: &Path, place: &str, mut from: impl Read) -> Result<Numbers, DataError> {
    let damaged = |e: std::io::Error| refused(path, place, format!("must be an intact array of NumPy: {e}"));
    // Magic, version, and the length of the header, for which the reader would make room whatever it says.
    let mut start = Vec::new();
    from.by_ref().take(12).read_to_end(&mut start).map_err(damaged)?;
    if let [_, _, _, _, _, _, 2..=u8::MAX, _, length @ ..] = start.as_slice()
        && length.iter().rev().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte)) > MOST_HEADER
    {
        return Err(refused(path, place, format!("must have a header of at most {MOST_HEADER} bytes")));
    }
    let file = NpyFile::new(start.as_slice().chain(from).take(MOST_UNPACKED)).map_err(damaged)?;
    let shape: Vec<usize> = file.shape().iter().map(|&n| n as usize).collect();
    // The reader multiplies the sizes without a look at what fits.
    let Some(count) = shape.iter().try_fold(1_usize, |product, &n| product.checked_mul(n)) else {
        return Err(refused(path, place, format!("must have sizes that a memory can hold, got {shape:?}")));
    };
    let order = file.order();
    let DType::Plain(kind) = file.dtype() else {
        return Err(refused(path, place, "must hold numbers, got records"));
    };
    let values: Vec<f64> = match (kind.type_char(), kind.size_field()) {
        (TypeChar::Float, 4) => cast(file.into_vec::<f32>().map_err(damaged)?),
        (TypeChar::Float, 8) => file.into_vec::<f64>().map_err(damaged)?,
        (TypeChar::Int, 1) => cast(file.into_vec::<i8>().map_err(damaged)?),
        (TypeChar::Int, 2) => cast(file.into_vec::<i16>().map_err(damaged)?),
        (TypeChar::Int, 4) => cast(file.into_vec::<i32>().map_err(damaged)?),
        (TypeChar::Int, 8) => file.into_vec::<i64>().map_err(damaged)?.into_iter().map(|v| v as f64).collect(),
        (TypeChar::Uint, 1) => cast(file.into_vec::<u8>().map_err(damaged)?),
        (TypeChar::Uint, 2) => cast(file.into_vec::<u16>().map_err(damaged)?),
        (TypeChar::Uint, 4) => cast(file.into_vec::<u32>().map_err(damaged)?),
        (TypeChar::Uint, 8) => file.into_vec::<u64>().map_err(damaged)?.into_iter().map(|v| v as f64).collect(),
        _ => {
            let message = format!("must hold real numbers of at most 64 bits, got {kind}");
            return Err(refused(path, place, message));
        }
    };
    if values.len() != count {
        let message = format!("must hold the {count} numbers of its shape {shape:?}, got {}", values.len());
        return Err(refused(path, place, message));
    }
    let is_bytes = (kind.type_char(), kind.size_field()) == (TypeChar::Uint, 1);
    let values = if order == Order::Fortran { row_major(&shape, &values) } else { values };
    Ok(Numbers { shape, values, is_bytes })
}

fn cast<T: Into<f64>>(values: Vec<T>) -> Vec<f64> {
    values.into_iter().map(Into::into).collect()
}

/// Numbers whose first index moves fastest, with the last moving fastest.
fn row_major(shape: &[usize], values: &[f64]) -> Vec<f64> {
    let mut strides = vec![1; shape.len()];
    for i in 1..shape.len() {
        strides[i] = strides[i - 1] * shape[i - 1];
    }
    (0..values.len())
        .map(|mut index| {
            let mut at = 0;
            for (size, stride) in shape.iter().zip(&strides).rev() {
                at += index % size * stride;
                index /= size;
            }
            values[at]
        })
        .collect()
}
