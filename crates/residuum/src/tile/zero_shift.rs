//! Zero-shifting a tile: alternate up and down pulses carry every cell towards its own symmetric point.
//!
//! [`theory::zero_shift`](crate::theory::zero_shift) predicts what happens to one cell: the distance from a two-cycle around
//! W⋄ shrinks by 1 − d(q₋' − q₊') per pair, so the cost is that of 1/(2dG') pairs for each factor e; the middle of the
//! cycle misses W⋄ by O(d), and cycle noise keeps up a deviation of order σ√d, which averaging over pairs takes down.

use rayon::prelude::*;

use super::Tile;
use crate::Key;
use crate::error::{ParameterError, positive, require};

/// How long to pulse and what to read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZeroShift {
    /// Pairs of one up and one down pulse sent to every cell, at most.
    pub pairs: u64,
    /// Pairs over which reads are averaged: the estimate is the mean over the last ones.
    pub averaged: u64,
    /// Stop once the averages of two successive groups of `averaged` pairs differ by less than this per pair, in the mean
    /// over the cells. What is left to go then is about `tolerance`/(1 − contraction). Noise moves averages too: a
    /// tolerance below √2·deviation/averaged may never be met.
    pub tolerance: Option<f32>,
}

impl ZeroShift {
    /// A fixed number of pairs, of which the last is read.
    pub fn pairs(pairs: u64) -> Self {
        Self { pairs, averaged: 1, tolerance: None }
    }

    /// Refuses to average over no pair or more than there are.
    ///
    /// # Errors
    /// If `averaged` is 0 or above `pairs`, or the tolerance not positive.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let averaged = self.averaged as f64;
        require(
            (1..=self.pairs).contains(&self.averaged),
            "averaged",
            "between 1 and the number of pairs",
            averaged,
        )?;
        self.tolerance.map_or(Ok(0.0), |tolerance| positive("tolerance", f64::from(tolerance)))?;
        Ok(())
    }
}

/// What alternate pulses found.
#[derive(Clone, Debug, PartialEq)]
pub struct ZeroShifted {
    /// Estimate of W⋄ by cell: the middle between reads after up and after down pulses.
    pub symmetric_point: Vec<f32>,
    /// How far that is from the truth; none if no cell has a symmetric point.
    pub residual: Option<Residual>,
    /// Pairs sent.
    pub pairs: u64,
    /// Pulses sent, all cells together.
    pub pulses: u64,
}

/// |estimate − W⋄| over the cells that have a symmetric point, in weight units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residual {
    /// Cells that have one.
    pub cells: usize,
    /// Mean.
    pub mean: f64,
    /// Half of the cells are below this.
    pub median: f64,
    /// 95 % of the cells are below this.
    pub quantile_95: f64,
    /// The worst cell.
    pub max: f64,
}

impl Residual {
    /// Of estimates against true points.
    pub fn of(estimate: &[f32], truth: &[Option<f32>]) -> Option<Self> {
        let distance = |(e, t): (&f32, &Option<f32>)| t.map(|t| (f64::from(*e) - f64::from(t)).abs());
        let mut errors: Vec<f64> = estimate.iter().zip(truth).filter_map(distance).collect();
        errors.sort_by(f64::total_cmp);
        let quantile = |p: f64| errors[(p * (errors.len() - 1) as f64).round() as usize];
        let max = *errors.last()?;
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        Some(Self { cells: errors.len(), mean, median: quantile(0.5), quantile_95: quantile(0.95), max })
    }
}

impl Tile {
    /// Sends pairs of pulses to every cell and estimates the symmetric points from what a read sees. The tile is left after a
    /// down pulse; it costs two pulses per pair and cell.
    ///
    /// # Errors
    /// If the settings are impossible.
    pub fn zero_shift(&mut self, settings: ZeroShift, key: Key) -> Result<ZeroShifted, ParameterError> {
        settings.validate()?;
        let sent = self.pulses_sent;
        let averaged = settings.averaged;
        // Groups are counted from the end, so that the last pairs are the ones averaged.
        let mut pairs = settings.pairs % averaged;
        for pair in 0..pairs {
            self.pair(key.fold(pair), &mut |_| ());
        }
        let mut middle = self.middle(averaged, pairs, key);
        pairs += averaged;
        while pairs < settings.pairs {
            let next = self.middle(averaged, pairs, key);
            pairs += averaged;
            let moved: f64 = next.iter().zip(&middle).map(|(a, b)| f64::from((a - b).abs())).sum();
            let per_pair = moved / (next.len() as f64 * averaged as f64);
            middle = next;
            if settings.tolerance.is_some_and(|tolerance| per_pair < f64::from(tolerance)) {
                break;
            }
        }
        Ok(ZeroShifted {
            residual: Residual::of(&middle, &self.symmetric_point()),
            symmetric_point: middle,
            pairs,
            pulses: self.pulses_sent - sent,
        })
    }

    /// One up and one down pulse on every cell, with a look after each.
    fn pair(&mut self, key: Key, look: &mut impl FnMut(&[f32])) {
        for (name, up) in [("up", true), ("down", false)] {
            self.pulse_all(up, key.named(name));
            look(&self.weights);
        }
    }

    /// Mean of the reads over the next pairs.
    fn middle(&mut self, averaged: u64, from: u64, key: Key) -> Vec<f32> {
        let mut sum = vec![0.0f64; self.weights.len()];
        for pair in from..from + averaged {
            self.pair(key.fold(pair), &mut |weights| {
                sum.iter_mut().zip(weights).for_each(|(s, w)| *s += f64::from(*w));
            });
        }
        sum.into_iter().map(|s| (s / (2 * averaged) as f64) as f32).collect()
    }

    /// W⋄ by cell: where the mean up step falls below the mean down step. None where they never cross between the cell's
    /// bounds, or are equal everywhere; one of the
    /// crossings if there are several. A calibration does not see these: they are what it is judged by.
    pub fn symmetric_point(&self) -> Vec<Option<f32>> {
        (0..self.weights.len())
            .into_par_iter()
            .with_min_len(1024)
            .map(|i| self.device.crossing(&self.cells, i))
            .collect()
    }
}
