//! The interface to a matrix: [`Weights`] are read forward, read transposed, and stepped from errors and inputs.
//!
//! ```text
//! y_b = W x_b          read
//! ε_b = Wᵀ δ_b         read_transposed
//! W  ← W − α Σ_b δ_b x_bᵀ   step
//! ```

use std::fmt::Debug;

use residuum::array::Unreachable;
use residuum::rule::Operations;
use residuum::{Key, ParameterError, Schedule, State};
use thiserror::Error;

use crate::gemm::{Operand, gemm, rows_by_rows};
use crate::model::MAX_LOSS;
use crate::state::{Collection, Role, StateError, Tensors};

/// Errors of a training step.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TrainStepError {
    /// The loss explodes: the rates are too large, or the data is wrong.
    #[error("the loss must stay below {MAX_LOSS:e}, but at step {k} it is {value:e}; lower the learning rate")]
    Diverged {
        /// The step.
        k: u64,
        /// The loss there.
        value: f64,
    },
    /// A rule rejects its parameters.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// An array rejects a step, such as one along a gradient that is not finite.
    #[error(transparent)]
    Refused(#[from] residuum::StepError),
}

/// A matrix W with one row per output and one column per input, in digital or analog memory.
///
/// Batches are stored by sample: `inputs` is `batch × cols`, `errors` is `batch × rows`. Draws depend on the key alone. The
/// [`State`] of weights is what the effective weights do not contain: momentum, single arrays, counters.
pub trait Weights: State + Debug + Send + Sync {
    /// Number of outputs.
    fn rows(&self) -> usize;

    /// Number of inputs.
    fn cols(&self) -> usize;

    /// `outputs_b = W inputs_b` for every sample.
    fn read(&mut self, inputs: &[f32], outputs: &mut [f32], key: Key);

    /// `outputs_b = Wᵀ errors_b` for every sample.
    fn read_transposed(&mut self, errors: &[f32], outputs: &mut [f32], key: Key);

    /// Step `k`: desires `W ← W − α Σ_b errors_b inputs_bᵀ`. The errors carry the scale of the loss (its mean over the
    /// batch) already.
    ///
    /// # Errors
    /// If the rule behind the weights rejects the step.
    fn step(&mut self, k: u64, errors: &[f32], inputs: &[f32], key: Key) -> Result<(), TrainStepError>;

    /// Lets the time of one step pass: leak, diffusion and drift of cells. A step ages what it learns itself; this is for
    /// weights that do not learn.
    fn age(&mut self, key: Key) {
        let _ = key;
    }

    /// Remembers how strongly the matrix answers, for [`Weights::compensate`]. `key` decides the calibration inputs.
    fn calibrate(&mut self, key: Key) {
        let _ = key;
    }

    /// Global drift compensation: from now on outputs are scaled by one factor so that the matrix answers to the inputs of
    /// [`Weights::calibrate`], which must have the same key, as strongly as then.
    fn compensate(&mut self, key: Key) {
        let _ = key;
    }

    /// Whether [`Weights::step`] can change anything. Errors are not propagated below the first layer that learns.
    fn trains(&self) -> bool {
        true
    }

    /// Writes W (`rows × cols`) as a noiseless read would see it.
    fn effective_weights(&self, out: &mut [f32]);

    /// Programs W to these values as closely as the hardware allows.
    ///
    /// # Errors
    /// If the length differs or a weight is not finite.
    fn set_weights(&mut self, weights: &[f32]) -> Result<(), ParameterError>;

    /// The dynamic range of W, where devices give it one.
    fn range(&self) -> Option<[f32; 2]> {
        None
    }

    /// What W could not hold of the values that it was last set to, or began with.
    fn unreachable(&self) -> Unreachable<f32> {
        Unreachable::default()
    }

    /// Samples that [`Weights::read`] has seen since the weights were built: several for each image in a convolution.
    fn samples_read(&self) -> u64 {
        0
    }

    /// What hardware has done for the training of W after `steps` steps of `samples` samples altogether.
    fn operations(&self, steps: u64, samples: u64) -> Operations {
        let _ = (steps, samples);
        Operations::default()
    }

    /// The mean training loss of an epoch that has ended, for rules that change with it.
    fn epoch_ended(&mut self, loss: f64) {
        let _ = loss;
    }
}

/// Stochastic gradient descent as PyTorch defines it: `g ← g + decay · w`, `v ← momentum · v + g`, `w ← w − α v`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    /// α, a function of the step.
    pub learning_rate: Schedule,
    /// Fraction of the velocity kept after a step, in [0, 1).
    pub momentum: f32,
    /// Strength of the pull towards zero.
    pub weight_decay: f32,
}

impl Sgd {
    /// Plain gradient descent.
    pub fn new(learning_rate: impl Into<Schedule>) -> Self {
        Self { learning_rate: learning_rate.into(), momentum: 0.0, weight_decay: 0.0 }
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// If the schedule is invalid, the momentum is outside [0, 1) or the decay is negative or not finite.
    pub fn validate(self) -> Result<Self, ParameterError> {
        self.learning_rate.validate()?;
        let refuse =
            |name, must, value: f32| ParameterError::OutOfDomain { name, must, value: f64::from(value) };
        if !(0.0..1.0).contains(&self.momentum) {
            return Err(refuse("momentum", "at least 0 and below 1", self.momentum));
        }
        if !(self.weight_decay >= 0.0 && self.weight_decay.is_finite()) {
            return Err(refuse("weight_decay", "zero or positive, and finite", self.weight_decay));
        }
        Ok(self)
    }

    /// `v ← momentum · v + (g + decay · w)`, then `w ← w − α v`, for a vector of parameters.
    fn apply(&self, k: u64, gradient: &[f32], velocity: &mut Vec<f32>, values: &mut [f32]) {
        let rate = self.learning_rate.at(k) as f32;
        velocity.resize(values.len(), 0.0);
        for ((w, v), g) in values.iter_mut().zip(velocity).zip(gradient) {
            *v = self.momentum * *v + (g + self.weight_decay * *w);
            *w -= rate * *v;
        }
    }
}

/// A vector of digital parameters: a bias, the scales of a normalisation.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The values.
    pub values: Vec<f32>,
    /// The gradient of the last backward pass.
    pub gradient: Vec<f32>,
    velocity: Vec<f32>,
    sgd: Option<Sgd>,
}

impl Parameter {
    /// Parameters trained by `sgd`, or frozen.
    pub fn new(values: Vec<f32>, sgd: Option<Sgd>) -> Self {
        Self { gradient: vec![0.0; values.len()], velocity: Vec::new(), values, sgd }
    }

    /// Whether the parameters ever change.
    pub fn trains(&self) -> bool {
        self.sgd.is_some()
    }

    /// Leaves the parameters to someone else, who sets `values`.
    pub fn freeze(&mut self) {
        self.sgd = None;
    }

    /// One step along `gradient`.
    pub fn step(&mut self, k: u64) {
        if let Some(sgd) = self.sgd {
            sgd.apply(k, &self.gradient, &mut self.velocity, &mut self.values);
        }
    }

    /// The values and, for checkpoints, the velocity.
    pub(crate) fn collect(&self, name: &str, role: Role, out: &mut Collection) {
        let shape = [self.values.len()];
        out.tensor(name, role, &shape, self.values.clone());
        if let Some(velocity) = self.velocity() {
            out.tensor(&format!("{name}.velocity"), Role::Optimizer, &shape, velocity);
        }
    }

    /// The same in another shape and order.
    pub(crate) fn collect_as(
        &self,
        name: &str,
        shape: &[usize],
        reorder: impl Fn(&[f32]) -> Vec<f32>,
        out: &mut Collection,
    ) {
        out.tensor(name, Role::Parameter, shape, reorder(&self.values));
        if let Some(velocity) = self.velocity() {
            out.tensor(&format!("{name}.velocity"), Role::Optimizer, shape, reorder(&velocity));
        }
    }

    /// What a checkpoint holds of the velocity.
    fn velocity(&self) -> Option<Vec<f32>> {
        let uses = self.sgd.is_some_and(|sgd| sgd.momentum > 0.0);
        uses.then(|| padded(&self.velocity, self.values.len()))
    }

    /// Loads those that `from` has.
    pub(crate) fn restore(&mut self, name: &str, from: &Tensors) {
        from.read(name, &mut self.values);
        let velocity = format!("{name}.velocity");
        if from.get(&velocity).is_some() {
            self.velocity.resize(self.values.len(), 0.0);
            from.read(&velocity, &mut self.velocity);
        }
    }
}

/// A velocity that may not have been used yet.
fn padded(velocity: &[f32], length: usize) -> Vec<f32> {
    let mut padded = velocity.to_vec();
    padded.resize(length, 0.0);
    padded
}

/// Frozen weights in any memory: tiles receive no pulses after they are programmed, but age as any cell does.
#[derive(Debug)]
pub struct Still(pub Box<dyn Weights>);

impl Weights for Still {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn cols(&self) -> usize {
        self.0.cols()
    }

    fn read(&mut self, inputs: &[f32], outputs: &mut [f32], key: Key) {
        self.0.read(inputs, outputs, key);
    }

    fn read_transposed(&mut self, errors: &[f32], outputs: &mut [f32], key: Key) {
        self.0.read_transposed(errors, outputs, key);
    }

    fn step(&mut self, _: u64, _: &[f32], _: &[f32], _: Key) -> Result<(), TrainStepError> {
        Ok(())
    }

    fn age(&mut self, key: Key) {
        self.0.age(key);
    }

    fn calibrate(&mut self, key: Key) {
        self.0.calibrate(key);
    }

    fn compensate(&mut self, key: Key) {
        self.0.compensate(key);
    }

    fn trains(&self) -> bool {
        false
    }

    fn effective_weights(&self, out: &mut [f32]) {
        self.0.effective_weights(out);
    }

    fn set_weights(&mut self, weights: &[f32]) -> Result<(), ParameterError> {
        self.0.set_weights(weights)
    }

    fn range(&self) -> Option<[f32; 2]> {
        self.0.range()
    }

    fn unreachable(&self) -> Unreachable<f32> {
        self.0.unreachable()
    }
}

impl State for Still {
    fn tensors(&self) -> Tensors {
        self.0.tensors()
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        self.0.load(from)
    }
}

/// Weights in digital memory, read exactly and trained by SGD, or frozen.
#[derive(Clone, Debug)]
pub struct DigitalWeights {
    rows: usize,
    cols: usize,
    values: Vec<f32>,
    velocity: Vec<f32>,
    sgd: Option<Sgd>,
    samples_read: u64,
}

impl DigitalWeights {
    /// A matrix (`rows × cols`) trained by `sgd`, or frozen.
    ///
    /// # Errors
    /// If `values` has the wrong length or the parameters of `sgd` are invalid.
    pub fn new(rows: usize, cols: usize, values: Vec<f32>, sgd: Option<Sgd>) -> Result<Self, ParameterError> {
        if values.len() != rows * cols {
            let (expected, given) = (rows * cols, values.len());
            return Err(ParameterError::Length { name: "weights", expected, given });
        }
        sgd.map(Sgd::validate).transpose()?;
        Ok(Self { rows, cols, values, velocity: Vec::new(), sgd, samples_read: 0 })
    }
}

impl Weights for DigitalWeights {
    fn rows(&self) -> usize {
        self.rows
    }

    fn cols(&self) -> usize {
        self.cols
    }

    fn read(&mut self, inputs: &[f32], outputs: &mut [f32], _: Key) {
        let size = [inputs.len() / self.cols, self.cols, self.rows];
        self.samples_read += size[0] as u64;
        rows_by_rows(size, inputs, &self.values, outputs);
    }

    fn read_transposed(&mut self, errors: &[f32], outputs: &mut [f32], _: Key) {
        let size = [errors.len() / self.rows, self.rows, self.cols];
        gemm(size, Operand::Plain(errors), Operand::Plain(&self.values), outputs, 0.0, 1.0);
    }

    fn step(&mut self, k: u64, errors: &[f32], inputs: &[f32], _: Key) -> Result<(), TrainStepError> {
        let Some(sgd) = self.sgd else { return Ok(()) };
        let rate = sgd.learning_rate.at(k) as f32;
        let size = [self.rows, errors.len() / self.rows, self.cols];
        let (errors, inputs) = (Operand::Transposed(errors), Operand::Plain(inputs));
        if sgd.momentum == 0.0 {
            // Without a velocity the gradient need not exist: W ← (1 − α · decay) W − α Σ δ xᵀ.
            gemm(size, errors, inputs, &mut self.values, 1.0 - rate * sgd.weight_decay, -rate);
        } else {
            self.velocity.resize(self.values.len(), 0.0);
            gemm(size, errors, inputs, &mut self.velocity, sgd.momentum, 1.0);
            for (w, v) in self.values.iter_mut().zip(&mut self.velocity) {
                *v += sgd.weight_decay * *w;
                *w -= rate * *v;
            }
        }
        Ok(())
    }

    fn samples_read(&self) -> u64 {
        self.samples_read
    }

    fn operations(&self, steps: u64, samples: u64) -> Operations {
        // Forward, backward and the gradient: a multiplication and an addition each.
        let cells = (self.rows * self.cols) as u64;
        Operations { digital: 6 * samples * cells + 2 * steps * cells, ..Operations::default() }
    }

    fn trains(&self) -> bool {
        self.sgd.is_some()
    }

    fn effective_weights(&self, out: &mut [f32]) {
        out.copy_from_slice(&self.values);
    }

    fn set_weights(&mut self, weights: &[f32]) -> Result<(), ParameterError> {
        check_weights(self.values.len(), weights)?;
        self.values.copy_from_slice(weights);
        Ok(())
    }
}

impl State for DigitalWeights {
    fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::new();
        if self.sgd.is_some_and(|sgd| sgd.momentum > 0.0) {
            let velocity = padded(&self.velocity, self.values.len());
            tensors.matrix("velocity", [self.rows, self.cols], &velocity);
        }
        tensors
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        let own = self.tensors();
        from.fit(&own)?;
        if !own.is_empty() {
            self.velocity.resize(self.values.len(), 0.0);
            from.read("velocity", &mut self.velocity);
        }
        Ok(())
    }
}

/// Checks the number of weights and that all are finite.
pub(crate) fn check_weights(expected: usize, weights: &[f32]) -> Result<(), ParameterError> {
    if weights.len() != expected {
        return Err(ParameterError::Length { name: "weights", expected, given: weights.len() });
    }
    match weights.iter().position(|w| !w.is_finite()) {
        None => Ok(()),
        Some(index) => {
            Err(ParameterError::NotFinite { name: "weights", index, value: f64::from(weights[index]) })
        }
    }
}
