use crate::error::{ParameterError, positive, require};
use crate::schedule::Schedule;

use super::Slot;

/// Where a desired increment ΔZ comes from: any optimiser's step can go through the one door.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// ΔZ = −α g.
    Sgd {
        /// α.
        learning_rate: Schedule,
    },
    /// m ← momentum·m + g, ΔZ = −α m.
    Momentum {
        /// α.
        learning_rate: Schedule,
        /// Weight of the past, in [0, 1).
        momentum: f64,
        /// m, in digital memory.
        velocity: Vec<f64>,
    },
    /// Adam (Kingma & Ba 2015) with bias correction; its moments live in digital memory.
    Adam {
        /// α.
        learning_rate: Schedule,
        /// Decay of the first moment, in [0, 1).
        decay_first: f64,
        /// Decay of the second moment, in [0, 1).
        decay_second: f64,
        /// Added to the root of the second moment.
        epsilon: f64,
        /// First moment.
        first: Vec<f64>,
        /// Second moment.
        second: Vec<f64>,
    },
}

impl Source {
    /// Plain gradient descent.
    pub fn sgd(learning_rate: impl Into<Schedule>) -> Self {
        Self::Sgd { learning_rate: learning_rate.into() }
    }

    /// Heavy-ball momentum.
    ///
    /// # Errors
    /// If `momentum` is outside [0, 1).
    pub fn momentum(learning_rate: impl Into<Schedule>, momentum: f64) -> Result<Self, ParameterError> {
        require((0.0..1.0).contains(&momentum), "momentum", "at least 0 and below 1", momentum)?;
        Ok(Self::Momentum { learning_rate: learning_rate.into(), momentum, velocity: Vec::new() })
    }

    /// Adam.
    ///
    /// # Errors
    /// If a decay is outside [0, 1) or `epsilon` is not positive.
    pub fn adam(
        learning_rate: impl Into<Schedule>,
        decay_first: f64,
        decay_second: f64,
        epsilon: f64,
    ) -> Result<Self, ParameterError> {
        require((0.0..1.0).contains(&decay_first), "decay_first", "at least 0 and below 1", decay_first)?;
        require((0.0..1.0).contains(&decay_second), "decay_second", "at least 0 and below 1", decay_second)?;
        Ok(Self::Adam {
            learning_rate: learning_rate.into(),
            decay_first,
            decay_second,
            epsilon: positive("epsilon", epsilon)?,
            first: Vec::new(),
            second: Vec::new(),
        })
    }

    /// Name of the optimiser.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Sgd { .. } => "SGD",
            Self::Momentum { .. } => "momentum",
            Self::Adam { .. } => "Adam",
        }
    }

    /// Digital memory for `dim` weights, before the first step, so that a checkpoint finds it.
    pub(super) fn allocated(mut self, dim: usize) -> Self {
        match &mut self {
            Self::Sgd { .. } => {}
            Self::Momentum { velocity, .. } => velocity.resize(dim, 0.0),
            Self::Adam { first, second, .. } => {
                first.resize(dim, 0.0);
                second.resize(dim, 0.0);
            }
        }
        self
    }

    /// Clears the digital memory.
    pub(super) fn forget(&mut self) {
        match self {
            Self::Sgd { .. } => {}
            Self::Momentum { velocity, .. } => velocity.fill(0.0),
            Self::Adam { first, second, .. } => {
                first.fill(0.0);
                second.fill(0.0);
            }
        }
    }

    /// α at step k.
    pub fn learning_rate(&self, k: u64) -> f64 {
        match self {
            Self::Sgd { learning_rate }
            | Self::Momentum { learning_rate, .. }
            | Self::Adam { learning_rate, .. } => learning_rate.at(k),
        }
    }

    /// Digital memory as a checkpoint sees it.
    pub(super) fn state(&mut self, visit: &mut dyn FnMut(&str, Slot<'_>)) {
        match self {
            Self::Sgd { .. } => {}
            Self::Momentum { velocity, .. } => visit("velocity", Slot::Doubles(velocity)),
            Self::Adam { first, second, .. } => {
                visit("first", Slot::Doubles(first));
                visit("second", Slot::Doubles(second));
            }
        }
    }

    /// The desired step as `scale · direction`; `buffer` holds the direction when it is not the gradient itself.
    pub(super) fn desire<'a>(
        &'a mut self,
        k: u64,
        gradient: &'a [f64],
        buffer: &'a mut Vec<f64>,
    ) -> (f64, &'a [f64]) {
        match self {
            Self::Sgd { learning_rate } => (-learning_rate.at(k), gradient),
            Self::Momentum { learning_rate, momentum, velocity } => {
                for (m, g) in velocity.iter_mut().zip(gradient) {
                    *m = *momentum * *m + g;
                }
                (-learning_rate.at(k), velocity)
            }
            Self::Adam { learning_rate, decay_first, decay_second, epsilon, first, second } => {
                buffer.resize(gradient.len(), 0.0);
                let age = i32::try_from(k + 1).unwrap_or(i32::MAX);
                let (c1, c2) = (1.0 - decay_first.powi(age), 1.0 - decay_second.powi(age));
                for (i, g) in gradient.iter().enumerate() {
                    first[i] = *decay_first * first[i] + (1.0 - *decay_first) * g;
                    second[i] = *decay_second * second[i] + (1.0 - *decay_second) * g * g;
                    buffer[i] = (first[i] / c1) / ((second[i] / c2).sqrt() + *epsilon);
                }
                (-learning_rate.at(k), buffer)
            }
        }
    }
}
