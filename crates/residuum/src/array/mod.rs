//! The one door: the state of analog memory changes through the verbs of [`Array`] and nowhere else.
//!
//! [`Array::increment`] is the paper's operator, `Z ← Z + A(ΔZ; Z)`; the other verbs write outer products, columns or whole
//! pulses, program a state at set-up, let time pass. How increments reach the cells (in expectation, by trains, by rounded
//! pulses) is a property of the array, not of a write. A vector of cells is a matrix of one column.
//!
//! | array | cells | written |
//! |---|---|---|
//! | [`ExactArray`] | any [`Cells`](crate::Cells), f64 or f32 | [`Update::Expected`], or [`Update::Pulsed`] with rounding |
//! | [`Tile`](crate::tile::Tile) | one [`Device`](crate::tile::Device), f32 | by a [`Scheme`](crate::tile::Scheme): pulse trains, counted pulses, expectation |
//! | [`VectorCell`](crate::tile::VectorCell), [`ReferenceCell`](crate::tile::ReferenceCell), [`OneSidedCell`](crate::tile::OneSidedCell) | several tiles that act as one | as tiles |

mod exact;
mod zero_shift;

pub use exact::{ExactArray, Pulses, Rounding, Update};
pub(crate) use zero_shift::run as run_zero_shift;
pub use zero_shift::{Calibration, CalibrationError, ZeroShift};

use std::fmt::Debug;
use std::ops::Range;

use crate::error::{ParameterError, require, same_length};
use crate::readout::Shape;
use crate::rule::Gradient;
use crate::state::{State, StateError, Tensors};
use crate::{Key, Scalar};

/// Weights in analog memory. An array of one's own needs to say what [`increment`](Self::increment) does and what it holds.
pub trait Array<T: Scalar>: Debug + Send + Sync + State {
    /// Rows (outputs) and columns (inputs).
    fn shape(&self) -> Shape;

    /// What a perfect read sees, row by row.
    fn weights(&self) -> &[T];

    /// `W ← W + A(scale · direction; W)` (`biased-update`).
    ///
    /// # Errors
    /// If the length differs, or the array refuses a number; nothing is written then.
    fn increment(&mut self, scale: T, direction: &[T], key: Key) -> Result<(), ParameterError>;

    /// `W ← W + A(scale · Σ_b errors_b inputsᵀ_b; W)`: one increment of the sum unless the array writes sample by sample.
    ///
    /// # Errors
    /// If a shape does not fit, or the array refuses a number; nothing is written then.
    fn update(&mut self, scale: T, errors: &[T], inputs: &[T], key: Key) -> Result<(), ParameterError> {
        let batch = samples(self.shape(), errors, inputs)?;
        let mut sum = Vec::new();
        let sum = Gradient::Outer { batch, errors, inputs }.dense(&mut sum);
        self.increment(scale, sum, key)
    }

    /// `W_j ← W_j + A(scale · values; W_j)` for one column j.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    fn update_column(&mut self, column: usize, scale: T, values: &[T], key: Key) -> Result<(), ParameterError> {
        let direction = one_column(self.shape(), column, values)?;
        self.increment(scale, &direction, key)
    }

    /// Sends whole pulses to one column, `counts` of each row with its sign, none above `max_pulses`.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    fn pulse_column(
        &mut self,
        column: usize,
        counts: &[T],
        max_pulses: u32,
        key: Key,
    ) -> Result<(), ParameterError> {
        let _ = max_pulses;
        self.update_column(column, self.granularity(), counts, key)
    }

    /// Sends whole pulses to every cell, each standing for `unit`.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    fn pulse_cells(&mut self, unit: T, counts: &[T], key: Key) -> Result<(), ParameterError> {
        self.increment(unit, counts, key)
    }

    /// Marks the rows that the last [`update`](Self::update) or [`increment`](Self::increment) may have changed; or returns
    /// true: all of them, for all the array knows.
    fn written(&self, rows: &mut [bool]) -> bool {
        let _ = rows;
        true
    }

    /// Refuses a gradient that the array would refuse at some point of a step, before anything has moved.
    ///
    /// # Errors
    /// If a shape differs or an entry is not finite.
    fn admit(&self, gradient: Gradient<'_, T>) -> Result<(), ParameterError> {
        gradient.fits(self.shape())?;
        match gradient {
            Gradient::Dense(gradient) => T::all_finite("gradient", gradient),
            Gradient::Outer { errors, inputs, .. } => {
                T::all_finite("errors", errors)?;
                T::all_finite("inputs", inputs)
            }
        }
    }

    /// Writes a state at set-up, as well as the cells can.
    ///
    /// # Errors
    /// If the length differs or a value is not finite; nothing is written then.
    fn program(&mut self, target: &[T], key: Key) -> Result<(), ParameterError>;

    /// What a mini-batch does to the cells besides its pulses, where they leak, diffuse or drift; returns whether they do.
    fn age(&mut self, key: Key) -> bool {
        let _ = key;
        false
    }

    /// Resets the cells of some columns.
    ///
    /// # Errors
    /// If a column does not exist; nothing is reset then.
    fn reset(&mut self, columns: Range<usize>, key: Key) -> Result<(), ParameterError>;

    /// One pulse of the given direction on every cell.
    fn pulse_all(&mut self, up: bool, key: Key);

    /// Alternate up and down pulses, which carry every cell to its symmetric point, and what they tell of it. The array is left
    /// after a down pulse.
    ///
    /// # Errors
    /// If the settings are impossible.
    fn zero_shift(&mut self, settings: &ZeroShift, key: Key) -> Result<Calibration<T>, ParameterError>;

    /// Mean change of a weight by one pulse where the response is 1.
    fn granularity(&self) -> T;

    /// Bounds of a weight, on average over the cells; `None` where there are none.
    fn range(&self) -> Option<[T; 2]> {
        None
    }

    /// Pulses that reached a cell so far, all cells together; 0 where increments are expected.
    fn pulses_sent(&self) -> u64 {
        0
    }

    /// W⋄ of every cell; `None` where a cell has none.
    fn symmetric_points(&self) -> Vec<Option<T>>;

    /// W⋄ of every cell, as a rule that knows it would subtract it.
    ///
    /// # Errors
    /// If a cell that should have one has none.
    fn known_symmetric_points(&self) -> Result<Vec<T>, ParameterError> {
        Ok(self.symmetric_points().into_iter().map(|point| point.unwrap_or(T::ZERO)).collect())
    }

    /// q₊ (up) or q₋ of one cell in state `at`.
    fn response(&self, cell: usize, up: bool, at: T) -> T;

    /// Divides desired increments by the response they will meet, which is taken to be at least `floor`. Entry i is for cell
    /// `first + i·stride`.
    fn compensate(&self, floor: T, first: usize, stride: usize, desired: &mut [T]) {
        for (i, desired) in desired.iter_mut().enumerate() {
            let cell = first + i * stride;
            *desired /= self.response(cell, *desired >= T::ZERO, self.weights()[cell]).max(floor);
        }
    }
}

/// The number of samples of an outer product that fits `shape`.
pub(crate) fn samples<T>(shape: Shape, errors: &[T], inputs: &[T]) -> Result<usize, ParameterError> {
    let batch = errors.len() / shape.rows.max(1);
    same_length("errors", batch * shape.rows, errors.len())?;
    same_length("inputs", batch * shape.cols, inputs.len())?;
    Ok(batch)
}

fn one_column<T: Scalar>(shape: Shape, column: usize, values: &[T]) -> Result<Vec<T>, ParameterError> {
    check_column(shape, column, values.len())?;
    let mut direction = vec![T::ZERO; shape.rows * shape.cols];
    for (d, v) in direction[column..].iter_mut().step_by(shape.cols).zip(values) {
        *d = *v;
    }
    Ok(direction)
}

pub(crate) fn check_column(shape: Shape, column: usize, values: usize) -> Result<(), ParameterError> {
    require(column < shape.cols, "column", "below the number of columns", column as f64)?;
    same_length("values", shape.rows, values)
}

impl<T: Scalar> State for Box<dyn Array<T>> {
    fn tensors(&self) -> Tensors {
        (**self).tensors()
    }

    fn load(&mut self, from: &Tensors) -> Result<(), StateError> {
        (**self).load(from)
    }
}

/// An array behind a pointer is an array.
impl<T: Scalar> Array<T> for Box<dyn Array<T>> {
    fn shape(&self) -> Shape {
        (**self).shape()
    }
    fn weights(&self) -> &[T] {
        (**self).weights()
    }
    fn increment(&mut self, scale: T, direction: &[T], key: Key) -> Result<(), ParameterError> {
        (**self).increment(scale, direction, key)
    }
    fn update(&mut self, scale: T, errors: &[T], inputs: &[T], key: Key) -> Result<(), ParameterError> {
        (**self).update(scale, errors, inputs, key)
    }
    fn update_column(&mut self, column: usize, scale: T, values: &[T], key: Key) -> Result<(), ParameterError> {
        (**self).update_column(column, scale, values, key)
    }
    fn pulse_column(&mut self, column: usize, counts: &[T], max: u32, key: Key) -> Result<(), ParameterError> {
        (**self).pulse_column(column, counts, max, key)
    }
    fn pulse_cells(&mut self, unit: T, counts: &[T], key: Key) -> Result<(), ParameterError> {
        (**self).pulse_cells(unit, counts, key)
    }
    fn written(&self, rows: &mut [bool]) -> bool {
        (**self).written(rows)
    }
    fn admit(&self, gradient: Gradient<'_, T>) -> Result<(), ParameterError> {
        (**self).admit(gradient)
    }
    fn program(&mut self, target: &[T], key: Key) -> Result<(), ParameterError> {
        (**self).program(target, key)
    }
    fn age(&mut self, key: Key) -> bool {
        (**self).age(key)
    }
    fn reset(&mut self, columns: Range<usize>, key: Key) -> Result<(), ParameterError> {
        (**self).reset(columns, key)
    }
    fn pulse_all(&mut self, up: bool, key: Key) {
        (**self).pulse_all(up, key);
    }
    fn zero_shift(&mut self, settings: &ZeroShift, key: Key) -> Result<Calibration<T>, ParameterError> {
        (**self).zero_shift(settings, key)
    }
    fn granularity(&self) -> T {
        (**self).granularity()
    }
    fn range(&self) -> Option<[T; 2]> {
        (**self).range()
    }
    fn pulses_sent(&self) -> u64 {
        (**self).pulses_sent()
    }
    fn symmetric_points(&self) -> Vec<Option<T>> {
        (**self).symmetric_points()
    }
    fn known_symmetric_points(&self) -> Result<Vec<T>, ParameterError> {
        (**self).known_symmetric_points()
    }
    fn response(&self, cell: usize, up: bool, at: T) -> T {
        (**self).response(cell, up, at)
    }
    fn compensate(&self, floor: T, first: usize, stride: usize, desired: &mut [T]) {
        (**self).compensate(floor, first, stride, desired);
    }
}
