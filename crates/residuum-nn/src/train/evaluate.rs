//! Evaluation of a network on a data set.

use residuum::Key;
use serde::{Deserialize, Serialize};

use super::TrainError;
use crate::data::{Batch, Batches};
use crate::{Loss, Network, SampleShape, Targets, Tensor};

/// Result of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// Mean loss over the samples.
    pub loss: f64,
    /// Fraction of correct samples; 0 for a regression.
    pub accuracy: f64,
    /// For a regression, R²: the share of the variance of the targets that the outputs explain.
    pub explained: Option<f64>,
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
    /// Sums of the targets and their squares, for a regression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    targets: Option<[u64; 2]>,
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
        if outcome.targets != [0.0; 2] {
            // As bits, for the same reason as the loss.
            let mut sums = self.targets.unwrap_or_default().map(f64::from_bits);
            sums.iter_mut().zip(outcome.targets).for_each(|(sum, mean)| *sum += mean * samples as f64);
            self.targets = Some(sums.map(f64::to_bits));
        }
    }

    pub fn evaluation(self) -> Evaluation {
        let n = self.samples as f64;
        let explained = self.targets.map(|sums| {
            let [mean, squares] = sums.map(|sum| f64::from_bits(sum) / n);
            1.0 - self.loss_sum / n / (squares - mean * mean)
        });
        let (loss, accuracy) = (self.loss_sum / n, self.correct as f64 / n);
        Evaluation { loss, accuracy, explained, samples: self.samples }
    }
}

/// A batch in the network's format. The buffers are reused.
#[derive(Default)]
pub(super) struct Loaded {
    pub batch: Batch,
    pub input: Tensor,
}

impl Loaded {
    /// Fills `input` from `batch`.
    pub fn load(&mut self, shape: SampleShape) {
        self.input.resize(self.batch.images.len() / shape.len(), shape);
        self.input.values_mut().copy_from_slice(&self.batch.images);
    }

    /// What the outputs should be.
    pub fn targets(&self) -> Targets<'_> {
        if self.batch.targets.is_empty() {
            Targets::Classes(&self.batch.labels)
        } else {
            Targets::Values(&self.batch.targets)
        }
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
        let outcome = network.evaluate(&loaded.input, loaded.targets(), loss, key.fold(index));
        tally.add(outcome, loaded.input.batch());
        if cancelled() {
            return None;
        }
    }
    Some(tally)
}

/// Checks that the network fits the images and has a score for each class.
pub(super) fn check_fit(network: &Network, batches: &Batches, what: &'static str) -> Result<(), TrainError> {
    let image = batches.input_shape();
    let given = SampleShape::image(image.height, image.width, image.channels);
    let expected = network.input_shape();
    if given != expected {
        return Err(TrainError::Shape { what, expected, given });
    }
    let (data, scores) = (batches.dataset(), network.classes());
    // Classes that the data lack have scores all the same; every value of a regression has its output.
    let fits = if data.targets().is_some() { data.outputs() == scores } else { data.classes() <= scores };
    if !fits {
        return Err(TrainError::Classes { what, classes: data.outputs(), given: scores });
    }
    if batches.len() == 0 {
        let name = if what == "test" { "number of test batches" } else { "number of training batches" };
        let value = 0.0;
        return Err(residuum::ParameterError::OutOfDomain { name, must: "at least 1", value }.into());
    }
    Ok(())
}
