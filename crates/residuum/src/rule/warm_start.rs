//! The start of a cascade: its arrays are filled one by one, the coarsest first.

use crate::error::{ParameterError, require};
use crate::state::Tensors;

/// Warm start of a cascade (Li et al. 2025): the array that meets the gradient transfers straight into one array, first the main
/// one, then the next finer, and the others wait; after the last the plain schedule of transfers begins.
///
/// When an array is full shows in the loss of an epoch, which [`Rule::epoch_ended`](super::Rule::epoch_ended) reports. One of the
/// first `coarse` arrays is left when the loss rises by more than `rise`; a finer one, whose effect is smaller, when at least
/// `slow` of the last `window` epochs improved the loss by less than `improvement`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmStart {
    /// Arrays that are left when the loss rises, counted from the main one.
    pub coarse: u64,
    /// By how much, not negative.
    pub rise: f64,
    /// Epochs looked back upon, 1 to 64.
    pub window: u64,
    /// How many of them must be slow, 1 to `window`.
    pub slow: u64,
    /// An epoch is slow if the loss falls by less.
    pub improvement: f64,
}

impl Default for WarmStart {
    /// The numbers of the paper.
    fn default() -> Self {
        Self { coarse: 4, rise: 1e-4, window: 5, slow: 2, improvement: 0.01 }
    }
}

impl WarmStart {
    /// Checks the numbers.
    ///
    /// # Errors
    /// If a loss is negative or not finite, the window is empty or longer than 64, or `slow` does not fit into it.
    pub fn validate(self) -> Result<Self, ParameterError> {
        for (name, value) in [("rise", self.rise), ("improvement", self.improvement)] {
            require(value >= 0.0 && value.is_finite(), name, "finite and not negative", value)?;
        }
        require((1..=64).contains(&self.window), "window", "between 1 and 64", self.window as f64)?;
        require((1..=self.window).contains(&self.slow), "slow", "between 1 and window", self.slow as f64)?;
        Ok(self)
    }
}

/// A [`WarmStart`] under way.
#[derive(Clone, Debug)]
pub struct Warming {
    settings: WarmStart,
    /// The array that is being filled; the number of links once all are.
    stage: u64,
    links: u64,
    /// Losses of this stage, the newest last; infinite where there were none yet.
    losses: Vec<f64>,
    /// Steps and samples until the plain schedule began.
    waited: [u64; 2],
}

impl Warming {
    /// Before the first epoch, with as many arrays to fill as there are links.
    pub fn new(settings: WarmStart, links: usize) -> Result<Self, ParameterError> {
        let settings = settings.validate()?;
        let losses = vec![f64::INFINITY; settings.window as usize + 1];
        Ok(Self { settings, stage: 0, links: links as u64, losses, waited: [0, 0] })
    }

    /// The array that is being filled, or `None` after the last.
    pub fn stage(&self) -> Option<usize> {
        (self.stage < self.links).then_some(self.stage as usize)
    }

    /// Counts a step while arrays are being filled.
    pub(super) fn count(&mut self, samples: usize) {
        if self.stage().is_some() {
            self.waited = [self.waited[0] + 1, self.waited[1] + samples as u64];
        }
    }

    /// Steps and samples until the plain schedule began.
    pub(super) fn waited(&self) -> [u64; 2] {
        self.waited
    }

    /// Takes the loss of an epoch; true if the next array is filled from now on.
    pub fn epoch_ended(&mut self, loss: f64) -> bool {
        if self.stage().is_none() {
            return false;
        }
        self.losses.remove(0);
        self.losses.push(loss);
        // From infinity, the loss of no epoch, every fall is large, or NaN, which no comparison is true of.
        let mut falls = self.losses.windows(2).map(|pair| pair[0] - pair[1]);
        let full = if self.stage < self.settings.coarse {
            falls.next_back().is_some_and(|fall| -fall > self.settings.rise)
        } else {
            falls.filter(|fall| *fall < self.settings.improvement).count() as u64 >= self.settings.slow
        };
        if full {
            self.stage += 1;
            self.losses.fill(f64::INFINITY);
        }
        full
    }

    pub(super) fn forget(&mut self) {
        self.stage = 0;
        self.waited = [0, 0];
        self.losses.fill(f64::INFINITY);
    }

    pub(super) fn save(&self, tensors: &mut Tensors) {
        tensors.count("warm_start.stage", self.stage);
        tensors.count("warm_start.steps", self.waited[0]);
        tensors.count("warm_start.samples", self.waited[1]);
        tensors.vector("warm_start.losses", &self.losses);
    }

    pub(super) fn restore(&mut self, from: &Tensors) {
        from.read_count("warm_start.stage", &mut self.stage);
        from.read_count("warm_start.steps", &mut self.waited[0]);
        from.read_count("warm_start.samples", &mut self.waited[1]);
        from.read("warm_start.losses", &mut self.losses);
    }
}
