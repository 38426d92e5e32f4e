//! Private items that the tests of this crate need. No part of the API: anything here may change or go at any time.
//!
//! The tests are a program of their own (`tests/it`), so that the library is compiled once and not again for them.

/// Of `analog`.
pub mod analog {
    /// Splits `n` lines into the fewest chunks of at most `most`, as equal as possible.
    pub fn split_evenly(n: usize, most: usize) -> Vec<std::ops::Range<usize>> {
        crate::analog::split_evenly(n, most)
    }
}

/// Of `checksum`.
pub mod checksum {
    pub use crate::checksum::{checksum, checksum_file};
}

/// Of `layer`.
pub mod layer {
    pub use crate::layer::activation::{relu, sigmoid, tanh};
}

/// Of `train`.
pub mod train {
    pub use crate::train::events::EventSummary;
    pub use crate::train::histogram::BINS;
    pub use crate::train::log::Log;
}
