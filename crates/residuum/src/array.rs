//! The one door: the state of analog memory changes here and nowhere else.
//!
//! [`AnalogArray::increment`] is the paper's operator, `Z ← Z + A(ΔZ; Z)`, expected or by pulses. The other verbs
//! are named for what hardware does: [`program`](AnalogArray::program) writes a state at set-up,
//! [`relax`](AnalogArray::relax) lets it decay, [`reset`](AnalogArray::reset) sends it to its symmetric or another
//! given level. Everything else reads.

use std::sync::Arc;

use crate::Key;
use crate::cells::{Cells, Uniform};
use crate::error::{ParameterError, all_finite, non_negative, positive, require, same_length};
use crate::response::ResponseFunction;

/// How a desired increment becomes a realized one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Update {
    /// The operator itself, exactly: one scaled step.
    Expected,
    /// Whole pulses, the response re-evaluated and the state clipped after each.
    Pulsed(Pulses),
}

/// A train of equal pulses on single cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pulses {
    step: f64,
    rounding: Rounding,
    cycle_noise: f64,
}

/// How a desired increment is rounded to whole pulses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Up with the probability of the fraction: unbiased, keeps the sign.
    Stochastic,
    /// To the nearest count: has a dead zone below half a pulse, kept to show what it does.
    Nearest,
}

impl Pulses {
    /// Pulses of size `step` (Δw_min at q = 1), rounded stochastically, without cycle-to-cycle noise.
    ///
    /// # Errors
    /// If `step` is not positive and finite.
    pub fn new(step: f64) -> Result<Self, ParameterError> {
        Ok(Self { step: positive("pulse_step", step)?, rounding: Rounding::Stochastic, cycle_noise: 0.0 })
    }

    /// The same with another rounding.
    pub fn rounding(self, rounding: Rounding) -> Self {
        Self { rounding, ..self }
    }

    /// The same with each pulse scaled by 1 + `cycle_noise`·N(0, 1).
    ///
    /// # Errors
    /// If `cycle_noise` is negative or not finite.
    pub fn cycle_noise(self, cycle_noise: f64) -> Result<Self, ParameterError> {
        Ok(Self { cycle_noise: non_negative("cycle_noise", cycle_noise)?, ..self })
    }

    /// Size of a pulse at q = 1.
    pub fn step(&self) -> f64 {
        self.step
    }

    fn count(&self, desired: f64, key: Key, cell: u64) -> u64 {
        let pulses = desired.abs() / self.step;
        match self.rounding {
            Rounding::Stochastic => (pulses + key.uniform_at(cell)).floor() as u64,
            Rounding::Nearest => pulses.round() as u64,
        }
    }

    /// `count` pulses of one sign on one cell.
    fn apply(&self, response: &dyn ResponseFunction, up: bool, count: u64, key: Key, mut w: f64) -> f64 {
        let (range, signed) = (response.range(), if up { self.step } else { -self.step });
        for n in 0..count {
            let noise = if self.cycle_noise > 0.0 { 1.0 + self.cycle_noise * key.normal_at(n) } else { 1.0 };
            w = range.clip(w + noise * response.realized(signed, w));
        }
        w
    }
}

/// Weights in analog memory.
#[derive(Clone, Debug)]
pub struct AnalogArray {
    state: Vec<f64>,
    cells: Arc<dyn Cells>,
    update: Update,
    pulses_sent: u64,
}

impl AnalogArray {
    /// An array of these cells, programmed to `initial`.
    ///
    /// # Errors
    /// If the lengths differ, or an initial state is not finite or outside its cell's dynamic range.
    pub fn new(initial: &[f64], cells: Arc<dyn Cells>, update: Update) -> Result<Self, ParameterError> {
        same_length("initial", cells.len().unwrap_or(initial.len()), initial.len())?;
        let mut array = Self { state: vec![0.0; initial.len()], cells, update, pulses_sent: 0 };
        array.program(initial)?;
        Ok(array)
    }

    /// An array of equal cells with the expected update.
    ///
    /// # Errors
    /// As [`AnalogArray::new`].
    pub fn uniform(initial: &[f64], response: impl ResponseFunction + 'static) -> Result<Self, ParameterError> {
        Self::new(initial, Arc::new(Uniform::new(response)), Update::Expected)
    }

    /// The exact state: the simulator's view, not what hardware could read.
    pub fn state(&self) -> &[f64] {
        &self.state
    }

    /// The cells.
    pub fn cells(&self) -> &dyn Cells {
        &*self.cells
    }

    /// Number of weights.
    pub fn len(&self) -> usize {
        self.state.len()
    }

    /// Whether there is no weight.
    pub fn is_empty(&self) -> bool {
        self.state.is_empty()
    }

    /// Pulses sent so far, all cells together; 0 in expected mode.
    pub fn pulses_sent(&self) -> u64 {
        self.pulses_sent
    }

    /// What a checkpoint must hold.
    pub(crate) fn slots(&mut self, visit: &mut dyn FnMut(&str, crate::rule::Slot<'_>)) {
        visit("weights", crate::rule::Slot::Doubles(&mut self.state));
        visit("pulses", crate::rule::Slot::Count(&mut self.pulses_sent));
    }

    /// `state ← state + A(scale · direction; state)` (`biased-update`), clipped to the dynamic range.
    ///
    /// `key` decides stochastic rounding and cycle-to-cycle noise; the expected update does not use it.
    pub fn increment(&mut self, scale: f64, direction: &[f64], key: Key) {
        assert_eq!(direction.len(), self.state.len(), "direction and array differ in length");
        match self.update {
            Update::Expected => self.cells.realize(scale, direction, &mut self.state),
            Update::Pulsed(pulses) => self.pulse(pulses, scale, direction, key),
        }
    }

    fn pulse(&mut self, pulses: Pulses, scale: f64, direction: &[f64], key: Key) {
        let (rounding, noise) = (key.named("rounding"), key.named("cycle"));
        for (i, (w, &d)) in self.state.iter_mut().zip(direction).enumerate() {
            let desired = scale * d;
            let count = pulses.count(desired, rounding, i as u64);
            *w = pulses.apply(self.cells.response(i), desired >= 0.0, count, noise.fold(i as u64), *w);
            self.pulses_sent += count;
        }
    }

    /// One pulse of the given sign on every cell: the move of zero-shifting.
    pub fn pulse_all(&mut self, up: bool, pulses: Pulses, key: Key) {
        for (i, w) in self.state.iter_mut().enumerate() {
            *w = pulses.apply(self.cells.response(i), up, 1, key.fold(i as u64), *w);
        }
        self.pulses_sent += self.state.len() as u64;
    }

    /// Writes a state at set-up.
    ///
    /// # Errors
    /// If the length differs or a target is not finite or outside its cell's dynamic range; nothing is written then.
    pub fn program(&mut self, target: &[f64]) -> Result<(), ParameterError> {
        same_length("target", self.state.len(), target.len())?;
        all_finite("target", target)?;
        for (i, &w) in target.iter().enumerate() {
            let range = self.cells.response(i).range();
            require(range.contains(w), "initial state", "inside the cell's dynamic range", w)?;
        }
        self.state.copy_from_slice(target);
        Ok(())
    }

    /// Relaxation: every cell moves the fraction `rate` of its way towards `toward`.
    ///
    /// # Errors
    /// If `rate` is outside [0, 1] or the lengths differ.
    pub fn relax(&mut self, rate: f64, toward: &[f64]) -> Result<(), ParameterError> {
        require((0.0..=1.0).contains(&rate), "rate", "between 0 and 1", rate)?;
        same_length("toward", self.state.len(), toward.len())?;
        for (i, (w, &t)) in self.state.iter_mut().zip(toward).enumerate() {
            *w = self.cells.response(i).range().clip(*w + rate * (t - *w));
        }
        Ok(())
    }

    /// Reset: the named cells go to `level`, clipped to their range.
    ///
    /// # Errors
    /// If `level` is not finite or an index is not a cell.
    pub fn reset(&mut self, indices: &[usize], level: f64) -> Result<(), ParameterError> {
        crate::error::finite("level", level)?;
        if let Some(&bad) = indices.iter().find(|&&i| i >= self.state.len()) {
            return Err(ParameterError::OutOfDomain {
                name: "index",
                must: "below the number of cells",
                value: bad as f64,
            });
        }
        for &i in indices {
            self.state[i] = self.cells.response(i).range().clip(level);
        }
        Ok(())
    }
}
