//! Arrays of analog memory, whose state changes only through the methods of [`Array`].
//!
//! [`Array::increment`] is the paper's operator, `Z ← Z + A(ΔZ; Z)`; the other methods write outer products, columns or whole
//! pulses, program an initial state, or let time pass. How increments reach the cells (in expectation, by trains, by rounded
//! pulses) is a property of the array, not of the call. A vector of cells is a matrix with one column.
//!
//! | array | cells | written |
//! |---|---|---|
//! | [`ExactArray`] | any [`Cells`](crate::Cells), f64 or f32 | [`Update::Expected`], or [`Update::Pulsed`] with rounding |
//! | [`Tile`](crate::tile::Tile) | one [`Device`](crate::tile::Device), f32 | by a [`Scheme`](crate::tile::Scheme): pulse trains, counted pulses, expectation |
//! | [`VectorCell`](crate::tile::VectorCell), [`ReferenceCell`](crate::tile::ReferenceCell), [`OneSidedCell`](crate::tile::OneSidedCell) | several tiles that act as one | like tiles |

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

/// Weights in analog memory. A custom array must implement [`increment`](Self::increment) and expose its weights and state.
pub trait Array<T: Scalar>: Debug + Send + Sync + State {
    /// Rows (outputs) and columns (inputs).
    fn shape(&self) -> Shape;

    /// The weights as a noiseless read sees them, row-major.
    fn weights(&self) -> &[T];

    /// `W ← W + A(scale · direction; W)` (`biased-update`).
    ///
    /// # Errors
    /// If the length differs, or the array rejects a number; then nothing is written.
    fn increment(&mut self, scale: T, direction: &[T], key: Key) -> Result<(), ParameterError>;

    /// Whether [`increment_steps`](Self::increment_steps) is quicker than [`increment`](Self::increment).
    fn prefers_steps(&self) -> bool {
        false
    }

    /// [`increment`](Self::increment) by whole steps of a converter, in distribution.
    ///
    /// # Errors
    /// As [`increment`](Self::increment).
    fn increment_steps(&mut self, scale: T, steps: &[i16], key: Key) -> Result<(), ParameterError> {
        let direction: Vec<T> = steps.iter().map(|steps| T::from_f64(f64::from(*steps))).collect();
        self.increment(scale, &direction, key)
    }

    /// `W ← W + A(scale · Σ_b errors_b inputsᵀ_b; W)`: one increment of the sum unless the array writes sample by sample.
    ///
    /// # Errors
    /// If a shape does not fit, or the array rejects a number; then nothing is written.
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

    /// Sends whole pulses to one column: `counts` per row, signed, none above `max_pulses` in magnitude.
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

    /// Sends whole pulses to every cell, each worth `unit`.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    fn pulse_cells(&mut self, unit: T, counts: &[T], key: Key) -> Result<(), ParameterError> {
        self.increment(unit, counts, key)
    }

    /// Marks the rows that the last [`update`](Self::update) or [`increment`](Self::increment) may have changed, or returns
    /// true if the array cannot tell, so that all may have changed.
    fn written(&self, rows: &mut [bool]) -> bool {
        let _ = rows;
        true
    }

    /// Checks a gradient before anything is written, so that a step cannot fail halfway.
    ///
    /// # Errors
    /// If a shape differs or an entry is not finite.
    fn check_gradient(&self, gradient: Gradient<'_, T>) -> Result<(), ParameterError> {
        gradient.fits(self.shape())?;
        match gradient {
            Gradient::Dense(gradient) => T::all_finite("gradient", gradient),
            Gradient::Outer { errors, inputs, .. } => {
                T::all_finite("errors", errors)?;
                T::all_finite("inputs", inputs)
            }
        }
    }

    /// Programs an initial state as closely as the cells allow.
    ///
    /// # Errors
    /// If the length differs or a value is not finite; then nothing is written.
    fn program(&mut self, target: &[T], key: Key) -> Result<(), ParameterError>;

    /// Applies leak, diffusion and drift for one mini-batch; returns whether the cells have any.
    fn age(&mut self, key: Key) -> bool {
        let _ = key;
        false
    }

    /// Resets the cells of some columns.
    ///
    /// # Errors
    /// If a column does not exist; then nothing is reset.
    fn reset(&mut self, columns: Range<usize>, key: Key) -> Result<(), ParameterError>;

    /// One pulse of the given direction on every cell.
    fn pulse_all(&mut self, up: bool, key: Key);

    /// Sends alternating up and down pulses, which drive every cell to its symmetric point, and returns the estimate. The array is left
    /// after a down pulse.
    ///
    /// # Errors
    /// If the settings are invalid.
    fn zero_shift(&mut self, settings: &ZeroShift, key: Key) -> Result<Calibration<T>, ParameterError>;

    /// Mean change of a weight per pulse where the response is 1.
    fn granularity(&self) -> T;

    /// Bounds of a weight, on average over the cells; `None` where there are none.
    fn range(&self) -> Option<[T; 2]> {
        None
    }

    /// Total pulses received by all cells so far; 0 where increments are applied in expectation.
    fn pulses_sent(&self) -> u64 {
        0
    }

    /// W⋄ of every cell; `None` where a cell has none.
    fn symmetric_points(&self) -> Vec<Option<T>>;

    /// W⋄ of every cell, for a rule that subtracts the true point. Where every state of a cell is symmetric, the one nearest to 0.
    ///
    /// # Errors
    /// If a cell has none.
    fn known_symmetric_points(&self) -> Result<Vec<T>, ParameterError> {
        all_points(self.symmetric_points(), |_| "its up and down steps are equal nowhere in its range".into())
    }

    /// The weights that [`program`](Self::program) can give this cell; `None` where there is no bound.
    fn programmable(&self, cell: usize) -> Option<[T; 2]> {
        let _ = cell;
        None
    }

    /// The numbers that make its cells differ, by name, one per cell: what a rule cannot know. None where cells are alike, or are
    /// described by response functions.
    fn cell_parameters(&self) -> Vec<(String, Vec<T>)> {
        Vec::new()
    }

    /// q₊ (up) or q₋ of one cell in state `at`.
    fn response(&self, cell: usize, up: bool, at: T) -> T;

    /// Divides desired increments by the response they will meet, floored at `floor`. Entry i belongs to cell
    /// `first + i·stride`.
    fn compensate(&self, floor: T, first: usize, stride: usize, desired: &mut [T]) {
        for (i, desired) in desired.iter_mut().enumerate() {
            let cell = first + i * stride;
            *desired /= self.response(cell, *desired >= T::ZERO, self.weights()[cell]).max(floor);
        }
    }
}

/// The points of all cells, or an error that says how many have none and why the first of them has none.
pub(crate) fn all_points<T>(
    points: Vec<Option<T>>,
    reason: impl FnOnce(usize) -> String,
) -> Result<Vec<T>, ParameterError> {
    let cells = points.len();
    let missing = points.iter().filter(|point| point.is_none()).count();
    match points.iter().position(Option::is_none) {
        Some(first) => Err(ParameterError::NoPointOfCell { missing, cells, first, reason: reason(first) }),
        None => Ok(points.into_iter().flatten().collect()),
    }
}

/// Weights that an array cannot be programmed to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Unreachable<T> {
    /// How many cells would stop at the end of their range.
    pub cells: usize,
    /// The weight of largest magnitude among them.
    pub largest: T,
}

impl<T: Scalar> Unreachable<T> {
    /// What `array` cannot hold of `target`; the largest in units of `unit`. Cells that cannot move at all are left out: they
    /// are faulty, not too small.
    pub fn of(array: &dyn Array<T>, target: &[T], unit: impl Fn(usize) -> T) -> Self {
        let mut found = Self { cells: 0, largest: T::ZERO };
        for (cell, &target) in target.iter().enumerate() {
            if array.programmable(cell).is_some_and(|[lo, hi]| lo < hi && (target < lo || target > hi)) {
                found.add(Self { cells: 1, largest: target * unit(cell) });
            }
        }
        found
    }

    /// Both together.
    pub fn add(&mut self, other: Self) {
        self.cells += other.cells;
        if other.largest.abs() > self.largest.abs() {
            self.largest = other.largest;
        }
    }
}

/// The number of samples of an outer product, checked against `shape`.
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

/// Boxed arrays are arrays too.
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
    fn prefers_steps(&self) -> bool {
        (**self).prefers_steps()
    }
    fn increment_steps(&mut self, scale: T, steps: &[i16], key: Key) -> Result<(), ParameterError> {
        (**self).increment_steps(scale, steps, key)
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
    fn check_gradient(&self, gradient: Gradient<'_, T>) -> Result<(), ParameterError> {
        (**self).check_gradient(gradient)
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
    fn programmable(&self, cell: usize) -> Option<[T; 2]> {
        (**self).programmable(cell)
    }
    fn cell_parameters(&self) -> Vec<(String, Vec<T>)> {
        (**self).cell_parameters()
    }
    fn response(&self, cell: usize, up: bool, at: T) -> T {
        (**self).response(cell, up, at)
    }
    fn compensate(&self, floor: T, first: usize, stride: usize, desired: &mut [T]) {
        (**self).compensate(floor, first, stride, desired);
    }
}
