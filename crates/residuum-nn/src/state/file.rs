//! Named tensors in safetensors files.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensorError, SafeTensors};
use thiserror::Error;

use residuum::state::{Data, SavedTensor, Tensors};
use residuum_data::disk::{self, DATA, refuse_special};

/// Why a tensor file cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TensorFileError {
    /// The file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not a safetensors file, or a damaged one.
    #[error("{} must be an intact safetensors file: {source}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: SafeTensorError,
    },
    /// Not the description of a tfjs model.
    #[error("{} must describe the weights of a tfjs model: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// Shards of the wrong size.
    #[error("the shards of {} must hold {expected} bytes, got {given}", path.display())]
    Shards {
        /// The description.
        path: PathBuf,
        /// Bytes of all tensors it names.
        expected: usize,
        /// Bytes of all shards.
        given: usize,
    },
    /// A shape that no memory could hold.
    #[error("tensor {name} of {} must fit into memory, got the shape {shape:?}", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// A shard outside the folder of its description.
    #[error("the shards of {} must lie in its folder, got {}", path.display(), shard.display())]
    Outside {
        /// The description.
        path: PathBuf,
        /// The shard.
        shard: PathBuf,
    },
    /// An unsupported numeric type.
    #[error("tensor {name} of {} must hold F32, F64, U32, U64 or I64, got {dtype:?} {shape:?}", path.display())]
    Type {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// Its type.
        dtype: Dtype,
        /// Its shape.
        shape: Vec<usize>,
    },
}

/// Reads all tensors of a file. Counters may be I64, as PyTorch's are.
///
/// # Errors
/// If the file cannot be read, is damaged, or holds numbers other than single-precision tensors and counters.
pub fn read_safetensors(path: &Path) -> Result<Tensors, TensorFileError> {
    let bytes =
        disk::read(path, DATA).map_err(|source| TensorFileError::Io { path: path.to_owned(), source })?;
    parse_safetensors(&bytes, path)
}

/// The same from the bytes of a file, which `path` names in errors.
///
/// # Errors
/// If they are damaged, or hold other numbers.
pub fn parse_safetensors(bytes: &[u8], path: &Path) -> Result<Tensors, TensorFileError> {
    let file = SafeTensors::deserialize(bytes)
        .map_err(|source| TensorFileError::Format { path: path.to_owned(), source })?;
    file.tensors()
        .into_iter()
        .map(|(name, view)| {
            let bytes = view.data();
            let data = match view.dtype() {
                Dtype::F32 => Data::F32(bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()),
                Dtype::F64 => Data::F64(bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect()),
                Dtype::U32 => Data::U32(bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect()),
                Dtype::U64 | Dtype::I64 => {
                    Data::U64(bytes.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b)).collect())
                }
                dtype => {
                    let (path, shape) = (path.to_owned(), view.shape().to_vec());
                    return Err(TensorFileError::Type { path, name, dtype, shape });
                }
            };
            Ok((name, SavedTensor { shape: view.shape().to_vec(), data }))
        })
        .collect()
}

/// Writes all tensors to a file atomically: the bytes go to a temporary file that is renamed once it is
/// on disk.
///
/// # Errors
/// If the file cannot be written.
pub fn write_safetensors(path: &Path, state: &Tensors) -> Result<(), TensorFileError> {
    let io = |source| TensorFileError::Io { path: path.to_owned(), source };
    let format = |source| TensorFileError::Format { path: path.to_owned(), source };
    let bytes: Vec<(Dtype, Vec<u8>)> = state
        .iter()
        .map(|(_, tensor)| match &tensor.data {
            Data::F32(values) => (Dtype::F32, values.iter().flat_map(|v| v.to_le_bytes()).collect()),
            Data::F64(values) => (Dtype::F64, values.iter().flat_map(|v| v.to_le_bytes()).collect()),
            Data::U32(values) => (Dtype::U32, values.iter().flat_map(|v| v.to_le_bytes()).collect()),
            // As PyTorch counts.
            Data::U64(values) => (Dtype::I64, values.iter().flat_map(|v| v.to_le_bytes()).collect()),
        })
        .collect();
    let views = state
        .iter()
        .zip(&bytes)
        .map(|((name, tensor), (dtype, bytes))| {
            TensorView::new(*dtype, tensor.shape.clone(), bytes).map(|view| (name, view)).map_err(format)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let file = safetensors::serialize(views, None).map_err(format)?;
    refuse_special(path).map_err(io)?;
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let write = || {
        let mut out = disk::create_new(partial.as_ref())?;
        out.write_all(&file)?;
        out.sync_all()?;
        fs::rename(&partial, path)
    };
    write().map_err(|source| {
        // The half-written file is useless; failing to remove it does no harm.
        let _ = fs::remove_file(&partial);
        io(source)
    })
}
