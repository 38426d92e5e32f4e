//! What cannot be fitted.

use residuum::Range;
use thiserror::Error;

/// Why a measurement cannot be fitted.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum FitError {
    /// One direction is missing.
    #[error(
        "a device needs ramps in both directions, got only {given} ramps{of}: measure or give the {missing} pulses too"
    )]
    OneDirection {
        /// What there is.
        given: &'static str,
        /// What is missing.
        missing: &'static str,
        /// Of which device.
        of: String,
    },
    /// Too few pulses.
    #[error(
        "a fit needs at least {needed} reads in each direction, got {given} {direction} reads{of}: give longer ramps, or more of them"
    )]
    TooFew {
        /// The least.
        needed: usize,
        /// The number there.
        given: usize,
        /// The direction.
        direction: &'static str,
        /// Of which device.
        of: String,
    },
    /// Up and down reads do not meet.
    #[error(
        "up reads lie in {} and down reads in {}, which do not overlap: give both in the same unit (--read-voltage if \
         one of them is a current)",
        short(*up), short(*down)
    )]
    Apart {
        /// Of up reads.
        up: Range,
        /// Of down reads.
        down: Range,
    },
    /// Devices in different units.
    #[error(
        "reads of {small} are {factor:.3e} times smaller than those of {large}: give all reads in the same unit"
    )]
    Units {
        /// The ramp with small reads.
        small: String,
        /// The one with large reads.
        large: String,
        /// Their ratio.
        factor: f64,
    },
    /// Ramps that go the other way.
    #[error(
        "{name} goes {way} by {change:.4e} although its pulses are {direction} pulses: swap up and down, or give the length of \
         the ramps if one column holds several (--ramp-length)"
    )]
    WrongWay {
        /// The ramp.
        name: String,
        /// Where it goes.
        way: &'static str,
        /// By how much.
        change: f64,
        /// Where it should.
        direction: &'static str,
    },
    /// A ramp that turns.
    #[error(
        "{name} turns at its read {turn} of {reads}: a ramp holds pulses of one direction; cut it there, or give the length of \
         the ramps (--ramp-length)"
    )]
    Turns {
        /// The ramp.
        name: String,
        /// Where.
        turn: usize,
        /// Its length.
        reads: usize,
    },
    /// Reads that double precision cannot square.
    #[error("reads must be between {least:e} and {most:e} in size, got {largest:e}: give them in another unit")]
    Size {
        /// The largest.
        largest: f64,
        /// The smallest that it may be.
        least: f64,
        /// The largest that it may be.
        most: f64,
    },
    /// No device moves.
    #[error(
        "no device moves by more than its noise, so nothing can be fitted: give ramps along which pulses change the conductance, \
         those of up pulses apart from those of down pulses"
    )]
    Stuck,
    /// An invalid range.
    #[error("range must be finite with lo < hi and contain reads, got {}", short(*.0))]
    Range(Range),
    /// A range that reads leave, or fill to a small part.
    #[error(
        "reads lie in {}, and the range that becomes [−1, 1] is {}: give one that the reads fill to a twentieth at least and leave by \
         no more than a fifth of its width, in the unit of the file",
        short(*reads), short(*range)
    )]
    Map {
        /// As given.
        range: Range,
        /// The ends of the reads.
        reads: Range,
    },
    /// Too few draws.
    #[error("draws must be at least 20, got {0}")]
    Draws(usize),
    /// No model could be fitted.
    #[error("no model describes these ramps: the likelihood has no maximum for any of them")]
    NoModel,
    /// Stopped by the user.
    #[error("interrupted; nothing was written")]
    Cancelled,
}

/// Ends in four digits.
fn short(range: Range) -> String {
    let end = |x: f64| {
        if (1e-3..1e5).contains(&x.abs()) || x == 0.0 { format!("{x:.4}") } else { format!("{x:.3e}") }
    };
    format!("[{}, {}]", end(range.lo), end(range.hi))
}
