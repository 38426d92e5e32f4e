//! Running a spec: one trial per seed, records as a tidy table.

mod checkpoint;
mod recorder;
mod trial;

use std::fmt::Write as _;

use rayon::prelude::*;
use thiserror::Error;

use crate::progress::{Cancelled, Progress};
use crate::spec::{Metric, Spec};

pub use trial::{Keep, Trial, trial};

/// One recorded number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    /// Seed of the trial.
    pub seed: u64,
    /// Steps taken.
    pub step: u64,
    /// What it is.
    pub metric: Metric,
    /// Which entry, for a vector.
    pub index: Option<usize>,
    /// The number.
    pub value: f64,
}

/// A run that could not be finished.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The spec cannot be built for this seed.
    #[error("seed {seed}: {message}")]
    Build {
        /// The seed.
        seed: u64,
        /// The sentence.
        message: String,
    },
    /// A weight became NaN or infinite.
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
        /// What it became.
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

/// Runs all seeds, in parallel, and returns their records in the order of the seeds.
///
/// # Errors
/// The error of the first seed that fails; no records are kept then.
pub fn run(spec: &Spec, progress: &dyn Progress) -> Result<Vec<Record>, RunError> {
    progress.begin("steps", spec.steps * spec.seeds.len() as u64);
    let trials: Vec<_> = spec.seeds.par_iter().map(|&seed| trial(spec, seed, None, progress)).collect();
    let mut records = Vec::new();
    for trial in trials {
        records.extend(trial?.records);
    }
    Ok(records)
}

/// The records as CSV with the columns `seed,step,metric,index,value`; numbers are written so that reading them
/// back gives the same bits, and `index` is empty for scalars.
pub fn to_csv(records: &[Record]) -> String {
    let mut text = String::from("seed,step,metric,index,value\n");
    for r in records {
        let index = r.index.map_or_else(String::new, |i| i.to_string());
        let _ = writeln!(text, "{},{},{},{index},{}", r.seed, r.step, r.metric, r.value);
    }
    text
}
