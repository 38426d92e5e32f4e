//! The search: a quasi-random start, random steps around the best, and halving.
//!
//! ```text
//! short trials   35 %  points of a low-discrepancy sequence, what is known and the centre first
//!                25 %  random points around the best so far, in rounds
//! long trials    12 %  the best of them and what is known, with all epochs
//! seeds           8 %  the best of these and of what is known, with further seeds
//!                20 %  the best new one and what is known, with seeds that picked neither (`choice`)
//! ```
//!
//! Below 30 trials, or with one seed, there is no last part: half are for the start, 30 % around the best, and the best mean is chosen.
//!
//! A short trial has a quarter of the epochs, half of them from 30 trials on: with a quarter, rules that first fill a buffer or a period of
//! their choppers look alike whatever the setting, but a small budget needs the time for its long trials.
//!
//! Every point follows from the seed, so that a search that was killed asks for the same trials again; those in the store are not
//! run twice.

use residuum::Key;

/// How a budget is spent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Halving {
    /// Short trials of the quasi-random start.
    pub start: usize,
    /// Short trials around the best.
    pub around: usize,
    /// Long trials.
    pub long: usize,
    /// Settings that are tried with further seeds.
    pub finalists: usize,
    /// Further seeds of each.
    pub seeds: usize,
    /// Most trials of those between whom these seeds do not decide.
    pub last: usize,
    /// Deviation of the steps of each round around the best, as a share of a field's range.
    pub widths: &'static [f64],
    /// Epochs of a short trial.
    pub short_epochs: u64,
    /// Epochs of a long one.
    pub epochs: u64,
}

impl Halving {
    /// Spends so many trials on a spec of so many epochs; at the end there are at least `seeds` seeds of the last
    /// two finalists.
    pub fn new(trials: usize, epochs: u64, seeds: usize) -> Self {
        let ample = trials >= AMPLE;
        let finalists = match trials {
            0..12 => 1,
            12..AMPLE => 2,
            AMPLE..60 => 4,
            _ => 5,
        };
        // Where there is a last part, it has most of the seeds.
        let (further, last) = match seeds {
            0 | 1 => (0, 0),
            _ if ample => (seeds / 2, (4 * seeds).min(trials / 5)),
            _ => (seeds - 1, 0),
        };
        let rest = trials.saturating_sub(finalists * further + last).max(3);
        let long = (rest * 3 / 17).max(finalists).min(rest - 2);
        let share = if ample { 8 } else { 9 };
        let start = ((rest - long) * share / 14).max(2).min(rest - long);
        let around = rest - long - start;
        let (short, widths): (u64, &[f64]) = if ample { (2, &[0.15, 0.1, 0.07]) } else { (4, &[0.12, 0.12]) };
        let finalists = finalists.min(long);
        Self {
            start,
            around,
            long,
            finalists,
            seeds: further,
            last,
            widths,
            short_epochs: epochs.div_ceil(short),
            epochs,
        }
    }

    /// Trials in all.
    pub fn trials(&self) -> usize {
        self.start + self.around + self.long + self.finalists * self.seeds + self.last
    }

    /// Epochs in all.
    pub fn cost(&self) -> u64 {
        let long = (self.long + self.finalists * self.seeds + self.last) as u64;
        (self.start + self.around) as u64 * self.short_epochs + long * self.epochs
    }
}

/// Trials from which a search can afford longer short trials, and a third round.
const AMPLE: usize = 30;

/// Places of settings in the unit cube of a space.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// Coordinates of the space.
    pub dimensions: usize,
    /// Of the search.
    pub key: Key,
}

impl Search {
    /// Place `index` of the start: the additive recurrence of the generalised golden ratio (Roberts 2018), shifted at random.
    pub fn quasi_random(&self, index: usize) -> Vec<f64> {
        let dimensions = self.dimensions;
        // The real root of x^(d+1) = x + 1.
        let ratio = (0..60).fold(2.0_f64, |x, _| (1.0 + x).powf(1.0 / (dimensions as f64 + 1.0)));
        let coordinate = |j: usize| {
            let shift = self.key.named("start").uniform_at(j as u64);
            (shift + index as f64 * ratio.powi(-(j.cast_signed() as i32 + 1))).fract()
        };
        (0..dimensions).map(coordinate).collect()
    }

    /// Place `index` around another: a normal step of this width in every direction, reflected at the walls.
    pub fn around(&self, place: &[f64], width: f64, index: usize) -> Vec<f64> {
        let key = self.key.named("around").fold(index as u64);
        let step = |(j, &from): (usize, &f64)| {
            let to = (from + width * key.normal_at(j as u64)).rem_euclid(2.0);
            if to > 1.0 { 2.0 - to } else { to }
        };
        place.iter().enumerate().map(step).collect()
    }
}
