//! Features: the inputs of a network's head, computed once if all layers below it are frozen.
//!
//! They are stored next to the runs, for every variant and seed: `features-DIGEST/` holds safetensors files of [`PART`] samples
//! each. The digest covers everything they depend on (layers with their weights, images and transforms), so another network or
//! another subset has another folder. A part is written completely or not at all: interrupted work continues after the last
//! part.

use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use residuum::ParameterError;
use residuum::state::{Data, SavedTensor, Tensors};
use residuum_nn::data::Batches;
use residuum_nn::layer::Pass;
use residuum_nn::state::{self, Scope, read_safetensors, write_safetensors};
use residuum_nn::train::TrainingListener;
use residuum_nn::{Network, SampleShape, Tensor};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::trial::{NetworkParts, NetworkTrial};
use crate::spec::Model;

/// Samples per file.
const PART: usize = 200;
/// Most samples that pass through the backbone at a time.
const BATCH: usize = 20;
/// Most pixels at a time, but at least one image: this keeps activations to some hundred megabytes, and cancellation within
/// about a second.
const PIXELS: usize = 5 * 224 * 224;
/// Name of the tensor in a file.
const TENSOR: &str = "features";

/// Features that cannot be stored.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FeatureError {
    /// The folder cannot be created.
    #[error("folder {} must be creatable: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A part cannot be written.
    #[error(transparent)]
    Write(#[from] state::TensorFileError),
    /// They do not fit the samples.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// Whether to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// All features are ready.
    Continue,
    /// The listener cancelled; finished parts are kept.
    Cancel,
}

/// Access to the folder of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Existing parts are read.
    Read,
    /// Existing parts are read, and new ones written.
    Write,
}

impl NetworkTrial {
    /// Sends all images through the backbone, if there is one, and puts its outputs into the batches. With `beside`, parts in
    /// that folder are read instead, and new ones are written there if allowed.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn take_features(
        &mut self,
        model: &Model,
        beside: Option<(&Path, Access)>,
        listener: &mut dyn TrainingListener,
    ) -> Result<Flow, FeatureError> {
        let NetworkParts { backbone: Some(backbone), .. } = &mut self.parts else { return Ok(Flow::Continue) };
        let of = self.train.dataset().len() + self.test.dataset().len();
        let mut done = 0;
        for batches in [&mut self.train, &mut self.test] {
            let folder = beside.map(|(runs, access)| {
                (runs.join(format!("features-{}", digest(model, backbone, batches))), access)
            });
            if let Some((path, Access::Write)) = &folder {
                let refused = |source| FeatureError::Folder { path: path.clone(), source };
                fs::create_dir_all(path).map_err(refused)?;
            }
            let samples = batches.dataset().len();
            let mut features = Vec::with_capacity(samples * backbone.classes());
            for first in (0..samples).step_by(PART) {
                let count = PART.min(samples - first);
                let file =
                    folder.as_ref().map(|(f, access)| (f.join(format!("{first:06}.safetensors")), *access));
                let Some(part) = part(backbone, batches, &(first..first + count), file.as_ref(), listener)?
                else {
                    return Ok(Flow::Cancel);
                };
                features.extend(part);
                done += count;
                listener.prepared(done, of);
            }
            *batches = batches.clone().with_inputs(Arc::from(features))?;
        }
        Ok(Flow::Continue)
    }
}

/// The features of some samples: from the file if it is complete, else computed; `None` if the listener cancelled.
fn part(
    backbone: &mut Network,
    batches: &Batches,
    samples: &Range<usize>,
    file: Option<&(PathBuf, Access)>,
    listener: &dyn TrainingListener,
) -> Result<Option<Vec<f32>>, FeatureError> {
    if listener.cancelled() {
        return Ok(None);
    }
    let shape = vec![samples.len(), backbone.classes()];
    if let Some((path, _)) = file
        && let Ok(mut state) = read_safetensors(path)
        && let Some(SavedTensor { shape: given, data: Data::F32(values) }) = state.remove(TENSOR)
        && given == shape
    {
        return Ok(Some(values));
    }
    let mut values = Vec::with_capacity(shape.iter().product());
    let SampleShape { height, width, .. } = backbone.input_shape();
    let batch = (PIXELS / (height * width)).clamp(1, BATCH);
    for first in samples.clone().step_by(batch) {
        if listener.cancelled() {
            return Ok(None);
        }
        values.extend(features(backbone, batches, first..samples.end.min(first + batch)));
    }
    if let Some((path, Access::Write)) = file {
        write_safetensors(
            path,
            &Tensors::from([(TENSOR.to_owned(), SavedTensor::f32(&shape, values.clone()))]),
        )?;
    }
    Ok(Some(values))
}

fn features(backbone: &mut Network, batches: &Batches, samples: Range<usize>) -> Vec<f32> {
    // Nothing random is left, so any key will do.
    let key = residuum::Key::new(0);
    let mut images = Tensor::zeros(samples.len(), backbone.input_shape());
    let values = backbone.input_shape().len();
    for (sample, image) in samples.zip(images.values_mut().chunks_exact_mut(values)) {
        batches.pipeline().apply(batches.dataset().sample(sample), key, image);
    }
    backbone.forward(&images, Pass::evaluate(key)).values().to_vec()
}

/// A digest of everything the features depend on.
fn digest(model: &Model, backbone: &mut Network, batches: &Batches) -> String {
    let mut hash = Sha256::new();
    // Layers and transforms with their options; the program's version stands for its arithmetic.
    let text = |hash: &mut Sha256, text: String| hash.update(format!("{} {text}", text.len()));
    text(&mut hash, format!("{} {model:?} {:?}", env!("CARGO_PKG_VERSION"), batches.pipeline()));
    let mut state: Vec<(String, SavedTensor)> = backbone.state(Scope::Network).into_iter().collect();
    state.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, tensor) in state {
        text(&mut hash, format!("{name} {:?}", tensor.shape));
        let bytes: Vec<u8> = match tensor.data {
            Data::F32(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Data::F64(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Data::U32(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Data::U64(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        };
        hash.update(bytes);
    }
    for sample in 0..batches.dataset().len() {
        hash.update(batches.dataset().sample(sample).to_bytes());
    }
    let mut name = String::new();
    for byte in &hash.finalize()[..8] {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}
