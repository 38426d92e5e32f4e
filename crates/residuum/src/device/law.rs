//! The law of a step model: how large a step is at a state, written once for vector code, single pulses and the theory.

use super::Device;
use super::cells::{Cells, side, slice, value};
use crate::math::{exp2_32, pow32};
use crate::simd::Kernel;
use crate::stream::CHUNK;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The numbers laws compute with: f32 or f64.
pub(crate) trait Number:
    Copy
    + PartialOrd
    + From<f32>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    fn magnitude(self) -> Self;
    /// A small whole number.
    fn of(whole: usize) -> Self;
    /// The integer part of a non-negative number.
    fn whole(self) -> usize;
}

macro_rules! number {
    ($type:ty) => {
        impl Number for $type {
            #[inline(always)]
            fn magnitude(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn of(whole: usize) -> Self {
                whole as $type
            }
            #[inline(always)]
            fn whole(self) -> usize {
                self as usize
            }
        }
    };
}

number!(f32);
number!(f64);

/// The arithmetic. A law is one expression; operations that implementations may round differently are listed here and nowhere else.
pub(crate) trait Arithmetic: Copy {
    type Number: Number;
    /// Whether this is the vector code of trains: shortcuts are taken, and a slope must hold for a whole train.
    const TRAINS: bool;
    /// log e to the base of [`Self::power_of_base`], and the natural logarithm of that base.
    const LOG_E: Self::Number;
    const LN_BASE: Self::Number;

    /// a·b + c.
    fn multiply_add(a: Self::Number, b: Self::Number, c: Self::Number) -> Self::Number {
        a * b + c
    }

    /// x^y of a base in [0, 1].
    fn pow(x: Self::Number, y: Self::Number) -> Self::Number;

    /// y·s·x^(y−1)/(max − min) for the cell's scale s and shape y; `value` is s·x^y.
    fn pow_slope(x: Self::Number, value: Self::Number, cell: &Cell<Self::Number>) -> Self::Number;

    /// The base (2 or e) to the power x.
    fn power_of_base(x: Self::Number) -> Self::Number;

    /// a/(max − min); 0 for a cell without a range.
    fn over_range(a: Self::Number, cell: &Cell<Self::Number>) -> Self::Number;

    /// a·w/(max − min); 0 for a cell without a range.
    fn along_range(a: Self::Number, w: Self::Number, cell: &Cell<Self::Number>) -> Self::Number;

    /// (w − min)/(max − min), counted in `intervals` from the lower to the upper bound; 0 for a cell without a range.
    fn position(w: Self::Number, intervals: Self::Number, cell: &Cell<Self::Number>) -> Self::Number;

    /// Between a and b, at t from 0 to 1.
    fn between(a: Self::Number, b: Self::Number, t: Self::Number) -> Self::Number;
}

/// Loops over many cells: own polynomials, and multiplication by precomputed reciprocals.
#[derive(Clone, Copy)]
pub(crate) struct Vector;

/// One pulse on one cell, as exact as single precision allows.
#[derive(Clone, Copy)]
pub(crate) struct Single;

/// The theory's double precision.
#[derive(Clone, Copy)]
pub(crate) struct Double;

impl Arithmetic for Vector {
    type Number = f32;
    const TRAINS: bool = true;
    const LOG_E: f32 = std::f32::consts::LOG2_E;
    const LN_BASE: f32 = std::f32::consts::LN_2;

    #[inline(always)]
    fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn pow(x: f32, y: f32) -> f32 {
        pow32(x, y)
    }

    /// From the power already computed; a second one would cost as much as everything else.
    #[inline(always)]
    fn pow_slope(x: f32, value: f32, cell: &Cell<f32>) -> f32 {
        cell.shape * value * cell.inverse_range / if x > 1e-6 { x } else { 1e-6 }
    }

    #[inline(always)]
    fn power_of_base(x: f32) -> f32 {
        exp2_32(x)
    }

    #[inline(always)]
    fn over_range(a: f32, cell: &Cell<f32>) -> f32 {
        a * cell.inverse_range
    }

    #[inline(always)]
    fn along_range(a: f32, w: f32, cell: &Cell<f32>) -> f32 {
        a * cell.inverse_range * w
    }

    #[inline(always)]
    fn position(w: f32, intervals: f32, cell: &Cell<f32>) -> f32 {
        let range = cell.max - cell.min;
        (w - cell.min) * if range > 0.0 { intervals / range } else { 0.0 }
    }

    #[inline(always)]
    fn between(a: f32, b: f32, t: f32) -> f32 {
        a + t * (b - a)
    }
}

impl Arithmetic for Single {
    type Number = f32;
    const TRAINS: bool = false;
    const LOG_E: f32 = 1.0;
    const LN_BASE: f32 = 1.0;

    #[inline(always)]
    fn pow(x: f32, y: f32) -> f32 {
        x.powf(y)
    }

    #[inline(always)]
    fn pow_slope(x: f32, _: f32, cell: &Cell<f32>) -> f32 {
        cell.shape * cell.scale * x.powf(cell.shape - 1.0) * cell.inverse_range
    }

    #[inline(always)]
    fn power_of_base(x: f32) -> f32 {
        x.exp()
    }

    #[inline(always)]
    fn over_range(a: f32, cell: &Cell<f32>) -> f32 {
        a * cell.inverse_range
    }

    #[inline(always)]
    fn along_range(a: f32, w: f32, cell: &Cell<f32>) -> f32 {
        let range = cell.max - cell.min;
        if range > 0.0 { a * w / range } else { 0.0 }
    }

    #[inline(always)]
    fn position(w: f32, intervals: f32, cell: &Cell<f32>) -> f32 {
        let range = cell.max - cell.min;
        if range > 0.0 { (w - cell.min) / range * intervals } else { 0.0 }
    }

    #[inline(always)]
    fn between(a: f32, b: f32, t: f32) -> f32 {
        a * (1.0 - t) + b * t
    }
}

impl Arithmetic for Double {
    type Number = f64;
    const TRAINS: bool = false;
    const LOG_E: f64 = 1.0;
    const LN_BASE: f64 = 1.0;

    fn pow(x: f64, y: f64) -> f64 {
        x.powf(y)
    }

    fn pow_slope(x: f64, _: f64, cell: &Cell<f64>) -> f64 {
        cell.shape * cell.scale * x.powf(cell.shape - 1.0) / (cell.max - cell.min)
    }

    fn power_of_base(x: f64) -> f64 {
        x.exp()
    }

    fn over_range(a: f64, cell: &Cell<f64>) -> f64 {
        a / (cell.max - cell.min)
    }

    fn along_range(a: f64, w: f64, cell: &Cell<f64>) -> f64 {
        Self::over_range(a, cell) * w
    }

    fn position(w: f64, intervals: f64, cell: &Cell<f64>) -> f64 {
        (w - cell.min) * (intervals / (cell.max - cell.min))
    }

    fn between(a: f64, b: f64, t: f64) -> f64 {
        a + t * (b - a)
    }
}

/// Parameters of one cell for one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell<N> {
    /// Step at w = 0 of linear models, s± of the others.
    pub(crate) scale: N,
    /// What the model draws for each cell; 0 if nothing.
    pub(crate) shape: N,
    pub(crate) max: N,
    pub(crate) min: N,
    /// 1/(max − min), 0 for a stuck cell; also 0 if the model does not need it.
    pub(crate) inverse_range: N,
}

/// Whether cells have a parameter in addition to scale and bounds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    None,
    /// One for both directions, which saves a load.
    Shared,
    /// One for each direction.
    Directed,
}

/// A step model's formula.
pub(crate) trait Law<A: Arithmetic>: Copy {
    /// What it reads of [`Cell::shape`].
    const SHAPE: Shape = Shape::None;
    /// Whether it reads [`Cell::inverse_range`].
    const INVERSE_RANGE: bool = false;
    /// Whether steps are the same at every state, so that n of them need no series.
    const FLAT: bool = false;
    /// Whether steps vanish at the bounds, with some parameters at least: see `Model::vanishes_at_bounds`.
    const VANISHES: bool = false;
    /// Whether steps are straight lines in the state.
    const AFFINE: bool = false;
    /// Whether a step costs more than its noise.
    const COSTLY: bool = false;

    /// ±s±u±(w) and its derivative with respect to w.
    fn step(&self, cell: &Cell<A::Number>, up: bool, w: A::Number) -> (A::Number, A::Number);
}

/// x upwards, −x downwards.
#[inline(always)]
pub(crate) fn signed<N: Number>(up: bool, x: N) -> N {
    if up { x } else { -x }
}

/// Code that runs with the law of a device, whichever it is.
pub(crate) trait WithLaw<A: Arithmetic> {
    type Output;
    /// As in [`Kernel`].
    const BASELINE: bool = true;
    const WIDE: bool = true;
    /// In vector code, this and everything it calls must be `#[inline(always)]`.
    fn run<L: Law<A>>(self, law: L) -> Self::Output;
}

/// Work in vector code with its law, to be compiled for every instruction set.
pub(super) struct Bound<W, L> {
    pub(super) work: W,
    pub(super) law: L,
}

impl<W: WithLaw<Vector>, L: Law<Vector>> Kernel for Bound<W, L> {
    type Output = W::Output;
    const BASELINE: bool = W::BASELINE;
    const WIDE: bool = W::WIDE;

    #[inline(always)]
    fn run(self) -> W::Output {
        self.work.run(self.law)
    }
}

#[inline(always)]
fn both(pair: [&[f32]; 2], from: usize, n: usize) -> [&[f32]; 2] {
    [&pair[0][from..][..n], &pair[1][from..][..n]]
}

/// The value of one direction. Both are loaded and their bits selected: a choice between two addresses would
/// become a gather.
#[inline(always)]
pub(crate) fn pick(pair: [&[f32]; 2], j: usize, up: bool) -> f32 {
    let (above, below) = (pair[0][j].to_bits(), pair[1][j].to_bits());
    let mask = u32::from(up).wrapping_neg();
    f32::from_bits(below ^ ((above ^ below) & mask))
}

/// Parameters of neighbouring cells of a row, or of cells gathered from a column.
#[derive(Clone, Copy)]
pub(crate) struct Parameters<'a> {
    /// Step at w = 0 of linear models, s± of the others.
    pub(crate) scale: [&'a [f32]; 2],
    pub(crate) shape: [&'a [f32]; 2],
    pub(crate) max: &'a [f32],
    pub(crate) min: &'a [f32],
    pub(crate) inverse_range: &'a [f32],
    /// s±, the unit of additive noise.
    pub(crate) unit: [&'a [f32]; 2],
}

/// Room for the parameters of a chunk.
#[derive(Default)]
pub(crate) struct Padding([[f32; CHUNK]; 9]);

impl<'a> Parameters<'a> {
    /// The parameters of the array's cells from `from` on, beyond `to` those that fill up a chunk, as far as there are any.
    pub(crate) fn of(cells: &'a Cells, from: usize, to: usize) -> Self {
        let to = (to + CHUNK).min(cells.len());
        let both = |pair: &'a [Vec<f32>; 2]| [slice(&pair[0], from, to), slice(&pair[1], from, to)];
        Self {
            scale: both(cells.base()),
            shape: both(&cells.shape),
            max: slice(&cells.max, from, to),
            min: slice(&cells.min, from, to),
            inverse_range: slice(&cells.inverse_range, from, to),
            unit: both(&cells.scale),
        }
    }

    /// A chunk of cells from `from` on, the last of a row filled up with those that follow, so that they need no code of their
    /// own. Where none follow there are zeros instead.
    #[inline(always)]
    pub(crate) fn last<'b>(&self, from: usize, padding: &'b mut Option<Padding>) -> Parameters<'b>
    where
        'a: 'b,
    {
        let Self { scale, shape, max, min, inverse_range, unit } = *self;
        if max.len() < from + CHUNK {
            return self.padded(from, padding.get_or_insert_default());
        }
        // A parameter that the step model does not have is empty.
        let rest = |parameter: &'a [f32]| parameter.get(from..).unwrap_or(&[]);
        Parameters {
            scale: scale.map(rest),
            shape: shape.map(rest),
            max: rest(max),
            min: rest(min),
            inverse_range: rest(inverse_range),
            unit: unit.map(rest),
        }
    }

    /// The cells from `from` on, fewer than a chunk, filled up with zeros.
    #[cold]
    #[inline(never)]
    fn padded<'b>(&self, from: usize, padding: &'b mut Padding) -> Parameters<'b> {
        let Self { scale, shape, max, min, inverse_range, unit } = self;
        let parameters = [scale[0], scale[1], shape[0], shape[1], max, min, inverse_range, unit[0], unit[1]];
        for (out, parameter) in padding.0.iter_mut().zip(parameters) {
            let last = parameter.get(from..).unwrap_or(&[]);
            out[..last.len()].copy_from_slice(last);
        }
        let [up, down, up_shape, down_shape, max, min, inverse_range, up_unit, down_unit] = &padding.0;
        Parameters {
            scale: [up, down],
            shape: [up_shape, down_shape],
            max,
            min,
            inverse_range,
            unit: [up_unit, down_unit],
        }
    }

    /// The parameters of cells `from..from + n`, with the unit of the noise if it is read: tells the compiler that `j < n` needs
    /// no bounds check.
    #[inline(always)]
    pub(crate) fn chunk<L: Law<Vector>>(self, from: usize, n: usize, unit: bool) -> Self {
        let none: &[f32] = &[];
        Self {
            scale: both(self.scale, from, n),
            shape: match L::SHAPE {
                Shape::None => [none; 2],
                Shape::Shared => [&self.shape[0][from..][..n]; 2],
                Shape::Directed => both(self.shape, from, n),
            },
            max: &self.max[from..][..n],
            min: &self.min[from..][..n],
            inverse_range: if L::INVERSE_RANGE { &self.inverse_range[from..][..n] } else { none },
            unit: if unit { both(self.unit, from, n) } else { [none; 2] },
        }
    }

    /// A chunk of parameters copied into `room`: where a loop reads them again and again, the compiler sees that nothing it writes
    /// changes them, and keeps what it writes in registers.
    #[inline(always)]
    pub(crate) fn copied<'b, L: Law<Vector>>(&self, unit: bool, room: &'b mut Padding) -> Parameters<'b> {
        let Padding([up, down, up_shape, down_shape, max, min, inverse_range, up_unit, down_unit]) = room;
        for j in 0..CHUNK {
            (up[j], down[j]) = (self.scale[0][j], self.scale[1][j]);
            (max[j], min[j]) = (self.max[j], self.min[j]);
            if L::SHAPE != Shape::None {
                (up_shape[j], down_shape[j]) = (self.shape[0][j], self.shape[1][j]);
            }
            if L::INVERSE_RANGE {
                inverse_range[j] = self.inverse_range[j];
            }
            if unit {
                (up_unit[j], down_unit[j]) = (self.unit[0][j], self.unit[1][j]);
            }
        }
        Parameters {
            scale: [up, down],
            shape: [up_shape, down_shape],
            max,
            min,
            inverse_range,
            unit: [up_unit, down_unit],
        }
    }

    /// What the law reads of cell j.
    #[inline(always)]
    pub(crate) fn cell<L: Law<Vector>>(&self, j: usize, up: bool) -> Cell<f32> {
        Cell {
            scale: pick(self.scale, j, up),
            shape: match L::SHAPE {
                Shape::None => 0.0,
                Shape::Shared => self.shape[0][j],
                Shape::Directed => pick(self.shape, j, up),
            },
            max: self.max[j],
            min: self.min[j],
            inverse_range: if L::INVERSE_RANGE { self.inverse_range[j] } else { 0.0 },
        }
    }

    /// `w` clipped to the bounds of cell j.
    #[inline(always)]
    pub(crate) fn clip(&self, j: usize, w: f32) -> f32 {
        let w = if w > self.max[j] { self.max[j] } else { w };
        if w < self.min[j] { self.min[j] } else { w }
    }
}

/// The step of one cell of an array.
struct At {
    cell: Cell<f32>,
    up: bool,
    w: f32,
}

impl WithLaw<Single> for At {
    type Output = f32;

    #[inline(always)]
    fn run<L: Law<Single>>(self, law: L) -> f32 {
        signed(self.up, law.step(&self.cell, self.up, self.w).0)
    }
}

impl Device {
    /// s±u±(w) of cell i, the noise-free size of its next step.
    #[inline(always)]
    pub(crate) fn step_size(&self, cells: &Cells, i: usize, up: bool, w: f32) -> f32 {
        let (s, max, min) = (side(up), value(&cells.max, i), value(&cells.min, i));
        let cell = Cell {
            scale: value(&cells.base()[s], i),
            shape: if cells.shape[s].is_empty() { 0.0 } else { value(&cells.shape[s], i) },
            max,
            min,
            inverse_range: if max > min { 1.0 / (max - min) } else { 0.0 },
        };
        self.step.with_law(At { cell, up, w })
    }
}
