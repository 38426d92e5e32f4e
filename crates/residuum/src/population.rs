//! Device-to-device variation: parameters drawn per cell from stated distributions, and mixtures of devices.
//!
//! The draw of a parameter depends on the key, the parameter's name and the cell's index alone: adding a parameter
//! or another cell leaves every other draw as it was.
//!
//! ```
//! use residuum::population::{Distribution, vary};
//! use residuum::{Key, response::Power};
//! let radius = Distribution::LogNormal { median: 0.8, deviation: 0.1 };
//! let cells = vary(64, Key::new(7), |cell| Power::new(2.0, cell.draw("radius", &radius)?))?;
//! assert_eq!(cells.0.len(), 64);
//! # Ok::<(), residuum::population::PopulationError>(())
//! ```

use std::sync::Arc;

use thiserror::Error;

use crate::cells::{Cells, Confined, Mixed, PerCell, Uniform};
use crate::error::{ParameterError, finite, non_negative, positive, require};
use crate::{Key, Range, ResponseFunction};

/// A distribution of one parameter over the cells of an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// The same value in every cell.
    Constant(f64),
    /// Normal.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        deviation: f64,
    },
    /// Normal in the logarithm, so always positive.
    LogNormal {
        /// Median.
        median: f64,
        /// Standard deviation of the logarithm.
        deviation: f64,
    },
    /// Uniform on [lo, hi).
    Uniform {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
    },
    /// Deterministic: from `lo` in cell 0 to `hi` in the last, with equal ratios between neighbours.
    LogSpaced {
        /// Value of the first cell.
        lo: f64,
        /// Value of the last cell.
        hi: f64,
    },
}

impl Distribution {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a number is not finite, a deviation is negative, a median or an end of `LogSpaced` is not positive, or
    /// `lo` exceeds `hi`.
    pub fn validate(&self) -> Result<(), ParameterError> {
        match *self {
            Self::Constant(value) => finite("value", value).map(drop),
            Self::Normal { mean, deviation } => {
                finite("mean", mean)?;
                non_negative("deviation", deviation).map(drop)
            }
            Self::LogNormal { median, deviation } => {
                positive("median", median)?;
                non_negative("deviation", deviation).map(drop)
            }
            Self::Uniform { lo, hi } => {
                finite("lo", lo)?;
                require(hi.is_finite() && hi >= lo, "hi", "finite and at least lo", hi)
            }
            Self::LogSpaced { lo, hi } => {
                positive("lo", lo)?;
                require(hi.is_finite() && hi >= lo, "hi", "finite and at least lo", hi)
            }
        }
    }

    /// The value that every cell has, if all are alike.
    pub fn constant(&self) -> Option<f64> {
        if let Self::Constant(value) = self { Some(*value) } else { None }
    }

    /// Where it is centred.
    pub fn center(&self) -> f64 {
        match *self {
            Self::Constant(value) => value,
            Self::Normal { mean, .. } => mean,
            Self::LogNormal { median, .. } => median,
            Self::Uniform { lo, hi } => 0.5 * (lo + hi),
            Self::LogSpaced { lo, hi } => (lo * hi).sqrt(),
        }
    }

    /// The value of cell `index` of `count`. Only [`Distribution::LogSpaced`] uses `count`, and a single cell
    /// gets its `lo`.
    pub fn draw(&self, key: Key, index: usize, count: usize) -> f64 {
        let draw = index as u64;
        match *self {
            Self::Constant(value) => value,
            Self::Normal { mean, deviation } => mean + deviation * key.normal_at(draw),
            Self::LogNormal { median, deviation } => median * crate::math::exp(deviation * key.normal_at(draw)),
            Self::Uniform { lo, hi } => {
                let u = key.uniform_at(draw);
                lo * (1.0 - u) + hi * u
            }
            // The ends are given, not computed.
            Self::LogSpaced { lo, .. } if index == 0 => lo,
            Self::LogSpaced { hi, .. } if index + 1 == count => hi,
            Self::LogSpaced { lo, hi } => {
                let share = index as f64 / (count - 1) as f64;
                crate::math::exp(crate::math::ln(lo) * (1.0 - share) + crate::math::ln(hi) * share)
            }
        }
    }
}

/// Why a population cannot be built.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum PopulationError {
    /// A cell with invalid parameters.
    #[error("cell {cell}: {source}{}", hint(source))]
    Cell {
        /// The first such cell.
        cell: usize,
        /// Its parameter, what must hold and what was drawn.
        source: ParameterError,
    },
    /// A fraction of a mixture outside [0, 1].
    #[error("fraction of part {part} must be between 0 and 1, got {value}")]
    Fraction {
        /// The part.
        part: usize,
        /// Its fraction.
        value: f64,
    },
    /// Fractions that do not add up to 1.
    #[error("the fractions of a mixture must add up to 1, got {sum}")]
    Sum {
        /// Their sum.
        sum: f64,
    },
    /// Parts that cannot be combined.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// What to do about a draw below 0. Draws are never clipped: that would silently change the distribution.
fn hint(source: &ParameterError) -> &'static str {
    match source {
        ParameterError::OutOfDomain { value, .. } if *value <= 0.0 => {
            "; a log_normal distribution draws positive values only"
        }
        _ => "",
    }
}

/// One cell being built: draws its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    key: Key,
    cell: usize,
    count: usize,
}

impl Draw {
    /// The index of the cell.
    pub fn cell(&self) -> usize {
        self.cell
    }

    /// The value of this parameter in this cell.
    ///
    /// # Errors
    /// If the distribution is invalid.
    pub fn draw(&self, parameter: &str, distribution: &Distribution) -> Result<f64, ParameterError> {
        distribution.validate()?;
        Ok(distribution.draw(self.key.named(parameter), self.cell, self.count))
    }
}

/// `n` cells of one formula, each with its own parameters.
///
/// # Errors
/// The first cell whose draws are invalid, with the parameter and the value.
pub fn vary<R>(
    n: usize,
    key: Key,
    build: impl Fn(&Draw) -> Result<R, ParameterError>,
) -> Result<PerCell<R>, PopulationError> {
    let cells = (0..n).map(|cell| {
        build(&Draw { key, cell, count: n }).map_err(|source| PopulationError::Cell { cell, source })
    });
    Ok(PerCell(cells.collect::<Result<_, _>>()?))
}

/// Cells to be made of a [`Family`](crate::response::Family): how many, from which parameters.
#[derive(Clone, Copy, Debug)]
pub struct Population<'a> {
    /// One number for all cells or a distribution over them, by name and in the order of the family; of two of which either is
    /// given, the one that is.
    pub parameters: &'a [(&'static str, Distribution)],
    /// How many.
    pub n: usize,
    /// Of the draws.
    pub key: Key,
    /// A dynamic range smaller than the formula's own.
    pub range: Option<Range>,
}

impl Population<'_> {
    /// Whether this parameter is among them.
    pub fn has(&self, name: &str) -> bool {
        self.parameters.iter().any(|(own, _)| *own == name)
    }

    /// One response for all cells if every parameter is a number, otherwise one for each; `make` gets the values.
    ///
    /// # Errors
    /// If a parameter, given or drawn, makes no response.
    pub fn build<R: ResponseFunction + 'static>(
        &self,
        make: impl Fn(&[f64]) -> Result<R, ParameterError>,
    ) -> Result<Arc<dyn Cells>, PopulationError> {
        match self.range {
            None => self.cells(make),
            Some(range) => self.cells(|p| Confined::new(make(p)?, range)),
        }
    }

    fn cells<R: ResponseFunction + 'static>(
        &self,
        make: impl Fn(&[f64]) -> Result<R, ParameterError>,
    ) -> Result<Arc<dyn Cells>, PopulationError> {
        let constants: Option<Vec<f64>> = self.parameters.iter().map(|(_, d)| d.constant()).collect();
        if let Some(values) = constants {
            return Ok(Arc::new(Uniform::new(make(&values)?)));
        }
        let cells = vary(self.n, self.key, |cell| {
            let drawn = self.parameters.iter().map(|(name, d)| cell.draw(name, d));
            make(&drawn.collect::<Result<Vec<f64>, _>>()?)
        })?;
        Ok(Arc::new(cells))
    }
}

/// The part each of `n` cells belongs to, drawn with the given fractions as probabilities.
///
/// # Errors
/// If a fraction is outside [0, 1] or they do not add up to 1 within 1e-9.
pub fn assign(n: usize, key: Key, fractions: &[f64]) -> Result<Vec<usize>, PopulationError> {
    for (part, &value) in fractions.iter().enumerate() {
        if !(0.0..=1.0).contains(&value) {
            return Err(PopulationError::Fraction { part, value });
        }
    }
    let sum: f64 = fractions.iter().sum();
    if (sum - 1.0).abs() > 1e-9 {
        return Err(PopulationError::Sum { sum });
    }
    let key = key.named("part");
    // The last part with a share takes what rounding leaves, so no cell falls to a part of fraction 0.
    let last = fractions.iter().rposition(|&fraction| fraction > 0.0).unwrap_or(0);
    let part = |cell: usize| {
        let mut left = key.uniform_at(cell as u64);
        for (part, fraction) in fractions[..last].iter().enumerate() {
            if left < *fraction {
                return part;
            }
            left -= fraction;
        }
        last
    };
    Ok((0..n).map(part).collect())
}

/// `n` cells, each one of several devices, with the given fractions as probabilities.
///
/// # Errors
/// As [`assign`].
pub fn mix(n: usize, key: Key, parts: &[(f64, Arc<dyn ResponseFunction>)]) -> Result<Mixed, PopulationError> {
    let fractions: Vec<f64> = parts.iter().map(|(fraction, _)| *fraction).collect();
    let part_of = assign(n, key, &fractions)?;
    Ok(Mixed::new(parts.iter().map(|(_, response)| Arc::clone(response)).collect(), part_of)?)
}
