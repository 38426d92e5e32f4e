//! Trials of problems: one per seed, with records as a tidy table.

mod checkpoint;
mod recorder;
mod trial;

use std::fmt::Write as _;

use rayon::prelude::*;
use thiserror::Error;

use crate::progress::{Cancelled, Progress};
use crate::spec::Spec;
use crate::store::Row;

pub use trial::{Keep, ProblemTrial, trial};

/// Why a run could not be finished.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ProblemRunError {
    /// The spec cannot be built for this seed.
    #[error("seed {seed}: {message}")]
    Build {
        /// The seed.
        seed: u64,
        /// The sentence.
        message: String,
    },
    /// A weight became NaN or infinite, or a billion times as large as anything at the start.
    #[error(
        "seed {seed}: {variable} [{index}] is {value} after step {step}; the iteration diverges, \
         try a smaller rule.learning_rate"
    )]
    Diverged {
        /// The seed.
        seed: u64,
        /// The step.
        step: u64,
        /// Which array.
        variable: &'static str,
        /// Which weight.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// The user stopped it.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A checkpoint could not be written.
    #[error("{message}")]
    Checkpoint {
        /// The sentence.
        message: String,
    },
}

/// Runs all seeds, in parallel and without a store, and returns their records in the order of the seeds.
///
/// # Errors
/// The error of the first seed that fails; no records are kept then.
pub fn run(spec: &Spec, progress: &dyn Progress) -> Result<Vec<(u64, Vec<Row>)>, ProblemRunError> {
    progress.begin("steps", spec.steps * spec.seeds.len() as u64);
    let trials: Vec<_> = spec.seeds.par_iter().map(|&seed| trial(spec, seed, None, progress)).collect();
    spec.seeds.iter().zip(trials).map(|(&seed, trial)| Ok((seed, trial?.rows))).collect()
}

/// Records as CSV with the columns `seed,step,metric,index,value`; reading a number back gives the
/// same bits, and `index` is empty for scalars.
pub fn to_csv(records: &[(u64, Vec<Row>)]) -> String {
    let mut text = String::from("seed,step,metric,index,value\n");
    for (seed, r) in records.iter().flat_map(|(seed, rows)| rows.iter().map(move |row| (seed, row))) {
        let index = r.index.map_or_else(String::new, |i| i.to_string());
        let _ = writeln!(text, "{seed},{},{},{index},{}", r.step, r.metric, r.value);
    }
    text
}
