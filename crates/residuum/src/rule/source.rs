//! Where a desired increment comes from: any optimiser's step can be written to an array.

use super::Gradient;
use crate::Scalar;
use crate::error::{ParameterError, non_negative, positive, require};
use crate::simd::vectorized;
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
    /// The gradient of one row.
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
        if self.is_sgd() {
            return gradient;
        }
        let mut direction = std::mem::take(&mut self.direction);
        direction.resize(weights.len(), T::ZERO);
        self.each_row(gradient, weights, &mut direction, |out, d| *out = d);
        self.direction = direction;
        Gradient::Dense(&self.direction)
    }

    /// `sum` ← `sum` − rate·D, for what is not SGD.
    pub(super) fn accumulate(&mut self, rate: T, gradient: Gradient<'_, T>, weights: &[T], sum: &mut [T]) {
        self.each_row(gradient, weights, sum, |sum, d| *sum -= rate * d);
    }

    /// Hands D to `take`, entry by entry beside those of `out`. Gradient, moments and D of a row are made in one pass, while they are in
    /// the first-level cache.
    fn each_row(
        &mut self,
        gradient: Gradient<'_, T>,
        weights: &[T],
        out: &mut [T],
        take: impl Fn(&mut T, T) + Copy,
    ) {
        self.age += 1;
        let law = Law::new(self.source, self.age);
        let rows = match gradient {
            Gradient::Dense(_) => self.units.len(),
            Gradient::Outer { batch, errors, .. } => errors.len() / batch.max(1),
        };
        let cols = weights.len() / rows.max(1);
        let (first, second) = (&mut self.first, &mut self.second);
        let (units, buffer) = (&self.units, &mut self.sum);
        vectorized(|| {
            for row in 0..rows {
                let range = row * cols..(row + 1) * cols;
                let gradient = gradient.row(row, cols, buffer);
                let unit = units[row.min(units.len() - 1)];
                let (first, out) = (&mut first[range.clone()], &mut out[range.clone()]);
                match law {
                    Law::Momentum(keep) => momentum(keep, gradient, first, out, take),
                    Law::Adam(adam) => {
                        let second = &mut second[range.clone()];
                        adam.row((gradient, &weights[range]), [first, second], unit, out, take);
                    }
                }
            }
        });
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

/// What an optimiser does with a gradient in one of its steps.
#[derive(Clone, Copy)]
enum Law<T> {
    /// Share of the velocity that survives.
    Momentum(T),
    Adam(Adam<T>),
}

/// Adam's numbers in one of its steps, with c₁ and c₂ the corrections of its moments:
///
/// ```text
/// m ← β₁m + (1 − β₁)g,  v ← β₂v + (1 − β₂)g²
/// D = (m/c₁)/(√(v/c₂) + ε) + decay·W̄
/// ```
#[derive(Clone, Copy)]
struct Adam<T> {
    /// β₁ and β₂.
    keep: [T; 2],
    /// 1 − β₁ and 1 − β₂.
    new: [T; 2],
    /// c₁ and c₂.
    correction: [T; 2],
    epsilon: T,
    decay: T,
}

impl<T: Scalar> Law<T> {
    fn new(source: Source, age: u64) -> Self {
        let (decays, epsilon, weight_decay) = match source {
            Source::Sgd => return Self::Momentum(T::ZERO),
            Source::Momentum { momentum } => return Self::Momentum(T::from_f64(momentum)),
            Source::Adam { decay_first, decay_second, epsilon } => ([decay_first, decay_second], epsilon, 0.0),
            Source::AdamW { decay_first, decay_second, epsilon, weight_decay } => {
                ([decay_first, decay_second], epsilon, weight_decay)
            }
        };
        let age = i32::try_from(age).unwrap_or(i32::MAX);
        Self::Adam(Adam {
            keep: decays.map(T::from_f64),
            new: decays.map(|decay| T::from_f64(1.0 - decay)),
            correction: decays.map(|decay| T::from_f64(1.0 - decay.powi(age))),
            epsilon: T::from_f64(epsilon),
            decay: T::from_f64(weight_decay),
        })
    }
}

#[inline(always)]
fn momentum<T: Scalar>(keep: T, gradient: &[T], first: &mut [T], out: &mut [T], take: impl Fn(&mut T, T)) {
    for ((m, g), out) in first.iter_mut().zip(gradient).zip(out) {
        *m = keep * *m + *g;
        take(out, *m);
    }
}

impl<T: Scalar> Adam<T> {
    /// One row. The gradient counts by what the weight stands for, `unit`; D is a step of that, in units of the weight.
    #[inline(always)]
    fn row(
        self,
        (gradient, weights): (&[T], &[T]),
        [first, second]: [&mut [T]; 2],
        unit: T,
        out: &mut [T],
        take: impl Fn(&mut T, T),
    ) {
        let [c1, c2] = self.correction;
        let moments = first.iter_mut().zip(second);
        for (((m, v), out), (g, w)) in moments.zip(out).zip(gradient.iter().zip(weights)) {
            let g = unit * *g;
            *m = self.keep[0] * *m + self.new[0] * g;
            *v = self.keep[1] * *v + self.new[1] * g * g;
            take(out, (*m / c1) / ((*v / c2).sqrt() + self.epsilon) / unit + self.decay * *w);
        }
    }
}
