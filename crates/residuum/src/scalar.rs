//! The two precisions that arrays and rules work in.

use std::fmt::{Debug, Display};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::Key;
use crate::array::{Array, ExactArray};
use crate::cells::Cells;
use crate::error::{ParameterError, all_finite, all_finite_32};
use crate::readout::{Readout, Scratch, Shape};
use crate::rule::{AnyRule, Rule};
use crate::state::Data;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f64`, as in the theory, or `f32`, as in tiles and networks.
pub trait Scalar:
    sealed::Sealed
    + Copy
    + Debug
    + Default
    + Display
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;

    /// For [`AnyRule::boxed`].
    #[doc(hidden)]
    fn boxed_rule(rule: AnyRule<Self>) -> Box<dyn Rule<Self>>;

    /// For [`ExactArray::boxed`].
    #[doc(hidden)]
    fn boxed_array(array: ExactArray<Self>) -> Box<dyn Array<Self>>;

    /// The nearest number of this precision.
    fn from_f64(value: f64) -> Self;

    /// The same number in double precision.
    fn to_f64(self) -> f64;

    /// |x|.
    fn abs(self) -> Self;

    /// √x.
    fn sqrt(self) -> Self;

    /// The integer part.
    fn trunc(self) -> Self;

    /// The nearest whole number, halves to even.
    fn round_ties_even(self) -> Self;

    /// The larger of two numbers.
    fn max(self, other: Self) -> Self;

    /// The nearest number between two bounds.
    fn clamp(self, lo: Self, hi: Self) -> Self;

    /// Neither NaN nor infinite.
    fn is_finite(self) -> bool;

    /// Checks that all values are finite.
    ///
    /// # Errors
    /// Names the index of the first that is not.
    fn all_finite(name: &'static str, values: &[Self]) -> Result<(), ParameterError>;

    /// `values` in double precision; `buffer` holds them where they are not already.
    fn as_f64s<'a>(values: &'a [Self], buffer: &'a mut Vec<f64>) -> &'a [f64];

    /// `values` in this precision; `buffer` holds them where they are not already.
    fn of_f64s<'a>(values: &'a [f64], buffer: &'a mut Vec<Self>) -> &'a [Self];

    /// `values` as data of a state.
    fn into_data(values: Vec<Self>) -> Data;

    /// The data of a state, if it has this precision.
    fn from_data(data: &Data) -> Option<&[Self]>;

    /// `state ← clip(state + A(scale · direction; state))`, cell by cell. Responses are evaluated in double precision; an
    /// `f32` state is rounded once, at the end. `buffers` are used by `f32` only.
    fn realize(
        cells: &dyn Cells,
        scale: Self,
        direction: &[Self],
        state: &mut [Self],
        buffers: &mut [Vec<f64>; 2],
    );

    /// One column of `weights` through `readout`, whose converters work in single precision.
    fn read_column(
        readout: &Readout,
        weights: &[Self],
        shape: Shape,
        column: usize,
        key: Key,
        out: &mut [Self],
        scratch: &mut ColumnScratch,
    );

    /// All columns of `weights`, row-major.
    fn read_columns(
        readout: &Readout,
        weights: &[Self],
        shape: Shape,
        key: Key,
        out: &mut [Self],
        scratch: &mut ColumnScratch,
    );

    /// The same in whole steps of the converter, and the value of one; `None` where reads are no such steps.
    fn read_steps(
        readout: &Readout,
        weights: &[Self],
        shape: Shape,
        key: Key,
        steps: &mut [i16],
    ) -> Option<Self>;
}

/// Buffers of [`Scalar::read_column`].
#[derive(Clone, Debug, Default)]
pub struct ColumnScratch {
    /// Buffers of the converters, which may hold a running scale.
    pub readout: Scratch,
    weights: Vec<f32>,
    column: Vec<f32>,
}

macro_rules! common {
    ($own:ident) => {
        const ZERO: Self = 0.0;
        const ONE: Self = 1.0;

        #[inline(never)]
        fn boxed_rule(rule: AnyRule<Self>) -> Box<dyn Rule<Self>> {
            rule.into_box()
        }

        #[inline(never)]
        fn boxed_array(array: ExactArray<Self>) -> Box<dyn Array<Self>> {
            Box::new(array)
        }

        #[inline(always)]
        fn abs(self) -> Self {
            $own::abs(self)
        }

        #[inline(always)]
        fn sqrt(self) -> Self {
            $own::sqrt(self)
        }

        #[inline(always)]
        fn trunc(self) -> Self {
            $own::trunc(self)
        }

        #[inline(always)]
        fn round_ties_even(self) -> Self {
            $own::round_ties_even(self)
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            $own::max(self, other)
        }

        #[inline(always)]
        fn clamp(self, lo: Self, hi: Self) -> Self {
            $own::clamp(self, lo, hi)
        }

        #[inline(always)]
        fn is_finite(self) -> bool {
            $own::is_finite(self)
        }
    };
}

impl Scalar for f64 {
    common!(f64);

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    fn all_finite(name: &'static str, values: &[Self]) -> Result<(), ParameterError> {
        all_finite(name, values)
    }

    fn as_f64s<'a>(values: &'a [Self], _: &'a mut Vec<f64>) -> &'a [f64] {
        values
    }

    fn of_f64s<'a>(values: &'a [f64], _: &'a mut Vec<Self>) -> &'a [Self] {
        values
    }

    fn into_data(values: Vec<Self>) -> Data {
        Data::F64(values)
    }

    fn from_data(data: &Data) -> Option<&[Self]> {
        if let Data::F64(values) = data { Some(values) } else { None }
    }

    #[inline(always)]
    fn realize(cells: &dyn Cells, scale: Self, direction: &[Self], state: &mut [Self], _: &mut [Vec<f64>; 2]) {
        cells.realize(scale, direction, state);
    }

    fn read_column(
        readout: &Readout,
        weights: &[Self],
        shape: Shape,
        column: usize,
        key: Key,
        out: &mut [Self],
        scratch: &mut ColumnScratch,
    ) {
        if readout.is_exact() {
            for (out, w) in out.iter_mut().zip(weights[column..].iter().step_by(shape.cols)) {
                *out = *w;
            }
            return;
        }
        let ColumnScratch { readout: memory, weights: rounded, column: values } = scratch;
        rounded.clear();
        rounded.extend(weights.iter().map(|w| *w as f32));
        values.resize(shape.rows, 0.0);
        readout.read_column(rounded, shape, column, key, values, memory);
        for (out, v) in out.iter_mut().zip(values) {
            *out = f64::from(*v);
        }
    }

    fn read_columns(
        readout: &Readout,
        weights: &[Self],
        shape: Shape,
        key: Key,
        out: &mut [Self],
        scratch: &mut ColumnScratch,
    ) {
        let ColumnScratch { readout: memory, weights: rounded, column: values } = scratch;
        f32::of_f64s(weights, rounded);
        values.resize(weights.len(), 0.0);
        readout.read_columns(rounded, shape, key, values, memory);
        for (out, v) in out.iter_mut().zip(values) {
            *out = f64::from(*v);
        }
    }

    fn read_steps(_: &Readout, _: &[Self], _: Shape, _: Key, _: &mut [i16]) -> Option<Self> {
        None
    }
}

impl Scalar for f32 {
    common!(f32);

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn all_finite(name: &'static str, values: &[Self]) -> Result<(), ParameterError> {
        all_finite_32(name, values)
    }

    fn as_f64s<'a>(values: &'a [Self], buffer: &'a mut Vec<f64>) -> &'a [f64] {
        buffer.clear();
        buffer.extend(values.iter().map(|v| f64::from(*v)));
        buffer
    }

    fn of_f64s<'a>(values: &'a [f64], buffer: &'a mut Vec<Self>) -> &'a [Self] {
        buffer.clear();
        buffer.extend(values.iter().map(|v| *v as f32));
        buffer
    }

    fn into_data(values: Vec<Self>) -> Data {
        Data::F32(values)
    }

    fn from_data(data: &Data) -> Option<&[Self]> {
        if let Data::F32(values) = data { Some(values) } else { None }
    }

    fn realize(
        cells: &dyn Cells,
        scale: Self,
        direction: &[Self],
        state: &mut [Self],
        buffers: &mut [Vec<f64>; 2],
    ) {
        let [wide_state, wide_direction] = buffers;
        Self::as_f64s(state, wide_state);
        Self::as_f64s(direction, wide_direction);
        cells.realize(f64::from(scale), wide_direction, wide_state);
        for (w, wide) in state.iter_mut().zip(wide_state) {
            *w = *wide as f32;
        }
    }

    fn read_column(
        readout: &Readout,
        weights: &[Self],
        shape: Shape,
        column: usize,
        key: Key,
        out: &mut [Self],
        scratch: &mut ColumnScratch,
    ) {
        readout.read_column(weights, shape, column, key, out, &mut scratch.readout);
    }

    fn read_columns(
        readout: &Readout,
        weights: &[Self],
        shape: Shape,
        key: Key,
        out: &mut [Self],
        scratch: &mut ColumnScratch,
    ) {
        readout.read_columns(weights, shape, key, out, &mut scratch.readout);
    }

    fn read_steps(
        readout: &Readout,
        weights: &[Self],
        shape: Shape,
        key: Key,
        steps: &mut [i16],
    ) -> Option<Self> {
        readout.read_steps(weights, shape, key, steps)
    }
}
