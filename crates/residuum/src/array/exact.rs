//! Arrays whose cells follow any response exactly: in expectation, or pulse by pulse.

use std::ops::Range;
use std::sync::Arc;

use super::{Array, Calibration, ZeroShift, check_column, run_zero_shift, samples};
use crate::cells::{Cells, Uniform};
use crate::error::{ParameterError, finite, non_negative, positive, require, same_length};
use crate::readout::Shape;
use crate::response::ResponseFunction;
use crate::rule::Gradient;
use crate::state::{State, StateError, Tensors};
use crate::{Key, Scalar};

/// Default pulse size on an array of expected increments.
const GRANULARITY: f64 = 1e-3;

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
    /// To the nearest count: has a dead zone below half a pulse; kept to demonstrate its effect.
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

    /// Sets the rounding.
    pub fn rounding(self, rounding: Rounding) -> Self {
        Self { rounding, ..self }
    }

    /// Scales each pulse by 1 + `cycle_noise`·N(0, 1).
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

/// Analog memory whose cells follow their responses exactly.
///
/// In f64 or f32: responses are evaluated in double precision either way, and an f32 state is rounded once per write.
#[derive(Clone, Debug)]
pub struct ExactArray<T = f64> {
    state: Vec<T>,
    shape: Shape,
    cells: Arc<dyn Cells>,
    update: Update,
    granularity: f64,
    pulses_sent: u64,
    /// Σ of outer products.
    dense: Vec<T>,
    wide: [Vec<f64>; 2],
}

impl<T: Scalar> ExactArray<T> {
    /// A column of these cells, programmed to `initial`.
    ///
    /// # Errors
    /// If the lengths differ, or an initial state is not finite or outside its cell's dynamic range.
    pub fn new(initial: &[T], cells: Arc<dyn Cells>, update: Update) -> Result<Self, ParameterError> {
        same_length("initial", cells.len().unwrap_or(initial.len()), initial.len())?;
        T::all_finite("target", initial)?;
        for (i, w) in initial.iter().enumerate() {
            let inside = cells.response(i).range().contains(w.to_f64());
            require(inside, "initial state", "inside the cell's dynamic range", w.to_f64())?;
        }
        Ok(Self {
            shape: Shape { rows: initial.len(), cols: 1 },
            granularity: if let Update::Pulsed(pulses) = update { pulses.step } else { GRANULARITY },
            state: initial.to_vec(),
            cells,
            update,
            pulses_sent: 0,
            dense: Vec::new(),
            wide: [Vec::new(), Vec::new()],
        })
    }

    /// An array of identical cells with the expected update.
    ///
    /// # Errors
    /// As [`ExactArray::new`].
    pub fn uniform(initial: &[T], response: impl ResponseFunction + 'static) -> Result<Self, ParameterError> {
        Self::new(initial, Arc::new(Uniform::new(response)), Update::Expected)
    }

    /// The array behind a pointer, made in this crate: see [`AnyRule::boxed`](crate::rule::AnyRule::boxed).
    pub fn boxed(self) -> Box<dyn Array<T>> {
        T::boxed_array(self)
    }

    /// Reshapes the cells into a row-major matrix.
    ///
    /// # Errors
    /// If the number of cells differs.
    pub fn with_shape(mut self, shape: Shape) -> Result<Self, ParameterError> {
        same_length("cells of the shape", self.state.len(), shape.rows * shape.cols)?;
        self.shape = shape;
        Ok(self)
    }

    /// Sets the size of a pulse where a rule sends whole pulses to an array of expected increments; 0.001 by default.
    ///
    /// # Errors
    /// If it is not positive.
    pub fn with_granularity(mut self, granularity: f64) -> Result<Self, ParameterError> {
        self.granularity = positive("granularity", granularity)?;
        Ok(self)
    }

    /// The exact state, as the simulator knows it; hardware could not read it.
    pub fn weights(&self) -> &[T] {
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

    /// Whether the array is empty.
    pub fn is_empty(&self) -> bool {
        self.state.is_empty()
    }

    fn pulse(&mut self, pulses: Pulses, scale: T, direction: &[T], key: Key) {
        let (rounding, noise) = (key.named("rounding"), key.named("cycle"));
        for (i, (w, &d)) in self.state.iter_mut().zip(direction).enumerate() {
            let desired = (scale * d).to_f64();
            let count = pulses.count(desired, rounding, i as u64);
            let (response, noise) = (self.cells.response(i), noise.fold(i as u64));
            *w = T::from_f64(pulses.apply(response, desired >= 0.0, count, noise, w.to_f64()));
            self.pulses_sent += count;
        }
    }

    /// One pulse of the given sign and kind on every cell, as zero-shifting needs.
    pub fn pulse_by(&mut self, pulses: Pulses, up: bool, key: Key) {
        for (i, w) in self.state.iter_mut().enumerate() {
            *w = T::from_f64(pulses.apply(self.cells.response(i), up, 1, key.fold(i as u64), w.to_f64()));
        }
        self.pulses_sent += self.state.len() as u64;
    }

    /// The pulses of the array, or pulses of its granularity where increments are expected.
    fn own_pulses(&self) -> Pulses {
        match self.update {
            Update::Pulsed(pulses) => pulses,
            Update::Expected => {
                Pulses { step: self.granularity, rounding: Rounding::Stochastic, cycle_noise: 0.0 }
            }
        }
    }

    /// Relaxation: every cell moves by the fraction `rate` of its distance to `toward`.
    ///
    /// # Errors
    /// If `rate` is outside [0, 1] or the lengths differ.
    pub fn relax(&mut self, rate: f64, toward: &[T]) -> Result<(), ParameterError> {
        require((0.0..=1.0).contains(&rate), "rate", "between 0 and 1", rate)?;
        same_length("toward", self.state.len(), toward.len())?;
        for (i, (w, t)) in self.state.iter_mut().zip(toward).enumerate() {
            let range = self.cells.response(i).range();
            *w = T::from_f64(range.clip(w.to_f64() + rate * (t.to_f64() - w.to_f64())));
        }
        Ok(())
    }

    /// Sets the given cells to `level`, clipped to their range.
    ///
    /// # Errors
    /// If `level` is not finite or an index is out of range.
    pub fn reset_cells(&mut self, indices: &[usize], level: f64) -> Result<(), ParameterError> {
        finite("level", level)?;
        if let Some(&bad) = indices.iter().find(|&&i| i >= self.state.len()) {
            return Err(ParameterError::OutOfDomain {
                name: "index",
                must: "below the number of cells",
                value: bad as f64,
            });
        }
        for &i in indices {
            self.state[i] = T::from_f64(self.cells.response(i).range().clip(level));
        }
        Ok(())
    }
}

impl<T: Scalar> State for ExactArray<T> {
    fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::new();
        tensors.matrix("weights", [self.shape.rows, self.shape.cols], &self.state);
        tensors.count("pulses", self.pulses_sent);
        tensors
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        from.fit(&self.tensors())?;
        from.read("weights", &mut self.state);
        from.read_count("pulses", &mut self.pulses_sent);
        Ok(())
    }
}

impl<T: Scalar> Array<T> for ExactArray<T> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn weights(&self) -> &[T] {
        &self.state
    }

    /// `key` decides stochastic rounding and cycle-to-cycle noise; the expected update does not use it. A NaN passes into the
    /// state and stays visible there.
    fn increment(&mut self, scale: T, direction: &[T], key: Key) -> Result<(), ParameterError> {
        same_length("direction", self.state.len(), direction.len())?;
        match self.update {
            Update::Expected => T::realize(&*self.cells, scale, direction, &mut self.state, &mut self.wide),
            Update::Pulsed(pulses) => self.pulse(pulses, scale, direction, key),
        }
        Ok(())
    }

    fn update(&mut self, scale: T, errors: &[T], inputs: &[T], key: Key) -> Result<(), ParameterError> {
        let batch = samples(self.shape, errors, inputs)?;
        let mut dense = std::mem::take(&mut self.dense);
        let sum = Gradient::Outer { batch, errors, inputs }.dense(&mut dense);
        let written = self.increment(scale, sum, key);
        self.dense = dense;
        written
    }

    fn update_column(&mut self, column: usize, scale: T, values: &[T], key: Key) -> Result<(), ParameterError> {
        check_column(self.shape, column, values.len())?;
        let (rounding, noise) = (key.named("rounding"), key.named("cycle"));
        let cells = self.state.iter_mut().enumerate().skip(column).step_by(self.shape.cols);
        for ((i, w), v) in cells.zip(values) {
            let (desired, response) = ((scale * *v).to_f64(), self.cells.response(i));
            let state = w.to_f64();
            *w = T::from_f64(match self.update {
                Update::Expected => response.range().clip(state + response.realized(desired, state)),
                Update::Pulsed(pulses) => {
                    let count = pulses.count(desired, rounding, i as u64);
                    self.pulses_sent += count;
                    pulses.apply(response, desired >= 0.0, count, noise.fold(i as u64), state)
                }
            });
        }
        Ok(())
    }

    fn check_gradient(&self, gradient: Gradient<'_, T>) -> Result<(), ParameterError> {
        gradient.fits(self.shape)
    }

    fn program(&mut self, target: &[T], _: Key) -> Result<(), ParameterError> {
        same_length("target", self.state.len(), target.len())?;
        T::all_finite("target", target)?;
        for (i, (w, t)) in self.state.iter_mut().zip(target).enumerate() {
            *w = T::from_f64(self.cells.response(i).range().clip(t.to_f64()));
        }
        Ok(())
    }

    /// Resets to the symmetric points, or to 0 where there is none.
    fn reset(&mut self, columns: Range<usize>, _: Key) -> Result<(), ParameterError> {
        let last = columns.end as f64 - 1.0;
        require(columns.end <= self.shape.cols, "columns", "below the number of columns", last)?;
        for (i, w) in self.state.iter_mut().enumerate() {
            if columns.contains(&(i % self.shape.cols)) {
                let response = self.cells.response(i);
                *w = T::from_f64(response.range().clip(response.symmetric_point().unwrap_or(0.0)));
            }
        }
        Ok(())
    }

    fn pulse_all(&mut self, up: bool, key: Key) {
        self.pulse_by(self.own_pulses(), up, key);
    }

    fn zero_shift(&mut self, settings: &ZeroShift, key: Key) -> Result<Calibration<T>, ParameterError> {
        settings.validate()?;
        let own = self.own_pulses();
        let step = settings.pulse_step.unwrap_or(own.step);
        let pulses = if settings.pulse_step.is_none() && settings.cycle_noise == 0.0 {
            own
        } else {
            Pulses { step, cycle_noise: settings.cycle_noise, ..own }
        };
        let pulse = |array: &mut Self, pair: u64, up: bool| {
            array.pulse_by(pulses, up, key.fold(2 * pair + u64::from(up)));
        };
        run_zero_shift(self, settings, step, pulse, |high, low, pairs| 0.5 * (1.0 / pairs) * (high + low))
    }

    fn granularity(&self) -> T {
        T::from_f64(self.granularity)
    }

    fn range(&self) -> Option<[T; 2]> {
        let range = (!self.state.is_empty()).then(|| self.cells.response(0).range())?;
        (range.lo.is_finite() && range.hi.is_finite()).then(|| [range.lo, range.hi].map(T::from_f64))
    }

    fn pulses_sent(&self) -> u64 {
        self.pulses_sent
    }

    fn symmetric_points(&self) -> Vec<Option<T>> {
        (0..self.len()).map(|i| self.cells.response(i).symmetric_point().map(T::from_f64)).collect()
    }

    fn known_symmetric_points(&self) -> Result<Vec<T>, ParameterError> {
        let points = crate::cells::symmetric_points(&*self.cells, self.len(), "residual learning")?;
        Ok(points.into_iter().map(T::from_f64).collect())
    }

    fn programmable(&self, cell: usize) -> Option<[T; 2]> {
        let range = self.cells.response(cell).range();
        Some([range.lo, range.hi].map(T::from_f64))
    }

    fn response(&self, cell: usize, up: bool, at: T) -> T {
        let response = self.cells.response(cell);
        T::from_f64(if up { response.q_plus(at.to_f64()) } else { response.q_minus(at.to_f64()) })
    }
}
