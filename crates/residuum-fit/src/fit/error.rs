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
    #[error("a fit needs at least {needed} reads in each direction, got {given} {direction} reads{of}")]
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
        "up reads lie in {up} and down reads in {down}, which do not overlap: give both in the same unit (--read-voltage if \
         one of them is a current)"
    )]
    Apart {
        /// Of up reads.
        up: Range,
        /// Of down reads.
        down: Range,
    },
    /// Devices in different units.
    #[error(
        "reads of device {small} are {factor:.0} times smaller than those of device {large}: give all devices in the same unit"
    )]
    Units {
        /// The one with small reads.
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
    /// No device moves.
    #[error("no device moves by more than its noise: nothing can be fitted")]
    Stuck,
    /// An invalid range.
    #[error("range must be finite with lo < hi and contain reads, got {0}")]
    Range(Range),
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
