//! Schemes that turn a desired outer product into writes, and the method that takes one explicitly.

use super::Tile;
use super::management::Trains;
use crate::Key;
pub(super) use crate::error::all_finite_32 as all_finite;
use crate::error::{ParameterError, finite, same_length};

/// How a desired increment reaches the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// The operator itself (`biased-update`): every cell moves by its desired increment times its response
    /// q± = s±u±(w)/granularity, without noise, and no pulse is counted.
    Expected,
    /// Lines fire at random; a cell is pulsed in the slots in which its row and its column fire together.
    Stochastic(Trains),
    /// Each cell gets its mean number of coincidences, rounded to the nearest whole number: AIHWKIT's
    /// `DeterministicImplicit`. Has a dead zone below half a pulse.
    Deterministic(Trains),
    /// Each line's mean number of pulses is rounded first, then the coincidences: AIHWKIT's `MeanCount`.
    MeanCount(Trains),
}

impl From<Trains> for Scheme {
    /// Trains default to the stochastic scheme.
    fn from(trains: Trains) -> Self {
        Self::Stochastic(trains)
    }
}

impl Default for Scheme {
    fn default() -> Self {
        Self::Stochastic(Trains::default())
    }
}

impl Scheme {
    /// Checks the trains.
    ///
    /// # Errors
    /// As [`Trains::validate`].
    pub fn validate(&self) -> Result<(), ParameterError> {
        match self {
            Self::Expected => Ok(()),
            Self::Stochastic(trains) | Self::Deterministic(trains) | Self::MeanCount(trains) => {
                trains.validate()
            }
        }
    }
}

impl Tile {
    /// `W ← W + scale · Σ_b rows_b colsᵀ_b`, sample by sample (`biased-update` at every write).
    ///
    /// `row_signals` is batch × rows (errors), `col_signals` batch × cols (inputs). By trains, the mean update at u = 1 is
    /// the desired one as long as no probability exceeds 1. `key` decides lines and noise.
    ///
    /// # Errors
    /// If shapes do not fit, the trains are invalid, or a signal is NaN or infinite; then nothing is written.
    pub fn write(
        &mut self,
        scale: f32,
        row_signals: &[f32],
        col_signals: &[f32],
        scheme: impl Into<Scheme>,
        key: Key,
    ) -> Result<(), ParameterError> {
        let scheme = scheme.into();
        let signals = [row_signals, col_signals];
        check_shape([self.rows, self.cols], scale, signals, scheme)?;
        // Trains are drawn from the largest magnitudes, which tell whether signals are finite: no need to look at all once more.
        if !matches!(scheme, Scheme::Stochastic(_)) {
            check_signals(signals)?;
        }
        self.by_lines = false;
        match scheme {
            Scheme::Expected => self.update_expected(scale, row_signals, col_signals),
            Scheme::Stochastic(trains) => {
                let (lines, finite) = self.fire(scale, row_signals, col_signals, trains, key);
                if finite {
                    self.take(&lines, key);
                }
                (self.lines, self.by_lines) = (lines, finite);
                check_signals(if finite { [&[]; 2] } else { signals })?;
            }
            Scheme::Deterministic(trains) => {
                self.update_rounded(scale, row_signals, col_signals, trains, false, key);
            }
            Scheme::MeanCount(trains) => {
                self.update_rounded(scale, row_signals, col_signals, trains, true, key);
            }
        }
        Ok(())
    }
}

/// Checks the shape of an update and that its numbers are finite; returns the number of samples.
pub(super) fn check_update(
    shape: [usize; 2],
    scale: f32,
    signals: [&[f32]; 2],
    scheme: Scheme,
) -> Result<usize, ParameterError> {
    let batch = check_shape(shape, scale, signals, scheme)?;
    check_signals(signals)?;
    Ok(batch)
}

fn check_signals([row_signals, col_signals]: [&[f32]; 2]) -> Result<(), ParameterError> {
    all_finite("row_signals", row_signals)?;
    all_finite("col_signals", col_signals)
}

fn check_shape(
    [rows, cols]: [usize; 2],
    scale: f32,
    [row_signals, col_signals]: [&[f32]; 2],
    scheme: Scheme,
) -> Result<usize, ParameterError> {
    scheme.validate()?;
    finite("scale", f64::from(scale))?;
    let batch = row_signals.len() / rows;
    same_length("row_signals", batch * rows, row_signals.len())?;
    same_length("col_signals", batch * cols, col_signals.len())?;
    Ok(batch)
}
