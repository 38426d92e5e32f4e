//! Private items that the tests of this crate need. No part of the API: anything here may change or go at any time.

use residuum::progress::Progress;

pub use crate::context::Bench;
pub use crate::moments::{Loop, Moments, modulus};
pub use crate::report::{number, wrap};
use crate::{Claim, VerifyError, VerifyOptions, VerifyReport};

/// The report on claims whose experiments are done on a bench, faithful or broken.
///
/// # Errors
/// Those of `verify`.
pub fn run(
    claims: &[Claim],
    options: &VerifyOptions,
    bench: Bench,
    progress: &dyn Progress,
) -> Result<VerifyReport, VerifyError> {
    crate::run(claims, options, bench, progress)
}
