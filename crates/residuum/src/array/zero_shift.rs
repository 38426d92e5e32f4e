//! Zero-shifting: alternating up and down pulses drive every cell to its symmetric point.
//!
//! One pair (up, then down) maps w to w − 2dG(w) − d²q₊q₋' + O(d³), so cells close in on W⋄ and end in a two-cycle of
//! width d·q(W⋄). The middle of the cycle gives the symmetric point, its width the local gain;
//! [`theory::zero_shift`](crate::theory::zero_shift) predicts both, and how many pairs it takes.

use super::Array;
use crate::Scalar;
use crate::error::{ParameterError, non_negative, positive, require};

/// How long to pulse, with which pulses, and how to average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZeroShift {
    /// Maximum number of pairs (one up, one down pulse) sent to every cell.
    pub pairs: u64,
    /// Pairs over which reads are averaged: the estimate is the mean over the last ones. One is exact without cycle-to-cycle
    /// noise; with it, average over several times `1/(1 − contraction)` pairs.
    pub averaged: u64,
    /// Stop once the averages of two successive groups of `averaged` pairs differ by less than this per pair, in the mean
    /// over the cells. The remaining error is then about `tolerance`/(1 − contraction). Noise moves averages too: a
    /// tolerance below √2·deviation/averaged may never be met.
    pub tolerance: Option<f64>,
    /// Size of a pulse on an exact array; by default its own. A tile uses the pulses of its device.
    pub pulse_step: Option<f64>,
    /// Cycle-to-cycle noise of the pulses on an exact array.
    pub cycle_noise: f64,
}

impl ZeroShift {
    /// A fixed number of pairs; only the last one is read.
    pub fn pairs(pairs: u64) -> Self {
        Self { pairs, averaged: 1, tolerance: None, pulse_step: None, cycle_noise: 0.0 }
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// If `averaged` is 0 or above `pairs`, the tolerance or pulse step is not positive, or the noise is negative.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let averaged = self.averaged as f64;
        require(
            (1..=self.pairs).contains(&self.averaged),
            "averaged",
            "between 1 and the number of pairs",
            averaged,
        )?;
        self.tolerance.map_or(Ok(0.0), |tolerance| positive("tolerance", tolerance))?;
        self.pulse_step.map_or(Ok(0.0), |step| positive("pulse_step", step))?;
        non_negative("cycle_noise", self.cycle_noise)?;
        Ok(())
    }
}

/// Result of zero-shifting, cell by cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration<T = f64> {
    /// Middle of the two-cycle: the estimate of W⋄.
    pub symmetric_point: Vec<T>,
    /// Width of the two-cycle.
    pub swing: Vec<T>,
    /// Width over pulse step: the estimate of q(W⋄).
    pub gain: Vec<T>,
    /// Pairs sent.
    pub pairs: u64,
    /// Pulses sent, over all cells.
    pub pulses: u64,
}

impl<T: Scalar> Calibration<T> {
    /// Estimate minus true symmetric point, for cells that have one.
    pub fn errors(&self, truth: &[Option<T>]) -> Vec<Option<f64>> {
        let error = |(e, t): (&T, &Option<T>)| t.map(|t| e.to_f64() - t.to_f64());
        self.symmetric_point.iter().zip(truth).map(error).collect()
    }

    /// Error of the estimate; `None` if no cell has a symmetric point.
    pub fn error(&self, truth: &[Option<T>]) -> Option<CalibrationError> {
        let mut errors: Vec<f64> = self.errors(truth).into_iter().flatten().map(f64::abs).collect();
        errors.sort_by(f64::total_cmp);
        let quantile = |p: f64| errors[(p * (errors.len() - 1) as f64).round() as usize];
        let max = *errors.last()?;
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let (median, quantile_95) = (quantile(0.5), quantile(0.95));
        Some(CalibrationError { cells: errors.len(), mean, median, quantile_95, max })
    }
}

/// |estimate − W⋄| over the cells that have a symmetric point, in weight units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationError {
    /// Number of cells with a symmetric point.
    pub cells: usize,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub quantile_95: f64,
    /// Maximum.
    pub max: f64,
}

/// Zero-shifting on any array: `pulse(array, pair, up)` sends one pulse of mean size `step` to every cell, `middle` takes the
/// mean of the sums after up and after down pulses over a number of pairs.
pub(crate) fn run<T: Scalar, A: Array<T>>(
    array: &mut A,
    settings: &ZeroShift,
    step: f64,
    mut pulse: impl FnMut(&mut A, u64, bool),
    middle: impl Fn(f64, f64, f64) -> f64,
) -> Result<Calibration<T>, ParameterError> {
    settings.validate()?;
    let (sent, cells, averaged) = (array.pulses_sent(), array.weights().len(), settings.averaged);
    // Groups are counted from the end, so that the last pairs are the ones averaged.
    let mut pairs =
        if settings.tolerance.is_some() { settings.pairs % averaged } else { settings.pairs - averaged };
    for pair in 0..pairs {
        pulse(array, pair, true);
        pulse(array, pair, false);
    }
    let mut group = |array: &mut A, from: u64| {
        let (mut high, mut low) = (vec![0.0; cells], vec![0.0; cells]);
        for pair in from..from + averaged {
            for (up, sum) in [(true, &mut high), (false, &mut low)] {
                pulse(array, pair, up);
                sum.iter_mut().zip(array.weights()).for_each(|(s, w)| *s += w.to_f64());
            }
        }
        let pair = |(h, l): (&f64, &f64)| T::from_f64(middle(*h, *l, averaged as f64));
        let middles: Vec<T> = high.iter().zip(&low).map(pair).collect();
        (middles, high, low)
    };
    let (mut middles, mut high, mut low) = group(array, pairs);
    pairs += averaged;
    while pairs < settings.pairs {
        let next = group(array, pairs);
        pairs += averaged;
        let moved: f64 = next.0.iter().zip(&middles).map(|(a, b)| (*a - *b).abs().to_f64()).sum();
        let per_pair = moved / (cells as f64 * averaged as f64);
        (middles, high, low) = next;
        if settings.tolerance.is_some_and(|tolerance| per_pair < tolerance) {
            break;
        }
    }
    let share = 1.0 / averaged as f64;
    let swing: Vec<f64> = high.iter().zip(&low).map(|(h, l)| share * (h - l)).collect();
    Ok(Calibration {
        symmetric_point: middles,
        gain: swing.iter().map(|s| T::from_f64(s / step)).collect(),
        swing: swing.iter().map(|s| T::from_f64(*s)).collect(),
        pairs,
        pulses: array.pulses_sent() - sent,
    })
}
