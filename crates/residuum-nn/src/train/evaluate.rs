//! Evaluation of a network on a data set.

use residuum::Key;
use serde::{Deserialize, Serialize};

use super::TrainError;
use crate::data::{Batch, Batches};
use crate::{Loss, Network, Shape, Tensor};

/// Result of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// Mean loss over the samples.
    pub loss: f64,
    /// Fraction of correct samples.
    pub accuracy: f64,
    /// Number of samples.
    pub samples: u64,
}

/// Losses and hits summed over batches of any size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Tally {
    #[serde(rename = "loss_sum_bits", with = "bits")]
    loss_sum: f64,
    correct: u64,
    samples: u64,
}

/// A resumed sum must match bit for bit, so its bits are stored.
mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref)] // the signature is serde's
    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(value.to_bits())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        u64::deserialize(deserializer).map(f64::from_bits)
    }
}

impl Tally {
    /// Adds a batch: means are weighted by sample, so that a smaller last batch does not count for more.
    pub fn add(&mut self, outcome: crate::loss::BatchOutcome, samples: usize) {
        self.loss_sum += outcome.loss * samples as f64;
        self.correct += outcome.correct as u64;
        self.samples += samples as u64;
    }

    pub fn evaluation(self) -> Evaluation {
        let n = self.samples as f64;
        Evaluation { loss: self.loss_sum / n, accuracy: self.correct as f64 / n, samples: self.samples }
    }
}

/// A batch in the network's format. The buffers are reused.
#[derive(Default)]
pub(super) struct Loaded {
    pub batch: Batch,
    pub input: Tensor,
    pub labels: Vec<u32>,
}

impl Loaded {
    /// Fills `input` and `labels` from `batch`.
    pub fn load(&mut self, shape: Shape) {
        self.input.resize(self.batch.labels.len(), shape);
        self.input.values_mut().copy_from_slice(&self.batch.images);
        self.labels.clear();
        self.labels.extend(self.batch.labels.iter().map(|&label| u32::from(label)));
    }
}

/// The loss and accuracy of a network on all batches, in the order of their epoch 0. Draws come from `key`, folded by
/// the number of the batch.
///
/// # Errors
/// If the data does not match the network.
pub fn evaluate(
    network: &mut Network,
    batches: &Batches,
    loss: Loss,
    key: Key,
) -> Result<Evaluation, TrainError> {
    check_fit(network, batches, "test")?;
    loss.validate()?;
    // Never cancelled, so there is always a result.
    Ok(tally(network, batches, loss, key, 1, || false).unwrap_or_default().evaluation())
}

/// The same, or `None` if `cancelled` between batches.
pub(super) fn tally(
    network: &mut Network,
    batches: &Batches,
    loss: Loss,
    key: Key,
    prefetch: usize,
    cancelled: impl Fn() -> bool,
) -> Option<Tally> {
    let mut epoch = batches.prefetch(0, prefetch);
    let mut loaded = Loaded::default();
    let mut tally = Tally::default();
    for index in 0.. {
        if !epoch.next_into(&mut loaded.batch) {
            break;
        }
        loaded.load(network.input_shape());
        let outcome = network.evaluate(&loaded.input, &loaded.labels, loss, key.fold(index));
        tally.add(outcome, loaded.labels.len());
        if cancelled() {
            return None;
        }
    }
    Some(tally)
}

/// Checks that the network fits the images and has a score for each class.
pub(super) fn check_fit(network: &Network, batches: &Batches, what: &'static str) -> Result<(), TrainError> {
    let image = batches.input_shape();
    let given = Shape::image(image.height, image.width, image.channels);
    let expected = network.input_shape();
    if given != expected {
        return Err(TrainError::Shape { what, expected, given });
    }
    let (classes, scores) = (batches.dataset().classes(), network.classes());
    if classes > scores {
        return Err(TrainError::Classes { what, classes, given: scores });
    }
    if batches.len() == 0 {
        let name = if what == "test" { "number of test batches" } else { "number of training batches" };
        let value = 0.0;
        return Err(residuum::ParameterError::OutOfDomain { name, must: "at least 1", value }.into());
    }
    Ok(())
}
