//! What the head of a network is given, computed once when all below it is frozen.
//!
//! The numbers lie beside the runs, for every variant and seed: `features-DIGEST/` holds safetensors files of [`PART`] samples
//! each. The digest is over all they depend on (layers with their weights, images and what is done to them), so another
//! network or another subset has another folder. A part is written whole or not at all: work that is broken off goes on after
//! the last part.

use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use residuum::ParameterError;
use residuum::state::{Data, Tensor as Saved, Tensors};
use residuum_nn::data::Batches;
use residuum_nn::layer::Pass;
use residuum_nn::state::{self, Scope, read_safetensors, write_safetensors};
use residuum_nn::train::Listener;
use residuum_nn::{Network, Shape, Tensor};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::trial::{Parts, Trial};
use crate::spec::Model;

/// Samples of a file.
const PART: usize = 200;
/// Most samples that pass through the backbone at a time.
const BATCH: usize = 20;
/// Most pixels of them, for whole images at least: activations stay at some hundred megabytes, and it can be broken off within
/// about a second.
const PIXELS: usize = 5 * 224 * 224;
/// The tensor of a file.
const TENSOR: &str = "features";

/// Features that cannot be kept.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FeatureError {
    /// The folder cannot be created.
    #[error("folder {} must be creatable: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system answered.
        source: std::io::Error,
    },
    /// A part cannot be written.
    #[error(transparent)]
    Write(#[from] state::FileError),
    /// They do not fit the samples.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Everything is there.
    Continue,
    /// The listener has cancelled; what was done is kept.
    Cancel,
}

/// What may be done in the folder of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Parts that are there are read.
    Read,
    /// And new ones are written.
    Write,
}

impl Trial {
    /// Sends all images through the backbone, if there is one, and lets the batches hold what comes out. With `beside`, parts
    /// that lie in this folder are read instead, and new ones are written there where that is allowed.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn take_features(
        &mut self,
        model: &Model,
        beside: Option<(&Path, Access)>,
        listener: &mut dyn Listener,
    ) -> Result<Flow, FeatureError> {
        let Parts { backbone: Some(backbone), .. } = &mut self.parts else { return Ok(Flow::Continue) };
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

/// The features of some samples: those in the file if they are whole, else new ones; `None` if the listener has cancelled.
fn part(
    backbone: &mut Network,
    batches: &Batches,
    samples: &Range<usize>,
    file: Option<&(PathBuf, Access)>,
    listener: &dyn Listener,
) -> Result<Option<Vec<f32>>, FeatureError> {
    if listener.cancelled() {
        return Ok(None);
    }
    let shape = vec![samples.len(), backbone.classes()];
    if let Some((path, _)) = file
        && let Ok(mut state) = read_safetensors(path)
        && let Some(Saved { shape: given, data: Data::F32(values) }) = state.remove(TENSOR)
        && given == shape
    {
        return Ok(Some(values));
    }
    let mut values = Vec::with_capacity(shape.iter().product());
    let Shape { height, width, .. } = backbone.input_shape();
    let batch = (PIXELS / (height * width)).clamp(1, BATCH);
    for first in samples.clone().step_by(batch) {
        if listener.cancelled() {
            return Ok(None);
        }
        values.extend(features(backbone, batches, first..samples.end.min(first + batch)));
    }
    if let Some((path, Access::Write)) = file {
        write_safetensors(path, &Tensors::from([(TENSOR.to_owned(), Saved::f32(&shape, values.clone()))]))?;
    }
    Ok(Some(values))
}

fn features(backbone: &mut Network, batches: &Batches, samples: Range<usize>) -> Vec<f32> {
    // Nothing random is left, so any key will do.
    let key = residuum::Key::new(0);
    let mut images = Tensor::zeros(samples.len(), backbone.input_shape());
    let values = backbone.input_shape().len();
    for (sample, image) in samples.zip(images.values_mut().chunks_exact_mut(values)) {
        batches.pipeline().apply(batches.dataset().image(sample), key, image);
    }
    backbone.forward(&images, Pass::evaluate(key)).values().to_vec()
}

/// Tells apart features that may differ.
fn digest(model: &Model, backbone: &mut Network, batches: &Batches) -> String {
    let mut hash = Sha256::new();
    // Layers and transforms with their options; the program's version stands for its arithmetic.
    let text = |hash: &mut Sha256, text: String| hash.update(format!("{} {text}", text.len()));
    text(&mut hash, format!("{} {model:?} {:?}", env!("CARGO_PKG_VERSION"), batches.pipeline()));
    let mut state: Vec<(String, Saved)> = backbone.state(Scope::Network).into_iter().collect();
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
        hash.update(batches.dataset().image(sample));
    }
    let mut name = String::new();
    for byte in &hash.finalize()[..8] {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}
