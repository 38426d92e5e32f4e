//! Where a desired increment comes from: any optimiser's step can be written to an array.

use super::Gradient;
use crate::Scalar;
use crate::error::{ParameterError, non_negative, positive, require};
use crate::state::Tensors;

/// An optimiser's step ΔZ, with α the learning rate of the step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Source {
    /// ΔZ = −α g.
    #[default]
    Sgd,
    /// m ← momentum·m + g, ΔZ = −α m.
    Momentum {
        /// Weight of the past, in [0, 1).
        momentum: f64,
    },
    /// Adam (Kingma & Ba 2015) with bias correction; its moments live in digital memory.
    Adam {
        /// Decay of the first moment, in [0, 1).
        decay_first: f64,
        /// Decay of the second moment, in [0, 1).
        decay_second: f64,
        /// Added to the root of the second moment.
        epsilon: f64,
    },
    /// Adam with decoupled weight decay (Loshchilov & Hutter 2019): −α·decay·W̄ is added to its step, W̄ the effective weights.
    AdamW {
        /// Decay of the first moment, in [0, 1).
        decay_first: f64,
        /// Decay of the second moment, in [0, 1).
        decay_second: f64,
        /// Added to the root of the second moment.
        epsilon: f64,
        /// Strength of the pull of the effective weights towards 0.
        weight_decay: f64,
    },
}

impl Source {
    /// Heavy-ball momentum.
    pub fn momentum(momentum: f64) -> Self {
        Self::Momentum { momentum }
    }

    /// Adam with its usual decays and ε.
    pub fn adam() -> Self {
        Self::Adam { decay_first: 0.9, decay_second: 0.999, epsilon: 1e-8 }
    }

    /// AdamW with the usual decays and ε.
    pub fn adam_w(weight_decay: f64) -> Self {
        Self::AdamW { decay_first: 0.9, decay_second: 0.999, epsilon: 1e-8, weight_decay }
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// If a decay or the momentum is outside [0, 1), ε is not positive, or the weight decay is negative.
    pub fn validate(self) -> Result<Self, ParameterError> {
        let below_one =
            |name, value: f64| require((0.0..1.0).contains(&value), name, "at least 0 and below 1", value);
        match self {
            Self::Sgd => {}
            Self::Momentum { momentum } => below_one("momentum", momentum)?,
            Self::Adam { decay_first, decay_second, epsilon }
            | Self::AdamW { decay_first, decay_second, epsilon, .. } => {
                below_one("decay_first", decay_first)?;
                below_one("decay_second", decay_second)?;
                positive("epsilon", epsilon)?;
            }
        }
        if let Self::AdamW { weight_decay, .. } = self {
            non_negative("weight_decay", weight_decay)?;
        }
        Ok(self)
    }

    /// Name of the optimiser.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Sgd => "SGD",
            Self::Momentum { .. } => "momentum",
            Self::Adam { .. } => "Adam",
            Self::AdamW { .. } => "AdamW",
        }
    }
}

/// A [`Source`] with its digital memory.
#[derive(Clone, Debug)]
pub(super) struct Optimizer<T> {
    source: Source,
    /// Velocity, or the first moment.
    first: Vec<T>,
    /// Second moment.
    second: Vec<T>,
    /// Steps taken.
    age: u64,
    /// What a weight of 1 stands for, of all weights or of each row.
    units: Vec<T>,
    sum: Vec<T>,
    direction: Vec<T>,
}

impl<T: Scalar> Optimizer<T> {
    /// Memory for `dim` weights.
    pub(super) fn new(source: Source, dim: usize) -> Result<Self, ParameterError> {
        let source = source.validate()?;
        let [first, second] = match source {
            Source::Sgd => [0, 0],
            Source::Momentum { .. } => [dim, 0],
            Source::Adam { .. } | Source::AdamW { .. } => [dim, dim],
        };
        let (first, second) = (vec![T::ZERO; first], vec![T::ZERO; second]);
        Ok(Self { source, first, second, ..Self::sgd() })
    }

    /// Plain gradient descent, which needs no memory.
    pub(super) fn sgd() -> Self {
        Self {
            source: Source::Sgd,
            first: Vec::new(),
            second: Vec::new(),
            age: 0,
            units: vec![T::ONE],
            sum: Vec::new(),
            direction: Vec::new(),
        }
    }

    /// Weights are multiples of these units, and gradients multiples of their inverse. Adam, whose step does not grow with the
    /// gradient, must know: its α is a change of what the weight stands for.
    pub(super) fn set_units(&mut self, units: &[T]) {
        self.units = units.to_vec();
    }

    pub(super) fn label(&self) -> &'static str {
        self.source.label()
    }

    /// Operations and words of memory on each weight and step; none where a gradient passes unchanged.
    pub(super) fn work(&self) -> (u64, u64) {
        match self.source {
            Source::Sgd => (0, 0),
            Source::Momentum { .. } => (2, 1),
            Source::Adam { .. } => (12, 2),
            Source::AdamW { .. } => (14, 2),
        }
    }

    /// Whether a gradient passes unchanged.
    pub(super) fn is_sgd(&self) -> bool {
        self.source == Source::Sgd
    }

    /// Clears the digital memory.
    pub(super) fn forget(&mut self) {
        self.first.fill(T::ZERO);
        self.second.fill(T::ZERO);
        self.age = 0;
    }

    /// D of the desired step −αD: the gradient itself for SGD, otherwise one entry per weight. `weights` are the effective ones.
    pub(super) fn direction<'a>(&'a mut self, gradient: Gradient<'a, T>, weights: &[T]) -> Gradient<'a, T> {
        match self.source {
            Source::Sgd => gradient,
            Source::Momentum { momentum } => {
                let momentum = T::from_f64(momentum);
                for (m, g) in self.first.iter_mut().zip(gradient.dense(&mut self.sum)) {
                    *m = momentum * *m + *g;
                }
                Gradient::Dense(&self.first)
            }
            Source::Adam { decay_first, decay_second, epsilon } => {
                self.adam(gradient, [decay_first, decay_second, epsilon]);
                Gradient::Dense(&self.direction)
            }
            Source::AdamW { decay_first, decay_second, epsilon, weight_decay } => {
                self.adam(gradient, [decay_first, decay_second, epsilon]);
                let decay = T::from_f64(weight_decay);
                for (d, w) in self.direction.iter_mut().zip(weights) {
                    *d += decay * *w;
                }
                Gradient::Dense(&self.direction)
            }
        }
    }

    fn adam(&mut self, gradient: Gradient<'_, T>, [decay_first, decay_second, epsilon]: [f64; 3]) {
        let gradient = gradient.dense(&mut self.sum);
        self.direction.resize(gradient.len(), T::ZERO);
        self.age += 1;
        let age = i32::try_from(self.age).unwrap_or(i32::MAX);
        let (c1, c2) = (T::from_f64(1.0 - decay_first.powi(age)), T::from_f64(1.0 - decay_second.powi(age)));
        let [keep_first, keep_second, epsilon] = [decay_first, decay_second, epsilon].map(T::from_f64);
        let [new_first, new_second] = [1.0 - decay_first, 1.0 - decay_second].map(T::from_f64);
        let cols = gradient.len() / self.units.len();
        for (row, unit) in self.units.iter().enumerate() {
            for i in row * cols..(row + 1) * cols {
                // The gradient by what the weight stands for; a step of that, in units of the weight.
                let g = *unit * gradient[i];
                self.first[i] = keep_first * self.first[i] + new_first * g;
                self.second[i] = keep_second * self.second[i] + new_second * g * g;
                self.direction[i] = (self.first[i] / c1) / ((self.second[i] / c2).sqrt() + epsilon) / *unit;
            }
        }
    }

    pub(super) fn save(&self, tensors: &mut Tensors) {
        if !self.first.is_empty() {
            let velocity = matches!(self.source, Source::Momentum { .. });
            tensors.vector(if velocity { "velocity" } else { "first" }, &self.first);
        }
        if !self.second.is_empty() {
            tensors.vector("second", &self.second);
            tensors.count("age", self.age);
        }
    }

    pub(super) fn restore(&mut self, from: &Tensors) {
        from.read("velocity", &mut self.first);
        from.read("first", &mut self.first);
        from.read("second", &mut self.second);
        from.read_count("age", &mut self.age);
    }
}
