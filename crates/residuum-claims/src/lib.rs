//! The paper's claims as numerical experiments.
//!
//! Every definition, lemma and theorem is a [`Claim`]: a sentence, the label it has in the paper, and an experiment
//! that gives [`Check`]s. Misprints of the paper are shown twice, as printed (expected to fail) and as corrected
//! (must hold). Tolerances are computed: rounding, `Z` standard errors, and a bias that follows from the theory.

mod beyond;
mod bilevel;
mod calibration;
mod check;
mod context;
mod convergence;
mod descent;
mod devices;
mod experiments;
pub mod figures;
mod gains;
mod later;
mod lower_bound;
mod mistakes;
mod moments;
mod operator;
mod penalty;
mod regularity;
mod report;
mod simulate;
#[doc(hidden)]
pub mod testing;

use std::sync::LazyLock;

use rayon::prelude::*;
use residuum::Key;
use residuum::error::ParameterError;
use residuum::theory::TheoryError;
use residuum::theory::coefficients::CoefficientError;

pub use check::{Check, Comparison, Relation, Verdict};
use context::{Bench, Context};
pub use later::{tracking_bias, tracking_setting};
pub use report::{ClaimReport, VerifyReport};
use residuum::progress::{Cancelled, Progress};

/// One claim of the paper, or of the notes beyond it.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Name on the command line, in kebab-case.
    pub id: &'static str,
    /// The part of the paper it belongs to.
    pub group: &'static str,
    /// A few words.
    pub title: &'static str,
    /// The paper's LaTeX label; empty for what goes beyond the paper.
    pub label: &'static str,
    /// The claim in one sentence.
    pub statement: &'static str,
    run: fn(&Context) -> Outcome,
}

type Outcome = Result<Vec<Check>, ClaimError>;

/// Why an experiment could not be done.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// A device, rule or problem could not be built.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// An array refused a step.
    #[error(transparent)]
    Step(#[from] residuum::StepError),
    /// A prediction could not be made.
    #[error(transparent)]
    Theory(#[from] TheoryError),
    /// The convergence theorem does not cover the problem.
    #[error(transparent)]
    Coefficient(#[from] CoefficientError),
    /// The user stopped the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Why there is no report.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// No claim has this name.
    #[error("claim must be one of {}, got {given:?}{}", list(), hint(*.nearest))]
    Unknown {
        /// The name as given.
        given: String,
        /// The claim whose name is close to it, if one is.
        nearest: Option<&'static str>,
    },
    /// The experiment of a claim could not be done.
    #[error("claim {id}: {source}")]
    Claim {
        /// The claim.
        id: &'static str,
        /// What went wrong.
        source: ClaimError,
    },
    /// The user stopped the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Options of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyOptions {
    /// Seed of every random number.
    pub seed: u64,
    /// Fewer replicas and steps, the same claims: seconds instead of a minute.
    pub quick: bool,
}

static CLAIMS: LazyLock<Vec<Claim>> = LazyLock::new(|| {
    [
        operator::CLAIMS,
        regularity::CLAIMS,
        penalty::CLAIMS,
        bilevel::CLAIMS,
        descent::CLAIMS,
        convergence::CLAIMS,
        lower_bound::CLAIMS,
        calibration::CLAIMS,
        experiments::CLAIMS,
        mistakes::CLAIMS,
        beyond::CLAIMS,
        gains::CLAIMS,
        later::CLAIMS,
    ]
    .concat()
});

/// Every claim, in the order of the paper.
pub fn claims() -> &'static [Claim] {
    &CLAIMS
}

/// Runs the experiments of the named claims; of all, if none is named.
///
/// The report depends on the names and options alone, not on the number of threads.
///
/// # Errors
/// If a name is unknown, an experiment cannot be done, or the user stops the work.
pub fn verify(
    ids: &[String],
    options: &VerifyOptions,
    progress: &dyn Progress,
) -> Result<VerifyReport, VerifyError> {
    run(&select(ids)?, options, Bench::Faithful, progress)
}

pub(crate) fn run(
    claims: &[Claim],
    options: &VerifyOptions,
    bench: Bench,
    progress: &dyn Progress,
) -> Result<VerifyReport, VerifyError> {
    progress.begin("claims", claims.len() as u64);
    let context = Context { key: Key::new(options.seed), quick: options.quick, bench, progress };
    let reports = claims.par_iter().map(|claim| {
        if progress.cancelled() {
            return Err(Cancelled.into());
        }
        let checks = (claim.run)(&context).map_err(|source| match source {
            ClaimError::Cancelled(cancelled) => cancelled.into(),
            source => VerifyError::Claim { id: claim.id, source },
        })?;
        progress.advance(1);
        Ok(ClaimReport { claim: *claim, checks })
    });
    Ok(VerifyReport { options: *options, claims: reports.collect::<Result<_, VerifyError>>()? })
}

/// The named claims in the order of the paper.
fn select(ids: &[String]) -> Result<Vec<Claim>, VerifyError> {
    for id in ids {
        if !claims().iter().any(|claim| claim.id == id) {
            return Err(VerifyError::Unknown { given: id.clone(), nearest: nearest(id) });
        }
    }
    let wanted = |claim: &&Claim| ids.is_empty() || ids.iter().any(|id| id == claim.id);
    Ok(claims().iter().filter(wanted).copied().collect())
}

/// The claim with the closest name, if at most a third of the letters differ or one name contains the other.
fn nearest(given: &str) -> Option<&'static str> {
    let given = given.to_lowercase();
    let contained = claims().iter().map(|c| c.id).find(|id| given.len() > 2 && id.contains(&given));
    let closest = claims().iter().map(|c| (strsim::levenshtein(&given, c.id), c.id)).min();
    contained.or(closest.filter(|&(edits, id)| 3 * edits <= id.len()).map(|(_, id)| id))
}

fn list() -> String {
    claims().iter().map(|claim| claim.id).collect::<Vec<_>>().join(", ")
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or(String::new(), |id| format!("; did you mean {id}?"))
}
