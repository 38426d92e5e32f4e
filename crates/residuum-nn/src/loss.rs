//! Loss functions: mean losses over a batch, their gradients, and the number of correct samples.

use residuum::ParameterError;
use residuum::math::exp;

use crate::Tensor;
use crate::layer::log_softmax;

/// What the outputs of a batch should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Targets<'a> {
    /// The class of each sample.
    Classes(&'a [u32]),
    /// The values of each sample, one sample after another.
    Values(&'a [f32]),
}

impl<'a, L: AsRef<[u32]> + ?Sized> From<&'a L> for Targets<'a> {
    fn from(labels: &'a L) -> Self {
        Self::Classes(labels.as_ref())
    }
}

impl Targets<'_> {
    /// Number of samples, each with so many outputs.
    pub fn samples(&self, outputs: usize) -> usize {
        match self {
            Self::Classes(labels) => labels.len(),
            Self::Values(values) => values.len() / outputs,
        }
    }
}

/// A loss of class scores against labels, or of outputs against values, averaged over the batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// `−y_label` of log-probabilities y.
    NegativeLogLikelihood,
    /// `−Σ_j t_j ln softmax(x)_j` of logits x, with targets `t = (1 − smoothing) · one_hot + smoothing / classes`.
    CrossEntropy {
        /// Share of the target spread over all classes, in [0, 1].
        smoothing: f32,
    },
    /// `(y − t)²` of outputs y and target values t, averaged over both.
    MeanSquare,
}

/// Loss and hits of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BatchOutcome {
    /// Mean loss.
    pub loss: f64,
    /// Samples whose largest score is that of the label.
    pub correct: usize,
    /// Mean of the target values, and of their squares; 0 for classes.
    pub targets: [f64; 2],
}

impl Loss {
    /// Checks the numbers.
    ///
    /// # Errors
    /// If the smoothing is outside [0, 1].
    pub fn validate(self) -> Result<Self, ParameterError> {
        match self {
            Self::CrossEntropy { smoothing } if !(0.0..=1.0).contains(&smoothing) => {
                let value = f64::from(smoothing);
                Err(ParameterError::OutOfDomain { name: "smoothing", must: "at least 0 and at most 1", value })
            }
            _ => Ok(self),
        }
    }

    /// Whether it compares outputs with values, not with classes.
    pub fn is_regression(self) -> bool {
        self == Self::MeanSquare
    }

    /// The loss of a batch. `errors`, if wanted, become ∂(mean loss)/∂scores.
    ///
    /// # Panics
    /// If there is not one label, or one value for each output, per sample, a label is out of range, or the loss is of the other
    /// kind.
    pub fn evaluate<'a>(
        self,
        scores: &Tensor,
        targets: impl Into<Targets<'a>>,
        errors: Option<&mut Tensor>,
    ) -> BatchOutcome {
        match targets.into() {
            Targets::Classes(labels) => self.of_classes(scores, labels, errors),
            Targets::Values(values) => self.of_values(scores, values, errors),
        }
    }

    fn of_values(self, scores: &Tensor, values: &[f32], errors: Option<&mut Tensor>) -> BatchOutcome {
        assert!(self.is_regression(), "a loss of classes needs labels");
        assert_eq!(values.len(), scores.values().len(), "one target for each output");
        let n = values.len().max(1) as f64;
        if let Some(errors) = errors {
            errors.resize(scores.batch(), scores.shape());
            for ((e, y), t) in errors.values_mut().iter_mut().zip(scores.values()).zip(values) {
                *e = (2.0 * (f64::from(*y) - f64::from(*t)) / n) as f32;
            }
        }
        let mut outcome = BatchOutcome::default();
        for (y, t) in scores.values().iter().zip(values) {
            let (y, t) = (f64::from(*y), f64::from(*t));
            outcome.loss += (y - t) * (y - t) / n;
            outcome.targets[0] += t / n;
            outcome.targets[1] += t * t / n;
        }
        outcome
    }

    fn of_classes(self, scores: &Tensor, labels: &[u32], mut errors: Option<&mut Tensor>) -> BatchOutcome {
        assert_eq!(labels.len(), scores.batch(), "one label for each sample");
        let classes = scores.shape().len();
        if let Some(errors) = errors.as_deref_mut() {
            errors.resize(scores.batch(), scores.shape());
        }
        let mut outcome = BatchOutcome::default();
        let mut log_probabilities = vec![0.0; classes];
        for (b, &label) in labels.iter().enumerate() {
            let (x, label) = (scores.sample(b), label as usize);
            assert!(label < classes, "label {label} must be below {classes}");
            outcome.correct += usize::from(argmax(x) == label);
            let e = errors.as_deref_mut().map(|e| &mut e.values_mut()[b * classes..][..classes]);
            outcome.loss += match self {
                Self::NegativeLogLikelihood => {
                    if let Some(e) = e {
                        e.fill(0.0);
                        e[label] = -1.0 / labels.len() as f32;
                    }
                    -f64::from(x[label])
                }
                Self::CrossEntropy { smoothing } => {
                    log_softmax(x, &mut log_probabilities);
                    let smoothing = f64::from(smoothing);
                    let target =
                        |j: usize| smoothing / classes as f64 + if j == label { 1.0 - smoothing } else { 0.0 };
                    if let Some(e) = e {
                        for (j, e) in e.iter_mut().enumerate() {
                            *e = ((exp(f64::from(log_probabilities[j])) - target(j)) / labels.len() as f64)
                                as f32;
                        }
                    }
                    -log_probabilities.iter().enumerate().map(|(j, &y)| target(j) * f64::from(y)).sum::<f64>()
                }
                Self::MeanSquare => panic!("a loss of values needs values"),
            };
        }
        outcome.loss /= labels.len().max(1) as f64;
        outcome
    }
}

/// Index of the first largest score.
pub fn argmax(scores: &[f32]) -> usize {
    scores.iter().enumerate().fold(0, |best, (j, &s)| if s > scores[best] { j } else { best })
}
