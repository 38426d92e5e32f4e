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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::{Cells, bounds};
    use crate::response::{Constant, Linear, Power};
    use crate::stats::{Summary, kolmogorov_smirnov_normal};

    const MANY: usize = 20_000;

    fn draws(distribution: Distribution) -> Vec<f64> {
        (0..MANY).map(|i| distribution.draw(Key::new(3).named("radius"), i, MANY)).collect()
    }

    #[test]
    fn draws_follow_their_distribution() {
        let normal = draws(Distribution::Normal { mean: 2.0, deviation: 0.5 });
        // KS at 1e-3: critical value 1.95/√n.
        let critical = 1.95 / (MANY as f64).sqrt();
        let mut standard: Vec<f64> = normal.iter().map(|x| (x - 2.0) / 0.5).collect();
        assert!(kolmogorov_smirnov_normal(&mut standard) < critical);
        let log = draws(Distribution::LogNormal { median: 0.8, deviation: 0.3 });
        let mut standard: Vec<f64> = log.iter().map(|x| (x / 0.8).ln() / 0.3).collect();
        assert!(kolmogorov_smirnov_normal(&mut standard) < critical);
        let uniform = draws(Distribution::Uniform { lo: -1.0, hi: 3.0 });
        assert!(uniform.iter().all(|x| (-1.0..3.0).contains(x)));
        assert!(Summary::of(uniform.iter().copied()).agrees(1.0, 0.0));
        assert!(Summary::of(uniform.iter().map(|x| (x - 1.0).powi(2))).agrees(16.0 / 12.0, 0.0));
        // The twin: a deviation 5 % too large is caught by the criterion above.
        let mut wrong: Vec<f64> = normal.iter().map(|x| (x - 2.0) / 0.475).collect();
        assert!(kolmogorov_smirnov_normal(&mut wrong) > critical);
    }

    #[test]
    fn log_spacing_has_equal_ratios_and_exact_ends() {
        let spaced = Distribution::LogSpaced { lo: 0.25, hi: 64.0 };
        let values: Vec<f64> = (0..5).map(|i| spaced.draw(Key::new(1), i, 5)).collect();
        for (value, expected) in values.iter().zip([0.25, 1.0, 4.0, 16.0, 64.0]) {
            assert!((value / expected - 1.0).abs() < 1e-15, "{values:?}");
        }
        assert_eq!(spaced.draw(Key::new(1), 0, 1), 0.25);
    }

    #[test]
    fn a_draw_depends_on_its_name_and_cell_alone() {
        let spread = Distribution::Normal { mean: 0.5, deviation: 0.05 };
        let key = Key::new(11);
        let few = vary(3, key, |cell| Linear::new(cell.draw("slope", &spread)?, 1.0)).unwrap();
        let more = vary(9, key, |cell| {
            let radius = cell.draw("radius", &Distribution::Uniform { lo: 1.0, hi: 1.0 })?;
            Linear::new(cell.draw("slope", &spread)?, radius)
        })
        .unwrap();
        assert_eq!(few.0[..], more.0[..3]);
        assert_ne!(more.0[0], more.0[1]);
        let renamed = vary(3, key, |cell| Linear::new(cell.draw("other", &spread)?, 1.0)).unwrap();
        assert_ne!(few.0, renamed.0);
    }

    #[test]
    fn impossible_draws_are_named_not_clipped() {
        let wide = Distribution::Normal { mean: 0.1, deviation: 1.0 };
        let error =
            vary(100, Key::new(5), |cell| Power::new(2.0, cell.draw("radius", &wide)?)).expect_err("negative");
        let PopulationError::Cell { cell, source } = &error else { panic!("{error}") };
        let drawn = wide.draw(Key::new(5).named("radius"), *cell, 100);
        assert!(drawn <= 0.0);
        assert_eq!(
            error.to_string(),
            format!("cell {cell}: {source}; a log_normal distribution draws positive values only")
        );
        assert_eq!(source.to_string(), format!("radius must be positive and finite, got {drawn}"));
    }

    #[test]
    fn distributions_are_validated() {
        let bad = [
            (Distribution::Constant(f64::NAN), "value must be finite, got NaN"),
            (
                Distribution::Normal { mean: 0.0, deviation: -1.0 },
                "deviation must be zero or positive, and finite, got -1",
            ),
            (
                Distribution::LogNormal { median: 0.0, deviation: 1.0 },
                "median must be positive and finite, got 0",
            ),
            (Distribution::Uniform { lo: 1.0, hi: 0.0 }, "hi must be finite and at least lo, got 0"),
            (Distribution::LogSpaced { lo: -1.0, hi: 1.0 }, "lo must be positive and finite, got -1"),
        ];
        for (distribution, message) in bad {
            assert_eq!(distribution.validate().expect_err(message).to_string(), message);
        }
    }

    #[test]
    fn mixtures_keep_their_fractions() {
        let part_of = assign(MANY, Key::new(2), &[0.2, 0.0, 0.5, 0.3, 0.0]).unwrap();
        for (part, fraction) in [(0, 0.2), (2, 0.5), (3, 0.3)] {
            let share = Summary::of(part_of.iter().map(|&p| if p == part { 1.0 } else { 0.0 }));
            assert!(share.agrees(fraction, 0.0), "part {part}: {share}");
        }
        assert!(!part_of.contains(&1) && !part_of.contains(&4));
        assert_eq!(part_of[..10], assign(10, Key::new(2), &[0.2, 0.0, 0.5, 0.3, 0.0]).unwrap());
        assert_eq!(assign(1, Key::new(2), &[0.5, 0.4]), Err(PopulationError::Sum { sum: 0.9 }));
        assert_eq!(assign(1, Key::new(2), &[]), Err(PopulationError::Sum { sum: 0.0 }));
        assert!(matches!(assign(1, Key::new(2), &[1.5, -0.5]), Err(PopulationError::Fraction { part: 0, .. })));
    }

    #[test]
    fn bounds_of_a_population_are_those_of_its_worst_cells() {
        let steep: Arc<dyn ResponseFunction> = Arc::new(Power::new(2.0, 0.5).unwrap());
        let flat: Arc<dyn ResponseFunction> = Arc::new(Linear::new(0.5, 2.0).unwrap());
        let cells = mix(200, Key::new(4), &[(0.5, steep), (0.5, flat)]).unwrap();
        let overall = bounds(&cells, 200, 0.5).unwrap();
        assert_eq!((overall.min, overall.max), (0.25, 2.25));
        assert_eq!((overall.range.lo, overall.range.hi), (-1.0, 1.0));
        assert_eq!(overall.lipschitz, 6.0);
        let alike = crate::cells::Uniform::new(Constant::new(0.7).unwrap());
        assert_eq!(bounds(&alike, 1_000_000_000, 1.0).unwrap().max, 0.7);
        assert!(bounds(&cells, 199, 0.5).is_err() && bounds(&cells, 200, 0.0).is_err());
        assert!(bounds(&PerCell::<Constant>(vec![]), 0, 1.0).is_err());
        assert_eq!(cells.len(), Some(200));
    }
}
