//! Named tensors of a tfjs layers model: `model.json` with the names and shapes, and shards of raw numbers beside it.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use residuum::state::{SavedTensor, Tensors};
use residuum_data::disk::{self, DATA};

use super::TensorFileError;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Model {
    weights_manifest: Vec<Group>,
}

/// Tensors stored one after another in these files.
#[derive(Deserialize)]
struct Group {
    paths: Vec<PathBuf>,
    weights: Vec<Weight>,
}

#[derive(Deserialize)]
struct Weight {
    name: String,
    shape: Vec<usize>,
    dtype: Number,
}

/// The only numeric type supported.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Number {
    Float32,
}

impl Weight {
    /// `None` if they are more than a computer could address.
    fn bytes(&self) -> Option<usize> {
        let Number::Float32 = self.dtype;
        self.shape.iter().try_fold(size_of::<f32>(), |bytes, length| bytes.checked_mul(*length))
    }
}

/// Reads all tensors of a tfjs model from its `model.json`, under the names and in the layouts they have there.
///
/// # Errors
/// If a file cannot be read, the description is invalid, a type is not `float32`, a shard lies elsewhere, or the shards have the
/// wrong size.
pub fn read_tfjs(path: &Path) -> Result<Tensors, TensorFileError> {
    let read = |path: &Path| {
        disk::read(path, DATA).map_err(|source| TensorFileError::Io { path: path.to_owned(), source })
    };
    let model: Model = serde_json::from_slice(&read(path)?)
        .map_err(|source| TensorFileError::Json { path: path.to_owned(), source })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut state = Tensors::new();
    for group in model.weights_manifest {
        let mut bytes = Vec::new();
        for shard in &group.paths {
            if !shard.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
                return Err(TensorFileError::Outside { path: path.to_owned(), shard: shard.clone() });
            }
            bytes.extend(read(&folder.join(shard))?);
        }
        let mut expected = 0_usize;
        for weight in &group.weights {
            let sum = weight.bytes().and_then(|own| expected.checked_add(own));
            expected = sum.ok_or_else(|| TensorFileError::Size {
                path: path.to_owned(),
                name: weight.name.clone(),
                shape: weight.shape.clone(),
            })?;
        }
        if bytes.len() != expected {
            return Err(TensorFileError::Shards { path: path.to_owned(), expected, given: bytes.len() });
        }
        let mut rest = &bytes[..];
        for weight in group.weights {
            // They fit: their sum is the length of the shards.
            let (numbers, after) = rest.split_at(weight.bytes().unwrap_or_default());
            let values = numbers.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
            state.insert(weight.name, SavedTensor::f32(&weight.shape, values));
            rest = after;
        }
    }
    Ok(state)
}
