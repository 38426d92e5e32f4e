//! The order of samples, and mini-batches of them.

use std::sync::Arc;

use residuum::{Key, ParameterError};

use super::transform::{Workspace, require};
use super::{Dataset, ImageShape, Pipeline, Prefetch};

/// Transformed images, or inputs computed from them, with their labels or targets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Images one after another, each in row, column, channel order.
    pub images: Vec<f32>,
    /// The class of each image; empty for a regression.
    pub labels: Vec<u32>,
    /// The target values of a regression, sample after sample; empty for classes.
    pub targets: Vec<f32>,
}

/// A data set split into mini-batches. Cloning shares the images.
#[derive(Clone, Debug)]
pub struct Batches {
    dataset: Dataset,
    pipeline: Pipeline,
    stored: Option<Stored>,
    batch_size: usize,
    drop_last: bool,
    shuffled: bool,
    key: Key,
}

/// Precomputed inputs, `values` numbers per sample.
#[derive(Clone, Debug)]
struct Stored {
    values: usize,
    inputs: Arc<[f32]>,
}

impl Batches {
    /// Batches of `batch_size` samples in the order of the data set; the last may be smaller. What is random is drawn
    /// from `key`.
    pub fn new(
        dataset: Dataset,
        pipeline: Pipeline,
        batch_size: usize,
        key: Key,
    ) -> Result<Self, ParameterError> {
        require(batch_size > 0, "batch_size", "positive", batch_size as f64)?;
        let (expected, given) = (pipeline.input().values(), dataset.shape().values());
        if pipeline.input() != dataset.shape() {
            return Err(ParameterError::Length { name: "an image of the data set", expected, given });
        }
        Ok(Self { dataset, pipeline, stored: None, batch_size, drop_last: false, shuffled: false, key })
    }

    /// Shuffles the samples anew in every epoch.
    pub fn shuffled(self) -> Self {
        Self { shuffled: true, ..self }
    }

    /// Drops the last batch of an epoch when it is smaller than the others.
    pub fn drop_last(self) -> Self {
        Self { drop_last: true, ..self }
    }

    /// The same samples in the same order, with `inputs` in place of their images: the same number of values for each, one sample after
    /// another in the order of the data set.
    ///
    /// # Errors
    /// If their number is not a multiple of the number of samples.
    pub fn with_inputs(self, inputs: Arc<[f32]>) -> Result<Self, ParameterError> {
        let samples = self.dataset.len();
        let values = (inputs.len() / samples).max(1);
        if inputs.len() != samples * values {
            let (expected, given) = (samples * values, inputs.len());
            return Err(ParameterError::Length { name: "the inputs of all samples", expected, given });
        }
        Ok(Self { stored: Some(Stored { values, inputs }), ..self })
    }

    /// The shape of an input: that of the transformed images, or one row of precomputed values.
    pub fn input_shape(&self) -> ImageShape {
        match &self.stored {
            Some(stored) => ImageShape::new(1, 1, stored.values),
            None => self.pipeline.output(),
        }
    }

    /// Number of batches per epoch.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        let whole = self.dataset.len() / self.batch_size;
        if self.drop_last { whole } else { self.dataset.len().div_ceil(self.batch_size) }
    }

    /// The underlying data set.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// The transforms of the images.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The batches of epoch `epoch`, independent of other epochs.
    pub fn epoch(&self, epoch: u64) -> Epoch {
        let n = self.dataset.len();
        let order =
            if self.shuffled { self.key.named("order").fold(epoch).permutation(n) } else { (0..n).collect() };
        let key = self.key.named("transform").fold(epoch);
        Epoch { batches: self.clone(), order, key, next: 0, workspace: Workspace::default() }
    }

    /// The same batches, prepared on a separate thread, at most `depth` ahead.
    pub fn prefetch(&self, epoch: u64, depth: usize) -> Prefetch {
        Prefetch::new(self.epoch(epoch), depth)
    }
}

/// The batches of one epoch, in order.
#[derive(Clone, Debug)]
pub struct Epoch {
    batches: Batches,
    order: Vec<usize>,
    key: Key,
    next: usize,
    workspace: Workspace,
}

impl Epoch {
    /// The same epoch from batch `index` on: how training resumes in the middle of one.
    pub fn starting_at(self, index: usize) -> Self {
        Self { next: index, ..self }
    }

    /// The indices of all samples of the epoch in the data set, in their order.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Puts the next batch into `batch`, reusing its memory; false at the end, with `batch` unchanged.
    pub fn next_into(&mut self, batch: &mut Batch) -> bool {
        let Batches { dataset, pipeline, stored, batch_size, .. } = &self.batches;
        if self.next >= self.batches.len() {
            return false;
        }
        let start = self.next * batch_size;
        let samples = &self.order[start..(start + batch_size).min(self.order.len())];
        let values = self.batches.input_shape().values();
        batch.labels.clear();
        batch.targets.clear();
        match dataset.targets() {
            None => batch.labels.extend(samples.iter().map(|&s| dataset.labels()[s])),
            Some(targets) => {
                let each = dataset.outputs();
                batch.targets.extend(samples.iter().flat_map(|&s| &targets[s * each..][..each]));
            }
        }
        batch.images.resize(samples.len() * values, 0.0);
        for (&sample, out) in samples.iter().zip(batch.images.chunks_exact_mut(values)) {
            match stored {
                Some(stored) => out.copy_from_slice(&stored.inputs[sample * values..][..values]),
                None => {
                    let key = self.key.fold(sample as u64);
                    pipeline.apply_with(dataset.sample(sample), key, out, &mut self.workspace);
                }
            }
        }
        self.next += 1;
        true
    }
}

impl Iterator for Epoch {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        let mut batch = Batch::default();
        self.next_into(&mut batch).then_some(batch)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.batches.len().saturating_sub(self.next);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Epoch {}
