//! Where a rule assumes the symmetric point W⋄ of a residual array to be.

use super::tracking::Tracking;
use crate::array::{Array, ZeroShift};
use crate::error::{ParameterError, same_length};
use crate::{Key, Scalar};

/// W⋄ of the cells of a residual array, as assumed by a rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SymmetricPoint<T = f64> {
    /// At 0.
    Zero,
    /// The true point.
    #[default]
    Known,
    /// At these values.
    Given(Vec<T>),
    /// The true point plus these errors.
    Error(Vec<T>),
    /// Measured by alternating pulses on the array itself; the key decides their noise.
    Measured(ZeroShift, Key),
    /// Where `from` says at first, and followed from there while the array learns: RIDER and E-RIDER.
    Tracked {
        /// Q₀.
        from: Box<Self>,
        /// How it is followed.
        tracking: Tracking,
    },
}

impl<T: Scalar> SymmetricPoint<T> {
    /// The point of every cell of `array`, or `None` where all are 0; of one that is tracked, where it starts. A measurement
    /// pulses the array.
    ///
    /// # Errors
    /// If a cell has no point, a length differs, an entry is not finite, or the measurement is invalid.
    pub fn resolve(&self, array: &mut dyn Array<T>) -> Result<Option<Vec<T>>, ParameterError> {
        let cells = array.weights().len();
        let checked = |values: &[T]| {
            same_length("symmetric_point", cells, values.len())?;
            T::all_finite("symmetric_point", values)
        };
        let point = match self {
            Self::Zero => return Ok(None),
            Self::Known => array.known_symmetric_points()?,
            Self::Given(point) => {
                checked(point)?;
                point.clone()
            }
            Self::Error(errors) => {
                checked(errors)?;
                array.known_symmetric_points()?.iter().zip(errors).map(|(point, e)| *point + *e).collect()
            }
            Self::Measured(settings, key) => array.zero_shift(settings, *key)?.symmetric_point,
            Self::Tracked { from, .. } => return from.resolve(array),
        };
        Ok(point.iter().any(|p| *p != T::ZERO).then_some(point))
    }
}
