//! The search: a quasi-random start, random steps around the best, and halving.
//!
//! ```text
//! short trials   45 %  points of a low-discrepancy sequence, the setting of the spec and the centre first
//!                25 %  random points around the best so far
//! long trials    15 %  the best of them, with all epochs
//! seeds          15 %  the best of these, with further seeds
//! ```
//!
//! Every point follows from the seed, so that a search that was killed asks for the same trials again; those in the store are not
//! run twice.

use residuum::Key;

/// How a budget is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Epochs of a short trial.
    pub short_epochs: u64,
    /// Epochs of a long one.
    pub epochs: u64,
}

impl Halving {
    /// Spends so many trials on a spec of so many epochs; at the end there are `seeds` seeds of each finalist.
    pub fn new(trials: usize, epochs: u64, seeds: usize) -> Self {
        let further = seeds.saturating_sub(1);
        let finalists = match trials {
            0..12 => 1,
            12..30 => 2,
            _ => 3,
        };
        let rest = trials.saturating_sub(finalists * further).max(3);
        let long = (rest * 3 / 17).max(finalists).min(rest - 2);
        let start = ((rest - long) * 9 / 14).max(2).min(rest - long);
        let around = rest - long - start;
        let short_epochs = if epochs > 1 { epochs.div_ceil(4) } else { 1 };
        Self { start, around, long, finalists: finalists.min(long), seeds: further, short_epochs, epochs }
    }

    /// Trials in all.
    pub fn trials(&self) -> usize {
        self.start + self.around + self.long + self.finalists * self.seeds
    }

    /// Epochs in all.
    pub fn cost(&self) -> u64 {
        let long = (self.long + self.finalists * self.seeds) as u64;
        (self.start + self.around) as u64 * self.short_epochs + long * self.epochs
    }
}

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

    /// Place `index` around another: a normal step in every direction, reflected at the walls.
    pub fn around(&self, place: &[f64], index: usize) -> Vec<f64> {
        const WIDTH: f64 = 0.12;
        let key = self.key.named("around").fold(index as u64);
        let step = |(j, &from): (usize, &f64)| {
            let to = (from + WIDTH * key.normal_at(j as u64)).rem_euclid(2.0);
            if to > 1.0 { 2.0 - to } else { to }
        };
        place.iter().enumerate().map(step).collect()
    }
}
